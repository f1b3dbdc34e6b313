"""Owns the tests of who carries which conversation, whatever stops on the way."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel
from sqlalchemy import text
from sqlmodel import Session, col

from service.conversation.closing import machine_time, reopen
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.prompt import PromptContext
from service.conversation.scenes import go_on
from service.conversation.transcript import end
from service.errors import ModelServerError
from service.llm.chat import Prompt
from service.memory.closing.context import ClosingAnswer
from service.memory.record import Group
from service.runtime.jobs import Jobs
from service.store.jobs import JobKind, change_job, job_of
from service.store.lease import Lease
from service.store.phase import Audience, EndReason, Phase
from service.store.presence import Presence
from service.store.session import Database
from service.store.tables import (
    AttitudeChangeRow,
    ConversationRow,
    JobRow,
    SummaryRow,
    UsageRow,
    WorldRow,
)
from tests.conversation.live import Recorded
from tests.conversation.scenes import acts, begin_scene
from tests.conversation.talks import (
    FAMILY,
    FAREWELL,
    HELLO,
    THANKS,
    engaged,
    events_told_to,
    limited,
    meet,
    recollection,
    replies,
    rows,
    says,
    talk,
    talk_of_family,
    turns,
)
from tests.memory.answers import closing
from tests.memory.remote import RemoteGraph
from tests.runtime.carrying import carried, carrying
from tests.runtime.patience import PATIENCE_SECONDS, until
from tests.runtime.trying import trying
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

WHOLE = [HELLO, FAMILY, THANKS, FAREWELL]
AOI = Group(world_id="main", person_id="aoi")


@asynccontextmanager
async def _running(room: ConversationDependencies) -> AsyncIterator[Jobs]:
    async with carrying(room) as runner:
        yield runner


async def _dropped(jobs: Jobs, conversation_id: str) -> None:
    async with jobs.dropped(job_of(main(conversation_id))):
        """What was being made is dropped."""


def _hold(room: ConversationDependencies, conversation_id: str, runner: str) -> None:
    room.database.write_now(lambda s: change_job(s, job_of(main(conversation_id)), runner=runner))


def _texts(room: ConversationDependencies, conversation_id: str) -> list[str]:
    return [turn.text for turn in turns(room, conversation_id)]


def _set(room: ConversationDependencies, conversation_id: str, **columns: Any) -> None:
    def work(session: Session) -> None:
        row = session.get_one(ConversationRow, main(conversation_id))
        for name, value in columns.items():
            setattr(row, name, value)

    room.database.write_now(work)


def _failure(room: ConversationDependencies, conversation_id: str) -> str:
    return str((talk(room, conversation_id).failure or {}).get("type"))


def _stops(prompt: Prompt[Any]) -> BaseModel:
    raise KeyboardInterrupt  # as near to a kill as one process gets: nothing of ours may catch it


def _crashes(prompt: Prompt[Any]) -> BaseModel:
    raise ZeroDivisionError("nobody thought of this")


def _carried(room: ConversationDependencies, conversation_id: str) -> ConversationRow:
    async def run() -> None:
        async with _running(room) as runner, asyncio.timeout(PATIENCE_SECONDS):
            await carried(room, runner, main(conversation_id))

    asyncio.run(run())
    return talk(room, conversation_id)


def test_a_turn_that_fails_as_nobody_expects_is_tried_three_times_and_ends_the_talk(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(says(HELLO), _crashes, _crashes, _crashes, recollection())
    row = _carried(room, meet(room))
    assert (row.phase, row.end_reason) == (Phase.CLOSED, EndReason.MODEL_FAILURE)
    assert row.failure is not None
    assert (row.failure["type"], row.failure["role"]) == ("unexpected", "npc")
    assert all("ZeroDivisionError: nobody thought of this" in row.failure[language] for language in ("en", "ja"))
    assert script.unused == 0


def test_a_closing_that_fails_as_nobody_expects_is_tried_three_times_and_has_failed(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(says(HELLO, leaves=True), replies(FAMILY, leaves=True), _crashes, _crashes, _crashes)
    row = _carried(room, meet(room))
    assert (row.phase, (row.failure or {}).get("type")) == (Phase.CLOSING_FAILED, "unexpected")
    assert script.unused == 0


def test_what_fails_twice_as_nobody_expects_and_then_goes_well_leaves_no_trace(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    first, second, *rest = talk_of_family()
    script.enqueue(first, _crashes, _crashes, second, _crashes, _crashes, *rest)
    row = _carried(room, meet(room))
    assert (row.phase, row.failure) == (Phase.CLOSED, None)
    assert _texts(room, row.id) == WHOLE


def test_a_conversation_is_carried_from_its_start_to_the_long_term_memory(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    graph = RemoteGraph()
    stream = Recorded()
    room = replace(room, projection=graph, stream=stream)

    async def run() -> tuple[str, list[str]]:
        script.enqueue(*talk_of_family())
        conversation_id = meet(room)
        async with _running(room) as runner:
            await carried(room, runner, main(conversation_id))
            await trying(room, JobKind.DELIVERY)
            facts = await room.memory.recall(AOI, "", at=room.worlds.start, limit=9)
        return conversation_id, [found.memory.text for found in facts]

    conversation_id, facts = asyncio.run(run())
    assert talk(room, conversation_id).phase == Phase.CLOSED
    assert _texts(room, conversation_id) == WHOLE
    assert facts == ["Taro has two children called Mio and Riku."]
    assert f"What Taro has told you: {facts[0]}" in graph.held[AOI].values()
    assert talk(room, conversation_id).end_reason == EndReason.GOAL_ACHIEVED
    assert stream.told[-3:] == ["settled", "hushed", "committed"]


@pytest.mark.parametrize("committed", range(5))
def test_what_a_killed_process_left_at_any_turn_is_carried_to_its_end(
    room: ConversationDependencies, script: ScriptedModel, committed: int
) -> None:
    words = talk_of_family()
    script.enqueue(*words[:committed], _stops)
    conversation_id = meet(room)
    if committed == 4:
        asyncio.run(Engine(room).converse(main(conversation_id)))
    with pytest.raises(KeyboardInterrupt):
        asyncio.run((Engine(room).converse if committed < 4 else Engine(room).close)(main(conversation_id)))
    assert len(turns(room, conversation_id)) == committed
    assert talk(room, conversation_id).phase == (Phase.RUNNING if committed < 4 else Phase.CLOSING)
    _hold(room, conversation_id, "1-a process that is gone")
    script.enqueue(*words[committed:])

    async def run() -> None:
        async with _running(room) as runner:
            await carried(room, runner, main(conversation_id))

    asyncio.run(run())
    assert _texts(room, conversation_id) == WHOLE
    assert talk(room, conversation_id).phase == Phase.CLOSED
    assert [r["conversation_id"] for r in rows(room, SummaryRow)] == [conversation_id] * 2
    assert [r["conversation_id"] for r in rows(room, AttitudeChangeRow)] == [conversation_id] * 2
    assert engaged(room) == []
    assert script.unused == 0


def test_what_a_living_process_holds_is_left_alone_and_taken_up_as_soon_as_that_is_gone(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(*talk_of_family())
    other = Presence(room.database.url)

    async def run() -> tuple[int, str]:
        async with _running(room) as runner:
            conversation_id = meet(room)
            _hold(room, conversation_id, other.new_holder())
            await asyncio.sleep(0.15)
            asked = len(script.history)
            other.close()
            await carried(room, runner, main(conversation_id))
            return asked, conversation_id

    asked, conversation_id = asyncio.run(run())
    assert asked == 0 or room.database.is_sqlite  # which is one process's: whoever else held it is gone
    assert _texts(room, conversation_id) == WHOLE


def test_two_replicas_carry_a_conversation_once(room: ConversationDependencies, script: ScriptedModel) -> None:
    script.latency_seconds = 0.03
    script.enqueue(*talk_of_family())

    async def run() -> str:
        async with _running(room) as one, _running(room) as two:
            conversation_id = meet(room)
            await asyncio.gather(carried(room, one, main(conversation_id)), carried(room, two, main(conversation_id)))
            return conversation_id

    conversation_id = asyncio.run(run())
    assert _texts(room, conversation_id) == WHOLE
    assert len(script.history) == 5


@pytest.mark.server
def test_a_process_whose_connection_is_lost_shows_itself_again(postgres_url: str) -> None:
    one, other = Database(postgres_url), Database(postgres_url)
    one.migrate()
    holder = one.presence.new_holder()

    def is_gone() -> bool:
        held = Lease(holder=WorldRow.runner)  # type: ignore[arg-type] # a column of the class
        mine = other.presence.new_holder()
        return other.write_now(lambda s: held.take(s, mine, col(WorldRow.id) == "main")) == 1

    other.write_now(lambda s: s.add(WorldRow(id="main", language="en", started_at=0, now=0, runner=holder)))
    assert not is_gone()
    locks = """SELECT pid FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
        WHERE locktype = 'advisory' AND classid = 7203916 AND datname = current_database()"""

    def living() -> set[int]:
        return {*other.read_now(lambda s: s.execute(text(locks)).scalars())}

    other.presence.close()
    ended = living()
    for pid in ended:
        other.write_now(lambda s: s.execute(text(f"SELECT pg_terminate_backend({pid})")))  # noqa: B023 - run here
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not living() - ended:  # one that was told to end may still be there for a moment
        assert time.monotonic() < deadline
    assert not is_gone()
    one.close()
    assert is_gone()
    other.close()


def test_conversations_of_others_go_on_beside(room: ConversationDependencies, script: ScriptedModel) -> None:
    arrived: list[str] = []

    def answers(prompt: Prompt[Any]) -> BaseModel:
        assert isinstance(prompt.given, PromptContext)
        arrived.append(prompt.given.speaker.id)
        return says(HELLO, leaves=True)

    script.latency_seconds = 0.2
    script.enqueue(answers, answers, role="character")
    script.enqueue(_empty(), _empty(), role="closing")

    async def run() -> None:
        async with _running(room) as runner:
            ids = [meet(room), meet(room, character_id="mio", npc_id="npc_hamako")]
            await until(lambda: len(arrived) == 2)  # each was asked while the other's model still thought
            assert all(turns(room, conversation_id) == [] for conversation_id in ids)
            script.latency_seconds = 0
            await asyncio.gather(*(carried(room, runner, main(conversation_id)) for conversation_id in ids))

    asyncio.run(run())
    assert sorted(arrived) == ["aoi", "mio"]


def _hangs(script: ScriptedModel, answer: BaseModel) -> Callable[[Prompt[Any]], BaseModel]:
    """An answer that takes a minute; the script's latency tells that the model is at it."""

    def answers(prompt: Prompt[Any]) -> BaseModel:
        script.latency_seconds = 60
        return answer

    return answers


