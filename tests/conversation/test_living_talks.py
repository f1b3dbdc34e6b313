"""Owns the tests of the living world's talks: turn by turn at their own world time, hours ahead of the world's
clock.
"""

import asyncio

import pytest
from sqlmodel import Session

from service.conversation.closing import close, reopen
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.prompt import PromptContext
from service.conversation.transcript import end
from service.errors import Busy, ModelBroken
from service.memory.recall import recent_memory
from service.store.events import events_after, flush_due
from service.store.phase import Audience, EndReason, Phase
from service.store.tables import (
    ConversationRow,
    MemoryRow,
    PendingEventRow,
    PersonRow,
    SummaryRow,
    TurnRow,
    WorldRow,
)
from tests.conversation.talks import (
    AHEAD,
    BESIDE_TARO,
    FAMILY,
    FAREWELL,
    GOAL,
    HELLO,
    THANKS,
    begin_living,
    engaged,
    events_told_to,
    hold_living,
    meet,
    pair_recollection,
    pass_minutes,
    place,
    recollection,
    replies,
    rows,
    says,
    sleeps,
    talk,
    todays,
    turns,
)
from tests.conversation.talks import begin as start_of_a_client
from tests.memory.answers import memory
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main
from world.time import MINUTES_PER_DAY, WorldTime

FOUR = (says(HELLO), replies(FAMILY), says(THANKS, achieved=True, leaves=True), replies(FAREWELL))


def _foretold(room: ConversationDependencies) -> list[tuple[str, int, str, str]]:
    """In the order in which they will be told (ids of one millisecond have none)."""
    scheduled = sorted(rows(room, PendingEventRow), key=lambda r: (r["at"], r["rank"], r["person_id"], r["key"]))
    return [(row["kind"], row["at"], row["person_id"], row["key"]) for row in scheduled]


def _clock(room: ConversationDependencies) -> int:
    return int(rows(room, WorldRow)[0]["now"])


def test_a_talk_begins_running_engages_both_and_is_foretold(room: ConversationDependencies) -> None:
    room.database.write_now(lambda s: s.add(PersonRow(world_id="main", person_id="aoi", sleeps=4)))
    starts = begin_living(room)
    row = talk(room, "c1")
    assert (row.phase, row.started_at, row.talk_id, row.node_id) == (
        Phase.RUNNING,
        starts,
        f"aoi@{starts}",
        BESIDE_TARO,
    )
    assert (row.goal, row.goal_given, row.participants[0].night) == (GOAL.goal, True, 4)
    assert [one for one, _ in engaged(room)] == ["aoi", "npc_taro"]
    assert events_told_to(room, Audience.WORLD) == []
    (event,) = rows(room, PendingEventRow)
    assert (event["kind"], event["at"], event["person_id"]) == ("conversation_started", starts, "aoi")
    assert event["data"] == {"conversation_id": "c1", "partner_id": "npc_taro", "node_id": BESIDE_TARO}


def test_a_client_finds_both_busy_while_the_living_world_lets_them_talk(room: ConversationDependencies) -> None:
    begin_living(room, ahead=0)
    place(room, "mio")
    with pytest.raises(Busy) as refused:
        start_of_a_client(room, character_id="mio")
    assert refused.value.facts["conversation_id"] == "c1"


def test_whom_a_clients_talk_engages_stays_engaged_there(room: ConversationDependencies) -> None:
    first = meet(room, character_id="mio")
    begin_living(room)
    assert dict(engaged(room)) == {
        "mio": first,
        "npc_taro": first,
        "aoi": "c1",
    }


LETTER = "I lost a letter by the ferry."


