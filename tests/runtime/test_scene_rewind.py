"""Owns the tests that one scene goes back to a turn by itself, while its world and its other scenes stay."""

import asyncio
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel

from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.interventions import intervene, judge, proposals_of
from service.conversation.scenes import begin, following, scenes_of
from service.errors import NotFound
from service.history.scene_rewind import without_turns
from service.llm.chat import Prompt
from service.memory.closing.context import ClosingAnswer, ClosingContext
from service.people.attitude import attitude
from service.runtime.snapshots import take_back
from service.store.ids import derived_id
from service.store.phase import ProposalState
from service.store.tables import ConversationKey
from service.store.world_rows import Rows, read_rows
from tests.conversation.scenes import a_scene, acts, effect, play
from tests.conversation.talks import recollection
from tests.memory.answers import memory, promise, side
from tests.runtime.way_back import held
from tests.runtime.worlds import fill, marked
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main
from world.time import LATEST, WorldTime

ASKED, BOAT = "Good evening. What became of your green boat?", "I sold the green boat to Genzo last winter."
THANKS = "Thank you for telling me that, I had wondered."

LINES = (ASKED, BOAT, THANKS, "I will bring you the photograph tomorrow at noon.")

EVEN = {"power": 0, "intimacy": 0, "task_oriented": 0}

PAID = {"calls", "prompt_tokens", "completion_tokens", "cached_tokens", "duration_ms", "estimated"}


def stage(room: ConversationDependencies, scene_id: str, *people: str, **more: Any) -> str:
    """A scene of these; its conversation's id."""
    scene = a_scene(*people, scene_id=scene_id, situation="It is quiet.", **more)
    names = room.models.names()
    return room.database.write_now(lambda s: begin(s, room.worlds.open(s, "main", lock=True), scene, names)).id


def speak(room: ConversationDependencies, script: ScriptedModel, scene_id: str, *lines: str) -> None:
    """So many turns more."""
    script.enqueue(*map(acts, lines))
    play(room, scene_id, len(lines))


def do(room: ConversationDependencies, scene_id: str, kind: Any, **more: Any) -> None:
    does = effect(kind, **more)
    room.database.write_now(lambda s: intervene(s, room.worlds, main(scene_id), does))


def finish(room: ConversationDependencies, script: ScriptedModel, scene_id: str, closing: Any) -> None:
    """It ends, and is remembered."""
    do(room, scene_id, "end_scene")
    script.enqueue(closing)
    asyncio.run(close(room, main(scene_id)))


def back(room: ConversationDependencies, scene_id: str, turn: int) -> None:
    room.database.write_now(lambda s: take_back(s, main(scene_id), turn))


def told(room: ConversationDependencies) -> Rows:
    """All rows of the world, but for what a closing lets go of, and what was paid."""
    apart = {"turns": {"note"}, "conversations": PAID | {"stands_at", "models"}}
    return {
        name: [{key: row[key] for key in row.keys() - apart.get(name, set())} for row in some]
        for name, some in held(room).items()
        if name != "prompts"
    }


SOLD = "Taro sold the green boat to Genzo last winter."
PROMISED = promise("bring Aoi the photograph", 3)


def taken(promises: bool = True) -> ClosingAnswer:
    """Aoi heard of the boat; Taro has told of himself, promised something, and likes her more."""
    aoi: dict[str, Any] = {"memories": [memory(SOLD, 1, about="b")], "intimacy": 2}
    taro: dict[str, Any] = {"affinity": 8, "mood": "happy", "memories": [memory(SOLD, 1, about="b")]}
    return recollection(summary=SOLD, first=aoi, second=taro, promises=[PROMISED] if promises else [])


def taken_by_three(prompt: Prompt[Any]) -> BaseModel:
    """The same of a scene in which somebody else was for a while."""
    given = prompt.given
    assert isinstance(given, ClosingContext)
    usual = {name: value for name, value in side(mood="happy").items() if name not in ("affinity", "attitude")}
    people: dict[str, dict[str, Any]] = {
        one.ref: usual
        | {"towards": {other.ref: 5 for other, _ in given.others_of(one)}}
        | {"attitude": {other.ref: EVEN for other, _ in given.others_of(one) if {one.ref, other.ref} != {"a", "c"}}}
        for one in given.participants
    }
    memories = [{"owner": ref, **memory(SOLD, 1, about="b")} for ref in ("a", "b")]
    answer: type[BaseModel] = prompt.answer
    return answer.model_validate(
        {"people": people, "memories": memories, "promises": [PROMISED], "not_to_quote": [], "reached": []}
    )