def _empty() -> ClosingAnswer:
    return closing()


def test_interrupting_drops_the_utterance_in_the_making(room: ConversationDependencies, script: ScriptedModel) -> None:
    async def run() -> str:
        script.enqueue(says(HELLO), _hangs(script, replies(FAMILY)), _empty())
        async with _running(room) as runner:
            conversation_id = meet(room)
            await until(lambda: script.latency_seconds > 0)
            script.latency_seconds = 0
            await room.database.write(lambda s: end(s, room.worlds, "main", conversation_id, EndReason.ENDED_BY_CLIENT))
            await _dropped(runner, conversation_id)
            await asyncio.wait_for(carried(room, runner, main(conversation_id)), PATIENCE_SECONDS)
            return conversation_id

    conversation_id = asyncio.run(run())
    row = talk(room, conversation_id)
    assert (row.phase, row.end_reason) == (Phase.CLOSED, EndReason.ENDED_BY_CLIENT)
    assert _texts(room, conversation_id) == [HELLO]
    counted = {used["role"]: (used["calls"], used["failures"]) for used in rows(room, UsageRow)}
    assert counted == {"character": (1, 0), "npc": (1, 1), "closing": (1, 0)}, "the interrupted call is paid too"


def test_who_listens_hears_that_a_talk_ended_before_the_first_word_is_settled(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    stream = Recorded()
    room = replace(room, stream=stream)

    async def run() -> None:
        async with _running(room) as runner:
            conversation_id = meet(room)
            await room.database.write(lambda s: end(s, room.worlds, "main", conversation_id, EndReason.ENDED_BY_CLIENT))
            await _dropped(runner, conversation_id)
            await until(lambda: "settled" in stream.told)

    asyncio.run(run())
    assert stream.told[0] == "settled"


def test_stopping_in_the_middle_leaves_what_the_next_process_goes_on_from(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    words = talk_of_family()

    async def stopped_midway() -> str:
        script.enqueue(*words[:2], _hangs(script, says(THANKS)))
        async with _running(room):
            conversation_id = meet(room)
            await until(lambda: script.latency_seconds > 0)
        script.latency_seconds = 0
        return conversation_id

    conversation_id = asyncio.run(stopped_midway())
    left = talk(room, conversation_id)
    assert left.phase == Phase.RUNNING
    assert [row["runner"] for row in rows(room, JobRow)] == [None], "nobody is to wait for it"
    assert _texts(room, conversation_id) == WHOLE[:2]
    script.enqueue(*words[2:])

    async def next_process() -> None:
        async with _running(room) as runner:
            await asyncio.wait_for(carried(room, runner, main(conversation_id)), PATIENCE_SECONDS)

    asyncio.run(next_process())
    assert _texts(room, conversation_id) == WHOLE
    assert talk(room, conversation_id).phase == Phase.CLOSED


@pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.CLOSING])
def test_what_the_living_world_holds_is_left_to_it(
    room: ConversationDependencies, script: ScriptedModel, phase: Phase
) -> None:
    script.enqueue(*talk_of_family()[:4])
    held = meet(room)
    if phase == Phase.CLOSING:
        asyncio.run(Engine(room).converse(main(held)))
    asked = len(script.history)
    _set(room, held, clock_policy="minute", talk_id="aoi@1")

    async def run() -> None:
        async with _running(room) as runner:
            await _dropped(runner, held)
            other = meet(room, character_id="mio", npc_id="npc_hamako")
            script.enqueue(says(HELLO, leaves=True), replies("Bye."), _empty()) if phase == Phase.CLOSING else _instead(
                script
            )
            await carried(room, runner, main(other))

    asyncio.run(run())
    assert talk(room, held).phase == phase
    assert len(script.history) == asked + 3, "only the other talk's two utterances and closing"