def test_the_time_since_they_last_met_is_that_of_the_talk(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    first = begin_living(room, ahead=60)
    second = begin_living(room, "c2", ahead=AHEAD)
    angered = recollection(second={"mood": "angry", "memories": []})
    script.enqueue(*FOUR, angered, says("It is me again.", leaves=True), replies("So it is.", leaves=True))

    async def run() -> None:
        engine = Engine(room)
        await hold_living(engine, first)
        await engine.close(main("c1"))
        await hold_living(engine, second, "c2")

    asyncio.run(run())
    character, npc = (prompt.given for prompt in script.history[-2:])
    assert isinstance(character, PromptContext)
    assert isinstance(npc, PromptContext)
    for one in (character, npc):
        assert one.meetings
        assert one.meetings[-1].ago == "2 days ago"
    assert character.mid_term == ()  # it has lasted its two days
    assert npc.mood == "happy"  # it has cooled to the author's
    (noted,) = (row for row in rows(room, MemoryRow) if row["kind"] == "mid_term")
    assert (noted["known_from"], noted["expires_at"]) == (first + 4, first + 4 + 2 * MINUTES_PER_DAY)


def test_what_happens_later_is_not_known_yet_by_the_clock(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    starts = begin_living(room)
    script.enqueue(*FOUR, recollection())

    async def run() -> None:
        engine = Engine(room)
        await hold_living(engine, starts)
        await engine.close(main("c1"))

    asyncio.run(run())

    def at(t: int) -> tuple[bool, int]:
        def work(session: Session) -> tuple[bool, int]:
            world = room.worlds.open(session, "main").at(WorldTime(t))
            recent = recent_memory(session, world, "aoi", "npc_taro")
            return recent.last_summary is not None, len(recent.mid_term)

        return room.database.read_now(work)

    assert at(_clock(room)) == (False, 0)
    assert at(starts + 4) == (True, 1)


@pytest.mark.parametrize("killed_at", range(4))
def test_a_turn_that_is_committed_is_not_spoken_again(
    room: ConversationDependencies, script: ScriptedModel, killed_at: int
) -> None:
    """The driver dies between the commit of a turn and its own: it asks for the same turn of a new process."""
    starts = begin_living(room)
    script.enqueue(*FOUR)

    async def run() -> None:
        first = Engine(room)
        answers = [await first.turn(main("c1"), index, WorldTime(starts + index)) for index in range(killed_at + 1)]
        again = Engine(room)
        assert await again.turn(main("c1"), killed_at, WorldTime(starts + killed_at)) == answers[-1]
        assert len(script.history) == killed_at + 1
        if not answers[-1].is_over:
            await hold_living(again, starts, index=killed_at + 1)

    asyncio.run(run())
    assert [turn.text for turn in turns(room, "c1")] == [HELLO, FAMILY, THANKS, FAREWELL]
    assert (talk(room, "c1").end_reason, talk(room, "c1").ended_at) == (EndReason.GOAL_ACHIEVED, starts + 4)
    assert script.unused == 0


def test_a_last_turn_whose_end_was_not_written_ends_the_talk(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    starts = begin_living(room, max_turns=2)
    script.enqueue(says(HELLO), replies(FAMILY))

    async def run() -> bool:
        engine = Engine(room)
        await engine.turn(main("c1"), 0, starts)
        await engine.turn(main("c1"), 1, WorldTime(starts + 1))
        room.database.write_now(_as_if_it_ran)
        return (await Engine(room).turn(main("c1"), 1, WorldTime(starts + 1))).is_over

    assert asyncio.run(run())
    row = talk(room, "c1")
    assert (row.phase, row.end_reason, row.ended_at) == (Phase.CLOSING, EndReason.TURN_LIMIT, starts + 3)
    assert len(script.history) == 2


def _as_if_it_ran(session: Session) -> None:
    row = session.get_one(ConversationRow, main("c1"))
    row.phase, row.end_reason, row.ended_at = Phase.RUNNING, None, None


def test_a_client_ends_a_living_talk_between_its_turns(room: ConversationDependencies, script: ScriptedModel) -> None:
    starts = begin_living(room)
    script.enqueue(*FOUR[:2])

    async def run() -> bool:
        engine = Engine(room)
        await engine.turn(main("c1"), 0, starts)
        await engine.turn(main("c1"), 1, WorldTime(starts + 1))
        room.database.write_now(lambda s: end(s, room.worlds, "main", "c1", EndReason.ENDED_BY_CLIENT))
        return (await engine.turn(main("c1"), 2, WorldTime(starts + 2))).is_over

    assert asyncio.run(run())
    row = talk(room, "c1")
    assert (row.phase, row.end_reason, row.ended_at) == (Phase.CLOSING, EndReason.ENDED_BY_CLIENT, starts + 3)
    assert script.unused == 0


def test_the_events_of_a_talk_are_foretold_in_order_and_told_when_the_clock_has_passed(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    starts = begin_living(room)
    lies = [memory("Taro is a king.", 77), memory("Taro is a pirate.", 77)]
    script.enqueue(*FOUR, recollection(second={"memories": lies}))

    async def run() -> None:
        engine = Engine(room)
        await hold_living(engine, starts)
        await engine.close(main("c1"))

    asyncio.run(run())
    assert events_told_to(room, Audience.WORLD) == []
    held = f"aoi@{starts}"
    assert _foretold(room) == [
        ("conversation_started", starts, "aoi", held),
        ("conversation_ended", starts + 4, "aoi", held),
        ("conversation_closed", starts + 4, "aoi", held),
        ("fact_rejected", starts + 4, "npc_taro", f"{held}/000"),
        ("fact_rejected", starts + 4, "npc_taro", f"{held}/001"),
    ]
    room.database.write_now(lambda s: flush_due(s, "main", WorldTime(starts + 5)))
    told = room.database.read_now(lambda s: events_after(s, "main", 0, 100))
    assert [event.kind for event in told] == [
        "conversation_started",
        "conversation_ended",
        "conversation_closed",
        "fact_rejected",
        "fact_rejected",
    ]
    row = talk(room, "c1")
    assert (row.phase, row.closed_at) == (Phase.CLOSED, starts + 4)
    assert [r["at"] for r in rows(room, SummaryRow)] == [starts + 4] * 2


def test_a_failed_closing_is_foretold_and_answers_nobody(room: ConversationDependencies, script: ScriptedModel) -> None:
    starts = begin_living(room)
    script.enqueue(*FOUR, ModelBroken(model="m", reason="no JSON"))

    async def run() -> None:
        engine = Engine(room)
        await hold_living(engine, starts)
        await engine.close(main("c1"))

    asyncio.run(run())
    assert talk(room, "c1").phase == Phase.CLOSING_FAILED
    assert _foretold(room)[-1][:3] == ("closing_failed", starts + 4, "aoi")
    assert events_told_to(room, Audience.WORLD) == []


def test_a_reopened_closing_is_no_longer_the_living_worlds(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    starts = begin_living(room)
    script.enqueue(*FOUR, ModelBroken(model="m", reason="no JSON"), recollection())

    async def run() -> None:
        engine = Engine(room)
        await hold_living(engine, starts)
        await engine.close(main("c1"))
        room.database.write_now(lambda s: reopen(s, s.get_one(ConversationRow, main("c1"))))
        await close(room, main("c1"))

    asyncio.run(run())
    row = talk(room, "c1")
    assert (row.phase, row.clock_policy, row.ended_at, row.closed_at) == (Phase.CLOSED, "none", starts + 4, starts + 4)
    assert [r["at"] for r in rows(room, SummaryRow)] == [starts + 4] * 2
    assert [event.kind for event in room.database.read_now(lambda s: events_after(s, "main", 0, 9))] == [
        "conversation_closed"
    ]


@pytest.mark.parametrize("sleeper", ["aoi", "mio"])
def test_of_two_characters_each_has_the_talk_in_its_own_day(
    room: ConversationDependencies, script: ScriptedModel, sleeper: str
) -> None:
    starts = begin_living(room, partner_id="mio")
    script.enqueue(says(HELLO), replies(FAMILY, leaves=True), says(THANKS, leaves=True), pair_recollection())

    async def run() -> None:
        engine = Engine(room)
        await hold_living(engine, starts)
        sleeps(room, sleeper)
        await engine.close(main("c1"))

    asyncio.run(run())
    pass_minutes(room, AHEAD + 60)
    assert {one for one in ("aoi", "mio") if todays(room, one)} == {"aoi", "mio"} - {sleeper}
    assert len(rows(room, TurnRow)) == 3
