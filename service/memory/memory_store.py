"""Owns a person's memory in the service's own database: written in the caller's transaction, given its vectors, and
recalled: what is held of it in the process is brought up to date and ranked.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from sqlalchemy import and_, insert, or_
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Session, SQLModel, col, delete, select

from service.errors import EmbedderChanged, GraphUnavailable
from service.memory.embedding.embedder import NO_VECTORS, Embedder, Vectors, VectorSpace
from service.memory.episodes import NEVER, NOTHING, WHOLE, Fading, deleted, read_episodes, read_turns
from service.memory.record import (
    FACTS,
    Embedded,
    Episode,
    Group,
    GroupDump,
    Item,
    Kind,
    Memory,
    Recalled,
    Source,
    claim_space,
    expect_vectors,
    has_vector,
    memory_of,
    next_epoch,
    next_revision,
    read_anew,
    read_memories,
    row_of,
    set_space,
    slot_of,
    space_of,
    state_of,
)
from service.people.worlds import count_people_revision
from service.store.policy import POLICIES, names, reopened
from service.store.session import Database
from service.store.tables import MemoryOwnerRow, MemoryRow, SummaryRow, VectorRow
from world.time import WorldTime

if TYPE_CHECKING:
    from service.memory.index import IndexCache, PersonIndex

FILL_BATCH = 64

QUERIES_KEPT = 64
"""The vectors of the last queries: some are asked of every memory."""

RANKED_AT_ONCE = 1000
"""So many items are ranked in about a millisecond: no longer than it takes until a thread has taken them up."""

EMBEDDER_SETTINGS = "KATARIBE_EMBEDDING__PROVIDER, KATARIBE_EMBEDDING__MODEL"

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Reembedded:
    """How many people's memories were embedded anew, how many texts, and which vectors they have now."""

    people: int
    texts: int
    space: VectorSpace


