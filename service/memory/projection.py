"""Owns what a graph outside our database is to hold of a person's memory: what was written since it was last brought
there, and how far that is; and what becomes of what the graph's own reader finds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from service.memory.embedding.embedder import Vectors, VectorSpace
from service.memory.episodes import NOTHING, episode_of, read_episodes, read_turns
from service.memory.lexical import tokens
from service.memory.memory_store import MemoryStore
from service.memory.record import VIEWS, Embedded, Episode, Group, HeardTurn, Kind, Memory, State, memory_of, next_epoch
from service.memory.telling import one_line, plain, told_of
from service.people.worlds import WorldRepository, WorldView
from service.store.jobs import JobKind
from service.store.tables import JobRow, MemoryOwnerRow, MemoryRow, SummaryRow, VectorRow, WorldRow
from world.time import WorldTime


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """A memory as an edge of a graph: the sentence with its teller, from the entity that told it to the one it is
    about. `vector`: of its text, shape (dimensions,); None: it has none.
    """

    memory: Memory
    text: str
    source: str
    target: str
    vector: Vectors | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """What a group of the graph is to be given, to be as the memory is `now`. It is `before` there. `is_whole`: these
    are all, and what else the graph has of this memory goes. `space`: which vectors the facts have.
    """

    group: Group
    before: State
    now: State
    is_whole: bool
    facts: Sequence[Fact]
    episodes: Sequence[Episode]
    space: VectorSpace

    @property
    def is_nothing(self) -> bool:
        """The person remembers nothing."""
        return self.is_whole and not self.facts and not self.episodes


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A sentence that the graph's own reader found in an episode, between two named entities. `replaces` are the ids of
    the memories that it contradicts.
    """

    id: str
    text: str
    names: tuple[str, str]
    valid_from: WorldTime | None
    replaces: tuple[str, ...]


class Projection(Protocol):
    """A graph outside our database that holds what people remember. Every call may raise GraphUnavailable."""

    @property
    def reads_episodes(self) -> bool:
        """Whether it finds facts in summaries by itself."""

    def group_id(self, group: Group) -> str:
        """What it calls the person's memory."""

    async def write(self, changes: Changes) -> bool:
        """Bring it there; the same again changes nothing. False, where they are not whole: it is not as it was `before`
        there.
        """

    async def read(self, group: Group, episode: Episode, space: VectorSpace) -> Sequence[Found]:
        """What its reader finds in an episode that was brought there. Raises: ModelError: the same call may be made
        again.
        """

    async def check(self) -> None:
        """Whether it can be reached, and holds no group of another installation in the place of ours."""

    async def aclose(self) -> None:
        """Let go of it."""


def read_changes(session: Session, worlds: WorldRepository, group: Group, *, is_whole: bool) -> Changes | None:
    """What was written since the memory was last brought to the graph, or all of it; None: nothing."""
    owner = session.get(MemoryOwnerRow, group.key())
    if owner is None:
        return None
    now, before = State(owner.epoch, owner.revision), State(owner.projected_epoch, owner.projected_revision)
    if now == before and not is_whole:
        return None
    is_whole = is_whole or now.epoch != before.epoch
    after = -1 if is_whole else before.revision
    talks = [] if is_whole else _touched(session, group, after)
    space = VectorSpace(owner.embedder, owner.dimensions)
    written = _written(group, after, talks)
    episodes = {one.conversation_id: one for one in read_episodes(session, group, after=after)}
    if talks:
        episodes |= {one.conversation_id: one for one in read_episodes(session, group) if one.conversation_id in talks}
    return Changes(
        group=group,
        before=before,
        now=now,
        is_whole=is_whole,
        facts=_facts(session, worlds, group, written, space),
        episodes=[*episodes.values()],
        space=space,
    )


def _touched(session: Session, group: Group, after: int) -> list[str]:
    """The talks of what was written since: an episode in the graph names all facts that came of it."""
    row = MemoryRow
    of_memories = select(row.conversation_id).where(_written(group, after, ()), row.conversation_id != "")
    mine = (*group.owns(SummaryRow), col(SummaryRow.revision) > after)
    return sorted({*session.exec(of_memories), *session.exec(select(SummaryRow.conversation_id).where(*mine))})


def _written(group: Group, after: int, talks: Sequence[str]) -> ColumnElement[bool]:
    """Memories that were written, ended or given a vector since, or came of these talks."""
    row = MemoryRow
    embedded = select(VectorRow.item_id).where(*group.owns(VectorRow), col(VectorRow.revision) > after)
    which = (col(row.revision) > after) | col(row.id).in_(embedded) | col(row.conversation_id).in_(talks)
    world, person = group.owns(row)
    return world & person & which & col(row.deleted).is_(False) & col(row.kind).not_in(VIEWS)


def _facts(
    session: Session, worlds: WorldRepository, group: Group, written: ColumnElement[bool], space: VectorSpace
) -> list[Fact]:
    memories = [memory_of(row) for row in session.exec(select(MemoryRow).where(written).order_by(col(MemoryRow.id)))]
    if not memories:
        return []
    mine = (*group.owns(VectorRow), col(VectorRow.item_id).in_(select(MemoryRow.id).where(written)))
    query = select(VectorRow.item_id, VectorRow.vector).where(*mine, VectorRow.model == space.model)
    import numpy as np

    vectors = {key: np.frombuffer(packed, np.float16).astype(np.float32) for key, packed in session.exec(query)}
    world = worlds.open(session, group.world_id)
    owner = world.name_of(group.person_id)
    return [
        Fact(
            memory=one,
            text=one_line(told_of(world, one, group.person_id)),
            source=world.name_of(one.told_by) if one.told_by else owner,
            target=one.about or (world.name_of(one.subject_id) if one.subject_id else owner),
            vector=vectors.get(one.id),
        )
        for one in memories
    ]


