"""Owns the tests of scenes and of conversations of more than two: who is there, who is next, who perceives what."""

import asyncio
from typing import Any

from service.conversation.context import PromptContext
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.scenes import ScenePerson, SceneStart, go_on, join, leave, start_scene
from service.conversation.transcript import held
from service.llm.chat import Prompt
from service.llm.scripted import ScriptedModel
from service.store.phase import EndReason, Phase
from service.store.tables import ConversationRow
from tests.conversation.talks import talk, turns
from tests.store.conversations import main

CAST = ("aoi", "npc_taro", "mio", "npc_hamako")


def acts(talk: str = "", *, think: str = "", act: str = "", leaves: bool = False, **more: Any) -> dict[str, Any]:
    """What somebody answers in a scene."""
    plain = {"think": think, "act": act, "talk": talk, "emotion": "neutral", "wants_to_end": leaves}
    return {**plain, "shifts": [], **more}


def begin_scene(room: ConversationDependencies, *people: str | ScenePerson, **more: Any) -> str:
    """A scene of these; the answer is its id."""
    cast = tuple(ScenePerson(person_id=one) if isinstance(one, str) else one for one in people)
    usual: dict[str, Any] = {"place": "a room without windows", "max_turns": 12}
    wanted = SceneStart(people=cast, **usual | more)
    names = room.models.names()
    return room.database.write_now(lambda s: start_scene(s, room.worlds.open(s, "main", lock=True), wanted, names)).id


def play(room: ConversationDependencies, scene_id: str, turns: int | None = None) -> ConversationRow:
    """Let it go on for so many turns."""
    room.database.write_now(lambda s: go_on(s, room.worlds, main(scene_id), turns))
    asyncio.run(Engine(room).converse(main(scene_id)))
    return talk(room, scene_id)


def speaker_of(prompt: Prompt[Any]) -> str:
    """Who was asked."""
    assert isinstance(prompt.given, PromptContext)
    return prompt.given.speaker.id


def shown(prompt: Prompt[Any]) -> str:
    """All that a speaker was shown."""
    return "\n".join(message.content for message in prompt.messages)


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


def test_of_more_than_two_who_says_goodbye_leaves_and_the_last_goodbye_ends_it(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, *CAST[:3])
    script.enqueue(acts("I must go.", leaves=True), acts("Farewell."), acts("Me too.", leaves=True))
    row = play(room, scene_id)
    assert [turn.speaker_id for turn in turns(room, scene_id)] == ["aoi", "npc_taro", "mio"]
    assert (row.phase, row.end_reason) == (Phase.CLOSING, EndReason.WANTS_TO_END)
    assert [one.left_turn for one in row.participants] == [1, None, None]