class MemoryStore:
    """People's long-term memory, in SQLite or PostgreSQL. Neo4j may hold a projection of it (graphiti/projection.py).

    Vectors are made outside of any transaction. Where the embedder fails, nothing is lost: what is remembered is
    written without, found by its words, and given its vectors by a job (`fill_vectors`). A memory whose vectors another
    embedder made gets none of this one's, and is searched by words alone, until it is embedded anew.
    """

    def __init__(
        self,
        database: Database,
        embedder: Embedder | None = None,
        indexes: "IndexCache | None" = None,
        fading: Fading = NEVER,
    ) -> None:
        self._database = database
        self._fading = fading
        self._embedder = embedder
        self._model = "" if embedder is None else embedder.name
        self._given_indexes = indexes
        self._reading: dict[tuple[Group, WorldTime, int], asyncio.Task[PersonIndex]] = {}
        self._begun: set[asyncio.Task[PersonIndex]] = set()
        self._asking: dict[str, asyncio.Task[Vectors | None]] = {}
        self._asked: dict[str, Vectors] = {}

    def remember(
        self,
        session: Session,
        group: Group,
        memories: Sequence[Memory],
        embedded: Embedded,
        episode: Episode | None = None,
    ) -> int:
        """Write what the person takes away, with the vectors of these texts and of the `episode`, in the caller's
        transaction; what these memories replace is ended. Answers the revision, which the episode's row is to bear.

        A memory that is strong enough (`Memory.may_end`) ends those it `replaces`, and those of its slot that are still
        true: their `valid_to` becomes its `valid_from`, their `known_until` its `known_from`. One that comes to be
        known after a later value of its slot is ended by that.
        """
        revision = next_revision(session, group)
        session.add_all(row_of(group, one, revision) for one in memories)
        session.flush()
        for one in memories:
            _end_older(session, group, one, revision)
        texts = [] if episode is None else [(Kind.SUMMARY, episode.id, episode.text)]
        texts += [(one.kind, one.id, one.text) for one in memories if has_vector(one)]
        vectors = [(kind, key, embedded.vectors[text]) for kind, key, text in texts if text in embedded.vectors]
        if vectors and claim_space(session, group, embedded.space):
            session.add_all(_vector_row(group, *one, embedded.model, revision) for one in vectors)
        if self.embeds and len(vectors) < len(texts):
            expect_vectors(session, group)
        return revision

    def add(self, session: Session, group: Group, rows: Sequence[MemoryRow]) -> int:
        """Write rows that the person does not hold yet, as they stand but for their revision, in the caller's
        transaction; what these replace is ended. Answers the revision. They are found by their words at once;
        `fill_vectors` makes their vectors.
        """
        revision = next_revision(session, group)
        if rows:
            written = [{**row.model_dump(), "revision": revision} for row in rows]
            session.execute(insert(SQLModel.metadata.tables[str(MemoryRow.__tablename__)]), written)
            expect_vectors(session, group)
        for row in rows:
            if row.slot:
                _end_older(session, group, memory_of(row), revision)
        return revision

    def replace(self, session: Session, group: Group, item: Memory | Episode) -> None:
        """Write the item in the place of the one with its id, in the caller's transaction. Who holds the memory in mind
        reads it anew. Of a talk that was held here its summary's row is written.
        """
        revision = next_epoch(session, group)
        kind, key = item.kind, item.id
        _drop_vectors(session, group, kind, key)
        row = session.get(MemoryRow, group.key(key))
        if row is not None:
            told = row_of(group, item, revision).model_dump() if isinstance(item, Memory) else {"text": item.text}
            kept = {"given_id", "given_in", "fingerprint", "topics"}
            row.sqlmodel_update(
                {name: value for name, value in told.items() if name not in kept} | {"revision": revision}
            )
        elif isinstance(item, Episode):
            talk = session.get_one(SummaryRow, group.key(key))
            talk.summary, talk.support, talk.revision = item.text, item.support, revision
        expect_vectors(session, group)

    def remove(self, session: Session, group: Group, kind: Kind, key: str) -> None:
        """Remove a memory or a summary in the caller's transaction, and let be true again what it had ended; an insight
        that rests on nothing else goes with it. It never comes back: its row stays, and says nothing. Who holds the
        memory in mind reads it anew.
        """
        revision = next_epoch(session, group)
        _drop_vectors(session, group, kind, key)
        row = session.get(MemoryRow, group.key(key)) or MemoryRow(
            **group.whose, id=key, kind=kind, text="", support="author", source="author",
            valid_from=0, known_from=0, revision=revision, deleted=True,
        )  # fmt: skip
        _reopen(session, group, {key: row}, revision)
        if row.source == Source.GOAL:  # it wants that again
            count_people_revision(session, group.world_id)
        row.deleted, row.revision = True, revision
        row.text = row.quote = row.about = row.slot = row.partner_id = ""
        row.told_by, row.subject_id, row.via, row.topics, row.evidence = None, None, [], [], []
        session.add(row)
        if kind is Kind.SUMMARY and (talk := session.get(SummaryRow, group.key(key))) is not None:
            talk.summary, talk.topics, talk.revision = "", [], revision
        for thought in _resting_on(session, group, key):
            self.remove(session, group, Kind.INSIGHT, thought)

    def forget(self, session: Session, group: Group, person_id: str | None = None) -> None:
        """Remove all memories of the person in the caller's transaction; with `person_id` only those that came of that
        one or tell of it, and what was thought of them. The summaries of talks that were held here are the caller's to
        remove.
        """
        mine = group.owns(MemoryRow)
        if person_id is None:
            session.execute(delete(VectorRow).where(*group.owns(VectorRow)))
            session.execute(delete(MemoryRow).where(*mine))
            if space_of(session, group) != NO_VECTORS:
                set_space(session, group, NO_VECTORS)
        else:
            gone = {row.id: row for row in session.exec(select(MemoryRow).where(*mine, names(MemoryRow, person_id)))}
            talks = select(SummaryRow.conversation_id).where(*group.owns(SummaryRow), names(SummaryRow, person_id))
            sources = {*gone, *session.exec(talks)}
            thoughts = session.exec(select(MemoryRow).where(*mine, MemoryRow.kind == Kind.INSIGHT))
            gone |= {row.id: row for row in thoughts if sources & set(map(_source, row.evidence))}
            items = sorted(sources | gone.keys())
            for start in range(0, len(items), 500):
                of = col(VectorRow.item_id).in_(items[start : start + 500])
                session.execute(delete(VectorRow).where(*group.owns(VectorRow), of))
            for row in gone.values():
                session.delete(row)
            if gone:
                _reopen(session, group, gone, next_revision(session, group))
        read_anew(session, group)

    @cached_property
    def _indexes(self) -> "IndexCache":
        from service.memory.index import IndexCache  # NumPy, which nobody needs before something is looked for

        return self._given_indexes or IndexCache()

    def forget_world(self, world_id: str) -> None:
        """Hold nothing in memory of a world whose rows are removed."""
        self._indexes.forget_world(world_id)

    async def export(self, group: Group) -> GroupDump:
        """All that the person remembers, oldest first."""
        return await self._database.read(
            lambda s: GroupDump(
                episodes=tuple(read_episodes(s, group)),
                memories=tuple(
                    sorted(read_memories(s, group), key=lambda one: (one.known_from, one.valid_from, one.turns, one.id))
                ),
            )
        )

    async def check(self) -> None:
        """Raises: GraphUnavailable: with the setting to look at; as EmbedderChanged, where somebody's memory has
        vectors of another embedder than the one that is set.
        """
        try:
            await self._database.read(lambda s: s.exec(select(MemoryOwnerRow.world_id).limit(1)).first())
        except SQLAlchemyError as exc:
            raise GraphUnavailable(backend="sql", reason=type(exc).__name__, setting="KATARIBE_DATABASE_URL") from exc
        if self._embedder is not None:
            for group, before in await self._database.read(lambda s: _embedded_otherwise(s, self._space)):
                raise EmbedderChanged(
                    backend="embedding",
                    reason="another embedder",
                    setting=EMBEDDER_SETTINGS,
                    group_id=group.id,
                    before=str(before),
                    now=str(self._space),
                )

    def beside(self, database: Database) -> "MemoryStore":
        """Another one with the same embedder."""
        return MemoryStore(database, self._embedder, fading=self._fading)

    async def aclose(self) -> None:
        """Let go of what is read for nobody any more. The database and the embedder are their makers' to close."""
        loop = asyncio.get_running_loop()
        begun = [task for task in self._begun if task.get_loop() is loop]
        for task in begun:
            task.cancel()
        await asyncio.gather(*begun, return_exceptions=True)

    @property
    def embeds(self) -> bool:
        """Whether it makes vectors; else all is found by words alone."""
        return self._embedder is not None

    async def recall(
        self,
        group: Group,
        query: str,
        *,
        at: WorldTime,
        kinds: Collection[Kind] = FACTS,
        about: str | None = None,
        partner_id: str | None = None,
        limit: int = 10,
        history: bool = False,
        at_hand: bool = False,
        forgotten: bool = False,
        now: WorldTime | None = None,
    ) -> list[Recalled]:
        """What of these kinds answers `query`, best first.

        Only what was known and valid at `at`, unless `history` asks for the closed facts known by then too.
        `about` names an entity and `partner_id` a person: what touches the entity, is about the person or was heard
        from it; with both, either suffices. A name that several people bear is nobody's `about`. What they choose all
        answers; without either, an answer shares something with the query, or stands beside what does. A turn that
        facts were taken from does not answer beside them. An empty query orders by nearness to what was asked about,
        then newest first.

        `at_hand`: at once, by words, from what this process has read of the memory already; where it has read nothing,
        it reads. Neither the store nor the embedder is asked, which takes longer than all the rest.

        What has faded by the world day of `at` does not answer, unless `forgotten` asks for it. `now` is the world's
        clock where it may show less than `at`: nothing has faded that will.

        Raises:
            GraphUnavailable.
        """
        from service.memory.index import OtherDay, RecallQuery

        day = WHOLE if forgotten else self._fading.day(at if now is None else min(at, now))
        held = self._indexes.held(group, day) if at_hand else None
        index = await self._index(group, at, day) if held is None else held
        index.is_read = True
        if limit <= 0 or not len(index):  # found out before the query is embedded: that takes longer than all the rest
            return []
        asked = RecallQuery(
            query=query,
            at=at,
            kinds=kinds,
            about=about,
            partner_id=partner_id,
            limit=limit,
            history=history,
            vector=None if at_hand else await self._comparable(index, query),
            day=day,
        )
        while True:
            try:
                if held is not None and len(held) <= RANKED_AT_ONCE:
                    return held.rank(asked)
                return await asyncio.to_thread(index.rank, asked)
            except OtherDay:
                held, index = None, await self._index(group, at, day)

    async def items(self, group: Group, at: WorldTime, *, forgotten: bool = False) -> list[Item]:
        """All that the person holds, of every kind and time, what has ended too; in no order. `at`: the world's clock.
        What has faded only where `forgotten` asks for it.

        Raises:
            GraphUnavailable.
        """
        return (await self._index(group, at, WHOLE if forgotten else self._fading.day(at))).items

    async def forgotten(self, group: Group, at: WorldTime) -> dict[tuple[Kind, str], WorldTime]:
        """What of it has faded by then, by kind and id, and since when.

        Raises:
            GraphUnavailable.
        """
        items = await self.items(group, at, forgotten=True)
        faded = await self._database.read(lambda s: self._fading.faded(s, group, self._fading.day(at), ever=True))
        times = (((item.kind, item.id), faded.forgotten_at(item)) for item in items)
        return {key: at for key, at in times if at is not None}

    async def pending_vectors(self, group: Group, at: WorldTime) -> int:
        """How many facts and episodes are to have a vector and have none; 0 where nothing embeds.

        Raises:
            GraphUnavailable.
        """
        return 0 if self._embedder is None else (await self._index(group, at, self._fading.day(at))).lacking

    async def fill_vectors(self, group: Group, at: WorldTime) -> None:
        """Make the vectors that are missing. Where another embedder has made the memory's, none are.

        Raises:
            GraphUnavailable: the embedder fails, or the store.
        """
        while pending := await self.pending_vectors(group, at):
            index = await self._index(group, at, self._fading.day(at))
            items = await asyncio.to_thread(index.without_vector, FILL_BATCH)
            if not index.space.takes(self._space):
                return
            vectors = await self._vectors_of([item.text for item in items])
            rows = [(item.kind, item.id, vectors[item.text]) for item in items]
            await self._database.write(partial(_fill_in, group=group, model=self._model, rows=rows))
            if await self.pending_vectors(group, at) >= pending:
                return

    async def reembed(self) -> Reembedded:
        """Give what another embedder has embedded the vectors of the one that is set, a person at a time. Begun again,
        it goes on where it stopped.

        Raises:
            GraphUnavailable: the embedder, or the store; what was done until then stays.
        """
        vector = (await self._vectors_of(["a"]))["a"]
        space, people, texts = VectorSpace(self._model, vector.size), 0, 0
        for group, _ in await self._database.read(lambda s: _embedded_otherwise(s, space)):
            texts += await self._reembed(group, space)
            people += 1
        return Reembedded(people=people, texts=texts, space=space)

    @property
    def _space(self) -> VectorSpace:
        """Which vectors the embedder makes."""
        return NO_VECTORS if self._embedder is None else VectorSpace(self._model, self._embedder.dimensions)

    async def _reembed(self, group: Group, space: VectorSpace) -> int:
        """Replace every vector of the memory by one of `space`; answers how many texts were embedded."""
        dump = await self.export(group)
        items: list[Item] = [*dump.episodes, *filter(has_vector, dump.memories)]
        vectors = await self._vectors_of([item.text for item in items])
        rows = [(item.kind, item.id, vectors[item.text]) for item in items]
        await self._database.write(lambda s: _replace_vectors(s, group, space, rows))
        return len(rows)

    async def _vectors_of(self, texts: Collection[str]) -> dict[str, Vectors]:
        """A vector for each text.

        Raises:
            GraphUnavailable: the embedder fails.
        """
        assert self._embedder is not None  # noqa: S101 - who embeds anew has set one
        wanted = list(dict.fromkeys(texts))
        batches = [wanted[start : start + FILL_BATCH] for start in range(0, len(wanted), FILL_BATCH)]
        vectors = [vector for batch in batches for vector in await self._embedder.passages(batch)]
        return dict(zip(wanted, vectors, strict=True))

    async def _index(self, group: Group, at: WorldTime, day: int) -> "PersonIndex":
        """The person's index with all that was written by now and has not faded by that day. Who asks before it is read
        shares the reading.
        """
        asked = group, at, day
        reading = self._reading.get(asked)
        if reading is None or reading.get_loop() is not asyncio.get_running_loop():
            reading = self._reading[asked] = asyncio.create_task(self._read(*asked))
            self._begun.add(reading)
            reading.add_done_callback(self._begun.discard)
        return await asyncio.shield(reading)

    async def _read(self, group: Group, at: WorldTime, day: int) -> "PersonIndex":
        """Read what was written since the last time into the person's index."""
        await asyncio.sleep(0)  # whoever asks at the same moment, in a task that is just begun, comes in time
        self._reading.pop((group, at, day), None)  # who comes later may miss something, and reads anew
        index = self._indexes.get(group, day)
        await self._database.read(lambda s: self._catch_up(s, group, index, day))
        self._indexes.shrink(group)
        return index

    def _catch_up(self, session: Session, group: Group, index: "PersonIndex", day: int) -> None:
        """The state is read before the rows: what another transaction adds in between is read twice, and never
        missed.
        """
        with index.lock:
            now = state_of(session, group)
            if index.state is not None and (now is None or now.epoch != index.state.epoch):
                index.clear()  # what is held is another memory
            if now is None:
                index.fade(day, NOTHING)
            elif index.day < day or index.state is None:
                index.fade(day, self._fading.faded(session, group, day))
            if now is None or now == index.state:
                return
            after = -1 if index.state is None else index.state.revision
            index.barred = deleted(session, group)
            index.take(read_memories(session, group, after=after))
            index.take(read_episodes(session, group, after=after))
            index.take(read_turns(session, group, index.faded, after=after))
            vectors = select(VectorRow.kind, VectorRow.item_id, VectorRow.vector).where(
                *group.owns(VectorRow), VectorRow.model == self._model, VectorRow.revision > after
            )
            index.take_vectors([(Kind(kind), key, vector) for kind, key, vector in session.exec(vectors)])
            index.space = space_of(session, group)
            index.state = now

    async def embed(self, texts: Collection[str]) -> Embedded:
        """Vectors of texts, as far as the embedder can make them, for `remember`, before its transaction. Those that
        cannot be made are made later, by a job.
        """
        try:
            vectors = await self._vectors_of(texts) if self._embedder is not None else {}
        except GraphUnavailable as exc:
            log.warning("%d texts are remembered without a vector for now: %s", len(texts), exc)
            vectors = {}
        return Embedded(model=self._model, vectors=vectors)

    async def _comparable(self, index: "PersonIndex", query: str) -> Vectors | None:
        """The query's vector; None where the memory's own are another embedder's."""
        vector = await self._query(query) if index.space.takes(self._space) else None
        is_alike = vector is not None and index.space.takes(VectorSpace(self._model, vector.size))
        return vector if is_alike else None

    async def _query(self, query: str) -> Vectors | None:
        """The query's vector. Who is asked about several things at once has the same query embedded once."""
        if self._embedder is None or not query.strip():
            return None
        if query in self._asked:
            self._asked[query] = self._asked.pop(query)  # what is asked again and again is not the oldest
            return self._asked[query]
        asking = self._asking.get(query)
        if asking is None or asking.get_loop() is not asyncio.get_running_loop():
            asking = self._asking[query] = asyncio.create_task(self._embed_query(self._embedder, query))
            asking.add_done_callback(lambda _: self._asking.pop(query, None))
        return await asyncio.shield(asking)

    async def _embed_query(self, embedder: Embedder, query: str) -> Vectors | None:
        try:
            vector: Vectors = (await embedder.query(query))[0]
        except GraphUnavailable as exc:
            log.warning("recall by words alone: %s", exc)
            return None
        self._asked[query] = vector
        if len(self._asked) > QUERIES_KEPT:
            del self._asked[next(iter(self._asked))]
        return vector