def projected(session: Session, changes: Changes) -> None:
    """The graph has been given these; the caller commits. What was forgotten on the way is to go there too, and nobody
    waits any more for one who remembers nothing and whose world is gone.
    """
    group, now = changes.group, changes.now
    owner = session.get(MemoryOwnerRow, group.key(), with_for_update=True)
    if owner is None:
        next_epoch(session, group)
        return
    owner.projected_epoch, owner.projected_revision = now
    if changes.is_nothing and State(owner.epoch, owner.revision) == now and not session.get(WorldRow, group.world_id):
        session.delete(owner)


def held_by_graph(session: Session, world_id: str) -> list[Group]:
    """Whose memories of the world may be in the graph: also a delivery that failed may have brought some there."""
    row = MemoryOwnerRow
    begun = select(JobRow.key).where(JobRow.world_id == world_id, JobRow.kind == JobKind.DELIVERY)
    maybe = (col(row.projected_revision) >= 0) | col(row.person_id).in_(begun)
    people = session.exec(select(row.person_id).where(row.world_id == world_id, maybe))
    return [Group(world_id=world_id, person_id=one) for one in people]


def project_anew(session: Session, world_id: str) -> None:
    """All that people of the world remember is to be brought to the graph again; the caller commits."""
    for owner in session.exec(select(MemoryOwnerRow).where(MemoryOwnerRow.world_id == world_id)):
        owner.projected_epoch, owner.projected_revision = 0, -1


def undelivered(session: Session, world_id: str | None, *, reads: bool) -> list[Group]:
    """Whose memories, of a world or of all, are ahead of the graph, or have a summary that it `reads` and has not."""
    row = MemoryOwnerRow
    ahead = (col(row.projected_revision) != col(row.revision)) | (col(row.projected_epoch) != col(row.epoch))
    if reads:
        mine = (col(SummaryRow.world_id) == col(row.world_id), col(SummaryRow.person_id) == col(row.person_id))
        ahead |= select(SummaryRow.revision).where(*mine, col(SummaryRow.is_read).is_(False)).exists()
    query = select(row.world_id, row.person_id).where(ahead)
    if world_id is not None:
        query = query.where(row.world_id == world_id)
    return [Group(world_id=world, person_id=person) for world, person in session.exec(query)]


def unread(session: Session, world: WorldView, group: Group) -> Episode | None:
    """The oldest summary of the person that was not read yet; only those of characters are. The caller commits."""
    row = SummaryRow
    mine = select(row).where(*group.owns(row), col(row.is_read).is_(False))
    for one in session.exec(mine.order_by(col(row.at), col(row.conversation_id))).all():
        if one.summary and group.person_id in world.cast.characters:
            return episode_of(one)
        one.is_read = True
    return None


def adopt(
    session: Session,
    world: WorldView,
    memory: MemoryStore,
    group: Group,
    episode: Episode,
    found: Sequence[Found],
    embedded: Embedded,
) -> None:
    """Let the person remember what was found in the summary, which has been read now; the caller commits. Of a talk
    that was forgotten meanwhile nothing is remembered.
    """
    row = session.get(SummaryRow, group.key(episode.conversation_id))
    if row is None or row.is_read or row.summary != episode.text:
        return
    heard = [
        one
        for one in read_turns(session, group, NOTHING, after=row.revision - 1)
        if one.conversation_id == episode.conversation_id
    ]
    memories = [_memory(world, group, episode, one, heard) for one in found if plain(one.text)]
    row.is_read, row.revision = True, memory.remember(session, group, memories, embedded)


def _memory(world: WorldView, group: Group, episode: Episode, found: Found, heard: Iterable[HeardTurn]) -> Memory:
    """The memory of a found sentence. In a talk of two the partner told it, in a larger one nobody in particular."""
    teller = None if episode.others else episode.partner_id
    said = [one for one in heard if teller in (None, one.speaker_id)]
    about = next(
        (name for name in found.names if _person(world, name) not in (teller, group.person_id)), found.names[0]
    )
    begins = episode.at if found.valid_from is None else min(found.valid_from, episode.at)
    return Memory(
        id=found.id,
        kind=Kind.FACT,
        text=plain(found.text),
        about=about,
        subject_id=_person(world, about),
        told_by=teller,
        conversation_id=episode.conversation_id,
        turns=_likeliest(found.text, said),
        partner_id=episode.partner_id,
        valid_from=begins,
        known_from=episode.at,
        replaces=found.replaces,
    )


def _person(world: WorldView, name: str) -> str | None:
    """The id of the one who alone is called so."""
    return next((one for one in world.cast.everybody if world.own_name(one) == name), None)


def _likeliest(text: str, said: Iterable[HeardTurn]) -> tuple[int, ...]:
    """The turn that shares the most words with the text; none, where none shares any."""
    words = frozenset(tokens(text))
    shared = {one.turn: len(words & frozenset(tokens(one.text))) for one in said}
    best = max(shared, key=lambda turn: shared[turn], default=None)
    return () if best is None or not shared[best] else (best,)
