"""Owns the tests of humans in conversations: what they say, when it is their turn, and what is remembered of it."""

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from service.content.profile import PlayerProfile
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.human import Words, hand_over, leave_in_silence, say
from service.conversation.start import Start, start_with_player
from service.conversation.transcript import end
from service.errors import Busy, Invalid, NotFound, NotYourTurn, WrongPhase
from service.memory.recall import remembered
from service.people.worlds import WorldRepository
from service.settings import WorldSettings
from service.store.jobs import change_job, job_of
from service.store.phase import EndReason, Phase, Speaker
from service.store.tables import JobRow, MemoryRow, SummaryRow, TurnRow
from tests.conversation.talks import (
    FAMILY,
    FAREWELL,
    HELLO,
    THANKS,
    engaged,
    meet,
    pass_minutes,
    replies,
    rows,
    says,
    talk,
    turns,
)
from tests.memory.answers import closing, memory
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

NAME = "My name is Ken, and I am a glassblower from Minato."
GLAD = "Glad to meet you, Ken. A glassblower, you say?"


@pytest.fixture
def played(room: ConversationDependencies) -> ConversationDependencies:
    """A room in whose worlds Ken plays."""
    return with_players(room, "ken", "rei")


def with_players(room: ConversationDependencies, *ids: str, **settings: Any) -> ConversationDependencies:
    """The same room with those players, and those settings of the world."""
    content = room.worlds.content
    players = {i: PlayerProfile(id=i, name=i.capitalize()) for i in ids}
    casts = {language: replace(cast, players=players) for language, cast in content.casts.items()}
    told = WorldSettings(**(room.worlds.settings.model_dump() | settings))
    return replace(room, worlds=WorldRepository(replace(content, casts=casts), told))


def begin(
    room: ConversationDependencies, *, player_id: str = "ken", waived: bool = False, max_turns: int = 10, **more: Any
) -> str:
    """A player opens a conversation with Taro."""
    wanted = Start(opener_id=player_id, partner_id="npc_taro", max_turns=max_turns, place_waived=waived, **more)
    names = room.models.names()
    return room.database.write_now(
        lambda s: start_with_player(s, room.worlds.open(s, "main", lock=True), wanted, names).id
    )


def speak(room: ConversationDependencies, conversation_id: str, text: str, **more: Any) -> TurnRow:
    """The human says something."""
    return room.database.write_now(lambda s: say(s, room.worlds, main(conversation_id), Words(text=text, **more)))


def carry_on(room: ConversationDependencies, conversation_id: str) -> bool:
    """Let the service answer."""
    return asyncio.run(Engine(room).converse(main(conversation_id)))


def test_what_is_said_twice_under_one_name_is_said_once(played: ConversationDependencies) -> None:
    conversation_id = begin(played)
    first = speak(played, conversation_id, NAME, message_id="m1")
    assert speak(played, conversation_id, NAME, message_id="m1").turn == first.turn
    with pytest.raises(Invalid):
        speak(played, conversation_id, HELLO, message_id="m1")
    assert len(turns(played, conversation_id)) == 1


def test_nobody_speaks_out_of_turn(played: ConversationDependencies, script: ScriptedModel) -> None:
    conversation_id = begin(played)
    for wrong in ("", "  \n"):
        with pytest.raises(Invalid):
            speak(played, conversation_id, wrong)
    with pytest.raises(NotYourTurn):
        speak(played, conversation_id, HELLO, person_id="npc_taro")
    speak(played, conversation_id, HELLO)
    with pytest.raises(NotYourTurn):
        speak(played, conversation_id, THANKS)
    script.enqueue(replies(FAREWELL, leaves=True))
    assert carry_on(played, conversation_id)
    with pytest.raises(WrongPhase):
        speak(played, conversation_id, THANKS)
    assert talk(played, conversation_id).end_reason == EndReason.WANTS_TO_END


