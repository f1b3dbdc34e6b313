"""Owns what a person remembers: memories, turns and episodes as values, whose they are, and the row of the person that
remembers them, which is the lock of every write and counts revision and epoch.

Times are world times. Nothing is overwritten: a memory that is replaced is ended and keeps its history.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from sqlalchemy import ColumnElement, bindparam
from sqlmodel import Session, col, select

from service.content.profile import Importance
from service.memory.embedding.embedder import NO_VECTORS, Vectors, VectorSpace
from service.memory.lexical import normal
from service.store.ids import derived_id
from service.store.jobs import JobKind, enqueue
from service.store.memory_owner import count_up, deliver, new_epoch
from service.store.tables import JobKey, MemoryOwnerRow, MemoryRow, OfPerson
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

    def job(self, kind: JobKind) -> JobKey:
        """What is to be done with all of the memory."""
        return JobKey(self.world_id, kind, self.person_id)

    def owns(self, table: type[OfPerson]) -> tuple[ColumnElement[bool], ...]:
        """The condition that a row is this person's."""
        return col(table.world_id) == self.world_id, col(table.person_id) == self.person_id


class Kind(StrEnum):
    """What can be remembered. A turn and a summary are views of conversations; of a past that was given they are rows
    like all others.
    """

    FACT = "fact"
    OBSERVED = "observed"
    SELF = "self"
    INSIGHT = "insight"
    MID_TERM = "mid_term"
    TURN = "turn"
    SUMMARY = "summary"


_EMBEDDED = (Kind.FACT, Kind.OBSERVED, Kind.SELF, Kind.SUMMARY)
FACTS = frozenset({Kind.FACT, Kind.OBSERVED})
"""What a person knows of others and of the world."""
VIEWS = frozenset({Kind.TURN, Kind.SUMMARY})


def has_vector(item: "Item") -> bool:
    """Whether it is embedded; the others are found by their words alone. For a turn of a talk that was held its
    memories are embedded.
    """
    return item.given if isinstance(item, HeardTurn) else item.kind in _EMBEDDED


ANYBODY = "*"
"""It is kept from anybody but who told it and who was told."""

DEFAULT_IMPORTANCE = 5
"""Of 1 to 10, where nobody has judged it."""


KEPT_BY_A_HAND = 0.8
"""What is left of the confidence after each person who told it on."""
KEPT_BY_DOUBT = 0.5
"""What is left of it where it was joking, only supposed, or not found said."""


class Mode(StrEnum):
    """How something that was said was meant."""

    STATED = "stated"
    PLANNED = "planned"
    SUPPOSED = "supposed"
    JOKING = "joking"


class Source(StrEnum):
    """What a memory came of."""

    CONVERSATION = "conversation"
    OBSERVATION = "observation"
    SEED = "seed"
    AUTHOR = "author"
    IMPORT = "import"
    REFLECTION = "reflection"
    PROMISE = "promise"
    GOAL = "goal"


