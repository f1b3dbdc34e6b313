"""Owns the lines that a speaker suggests to a player for its next words: the form they are asked in, and how they are
found again.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, WithJsonSchema, create_model

from service.errors import NotFound
from service.store.tables import TurnRow

MOST = 4
"""Lines that may be asked for."""
LONGEST = 160
"""Characters of one; a longer one is left out."""

T = TypeVar("T", bound=BaseModel)


@lru_cache(maxsize=64)
def suggesting(turn: type[T], most: int) -> type[T]:
    """The answer `turn` with so many `choices` behind it. What is no line is left out, and spoils no turn."""
    schema = {"type": "array", "items": {"type": "string"}, "description": f"{most} lines"}
    field = Annotated[tuple[str, ...], BeforeValidator(partial(_read, most)), WithJsonSchema(schema)]
    return create_model(turn.__name__, __base__=turn, __doc__=turn.__doc__, choices=(field, ()))


def chosen(turns: Sequence[TurnRow], choice_id: str) -> tuple[TurnRow, str]:
    """The turn with which the line was suggested, and the line's words.

    Raises:
        NotFound: no such line was.
    """
    known = ((turn, one.text) for turn in turns for one in turn.suggestions if one.id == choice_id)
    found = next(known, None)
    if found is None:
        raise NotFound(kind="choice", id=choice_id)
    return found


def _read(most: int, value: Any) -> Any:
    found = value if isinstance(value, list | tuple) else ()
    lines = dict.fromkeys(" ".join(one.split()) for one in found if isinstance(one, str))
    return tuple(line for line in lines if 0 < len(line) <= LONGEST)[:most]
