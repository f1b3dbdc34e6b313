"""Owns snapshots: a world is kept as it stands, brought back to that, or branched from it.

The rows are all there is of a world, and whatever stops on the way goes on from them (docs/decisions/0003): so the rows
at any moment are one to go back to, in the middle of a sentence too. A snapshot is a mark; store/world_rows.py has what
was otherwise then.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from pydantic import Field
from sqlalchemy import text
from sqlmodel import Session, col, func, select

from service.conversation.dependencies import ConversationDependencies
from service.errors import NotFound, SnapshotUnusable, WorldExists
from service.history.rewind import PastMoment, rewound
from service.history.scene_rewind import without_turns
from service.locales import Phrase
from service.runtime.jobs import Work
from service.steady_time import steady_time
from service.store.client_event_kinds import WorldRestored
from service.store.idempotency import Once, once
from service.store.jobs import JobKind
from service.store.phase import Audience, CallState, Phase
from service.store.session import one_picture
from service.store.shown import Out, ToldWorldTime
from service.store.tables import (
    ActionCallRow,
    ClientEventCountRow,
    ConversationKey,
    ConversationRow,
    EventRow,
    JobKey,
    KeptRow,
    MemoryOwnerRow,
    SnapshotRow,
    WorldRow,
)
from service.store.world_rows import Rows, as_kept, hold_alone, let_go, name_of, read_rows, replace_rows

_WORLDS, _OWNERS, _COUNTS = name_of(WorldRow), name_of(MemoryOwnerRow), name_of(ClientEventCountRow)
_EVENTS = name_of(EventRow)


class WorldSnapshot(Out):
    """A world as it was kept."""

    name: str = Field(description="by which it is restored")
    made_at: str = Field(description="when it was made: the machine's time, in UTC")
    automatic: bool = Field(description="kept by itself, when a world day began")
    at: ToldWorldTime = Field(description="the world time that it is of")
    size: int = Field(
        description="bytes that are kept for it beside the world as it is: what has changed since", examples=[52_340]
    )


async def keep(
    deps: ConversationDependencies, world_id: str, name: str, *, request: Once | None = None
) -> WorldSnapshot:
    """Keep the world as it stands now, in the place of what was kept under that name; one to which nothing was written
    yet begins. Nothing of it stops meanwhile.

    Raises:
        Replayed, KeyReused: as `once`.
    """
    await deps.database.write(lambda s: deps.worlds.open(s, world_id, lock=True))
    return await deps.database.write(lambda s: once(s, request, partial(_mark, s, world_id, name)))


class DaySnapshots(Work):
    """Keeps a world at the beginning of a day, and lets go of the oldest days."""

    kind = JobKind.SNAPSHOT  # none is due by the state: a world that is brought back is at no beginning of a day

    async def work(self, job: JobKey) -> Callable[[Session], None]:
        """The world's row is there: it has begun a day."""

        def keep_day(session: Session) -> None:
            _mark(session, job.world_id, job.key, automatic=True)
            days = select(SnapshotRow).where(SnapshotRow.world_id == job.world_id, col(SnapshotRow.automatic))
            for day in session.exec(
                days.order_by(col(SnapshotRow.at).desc()).offset(self._deps.settings.world.daily_snapshots)
            ).all():
                let_go(session, day)

        return keep_day


def _mark(session: Session, world_id: str, name: str, *, automatic: bool = False) -> WorldSnapshot:
    hold_alone(session, world_id)
    if (before := session.get(SnapshotRow, (world_id, name))) is not None:
        let_go(session, before)
    newest = session.scalar(select(func.max(SnapshotRow.number)).where(SnapshotRow.world_id == world_id))
    row = SnapshotRow(
        world_id=world_id,
        name=name,
        number=(newest or 0) + 1,
        at=session.get_one(WorldRow, world_id).now,
        made_at=datetime.fromtimestamp(steady_time(), UTC).isoformat(timespec="milliseconds"),
        automatic=automatic,
        schema_revision=_schema(session),
    )
    session.add(row)
    session.flush()
    return WorldSnapshot.of(row, size=0)


def snapshots(session: Session, world_id: str) -> list[WorldSnapshot]:
    """Those of the world, by world time."""
    bytes_kept = func.length(KeptRow.key) + func.coalesce(func.length(KeptRow.row), 0)
    mine = select(KeptRow.number, func.sum(bytes_kept)).where(KeptRow.world_id == world_id)
    sizes = dict(session.exec(mine.group_by(col(KeptRow.number))).all())
    query = select(SnapshotRow).where(SnapshotRow.world_id == world_id)
    rows = session.exec(query.order_by(col(SnapshotRow.at), col(SnapshotRow.name)))
    return [WorldSnapshot.of(row, size=sizes.get(row.number, 0)) for row in rows]


def remove(session: Session, world_id: str, name: str) -> None:
    """Let go of a snapshot; the caller commits. Raises: NotFound."""
    let_go(session, _row(session, world_id, name))


async def rows_of(
    deps: ConversationDependencies, world_id: str, name: str | None = None, moment: PastMoment | None = None
) -> Rows:
    """The world as it stands (one to which nothing was written yet begins), or as it was kept under that name; and of
    that what it held at an earlier moment.

    Raises:
        NotFound: it has no such snapshot, or no such turn.
        SnapshotUnusable: another version of the service has made it.
        Invalid: the world has not lived that moment.
    """
    if name is None:
        await deps.database.write(lambda s: deps.worlds.open(s, world_id, lock=True))
    rows = await deps.database.read(partial(_read, world_id=world_id, name=name))
    if moment is None:
        return rows
    then = await asyncio.to_thread(rewound, rows, moment)
    _count_people(then)
    return then


