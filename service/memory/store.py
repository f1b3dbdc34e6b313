"""Owns what a person remembers for long, as values: facts, turns, episodes, insights, and whose they are.

Times are world times. A fact is true from `valid_at` until before `invalid_at`, and was known from `created_at`
until before `expired_at`. Nothing is overwritten: a fact that is replaced is closed and keeps its history.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, Protocol

from sqlalchemy import ColumnElement
from sqlmodel import Session, col

from service.memory.embedding.embedder import NO_VECTORS, Vectors, VectorSpace
from service.store.ids import derived_id
from service.store.tables import OfPerson
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

    @property
    def whose(self) -> dict[str, Any]:
        """The columns of a row of this person."""
        return {"world_id": self.world_id, "person_id": self.person_id}

    def key(self, *rest: object) -> tuple[object, ...]:
        """The primary key of a row of this person."""
        return self.world_id, self.person_id, *rest

    def owns(self, table: type[OfPerson]) -> tuple[ColumnElement[bool], ...]:
        """Of a table of people: the rows of this one."""
        return col(table.world_id) == self.world_id, col(table.person_id) == self.person_id


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
    """A conversation as a whole, as the person remembers it; known by the conversation's id. Of more than two, `others`
    were there besides the partner.
    """

    conversation_id: str
    partner_id: str
    summary: str
    topics: tuple[str, ...]
    at: WorldTime
    others: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class HeardTurn:
    """A turn of a conversation the person took part in, its own included, or `overheard`. The text is what it perceived
    of it. Of more than two, `partner_id` is with whom it had to do in that turn, and `others` were there besides.
    `later`: since when it is known, where that is not when it was said.
    """

    conversation_id: str
    turn: int
    speaker_id: str
    speaker_name: str
    text: str
    partner_id: str
    at: WorldTime
    others: tuple[str, ...] = ()
    later: WorldTime | None = None
    overheard: bool = False

    @property
    def known_since(self) -> WorldTime:
        """Since when it is known."""
        return self.at if self.later is None else self.later

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
class FactText:
    """What a fact says, and how it was told. `subject` and `object` are entity names.

    `words` are those it was said in, as they are shown; `statement` is the key by which they are found, and a fact by
    itself where it is `held`. `mode` is how they were meant, `importance` is 1 to 10. `chain` are the ids of those
    through whose hands it came: first who began it, last who told it; empty where the person said it itself. `people`
    are the ids of those whom `subject` and `object` name, as far as it is known who is meant.
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
    people: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class FactDraft(FactText):
    """A fact to be remembered. `replaces` are ids of facts it supersedes, `retells` is that of a fact which it tells
    once more. `partner_id` is with whom it had to do then (None: with the episode's partner).
    """

    replaces: tuple[str, ...] = ()
    retells: str | None = None
    partner_id: str | None = None

    def learned(self, episode: Episode) -> "Fact":
        """The fact as it is known from the episode on, in its words; of what nobody said, the statement."""
        text = {one.name: getattr(self, one.name) for one in fields(FactText)}
        return Fact(
            **{**text, "words": self.words or self.statement},
            created_at=episode.at,
            partner_id=episode.partner_id if self.partner_id is None else self.partner_id,
            conversation_id=episode.conversation_id,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact(FactText):
    """A remembered fact with its two times and its provenance (fact -> conversation -> turn). `tellings` counts how
    often it was told.
    """

    created_at: WorldTime
    partner_id: str
    conversation_id: str
    invalid_at: WorldTime | None = None
    expired_at: WorldTime | None = None
    replaced_by: str | None = None
    tellings: int = 1

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


KEPT_BY_A_HAND = 0.8
"""What is left of the confidence after each person who told it on."""
KEPT_BY_DOUBT = 0.5
"""What is left of it where the last one was joking, or only supposed it."""


def confidence(chain: Sequence[str], mode: str) -> float:
    """0..1, in hundredths: 1 for one's own words, 0.8 for what somebody told, 0.64 for what that one had from another.

    `chain` are the people through whose hands it came. Hearsay that nobody is known to have begun came through one more
    hand than is known.
    """
    hands = max(len(chain), 2) if mode == "hearsay" else len(chain)
    doubt = KEPT_BY_DOUBT if mode in ("hypothetical", "joking") else 1.0
    return round(KEPT_BY_A_HAND**hands * doubt, 2)


Item = Fact | HeardTurn | Episode | Insight


def known_since(item: Item) -> WorldTime:
    """Since when the person knows it."""
    if isinstance(item, Fact):
        return item.created_at
    return item.known_since if isinstance(item, HeardTurn) else item.at


def company(item: Item) -> tuple[str, ...]:
    """With whom it came, where there were more than the partner; of a fact whom it is about."""
    return item.people if isinstance(item, Fact) else item.others if isinstance(item, HeardTurn | Episode) else ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Recalled:
    """What a search found; `score` orders the answers of one search and means nothing beyond it. `parts` are what it
    is the sum of, by name, where something was asked.

    `bears`: it bears on what was asked, and is not only the nearest there is. `answers`: so much of what was asked
    stands around it that the memory may be said to hold an answer. Where nothing was asked, everything does both.
    """

    item: Item
    score: float
    bears: bool = True
    answers: bool = True
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
"""`MemoryStore.remember` (memory_store.py) with the vectors given."""


class Delivery(Protocol):
    """The part of a store that lies outside our database: what the outbox hands over."""

    async def deliver(self, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> None:
        """Write an episode with its facts, all or nothing. The second delivery of the same episode changes nothing.

        Closes what the facts replace, as `MemoryStore.remember` says. One delivery at a time per group.

        Raises:
            GraphUnavailable: nothing was written; the same call may be made again.
        """

    async def holds(self, group: Group, conversation_id: str) -> bool:
        """Whether the episode of that conversation was delivered to the group and is there.

        Raises:
            GraphUnavailable.
        """

    async def erase(self, group: Group, partner_id: str | None = None) -> None:
        """Remove all that was delivered to the group, or what of it came of conversations with the partner.

        Raises:
            GraphUnavailable: some may be left; the same call may be made again.
        """

    async def write(self, group: Group, facts: Sequence[Fact], episodes: Sequence[Episode]) -> None:
        """Write facts and episodes as they stand, in the place of those with their ids, without vectors.

        Raises:
            GraphUnavailable: nothing was written; the same call may be made again.
        """

    async def erase_one(self, group: Group, kind: Kind, key: str) -> None:
        """Remove a fact or an episode, if it is there.

        Raises:
            GraphUnavailable: nothing was removed; the same call may be made again.
        """


def fact_id(person_id: str, conversation_id: str, index: int) -> str:
    """The id of fact number `index` that the person took from a conversation: the same on every retry."""
    return derived_id(conversation_id, person_id, "fact", index)


def turn_key(conversation_id: str, turn: int) -> str:
    """What a turn is known by among turns: it sorts as the turns do."""
    return f"{conversation_id}/{turn:04}"
