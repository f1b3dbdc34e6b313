"""Owns the tests of requests that may be sent again."""

import asyncio
import time
from typing import Any

import pytest
from sqlmodel import Session, select

from service.conversation.dependencies import ConversationDependencies
from service.conversation.start import Start, start
from service.errors import Busy
from service.store.idempotency import Once, Replayed, once
from service.store.session import Database
from service.store.tables import ConversationRow, IdempotencyRow
from tests.conversation.talks import GOAL, place

REQUEST = Once(world_id="main", key="k1", fingerprint="start aoi npc_taro")


class Work:
    """Work that counts how often it is done."""

    def __init__(self) -> None:
        self.done = 0

    def __call__(self) -> dict[str, Any]:
        self.done += 1
        return {"number": self.done}


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
        def begin() -> str:
            return start(session, room.worlds.open(session, "main", lock=True), wanted, {}).id

        try:
            return once(session, REQUEST, begin)
        except Replayed as known:
            return str(known.answer)

    async def run() -> list[str]:
        return await asyncio.gather(*(room.database.write(work) for _ in range(6)))

    answers = asyncio.run(run())
    assert len(set(answers)) == 1
    assert room.database.read_now(lambda s: list(s.exec(select(ConversationRow.id)))) == answers[:1]


def test_a_start_with_another_key_is_refused_while_they_talk(room: ConversationDependencies) -> None:
    place(room)
    wanted = Start(opener_id="aoi", partner_id="npc_taro", goal=GOAL, max_turns=4)

    def work(session: Session, key: str) -> None:
        request = Once(world_id="main", key=key, fingerprint="start")
        once(session, request, lambda: start(session, room.worlds.open(session, "main", lock=True), wanted, {}).id)

    room.database.write_now(lambda s: work(s, "k1"))
    with pytest.raises(Busy):
        room.database.write_now(lambda s: work(s, "k2"))
    with pytest.raises(Replayed):
        room.database.write_now(lambda s: work(s, "k1"))


def test_an_answer_is_kept_for_a_day_of_machine_time(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    work, now = Work(), time.time()
    database.write_now(lambda s: once(s, REQUEST, work))
    monkeypatch.setattr(time, "time", lambda: now + 24 * 60 * 60 - 60)
    with pytest.raises(Replayed) as known:
        database.write_now(lambda s: once(s, REQUEST, work))
    assert (known.value.answer, work.done) == ({"number": 1}, 1)
    monkeypatch.setattr(time, "time", lambda: now + 24 * 60 * 60 + 60)
    other = Once(world_id="main", key="k2", fingerprint="start")
    database.write_now(lambda s: once(s, other, work))
    assert database.read_now(lambda s: s.exec(select(IdempotencyRow.key)).all()) == ["k2"]
