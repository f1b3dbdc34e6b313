"""Owns the log of what came to a world from outside: with seed and answers, its story is a function of it (see
service/replay.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlmodel import Session, col, select

from service.store.events import append, told_to
from service.store.phase import Audience
from service.store.tables import ConversationKey, EventRow
from world.time import WorldTime, iso

Command = Literal[
    "request",
    "started",
    "said",
    "answered",
    "waits",
    "cut_back",
    "taken_back",
    "unanswered",
    "lengthened",
    "handed_over",
    "action_settled",
    "ended",
    "reopened",
    "closed",
    "looked",
    "opened",
    "joined",
    "left",
    "intervened",
    "proposed",
    "judged",
]
"""What a client has asked of the living world; in a conversation that clients began, what was said by whom, or taken
back, who joined or left, when it was remembered, and what a writer did to it, what was proposed for long and what
became of that; `looked`: those who live have found out
who is free and what is promised; `opened`: they have spoken to players first.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A request that changes a world, as it came; `key` is its Idempotency-Key, "": it has none."""

    method: str
    path: str
    query: str
    body: str
    key: str


def log_command(
    session: Session,
    world_id: str,
    at: WorldTime,
    kind: Command,
    data: Mapping[str, Any],
    conversation_id: str | None = None,
) -> None:
    """Add it to the world's log, in the transaction of what it tells; the conversation's row is there."""
    told: dict[str, Any] = {"kind": kind, "conversation_id": conversation_id, "data": dict(data)}
    append(session, EventRow(world_id=world_id, audience=Audience.AUTHOR.value, id=0, at=at, **told))


def log_in(session: Session, key: ConversationKey, at: WorldTime, kind: Command, **data: Any) -> None:
    """The same of a conversation."""
    log_command(session, key.world_id, at, kind, data, key.conversation_id)


def log_look(session: Session, world_id: str, at: WorldTime) -> None:
    """Those who live look round, if anything came from outside since they did so last."""
    kinds = select(EventRow.kind).where(*told_to(Audience.AUTHOR, world_id))
    if session.exec(kinds.order_by(col(EventRow.id).desc()).limit(1)).first() not in (None, "looked"):
        log_command(session, world_id, at, "looked", {})


def line_of(row: EventRow) -> dict[str, Any]:
    """As it stands in a file, as JSON; its time is world time."""
    told = row.model_dump(include={"kind", "conversation_id", "data"})
    return {"at": iso(WorldTime(row.at)), "seq": row.id, **told}
