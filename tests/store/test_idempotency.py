"""Owns the tests of requests that may be sent again."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from sqlmodel import Session, select

from service.conversation.dependencies import ConversationDependencies
from service.conversation.start import Start, start
from service.errors import Busy, KeyReused
from service.store.idempotency import Once, once
from service.store.session import Database
from service.store.tables import ConversationRow, IdempotencyRow
from tests.conversation.talks import GOAL, place

REQUEST = Once.of("main", "k1", "start", {"character_id": "aoi", "npc_id": "npc_taro"})


class Work:
    """Work that counts how often it is done."""

    def __init__(self) -> None:
        self.done = 0

    def __call__(self) -> dict[str, Any]:
        self.done += 1
        return {"number": self.done}


def _ask(database: Database, request: Once | None, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    return database.write_now(lambda s: once(s, request, work))


def test_the_second_request_gets_the_first_answer(database: Database) -> None:
    work = Work()
    assert [_ask(database, REQUEST, work) for _ in range(3)] == [{"number": 1}] * 3
    assert work.done == 1


def test_a_request_without_a_key_is_done_each_time(database: Database) -> None:
    work = Work()
    assert [_ask(database, None, work) for _ in range(2)] == [{"number": 1}, {"number": 2}]


def test_a_key_belongs_to_one_request(database: Database) -> None:
    _ask(database, REQUEST, Work())
    other_body = Once.of("main", "k1", "start", {"character_id": "mio", "npc_id": "npc_taro"})
    other_operation = Once.of("main", "k1", "tick", {"character_id": "aoi", "npc_id": "npc_taro"})
    for other in (other_body, other_operation):
        with pytest.raises(KeyReused) as refused:
            _ask(database, other, Work())
        assert refused.value.facts == {"key": "k1"}


def test_the_order_of_the_bodys_fields_does_not_matter() -> None:
    assert Once.of("main", "k1", "start", {"npc_id": "npc_taro", "character_id": "aoi"}) == REQUEST


def test_another_world_has_keys_of_its_own(database: Database) -> None:
    work = Work()
    _ask(database, REQUEST, work)
    assert _ask(database, Once.of("other", "k1", "start", {}), work) == {"number": 2}


def test_work_that_fails_leaves_the_key_free(database: Database) -> None:
    def fails() -> dict[str, Any]:
        raise LookupError

    with pytest.raises(LookupError):
        _ask(database, REQUEST, fails)
    assert _ask(database, REQUEST, Work()) == {"number": 1}


def test_the_answer_is_kept_with_the_work_or_not_at_all(database: Database) -> None:
    def work(session: Session) -> None:
        once(session, REQUEST, Work())
        raise LookupError("after the work")

    with pytest.raises(LookupError):
        database.write_now(work)
    assert database.read_now(lambda s: s.exec(select(IdempotencyRow)).all()) == []


def test_the_same_start_sent_in_parallel_starts_once_and_answers_all_alike(room: ConversationDependencies) -> None:
    place(room)
    wanted = Start(opener_id="aoi", partner_id="npc_taro", goal=GOAL, max_turns=4)

    def work(session: Session) -> str:
        def begin() -> dict[str, Any]:
            return {"id": start(session, room.worlds.open(session, "main", lock=True), wanted, {}).id}

        return str(once(session, REQUEST, begin)["id"])

    async def run() -> list[str]:
        return await asyncio.gather(*(room.database.write(work) for _ in range(6)))

    answers = asyncio.run(run())
    assert len(set(answers)) == 1
    assert room.database.read_now(lambda s: list(s.exec(select(ConversationRow.id)))) == answers[:1]


def test_a_start_with_another_key_is_refused_while_they_talk(room: ConversationDependencies) -> None:
    place(room)
    wanted = Start(opener_id="aoi", partner_id="npc_taro", goal=GOAL, max_turns=4)

    def work(session: Session, key: str) -> None:
        request = Once.of("main", key, "start", {})
        once(
            session,
            request,
            lambda: {"id": start(session, room.worlds.open(session, "main", lock=True), wanted, {}).id},
        )

    room.database.write_now(lambda s: work(s, "k1"))
    with pytest.raises(Busy):
        room.database.write_now(lambda s: work(s, "k2"))
    room.database.write_now(lambda s: work(s, "k1"))
