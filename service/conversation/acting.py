"""Owns the forms of answers: what a speaker answers, also in a scene, and what may stand behind its words: something
it asks of the game, and lines that it suggests to a player. The form that is offered, and what is read of what came.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, JsonValue, ValidationError, WithJsonSchema, create_model

from service.content.actions import GameAction
from service.content.fields import clipped
from service.content.profile import Emotion
from service.conversation.utterance import is_nonsense, within
from service.store.phase import Loudness
from world.ids import SLUG_MAX

T = TypeVar("T", bound=BaseModel)


LONGEST_WORDS = 700
"""Characters of what is said in a turn; of what is done or thought in one of a scene a little more than half."""
_CUT = BeforeValidator(lambda text: within(text, LONGEST_WORDS, is_whole=True) if isinstance(text, str) else text)
"""What is longer is cut, not asked for again."""
LONGEST_ACT = 120
"""Characters of what a speaker does in a talk: the rest of a longer act is cut off."""

Utterance = Annotated[str, Field(min_length=1, max_length=LONGEST_WORDS), _CUT]


def _one_act(value: Any) -> Any:
    act = clipped(" ".join(value.split()), LONGEST_ACT) if isinstance(value, str) else ""
    return "" if is_nonsense(act) else act


Gesture = Annotated[str, BeforeValidator(_one_act), Field(max_length=LONGEST_ACT)]


class TalkAnswer(BaseModel, extra="forbid"):
    """What every speaker of a talk answers. The words come first: a listener hears them as soon as they are made."""

    utterance: Utterance
    emotion: Emotion


class ChatTurn(TalkAnswer):
    """What somebody answers whom a chat client speaks to: its hands and face are not asked for."""

    wants_to_end: bool


class NpcTurn(TalkAnswer):
    """What somebody answers who was spoken to: `act` is what its hands or face do while it speaks."""

    act: Gesture = ""
    wants_to_end: bool


class CharacterTurn(NpcTurn):
    """What the opener answers: it knows whether its goal is reached."""

    goal_achieved: bool


class OpeningTurn(NpcTurn):
    """The opener's first answer when nobody gave it a goal: it speaks, and sets one, within the guidelines."""

    goal: str = Field(min_length=1, max_length=200)
    success_criteria: str = Field(min_length=1, max_length=200)


class Act(BaseModel, frozen=True, extra="forbid"):
    """What the speaker does beside its words. `fault`: why it cannot be: it was not offered, or these are no arguments
    of it (`why`); None: it can.
    """

    id: str
    args: dict[str, JsonValue] = {}
    fault: Literal["not_offered", "arguments"] | None = None
    why: str = ""


@lru_cache(maxsize=256)
def acting(turn: type[T], actions: tuple[GameAction, ...]) -> type[T]:
    """The answer `turn` with an `action` behind it: one of these, or null. What does not fit spoils no turn: it is read
    as an act with a fault.
    """
    offered = [
        {
            "type": "object",
            "properties": {"id": {"type": "string", "enum": [one.id]}, "args": one.form.model_json_schema()},
        }
        for one in actions
    ]
    field = Annotated[
        Act | None, BeforeValidator(partial(_read, actions)), WithJsonSchema({"anyOf": [*offered, {"type": "null"}]})
    ]
    return create_model(turn.__name__, __base__=turn, __doc__=turn.__doc__, action=(field, None))


def _read(actions: tuple[GameAction, ...], value: Any) -> Any:
    if value is None or isinstance(value, Act):
        return value
    asked = value if isinstance(value, Mapping) else {}
    action = next((one for one in actions if one.id == asked.get("id")), None)
    if action is None:
        return Act(id=str(asked.get("id", ""))[:SLUG_MAX], fault="not_offered")
    try:
        args = action.form.model_validate(asked.get("args") or {})
    except ValidationError as exc:
        faults = exc.errors(include_url=False, include_input=False, include_context=False)[:3]
        why = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in faults)
        return Act(id=action.id, fault="arguments", why=why)
    return Act(id=action.id, args=args.model_dump(mode="json", by_alias=True, exclude_none=True))


