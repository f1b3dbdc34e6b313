"""Owns all that a closing may draw on, as values: who took part, what was said and who perceived it, what was known,
promised and planned before. Pure.
"""

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field, replace

from service.content.profile import Mood
from service.llm.chat import PromptValues
from service.locales import sentence
from service.memory.closing.answer import Asked, ClosingAnswer, answer_form
from service.people.attitude import STRANGERS, Attitude, Dimension
from service.store.perceived import told_of_turn
from service.store.phase import Loudness
from world.time import WorldTime

_LETTERS = "abcdefghijklnoqrstuvwxyz"
"""Not m and p: ``am1`` is a memory, ``p1`` a promise."""


def ref_of(place: int) -> str:
    """What stands for the one in that place among those who took part, the one who began first: the names of the fields
    of `Entries`. Where the letters are all taken they are doubled.
    """
    return _LETTERS[place % len(_LETTERS)] * (place // len(_LETTERS) + 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class SpokenLine:
    """A line of the transcript. `turn` counts from 0; `at` is the world time at which it was said. `did` is what the
    game did for the speaker with it, `tried` what it did not do, as sentences ("": nothing was asked).

    `act` is what the speaker did. `heard_by` and `seen_by` are the ids of those who perceived the words and the act,
    where some of those who took part did not.
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

    `facts` are what its author wrote about it that bears on what was said, `memories` what it remembered of the others.
    `affinity` is how it liked the partner, `mood` how it felt, when they parted. Of a player only the paragraph and
    what it promised is asked: what a human feels and believes is its own affair.

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
    facts: tuple[Known, ...] = ()
    memories: tuple[Known, ...] = ()
    towards: tuple[tuple[str, Attitude], ...] = ()
    joined: int = 0
    left: int | None = None


@dataclass(frozen=True, kw_only=True)
class ClosingContext(PromptValues):
    """All that the closing may draw on, and nothing else. The goal is that of the first of the `participants`.

    `judges`: how they stand to each other is asked. `is_short`: a small model is asked, for less. `calendar` are the
    days that can be meant, `places` the places, by id. `bearers` are the ids of those who bear each name,
    `others` the names of all, by id.
    """

    participants: tuple[Participant, ...]
    now: str
    goal: str
    goal_achieved: bool
    lines: tuple[SpokenLine, ...]
    judges: bool = True
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
