"""Owns all that a closing may draw on, as values: who took part, what was said and who perceived it, what was known,
promised and planned before. Pure.
"""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from service.content.profile import Mood
from service.llm.chat import PromptValues
from service.locales import sentence
from service.memory.record import Mode
from service.people.attitude import STRANGERS, Attitude
from service.store.perception import Said, told_of_turn
from service.store.phase import Loudness
from world.time import WorldTime

Sentence = Annotated[str, Field(max_length=300)]
Short = Annotated[str, Field(max_length=80)]
Ref = Annotated[str, Field(max_length=12)]
Turn = Annotated[int, Field(ge=0, le=9999)]
Degree = Annotated[int, Field(ge=-3, le=3)]
Weight = Annotated[int, Field(ge=1, le=10)]
"""How much something matters: 1 is small talk, 10 changes a life."""
MOST_SENTENCES = 4
"""Of a paragraph."""
SEEN = "seen"
"""The teller of what was done before one's eyes."""
MOST_EACH = 10
"""Memories of each who took part."""

Asked = tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
"""Of whom an entry is asked, by ref: towards whom, and to whom it is judged how each stands."""


class Bounded(BaseModel, extra="forbid"):
    """Every text and list has an end: small models run on where there is none."""


class ShortMemoryDraft(Bounded):
    """Something that one of them (`owner`), or several, take away, for a small model. `about` is a ref or a name,
    `teller` the ref of who said it (`SEEN`: it was done before their eyes, "": it was agreed), `replaces` the refs of
    memories it ends ("": none). `lasts`: for long, or as something on the owner's mind these days.
    """

    owner: Ref
    text: Sentence
    turns: list[Turn] = Field(min_length=1, max_length=4)
    about: Short
    teller: Ref
    mode: Mode
    importance: Weight
    lasts: Literal["long", "low", "medium", "high"]
    replaces: Ref


class MemoryDraft(ShortMemoryDraft):
    """The same with whom the teller has it from (a ref or a name), what of `about` has one value at a time, a short
    line worth keeping in its own voice, the last day on which it is true, and whom the teller asks not to tell; each
    may be "".
    """

    heard_from: Short
    slot: Short
    quote: Annotated[str, Field(max_length=120)]
    until: Annotated[str, Field(max_length=10)]
    between: Short


class PromiseDraft(Bounded):
    """A promise that was made in `turn`, or an open one (`ref`) that was moved, released or kept there. `place` is an
    id or a name, `day` YYYY-MM-DD, `time` HH:MM or a part of the day; each may be "".
    """

    status: Literal["made", "moved", "released", "kept"]
    by: Ref
    to: Ref
    what: Sentence
    place: Short
    day: Annotated[str, Field(max_length=10)]
    time: Annotated[str, Field(max_length=9)]
    turn: Turn
    ref: Ref


class AttitudeDraft(Bounded):
    """How a person stands to another now, on three scales from -3 to 3."""

    power: Degree
    intimacy: Degree
    task_oriented: Degree


class PersonEntry(Bounded):
    """How one of them leaves the conversation. `affinity` is how it likes the other now, -100..100. `attitude` is None
    where it was not judged: it stays as it was.
    """

    paragraph: list[Sentence] = Field(min_length=1, max_length=MOST_SENTENCES)
    topics: list[Short] = Field(max_length=5)
    mood: Mood
    affinity: int = Field(ge=-100, le=100)
    attitude: AttitudeDraft | None


class Entries(Bounded):
    """An entry for each who took part. They are fields, and no list, so that even the smallest model leaves nobody
    out.
    """

    a: PersonEntry
    b: PersonEntry