def _end_older(session: Session, group: Group, one: Memory, revision: int) -> None:
    """End what the memory replaces, and older values of its slot; a later value of that ends the memory itself."""
    slot = slot_of(one)
    open_rows = (
        *group.owns(MemoryRow),
        col(MemoryRow.replaced_by).is_(None),
        col(MemoryRow.id) != one.id,
        col(MemoryRow.deleted).is_(False),
    )
    if not (slot or one.replaces):
        return
    same_slot = and_(col(MemoryRow.slot) == slot, col(MemoryRow.mode) == one.mode, col(MemoryRow.slot) != "")
    which = or_(col(MemoryRow.id).in_(one.replaces), same_slot)
    for row in session.exec(select(MemoryRow).where(*open_rows, which).order_by(col(MemoryRow.id))).all():
        old = memory_of(row)
        if row.id not in one.replaces and old.valid_from > one.valid_from:
            if old.may_end(one):
                _end(session.get_one(MemoryRow, group.key(one.id)), old, revision)
        elif one.may_end(old):
            _end(row, one, revision)


def _end(row: MemoryRow, by: Memory, revision: int) -> None:
    """A talk may be remembered after a later one: neither time ever runs backwards for that."""
    if row.valid_to is not None and row.valid_to <= by.valid_from:
        return
    row.valid_to, row.known_until = max(row.valid_from, by.valid_from), max(row.known_from, by.known_from)
    row.replaced_by, row.revision = by.id, revision


