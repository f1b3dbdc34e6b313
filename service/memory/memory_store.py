"""Owns what a store of memories can do, and recall, which is the same for all: what is held of a person's memory is
brought up to date, given its vectors, and ranked.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlmodel import Session

from service.errors import EmbedderChanged, GraphUnavailable
from service.memory.embedding.embedder import NO_VECTORS, Embedder, Vectors, VectorSpace
from service.memory.fading import NEVER, NOTHING, WHOLE, Fading
from service.memory.index import IndexCache, OtherDay, PersonIndex, Question, State, key_of, text_of
from service.memory.store import (
    FACTS,
    Delivery,
    Embedded,
    Episode,
    Fact,
    FactDraft,
    Group,
    GroupDump,
    Item,
    Kind,
    Recalled,
)
from service.store.session import Database
from world.time import WorldTime

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


class MemoryStore(ABC):
    """Where people's long-term memory lives. Every kind of it passes tests/memory/contract.py.

    Vectors are made outside of any transaction. Where the embedder fails, nothing is lost: what is remembered is
    written without, found by its words, and given its vectors by a later recall, `FILL_BATCH` a time. A memory whose
    vectors another embedder made gets none of this one's, and is searched by words alone, until it is embedded anew.
    """

    name: ClassVar[str]
    """``sql`` or ``graphiti``."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder | None = None,
        indexes: IndexCache | None = None,
        fading: Fading = NEVER,
    ) -> None:
        self._database = database
        self._fading = fading
        self._embedder = embedder
        self._model = "" if embedder is None else embedder.name
        self._indexes = indexes or IndexCache()
        self._reading: dict[tuple[Group, WorldTime, int], asyncio.Task[PersonIndex]] = {}
        self._begun: set[asyncio.Task[PersonIndex]] = set()
        self._asking: dict[str, asyncio.Task[Vectors | None]] = {}
        self._asked: dict[str, Vectors] = {}

    @property
    @abstractmethod
    def delivery(self) -> Delivery | None:
        """Who takes what `remember` and `forget` leave in the outbox; None: they leave nothing there."""

    @abstractmethod
    async def embed(self, texts: Collection[str]) -> Embedded:
        """Vectors for `remember`, made before its transaction. Where they cannot be made, a later recall makes them."""

    @abstractmethod
    def remember(
        self, session: Session, group: Group, episode: Episode, facts: Sequence[FactDraft], embedded: Embedded
    ) -> int:
        """Write an episode with its facts in the caller's transaction, once for each conversation and person.

        Answers the memory's revision, which the episode's row (SummaryRow) is to bear; the caller writes that one.
        A fact in `replaces` that is still open is closed: its `invalid_at` becomes the new fact's `valid_at` (never
        before its own) and its `expired_at` the episode's `at` (never before its `created_at`). Ids in `replaces` that
        the person does not hold are passed over. A fact that `retells` an open one is not written: that one's
        `tellings` go up.
        """

    @abstractmethod
    def forget(self, session: Session, group: Group, partner_id: str | None = None) -> None:
        """Remove all facts and episodes of the person in the caller's transaction; with `partner_id` only those that
        came of its conversations with that one.
        """

    @abstractmethod
    def add(self, session: Session, group: Group, facts: Sequence[Fact], episodes: Sequence[Episode]) -> int:
        """Write facts and episodes that the person does not hold yet, as they stand, in the caller's transaction.
        Answers the memory's revision. They are found by their words at once; `fill_vectors` makes their vectors.
        """

    @abstractmethod
    def replace(self, session: Session, group: Group, item: "Fact | Episode") -> None:
        """Write the item in the place of the one with its id, in the caller's transaction. Who holds the memory in mind
        reads it anew.
        """

    @abstractmethod
    def remove(self, session: Session, group: Group, kind: Kind, key: str) -> None:
        """Remove a fact or an episode in the caller's transaction. Who holds the memory in mind reads it anew."""

    @abstractmethod
    async def export(self, group: Group) -> GroupDump:
        """All that the person remembers, oldest first.

        Raises:
            GraphUnavailable.
        """

    @abstractmethod
    async def check(self) -> None:
        """Raises: GraphUnavailable: with the setting to look at; as MemoryOfAnother, where the memory of somebody in
        a world of ours was written by another installation, and as EmbedderChanged, where it has vectors of another
        embedder than the one that is set.
        """

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

    def group_id(self, group: Group) -> str:
        """What the store calls the group."""
        return group.id

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
        day = WHOLE if forgotten else self._fading.day(at if now is None else min(at, now))
        held = self._indexes.held(group, day) if at_hand else None
        index = await self._index(group, at, day) if held is None else held
        index.is_read = True
        if limit <= 0 or not len(index):  # found out before the query is embedded: that takes longer than all the rest
            return []
        asked = Question(
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
        if asked.vector is not None and index.lacks_vectors and await self._fill(group, index, asked):
            index = await self._index(group, at, day)
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
        day = WHOLE if forgotten else self._fading.day(at)
        return (await self._index(group, at, day)).items

    async def forgotten(self, group: Group, at: WorldTime) -> dict[tuple[Kind, str], WorldTime]:
        """What of it has faded by then, by kind and id, and since when.

        Raises:
            GraphUnavailable.
        """
        items = await self.items(group, at, forgotten=True)
        faded = await self._database.read(lambda s: self._fading.faded(s, group, self._fading.day(at), ever=True))
        times = ((key_of(item), faded.forgotten_at(item)) for item in items)
        return {key: at for key, at in times if at is not None}

    async def pending_vectors(self, group: Group, at: WorldTime) -> int:
        """How many facts and episodes are to have a vector and have none; 0 where nothing embeds.

        Raises:
            GraphUnavailable.
        """
        return 0 if self._embedder is None else (await self._index(group, at, self._fading.day(at))).lacking

    async def fill_vectors(self, group: Group, at: WorldTime) -> int:
        """Make the vectors that are missing, until none is or the embedder fails; answers how many still are.

        Raises:
            GraphUnavailable.
        """
        while pending := await self.pending_vectors(group, at):
            index = await self._index(group, at, self._fading.day(at))
            if not index.space.takes(self._space) or not await self._fill(group, index, None):
                return pending
            if await self.pending_vectors(group, at) >= pending:
                return pending
        return 0

    async def reembed(self) -> Reembedded:
        """Give what another embedder has embedded the vectors of the one that is set, a person at a time. Begun again,
        it goes on where it stopped.

        Raises:
            GraphUnavailable: the embedder, or the store; what was done until then stays.
        """
        vector = (await self._vectors_of(["a"]))["a"]
        space, people, texts = VectorSpace(self._model, vector.size), 0, 0
        for group, _ in await self._embedded_otherwise(space):
            texts += await self._reembed(group, space)
            people += 1
        return Reembedded(people=people, texts=texts, space=space)

    async def _require_own_embedder(self) -> None:
        """Raises: EmbedderChanged: somebody's memory has another embedder's vectors."""
        if self._embedder is not None:
            for group, before in await self._embedded_otherwise(self._space):
                raise self._changed(group, before)

    def _changed(self, group: Group, before: VectorSpace) -> EmbedderChanged:
        return EmbedderChanged(
            backend="embedding",
            reason="another embedder",
            setting=EMBEDDER_SETTINGS,
            group_id=self.group_id(group),
            before=str(before),
            now=str(self._space),
        )

    @property
    def _space(self) -> VectorSpace:
        """Which vectors the embedder makes."""
        return NO_VECTORS if self._embedder is None else VectorSpace(self._model, self._embedder.dimensions)

    async def _embedded_otherwise(self, space: VectorSpace) -> list[tuple[Group, VectorSpace]]:
        """Whose memories have other vectors than these, and which."""
        raise NotImplementedError

    async def _reembed(self, group: Group, space: VectorSpace) -> int:
        """Replace every vector of the memory by one of `space`; answers how many texts were embedded."""
        raise NotImplementedError

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

    async def _index(self, group: Group, at: WorldTime, day: int) -> PersonIndex:
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

    async def _read(self, group: Group, at: WorldTime, day: int) -> PersonIndex:
        await asyncio.sleep(0)  # whoever asks at the same moment, in a task that is just begun, comes in time
        self._reading.pop((group, at, day), None)  # who comes later may miss something, and reads anew
        return await self._current(group, at, day)

    async def _current(self, group: Group, at: WorldTime, day: int) -> PersonIndex:
        """Read what was written since the last time into the person's index."""
        raise NotImplementedError

    def _fade(
        self, session: Session, group: Group, index: PersonIndex, day: int, now: State | None, known: State | None
    ) -> None:
        """Bring an index, whose lock is held, to that day. What our database holds is at `now` (None: nothing), and was
        `known` as far as that.
        """
        if now is None:
            index.fade(day, NOTHING)
        elif index.day < day or known is None:
            index.fade(day, self._fading.faded(session, group, day))

    async def _add_vectors(self, group: Group, vectors: Sequence[tuple[Kind, str, Vectors]]) -> None:
        """Store vectors of items that lacked them; an item that was forgotten meanwhile gets none."""
        raise NotImplementedError

    async def _fill(self, group: Group, index: PersonIndex, asked: Question | None) -> bool:
        """Give the newest of what may answer (None: of all) the vectors it lacks; whether any got one."""
        items: list[Item] = await asyncio.to_thread(index.without_vector, asked, FILL_BATCH)
        vectors = (await self._embed([text_of(item) for item in items])).vectors
        found = [(*key_of(item), vectors[text_of(item)]) for item in items if text_of(item) in vectors]
        if found:
            await self._add_vectors(group, found)
        return bool(found)

    async def _embed(self, texts: Collection[str]) -> Embedded:
        """Vectors of texts, as far as the embedder can make them."""
        wanted = list(dict.fromkeys(texts))
        if self._embedder is None or not wanted:
            return Embedded()
        try:
            vectors = await self._embedder.passages(wanted)
        except GraphUnavailable as exc:
            log.warning("%d texts are remembered without a vector for now: %s", len(wanted), exc)
            return Embedded()
        return Embedded(model=self._model, vectors=dict(zip(wanted, vectors, strict=True)))

    async def _comparable(self, index: PersonIndex, query: str) -> Vectors | None:
        """The query's vector; None where the memory's own are another embedder's."""
        if not index.space.takes(self._space):
            return None
        vector = await self._query(query)
        if vector is None or not index.space.takes(VectorSpace(self._model, vector.size)):
            return None
        return vector

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
