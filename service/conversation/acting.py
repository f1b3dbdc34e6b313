"""Owns how an answer asks something of the game: the form that is offered, and what is read of what came."""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, JsonValue, ValidationError, WithJsonSchema, create_model

from service.content.game_actions import GameAction
from world.ids import SLUG_MAX

T = TypeVar("T", bound=BaseModel)


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
    field = Annotated[Act | None, BeforeValidator(partial(_read, actions)), WithJsonSchema(_schema(actions))]
    return create_model(turn.__name__, __base__=turn, __doc__=turn.__doc__, action=(field, None))


def _schema(actions: tuple[GameAction, ...]) -> dict[str, Any]:
    offered = [
        {
            "type": "object",
            "properties": {
                "id": {"type": "string", "enum": [action.id]},
                "args": action.arguments.model_json_schema(),
            },
        }
        for action in actions
    ]
    return {"anyOf": [*offered, {"type": "null"}]}


def _read(actions: tuple[GameAction, ...], value: Any) -> Any:
    if value is None or isinstance(value, Act):
        return value
    asked = value if isinstance(value, Mapping) else {}
    action = next((one for one in actions if one.id == asked.get("id")), None)
    if action is None:
        return Act(id=str(asked.get("id", ""))[:SLUG_MAX], fault="not_offered")
    try:
        args = action.arguments.model_validate(asked.get("args") or {})
    except ValidationError as exc:
        return Act(id=action.id, fault="arguments", why=_faults(exc))
    return Act(id=action.id, args=args.model_dump(mode="json", by_alias=True, exclude_none=True))


def _faults(error: ValidationError) -> str:
    told = error.errors(include_url=False, include_input=False, include_context=False)[:3]
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in told)