def _reopen(session: Session, group: Group, gone: Mapping[str, MemoryRow], revision: int) -> None:
    """Let what these had ended be true until they ended themselves, or again."""
    keys, ends = list(gone), {key: row.model_dump() for key, row in gone.items()}
    for start in range(0, len(keys), 500):
        ended = col(MemoryRow.replaced_by).in_(keys[start : start + 500])
        for row in session.exec(select(MemoryRow).where(*group.owns(MemoryRow), ended)).all():
            if row.id not in gone:
                row.sqlmodel_update(reopened(row.model_dump(), POLICIES["memories"], ends) | {"revision": revision})


def _resting_on(session: Session, group: Group, key: str) -> list[str]:
    """The insights that name that memory or talk among their sources, of which none is left."""
    mine, summary = group.owns(MemoryRow), SummaryRow
    thoughts = select(MemoryRow).where(*mine, MemoryRow.kind == Kind.INSIGHT, col(MemoryRow.deleted).is_(False))
    found = {one.id: set(map(_source, one.evidence)) for one in session.exec(thoughts)}
    found = {one: sources for one, sources in found.items() if key in sources}
    named = {source for sources in found.values() for source in sources}
    left = {
        *session.exec(
            select(MemoryRow.id).where(*mine, col(MemoryRow.id).in_(named), col(MemoryRow.deleted).is_(False))
        )
    }
    talks = select(summary.conversation_id).where(*group.owns(summary), col(summary.conversation_id).in_(named))
    left |= set(session.exec(talks.where(summary.summary != "")))
    return [one for one, sources in found.items() if not sources & left]