def test_what_came_of_a_scene_after_a_turn_is_gone_and_nothing_else_is(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    fill(room, script)
    other = stage(room, "S002", "ren", "npc_taro")
    speak(room, script, other, *LINES[:3])
    one = stage(room, "S001", "aoi", "npc_taro")
    do(room, one, "add_event", text="A bell rings.")
    speak(room, script, one, ASKED)
    then = told(room)
    do(room, one, "scene_situation_update", text="It rains.")
    do(room, one, "add_person", person_id="mio")
    speak(room, script, one, BOAT)
    do(room, one, "remove_person", person_id="mio")
    speak(room, script, one, *LINES[2:])
    finish(room, script, one, taken_by_three)
    gone = ("memories", "summaries", "attitude_changes", "moods", "commitments", "events")
    for name in gone:
        assert len(told(room)[name]) > len(then[name]), name
    back(room, one, 1)
    now = told(room)
    for name in then.keys() | now.keys():
        assert now[name] == then[name], name
    speak(room, script, one, BOAT, *LINES[2:])
    finish(room, script, one, taken())
    assert {row["text"] for row in told(room)["memories"]} > {row["text"] for row in then["memories"]}


def test_a_scene_that_was_played_beside_it_or_after_it_stays_with_what_was_remembered_of_it(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    one = stage(room, "S001", "aoi", "npc_taro")
    speak(room, script, one, *LINES)
    finish(room, script, one, taken())
    other = stage(room, "S002", "aoi", "npc_taro", previous_scene="S001")
    speak(room, script, other, *(f"{line} Again." for line in LINES[:3]))
    finish(room, script, other, taken(promises=False))
    before = room.database.read_now(lambda s: read_rows(s, "main"))
    known = attitude_of_taro(room)
    back(room, one, 2)
    now = room.database.read_now(lambda s: read_rows(s, "main"))

    def of_other(rows: Rows) -> dict[str, list[Any]]:
        return {
            name: [row for row in some if other in (row.get("conversation_id"), row.get("id"))]
            for name, some in rows.items()
            if name != "conversations"
        } | {"said": [row["data"] for row in rows["events"] if row["data"].get("conversation_id") == other]}

    assert of_other(now) == of_other(before)
    assert [row["carried"] != "" for row in now["conversations"] if row["scene_id"] == "S002"] == [True]
    for name in ("memories", "summaries", "attitude_changes", "moods", "commitments"):
        assert not [row for row in now[name] if row.get("conversation_id") == one], name
    assert attitude_of_taro(room) == (known[0] - 8, known[1] - 1)
    first = next(row for row in room.database.read_now(lambda s: scenes_of(s, "main")) if row.scene_id == "S001")
    assert room.database.read_now(lambda s: following(s, first)) == ["S002"]


def attitude_of_taro(room: ConversationDependencies) -> tuple[int, int]:
    found = room.database.read_now(lambda s: attitude(s, "main", "npc_taro", "aoi", LATEST))
    return found.affinity, found.times_met


def test_a_proposal_stays_that_was_asked_for_before_the_turn_and_goes_that_was_asked_for_later(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    one = stage(room, "S001", "aoi", "npc_taro")
    key = main(one)
    speak(room, script, one, *LINES[:2])
    proposed = {"experiences": [], "goals": [], "memories": [{"text": BOAT, "importance": 6, "turns": [1]}]}
    asks = effect("long_term_update_request", "aoi")
    for line in LINES[2:]:
        room.database.write_now(lambda s: intervene(s, room.worlds, key, asks))
        script.enqueue(proposed)
        speak(room, script, one, line)
        proposed = {"experiences": [], "goals": [], "memories": [{"text": THANKS, "importance": 6, "turns": [2]}]}
    for row in room.database.read_now(lambda s: proposals_of(s, key)):
        accept = partial(judge, memory=room.memory, key=key, proposal_id=row.id, state=ProposalState.ACCEPTED)
        room.database.write_now(
            lambda s, accept=accept: accept(s, world=room.worlds.open(s, "main"))  # type: ignore[misc] # a default
        )
    assert texts(room) == [BOAT, THANKS]
    back(room, one, 3)
    assert texts(room) == [BOAT]
    back(room, one, 2)
    assert texts(room) == []
    with pytest.raises(NotFound):
        back(room, one, 2)


def texts(room: ConversationDependencies) -> list[str]:
    """Of the memories that stay with somebody for long; each is a proposal too."""
    rows = room.database.read_now(lambda s: read_rows(s, "main"))
    assert [row["id"] for row in rows["memories"]] == [
        f"{row['conversation_id']}-{row['number']}-{index}"
        for row in rows["interventions"]
        for index in range(len(row["proposals"]))
    ]
    assert {row["support"] for row in rows["memories"]} <= {"author"}, "a writer has accepted it"
    return [row["text"] for row in rows["memories"]]


def test_what_the_scene_had_closed_holds_again_and_what_was_thought_of_it_is_not_thought_any_more(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    one = stage(room, "S001", "aoi", "npc_taro")
    speak(room, script, one, *LINES)
    finish(room, script, one, taken())
    rows = room.database.read_now(lambda s: read_rows(s, "main"))
    heard = next(row for row in rows["memories"] if row["person_id"] == "aoi" and row["conversation_id"] == one)
    older, newest = heard | {"id": "older", "conversation_id": "x"}, heard | {"id": "newest", "conversation_id": "y"}
    at = {"valid_to": 50, "known_until": 50}

    def closed(row: dict[str, Any], by: str | None) -> dict[str, Any]:
        return row | (at | {"replaced_by": by} if by else {})

    thought = heard | {"kind": "insight", "conversation_id": ""}
    insights = [
        thought | {"id": "of it", "text": "Taro is proud.", "evidence": [f"talk:{one}", "talk:x"]},
        thought | {"id": "of the fact", "text": "He has two.", "evidence": [f"memory:{heard['id']}"]},
        thought | {"id": "of another", "text": "It is late.", "evidence": ["talk:x"]},
    ]
    reflected = {"insights": ["Taro is proud.", "It is late."], "dropped": []}
    thought_over = {"audience": "world", "id": 10**6, "at": 0, "kind": "reflected", "person_id": "aoi"}
    rows["events"].append({**thought_over, "conversation_id": None, "data": reflected})
    promise = rows["commitments"][0] | {"id": "mine", "conversation_id": "x", "state": "kept", "ended_at": 5}
    promise |= {"ended_in": one}
    moved = promise | {"id": "moved", "state": "moved", "moved_to": rows["commitments"][0]["id"]}
    rows["commitments"] += [promise, moved]
    outcome = rows["attitude_changes"][0] | {"id": derived_id(promise["id"], "outcome"), "conversation_id": one}
    rows["attitude_changes"].append(outcome)
    rows["memories"] = [closed(older, heard["id"]), heard]
    assert without_turns(rows, one, 1)["memories"] == [older], "it is true again"
    rows["memories"] = [closed(older, heard["id"]), closed(heard, "newest"), newest, *insights]
    then = without_turns(rows, one, 1)
    assert then["memories"][:2] == [closed(older, "newest"), newest], "what came after it has closed it"
    assert [row["id"] for row in then["memories"][2:]] == ["of another"]
    assert then["events"][-1]["data"]["insights"] == ["It is late."]
    still = {"state": "open", "ended_at": None, "ended_in": None, "moved_to": None}
    assert then["commitments"] == [promise | still, moved | still]
    assert outcome not in then["attitude_changes"]


def test_marks_of_the_turns_that_stay_stay_and_what_an_author_did_to_a_memory_that_goes_goes(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    one = stage(room, "S001", "aoi", "npc_taro")
    speak(room, script, one, *LINES)
    finish(room, script, one, taken())
    marks = [marked("main", f"{one}/{turn}", "aoi", conversation_id=one, turn=turn) for turn in (0, 1)]
    room.database.write_now(lambda s: s.add_all(marks))
    rows = room.database.read_now(lambda s: read_rows(s, "main"))
    heard = next(row for row in rows["memories"] if row["conversation_id"] == one)
    corrected = [
        heard | {"id": f"{one}/000{turn}", "kind": "turn", "turns": [turn], "source": "author"} for turn in (0, 1)
    ]
    rows["memories"] += corrected
    for key in (heard["id"], f"{one}/0000", f"{one}/0001", "another"):
        rows["memory_audit"].append({"person_id": "aoi", "id": key, "action": "edited", "memory_id": key})
    then = without_turns(rows, one, 1)
    assert [row["turn"] for row in then["quality"]] == [0]
    assert then["memories"] == corrected[:1], "what an author made of a turn before"
    assert [row["id"] for row in then["memory_audit"]] == [f"{one}/0000", "another"]


def test_the_clock_of_the_world_and_what_it_has_lived_since_stay(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    one = stage(room, "S001", "aoi", "npc_taro")
    speak(room, script, one, *LINES[:2])
    fill(room, script)
    before = held(room)
    back(room, one, 0)
    now = held(room)
    assert now["worlds"] == before["worlds"]
    for name in ("people", "movements", "decisions", "talks", "memories", "summaries", "reflections"):
        assert now[name] == before[name], name
    key = ConversationKey("main", one)
    assert not [row for row in now["turns"] if row["conversation_id"] == key.conversation_id]
    assert WorldTime(now["worlds"][0]["now"]) > 0
