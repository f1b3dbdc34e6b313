"""Owns the tests of scenes and of conversations of more than two: who is there, who is next, who perceives what."""

import asyncio
import random
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from service.content.scenes import Scene
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.human import Words, hand_over, say
from service.conversation.scenes import join, leave
from service.conversation.transcript import held
from service.conversation.why import in_words, why_said
from service.errors import Invalid, ModelTimeout
from service.llm.chat import Prompt
from service.memory.closing.ask import perceiving
from service.people.worlds import WorldRepository
from service.store.client_event_kinds import UtteranceCompleted
from service.store.events import events_after
from service.store.phase import Audience, EndReason, Loudness, Modulator, Phase, Speaker, TurnPolicy
from service.store.tables import InterventionRow, ParticipantRow, TurnRow
from service.store.usage import usage_rows
from tests.conversation.scenes import CAST, FOLK, acts, begin_scene, play, shown, speaker_of
from tests.conversation.talks import events_told_to, meet, replies, says, talk, turns
from tests.runtime.parrot import secretive
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main


def test_a_scene_stands_until_it_is_told_to_go_on_and_plays_in_the_order_of_its_seats(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST)
    asyncio.run(Engine(room).converse(main(scene_id)))
    assert not script.history
    script.enqueue(acts("Good evening to all."), acts(act="nods"), acts(think="Who is that?"), acts("Hello."))
    script.enqueue(acts("We begin again."))
    assert play(room, scene_id, 3).phase == Phase.RUNNING
    assert [(turn.speaker_id, turn.text, turn.act, turn.think) for turn in turns(room, scene_id)] == [
        ("aoi", "Good evening to all.", "", ""),
        ("npc_taro", "", "nods", ""),
        ("mio", "", "", "Who is that?"),
    ]
    play(room, scene_id, 2)
    assert [turn.speaker_id for turn in turns(room, scene_id)] == [*CAST, "aoi"]


def test_who_joins_takes_the_next_seat_and_knows_nothing_of_what_was_said_before_and_who_leaves_hears_no_more(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST[:3])
    script.enqueue(acts("The key is under the mat."), acts("I see."), acts("So do I."))
    play(room, scene_id, 3)
    room.database.write_now(lambda s: join(s, *held(s, room.worlds, main(scene_id)), "npc_hamako"))
    room.database.write_now(lambda s: leave(s, *held(s, room.worlds, main(scene_id)), "npc_taro"))
    script.enqueue(acts("Good evening."), acts("Welcome, Hamako."), acts("Thank you."), acts("It is late."))
    play(room, scene_id, 4)
    assert [turn.speaker_id for turn in turns(room, scene_id)][3:] == ["npc_hamako", "aoi", "mio", "npc_hamako"]
    asked = {speaker_of(prompt): shown(prompt) for prompt in script.history}
    assert "under the mat" not in asked["npc_hamako"]
    assert "Welcome, Hamako." in asked["npc_hamako"]
    assert "Hamako comes and joins you." in asked["mio"]
    assert "Taro has left." in asked["mio"]
    assert "Welcome, Hamako." not in asked["npc_taro"]


