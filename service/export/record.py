"""Owns the lines of an export. One JSON object a line, each with its `type`; times are world times,
``2026-04-01T07:30``.

The first line is the `Header`; then a `PersonLine` for everybody who was made at run time, an `EventLine` for
everything that happened, in the order of the world's log, and a `ConversationLine` for every conversation, where it was
closed. An export of all that a world has lived ends with a `RowLine` for everything else that it holds.
"""

import json
import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainSerializer, model_validator

from service.content.fields import Key, refusal
from service.content.profile import PersonKind
from service.export.problem import Unreadable, no_id
from service.locales import Language, Phrase
from service.memory.record import Support
from service.store.event_kinds import Payload, for_every_kind
from service.store.phase import EndReason, Loudness, TurnForm
from world.errors import BadWorldTime
from world.ids import is_slug
from world.time import WorldTime, iso, parse_time

FORMAT = 3
"""The version of the format; a reader refuses any other."""


def _minute(value: object) -> object:
    try:
        if isinstance(value, str) and iso(parse_time(value)) == value:
            return parse_time(value)
    except BadWorldTime:
        pass
    raise refusal("world_time")


def _slug(text: str) -> str:
    if not is_slug(text):
        raise refusal("slug")
    return text


def _conversation_id(text: str) -> str:
    if not re.fullmatch(r"[0-9a-z]{1,48}", text):
        raise refusal("conversation_id")
    return text


def _storable(text: str) -> str:
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise refusal("plain_text")
    return text


Minute = Annotated[int, BeforeValidator(_minute), PlainSerializer(lambda t: iso(WorldTime(t)))]
"""A world time."""

Words = Annotated[str, AfterValidator(_storable)]
Id = Annotated[str, AfterValidator(_slug)]
"""The id of a world, a person or a node, as the API takes it."""

ConversationId = Annotated[str, AfterValidator(_conversation_id)]

Count = Annotated[int, Field(ge=0, lt=2**31)]


class _Line(BaseModel, extra="forbid", strict=True, frozen=True):
    """A line of the file."""


class Header(_Line, serialize_by_alias=True):
    """The story is all that happened `since` .. `until` in a world of that name; keys ``from`` and ``to``."""

    type: Literal["kataribe"] = "kataribe"
    version: int = FORMAT
    world_id: Id
    name: str
    language: Language
    since: Minute = Field(alias="from")
    until: Minute = Field(alias="to")


class PersonLine(_Line):
    """Somebody who was made at run time: `profile` is as it was given. `removed`: it is not there any more."""

    type: Literal["person"] = "person"
    id: Id
    kind: PersonKind
    profile: dict[str, Any]
    removed: bool


class EventLine(_Line):
    """Something that happened; `data` is what GET /world/events shows of its `kind`."""

    type: Literal["event"] = "event"
    at: Minute
    kind: str
    person_id: Id | None
    data: Payload


EVENT_LINES = for_every_kind(EventLine)
"""The line of an event of each kind."""


def _unless(default: Any) -> Any:
    """A field that is left out where it has that value."""
    return Field(default=default, exclude_if=lambda value: value == default)


class TurnLine(_Line):
    """One utterance. `duration_ms` is the model's share in machine time. The last ones are of talks of more than two,
    and of scenes (see TurnRow), and of turns that are not to be quoted: left out where they say nothing.
    """

    turn: Count
    speaker_id: Id
    speaker_name: Words
    text: Words
    emotion: Words
    goal_achieved: bool
    wants_to_end: bool
    at: Minute
    model: Words
    calls: Count
    prompt_tokens: Count
    completion_tokens: Count
    duration_ms: Count
    think: Words = _unless("")
    act: Words = _unless("")
    loudness: Annotated[str, Field(pattern=f"^({'|'.join(Loudness)})$")] = _unless(Loudness.NORMAL)
    addressed: list[Id] | None = _unless(None)
    heard_by: list[Id] | None = _unless(None)
    seen_by: list[Id] | None = _unless(None)
    not_to_quote: bool = _unless(False)


