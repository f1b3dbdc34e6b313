"""Owns how values are shown over HTTP: a schema names the fields of a value that travel, with the types and sentences
that they have there.
"""

import ast
import re
import sys
from collections.abc import Mapping
from enum import EnumType
from functools import lru_cache
from inspect import cleandoc, getmembers, getsource
from itertools import pairwise
from types import UnionType
from typing import Annotated, Any, Literal, Self, Union, Unpack, get_args, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from world.time import WorldTime, iso


def _as_text(value: object) -> object:
    return iso(WorldTime(value)) if isinstance(value, int) else value


WorldTimeText = Annotated[str, BeforeValidator(_as_text), Field(examples=["2026-04-01T07:00"])]
"""A world time as text; rows and values have it in minutes."""


ToldWorldTime = Annotated[WorldTime, PlainSerializer(iso, return_type=str)]
"""A world time of a value that travels as it is: a client is told it as text."""


WorldMinute = Annotated[int, "world time"]
"""A world time as rows have it."""


class Out(BaseModel, from_attributes=True, defer_build=True):
    """What a client is answered. Rows and values become it by their attributes, those within it too.

    `class NodeOut(Out, of=Node, shows="id name")` has the fields `id` and `name` as Node has them: with their types,
    where world times are text, and with the sentence under each of them as its description. `id?` may be null.
    """

    def __init_subclass__(cls, of: type | None = None, shows: str = "", **config: Unpack[ConfigDict]) -> None:
        """Raises: KeyError: no sentence stands under a field that is to be shown."""
        super().__init_subclass__(**config)
        if of is not None:
            types, sentences = get_type_hints(of, include_extras=True), _sentences_of(of)
            for name, one in getmembers(of, lambda one: isinstance(one, property)):
                types[name], sentences[name] = get_type_hints(one.fget).get("return"), one.__doc__
            if issubclass(of, BaseModel):
                sentences |= {name: field.description for name, field in of.model_fields.items() if field.description}
            travels = {name: _travelling(types[name]) for name in shows.replace("?", "").split()}
            travels |= {name: travels[name] | None for name in re.findall(r"(\w+)\?", shows)}
            fields = {name: Annotated[kind, Field(description=sentences[name])] for name, kind in travels.items()}
            cls.__annotations__ = fields | cls.__annotations__

    @classmethod
    def of(cls, source: object, /, **more: Any) -> Self:
        """What is called the same in `source`, and `more`, which wins."""
        names = {field.validation_alias or name for name, field in cls.model_fields.items() if name not in more}
        own = {name: getattr(source, name) for name in map(str, names) if hasattr(source, name)}
        return cls.model_validate(own | more)


class OutWithValues(Out):
    """An answer with fields that are dataclasses: one that travels whole needs no class of its own. The sentences under
    its fields describe them.
    """

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Only now, for beneath its own fields pydantic would look for sentences, which costs 20 ms a class."""
        cls.model_config["use_attribute_docstrings"] = True


def _travelling(kind: Any) -> Any:
    """World times are text; of words it is said which (`Annotated[str, Phase]`: those of Phase)."""
    if kind in (WorldTime, WorldMinute):
        return WorldTimeText
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(map(_travelling, get_args(kind)))]  # noqa: UP007 - of a tuple
    if get_origin(kind) is Annotated and kind.__origin__ is str:
        words = kind.__metadata__[0]
        return words if isinstance(words, EnumType) or get_origin(words) is Literal else kind
    return kind


def _sentences_of(value: type) -> dict[str, str]:
    """The sentence under each field of a class, those of its bases in the same package included."""
    found = dict[str, str]()
    for one in reversed(value.__mro__):
        if one.__module__.partition(".")[0] == value.__module__.partition(".")[0]:
            found |= _sentences_in(one.__module__).get(one.__name__, {})
    return found


@lru_cache
def _sentences_in(module: str) -> Mapping[str, Mapping[str, str]]:
    """By class and field. Python itself keeps no text that stands under a field."""
    classes = (node for node in ast.parse(getsource(sys.modules[module])).body if isinstance(node, ast.ClassDef))
    return {
        one.name: {
            field.target.id: " ".join(cleandoc(text.value.value).split())
            for field, text in pairwise(one.body)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
        }
        for one in classes
    }
