"""Owns recall for every store: what is held of a person's memory is brought up to date, given its vectors, and
ranked.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlmodel import Session

from service.errors import EmbedderChanged, KataribeError
from service.memory.embedding.embedder import NO_VECTORS, Embedder, Vectors, VectorSpace
from service.memory.fading import NEVER, WHOLE, Fading
from service.memory.index import IndexCache, OtherDay, PersonIndex, Question, key_of, text_of
from service.memory.store import FACTS, Embedded, Group, Item, Kind, Recalled
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


class IndexedMemory:
    """The common part of the stores.

    Vectors are made outside of any transaction. Where the embedder fails, nothing is lost: what is remembered is
    written without, found by its words, and given its vectors by a later recall, `FILL_BATCH` a time. A memory whose
    vectors another embedder made gets none of this one's, and is searched by words alone, until it is embedded anew.
    """

    def __init__(
        self, database: Database, embedder: Embedder | None, indexes: IndexCache | None, fading: Fading = NEVER
    ) -> None:
        self._database = database
        self._fading = fading
        self._embedder = embedder
        self._model = "" if embedder is None else embedder.name
        self._indexes = indexes or IndexCache()
        self._reading: dict[tuple[Group, WorldTime, int], asyncio.Task[PersonIndex]] = {}
        self._asking: dict[str, asyncio.Task[Vectors | None]] = {}
        self._asked: dict[str, Vectors] = {}

    @property
    def embeds(self) -> bool:
        """See MemoryStore."""
        return self._embedder is not None

    def group_id(self, group: Group) -> str:
        """See MemoryStore."""
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
        """See MemoryStore. Where the embedder fails, words alone are searched."""
        day = WHOLE if forgotten else self._fading.day(at if now is None else min(at, now))
        held = self._indexes.held(group, kinds, day) if at_hand else None
        index = await self._index(group, at, day) if held is None else held
        index.has_read |= set(kinds)
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
        """See MemoryStore."""
        day = WHOLE if forgotten else self._fading.day(at)
        return (await self._index(group, at, day)).items

    async def forgotten(self, group: Group, at: WorldTime) -> dict[tuple[Kind, str], WorldTime]:
        """See MemoryStore."""
        items = await self.items(group, at, forgotten=True)
        faded = await self._database.read(lambda s: self._fading.faded(s, group, self._fading.day(at), ever=True))
        times = ((key_of(item), faded.forgotten_at(item)) for item in items)
        return {key: at for key, at in times if at is not None}

    async def pending_vectors(self, group: Group, at: WorldTime) -> int:
        """See MemoryStore."""
        return 0 if self._embedder is None else (await self._index(group, at, self._fading.day(at))).lacking

    async def fill_vectors(self, group: Group, at: WorldTime) -> int:
        """See MemoryStore. A memory that has another embedder's vectors gets none of this one's."""
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
        return await asyncio.shield(reading)

    async def _read(self, group: Group, at: WorldTime, day: int) -> PersonIndex:
        await asyncio.sleep(0)  # whoever asks at the same moment, in a task that is just begun, comes in time
        self._reading.pop((group, at, day), None)  # who comes later may miss something, and reads anew
        return await self._current(group, at, day)

    async def _current(self, group: Group, at: WorldTime, day: int) -> PersonIndex:
        """Read what was written since the last time into the person's index."""
        raise NotImplementedError

    def _fade(self, session: Session, group: Group, index: PersonIndex, day: int) -> None:
        """Bring an index, whose lock is held, to that day."""
        if index.day < day:
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
        except KataribeError as exc:
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
            return self._asked[query]
        asking = self._asking.get(query)
        if asking is None or asking.get_loop() is not asyncio.get_running_loop():
            asking = self._asking[query] = asyncio.create_task(self._embed_query(self._embedder, query))
            asking.add_done_callback(lambda _: self._asking.pop(query, None))
        return await asyncio.shield(asking)

    async def _embed_query(self, embedder: Embedder, query: str) -> Vectors | None:
        try:
            vector: Vectors = (await embedder.query(query))[0]
        except KataribeError as exc:
            log.warning("recall by words alone: %s", exc)
            return None
        self._asked[query] = vector
        if len(self._asked) > QUERIES_KEPT:
            del self._asked[next(iter(self._asked))]
        return vector