class SummaryLine(_Line):
    """What the conversation was about, as that character remembers it; `others` were there besides the partner."""

    character_id: Id
    partner_id: Id
    summary: Words
    topics: list[str]
    at: Minute
    others: list[Id] = _unless([])
    support: Annotated[str, Field(pattern=f"^({'|'.join(Support)})$")] = _unless(Support.MODEL.value)


class PartLine(_Line):
    """One of more than two who took part: it heard the turns from `joined_turn` until before `left_turn`."""

    person_id: Id
    joined_turn: Count
    left_turn: Count | None


class OverheardLine(_Line):
    """Somebody who took no part, and overheard those turns: it remembers them since `known_at`."""

    person_id: Id
    turns: list[Count]
    known_at: Minute


class ConversationLine(_Line):
    """A conversation that is over, with its turns, what it changed, and what each character remembers of it. Of more
    than two, `people` are all who took part, in the order in which they came.
    """

    type: Literal["conversation"] = "conversation"
    id: ConversationId
    character_id: Id
    partner_id: Id
    node_id: Id
    language: Language
    goal: Words | None
    success_criteria: Words | None
    goal_given: bool
    goal_achieved: bool
    max_turns: Count
    phase: Literal["closed", "closing_failed"]
    end_reason: Annotated[str, Field(pattern=f"^({'|'.join(EndReason)})$")] | None
    failure: dict[str, Any] | None
    started_at: Minute
    ended_at: Minute | None
    closed_at: Minute | None
    models: dict[str, str]
    calls: Count
    prompt_tokens: Count
    completion_tokens: Count
    changes: dict[str, Any] | None
    turns: list[TurnLine]
    summaries: list[SummaryLine]
    form: Annotated[str, Field(pattern=f"^({'|'.join(TurnForm)})$")] = _unless(TurnForm.TALK)
    place: Words = _unless("")
    people: list[PartLine] = _unless([])
    overheard: list[OverheardLine] = _unless([])

    @property
    def over_at(self) -> int:
        """When it was closed; of one whose closing failed, when it ended."""
        return self.closed_at if self.closed_at is not None else self.ended_at or 0

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.closed_at is None and self.ended_at is None:
            raise refusal("missing_end")
        if self.character_id == self.partner_id:
            raise refusal("talks_to_itself")
        if [turn.turn for turn in self.turns] != list(range(len(self.turns))):
            raise refusal("turn_order")
        if len({summary.character_id for summary in self.summaries}) != len(self.summaries):
            raise refusal("two_summaries")
        return self


class RowLine(_Line):
    """Something else that the world holds, such as a memory or a promise: a row of that table, with its columns as they
    are; times are minutes.
    """

    type: Literal["row"] = "row"
    table: str
    row: dict[str, Any]


def written(line: BaseModel) -> bytes:
    """The line as it stands in the file, its end included."""
    record = line.model_dump()
    try:
        return (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode()
    except UnicodeEncodeError:  # half of a letter, as a model may write it: only its escape can be written
        return (json.dumps(record, allow_nan=False) + "\n").encode()


def parsed(line: bytes) -> dict[str, Any]:
    """The object in a line.

    Raises:
        Unreadable: there is none.
    """
    try:
        record = json.loads(line, parse_constant=_not_json, parse_float=_finite)
    except (ValueError, RecursionError) as exc:
        raise Unreadable(Phrase("export.no_json", reason=str(exc) or type(exc).__name__)) from exc
    if not isinstance(record, dict):
        raise Unreadable(Phrase("export.no_object"))
    return record


def require_ids(data: object, key: Key = ("data",)) -> None:
    """Of an event's data, what is named ``…_id`` is an id.

    Raises:
        Unreadable: it is none.
    """
    for name, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        place = (*key, name)
        if isinstance(name, str) and name.endswith("_id") and isinstance(value, str) and not is_slug(value):
            raise no_id(place, value)
        require_ids(value, place)


def _not_json(name: str) -> float:
    raise ValueError(name)


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(digits)
    return number