def test_a_secret_told_to_one_is_kept_from_who_joins_and_who_gives_it_away_twice_is_heard_by_nobody(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    room = replace(room, worlds=WorldRepository(secretive(room.worlds.content), room.settings.world))
    scene_id, told = begin_scene(room, "npc_taro", "mio"), "I buried the Zanzibar ledger under the old kiln."
    script.enqueue(acts(told), acts("I see."))
    play(room, scene_id, 2)
    room.database.write_now(lambda s: join(s, *held(s, room.worlds, main(scene_id)), "nagi"))
    script.enqueue(acts("Good evening."), acts(told.upper()), acts("Welcome, Nagi."), acts("Do sit down."))
    play(room, scene_id, 3)
    first, again = (shown(prompt) for prompt in script.history[3:5])
    assert "Not all who are here by now may know your secret" in first
    assert "You said what not all who are here may know" in again
    script.enqueue(acts("How cold it is."), acts(f"As I said: {told}"), acts(f"Once more: {told}"))
    row = play(room, scene_id)
    assert (row.phase, row.end_reason) == (Phase.CLOSING, EndReason.STALLED)
    assert [turn.turn for turn in turns(room, scene_id) if "zanzibar" in turn.text.casefold()] == [0]


def test_of_more_than_two_who_says_goodbye_leaves_and_the_last_goodbye_ends_it(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST[:3])
    script.enqueue(acts("I must go.", leaves=True), acts("Farewell."), acts("Me too.", leaves=True), acts("So long."))
    row = play(room, scene_id)
    assert [turn.speaker_id for turn in turns(room, scene_id)] == ["aoi", "npc_taro", "mio", "npc_taro"]
    assert (row.phase, row.end_reason) == (Phase.CLOSING, EndReason.WANTS_TO_END)
    assert [one.left_turn for one in row.participants] == [1, None, None]


@pytest.mark.parametrize(
    ("modulator", "attitude"), [(Modulator.PLACE, "per_turn"), (Modulator.MODEL, "per_conversation")]
)
def test_what_somebody_did_not_perceive_stands_in_none_of_its_prompts(
    room: ConversationDependencies, script: ScriptedModel, modulator: Modulator, attitude: str
) -> None:
    room = replace(room, settings=room.settings.changed(memory={"attitude": attitude}))
    rng = random.Random(14)
    seen, heard, unheard = 0, 0, 0
    for number in range(6):
        people = rng.sample(FOLK, rng.randint(2, 6))
        cast = [{"id": one, "spot": rng.choice(["door", "table"])} for one in people]
        scene_id = begin_scene(room, *cast, modulator=modulator, turn_policy=rng.choice(list(TurnPolicy)))
        script.history.clear()
        script.enqueue(*[partial(_random_answer, rng, f"{number}.{turn}") for turn in range(60)])
        play(room, scene_id, 4)
        row = talk(room, scene_id)
        if row.phase == Phase.RUNNING and len(people) < 6:
            newcomer = next(one for one in FOLK if one not in people)
            room.database.write_now(lambda s, i=scene_id, who=newcomer: join(s, *held(s, room.worlds, main(i)), who))  # type: ignore[misc]
        if row.phase == Phase.RUNNING:
            row = play(room, scene_id, 5)
        said = turns(room, scene_id)
        for prompt in script.history:
            if prompt.name not in ("speaker", "attitude"):
                continue
            own, text = speaker_of(prompt), shown(prompt)
            person = row.participants[row.seat_of(own)]
            for turn in said:
                is_own = turn.speaker_id == own
                assert is_own or turn.think not in text
                hears = is_own or _reaches(person, turn, turn.heard_by)
                sees = is_own or _reaches(person, turn, turn.seen_by)
                assert hears or turn.text not in text, "words that it did not hear"
                assert sees or turn.act not in text, "an act that it did not see"
                seen, heard, unheard = seen + (turn.act in text), heard + (turn.text in text), unheard + (not hears)
    assert min(seen, heard, unheard) > 20, "the scenes show what they are to show"


def _reaches(person: ParticipantRow, turn: TurnRow, by: list[str] | None) -> bool:
    there = person.joined_turn <= turn.turn and (person.left_turn is None or turn.turn < person.left_turn)
    return there if by is None else person.person_id in by


def _random_answer(rng: random.Random, number: str, prompt: Prompt[Any]) -> Any:
    """What a speaker, a moderator or a modulator answers, with marks that are found again."""
    form = prompt.answer.model_json_schema()["properties"]
    if prompt.name == "moderator":
        return prompt.answer.model_validate({"next": rng.choice(form["next"]["enum"])})
    if "power" in form:
        questions = form["power"]["type"] == "string"
        return prompt.answer.model_validate(dict.fromkeys(form, "How is it?" if questions else 1))
    if prompt.name == "modulator":
        return prompt.answer.model_validate(
            {name: {"sees": rng.randint(0, 10), "hears": rng.randint(0, 10)} for name in form}
        )
    fields = acts(f"words<{number}>", think=f"thought<{number}>", act=f"act<{number}>", leaves=rng.random() < 0.05)
    if "to" in form:
        to = rng.sample(form["to"]["items"]["enum"], rng.randint(0, 1))
        fields |= {"to": to, "loudness": rng.choice(list(Loudness)).value}
    if "urgency" in form:
        fields["urgency"] = rng.randint(0, 10)
    return prompt.answer.model_validate(fields)


def test_words_are_told_with_who_says_them_to_whom_and_how(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST[:3], modulator=Modulator.PLACE, turn_policy=TurnPolicy.ADDRESSED)
    whisper = acts("The lamp is mine.", think="Nobody else may know.", act="leans over", to=["Mio"], loudness="whisper")
    script.enqueue(whisper, acts("Is it?", to=["Taro"], loudness="normal"), acts("Is what?", to=[], loudness="loud"))
    play(room, scene_id, 3)
    assert [(turn.speaker_id, turn.addressed, turn.heard_by, turn.seen_by) for turn in turns(room, scene_id)] == [
        ("aoi", ["mio"], ["mio"], None),
        ("mio", ["npc_taro"], None, None),
        ("npc_taro", None, None, None),
    ]
    of_mio, of_taro = shown(script.history[1]), shown(script.history[2])
    assert "Aoi (whispers to you): (leans over) The lamp is mine." in of_mio
    assert "Aoi: (leans over)\n\nMio (to you): Is it?" in of_taro
    assert all(words not in of_mio + of_taro for words in ("Nobody else may know.",))
    assert "lamp" not in of_taro


def test_what_a_thought_was_weighed_from_is_what_its_thinker_had_perceived(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    cast = (
        "aoi",
        {"id": "mio", "goal": "Find the lamp"},
        "npc_taro",
    )
    scene_id = begin_scene(room, *cast, modulator=Modulator.PLACE)
    script.enqueue(acts("The lamp is mine.", think="Mine alone.", act="sits down", to=["Taro"], loudness="whisper"))
    script.enqueue(acts("Who has it?", think="She hides something.", to=[], loudness="normal"))
    play(room, scene_id, 2)
    world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
    why = asyncio.run(why_said(room, world, scene_id, 1))
    assert (why.wanted, why.perceived, why.goal) == ("Find the lamp", ("Aoi: (sits down)",), None)
    assert why.messages == script.history[1].messages
    words = list(in_words(world, why))
    assert "Mio thought: She hides something." in words
    assert words[words.index("Mio had perceived this since its last turn:") + 1] == "Aoi: (sits down)"
    assert not any("mine" in line for line in words)


def test_before_its_turn_a_speaker_is_shown_the_newest_it_perceived_and_its_prompts_begin_alike(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST, "npc_eisaku", perceptions=2)
    script.enqueue(*[acts(f"Line {number}.") for number in range(11)])
    play(room, scene_id, 11)
    of_aoi = [prompt.messages for prompt in script.history if speaker_of(prompt) == "aoi"]
    assert of_aoi[1][-1].content == "Hamako: Line 3.\n\nEisaku: Line 4."
    assert all(later[: len(before)] == before for before, later in pairwise(of_aoi))


def test_who_wants_to_most_is_next_and_who_has_not_spoken_yet_wants_to_most(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST[:3], turn_policy=TurnPolicy.URGENCY)
    for number, urgency in enumerate((2, 9, 5, 0, 1)):
        script.enqueue(acts(f"Line {number}.", urgency=urgency))
    play(room, scene_id, 5)
    assert [turn.speaker_id for turn in turns(room, scene_id)] == ["aoi", "npc_taro", "mio", "npc_taro", "mio"]


def test_a_moderator_names_the_next_and_where_it_fails_it_goes_in_order(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST[:3], turn_policy=TurnPolicy.MODERATOR)
    script.enqueue(acts("One."), acts("Two."), acts("Three."), role="character")
    script.enqueue(acts("Four."), role="npc")
    script.enqueue({"next": "Mio"}, ModelTimeout(model="m", seconds=1), {"next": "Taro"}, role="moderator")
    play(room, scene_id, 4)
    assert [turn.speaker_id for turn in turns(room, scene_id)] == ["aoi", "mio", "aoi", "npc_taro"]
    counted = {one.role: (one.calls, one.failures) for one in room.database.read_now(lambda s: usage_rows(s, "main"))}
    assert counted["moderator"] == (3, 1)


def test_where_a_modulator_fails_the_rule_of_place_decides_and_the_failure_is_counted(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    cast = [{"id": one, "spot": spot} for one, spot in zip(CAST[:3], ("door", "door", "table"), strict=True)]
    scene_id = begin_scene(room, *cast, modulator=Modulator.MODEL)
    script.enqueue(acts("One.", to=[], loudness="normal"), acts("Two.", to=[], loudness="normal"), role="character")
    script.enqueue(acts("Three.", to=[], loudness="loud"), role="npc")
    reach = {"person_1": {"sees": 9, "hears": 1}, "person_2": {"sees": 0, "hears": 7}}
    script.enqueue(ModelTimeout(model="m", seconds=1), reach, reach, role="modulator")
    play(room, scene_id, 2)
    first, second = turns(room, scene_id)
    assert (first.heard_by, first.seen_by) == (["npc_taro"], ["npc_taro"])
    assert (second.heard_by, second.seen_by) == (["mio"], ["aoi"])
    counted = {one.role: (one.calls, one.failures) for one in room.database.read_now(lambda s: usage_rows(s, "main"))}
    assert counted["modulator"] == (2, 1)


def test_an_empty_turn_is_asked_again_and_twice_pauses_the_scene(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST[:3])
    script.enqueue(acts("Good evening."), acts(), acts(act="sits down by the window"), acts(), acts())
    row = play(room, scene_id)
    assert [turn.act for turn in turns(room, scene_id)] == ["", "sits down by the window"]
    assert "or nothing" in shown(script.history[2])
    assert (row.phase, row.stands_at, row.calls) == (Phase.RUNNING, 2, 5)
    assert row.failure is not None
    assert row.failure["type"] == "model-empty"


def test_three_at_a_table_talk_as_one_conversation_and_each_is_told_who_says_what(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = meet(room)
    room.database.write_now(lambda s: join(s, *held(s, room.worlds, main(conversation_id)), "npc_hamako"))
    said = ["Good day to both.", "And to you.", "Sit down, then.", "With pleasure.", "Some tea?", "Gladly."]
    script.enqueue(*[says(said[n]) if n % 3 == 0 else replies(said[n]) for n in range(3)])
    script.enqueue(says(said[3], achieved=True, leaves=True), replies(said[4]), replies(said[5]))
    asyncio.run(Engine(room).converse(main(conversation_id)))
    assert [turn.speaker_id for turn in turns(room, conversation_id)] == [
        *("aoi", "npc_taro", "npc_hamako"),
        *("aoi", "npc_taro", "npc_hamako"),
    ]
    of_hamako = shown(script.history[2])
    assert "You and Aoi, Taro talk with each other:\n\nAoi: Good day to both.\n\nTaro (happy): And to you." in of_hamako
    assert "You walk up to Taro, Hamako and speak first." in shown(script.history[0])
    assert script.history[3].messages[-1].content == "Taro (happy): And to you.\n\nHamako (happy): Sit down, then."
    assert talk(room, conversation_id).end_reason == EndReason.GOAL_ACHIEVED


def test_the_log_holds_how_a_scene_began_and_who_joined_and_left(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    people = ({"id": "aoi", "goal": "Be home by six"}, {"id": "mio", "spot": "door"})
    scene_id = begin_scene(room, *people, modulator=Modulator.PLACE, situation="It rains.")
    room.database.write_now(lambda s: join(s, *held(s, room.worlds, main(scene_id)), "npc_taro", "table"))
    room.database.write_now(lambda s: leave(s, *held(s, room.worlds, main(scene_id)), "mio"))
    began, joined, left = room.database.read_now(lambda s: events_after(s, "main", 0, 9, audience=Audience.AUTHOR))
    scene = Scene.model_validate(began.data["scene"])
    assert (scene.modulator, scene.situation.of("en")) == (Modulator.PLACE, "It rains.")
    assert [(one.id, one.goal.of("en"), one.spot.of("en")) for one in scene.participants] == [
        ("aoi", "Be home by six", ""),
        ("mio", "", "door"),
    ]
    assert began.data["conversation_id"] == scene_id
    assert (joined.kind, joined.data) == ("joined", {"person_id": "npc_taro", "spot": "table"})
    assert (left.kind, left.data) == ("left", {"person_id": "mio"})


def test_who_joins_again_has_its_own_seat_and_perceived_what_it_did_before_and_nothing_since(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST[:3])
    script.enqueue(*[acts(f"Line {number}.") for number in range(8)])
    play(room, scene_id, 3)
    room.database.write_now(lambda s: leave(s, *held(s, room.worlds, main(scene_id)), "mio"))
    play(room, scene_id, 2)
    room.database.write_now(lambda s: join(s, *held(s, room.worlds, main(scene_id)), "mio"))
    play(room, scene_id, 2)
    assert [turn.speaker_id for turn in turns(room, scene_id)][5:] == ["mio", "aoi"]
    again = shown(script.history[5])
    assert all((f"Line {number}." in again) == (number < 3) for number in range(5))
    assert "Mio comes and joins you." in script.history[6].messages[-1].content


def test_a_scene_in_which_somebody_is_twice_is_refused_with_a_reason(room: ConversationDependencies) -> None:
    with pytest.raises(Invalid, match="takes part twice"):
        begin_scene(room, "aoi", "mio", "aoi")


def test_a_player_in_a_scene_is_told_what_it_perceives_and_nobodys_thoughts(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST[:3], modulator=Modulator.PLACE)
    key = main(scene_id)
    room.database.write_now(lambda s: hand_over(s, room.worlds, key, "aoi", Speaker.HUMAN))
    room.database.write_now(lambda s: say(s, room.worlds, key, Words(text="Who has the lamp?")))
    whisper = acts("I do.", think="Not a word.", act="leans over", to=["Mio"], loudness="whisper")
    script.enqueue(whisper, acts("Nobody has.", think="He does.", to=["Aoi"], loudness="normal"))
    assert play(room, scene_id, 9).awaits == "aoi"
    told = [one for one in events_told_to(room, Audience.PARTICIPANTS) if one["kind"] == UtteranceCompleted.kind]
    assert [(one["data"]["text"], one["data"].get("act")) for one in told] == [
        ("Who has the lamp?", None),
        ("", "leans over"),
        ("Nobody has.", None),
    ]
    assert told[1]["data"]["heard_by"] == ["mio"]
    assert told[2]["data"]["addressed"] == ["aoi"]
    assert not any(
        words in str(events_told_to(room, Audience.PARTICIPANTS)) for words in ("I do.", "Not a word.", "He does.")
    )


def test_what_happens_stands_before_the_lines_that_follow_it_and_what_was_sent_is_sent_again(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST[:3])
    script.enqueue(*[acts(f"Line {number}.") for number in range(8)])
    play(room, scene_id, 1)
    event: dict[str, Any] = {"before_turn": 1, "kind": "add_event", "details": {"event": "A bell rings."}, "at": 0}
    room.database.write_now(
        lambda s: s.add(InterventionRow(world_id="main", conversation_id=scene_id, number=0, **event))
    )
    room.database.write_now(lambda s: join(s, *held(s, room.worlds, main(scene_id)), "npc_hamako"))
    play(room, scene_id, 1)
    room.database.write_now(lambda s: leave(s, *held(s, room.worlds, main(scene_id)), "npc_hamako"))
    play(room, scene_id, 5)
    of_mio, of_aoi = ([prompt for prompt in script.history if speaker_of(prompt) == one] for one in ("mio", "aoi"))
    came = "(Hamako comes and joins you.)\n(It happens: A bell rings.)\n\nTaro: Line 1.\n\n(Hamako has left.)"
    assert of_mio[0].messages[-1].content.endswith(f"Aoi: Line 0.\n\n{came}")
    assert of_aoi[1].messages[-1].content == f"{came}\n\nMio: Line 2."
    for asked in (of_mio, of_aoi):
        assert all(later.messages[: len(before.messages)] == before.messages for before, later in pairwise(asked))
    world = room.database.read_now(lambda s: room.worlds.open(s, "main"))
    assert asyncio.run(why_said(room, world, scene_id, 3)).messages == of_aoi[1].messages


FAR = "Too far off to hear you unless you speak loudly, or to see what you do"


def test_a_speaker_is_told_who_is_too_far_off_and_may_go_there_and_is_heard_there(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST[:2], {"id": "mio", "spot": "on the road"}, modulator=Modulator.PLACE)
    comes = acts("Who is it?", act="walks up to them", to=[], loudness="normal", spot="with the others")
    script.enqueue(acts("Mio?", to=["Mio"], loudness="normal"), acts(think="Hm.", to=[], loudness="normal"), comes)
    script.enqueue(acts("Good evening, Mio.", to=["Mio"], loudness="normal"), acts("Yes.", to=[], loudness="normal"))
    play(room, scene_id, 5)
    asked = [prompt.messages[-1].content for prompt in script.history]
    assert f"({FAR}: Mio (on the road). `spot` takes you there.)" in asked[0]
    assert f"({FAR}: Aoi (with the others), Taro (with the others). `spot` takes you there.)" in asked[2]
    assert "Mio?" not in asked[2]
    assert asked[3].endswith("(Mio is now there: with the others.)\n\nMio: (walks up to them) Who is it?")
    assert FAR not in asked[3]
    assert [(turn.spot, turn.heard_by) for turn in turns(room, scene_id)] == [
        (None, ["npc_taro"]),
        (None, ["aoi"]),
        ("", None),
        (None, None),
        (None, None),
    ]
    forms = [prompt.answer.model_json_schema()["properties"] for prompt in script.history]
    assert ["spot" in form for form in forms] == [True, True, True, False, False]
    assert forms[2]["spot"]["enum"] == ["", "with the others"]


def test_who_comes_stands_where_most_are_and_perceives_and_remembers_it(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    cast = [{"id": one, "spot": spot} for one, spot in zip(CAST[:3], ("door", "table", "table"), strict=True)]
    scene_id = begin_scene(room, *cast, modulator=Modulator.PLACE)
    came = room.database.write_now(lambda s: join(s, *held(s, room.worlds, main(scene_id)), "npc_hamako").spot)
    script.enqueue(*[acts(f"Line {number}.", to=[], loudness="normal") for number in range(3)])
    play(room, scene_id, 3)
    assert came == "table"
    assert [turn.heard_by for turn in turns(room, scene_id)] == [[], ["mio", "npc_hamako"], ["npc_taro", "npc_hamako"]]
    assert perceiving(talk(room, scene_id), turns(room, scene_id)) == ("aoi", "npc_taro", "mio", "npc_hamako")
    room.database.write_now(lambda s: join(s, *held(s, room.worlds, main(scene_id)), "npc_eisaku", "on the stairs"))
    script.enqueue(acts("Who is there?", to=[], loudness="normal"))
    play(room, scene_id, 1)
    assert "(Eisaku comes, and stays there: on the stairs.)" in script.history[-1].messages[-1].content


def test_two_perceive_each_other_wherever_they_stand_and_no_modulator_is_asked(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    cast = [{"id": "aoi", "spot": "door"}, {"id": "mio", "spot": "table"}]
    scene_id = begin_scene(room, *cast, modulator=Modulator.MODEL, turn_policy=TurnPolicy.ADDRESSED)
    script.enqueue(acts("The lamp is mine.", act="points at it"), acts("Is it?"))
    play(room, scene_id, 2)
    assert [prompt.name for prompt in script.history] == ["speaker", "speaker"]
    assert [(turn.seen_by, turn.heard_by) for turn in turns(room, scene_id)] == [(None, None), (None, None)]
    assert "Aoi: (points at it) The lamp is mine." in shown(script.history[1])
    first = script.history[0]
    assert not {"to", "loudness", "spot", "goal_achieved"} & set(first.answer.model_json_schema()["properties"])
    assert not any(rule in first.messages[0].content for rule in ("goal_achieved", "loudness"))


def test_who_is_addressed_does_not_answer_a_third_time_running_while_somebody_is_left_out(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST, turn_policy=TurnPolicy.ADDRESSED, max_turns=20)
    to = {"aoi": "Taro", "npc_taro": "Aoi", "mio": "Aoi", "npc_hamako": "Aoi"}

    def answer(number: int, prompt: Prompt[Any]) -> Any:
        fields = acts(f"Line {number}.", to=[to[speaker_of(prompt)]], loudness="normal")
        return prompt.answer.model_validate(fields)

    script.enqueue(*[partial(answer, number) for number in range(12)])
    play(room, scene_id, 12)
    seats = [CAST.index(turn.speaker_id) for turn in turns(room, scene_id)]
    assert seats == [0, 1, 0, 1, 2, 0, 1, 0, 1, 3, 0, 1]