def test_what_a_player_told_is_remembered_and_its_own_side_is_not(
    played: ConversationDependencies, script: ScriptedModel
) -> None:
    told = [memory("Ken is a glassblower from Minato.", 0, about="a", teller="a")]
    of_itself = {"memories": told, "affinity": 90, "mood": "angry"}
    script.enqueue(
        replies(GLAD), closing("Ken told Taro that he is a glassblower.", first=of_itself, second={"memories": told})
    )
    conversation_id = begin(played)
    speak(played, conversation_id, NAME)
    carry_on(played, conversation_id)
    played.database.write_now(lambda s: end(s, played.worlds, "main", conversation_id, EndReason.ENDED_BY_CLIENT))
    asyncio.run(Engine(played).close(main(conversation_id)))
    assert talk(played, conversation_id).phase == Phase.CLOSED
    assert {row["person_id"] for row in rows(played, MemoryRow)} == {"npc_taro"}
    assert {row["person_id"] for row in rows(played, SummaryRow)} == {"ken", "npc_taro"}
    changes = talk(played, conversation_id).changes
    assert changes is not None
    assert changes["partner"]["affinity"] == {"before": 0, "after": 0}
    world = played.database.read_now(lambda s: played.worlds.open(s, "main"))
    found = asyncio.run(remembered(played.memory, world, "npc_taro", "glassblower", limit=5, partner_id="ken"))
    assert [one.memory.text for one in found] == ["Ken is a glassblower from Minato."]
    assert asyncio.run(remembered(played.memory, world, "npc_hamako", "glassblower", limit=5)) == []


@pytest.mark.parametrize("passed", [{"silence_minutes": 0.0005}, {"silence_world_minutes": 60}])
def test_silence_ends_it(room: ConversationDependencies, passed: dict[str, float]) -> None:
    played = with_players(room, "ken", **({"silence_minutes": 0, "silence_world_minutes": 0} | passed))
    conversation_id = begin(played)
    pass_minutes(played, 59)

    def leaves() -> bool:
        return played.database.write_now(lambda s: leave_in_silence(s, played.worlds, main(conversation_id)))

    time.sleep(0.05)
    job = job_of(main(conversation_id))
    if "silence_minutes" in passed:
        assert played.database.read_now(lambda s: s.get_one(JobRow, job)).due_at <= time.time()
    else:
        played.database.write_now(lambda s: change_job(s, job, due_at=time.time() + 3600))
        assert not leaves()
        pass_minutes(played, 1)
        assert played.database.read_now(lambda s: s.get_one(JobRow, job)).due_at <= time.time(), "it is looked at"
    assert leaves()
    row = talk(played, conversation_id)
    assert (row.end_reason, row.phase, row.awaits) == (EndReason.SILENCE, Phase.CLOSED, None)
    assert not engaged(played)


def test_a_player_engages_whom_it_talks_to_unless_the_place_is_waived(played: ConversationDependencies) -> None:
    first = begin(played)
    with pytest.raises(Busy):
        begin(played, player_id="rei")
    assert {begin(played, player_id="rei", waived=True), begin(played, player_id="rei", waived=True)}.isdisjoint(
        {first}
    )
    with pytest.raises(NotFound):
        begin(played, player_id="nobody")


def test_a_human_takes_over_from_a_model_and_hands_back(
    played: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(says(HELLO), replies(FAMILY), replies(GLAD), says(THANKS, leaves=True), replies(FAREWELL))
    conversation_id = meet(played)
    key = main(conversation_id)

    def give(speaker: Speaker) -> None:
        played.database.write_now(lambda s: hand_over(s, played.worlds, key, "aoi", speaker))

    engine = Engine(played)
    for index in range(2):
        assert not asyncio.run(engine.turn(key, index, None)).is_over
    give(Speaker.HUMAN)
    assert talk(played, conversation_id).awaits == "aoi"
    speak(played, conversation_id, NAME)
    assert not asyncio.run(engine.converse(key))
    give(Speaker.MODEL)
    assert asyncio.run(engine.converse(key))
    assert [(t.speaker_id, t.model) for t in turns(played, conversation_id)] == [
        ("aoi", "scripted"),
        ("npc_taro", "scripted"),
        ("aoi", "human"),
        ("npc_taro", "scripted"),
        ("aoi", "scripted"),
        ("npc_taro", "scripted"),
    ]


@pytest.mark.parametrize("who", ["ken", "npc_hamako"])
def test_no_model_speaks_for_a_player_or_who_takes_no_part(played: ConversationDependencies, who: str) -> None:
    key = main(begin(played))
    with pytest.raises(Invalid):
        played.database.write_now(lambda s: hand_over(s, played.worlds, key, who, Speaker.MODEL))