class Support(StrEnum):
    """What a memory rests on. An author's word and what was perceived stand bare; whatever was told is told with its
    teller: as a model wrote it, as a second call confirmed it, or as that call did not find it said.
    """

    AUTHOR = "author"
    PERCEIVED = "perceived"
    VERIFIED = "verified"
    MODEL = "model"
    UNSURE = "unsure"

    @property
    def strength(self) -> int:
        """A memory is ended only by one that is at least as strong: 3 author, 2 perceived, 1 told."""
        return {Support.AUTHOR: 3, Support.PERCEIVED: 2}.get(self, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class OfTalk:
    """What a person remembers of a conversation, word for word or as a whole. Of more than two, `others` were there
    besides the partner. `kept_from` as of a memory.
    """

    conversation_id: str
    """id of the conversation"""
    partner_id: str
    """id of the one spoken with"""
    text: str
    at: WorldTime
    """the world time of the conversation"""
    others: tuple[str, ...] = ()
    kept_from: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode(OfTalk):
    """A conversation as a whole; known by the conversation's id. `support`: what its sentences rest on."""

    kind: ClassVar[Kind] = Kind.SUMMARY

    topics: tuple[str, ...]
    support: Support = Support.MODEL

    @property
    def id(self) -> str:
        """What it is known by among summaries."""
        return self.conversation_id

    @property
    def known_from(self) -> WorldTime:
        """Since when it is known."""
        return self.at


@dataclass(frozen=True, kw_only=True, slots=True)
class HeardTurn(OfTalk):
    """A turn of a conversation the person took part in, its own included, or `overheard`. The text is what it perceived
    of it, and `at` when it was said. Of more than two, `partner_id` is with whom it had to do in that turn.
    `later`: since when it is known, where that is not when it was said. `given`: it is of a past that was given, of
    which no closing made memories. `retold`: the person took memories from its talk, which speak for it.
    """

    kind: ClassVar[Kind] = Kind.TURN

    turn: int
    speaker_id: str
    speaker_name: str
    later: WorldTime | None = None
    overheard: bool = False
    given: bool = False
    retold: bool = False

    @property
    def known_from(self) -> WorldTime:
        """Since when it is known."""
        return self.at if self.later is None else self.later

    @property
    def id(self) -> str:
        """What it is known by among turns."""
        return turn_key(self.conversation_id, self.turn)


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Something that a person remembers, in one sentence that names whom it is about.

    `text` is the bare clause; the code writes its teller before it (telling.py). `about` names whom or what it is about
    ("": nobody), `subject_id` is that person's id. `told_by` is who said it (None: nobody, or several together), `via`
    are those through whose hands it came to the teller, who began it first: ids, or names of whom the world has not.
    `mode` is how it was meant,
    `quote` a line worth keeping in its own voice. With `slot`, what it is about has one value of that name at a time
    ("place", "employer"). `importance` is 1 to 10. `turns` (of `conversation_id`) or `evidence` (references, see
    telling.py) are what it was drawn from. `partner_id` is with whom it had to do ("": nobody). Of what was told in
    confidence `kept_from` are the ids of those who must not hear it, `ANYBODY` all but the two.

    It is true from `valid_from` until before `valid_to`, known from `known_from`; its end is known from `known_until`.
    `replaced_by` is the memory that ended it. `expires_at`, and `level`, are of what affects the next days. `replaces`
    are the ids of what it is meant to end: they are not stored.
    """

    id: str
    kind: Kind
    text: str
    valid_from: WorldTime
    known_from: WorldTime
    about: str = ""
    subject_id: str | None = None
    told_by: str | None = None
    via: tuple[str, ...] = ()
    mode: Mode = Mode.STATED
    quote: str = ""
    importance: int = DEFAULT_IMPORTANCE
    slot: str = ""
    support: Support = Support.MODEL
    source: Source = Source.CONVERSATION
    conversation_id: str = ""
    turns: tuple[int, ...] = ()
    evidence: tuple[str, ...] = ()
    partner_id: str = ""
    kept_from: tuple[str, ...] = ()
    valid_to: WorldTime | None = None
    known_until: WorldTime | None = None
    replaced_by: str | None = None
    expires_at: WorldTime | None = None
    level: Importance | None = None
    replaces: tuple[str, ...] = ()

    @property
    def turn(self) -> int | None:
        """The first turn it was drawn from; None: it came of none."""
        return self.turns[0] if self.turns else None

    @property
    def is_bare(self) -> bool:
        """Whether it may be stated by itself: an author wrote it, or the person perceived it."""
        return self.support.strength > 1

    @property
    def others(self) -> tuple[str, ...]:
        """The ids of those it is about or came from."""
        return tuple(one for one in (self.subject_id, self.told_by, *self.via) if one)

    @property
    def confidence(self) -> float:
        """How far it may be relied on, 0..1 in hundredths: 1 for what was perceived, 0.8 for what somebody told, 0.64
        for what that one had from another.
        """
        hands = 0 if self.is_bare or self.kind is Kind.SELF else 1 + len(self.via)
        doubt = self.mode in (Mode.SUPPOSED, Mode.JOKING) or self.support is Support.UNSURE
        return round(KEPT_BY_A_HAND**hands * (KEPT_BY_DOUBT if doubt else 1.0), 2)

    @property
    def ends(self) -> WorldTime | None:
        """When it is true no longer, or over; None: no end is known."""
        return min((end for end in (self.valid_to, self.expires_at) if end is not None), default=None)

    def known_at(self, t: WorldTime) -> bool:
        """Whether it was held true at world time `t`, by what was known at `t`.

        When a memory is ended, its end (`valid_to`) is learned at `known_until`: before that nobody knew of it, and it
        was held true, even if it was over by then.
        """
        if not (self.known_from <= t and self.valid_from <= t):
            return False
        if self.known_until is not None:
            return t < self.known_until
        return self.ends is None or t < self.ends

    def may_end(self, other: "Memory") -> bool:
        """Whether it is strong enough to end the other: stronger, or as strong and, where both were told, told by the
        same. A plan, a supposition or a joke ends nothing that was stated.
        """
        if self.mode is not Mode.STATED and other.mode is not self.mode:
            return False
        mine, its = self.support.strength, other.support.strength
        return mine > its or (mine == its and (mine > 1 or self.told_by == other.told_by))


Item = Memory | HeardTurn | Episode
"""It is known by its `kind` and `id`, `text` is what it says and what is embedded, `known_from` since when it is known;
`others` are with whom it came besides the partner, or whom it is about and who told it.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recalled:
    """What a search found; `score` orders the answers of one search and means nothing beyond it. `parts` are what it
    is the sum of, by name, where something was asked.

    `bears`: it bears on what was asked, and is not only the nearest there is. `answers`: so much of what was asked
    stands around it that the memory may be said to hold an answer. Where nothing was asked, everything does both.
    """

    item: Item
    score: float
    """how well it fits what was asked; orders the answers of one search, and means nothing beyond it"""
    bears: bool = True
    """it bears on what was asked, and is not only the nearest there is"""
    answers: bool = True
    parts: Mapping[str, float] = field(default_factory=dict)
    beside: "HeardTurn | None" = None
    """of a turn the question that it answers, or the answer to it; None: it is neither"""

    @property
    def memory(self) -> Memory:
        """The item of a search for memories.

        Raises:
            TypeError: it is none.
        """
        if isinstance(self.item, Memory):
            return self.item
        raise TypeError(f"{type(self.item).__name__} is no memory")


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
    memories: tuple[Memory, ...]


Remember = Callable[[Session, Group, Sequence[Memory]], int]
"""`MemoryStore.remember` (memory_store.py) with the vectors given."""


def derived_memory_id(person_id: str, conversation_id: str, index: int) -> str:
    """The id of memory number `index` that the person took from a conversation: the same on every retry."""
    return derived_id(conversation_id, person_id, "memory", index)


def turn_key(conversation_id: str, turn: int) -> str:
    """What a turn is known by among turns: it sorts as the turns do."""
    return f"{conversation_id}/{turn:04}"


_NAMES = tuple(one.name for one in fields(Memory) if one.name != "replaces")
_TUPLES = ("via", "turns", "evidence", "kept_from")
_READ: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_TUPLES, tuple),
    "kind": Kind,
    "mode": Mode,
    "support": Support,
    "source": Source,
}
"""What makes a value of a column, where it is not the value itself."""