def _count_people(then: Rows) -> None:
    """Give the people's revision a number it never had: they are those of an earlier moment."""
    (world,) = then[_WORLDS]
    if world["people_revision"]:
        world["people_revision"] = max(world["people_revision"] + 1, time.time_ns() // 1000)


def read_snapshot(session: Session, world_id: str, name: str) -> Rows:
    """What was kept.

    Raises:
        NotFound: there is no such snapshot.
        SnapshotUnusable: another version of the service has made it.
    """
    row = _row(session, world_id, name)
    if row.schema_revision != _schema(session):
        raise SnapshotUnusable(name=name, reason=Phrase("answers.snapshots.other_version", version=row.schema_revision))
    return as_kept(session, row, read_rows(session, world_id))


def take_back(session: Session, key: ConversationKey, turn: int) -> None:
    """Bring one scene back to before that turn; the rest of its world stays. The caller commits, and has stopped what
    works on it here.

    Raises:
        NotFound: there is no such turn.
    """
    then = without_turns(read_rows(session, key.world_id), key.conversation_id, turn)
    _count_people(then)
    restore(session, key.world_id, then, steady_time())


def restore(session: Session, world_id: str, rows: Rows, made_at: float) -> None:
    """Make the world what `rows` say, as they were read at `made_at` (machine time); the caller commits, and has
    stopped what works on it here. Whoever works on it elsewhere, or is late, can write nothing more.

    Raises:
        NotFound: the world is gone.
    """
    if session.get(WorldRow, world_id, with_for_update=True) is None:
        raise NotFound(kind="world", id=world_id)
    talks = select(ConversationRow.id).where(ConversationRow.world_id == world_id)
    session.exec(talks.with_for_update()).all()  # whoever speaks in one has written its turn, or will find another
    now_there = read_rows(session, world_id)
    _begin_anew(rows, now_there, steady_time() - made_at)
    replace_rows(session, world_id, rows, now_there)


def branch(session: Session, world_id: str, rows: Rows, made_at: float, to_world: str) -> None:
    """Begin another world as `rows` of this one say; the caller commits.

    Raises:
        WorldExists: it has begun already.
    """
    if session.get(WorldRow, to_world) is not None:
        raise WorldExists(world_id=to_world)
    _begin_anew(rows, {}, steady_time() - made_at)
    (world,) = rows[_WORLDS]
    world |= {"branched_from": world_id, "branched_at": world["now"]}
    if world["people_revision"]:  # its people may be those of an earlier moment
        world["people_revision"] = world["timeline"]
    replace_rows(session, to_world, rows, {})


def made_at(session: Session, world_id: str, name: str | None) -> float:
    """When the rows were read, in machine time (None: now). Raises: NotFound: there is no such snapshot."""
    if name is None:
        return steady_time()
    return datetime.fromisoformat(_row(session, world_id, name).made_at).timestamp()


def _begin_anew(rows: Rows, before: Rows, passed: float) -> None:
    """Make the rows ready to be written, `passed` seconds after they were read: no process holds them, deadlines are as
    far off as they were, and no revision, epoch or event number is one that was in use `before`.
    """
    (world,) = rows[_WORLDS]
    was = before.get(_WORLDS, [world])[0]
    fresh = time.time_ns() // 1000
    world |= {
        "revision": max(world["revision"], was["revision"]) + 1,
        "timeline": max(was["timeline"] + 1, fresh),
        "runner": None,
        "is_moving": False,
        "is_wanted": False,
    }
    known = {row["id"]: row for row in before.get(name_of(ConversationRow), ())}
    for row in rows[name_of(ConversationRow)]:
        was_there = known.get(row["id"], row)
        if row["phase"] == was_there["phase"] == Phase.CLOSED:
            continue  # nobody works on it
        row["silent_at"] += passed if row["silent_at"] else 0.0
    for row in rows[name_of(ActionCallRow)]:
        row["deadline"] += passed if row["state"] == CallState.REQUESTED else 0.0
    owned = {row["person_id"]: row for row in before.get(_OWNERS, ())}
    gone = owned.keys() - {row["person_id"] for row in rows[_OWNERS]}
    rows[_OWNERS] += [{**owned[one]} for one in gone if owned[one]["projected_revision"] >= 0]  # the graph is to let go
    for row in rows[_OWNERS]:
        old = owned.get(row["person_id"], row)
        row |= {
            "revision": max(row["revision"], old["revision"]) + 1,
            "epoch": max(row["epoch"] + 1, old["epoch"] + 1, fresh),
        }
    counts = [*rows[_COUNTS], *before.get(_COUNTS, ())]
    if before:
        told = 1 + max((count["newest"] for count in counts), default=0)
        rows[_COUNTS] = [{"world_id": world["id"], "newest": told}]
        restored = {"audience": Audience.PARTICIPANTS.value, "kind": WorldRestored.kind, "data": {}}
        older = (row for row in rows[_EVENTS] if row["kind"] != WorldRestored.kind)
        nobody = {"world_id": world["id"], "person_id": None, "conversation_id": None}
        rows[_EVENTS] = [*older, {**nobody, **restored, "id": told, "at": world["now"]}]


def _read(session: Session, world_id: str, name: str | None) -> Rows:
    one_picture(session)
    return read_rows(session, world_id) if name is None else read_snapshot(session, world_id, name)


def _row(session: Session, world_id: str, name: str) -> SnapshotRow:
    row = session.get(SnapshotRow, (world_id, name))
    if row is None:
        raise NotFound(kind="snapshot", id=name)
    return row


def _schema(session: Session) -> str:
    revision: str = session.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    return revision
