"""Owns the first answers to requests that carry an Idempotency-Key."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from service.errors import KeyReused
from service.store.tables import IdempotencyRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Once:
    """A request that may be sent again: its world, its key, and what tells it from other requests."""

    world_id: str
    key: str
    fingerprint: str

    @staticmethod
    def of(world_id: str, key: str, operation: str, body: Any) -> "Once":
        """`operation` names the call, `body` is its JSON."""
        text = json.dumps([operation, body], sort_keys=True, ensure_ascii=False)
        return Once(world_id=world_id, key=key, fingerprint=hashlib.sha256(text.encode()).hexdigest())


def once(session: Session, request: Once | None, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The answer of `work`, done at most once per key: the row and the work's rows are committed together.

    Raises:
        KeyReused: the key belongs to another request.
    """
    if request is None:
        return work()
    known = session.get(IdempotencyRow, (request.world_id, request.key))
    if known is not None:
        if known.fingerprint != request.fingerprint:
            raise KeyReused(key=request.key)
        return known.answer
    row = IdempotencyRow(world_id=request.world_id, key=request.key, fingerprint=request.fingerprint, answer={})
    session.add(row)
    session.flush()  # the same request at the same moment waits here: the work might refuse what is done already
    row.answer = work()
    return row.answer
