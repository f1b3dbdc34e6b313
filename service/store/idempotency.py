"""Owns the first answers to requests that carry an Idempotency-Key."""

import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from pydantic_core import to_jsonable_python
from sqlalchemy import delete, insert, update
from sqlmodel import Session, col

from service.errors import KeyReused
from service.store.events import Asked
from service.store.session import Database, T
from service.store.tables import IdempotencyRow

KEPT_SECONDS = 24 * 60 * 60
"""Machine time for which an answer is kept, whatever becomes of its world meanwhile."""

_HOW_ANSWERED = frozenset({"wait", "as", "kind", "person_id", "limit", "world_id"})
"""Parameters that say how a request is answered, not what it does: the same request may be sent again with others."""


class Replayed(Exception):
    """The request was done before. `answer`: what it was answered; where that is read anew, what it is read by."""

    def __init__(self, answer: Any) -> None:
        super().__init__("done before")
        self.answer = answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Once:
    """A request that may be sent again: its world, its key, and what tells it from other requests."""

    world_id: str
    key: str
    fingerprint: str
    is_read_anew: bool = False
    """its answer is not kept, but what it is read by: it is long, or a stream, or waits for what is still to come"""
    shown: Callable[[Any], Any] = lambda done: done
    """what is answered, of what the work gave"""
    expires: bool = True

    @staticmethod
    def of(world_id: str, asked: Asked | None, **how: Any) -> "Once | None":
        """None: the request has no key. `how`: the fields that say how it is answered."""
        if asked is None or not asked.key:
            return None
        query = sorted((name, value) for name, value in parse_qsl(asked.query) if name not in _HOW_ANSWERED)
        try:
            body = json.loads(asked.body or "null")
        except ValueError:
            body = asked.body
        if isinstance(body, dict):
            body = {name: value for name, value in body.items() if name not in _HOW_ANSWERED}
        return Once(
            world_id=world_id, key=asked.key, fingerprint=fingerprint(asked.method, asked.path, query, body), **how
        )


def fingerprint(*of: Any) -> str:
    """What tells a request from others; `of` is JSON."""
    return hashlib.sha256(json.dumps(of, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def once(session: Session, request: Once | None, work: Callable[[], T]) -> T:
    """What `work` gives, done at most once per key: the answer and the work's rows are committed together.

    Raises:
        Replayed: it was done before.
        KeyReused: the key belongs to another request.
    """
    if request is None:
        return work()
    if (known := _known(session, request)) is not None:
        raise Replayed(known.answer)
    now = time.time()
    session.execute(delete(IdempotencyRow).where(col(IdempotencyRow.kept_until) < now))
    kept_until = now + KEPT_SECONDS if request.expires else None
    mine = {"world_id": request.world_id, "key": request.key}
    told = {"fingerprint": request.fingerprint, "is_read_anew": request.is_read_anew, "kept_until": kept_until}
    # the same request at the same moment waits here: the work might refuse what is done already
    session.execute(insert(IdempotencyRow).values(**mine, **told))
    done = work()
    answer = to_jsonable_python(request.shown(done))
    session.execute(update(IdempotencyRow).filter_by(**mine).values(answer=answer))
    return done


async def write_once(database: Database, request: Once | None, work: Callable[[Session], T]) -> T:
    """What `work` gives, done at most once per key in a transaction of its own. Raises: as `once`."""
    return await database.write(lambda s: once(s, request, partial(work, s)))


async def first_answer(doing: Awaitable[T], read: Callable[[Any], T] = lambda answer: answer) -> T:
    """What is answered to a request that is being done by `once`; where it was done before, what `read` makes of what
    is kept of its answer.
    """
    try:
        return await doing
    except Replayed as known:
        return read(known.answer)


def require_new(session: Session, request: Once | None, *, read_anew: bool = False) -> None:
    """See that the request was not answered yet; with `read_anew` not either where its answer is not kept.

    Raises: Replayed, KeyReused: as `once`.
    """
    known = _known(session, request) if request is not None else None
    if known is not None and (read_anew or not known.is_read_anew):
        raise Replayed(known.answer)


def _known(session: Session, request: Once) -> IdempotencyRow | None:
    known = session.get(IdempotencyRow, (request.world_id, request.key))
    if known is not None and known.fingerprint != request.fingerprint:
        raise KeyReused(key=request.key)
    return known
