"""Owns background work on memories: making vectors that are missing, and bringing memories to a graph outside our
database, a person at a time.

The graph takes the same again for nothing new: a crash on the way does no harm.
"""

from collections.abc import Iterable
from functools import partial

from sqlmodel import Session

from service.memory.embedding.embedder import VectorSpace
from service.memory.memory_store import not_embedded
from service.memory.projection import Projection, adopt, projected, read_changes, undelivered, unread
from service.memory.record import Episode, Group, space_of
from service.runtime.jobs import Work
from service.store.jobs import JobKind
from service.store.tables import JobKey


class FillVectors(Work):
    """Makes the vectors that a person's memories lack. A run that cannot wait has those of its own world made first.
    While the embedder is away, memories without vectors are found by words.
    """

    kind = JobKind.VECTORS

    def due(self, session: Session, world_id: str | None) -> Iterable[JobKey]:
        """Of those who have none at all, where something embeds; of a world that is brought back of all."""
        embeds = self._deps.memory.embeds
        return [group.job(self.kind) for group in not_embedded(session, world_id)] if embeds else []

    async def work(self, job: JobKey) -> None:
        """Raises: GraphUnavailable: the embedder is away, or the store."""
        world = await self._deps.database.read(partial(self._deps.worlds.open, world_id=job.world_id))
        await self._deps.memory.fill_vectors(Group(world_id=job.world_id, person_id=job.key), world.now)


class Deliveries(Work):
    """Brings what a person remembers to the graph, if there is one."""

    kind = JobKind.DELIVERY

    def due(self, session: Session, world_id: str | None) -> Iterable[JobKey]:
        """Of those whose memories are ahead of the graph."""
        graph = self._deps.projection
        found = undelivered(session, world_id, reads=graph.reads_episodes) if graph is not None else []
        return [group.job(self.kind) for group in found]

    async def work(self, job: JobKey) -> None:
        """Raises: GraphUnavailable, ModelError: it was not brought there whole."""
        graph, group = self._deps.projection, Group(world_id=job.world_id, person_id=job.key)
        if graph is not None:
            await self._bring(graph, group)
            while graph.reads_episodes and await self._read(graph, group):
                await self._bring(graph, group)

    async def _bring(self, graph: Projection, group: Group) -> None:
        database, worlds, is_whole = self._deps.database, self._deps.worlds, False
        while True:
            changes = await database.read(partial(read_changes, worlds=worlds, group=group, is_whole=is_whole))
            if changes is None:
                return
            is_whole = not await graph.write(changes)
            if not is_whole:
                await database.write(partial(projected, changes=changes))

    async def _read(self, graph: Projection, group: Group) -> bool:
        """Have the graph's own reader read the oldest summary that it has not read; False: there is none."""
        memory, worlds = self._deps.memory, self._deps.worlds

        def oldest(session: Session) -> tuple[Episode | None, VectorSpace]:
            return unread(session, worlds.open(session, group.world_id), group), space_of(session, group)

        episode, space = await self._deps.database.write(oldest)
        if episode is None:
            return False
        found = await graph.read(group, episode, space)
        embedded = await memory.embed([one.text for one in found])

        def work(session: Session) -> None:
            adopt(session, worlds.open(session, group.world_id), memory, group, episode, found, embedded)

        await self._deps.database.write(work)
        return True
