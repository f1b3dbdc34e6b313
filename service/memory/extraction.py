"""Owns the one extraction after a conversation: what a model is given (ClosingContext), and its ClosingExtraction.

Everybody who took part remembers: the answer has an entry for each, under the short ref the prompt gave it.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.content.profile import Importance, Mood
from service.llm.prompt import OwnPrompts
from service.locales import Language
from service.people.attitude import STRANGERS, Attitude, Dimension
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

REFS = ("a", "b")
"""What stands for those who took part, the one who began first: the names of the fields of `Sides`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpokenLine:
    """A line of the transcript. `turn` counts from 0; `at` is the world time at which it was said. `did` is what the
    game did for the speaker with it, `tried` what it did not do, as sentences ("": nothing was asked).
    """

    turn: int
    speaker_id: str
    speaker_name: str
    text: str
    at: WorldTime
    did: str = ""
    tried: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownFact:
    """Something known before the conversation, under the short id the model may cite.

    `authored`: its author wrote it. Else `statement` is the key of remembered words and `words` are those; `held`: the
    statement is a fact by itself (see strict.py). `subject` is whom it is about, `hands` through how many it came.
    """

    ref: str
    statement: str
    subject: str = ""
    words: str = ""
    held: bool = False
    authored: bool = False
    hands: int = 0

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
    """A promise that one of the two has made the other before, and that only words may keep, under the short id the
    model may cite. `words` are those it was made in.
    """

    ref: str
    by_id: str
    what: str
    words: str


@dataclass(frozen=True, kw_only=True)
class Participant:
    """One who took part, as the extraction is told of it.

    `facts` are what its author wrote about it, then what it told about itself before; `persona` is what else its author
    wrote, which no model is shown: nothing against it is learned. `memories` what it knew of
    the others, `sources` what it had heard of what it told. `affinity` is how it liked the partner, `mood` how it felt,
    when they parted. Of a player only what it promised is asked: what a human feels and believes is its own affair.
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

    @property
    def authored(self) -> tuple[str, ...]:
        """What its author wrote about it."""
        return tuple(fact.statement for fact in self.facts if fact.authored)


@dataclass(frozen=True, kw_only=True)
class ClosingContext:
    """All that the extraction may draw on, and nothing else. The goal is that of the first of the `participants`.

    `judges`: how they stand to each other is asked. `everybody` are the names of all people of the world: who is named
    among them is a person.
    """

    language: Language
    participants: tuple[Participant, ...]
    now: str
    goal: str
    goal_achieved: bool
    lines: tuple[SpokenLine, ...]
    judges: bool = True
    promises: tuple[OpenPromise, ...] = ()
    everybody: frozenset[str] = frozenset()
    own_prompts: OwnPrompts = ()

    @property
    def names(self) -> frozenset[str]:
        """What those who took part are called."""
        return frozenset(one.name for one in self.participants)

    def partner_of(self, one: Participant) -> Participant:
        """The other of the two."""
        return next(other for other in self.participants if other.person_id != one.person_id)


class _Bounded(BaseModel):
    """Every text and list has an end: small models run on where there is none."""

    model_config = ConfigDict(extra="forbid")


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


class Sides(_Bounded):
    """An entry for each who took part. They are fields, and no list, so that even the smallest model leaves nobody
    out.
    """

    a: SideExtraction
    b: SideExtraction


class ClosingExtraction(_Bounded):
    """The one structured answer a closing needs."""

    summary: list[SummarySentence] = Field(min_length=1, max_length=4)
    topics: list[Short] = Field(max_length=5)
    people: Sides
    kept: list[KeptDraft] = Field(default_factory=list, max_length=4)

    def side_of(self, ref: str) -> SideExtraction:
        """The entry of the one with that ref."""
        side: SideExtraction = getattr(self.people, ref)
        return side