def _instead(script: ScriptedModel) -> None:
    """What another talk needs, before what is enqueued for the held one."""
    script.enqueue(says(HELLO, leaves=True), replies("Bye."), role="character")
    script.enqueue(_empty(), role="closing")


def test_a_client_ends_what_the_living_world_holds_and_leaves_the_closing_to_it(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    held = meet(room)
    script.enqueue(says(HELLO), _stops)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(Engine(room).converse(main(held)))
    _set(room, held, clock_policy="minute", talk_id="aoi@1")

    async def run() -> None:
        async with _running(room) as runner:
            await room.database.write(lambda s: end(s, room.worlds, "main", held, EndReason.ENDED_BY_CLIENT))
            await _dropped(runner, held)
            await asyncio.sleep(0.1)  # several sweeps

    asyncio.run(run())
    assert (talk(room, held).phase, talk(room, held).talk_id) == (Phase.CLOSING, "aoi@1")


def test_a_living_talks_closing_that_failed_is_carried_when_a_client_asks_for_it_again(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(*talk_of_family()[:4])
    held = meet(room)
    asyncio.run(Engine(room).converse(main(held)))
    _set(room, held, clock_policy="minute", talk_id="aoi@1", phase=Phase.CLOSING_FAILED)
    script.enqueue(recollection())

    async def run() -> None:
        async with _running(room) as runner:
            await room.database.write(lambda s: reopen(s, s.get_one(ConversationRow, main(held))))
            await asyncio.wait_for(carried(room, runner, main(held)), PATIENCE_SECONDS)

    asyncio.run(run())
    assert talk(room, held).phase == Phase.CLOSED
    assert [row["conversation_id"] for row in rows(room, SummaryRow)] == [held] * 2


def test_a_closing_the_budget_has_no_room_for_waits_for_the_next_day_and_loses_nothing(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    now = [datetime(2026, 4, 1, 12, tzinfo=UTC)]
    spent = limited(room, script, now=lambda: now[0], max_calls_per_day=5)
    failing = ModelServerError(model="m", status_code=500, reason="out of order")
    script.enqueue(*talk_of_family()[:4], failing)

    async def run() -> None:
        conversation_id = meet(room)
        async with _running(spent) as runner:
            await carried(room, runner, main(conversation_id))
            assert _failure(room, conversation_id) == "model-server-error"
            room.database.write_now(lambda s: reopen(s, s.get_one(ConversationRow, main(conversation_id))))
            await carried(room, runner, main(conversation_id))
            assert talk(room, conversation_id).phase == Phase.CLOSING_FAILED
            assert _failure(room, conversation_id) == "budget-exhausted"
            asked = len(script.history)
            script.enqueue(talk_of_family()[4])
            job = room.database.read_now(lambda s: s.get_one(JobRow, job_of(main(conversation_id))))
            assert 3600 * 11.9 < job.due_at - time.time() <= 3600 * 12, "until the day is over"
            now[0] = datetime(2026, 4, 2, tzinfo=UTC)
            room.database.write_now(lambda s: change_job(s, job_of(main(conversation_id)), due_at=0.0))
            await until(lambda: talk(room, conversation_id).phase == Phase.CLOSED)
            assert len(script.history) == asked + 1
        told = [event["kind"] for event in events_told_to(room, Audience.WORLD)]
        assert told.count("closing_failed") == 2
        assert {row["person_id"] for row in rows(room, SummaryRow)} == {"aoi", "npc_taro"}

    asyncio.run(run())


def test_of_two_replicas_one_tries_a_failed_closing_again(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(*talk_of_family()[:4], ModelServerError(model="m", status_code=500, reason="out of order"))
    conversation_id = meet(room)
    assert _carried(room, conversation_id).phase == Phase.CLOSING_FAILED
    script.enqueue(recollection())

    async def run() -> None:
        async with _running(room), _running(room):
            failure = talk(room, conversation_id).failure or {}
            assert failure["next_try_at"] > machine_time()
            room.database.write_now(lambda s: change_job(s, job_of(main(conversation_id)), due_at=0.0))
            await until(lambda: talk(room, conversation_id).phase == Phase.CLOSED)

    asyncio.run(run())
    assert [prompt.name for prompt in script.history].count("closing") == 2
    assert {row["person_id"] for row in rows(room, SummaryRow)} == {"aoi", "npc_taro"}


def test_a_closing_that_waited_is_made_when_the_service_starts_with_a_higher_limit(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    words = talk_of_family()
    script.enqueue(*words[:4])

    async def run() -> None:
        conversation_id = meet(room)
        await Engine(limited(room, script, max_calls_per_day=9)).converse(main(conversation_id))
        async with _running(limited(room, script, max_calls_per_day=4)):
            await until(lambda: talk(room, conversation_id).phase == Phase.CLOSING_FAILED)
        script.enqueue(words[4])
        async with _running(limited(room, script, max_calls_per_day=9)):
            await until(lambda: talk(room, conversation_id).phase == Phase.CLOSED)

    asyncio.run(run())


def test_nobody_works_on_a_scene_that_stands_and_it_goes_on_for_as_many_turns_as_it_is_told_to(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    scene_id = begin_scene(room, "aoi", "npc_taro", "mio")
    assert _carried(room, scene_id).phase == Phase.RUNNING
    assert not script.history
    script.enqueue(acts("One."), acts("Two."))
    room.database.write_now(lambda s: go_on(s, room.worlds, main(scene_id), 2))
    row = _carried(room, scene_id)
    assert (_texts(room, scene_id), row.phase) == (["One.", "Two."], Phase.RUNNING)
