"""Owns the one extraction after a conversation: what a model is given (ClosingContext), and its ClosingExtraction.

Everybody who took part remembers: the answer has an entry for each, under the short ref the prompt gave it.
"""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, Field, create_model

from service.content.profile import Importance, Mood
from service.llm.prompt import PromptValues
from service.memory.shown import facts_shown, memories_shown
from service.people.attitude import STRANGERS, Attitude, Dimension
from service.store.perceived import told_of_turn
from service.store.phase import Loudness
from world.time import WorldTime

Ref = Annotated[str, Field(max_length=8)]
Turn = Annotated[int, Field(ge=0, le=99)]
Short = Annotated[str, Field(min_length=1, max_length=80)]
Sentence = Annotated[str, Field(min_length=1, max_length=200)]
Degree = Annotated[int, Field(ge=-3, le=3)]
Mode = Literal["asserted", "planned", "hypothetical", "joking", "hearsay", "asked"]
"""How something said was meant."""
Weight = Annotated[int, Field(ge=1, le=10)]
"""How much something matters: 1 is small talk, 10 changes a life."""
MOST_SENTENCES = 4
"""Of a summary."""

_LETTERS = "abcdefghijklnoqrstuvwxyz"
"""Not m and p: ``am1`` is a memory, ``p1`` a promise."""


