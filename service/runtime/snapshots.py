"""Owns the way back: a world is kept as it stands, brought back to that, or goes on twice from there.

The rows are all there is of a world, and whatever stops on the way goes on from them (docs/decisions/0003): so the rows
at any moment are one to go back to, in the middle of a sentence too.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import text
from sqlalchemy.orm import defer
from sqlmodel import Session, col, delete, select

from service.conversation.dependencies import ConversationDependencies
from service.errors import GraphUnavailable, NotFound, SnapshotUnusable, WorldExists, WorldMoves
from service.locales import Phrase
from service.memory.outbox import leave_forgetting, leave_items, read_episode, read_fact
from service.memory.record import Group
from service.runtime.outbox_relay import OutboxRelay
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
    OutboxRow,
    ReflectionRow,
    SnapshotRow,
    WorldRow,
)
from service.store.world_rows import Row, Rows, name_of, pack, read_rows, replace_rows, unpack
from world.time import WorldTime, iso

_log = logging.getLogger(__name__)

GRAPH_FACTS, GRAPH_EPISODES = "graph_facts", "graph_episodes"
"""In rows: what is remembered outside our database."""

LOOKS = 50
"""How often a world whose people remember outside our database is looked at until it holds still."""
LOOK_SECONDS = 0.1

_WORLDS, _OWNERS, _COUNTS = name_of(WorldRow), name_of(MemoryOwnerRow), name_of(ClientEventCountRow)


async def keep(
    deps: ConversationDependencies, outbox: OutboxRelay, world_id: str, name: str, *, automatic: bool = False
) -> SnapshotRow:
    """Keep the world as it stands now, in the place of what was kept under that name. Nothing of it stops meanwhile.

    Raises:
        GraphUnavailable: what is remembered outside our database cannot be read.
        WorldMoves: what is remembered there does not hold still.
    """
    rows = await picture(deps, outbox, world_id)
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


async def keep_day(deps: ConversationDependencies, outbox: OutboxRelay, world_id: str, now: WorldTime) -> None:
    """Keep the world at the beginning of a day, and let go of the oldest days. A memory outside our database that is
    away does not stop the world: that day is not kept.
    """
    most = deps.settings.world.daily_snapshots
    if not most:
        return
    try:
        await keep(deps, outbox, world_id, f"day-{iso(now)[:10]}", automatic=True)
    except GraphUnavailable as exc:
        _log.warning("the day %s of world %s is not kept: %s", iso(now)[:10], world_id, exc)
        return

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


async def rows_of(
    deps: ConversationDependencies, outbox: OutboxRelay, world_id: str, name: str | None, moment: Moment | None
) -> Rows:
    """The world as it stands, or as it was kept under that name; and of that what it held at an earlier moment.

    Raises:
        NotFound: it has no such snapshot, or no such turn.
        SnapshotUnusable: it is damaged, or another version of the service has made it.
        Invalid: the world has not lived that moment.
        GraphUnavailable: what is remembered outside our database cannot be read.
    """
    if name is None:
        rows = await picture(deps, outbox, world_id)
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


async def picture(deps: ConversationDependencies, outbox: OutboxRelay, world_id: str) -> Rows:
    """All there is of a world, of one moment; one to which nothing was written yet begins.

    Raises:
        GraphUnavailable: what is remembered outside our database cannot be read.
        WorldMoves: what is remembered there does not hold still.
    """
    await deps.database.write(lambda s: deps.worlds.open(s, world_id, lock=True))
    for _ in range(LOOKS):
        rows = await deps.database.read(partial(_read, world_id=world_id))
        if deps.memory.delivery is None:
            return rows
        owners = rows[_OWNERS]
        if not rows[name_of(OutboxRow)]:
            rows |= await _outside(deps, world_id, [row["person_id"] for row in owners])
            if owners == await deps.database.read(lambda s: read_rows(s, world_id)[_OWNERS]):
                return rows
        await outbox.deliver_due()
        await deps.memory.check()
        await asyncio.sleep(LOOK_SECONDS)
    raise moves(rows)


def moves(rows: Rows) -> WorldMoves:
    """The error for a world whose people's memory outside our database does not hold still."""
    now = iso(WorldTime(rows[_WORLDS][0]["now"]))
    return WorldMoves(now=now, until=now)


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