def _source(ref: str) -> str:
    """The id of the memory, or of the talk, that the reference leads to (telling.py)."""
    return ref.partition(":")[2].partition("/")[0]


def _drop_vectors(session: Session, group: Group, kind: Kind, key: str) -> None:
    of_item = (col(VectorRow.kind) == kind.value, col(VectorRow.item_id) == key)
    session.execute(delete(VectorRow).where(*group.owns(VectorRow), *of_item))


def _fill_in(session: Session, group: Group, model: str, rows: Sequence[tuple[Kind, str, Vectors]]) -> None:
    """Write vectors that were missing; what was forgotten meanwhile gets none."""
    revision = next_revision(session, group)
    if claim_space(session, group, VectorSpace(model, rows[0][2].size)):
        _put_vectors(session, group, model, rows, revision)


def _replace_vectors(
    session: Session, group: Group, space: VectorSpace, rows: Sequence[tuple[Kind, str, Vectors]]
) -> None:
    """These vectors, in the place of all that the memory has."""
    revision = next_epoch(session, group)
    set_space(session, group, space)
    session.execute(delete(VectorRow).where(*group.owns(VectorRow)))
    _put_vectors(session, group, space.model, rows, revision)


def _put_vectors(
    session: Session, group: Group, model: str, rows: Sequence[tuple[Kind, str, Vectors]], revision: int
) -> None:
    for kind, key, vector in rows:
        if any(session.get(table, group.key(key)) is not None for table in (MemoryRow, SummaryRow)):
            session.merge(_vector_row(group, kind, key, vector, model, revision))


