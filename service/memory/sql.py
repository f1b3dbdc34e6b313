"""Owns the long-term memory in the service's own database: written in the closing's transaction, searched in the
process.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from sqlalchemy import insert, union
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Session, SQLModel, col, delete, select

from service.errors import GraphUnavailable
from service.memory.embedding.embedder import NO_VECTORS, Vectors, VectorSpace
from service.memory.episodes import deleted, forget_past, read_episodes, read_turns
from service.memory.index import Packed, PersonIndex, key_of, text_of
from service.memory.memory_store import MemoryStore
from service.memory.reflections import read_insights
from service.memory.revision import (
    claim_space,
    expect_vectors,
    next_epoch,
    next_revision,
    read_anew,
    set_space,
    space_of,
    state_of,
)
from service.memory.store import Embedded, Episode, Fact, FactDraft, Group, GroupDump, Item, Kind
from service.store.tables import FactRow, MemoryOwnerRow, PastSummaryRow, SummaryRow, VectorRow
from world.time import WorldTime


class SqlMemory(MemoryStore):
    """The memory store of one database, SQLite or PostgreSQL."""

    name = "sql"

    @property
    def delivery(self) -> None:
        """See MemoryStore."""

    async def embed(self, texts: Collection[str]) -> Embedded:
        """See MemoryStore."""
        return await self._embed(texts)

    def remember(
        self, session: Session, group: Group, episode: Episode, facts: Sequence[FactDraft], embedded: Embedded
    ) -> int:
        """See MemoryStore."""
        return write(session, group, episode, facts, embedded)

    def forget(self, session: Session, group: Group, partner_id: str | None = None) -> None:
        """See MemoryStore. Its episodes are its summaries: whoever forgets those next, forgets them here too."""
        facts, vectors = group.owns(FactRow), group.owns(VectorRow)
        if partner_id is not None:
            facts = (*facts, col(FactRow.partner_id) == partner_id)
            summaries = (*group.owns(SummaryRow), col(SummaryRow.partner_id) == partner_id)
            past = (*group.owns(PastSummaryRow), col(PastSummaryRow.partner_id) == partner_id)
            gone = union(
                select(FactRow.id).where(*facts),
                select(SummaryRow.conversation_id).where(*summaries),
                select(PastSummaryRow.conversation_id).where(*past),
            )
            vectors = (*vectors, col(VectorRow.item_id).in_(gone))
        session.execute(delete(VectorRow).where(*vectors))
        session.execute(delete(FactRow).where(*facts))
        forget_past(session, group, partner_id)
        read_anew(session, group)
        if partner_id is None and space_of(session, group) != NO_VECTORS:
            set_space(session, group, NO_VECTORS)

    def add(self, session: Session, group: Group, facts: Sequence[Fact], episodes: Sequence[Episode]) -> int:
        """See MemoryStore."""
        revision = next_revision(session, group)
        for table, rows in (
            (FactRow, [_fact_row(group, fact, revision) for fact in facts]),
            (PastSummaryRow, [_summary_row(group, episode, revision) for episode in episodes]),
        ):
            if rows:
                session.execute(insert(SQLModel.metadata.tables[str(table.__tablename__)]), rows)
        if facts or episodes:
            expect_vectors(session, group)
        return revision

    def replace(self, session: Session, group: Group, item: Fact | Episode) -> None:
        """See MemoryStore. The summary of a talk that was held here is not written: the caller sees to that row."""
        revision = next_epoch(session, group)
        kind, key = key_of(item)
        _drop_vectors(session, group, kind, key)
        if isinstance(item, Fact):
            session.merge(FactRow(**_fact_row(group, item, revision)))
        elif session.get(PastSummaryRow, group.key(key)) is not None:
            session.merge(PastSummaryRow(**_summary_row(group, item, revision)))
        expect_vectors(session, group)

    def remove(self, session: Session, group: Group, kind: Kind, key: str) -> None:
        """See MemoryStore. The summary of a talk that was held here is not touched: the caller sees to that row."""
        next_epoch(session, group)
        _drop_vectors(session, group, kind, key)
        table: type[FactRow | PastSummaryRow] = FactRow if kind is Kind.FACT else PastSummaryRow
        row = session.get(table, group.key(key))
        if row is not None:
            session.delete(row)

    async def export(self, group: Group) -> GroupDump:
        """See MemoryStore."""
        return await self._database.read(
            lambda s: GroupDump(
                episodes=tuple(read_episodes(s, group)),
                facts=tuple(sorted(_read_facts(s, group), key=lambda one: one.told)),
            )
        )

    async def check(self) -> None:
        """See MemoryStore."""
        try:
            await self._database.read(lambda s: s.exec(select(MemoryOwnerRow.world_id).limit(1)).first())
        except SQLAlchemyError as exc:
            raise GraphUnavailable(
                backend=self.name, reason=type(exc).__name__, setting="KATARIBE_DATABASE_URL"
            ) from exc
        await self._require_own_embedder()

    async def _current(self, group: Group, at: WorldTime, day: int) -> PersonIndex:
        """See MemoryStore."""
        index = self._indexes.get(group, day)
        await self._database.read(lambda s: self._catch_up(s, group, index, day))
        self._indexes.shrink(group)
        return index

    async def _embedded_otherwise(self, space: VectorSpace) -> list[tuple[Group, VectorSpace]]:
        """See MemoryStore."""
        return await self._database.read(lambda s: _embedded_otherwise(s, space))

    async def _reembed(self, group: Group, space: VectorSpace) -> int:
        """See MemoryStore."""
        dump = await self.export(group)
        items: list[Item] = [*dump.episodes, *dump.facts]
        vectors = await self._vectors_of([text_of(item) for item in items])
        rows = [(*key_of(item), vectors[text_of(item)]) for item in items]
        await self._database.write(lambda s: _replace(s, group, space, rows))
        return len(rows)

    async def _add_vectors(self, group: Group, vectors: Sequence[tuple[Kind, str, Vectors]]) -> None:
        """See MemoryStore."""
        await self._database.write(lambda s: _fill_in(s, group, self._model, vectors))

    def _catch_up(self, session: Session, group: Group, index: PersonIndex, day: int) -> None:
        """Read what was written since the last time.

        The state is read before the rows: what another transaction adds in between is read twice, and never missed.
        """
        with index.lock:
            now = state_of(session, group)
            index.known(self.name, now)
            self._fade(session, group, index, day, now, index.states.get(self.name))
            known = index.states.get(self.name)
            if now is None or now == known:
                return
            after = -1 if known is None else known.revision
            index.bar(deleted(session, group))
            index.take(_read_facts(session, group, after=after))
            index.take(read_episodes(session, group, after=after))
            index.take(read_turns(session, group, index.faded, after=after))
            index.take(read_insights(session, group, after=after))
            index.take_vectors(_read_vectors(session, group, self._model, after))
            index.space = space_of(session, group)
            index.states[self.name] = now


def write(session: Session, group: Group, episode: Episode, facts: Sequence[FactDraft], embedded: Embedded) -> int:
    """Write facts and vectors of an episode, and close what they replace; the caller commits. Answers the revision."""
    revision = next_revision(session, group)
    facts = [draft for draft in facts if not _is_retold(session, group, draft, revision)]
    session.add_all(FactRow(**_fact_row(group, draft.learned(episode), revision)) for draft in facts)
    session.flush()
    for draft in facts:
        for replaced in draft.replaces:
            _close(session, group, replaced, draft, episode.at, revision)
    texts = [(Kind.SUMMARY, episode.conversation_id, episode.summary)]
    texts += [(Kind.FACT, draft.id, draft.statement) for draft in facts]
    vectors = [(kind, key, embedded.vectors[text]) for kind, key, text in texts if text in embedded.vectors]
    if vectors and claim_space(session, group, embedded.space):
        session.add_all(_vector_row(group, *one, embedded.model, revision) for one in vectors)
    return revision


def _fact_row(group: Group, fact: Fact, revision: int) -> dict[str, Any]:
    lists = {"chain": list(fact.chain), "people": list(fact.people)}
    return {**asdict(fact), **lists, **group.whose, "revision": revision}


def _summary_row(group: Group, episode: Episode, revision: int) -> dict[str, Any]:
    columns = asdict(episode)
    del columns["others"]  # a talk that was given is one of two
    return {**columns, "topics": list(episode.topics), **group.whose, "revision": revision}


def _drop_vectors(session: Session, group: Group, kind: Kind, key: str) -> None:
    session.execute(
        delete(VectorRow).where(
            *group.owns(VectorRow), col(VectorRow.kind) == kind.value, col(VectorRow.item_id) == key
        )
    )


def _is_retold(session: Session, group: Group, draft: FactDraft, revision: int) -> bool:
    """Count the telling where the fact that was told again is still open."""
    old = None if draft.retells is None else session.get(FactRow, group.key(draft.retells))
    if old is None or old.invalid_at is not None:
        return False
    old.tellings, old.revision = old.tellings + 1, revision
    return True


def _close(session: Session, group: Group, replaced: str, by: FactDraft, at: WorldTime, revision: int) -> None:
    """An episode may arrive after a later one: neither time ever runs backwards for that."""
    old = session.get(FactRow, group.key(replaced))
    if old is None or old.id == by.id or old.invalid_at is not None or old.expired_at is not None:
        return
    old.invalid_at, old.expired_at = max(old.valid_at, by.valid_at), max(old.created_at, at)
    old.replaced_by, old.revision = by.id, revision


def _fill_in(session: Session, group: Group, model: str, rows: Sequence[tuple[Kind, str, Vectors]]) -> None:
    """Write vectors that were missing; what was forgotten meanwhile gets none."""
    revision = next_revision(session, group)
    if claim_space(session, group, VectorSpace(model, rows[0][2].size)):
        _put_vectors(session, group, model, rows, revision)


def _replace(session: Session, group: Group, space: VectorSpace, rows: Sequence[tuple[Kind, str, Vectors]]) -> None:
    """These vectors, in the place of all that the memory has."""
    revision = next_epoch(session, group)
    set_space(session, group, space)
    session.execute(delete(VectorRow).where(*group.owns(VectorRow)))
    _put_vectors(session, group, space.model, rows, revision)


def _put_vectors(
    session: Session, group: Group, model: str, rows: Sequence[tuple[Kind, str, Vectors]], revision: int
) -> None:
    for kind, key, vector in rows:
        tables: tuple[type[SQLModel], ...] = (FactRow,) if kind is Kind.FACT else (SummaryRow, PastSummaryRow)
        if any(session.get(table, group.key(key)) is not None for table in tables):
            session.merge(_vector_row(group, kind, key, vector, model, revision))


def _embedded_otherwise(session: Session, space: VectorSpace) -> list[tuple[Group, VectorSpace]]:
    row = MemoryOwnerRow
    query = select(row.world_id, row.person_id, row.embedder, row.dimensions).where(
        col(row.embedder) != "", (col(row.embedder) != space.model) | (col(row.dimensions) != space.dimensions)
    )
    found = [(Group(world_id=w, person_id=p), VectorSpace(e, d)) for w, p, e, d in session.exec(query)]
    return [(group, had) for group, had in found if not had.takes(space)]


def _vector_row(group: Group, kind: Kind, key: str, vector: Vectors, model: str, revision: int) -> VectorRow:
    """Half precision: the error is far below what tells two statements apart, and it takes half the room."""
    return VectorRow(
        **group.whose,
        kind=kind.value,
        item_id=key,
        model=model,
        vector=vector.astype(np.float16).tobytes(),
        revision=revision,
    )


def _read_facts(session: Session, group: Group, *, after: int = -1) -> list[Fact]:
    """Those written or closed after that revision."""
    query = select(*(col(getattr(FactRow, name)) for name in _FACT_FIELDS)).where(
        *group.owns(FactRow), FactRow.revision > after
    )
    return [
        Fact(**{**row._mapping, "chain": tuple(row.chain), "people": tuple(row.people)})
        for row in session.execute(query)
    ]


def _read_vectors(session: Session, group: Group, model: str, after: int) -> list[Packed]:
    query = select(VectorRow.kind, VectorRow.item_id, VectorRow.vector).where(
        *group.owns(VectorRow),
        VectorRow.model == model,
        VectorRow.revision > after,
    )
    return [(Kind(kind), key, vector) for kind, key, vector in session.exec(query)]


_FACT_FIELDS = tuple(one.name for one in fields(Fact))