def slot_of(one: Memory) -> str:
    """What has one value at a time: of whom or what, and which attribute ("": nothing). Two memories of one slot cannot
    both be true.
    """
    if not one.slot or not (one.subject_id or one.about):
        return ""
    return f"{one.subject_id or normal(one.about)}/{normal(one.slot.rpartition('/')[2])}"


def row_of(group: Group, one: Memory, revision: int) -> MemoryRow:
    """The memory as it is stored."""
    columns: dict[str, Any] = {name: getattr(one, name) for name in _NAMES}
    columns |= {name: list(columns[name]) for name in _TUPLES} | {"slot": slot_of(one)}
    return MemoryRow(**columns, **group.whose, revision=revision)


def memory_of(row: Any) -> Memory:
    """The memory that a row, or its columns, hold."""
    columns: dict[str, Any] = {name: getattr(row, name) for name in _NAMES}
    return Memory(**columns | {name: read(columns[name]) for name, read in _READ.items()})


def read_memories(session: Session, group: Group, *, after: int = -1) -> list[Memory]:
    """Memories written or ended after that revision, in no order. Turns and summaries are read by episodes.py."""
    row = MemoryRow
    mine = (*group.owns(row), col(row.revision) > after, col(row.deleted).is_(False), col(row.kind).not_in(VIEWS))
    return list(map(memory_of, session.execute(select(*(col(getattr(row, name)) for name in _NAMES)).where(*mine))))


