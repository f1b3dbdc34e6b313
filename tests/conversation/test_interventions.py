"""Owns the tests of what a writer does to a scene: when what its file says happens, and that it happens once."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from service.content.scenes import Intervention, SceneEffect
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.interventions import SceneState, intervene, is_due
from service.conversation.scenes import begin, go_on, scenes_of
from service.conversation.turn_taking import interventions_in
from service.errors import Invalid, NotFound, SceneOver, TurnPassed
from service.llm.choose import ROLES, Models
from service.store.phase import EndReason, Phase
from service.store.tables import ConversationKey, TurnRow
from tests.conversation.scenes import a_scene, acts, effect, play, shown, speaker_of
from tests.conversation.talks import talk, turns
from tests.runtime.hanging import Hanging
from tests.scripted_model import ScriptedModel

EVENT = effect("add_event", text="A bell rings.")
NOW = SceneState(turn=2, language="en", there=("aoi", "npc_taro"))


def said(**told: Any) -> TurnRow:
    """A turn of which no more is told."""
    return TurnRow(**told)


SAID = (said(speaker_id="aoi", text="A ＢＥＬＬ?"), said(speaker_id="npc_taro", text="鐘のことか。"))


@pytest.mark.parametrize(
    ("when", "is_so"),
    [
        ({}, True),
        ({"turn": 3}, True),
        ({"turn": 2}, False),
        ({"fromTurn": 3}, True),
        ({"fromTurn": 4}, False),
        ({"said": {"words": ["bell"]}}, True),
        ({"said": {"words": ["x", "鐘"]}}, True),
        ({"said": {"words": ["bell"], "by": "npc_taro"}}, False),
        ({"said": {"words": ["鐘"], "by": "npc_taro"}}, True),
        ({"flags": {"open": True}}, True),
        ({"flags": {"open": 1}}, False),
        ({"flags": {"never": False}}, True),
        ({"weather": "FOG"}, True),
        ({"weather": "rain"}, False),
        ({"hours": "18:00-20:00"}, True),
        ({"hours": "20:00-18:00"}, False),
        ({"need": {"person": "aoi", "need": "energy", "below": 20}}, True),
        ({"need": {"person": "aoi", "need": "energy", "above": 20}}, False),
        ({"need": {"person": "mio", "need": "energy", "below": 20}}, False),
        ({"turn": 3, "weather": "rain"}, False),
    ],
)
def test_something_happens_when_all_that_it_asks_for_is_so(when: dict[str, Any], is_so: bool) -> None:
    state = replace(
        NOW, said=SAID, flags={"open": True}, weather="fog", minute=19 * 60, levels={"aoi": {"energy": 12.5}}
    )
    assert is_due(rule("one", 0, EVENT, **when), state) is is_so


def test_something_happens_as_often_as_it_says_and_at_most_once_before_a_turn() -> None:
    twice = rule("one", 0, EVENT, times=2)
    assert [is_due(twice, replace(NOW, happened={"one": before})) for before in ((), (1,), (2,), (0, 1))] == [
        True,
        True,
        False,
        False,
    ]


def test_words_count_that_were_said_since_it_happened_last() -> None:
    again = rule("one", 0, EVENT, times=5, said={"words": ["bell"]})
    state = replace(NOW, said=SAID)
    assert is_due(again, replace(state, happened={"one": (0,)}))
    assert not is_due(again, replace(state, happened={"one": (1,)}))


@pytest.mark.parametrize(
    ("kind", "person_id", "can"),
    [
        ("add_person", "mio", True),
        ("add_person", "aoi", False),
        ("remove_person", "aoi", True),
        ("remove_person", "mio", False),
        ("revelation", "mio", False),
        ("end_scene", None, True),
    ],
)
def test_what_concerns_somebody_waits_until_it_can_be_done(kind: Any, person_id: str | None, can: bool) -> None:
    assert is_due(rule("one", 0, effect(kind, person_id, "A bell rings.")), NOW) is can


def rule(name: str, turn: int, do: SceneEffect, /, **more: Any) -> Intervention:
    when = ({"turn": turn} if turn else {}) | {key: value for key, value in more.items() if key != "times"}
    return Intervention.model_validate({"id": name, "when": when, "do": do, "times": more.get("times", 1)})


def stage(
    room: ConversationDependencies, *rules: Intervention, people: tuple[str, ...] = ("aoi", "npc_taro"), **more: Any
) -> str:
    """A scene in which these are to happen; its conversation's id."""
    scene = a_scene(*people, scene_id="S001", situation="It is quiet.", interventions=rules, **more)
    names = room.models.names()
    return room.database.write_now(lambda s: begin(s, room.worlds.open(s, "main", lock=True), scene, names)).id


