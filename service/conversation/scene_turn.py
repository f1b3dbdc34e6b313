"""Owns what a speaker of a scene answers: what it thinks, does and says, to whom, how loud, and what comes of it."""

from contextlib import suppress
from functools import lru_cache, partial
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, WithJsonSchema, create_model

from service.content.profile import Emotion
from service.store.phase import Loudness

LONGEST = 400
"""Characters of a thought, an act, or words."""
MOST_SHIFTS = 3

Told = Annotated[str, Field(max_length=LONGEST)]


class Shift(BaseModel, frozen=True, extra="forbid"):
    """How much more, or less, the speaker likes somebody for what has just happened."""

    to: str
    by: int = Field(ge=-3, le=3)


class SceneTurn(BaseModel, extra="forbid"):
    """What a speaker of a scene answers; each of the first three may be "". Names are those of people who are there:
    whoever is not is left out, and spoils no turn. Where they are asked for there are also `to` (empty: all) and
    `loudness`, and `urgency` (0 to 10).
    """

    think: Told
    act: Told
    emotion: Emotion
    talk: Told
    wants_to_end: bool
    shifts: tuple[Shift, ...] = ()

    @property
    def utterance(self) -> str:
        """Its words, as of every turn."""
        return self.talk


@lru_cache(maxsize=1024)
def scene_turn(names: tuple[str, ...], *, addresses: bool, urges: bool) -> type[SceneTurn]:
    """The answer that may name these; with `to` and `loudness`, and with `urgency`, where they are asked for."""
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