class ClosingAnswer(Bounded):
    """The whole answer; `reached` are the goals of life that this talk has fulfilled."""

    people: Entries
    memories: list[MemoryDraft] = Field(max_length=2 * MOST_EACH)
    promises: list[PromiseDraft] = Field(max_length=12)
    not_to_quote: list[Turn] = Field(max_length=20)
    reached: list[Ref] = Field(max_length=6)

    def entry(self, ref: str) -> Any:
        """The entry of the one with that ref."""
        return getattr(self.people, ref)

    def affinity(self, ref: str, other_ref: str) -> int:
        """How much the one with the first ref likes the other now."""
        entry = self.entry(ref)
        return entry.affinity if isinstance(entry, PersonEntry) else getattr(entry.towards, other_ref)

    def attitude(self, ref: str, other_ref: str) -> AttitudeDraft | None:
        """How it stands to the other now; None: it was not judged."""
        judged = getattr(self.entry(ref), "attitude", None)
        return judged if isinstance(judged, AttitudeDraft | None) else getattr(judged, other_ref, None)


class ShortClosingAnswer(ClosingAnswer):
    """The whole answer of a small model."""

    memories: list[ShortMemoryDraft] = Field(max_length=8)  # type: ignore[assignment] # it has no more fields
    promises: list[PromiseDraft] = Field(max_length=6)


@lru_cache(maxsize=64)
def answer_form(asked: Asked, *, is_short: bool) -> type[ClosingAnswer]:
    """The form of the answer; for more than two it is made for those who took part."""
    base = ShortClosingAnswer if is_short else ClosingAnswer
    if len(asked) <= 2:
        return base
    entries = _form("Entries", {ref: (_entry(ref, others, judged), ...) for ref, others, judged in asked})
    draft = ShortMemoryDraft if is_short else MemoryDraft
    most = Field(max_length=MOST_EACH * len(asked))
    fields: dict[str, Any] = {"people": (entries, ...), "memories": (list[draft], most)}  # type: ignore[valid-type] # either
    return create_model("ClosingAnswer", __base__=base, **fields)


def _entry(ref: str, others: Iterable[str], judged: Iterable[str]) -> type[BaseModel]:
    """The entry of one among more than two: fields for each other one, in the place of one affinity and attitude."""
    kept = {name: (field.annotation, field) for name, field in PersonEntry.model_fields.items()}
    liked, name = kept.pop("affinity"), f"Entry{ref.upper()}"
    kept.pop("attitude")
    fields: dict[str, Any] = {**kept, "towards": (_form(f"{name}Towards", dict.fromkeys(others, liked)), ...)}
    if attitudes := dict.fromkeys(judged, (AttitudeDraft, ...)):
        fields["attitude"] = (_form(f"{name}Attitude", attitudes), ...)
    return _form(name, fields)


