"""Owns the memory store on Graphiti and Neo4j: graphiti-core's nodes and edges, written without a model call.

What is written is Graphiti's own form, so that its tools, Neo4j's browser and `add_episode` (episode.py) see one graph.
Neo4j is the record of facts and episodes; what was said, and what was thought of it, is read from our own database.
"""

import asyncio
from collections.abc import Collection, Sequence

from sqlmodel import Session, select

from service.memory.embedding.embedder import Embedder, Vectors, VectorSpace
from service.memory.episodes import deleted, forget_past, read_turns
from service.memory.fading import NEVER, Fading
from service.memory.graphiti.connection import Neo4jConnection
from service.memory.graphiti.groups import Groups
from service.memory.graphiti.read import GroupReader, GroupState
from service.memory.graphiti.write import GroupWriter
from service.memory.index import IndexCache, Packed, PersonIndex, State, key_of, text_of
from service.memory.memory_store import MemoryStore
from service.memory.outbox import leave_episode, leave_forgetting, leave_items, leave_removal
from service.memory.reflections import read_insights
from service.memory.revision import expect_vectors, next_epoch, state_of
from service.memory.record import Delivery, Embedded, Episode, Fact, FactDraft, Group, GroupDump, Item, Kind
from service.store.session import Database
from service.store.tables import MAIN_WORLD, WorldRow
from world.time import WorldTime

TURNS = "turns"


