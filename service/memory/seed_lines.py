"""Owns the lines in which a past is given to a person: statements, turns of talks, summaries of talks; and how they are
read. Pure.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails, from_json

from service.content.profile import Importance
from service.errors import WrongLine
from service.locales import Phrase, room
from service.memory.record import DEFAULT_IMPORTANCE, Kind, Mode, Support

MOST_LINES = 10_000
"""Of one call."""

LONGEST_LINE = 64 * 1024
"""Bytes of one line of JSON."""

_NOT_BLANK = r"^[^\u0000]*[^\u0000\s][^\u0000]*$"

Key = Annotated[str, Field(min_length=1, max_length=200, pattern=_NOT_BLANK)]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=_NOT_BLANK)]
Said = Annotated[str, Field(min_length=1, max_length=2000, pattern=_NOT_BLANK)]
Time = Annotated[str, Field(max_length=19, examples=["2025-11-03T18:30"])]

StatementKind = Literal[Kind.FACT, Kind.OBSERVED, Kind.SELF, Kind.MID_TERM, Kind.INSIGHT]
"""What a statement may become."""

_Conversation = Annotated[Key, Field(description="the caller's own id of the talk", examples=["festival-night"])]
_Id = Annotated[Key, Field(description="the caller's own id of the line, by which it is given once", examples=["s1"])]


class _Line(BaseModel, extra="forbid", frozen=True):
    """A line of the past that is given."""


class Statement(_Line):
    """Something that the person remembers, as a sentence."""

    id: _Id
    statement: Said = Field(description="what it knows, as a sentence", examples=["Taro's brother drowned in the bay."])
    kind: StatementKind = Field(
        default=Kind.FACT,
        description="fact; observed: it perceived it itself; self: it has told it of itself; mid_term: it affects its "
        "next days; insight: what it has come to think",
    )
    about: Name | None = Field(
        default=None, description="whom or what it is about: a person's id, or any name", examples=["npc_taro"]
    )
    told_by: Name | None = Field(
        default=None, description="who told it: a person's id. It is told with its teller, and never as a fact"
    )
    via: list[Name] = Field(
        default_factory=list,
        max_length=20,
        description="ids of those through whose hands it came to the teller, who began it first",
    )
    mode: Mode = Field(default=Mode.STATED, description="how it was meant")
    quote: str = Field(
        default="", max_length=300, pattern=r"^[^\u0000]*$", description="a line of it worth keeping word for word"
    )
    slot: str = Field(
        default="",
        max_length=100,
        pattern=r"^[^\u0000]*$",
        description="what of `about` has one value at a time, as its place: a later statement ends the one before",
        examples=["place"],
    )
    valid_from: Time | None = Field(
        default=None, description="the world time from which it is true, also a later one; left out: `at`"
    )
    level: Importance | None = Field(
        default=None, description="of mid_term: how much it matters, and how long it lasts"
    )
    expires_at: Time | None = Field(
        default=None, description="of mid_term: the world time at which it is over; left out: as `level` says"
    )
    at: Time | None = Field(
        default=None, description="the world time since which it is known; left out: since the story began"
    )
    valid_to: Time | None = Field(
        default=None, description="the world time from which it is no longer true; left out: none is known"
    )
    ended_at: Time | None = Field(
        default=None, description="the world time at which its end was learned; left out: `valid_to`, where it is past"
    )
    importance: int = Field(
        default=DEFAULT_IMPORTANCE, ge=1, le=10, description="from 1, small talk, to 10, what changes a life"
    )
    support: Support | None = Field(
        default=None,
        description="what it rests on; left out: its author's word, and with `told_by` whoever told it. An author's "
        "word and what was perceived are told by themselves, all else with who told it",
    )
    partner: Name | None = Field(default=None, description="with whom it had to do: a person's id; left out: `told_by`")
    kept_from: list[Name] = Field(
        default_factory=list,
        max_length=20,
        description="told in confidence: ids of those who must not hear it; `*`: anybody but the two",
    )
    evidence: list[Key] = Field(
        default_factory=list,
        max_length=10,
        description="what it was drawn from: `memory:` and the id of a line, or `talk:` and a `conversation`",
        examples=[["memory:s1", "talk:festival-night"]],
    )
    conversation: Key | None = Field(default=None, description="the caller's own id of the talk it was said in")
    turns: list[Annotated[int, Field(ge=0, le=9999)]] = Field(
        default_factory=list, max_length=10, description="the turns of that talk it was said in, from 0"
    )


class Turn(_Line):
    """Something that was said in a talk the person heard."""

    id: _Id
    conversation: _Conversation
    speaker: Name = Field(description="who said it: a person's id, or any name", examples=["npc_taro"])
    text: Said = Field(description="what was said, word for word", examples=["The bell rang under the water."])
    at: Time = Field(description="the world time at which it was said")
    turn: int | None = Field(
        default=None, ge=0, le=9999, description="its place in the talk, from 0; left out: after those given before"
    )
    partner: Name | None = Field(
        default=None, description="whom the talk was with: a person's id; left out: the first other one who speaks"
    )


class Summary(_Line):
    """What a talk was about, as the person remembers it."""

    id: _Id
    conversation: _Conversation
    summary: Said = Field(description="what the talk was about")
    at: Time = Field(description="the world time of the talk")
    partner: Name | None = Field(default=None, description="whom it was with: a person's id")
    topics: list[Name] = Field(default_factory=list, max_length=20, description="what it was about, in a few words")


PastLine = Statement | Turn | Summary

_MODELS: Mapping[str, type[PastLine]] = {"statement": Statement, "text": Turn, "summary": Summary}
"""By the field that only this line has."""


class TurnOfTranscript(_Line):
    """A turn of the transcript it stands in."""

    id: _Id
    speaker: Name = Field(description="who said it: a person's id, or any name", examples=["npc_taro"])
    text: Said = Field(description="what was said, word for word", examples=["The bell rang under the water."])
    at: Time | None = Field(
        default=None, description="the world time at which it was said; left out: that of the transcript"
    )


class PastTranscript(_Line):
    """A talk the person heard, as a whole. Its summary's id is `conversation`."""

    conversation: _Conversation
    at: Time = Field(description="the world time of the talk")
    turns: list[TurnOfTranscript] = Field(
        min_length=1, max_length=MOST_LINES, description="what was said, in its order"
    )
    summary: Said | None = Field(default=None, description="what the talk was about; left out: it has no summary")
    partner: Name | None = Field(default=None, description="whom it was with: a person's id")
    topics: list[Name] = Field(default_factory=list, max_length=20, description="what it was about, in a few words")


