"""Owns the way back: a world is kept as it stands, brought back to that, or goes on twice from there.

The rows are all there is of a world, and whatever stops on the way goes on from them (docs/decisions/0003): so the rows
at any moment are one to go back to, in the middle of a sentence too.
"""

import asyncio
import hashlib
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import text
from sqlalchemy.orm import defer
from sqlmodel import Session, col, delete, select

from service.conversation.dependencies import ConversationDependencies
from service.errors import NotFound, SnapshotUnusable, WorldExists
from service.locales import Phrase
from service.runtime.rewind import Moment, rewound
from service.runtime.scene_rewind import without_turns
from service.store.phase import CallState
from service.store.session import one_picture
from service.store.tables import (
    ActionCallRow,
    ClientEventCountRow,
    ConversationKey,
    ConversationRow,
    MemoryOwnerRow,
    ReflectionRow,
    SnapshotRow,
    WorldRow,
)
from service.store.world_rows import Rows, name_of, pack, read_rows, replace_rows, unpack
from world.time import WorldTime, iso

_WORLDS, _OWNERS, _COUNTS = name_of(WorldRow), name_of(MemoryOwnerRow), name_of(ClientEventCountRow)


async def keep(deps: ConversationDependencies, world_id: str, name: str, *, automatic: bool = False) -> SnapshotRow:
    """Keep the world as it stands now, in the place of what was kept under that name. Nothing of it stops meanwhile."""
    rows = await picture(deps, world_id)
    packed = await asyncio.to_thread(pack, rows)
    world, made = rows[_WORLDS][0], datetime.now(UTC)
    row = SnapshotRow(
        world_id=world_id,
        name=name,
        at=world["now"],
        made_at=made.isoformat(timespec="milliseconds"),
        automatic=automatic,
        schema_revision=await deps.database.read(_schema),
        digest=_digest(packed),
        size=len(packed),
        data=packed,
    )
    return await deps.database.write(lambda s: s.merge(row))


async def keep_day(deps: ConversationDependencies, world_id: str, now: WorldTime) -> None:
    """Keep the world at the beginning of a day, and let go of the oldest days."""
    most = deps.settings.world.daily_snapshots
    if not most:
        return
    await keep(deps, world_id, f"day-{iso(now)[:10]}", automatic=True)

    def thin(session: Session) -> None:
        mine = (col(SnapshotRow.world_id) == world_id, col(SnapshotRow.automatic))
        newest = select(SnapshotRow.name).where(*mine).order_by(col(SnapshotRow.at).desc()).limit(most)
        session.execute(delete(SnapshotRow).where(*mine, col(SnapshotRow.name).not_in(session.exec(newest).all())))

    await deps.database.write(thin)


def snapshots(session: Session, world_id: str) -> Sequence[SnapshotRow]:
    """Those of the world, by world time, without what they hold."""
    query = select(SnapshotRow).options(defer(SnapshotRow.data)).where(SnapshotRow.world_id == world_id)  # type: ignore[arg-type] # a column
    return session.exec(query.order_by(col(SnapshotRow.at), col(SnapshotRow.name))).all()


def remove(session: Session, world_id: str, name: str) -> None:
    """Let go of a snapshot; the caller commits. Raises: NotFound."""
    session.delete(_row(session, world_id, name))


async def rows_of(deps: ConversationDependencies, world_id: str, name: str | None, moment: Moment | None) -> Rows:
    """The world as it stands, or as it was kept under that name; and of that what it held at an earlier moment.

    Raises:
        NotFound: it has no such snapshot, or no such turn.
        SnapshotUnusable: it is damaged, or another version of the service has made it.
        Invalid: the world has not lived that moment.
    """
    if name is None:
        rows = await picture(deps, world_id)
    else:
        rows = await deps.database.read(lambda s: read_snapshot(s, world_id, name))
    if moment is None:
        return rows
    then = await asyncio.to_thread(rewound, rows, moment)
    _count_people(then)
    return then


