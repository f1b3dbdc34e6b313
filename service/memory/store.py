"""Owns the contract of the long-term memory: what a person remembers, and what a store of memories can do.

Times are world times. A fact is true from `valid_at` until before `invalid_at`, and was known from `created_at`
until before `expired_at`. Nothing is overwritten: a fact that is replaced is closed and keeps its history.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol

from sqlmodel import Session

from service.memory.embedding.embedder import NO_VECTORS, Vectors, VectorSpace
from service.memory.hands import confidence
from service.store.ids import derived_id
from world.time import WorldTime


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Group:
    """Whose memory: one person of one world."""

    world_id: str
    person_id: str

    @property
    def id(self) -> str:
        """``world--person``: ASCII ``[A-Za-z0-9_-]+``, unique because ids hold no ``--``."""
        return f"{self.world_id}--{self.person_id}"


class Kind(StrEnum):
    """What can be remembered."""

    FACT = "fact"
    TURN = "turn"
    SUMMARY = "summary"
    INSIGHT = "insight"

    @property
    def has_vector(self) -> bool:
        """Whether it is embedded; what is not is found by its words alone."""
        return self in (Kind.FACT, Kind.SUMMARY)


FACTS = frozenset({Kind.FACT})

DEFAULT_IMPORTANCE = 5
"""Of 1 to 10, where nobody has judged it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """A conversation as a whole, as the person remembers it; known by the conversation's id."""

    conversation_id: str
    partner_id: str
    summary: str
    topics: tuple[str, ...]
    at: WorldTime


@dataclass(frozen=True, kw_only=True, slots=True)
class HeardTurn:
    """A turn of a conversation the person took part in, its own included."""

    conversation_id: str
    turn: int
    speaker_id: str
    speaker_name: str
    text: str
    partner_id: str
    at: WorldTime

    @property
    def key(self) -> str:
        """What it is known by among turns."""
        return turn_key(self.conversation_id, self.turn)


@dataclass(frozen=True, kw_only=True, slots=True)
class Insight:
    """What the person has come to think: a model's conclusion, never a fact. `evidence` refers to what it was drawn
    from (``talk:…``, ``fact:…``); it is known from `at`. It came of no one partner and no one conversation ("").
    """

    id: str
    text: str
    evidence: tuple[str, ...]
    importance: int
    at: WorldTime
    partner_id: ClassVar[str] = ""
    conversation_id: ClassVar[str] = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class FactDraft:
    """A fact to be remembered. `subject` and `object` are entity names; `replaces` are ids of facts it supersedes,
    `retells` is that of a fact which it tells once more.

    `words` are those it was said in, as they are shown; `statement` is the key by which they are found, and a fact by
    itself where it is `held`. `mode` is how they were meant, `importance` is 1 to 10. `chain` are the ids of those
    through whose hands it came: first who began it, last who told it; empty where the person said it itself.
    """

    id: str
    subject: str
    relation: str
    object: str
    statement: str
    turn: int | None
    valid_at: WorldTime
    words: str = ""
    mode: str = "asserted"
    importance: int = DEFAULT_IMPORTANCE
    held: bool = False
    chain: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    retells: str | None = None

    @property
    def rendered(self) -> str:
        """The words; of what nobody said, the statement."""
        return self.words or self.statement


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """A remembered fact with its two times and its provenance (fact -> conversation -> turn).

    `words`, `statement`, `held`, `mode`, `importance` and `chain` are those of its draft; `tellings` counts how often
    it was told.
    """

    id: str
    subject: str
    relation: str
    object: str
    statement: str
    valid_at: WorldTime
    invalid_at: WorldTime | None
    created_at: WorldTime
    expired_at: WorldTime | None
    replaced_by: str | None
    partner_id: str
    conversation_id: str
    turn: int | None
    words: str = ""
    held: bool = False
    mode: str = "asserted"
    importance: int = DEFAULT_IMPORTANCE
    tellings: int = 1
    chain: tuple[str, ...] = ()

    @property
    def heard_from(self) -> str | None:
        """Who told it; None where the person said it itself, or nobody knows."""
        return self.chain[-1] if self.chain else None

    @property
    def confidence(self) -> float:
        """How far it may be relied on, 0..1: less with each hand through which it came."""
        return confidence(self.chain, self.mode)

    @property
    def shown(self) -> str:
        """What may be said of it: the statement where it is held, else the words."""
        return self.statement if self.held or not self.words else self.words

    @property
    def told(self) -> tuple[WorldTime, WorldTime, int, str]:
        """What facts are sorted by to stand in the order in which they were told."""
        return self.created_at, self.valid_at, self.turn or 0, self.id

    def known_at(self, t: WorldTime) -> bool:
        """Whether it was held true at world time `t`, by what was known at `t`.

        When a fact is closed, its end (`invalid_at`) is learned at `expired_at`: before that nobody knew of it, and the
        fact was held true, even if it was over by then.
        """
        if not (self.created_at <= t and self.valid_at <= t):
            return False
        if self.expired_at is not None:
            return t < self.expired_at
        return self.invalid_at is None or t < self.invalid_at