def take_back(
    session: Session, deps: ConversationDependencies, key: ConversationKey, turn: int, seen: Rows
) -> list[str] | None:
    """Bring one scene back to before that turn; the rest of its world stays. The caller commits, and has stopped what
    works on it here. `seen` is the world as it was a moment ago. Answers as `restore`; None, and nothing is written:
    what its people remember outside our database is not what was seen.

    Raises:
        NotFound: there is no such turn.
    """
    rows = read_rows(session, key.world_id)
    people = {row["person_id"] for row in rows["participants"] if row["conversation_id"] == key.conversation_id}
    if deps.memory.delivery is not None:
        before, now = ([row for row in some[_OWNERS] if row["person_id"] in people] for some in (seen, rows))
        if before != now:
            return None
        rows |= {name: seen[name] for name in (GRAPH_FACTS, GRAPH_EPISODES)}
    then = without_turns(rows, key.conversation_id, turn)
    _count_people(then)
    return restore(session, deps, key.world_id, then, time.time(), people)


def restore(
    session: Session,
    deps: ConversationDependencies,
    world_id: str,
    rows: Rows,
    made_at: float,
    only: Collection[str] | None = None,
) -> list[str]:
    """Make the world what `rows` say, as they were read at `made_at` (machine time); the caller commits, and has
    stopped what works on it here. Whoever works on it elsewhere, or is late, can write nothing more. Answers whose
    memories outside our database are to be written anew; of other people than `only` these stay.

    Raises:
        NotFound: the world is gone.
    """
    now_there = read_rows(session, world_id)
    if not now_there[_WORLDS]:
        raise NotFound(kind="world", id=world_id)
    _begin_anew(rows, now_there, time.time() - made_at)
    replace_rows(session, world_id, rows)
    if deps.memory.delivery is None:
        return []
    owners = {row["person_id"] for row in (*rows[_OWNERS], *now_there[_OWNERS])}
    people = sorted(owners if only is None else owners & set(only))
    for person_id in people:
        group = Group(world_id=world_id, person_id=person_id)
        leave_forgetting(session, group)
        _leave(session, group, rows)
    return people


def branch(
    session: Session, deps: ConversationDependencies, world_id: str, rows: Rows, made_at: float, to_world: str
) -> list[str]:
    """Begin another world as `rows` of this one say; the caller commits. Answers as `restore`.

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
    if deps.memory.delivery is None:
        return []
    people = [row["person_id"] for row in rows[_OWNERS]]
    for person_id in people:
        _leave(session, Group(world_id=to_world, person_id=person_id), rows)
    return people


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


def _leave(session: Session, group: Group, rows: Rows) -> None:
    """What the person remembers outside our database is to be written there."""
    facts = [read_fact(row) for row in _of(rows, GRAPH_FACTS, group)]
    episodes = [read_episode(row) for row in _of(rows, GRAPH_EPISODES, group)]
    if facts or episodes:
        leave_items(session, group, facts, episodes)


def _of(rows: Rows, name: str, group: Group) -> list[Row]:
    mine = (row for row in rows.get(name, ()) if row["person_id"] == group.person_id)
    return [{key: value for key, value in row.items() if key != "person_id"} for row in mine]


async def _outside(deps: ConversationDependencies, world_id: str, people: Sequence[str]) -> Rows:
    found: Rows = {GRAPH_FACTS: [], GRAPH_EPISODES: []}
    for person_id in people:
        dump = await deps.memory.export(Group(world_id=world_id, person_id=person_id))
        found[GRAPH_FACTS] += [{"person_id": person_id, **asdict(fact)} for fact in dump.facts]
        found[GRAPH_EPISODES] += [{"person_id": person_id, **asdict(episode)} for episode in dump.episodes]
    return found


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
