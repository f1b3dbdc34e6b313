"""Owns background work on memories: making vectors that are missing, and delivering memories to a graph outside our
database, one person after the other, tried until it succeeds.
"""

import asyncio
import logging
import time
from functools import partial
from weakref import WeakValueDictionary

from sqlmodel import Session, col, select

from service.conversation.dependencies import ConversationDependencies
from service.errors import CassetteMiss, GraphUnavailable, KataribeError, ModelError
from service.memory.embedding.embedder import VectorSpace
from service.memory.projection import Projection, adopt, postpone, projected, read_changes, unread
from service.memory.record import Episode, Group, have_vectors, space_of, vectors_due
from service.store.tables import ConversationKey, ConversationRow, MemoryOwnerRow, SummaryRow

_log = logging.getLogger(__name__)

LOOKS_EVERY_SECONDS = 30.0
"""How long a memory whose vectors could not be made rests, in machine time."""


LONGEST_WAIT_SECONDS = 30.0
READING_SECONDS = 300.0
"""So long nobody else reads what a process has begun to read with a model."""


class MemoryJobs:
    """Makes the vectors that memories lack, and brings what people remember to the graph, if there is one. A run that
    cannot wait has the vectors of its own world made itself.

    The same vectors may be made twice, and the graph takes the same again for nothing new: so a crash on the way, or
    two replicas at once, do no harm.
    """

    def __init__(self, deps: ConversationDependencies) -> None:
        self.wanted = asyncio.Event()
        """Something was written that lacks vectors."""
        self._deps = deps
        # Apart from each other: a graph that is slow to answer must not hold up a world that waits for vectors.
        self._filling: WeakValueDictionary[Group, asyncio.Lock] = WeakValueDictionary()
        self._delivering: WeakValueDictionary[Group, asyncio.Lock] = WeakValueDictionary()

    async def fill(self, world_id: str | None = None) -> None:
        """Make the vectors that memories of a world lack, or of all worlds. While the embedder or the store is away,
        memories without vectors are found by words.
        """
        if not self._deps.memory.embeds:
            return
        database = self._deps.database
        for group, due in (await database.read(lambda s: vectors_due(s, world_id))).items():
            async with self._filling.setdefault(group, asyncio.Lock()):
                try:
                    world = await database.read(partial(self._deps.worlds.open, world_id=group.world_id))
                    if not await self._deps.memory.fill_vectors(group, world.now):
                        await database.write(partial(have_vectors, group=group, due=due))
                except CassetteMiss:
                    raise
                except KataribeError as exc:
                    _log.warning("what %s remembers has no vectors for now: %s", group.id, exc)

    async def deliver_due(self, world_id: str | None = None) -> None:
        """Bring all that is due there, of a world or of all."""
        projection = self._deps.projection
        if projection is not None:
            reads = projection.reads_episodes
            for group in await self._deps.database.read(lambda s: _behind(s, world_id, reads=reads, due=True)):
                await self.deliver(group)

    async def deliver_conversation(self, key: ConversationKey) -> None:
        """Bring there what everybody in the conversation remembers."""
        if self._deps.projection is not None:
            row = await self._deps.database.read(lambda s: s.get(ConversationRow, key))
            for person_id in sorted(row.person_ids if row else ()):
                await self.deliver(Group(world_id=key.world_id, person_id=person_id))

    async def deliver(self, group: Group) -> None:
        """Bring there what the person remembers; where the graph is away, it waits."""
        projection = self._deps.projection
        if projection is None:
            return
        async with self._delivering.setdefault(group, asyncio.Lock()):
            try:
                await self._bring(projection, group)
                while projection.reads_episodes and await self._read(projection, group):
                    await self._bring(projection, group)
            except Exception as exc:  # noqa: BLE001 - one that cannot be written must not keep others from being written
                level = logging.WARNING if isinstance(exc, GraphUnavailable | ModelError) else logging.ERROR
                _log.log(level, "what %s remembers waits for the graph: %s", group.id, exc, exc_info=exc)
                reason = str(exc)
                await self._deps.database.write(lambda s: postpone(s, group, reason, LONGEST_WAIT_SECONDS))

    def waiting(self, session: Session, world_id: str, person_id: str | None = None) -> int:
        """How many people's memories of a world, or whether one's, are not in the graph as they are."""
        if self._deps.projection is None:
            return 0
        which = _behind(session, world_id, reads=self._deps.projection.reads_episodes, due=False)
        return len([group for group in which if person_id in (None, group.person_id)])

    async def _bring(self, projection: Projection, group: Group) -> None:
        database, worlds, is_whole = self._deps.database, self._deps.worlds, False
        while True:
            changes = await database.read(partial(read_changes, worlds=worlds, group=group, is_whole=is_whole))
            if changes is None:
                return
            is_whole = not await projection.write(changes)
            if not is_whole:
                await database.write(partial(projected, changes=changes))

    async def _read(self, projection: Projection, group: Group) -> bool:
        """Have the graph's own reader read the oldest summary that it has not read; False: there is none, or somebody
        does.
        """
        claimed = await self._deps.database.write(lambda s: self._claim(s, group))
        if claimed is None:
            return False
        episode, space = claimed
        found = await projection.read(group, episode, space)
        memory, worlds = self._deps.memory, self._deps.worlds
        embedded = await memory.embed([one.text for one in found])

        def work(session: Session) -> None:
            adopt(session, worlds.open(session, group.world_id), memory, group, episode, found, embedded)

        await self._deps.database.write(work)
        return True

    def _claim(self, session: Session, group: Group) -> tuple[Episode, VectorSpace] | None:
        owner = session.get(MemoryOwnerRow, group.key(), with_for_update=True)
        if owner is None or owner.projection_due > time.time():
            return None
        episode = unread(session, self._deps.worlds.open(session, group.world_id), group)
        if episode is None:
            return None
        owner.projection_due = time.time() + READING_SECONDS
        return episode, space_of(session, group)


def _behind(session: Session, world_id: str | None, *, reads: bool, due: bool) -> list[Group]:
    """Whose memories are ahead of the graph, or have a summary that it has not read; with `due` only those whose time
    has come.
    """
    row = MemoryOwnerRow
    ahead = (col(row.projected_revision) != col(row.revision)) | (col(row.projected_epoch) != col(row.epoch))
    if reads:
        mine = (col(SummaryRow.world_id) == col(row.world_id), col(SummaryRow.person_id) == col(row.person_id))
        ahead |= select(SummaryRow.revision).where(*mine, col(SummaryRow.is_read).is_(False)).exists()
    query = select(row.world_id, row.person_id).where(ahead)
    if due:
        query = query.where(col(row.projection_due) <= time.time())
    if world_id is not None:
        query = query.where(row.world_id == world_id)
    people = session.exec(query.order_by(col(row.world_id), col(row.person_id)))
    return [Group(world_id=world, person_id=person) for world, person in people]