Item = Fact | HeardTurn | Episode | Insight


@dataclass(frozen=True, kw_only=True, slots=True)
class Recalled:
    """What a search found; `score` orders the answers of one search and means nothing beyond it. `parts` are what it
    is the sum of, by name, where something was asked.

    `bears`: it bears on what was asked, and is not only the nearest there is. Where nothing was asked, everything does.
    """

    item: Item
    score: float
    bears: bool = True
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def fact(self) -> Fact:
        """The item of a search for facts.

        Raises:
            TypeError: it is none.
        """
        if isinstance(self.item, Fact):
            return self.item
        raise TypeError(f"{type(self.item).__name__} is no fact")

    @property
    def turn(self) -> HeardTurn:
        """The item of a search for turns.

        Raises:
            TypeError: it is none.
        """
        if isinstance(self.item, HeardTurn):
            return self.item
        raise TypeError(f"{type(self.item).__name__} is no turn")


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """Vectors of texts, shape (dimensions,) each, made by `model`; a text that could not be embedded is missing."""

    model: str = ""
    vectors: Mapping[str, Vectors] = field(default_factory=dict)

    @property
    def space(self) -> VectorSpace:
        """Which vectors these are."""
        return VectorSpace(self.model, next(iter(self.vectors.values())).size) if self.vectors else NO_VECTORS


@dataclass(frozen=True, kw_only=True)
class GroupDump:
    """All that a person remembers for long."""

    episodes: tuple[Episode, ...]
    facts: tuple[Fact, ...]


Remember = Callable[[Session, Group, Episode, Sequence[FactDraft]], int]
"""`MemoryStore.remember` with the vectors given."""