def done(room: ConversationDependencies, scene_id: str) -> list[tuple[int, str, str | None]]:
    rows = room.database.read_now(lambda s: interventions_in(s, ConversationKey("main", scene_id)))
    return [(one.before_turn, one.kind, one.rule) for one in rows]


def test_a_scene_plays_all_that_its_file_says_each_before_its_turn(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    rules = (
        rule("rain", 2, effect("scene_situation_update", text="It rains.")),
        rule("bell", 3, EVENT),
        rule("mio", 3, effect("add_person", person_id="mio", spot="at the door")),
        rule("told", 4, effect("revelation", person_id="mio", text="Taro has a brother.")),
        rule("leaves", 6, effect("remove_person", person_id="npc_taro")),
        rule("over", 8, effect("end_scene")),
    )
    scene_id = stage(room, *rules)
    script.enqueue(*(acts(f"Line {number}.") for number in range(1, 8)))
    row = play(room, scene_id)
    assert (row.phase, row.end_reason) == (Phase.CLOSING, EndReason.ENDED_BY_CLIENT)
    speakers = [turn.speaker_id for turn in turns(room, scene_id)]
    assert speakers == ["aoi", "npc_taro", "mio", "aoi", "npc_taro", "mio", "aoi"]
    assert done(room, scene_id) == [
        (1, "scene_situation_update", "rain"),
        (2, "add_event", "bell"),
        (2, "add_person", "mio"),
        (3, "revelation", "told"),
        (5, "remove_person", "leaves"),
        (7, "end_scene", "over"),
    ]
    prompts = [shown(prompt) for prompt in script.history]
    assert ["It rains." in prompt for prompt in prompts] == [False, True, True, True, True, True, True]
    assert ["A bell rings." in prompt for prompt in prompts] == [False, False, True, True, True, True, True]
    assert ["Taro has a brother." in prompt for prompt in prompts] == [False] * 5 + [True, False]


def test_who_comes_later_is_told_how_things_stand_and_neither_how_they_stood_nor_what_had_happened(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    rules = (
        rule("rain", 2, effect("scene_situation_update", text="It rains.")),
        rule("bell", 2, EVENT),
        rule("told", 2, effect("revelation", person_id="npc_taro", text="The key is in your pocket.")),
        rule("clears", 3, effect("scene_situation_update", text="The sky has cleared.")),
        rule("mio", 4, effect("add_person", person_id="mio")),
        rule("night", 5, effect("scene_situation_update", text="Night has come.")),
    )
    scene_id = stage(room, *rules)
    script.enqueue(*(acts(f"Line {number}.") for number in range(8)))
    play(room, scene_id, 8)
    first, second = (shown(prompt) for prompt in script.history if speaker_of(prompt) == "mio")
    told = {text: first.count(text) for text in ("The sky has cleared.", "It rains.", "It is quiet.", "A bell", "key")}
    assert told == {"The sky has cleared.": 1, "It rains.": 0, "It is quiet.": 0, "A bell": 0, "key": 0}
    assert [prompt.count("Night has come.") for prompt in (first, second)] == [1, 1]
    assert first in second, "what it was told once stays as it was"
    assert all("It is quiet." in shown(prompt) for prompt in script.history if speaker_of(prompt) == "aoi")


def test_who_is_back_is_told_how_things_stand_now_if_that_changed_while_it_was_away(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    said = ["It rains.", "It pours.", "The sky has cleared."]
    scene_id = stage(room, people=("aoi", "npc_taro", "mio"))
    key = ConversationKey("main", scene_id)
    script.enqueue(*(acts(f"Line {number}.") for number in range(12)))

    def step_in(kind: Any, **more: Any) -> None:
        room.database.write_now(lambda s: intervene(s, room.worlds, key, effect(kind, **more)))

    step_in("scene_situation_update", text=said[0])
    play(room, scene_id, 3)
    step_in("remove_person", person_id="mio")
    for text in said[1:]:
        play(room, scene_id, 1)
        step_in("scene_situation_update", text=text)
    step_in("add_event", text="A bell rings.")
    play(room, scene_id, 1)
    step_in("add_person", person_id="mio")
    play(room, scene_id, 3)
    own = [turn for turn in turns(room, scene_id) if turn.speaker_id == "mio"]
    assert [[text in turn.note for text in said] for turn in own] == [[True, False, False], [False, False, True]]
    assert "A bell" not in own[1].note
    step_in("remove_person", person_id="mio")
    step_in("add_person", person_id="mio")
    play(room, scene_id, 3)
    last = [turn for turn in turns(room, scene_id) if turn.speaker_id == "mio"][-1]
    assert not any(text in last.note for text in said), "it was told"


def test_a_moderator_goes_by_how_things_stand_now(room: ConversationDependencies, script: ScriptedModel) -> None:
    scene_id = stage(room, people=("aoi", "npc_taro", "mio"), turn_policy="moderator")
    key = ConversationKey("main", scene_id)
    script.enqueue(acts("Line 0."))
    play(room, scene_id, 1)
    update = effect("scene_situation_update", text="It rains.")
    room.database.write_now(lambda s: intervene(s, room.worlds, key, update))
    script.enqueue({"next": "Mio"}, acts("Line 1."))
    play(room, scene_id, 1)
    asked = shown(script.history[1])
    assert ("What goes on: It rains." in asked, "It is quiet." in asked) == (True, False)


def test_what_happened_before_a_crash_does_not_happen_again(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    often = rule("often", 0, EVENT, times=3)
    scene_id = stage(room, often)
    key = ConversationKey("main", scene_id)
    script.enqueue(*(acts(f"Line {number}.") for number in range(5)))

    async def killed() -> None:
        """In the middle of the second turn, before which it has happened."""
        hanging = Hanging(script, answers=1)
        dying = replace(room, models=Models(dict.fromkeys(ROLES, hanging)))
        speaking = asyncio.create_task(Engine(dying).converse(key))
        await hanging.hangs()
        speaking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await speaking

    room.database.write_now(lambda s: go_on(s, room.worlds, key, 5))
    asyncio.run(killed())
    assert len(turns(room, scene_id)) == 1
    assert asyncio.run(Engine(room).converse(key)) is False
    assert [turn.text for turn in turns(room, scene_id)] == [f"Line {number}." for number in range(5)]
    assert done(room, scene_id) == [(turn, "add_event", "often") for turn in range(3)]


def test_a_writer_steps_in_before_the_next_turn_and_only_there(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = stage(room)
    key = ConversationKey("main", scene_id)
    script.enqueue(acts("Good evening."))
    play(room, scene_id, 1)

    def step_in(does: SceneEffect, before_turn: int | None = None) -> None:
        room.database.write_now(lambda s: intervene(s, room.worlds, key, does, before_turn))

    step_in(EVENT, 1)
    with pytest.raises(TurnPassed):
        step_in(EVENT, 0)
    with pytest.raises(Invalid):
        step_in(EVENT, 2)
    with pytest.raises(Invalid):
        step_in(effect("revelation", person_id="mio", text="Now."))
    with pytest.raises(Invalid):
        step_in(effect("add_person", person_id="aoi"))
    with pytest.raises(NotFound):
        step_in(effect("add_person", person_id="nobody"))
    for person_id in ("mio", "npc_hamako", "sota", "ren", "nagi", "npc_fumi"):
        step_in(effect("add_person", person_id=person_id))
    with pytest.raises(Invalid, match="8"):
        step_in(effect("add_person", person_id="npc_genzo"))
    step_in(effect("end_scene"))
    with pytest.raises(SceneOver):
        step_in(EVENT)
    with pytest.raises(SceneOver):
        step_in(effect("end_scene"))
    assert talk(room, scene_id).end_reason == EndReason.ENDED_BY_CLIENT
    assert [kind for _, kind, _ in done(room, scene_id)] == ["add_event", *["add_person"] * 6, "end_scene"]


def test_a_need_makes_something_happen(room: ConversationDependencies, script: ScriptedModel) -> None:
    needs = room.worlds.content.cast("en").catalogue.needs.all
    low = rule("low", 0, EVENT, need={"person": "aoi", "need": needs[0].id, "above": -(10**9)})
    high = rule("high", 0, EVENT, need={"person": "aoi", "need": needs[0].id, "above": 10**9})
    scene_id = stage(room, low, high)
    script.enqueue(acts("Good evening."))
    play(room, scene_id, 1)
    assert [name for _, _, name in done(room, scene_id)] == ["low"]


def test_a_scene_that_was_played_before_has_a_number(room: ConversationDependencies) -> None:
    played = {stage(room): "S001", stage(room): "S001.2", stage(room): "S001.3"}
    rows = room.database.read_now(lambda s: scenes_of(s, "main"))
    assert {scene.id: scene.scene_id for scene in rows} == played