class State(NamedTuple):
    """How far a source is: all that bears a revision up to this one is in it. Another epoch is another memory."""

    epoch: int
    revision: int


_STATE = select(MemoryOwnerRow.epoch, MemoryOwnerRow.revision).where(
    MemoryOwnerRow.world_id == bindparam("of_world"), MemoryOwnerRow.person_id == bindparam("of_person")
)
"""Made once, for every recall runs it."""


def state_of(session: Session, group: Group) -> State | None:
    """None: the person remembers nothing yet."""
    row = session.execute(_STATE, {"of_world": group.world_id, "of_person": group.person_id}).first()
    return None if row is None else State(*row)


def next_revision(session: Session, group: Group) -> int:
    """Lock the person's memory until the transaction ends, and count its revision up."""
    return count_up(session, group.world_id, group.person_id)


def next_epoch(session: Session, group: Group) -> int:
    """Make everybody read the person's memory anew: something was taken away or changed. Answers the revision."""
    owner = _locked(session, group)
    owner.epoch = max(owner.epoch + 1, new_epoch())
    owner.revision += 1
    deliver(session, group.world_id, group.person_id)
    return owner.revision


def read_anew(session: Session, group: Group) -> None:
    """`next_epoch` for a person who may remember nothing yet."""
    if session.get(MemoryOwnerRow, group.key()) is not None:
        next_epoch(session, group)


def space_of(session: Session, group: Group) -> VectorSpace:
    """Which vectors the person's memory has."""
    row = session.get(MemoryOwnerRow, group.key())
    return NO_VECTORS if row is None else VectorSpace(row.embedder, row.dimensions)


def claim_space(session: Session, group: Group, space: VectorSpace) -> bool:
    """Whether such vectors may be written into the person's memory; the first ones say which may from then on."""
    owner = _locked(session, group)
    if not owner.embedder:
        owner.embedder, owner.dimensions = space
    return VectorSpace(owner.embedder, owner.dimensions) == space


def set_space(session: Session, group: Group, space: VectorSpace) -> None:
    """All vectors of the person's memory are of another embedder now, or gone."""
    owner = _locked(session, group)
    owner.embedder, owner.dimensions = space


def expect_vectors(session: Session, group: Group) -> None:
    """Something of the person's memory has no vector yet, and is to get one; the caller commits."""
    enqueue(session, group.job(JobKind.VECTORS))


def _locked(session: Session, group: Group) -> MemoryOwnerRow:
    row = session.get(MemoryOwnerRow, group.key(), with_for_update=True)
    if row is None:
        row = MemoryOwnerRow(**group.whose, revision=0, epoch=new_epoch())
        session.add(row)
        session.flush()
    return row