class Delivery(Protocol):
    """The part of a store that lies outside our database: what the outbox hands over."""

    async def deliver(self, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> None:
        """Write an episode with its facts, all or nothing. The second delivery of the same episode changes nothing.

        Closes what the facts replace, as `MemoryStore.remember` says. One delivery at a time per group.

        Raises:
            GraphUnavailable: nothing was written; the same call may be made again.
        """
        ...

    async def holds(self, group: Group, conversation_id: str) -> bool:
        """Whether the episode of that conversation was delivered to the group and is there.

        Raises:
            GraphUnavailable.
        """
        ...

    async def erase(self, group: Group, partner_id: str | None = None) -> None:
        """Remove all that was delivered to the group, or what of it came of conversations with the partner.

        Raises:
            GraphUnavailable: some may be left; the same call may be made again.
        """
        ...

    async def write(self, group: Group, facts: Sequence[Fact], episodes: Sequence[Episode]) -> None:
        """Write facts and episodes as they stand, in the place of those with their ids, without vectors.

        Raises:
            GraphUnavailable: nothing was written; the same call may be made again.
        """
        ...

    async def erase_one(self, group: Group, kind: Kind, key: str) -> None:
        """Remove a fact or an episode, if it is there.

        Raises:
            GraphUnavailable: nothing was removed; the same call may be made again.
        """
        ...


class MemoryStore(Protocol):
    """Where people's long-term memory lives. Every implementation passes tests/memory/contract.py."""

    @property
    def name(self) -> str:
        """``sql`` or ``graphiti``."""
        ...

    @property
    def delivery(self) -> Delivery | None:
        """Who takes what `remember` and `forget` leave in the outbox; None: they leave nothing there."""
        ...

    @property
    def embeds(self) -> bool:
        """Whether it makes vectors; else all is found by words alone."""
        ...

    def group_id(self, group: Group) -> str:
        """What the store calls the group."""
        ...

    async def embed(self, texts: Collection[str]) -> Embedded:
        """Vectors for `remember`, made before its transaction. Where they cannot be made, a later recall makes them."""
        ...

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
        ...

    def forget(self, session: Session, group: Group, partner_id: str | None = None) -> None:
        """Remove all facts and episodes of the person in the caller's transaction; with `partner_id` only those that
        came of its conversations with that one.
        """
        ...

    def add(self, session: Session, group: Group, facts: Sequence[Fact], episodes: Sequence[Episode]) -> int:
        """Write facts and episodes that the person does not hold yet, as they stand, in the caller's transaction.
        Answers the memory's revision. They are found by their words at once; `fill_vectors` makes their vectors.
        """
        ...

    def replace(self, session: Session, group: Group, item: "Fact | Episode") -> None:
        """Write the item in the place of the one with its id, in the caller's transaction. Who holds the memory in mind
        reads it anew.
        """
        ...

    def remove(self, session: Session, group: Group, kind: Kind, key: str) -> None:
        """Remove a fact or an episode in the caller's transaction. Who holds the memory in mind reads it anew."""
        ...

    async def items(self, group: Group, at: WorldTime, *, forgotten: bool = False) -> list[Item]:
        """All that the person holds, of every kind and time, what has ended too; in no order. `at`: the world's clock.
        What has faded only where `forgotten` asks for it.

        Raises:
            GraphUnavailable.
        """
        ...

    async def forgotten(self, group: Group, at: WorldTime) -> dict[tuple[Kind, str], WorldTime]:
        """What of it has faded by then, by kind and id, and since when.

        Raises:
            GraphUnavailable.
        """
        ...

    async def pending_vectors(self, group: Group, at: WorldTime) -> int:
        """How many facts and episodes are to have a vector and have none; 0 where nothing embeds.

        Raises:
            GraphUnavailable.
        """
        ...

    async def fill_vectors(self, group: Group, at: WorldTime) -> int:
        """Make the vectors that are missing, until none is or the embedder fails; answers how many still are.

        Raises:
            GraphUnavailable.
        """
        ...

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
        `about` names an entity and `partner_id` a person: what touches the entity or was heard from the
        person; with both, either suffices. What they choose all answers; without either, an answer shares something
        with the query, or stands beside what does. A turn that facts were taken from does not answer beside them. An
        empty query orders by nearness to `about`, then newest first.

        `at_hand`: at once, by words, from what this process has read of the memory already; where it has read nothing,
        it reads. Neither the store nor the embedder is asked, which takes longer than all the rest.

        What has faded by the world day of `at` does not answer, unless `forgotten` asks for it. `now` is the world's
        clock where it may show less than `at`: nothing has faded that will.

        Raises:
            GraphUnavailable.
        """
        ...

    async def export(self, group: Group) -> GroupDump:
        """All that the person remembers, oldest first.

        Raises:
            GraphUnavailable.
        """
        ...

    async def check(self) -> None:
        """Raises: GraphUnavailable: with the setting to look at; as MemoryOfAnother, where the memory of somebody in
        a world of ours was written by another installation, and as EmbedderChanged, where it has vectors of another
        embedder than the one that is set.
        """
        ...

    async def aclose(self) -> None:
        """Release what is held."""
        ...


def fact_id(person_id: str, conversation_id: str, index: int) -> str:
    """The id of fact number `index` that the person took from a conversation: the same on every retry."""
    return derived_id(conversation_id, person_id, "fact", index)


def turn_key(conversation_id: str, turn: int) -> str:
    """What a turn is known by among turns: it sorts as the turns do."""
    return f"{conversation_id}/{turn:04}"