def ref_of(place: int) -> str:
    """What stands for the one in that place among those who took part, the one who began first: the names of the fields
    of `Sides`. Where the letters are all taken they are doubled.
    """
    return _LETTERS[place % len(_LETTERS)] * (place // len(_LETTERS) + 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class SpokenLine:
    """A line of the transcript. `turn` counts from 0; `at` is the world time at which it was said. `did` is what the
    game did for the speaker with it, `tried` what it did not do, as sentences ("": nothing was asked).

    In a scene `act` is what the speaker did. `heard_by` and `seen_by` are the ids of those who perceived the words and
    the act, where some of those who took part did not.
    """

    turn: int
    speaker_id: str
    speaker_name: str
    text: str
    at: WorldTime
    did: str = ""
    tried: str = ""
    act: str = ""
    loudness: str = Loudness.NORMAL
    heard_by: tuple[str, ...] | None = None
    seen_by: tuple[str, ...] | None = None

    @property
    def whole(self) -> "SpokenLine":
        """The line with all that was done and said in it as its text."""
        return replace(self, text=told_of_turn(self.act, self.text), act="") if self.act else self

    def perceived_by(self, person_id: str) -> "SpokenLine | None":
        """The line as that person perceived it, its text all that it is told of; None: it perceived nothing of it."""
        hears, sees = (only is None or person_id in only for only in (self.heard_by, self.seen_by))
        if hears and sees:
            return self.whole
        text = told_of_turn(self.act if sees else "", self.text if hears else "")
        return replace(self, text=text, act="", did="", tried="") if text else None

    def kept_from(self, person_id: str) -> str:
        """What of it that person did not perceive."""
        hears, sees = (only is None or person_id in only for only in (self.heard_by, self.seen_by))
        return f"{'' if hears else self.text} {'' if sees else self.act}".strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownFact:
    """Something known before the conversation, under the short id the model may cite.

    `authored`: its author wrote it; `always`: it says who somebody is, and is shown whatever is talked about. Else
    `statement` is the key of remembered words and `words` are those; `held`: the statement is a fact by itself (see
    strict.py). `subject` is whom it is about, `hands` through how many it came, `told_by` the id of who told it ("":
    nobody did).
    """

    ref: str
    statement: str
    subject: str = ""
    words: str = ""
    held: bool = False
    authored: bool = False
    always: bool = False
    hands: int = 0
    told_by: str = ""

    @property
    def shown(self) -> str:
        """What may be said of it."""
        return self.statement if self.authored or self.held or not self.words else self.words


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Something that one who took part had heard before, and may have told on: no model is shown it.

    `chain` are the ids of those through whose hands it came, first who began it; `names` are what they are called. It
    is remembered since `at`.
    """

    statement: str
    words: str
    subject: str
    chain: tuple[str, ...]
    names: tuple[str, ...]
    at: WorldTime


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenPromise:
    """A promise that one of them has made another before, and that only words may keep, under the short id the model
    may cite. `words` are those it was made in.
    """

    ref: str
    by_id: str
    to_id: str
    what: str
    words: str


@dataclass(frozen=True, kw_only=True)
class Participant:
    """One who took part, as the extraction is told of it.

    `facts` are what its author wrote about it, then what it told about itself before; `persona` is what else its author
    wrote, which no model is shown: nothing against it is learned. `memories` what it knew of
    the others, `sources` what it had heard of what it told. `affinity` is how it liked the partner, `mood` how it felt,
    when they parted. Of a player only what it promised is asked: what a human feels and believes is its own affair.

    Of more than two, `towards` is how it stood to each of those it was there with, by person id; it was there from turn
    `joined` until before turn `left` (None: to the end).
    """

    ref: str
    person_id: str
    name: str
    affinity: int
    mood: Mood
    is_player: bool = False
    attitude: Attitude = STRANGERS
    evidence: tuple[tuple[Dimension, tuple[str, ...]], ...] = ()
    facts: tuple[KnownFact, ...] = ()
    persona: tuple[str, ...] = ()
    memories: tuple[KnownFact, ...] = ()
    sources: tuple[Source, ...] = ()
    towards: tuple[tuple[str, Attitude], ...] = ()
    joined: int = 0
    left: int | None = None

    @property
    def authored(self) -> tuple[str, ...]:
        """What its author wrote about it."""
        return tuple(fact.statement for fact in self.facts if fact.authored)


@dataclass(frozen=True, kw_only=True)
class ClosingContext(PromptValues):
    """All that the extraction may draw on, and nothing else. The goal is that of the first of the `participants`.

    `judges`: how they stand to each other is asked. `everybody` are the names of all people of the world: who is named
    among them is a person. `bearers` are the ids of those who bear each name.
    """

    participants: tuple[Participant, ...]
    now: str
    goal: str
    goal_achieved: bool
    lines: tuple[SpokenLine, ...]
    judges: bool = True
    promises: tuple[OpenPromise, ...] = ()
    everybody: frozenset[str] = frozenset()
    bearers: Mapping[str, Set[str]] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """What those who took part are called."""
        return frozenset(one.name for one in self.participants)

    @property
    def said(self) -> str:
        """All that was done and said."""
        return " ".join(line.whole.text for line in self.lines)

    def shown_facts(self, one: Participant) -> tuple[KnownFact, ...]:
        """Which of its facts the model is shown, in their order."""
        bearing = facts_shown([fact for fact in one.facts if not fact.always], self.said, self.names)
        return tuple(fact for fact in one.facts if fact.always or fact in bearing)

    def shown_memories(self, one: Participant) -> tuple[KnownFact, ...]:
        """Which of its memories the model is shown."""
        return memories_shown(one.memories, self.said, self.names)

    @property
    def whole(self) -> "ClosingContext":
        """The same as somebody had it who perceived everything."""
        return replace(self, lines=tuple(line.whole for line in self.lines))

    @property
    def is_group(self) -> bool:
        """More than two took part."""
        return len(self.participants) > 2

    def partner_of(self, one: Participant) -> Participant:
        """The other of the two; of more, with whom it perceived most of the lines: who came first, of equals."""
        return max(
            (other for other in self.participants if other.person_id != one.person_id),
            key=lambda other: len(self.shared(one.person_id, other.person_id)),
        )

    def others_of(self, one: Participant) -> tuple[tuple[Participant, Attitude], ...]:
        """Those it was there with, and how it stood to each when they parted."""
        if not self.is_group:
            return ((self.partner_of(one), replace(one.attitude, affinity=one.affinity)),)
        towards = dict(one.towards)
        return tuple((other, towards[other.person_id]) for other in self.participants if other.person_id in towards)

    def is_judged(self, attitude: Attitude) -> bool:
        """Whether it is asked how somebody who stood so to another stands to it now: of more than two only where they
        have met before.
        """
        return self.judges and (not self.is_group or attitude.times_met > 0)

    def shared(self, *person_ids: str) -> dict[int, SpokenLine]:
        """The lines that all of these persons perceived, as they did, by turn."""
        found: dict[int, SpokenLine] = {}
        for line in self.lines:
            perceived = [line.perceived_by(person_id) for person_id in person_ids]
            if perceived[0] is not None and all(one == perceived[0] for one in perceived):
                found[line.turn] = perceived[0]
        return found

    def refs_of(self, person_ids: Collection[str], line: SpokenLine) -> str:
        """The refs of those of them who are not the line's speaker, for people to read; "-": nobody."""
        refs = (one.ref for one in self.participants if one.person_id in person_ids)
        speaker = next((one.ref for one in self.participants if one.person_id == line.speaker_id), "")
        return ", ".join(ref for ref in refs if ref != speaker) or "-"


class _Bounded(BaseModel, extra="forbid"):
    """Every text and list has an end: small models run on where there is none."""


class SummarySentence(_Bounded):
    """One sentence of the summary, and the turns it tells of."""

    text: Sentence
    turns: list[Turn] = Field(max_length=6)


class SelfClaim(_Bounded):
    """Something a person said about itself in `turn`, its own. `replaces` is the ref of the fact it changes, or ""."""

    statement: Sentence
    turn: Turn
    mode: Mode
    importance: Weight
    replaces: Ref


class Claim(_Bounded):
    """Something a person now knows from what was said in `turn`. `replaces` is the ref of the memory it changes, or
    "".
    """

    subject: Short
    relation: Short
    object: Short
    statement: Sentence
    turn: Turn
    mode: Mode
    importance: Weight
    replaces: Ref


class MidTermDraft(_Bounded):
    """Something that affects a person's next days, and the turn it was said in."""

    content: Sentence
    turn: Turn
    mode: Mode
    importance: Importance


class CommitmentDraft(_Bounded):
    """Something a person promised, in `turn`, to the one with the ref `to`. `when`: YYYY-MM-DDTHH:MM, a day, or ""."""

    to: Ref
    what: Sentence
    where: str = Field(max_length=80)
    when: str = Field(max_length=16)
    turn: Turn
    mode: Mode


class KeptDraft(_Bounded):
    """A promise, by its ref, and the turn whose words say that it was kept."""

    promise: Ref
    turn: Turn


class AttitudeDraft(_Bounded):
    """How a person stands to the other now, on three scales from -3 to 3 (see people/attitude.py)."""

    power: Degree
    intimacy: Degree
    task_oriented: Degree


class SideExtraction(_Bounded):
    """What one of those who took part takes away. `affinity` is how it likes the other now, -100..100. `attitude` is
    None where it was not judged: it stays as it was.
    """

    affinity: int = Field(ge=-100, le=100)
    mood: Mood
    self_facts: list[SelfClaim] = Field(max_length=5)
    facts: list[Claim] = Field(max_length=6)
    mid_term: list[MidTermDraft] = Field(max_length=3)
    commitments: list[CommitmentDraft] = Field(max_length=3)
    attitude: AttitudeDraft | None


class Entry(Protocol):
    """What is the same in the entries of two and of more."""

    mood: Mood
    self_facts: list[SelfClaim]
    facts: list[Claim]
    mid_term: list[MidTermDraft]
    commitments: list[CommitmentDraft]


class Sides(_Bounded):
    """An entry for each who took part. They are fields, and no list, so that even the smallest model leaves nobody
    out.
    """

    a: SideExtraction
    b: SideExtraction


class ClosingExtraction(_Bounded):
    """The one structured answer a closing needs."""

    summary: list[SummarySentence] = Field(min_length=1, max_length=MOST_SENTENCES)
    topics: list[Short] = Field(max_length=5)
    people: Sides
    kept: list[KeptDraft] = Field(default_factory=list, max_length=4)

    def side_of(self, ref: str) -> Entry:
        """The entry of the one with that ref."""
        side: Entry = getattr(self.people, ref)
        return side

    def affinity(self, ref: str, other_ref: str) -> int:
        """How much the one with the first ref likes the other now."""
        side: Any = self.side_of(ref)
        liked: int = side.affinity if isinstance(side, SideExtraction) else getattr(side.towards, other_ref)
        return liked

    def attitude(self, ref: str, other_ref: str) -> AttitudeDraft | None:
        """How it stands to the other now; None: it was not judged."""
        side: Any = self.side_of(ref)
        judged = getattr(side, "attitude", None)
        return judged if isinstance(judged, AttitudeDraft | None) else getattr(judged, other_ref, None)


Asked = tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
"""Of whom an entry is asked, by ref: towards whom, and to whom it is judged how each stands."""


def answer_to(context: ClosingContext) -> type[ClosingExtraction]:
    """The form of the answer: for more than two it is made for those who took part."""
    if not context.is_group:
        return ClosingExtraction
    asked: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
    for one in context.participants:
        others = context.others_of(one)
        judged = () if one.is_player else (other.ref for other, stands in others if context.is_judged(stands))
        asked.append((one.ref, tuple(other.ref for other, _ in others), tuple(judged)))
    return _group_answer(tuple(asked))


@lru_cache(maxsize=64)
def _group_answer(asked: Asked) -> type[ClosingExtraction]:
    sides = {ref: (_group_side(ref, others, judged), ...) for ref, others, judged in asked}
    people = _form("Sides", sides)
    return create_model("ClosingExtraction", __base__=ClosingExtraction, people=(people, ...))


def _group_side(ref: str, others: Iterable[str], judged: Iterable[str]) -> type[BaseModel]:
    """The entry of one among more than two: fields for each other one, in the place of one affinity and attitude."""
    kept = {name: (field.annotation, field) for name, field in SideExtraction.model_fields.items()}
    liked, name = kept.pop("affinity"), f"Side{ref.upper()}"
    kept.pop("attitude")
    fields: dict[str, Any] = {"towards": (_form(f"{name}Towards", dict.fromkeys(others, liked)), ...), **kept}
    if attitudes := dict.fromkeys(judged, (AttitudeDraft, ...)):
        fields["attitude"] = (_form(f"{name}Attitude", attitudes), ...)
    return _form(name, fields)


def _form(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    return create_model(name, __base__=_Bounded, **fields)