def _count_people(then: Rows) -> None:
    """Its people are those of an earlier moment."""
    (world,) = then[_WORLDS]
    if world["people_revision"]:
        world["people_revision"] = max(world["people_revision"] + 1, time.time_ns() // 1000)


async def picture(deps: ConversationDependencies, world_id: str) -> Rows:
    """All there is of a world, of one moment; one to which nothing was written yet begins."""
    await deps.database.write(lambda s: deps.worlds.open(s, world_id, lock=True))
    return await deps.database.read(partial(_read, world_id=world_id))


def read_snapshot(session: Session, world_id: str, name: str) -> Rows:
    """What was kept.

    Raises:
        NotFound: there is no such snapshot.
        SnapshotUnusable: it is damaged, or another version of the service has made it.
    """
    row = _row(session, world_id, name)
    if row.schema_revision != _schema(session):
        raise SnapshotUnusable(name=name, reason=Phrase("answers.snapshots.other_version", version=row.schema_revision))
    if row.digest != _digest(row.data):
        raise SnapshotUnusable(name=name, reason=Phrase("answers.snapshots.damaged"))
    return unpack(row.data)


def take_back(session: Session, key: ConversationKey, turn: int) -> None:
    """Bring one scene back to before that turn; the rest of its world stays. The caller commits, and has stopped what
    works on it here.

    Raises:
        NotFound: there is no such turn.
    """
    then = without_turns(read_rows(session, key.world_id), key.conversation_id, turn)
    _count_people(then)
    restore(session, key.world_id, then, time.time())


def restore(session: Session, world_id: str, rows: Rows, made_at: float) -> None:
    """Make the world what `rows` say, as they were read at `made_at` (machine time); the caller commits, and has
    stopped what works on it here. Whoever works on it elsewhere, or is late, can write nothing more.

    Raises:
        NotFound: the world is gone.
    """
    now_there = read_rows(session, world_id)
    if not now_there[_WORLDS]:
        raise NotFound(kind="world", id=world_id)
    _begin_anew(rows, now_there, time.time() - made_at)
    replace_rows(session, world_id, rows)


def branch(session: Session, world_id: str, rows: Rows, made_at: float, to_world: str) -> None:
    """Begin another world as `rows` of this one say; the caller commits.

    Raises:
        WorldExists: it has begun already.
    """
    if session.get(WorldRow, to_world) is not None:
        raise WorldExists(world_id=to_world)
    _begin_anew(rows, {}, time.time() - made_at)
    (world,) = rows[_WORLDS]
    world |= {"branched_from": world_id, "branched_at": world["now"]}
    if world["people_revision"]:  # its people may be those of an earlier moment
        world["people_revision"] = world["timeline"]
    replace_rows(session, to_world, rows)


def made_at(session: Session, world_id: str, name: str | None) -> float:
    """When the rows were read, in machine time (None: now). Raises: NotFound: there is no such snapshot."""
    if name is None:
        return time.time()
    return datetime.fromisoformat(_row(session, world_id, name).made_at).timestamp()


def _begin_anew(rows: Rows, before: Rows, passed: float) -> None:
    """Nobody works on what is in the rows, `passed` seconds after they were read. No number by which somebody knows
    what was there `before` comes again.
    """
    (world,) = rows[_WORLDS]
    was = before.get(_WORLDS, [world])[0]
    fresh = time.time_ns() // 1000
    world |= {
        "revision": max(world["revision"], was["revision"]) + 1,
        "timeline": max(was["timeline"] + 1, fresh),
        **dict.fromkeys(("runner", "clock_runner")),
        **dict.fromkeys(("lease_until", "wanted_until", "clock_lease_until"), 0.0),
    }
    known = {row["id"]: row["attempts"] for row in before.get(name_of(ConversationRow), ())}
    for row in rows[name_of(ConversationRow)]:
        row |= {"runner": None, "lease_until": 0.0, "attempts": max(row["attempts"], known.get(row["id"], 0)) + 1}
        row["silent_at"] += passed if row["silent_at"] else 0.0
    for row in rows[name_of(ReflectionRow)]:
        row |= {"runner": None, "lease_until": 0.0}
    for row in rows[name_of(ActionCallRow)]:
        row["deadline"] += passed if row["state"] == CallState.REQUESTED else 0.0
    owned = {row["person_id"]: row for row in before.get(_OWNERS, ())}
    gone = owned.keys() - {row["person_id"] for row in rows[_OWNERS]}
    rows[_OWNERS] += [owned[one] for one in gone if owned[one]["projected_revision"] >= 0]  # the graph is to let go
    for row in rows[_OWNERS]:
        old = owned.get(row["person_id"], row)
        row |= {
            "revision": max(row["revision"], old["revision"]) + 1,
            "epoch": max(row["epoch"] + 1, old["epoch"] + 1, fresh),
        }
    counts = [*rows[_COUNTS], *before.get(_COUNTS, ())]
    if before:
        told = 1 + max((count["newest"] for count in counts), default=0)
        rows[_COUNTS] = [{"world_id": world["id"], "newest": told, "restored": told}]


def _read(session: Session, world_id: str) -> Rows:
    one_picture(session)
    return read_rows(session, world_id)


def _row(session: Session, world_id: str, name: str) -> SnapshotRow:
    row = session.get(SnapshotRow, (world_id, name))
    if row is None:
        raise NotFound(kind="snapshot", id=name)
    return row


def _schema(session: Session) -> str:
    revision: str = session.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    return revision


def _digest(packed: bytes) -> str:
    return hashlib.sha256(packed).hexdigest()