def not_embedded(session: Session, world_id: str | None) -> list[Group]:
    """Whose memories have no vector at all; of a world everybody's, for some may be missing."""
    row = MemoryOwnerRow
    which = row.embedder == "" if world_id is None else row.world_id == world_id
    found = session.exec(select(row.world_id, row.person_id).where(which))
    return [Group(world_id=world, person_id=person) for world, person in found]


def _embedded_otherwise(session: Session, space: VectorSpace) -> list[tuple[Group, VectorSpace]]:
    """Whose memories have other vectors than these, and which."""
    row = MemoryOwnerRow
    query = select(row.world_id, row.person_id, row.embedder, row.dimensions).where(
        col(row.embedder) != "", (col(row.embedder) != space.model) | (col(row.dimensions) != space.dimensions)
    )
    found = [(Group(world_id=w, person_id=p), VectorSpace(e, d)) for w, p, e, d in session.exec(query)]
    return [(group, had) for group, had in found if not had.takes(space)]


def _vector_row(group: Group, kind: Kind, key: str, vector: Vectors, model: str, revision: int) -> VectorRow:
    """Half precision: the error is far below what tells two sentences apart, and it takes half the room."""
    return VectorRow(
        **group.whose,
        kind=kind.value,
        item_id=key,
        model=model,
        vector=vector.astype("float16").tobytes(),
        revision=revision,
    )