class GraphitiMemory(MemoryStore):
    """The memory store of many processes on one Neo4j (5.26 or later is what it is tested with).

    Nothing is asked of the server before the first call, so a service starts without it.
    """

    name = "graphiti"

    def __init__(
        self,
        database: Database,
        connection: Neo4jConnection,
        embedder: Embedder | None = None,
        indexes: IndexCache | None = None,
        *,
        installation: str,
        prefix: str = "",
        fading: Fading = NEVER,
    ) -> None:
        super().__init__(database, embedder, indexes, fading)
        self._connection = connection
        self._groups = Groups(connection, installation, prefix)
        self._counted: dict[Group, tuple[int, int]] = {}

    @property
    def delivery(self) -> Delivery:
        """Itself: what it keeps is not in our database."""
        return self

    def group_id(self, group: Group) -> str:
        """See MemoryStore. It is the `group_id` of what Graphiti keeps."""
        return self._groups.of(group).id

    async def embed(self, texts: Collection[str]) -> Embedded:
        """Nothing: vectors are made when the facts are delivered."""
        return Embedded()

    def remember(
        self, session: Session, group: Group, episode: Episode, facts: Sequence[FactDraft], embedded: Embedded
    ) -> int:
        """See MemoryStore. What is to be delivered goes by the outbox."""
        return leave_episode(session, group, episode, facts)

    def forget(self, session: Session, group: Group, partner_id: str | None = None) -> None:
        """See MemoryStore. What was delivered is erased by the outbox."""
        forget_past(session, group, partner_id)
        leave_forgetting(session, group, partner_id)

    async def deliver(self, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> None:
        """See Delivery."""
        drafts = list(facts)
        async with self._connection.one_at_a_time(group.id):
            if await self.holds(group, episode.conversation_id):
                return
            names = [name for draft in drafts for name in (draft.subject, draft.object)]
            embedded = await self._embed([episode.summary, *(draft.statement for draft in drafts), *names])
            await self._writer(group).remember(episode, drafts, embedded)

    def add(self, session: Session, group: Group, facts: Sequence[Fact], episodes: Sequence[Episode]) -> int:
        """See MemoryStore. They go by the outbox, and can be found when they are there."""
        return leave_items(session, group, facts, episodes)

    def replace(self, session: Session, group: Group, item: Fact | Episode) -> None:
        """See MemoryStore. It goes by the outbox."""
        next_epoch(session, group)
        facts, episodes = ([item], []) if isinstance(item, Fact) else ([], [item])
        leave_items(session, group, facts, episodes)

    def remove(self, session: Session, group: Group, kind: Kind, key: str) -> None:
        """See MemoryStore. It goes by the outbox; what authors have deleted is not read meanwhile."""
        leave_removal(session, group, kind, key)

    async def write(self, group: Group, facts: Sequence[Fact], episodes: Sequence[Episode]) -> None:
        """See Delivery. Entities get their vectors at once: Graphiti searches those."""
        async with self._connection.one_at_a_time(group.id):
            names = await self._embed([name for fact in facts for name in (fact.subject, fact.object)])
            await self._writer(group).write(facts, episodes, names)
        await self._database.write(lambda s: expect_vectors(s, group))

    async def erase_one(self, group: Group, kind: Kind, key: str) -> None:
        """See Delivery."""
        async with self._connection.one_at_a_time(group.id):
            await self._writer(group).erase_one(kind, key)

    async def export(self, group: Group) -> GroupDump:
        """See MemoryStore."""
        dump = await self._reader(group).dump()
        gone = await self._database.read(lambda s: deleted(s, group))
        return GroupDump(
            episodes=tuple(one for one in dump.episodes if key_of(one) not in gone),
            facts=tuple(one for one in dump.facts if key_of(one) not in gone),
        )

    async def holds(self, group: Group, conversation_id: str) -> bool:
        """See Delivery."""
        return await self._reader(group).has_episode(conversation_id)

    async def erase(self, group: Group, partner_id: str | None = None) -> None:
        """See Delivery."""
        async with self._connection.one_at_a_time(group.id):
            if partner_id is None:
                await self._reader(group).state()
                await self._writer(group).erase()
            else:
                await self._writer(group).erase_partner(partner_id)

    async def check(self) -> None:
        """See MemoryStore."""
        await self._connection.check()
        await self._groups.require_own(await self._database.read(_worlds))
        await self._require_own_embedder()

    async def adopt(self, world_id: str) -> int:
        """Make the groups of the world that another installation wrote ours; answers how many.

        Raises:
            GraphUnavailable.
        """
        return len(await self._groups.adopt([world_id]))

    async def purge(self, world_id: str) -> int:
        """Remove the groups of the world that another installation wrote; answers how many.

        Raises:
            GraphUnavailable: some may be left; the same call may be made again.
        """
        groups = await self._groups.of_others([world_id])
        for group in groups:
            await GroupWriter(self._connection, group).erase()
        return len(groups)

    async def aclose(self) -> None:
        """Close the connections, too."""
        await super().aclose()
        await self._connection.aclose()

    def _writer(self, group: Group) -> GroupWriter:
        return GroupWriter(self._connection, self._groups.of(group))

    def _reader(self, group: Group) -> GroupReader:
        return GroupReader(self._connection, self._groups.of(group))

    async def _current(self, group: Group, at: WorldTime, day: int) -> PersonIndex:
        """See MemoryStore. What others wrote into the group or took from it since becomes ours, known since `at`. Both
        stores are asked at once.
        """
        reader, index = self._reader(group), self._indexes.get(group, day)

        def turns(session: Session) -> bool:
            return self._catch_up_turns(session, group, index, day)

        found, remembers = await asyncio.gather(reader.state(), self._database.read(turns))
        if self._counted.get(group) != found.everywhere:
            if await reader.is_ours():
                self._counted[group] = found.everywhere
            else:
                await self._writer(group).adopt(at)
                found = await reader.state()
        await self._catch_up(reader, found, index)
        while (
            remembers and TURNS not in index.states
        ):  # the graph's part was read anew, and they were let go of with it
            remembers = await self._database.read(turns)
            await self._catch_up(reader, found, index)
        index.space = found.space
        self._indexes.shrink(group)
        return index

    def _catch_up_turns(self, session: Session, group: Group, index: PersonIndex, day: int) -> bool:
        """Read the turns of the conversations that were closed since the last time, the insights since then, and what
        authors have deleted. Whether the person remembers anything.
        """
        with index.lock:
            now = state_of(session, group)
            index.known(TURNS, now)
            self._fade(session, group, index, day, now, index.states.get(TURNS))
            known = index.states.get(TURNS)
            if now is not None and now != known:
                after = -1 if known is None else known.revision
                index.bar(deleted(session, group))
                index.take(read_turns(session, group, index.faded, after=after))
                index.take(read_insights(session, group, after=after))
                index.states[TURNS] = now
            return now is not None

    async def _catch_up(self, reader: GroupReader, found: GroupState, index: PersonIndex) -> None:
        """Read what was written since the last time; what another call has read meanwhile is not read in again."""
        while _is_behind(index.states.get(self.name), found.state):
            known = await asyncio.to_thread(_known, index, found.state)
            if found.state is None:
                return
            items, vectors = await reader.since(-1 if known is None else known.revision, self._model)
            if await asyncio.to_thread(_take, index, known, found.state, items, vectors):
                return

    async def _add_vectors(self, group: Group, vectors: Sequence[tuple[Kind, str, Vectors]]) -> None:
        """See MemoryStore."""
        await self._writer(group).add_vectors(vectors, VectorSpace(self._model, vectors[0][2].size))

    async def _embedded_otherwise(self, space: VectorSpace) -> list[tuple[Group, VectorSpace]]:
        """See MemoryStore."""
        return await self._groups.embedded_otherwise(await self._database.read(_worlds), space)

    async def _reembed(self, group: Group, space: VectorSpace) -> int:
        """See MemoryStore. Entities have vectors too: Graphiti searches those."""
        writer, dump = self._writer(group), await self.export(group)
        items: list[Item] = [*dump.episodes, *dump.facts]
        names = await writer.names()
        vectors = await self._vectors_of([*(text_of(item) for item in items), *names.values()])
        await writer.replace_vectors(
            [(*key_of(item), vectors[text_of(item)]) for item in items],
            [(key, vectors[name]) for key, name in names.items()],
            space,
        )
        return len(items) + len(names)


def _worlds(session: Session) -> set[str]:
    """Those that have begun, and the one that begins by itself."""
    return {MAIN_WORLD, *session.exec(select(WorldRow.id))}


def _is_behind(held: State | None, now: State | None) -> bool:
    if held is None or now is None:
        return held != now
    return held.epoch != now.epoch or held.revision < now.revision


def _known(index: PersonIndex, now: State | None) -> State | None:
    with index.lock:
        return index.known(GraphitiMemory.name, now)


def _take(
    index: PersonIndex, known: State | None, now: State, items: Sequence[Item], vectors: Sequence[Packed]
) -> bool:
    """Take in what was read since `known`; False where another call was faster."""
    with index.lock:
        if index.states.get(GraphitiMemory.name) != known:
            return False
        index.take(items)
        index.take_vectors(vectors)
        index.states[GraphitiMemory.name] = now
        return True