MOST = 4
"""Lines that may be asked for."""
LONGEST = 160
"""Characters of one; a longer one is left out."""


@lru_cache(maxsize=64)
def suggesting(turn: type[T], most: int) -> type[T]:
    """The answer `turn` with so many `choices` behind it. What is no line is left out, and spoils no turn."""
    schema = {"type": "array", "items": {"type": "string"}, "description": f"{most} lines"}
    field = Annotated[tuple[str, ...], BeforeValidator(partial(_lines, most)), WithJsonSchema(schema)]
    return create_model(turn.__name__, __base__=turn, __doc__=turn.__doc__, choices=(field, ()))


def _lines(most: int, value: Any) -> Any:
    found = value if isinstance(value, list | tuple) else ()
    lines = dict.fromkeys(" ".join(one.split()) for one in found if isinstance(one, str))
    return tuple(line for line in lines if 0 < len(line) <= LONGEST)[:most]


MOST_SHIFTS = 3

TurnText = Annotated[str, Field(max_length=LONGEST_WORDS), _CUT]


class Shift(BaseModel, frozen=True, extra="forbid"):
    """How much more, or less, the speaker likes somebody for what has just happened."""

    to: str
    by: int = Field(ge=-3, le=3)


class SceneTurn(BaseModel, extra="forbid"):
    """What a speaker of a scene answers; each of the first three may be "". Names are those of people who are there:
    whoever is not is left out, and spoils no turn. Where they are asked for there are also `to` (empty: all) and
    `loudness`, and `urgency` (0 to 10); and where it may go to another `spot`, that one ("": it stays).
    """

    think: TurnText
    act: TurnText
    emotion: Emotion
    talk: TurnText
    wants_to_end: bool
    shifts: tuple[Shift, ...] = ()

    @property
    def utterance(self) -> str:
        """Its words, as of every turn."""
        return self.talk


@lru_cache(maxsize=1024)
def scene_turn(names: tuple[str, ...], spots: tuple[str, ...] = (), *, addresses: bool, urges: bool) -> type[SceneTurn]:
    """The answer that may name these; with `to` and `loudness`, and with `urgency`, where they are asked for; with
    `spot`, where there are others to go to.
    """
    one = {"type": "string", "enum": list(names)}
    shift = {
        "type": "object",
        "additionalProperties": False,
        "required": ["to", "by"],
        "properties": {"to": one, "by": {"type": "integer", "minimum": -3, "maximum": 3}},
    }
    many = {"type": "array", "maxItems": MOST_SHIFTS, "items": shift}
    fields: dict[str, Any] = {}
    if addresses:
        listed = WithJsonSchema({"type": "array", "items": one})
        fields["to"] = (Annotated[tuple[str, ...], BeforeValidator(partial(_names, names)), listed], ())
        fields["loudness"] = (Loudness, Loudness.NORMAL)
    if spots:
        known = WithJsonSchema({"type": "string", "enum": ["", *spots]})
        fields["spot"] = (Annotated[str, BeforeValidator(lambda value: value if value in spots else ""), known], "")
    if urges:
        fields["urgency"] = (Annotated[int, Field(ge=0, le=10)], ...)
    fields["shifts"] = (
        Annotated[tuple[Shift, ...], BeforeValidator(partial(_shifts, names)), WithJsonSchema(many)],
        (),
    )
    return create_model("SceneTurn", __base__=SceneTurn, __doc__=SceneTurn.__doc__, **fields)


def _names(known: tuple[str, ...], value: Any) -> Any:
    found = value if isinstance(value, list | tuple) else ()
    return tuple(dict.fromkeys(one for one in found if one in known))


def _shifts(known: tuple[str, ...], value: Any) -> Any:
    found = dict[str, Shift]()
    for one in value if isinstance(value, list | tuple) else ():
        with suppress(ValidationError):
            shift = Shift.model_validate(one)
            if shift.to in known and shift.by:
                found.setdefault(shift.to, shift)
    return tuple(found.values())[:MOST_SHIFTS]