class Past(_Line):
    """A past as one JSON object."""

    statements: list[Statement] = Field(
        default_factory=list, max_length=MOST_LINES, description="what the person knows and thinks"
    )
    transcripts: list[PastTranscript] = Field(
        default_factory=list, max_length=MOST_LINES, description="talks that the person heard"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenLine:
    """A line and where it stood: ``line 3``, ``statements.2``."""

    where: str
    line: PastLine

    @property
    def kind(self) -> Kind:
        """What it becomes."""
        if isinstance(self.line, Statement):
            return self.line.kind
        return Kind.TURN if isinstance(self.line, Turn) else Kind.SUMMARY

    @property
    def fingerprint(self) -> str:
        """The same for lines that say the same. The place of a turn is not what it says."""
        placed = {"turn"} if isinstance(self.line, Turn) else set()
        return hashlib.sha256(self.line.model_dump_json(exclude_defaults=True, exclude=placed).encode()).hexdigest()[
            :32
        ]


def read_lines(numbered: Iterable[tuple[int, bytes]]) -> list[GivenLine | WrongLine]:
    """Lines of JSON by their numbers, each known by what it has: a `statement`, a `text` or a `summary`.
    An error a field is told of those that cannot be read.
    """
    return [one for number, text in numbered for one in _read_line(f"line {number}", text)]


def _read_line(where: str, text: bytes) -> Sequence[GivenLine | WrongLine]:
    if len(text) > LONGEST_LINE:
        return [WrongLine(where=where, reason=Phrase("answers.lines.too_long", most=LONGEST_LINE))]
    try:
        found = from_json(text)
    except ValueError:
        return [WrongLine(where=where, reason=Phrase("answers.expected.json_invalid"))]
    model = next((one for name, one in _MODELS.items() if isinstance(found, dict) and name in found), None)
    if model is None:
        return [WrongLine(where=where, reason=Phrase("answers.lines.no_line"))]
    try:
        return [GivenLine(where=where, line=model.model_validate(found))]
    except ValidationError as exc:
        return _wrong(where, exc.errors())


def read_past(text: bytes) -> Sequence[GivenLine | WrongLine]:
    """A past as one JSON object."""
    try:
        past = Past.model_validate_json(text)
    except ValidationError as exc:
        return _wrong("", exc.errors())
    return list(_lines_of(past))


def _lines_of(past: Past) -> Iterable[GivenLine]:
    yield from (GivenLine(where=f"statements.{number}", line=one) for number, one in enumerate(past.statements))
    for place, talk in enumerate(past.transcripts):
        where = f"transcripts.{place}"
        for number, turn in enumerate(talk.turns):
            line = Turn(
                id=turn.id,
                conversation=talk.conversation,
                speaker=turn.speaker,
                text=turn.text,
                at=talk.at if turn.at is None else turn.at,
                turn=number,
                partner=talk.partner,
            )
            yield GivenLine(where=f"{where}.turns.{number}", line=line)
        if talk.summary is not None:
            about = Summary(
                id=talk.conversation,
                conversation=talk.conversation,
                summary=talk.summary,
                at=talk.at,
                partner=talk.partner,
                topics=talk.topics,
            )
            yield GivenLine(where=where, line=about)


def _wrong(where: str, errors: Iterable[ErrorDetails]) -> list[WrongLine]:
    return [
        WrongLine(where=".".join(filter(None, (where, *map(str, error["loc"])))), reason=_reason(error))
        for error in errors
    ]


def _reason(error: ErrorDetails) -> Phrase:
    """What was expected; where there is no sentence for an error, what the library says."""
    if error["type"] in room("en", "answers.expected"):
        facts: dict[str, Any] = error.get("ctx", {})
        return Phrase(f"answers.expected.{error['type']}", **facts)
    return Phrase("answers.lines.other", message=error["msg"])