def _form(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    return create_model(name, __base__=Bounded, **fields)


_LETTERS = "abcdefghijklnoqrstuvwxyz"
"""Not m and p: ``am1`` is a memory, ``p1`` a promise."""


def ref_of(place: int) -> str:
    """What stands for the one in that place among those who took part, the one who began first: the names of the fields
    of `Entries`. Where the letters are all taken they are doubled.
    """
    return _LETTERS[place % len(_LETTERS)] * (place // len(_LETTERS) + 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class SpokenLine(Said):
    """A line of the transcript. `turn` counts from 0; `at` is the world time at which it was said. `did` is what the
    game did for the speaker with it, `tried` what it did not do, as sentences ("": nothing was asked).

    `act` is what the speaker did. `heard_by` and `seen_by` are the ids of those who perceived the words and the act,
    where some of those who took part did not.
    """

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

    def kept_from(self, person_id: str) -> str:
        """What of it that person did not perceive."""
        hears, sees = (only is None or person_id in only for only in (self.heard_by, self.seen_by))
        return f"{'' if hears else self.text} {'' if sees else self.act}".strip()

    def perceived_by(self, person_id: str) -> "SpokenLine | None":
        """The line as that person perceived it, its text all that it is told of; None: it perceived nothing of it."""
        hears, sees = (only is None or person_id in only for only in (self.heard_by, self.seen_by))
        if hears and sees:
            return self.whole
        text = told_of_turn(self.act if sees else "", self.text if hears else "")
        return replace(self, text=text, act="", did="", tried="") if text else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """Something known before the conversation. `ref` is the short id by which the model may say that it is over ("": an
    author wrote it, it is never over).
    """

    text: str
    ref: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenPromise:
    """A promise that one of them has made another before, under the short id the model may cite; `line` says what, to
    whom and for when.
    """

    ref: str
    by_id: str
    to_id: str
    line: str


@dataclass(frozen=True, kw_only=True)
class Participant:
    """One who took part, as the closing is told of it.

    `facts` are what its author wrote about it that bears on what was said, `memories` what it remembered of the others,
    `goals` what it wants of life. `affinity` is how it liked the partner, `mood` how it felt, when they parted. Of a
    player only the paragraph and what it promised is asked: what a human feels and believes is its own affair.

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
    facts: tuple[Known, ...] = ()
    memories: tuple[Known, ...] = ()
    goals: tuple[Known, ...] = ()
    towards: tuple[tuple[str, Attitude], ...] = ()
    joined: int = 0
    left: int | None = None


@dataclass(frozen=True, kw_only=True)
class ClosingContext(PromptValues):
    """All that the closing may draw on, and nothing else. The goal is that of the first of the `participants`.

    `judges`: how they stand to each other is asked. `affinity_step`: by so much a liking moves at most. `is_short`: a
    small model is asked, for less. `calendar` are the days that can be meant, `places` the places, by id. `bearers` are
    the ids of those who bear each name, `others` the names of all, by id.
    """

    participants: tuple[Participant, ...]
    now: str
    goal: str
    goal_achieved: bool
    lines: tuple[SpokenLine, ...]
    judges: bool = True
    affinity_step: int = 20
    is_short: bool = False
    promises: tuple[OpenPromise, ...] = ()
    calendar: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    bearers: Mapping[str, Set[str]] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, str]:
        """Everybody's name, by id."""
        return {**self.others, **{one.person_id: one.name for one in self.participants}}

    @property
    def whole(self) -> "ClosingContext":
        """The context of somebody who perceived everything."""
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
        """The people it was there with, and how it stood to each when they parted."""
        if not self.is_group:
            return ((self.partner_of(one), replace(one.attitude, affinity=one.affinity)),)
        towards = dict(one.towards)
        return tuple((other, towards[other.person_id]) for other in self.participants if other.person_id in towards)

    def is_judged(self, attitude: Attitude) -> bool:
        """Whether it is asked how somebody who stood so to another stands to it now: of more than two only where they
        have met before.
        """
        return self.judges and not self.is_short and (not self.is_group or attitude.times_met > 0)

    def shared(self, *person_ids: str) -> dict[int, SpokenLine]:
        """The lines that all of these persons perceived, as they did, by turn."""
        found: dict[int, SpokenLine] = {}
        for line in self.lines:
            perceived = [line.perceived_by(person_id) for person_id in person_ids]
            if perceived[0] is not None and all(one == perceived[0] for one in perceived):
                found[line.turn] = perceived[0]
        return found

    def talked(self, one: Participant) -> str:
        """What is left to say where nothing else may be said: with whom that one talked."""
        return sentence(self.language, "remembered.talked", name=one.name, partner=self.partner_of(one).name)

    def refs_of(self, person_ids: Collection[str], line: SpokenLine) -> str:
        """The refs of those of them who are not the line's speaker, for people to read; "-": nobody."""
        refs = (one.ref for one in self.participants if one.person_id in person_ids)
        speaker = next((one.ref for one in self.participants if one.person_id == line.speaker_id), "")
        return ", ".join(ref for ref in refs if ref != speaker) or "-"


def answer_to(context: ClosingContext) -> type[ClosingAnswer]:
    """The form of the answer."""
    asked: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
    for one in context.participants:
        others = context.others_of(one)
        judged = () if one.is_player else (other.ref for other, stands in others if context.is_judged(stands))
        asked.append((one.ref, tuple(other.ref for other, _ in others), tuple(judged)))
    form: Asked = tuple(asked)
    return answer_form(form if context.is_group else form[:2], is_short=context.is_short)
