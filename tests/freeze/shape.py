"""Owns the shape of an answer: its keys and the types of their values; and what of one shape is lost in another."""

from typing import Any

Shape = dict[str, Any]
"""Of an object: its keys' shapes. Of a list: ``{"[]": shape of its items}``. Of any other value: its type's name."""

_NAMES: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def shape_of(value: Any) -> Shape | str:
    """The shape of a JSON value; of a list's items all that any of them has."""
    if isinstance(value, dict):
        return {key: shape_of(member) for key, member in value.items()}
    if isinstance(value, list):
        items: Shape | str = {}
        for item in value:
            items = _joined(items, shape_of(item))
        return {"[]": items}
    return _NAMES[type(value)]


def lost(recorded: Shape | str, now: Shape | str, path: str = "") -> list[str]:
    """What of the record is no longer there: keys that are missing, values of another type than then.

    What was null then may be anything now: openapi.json says what it can be.
    """
    if isinstance(recorded, dict) and isinstance(now, dict):
        return [
            told
            for key, member in recorded.items()
            for told in (lost(member, now[key], f"{path}.{key}") if key in now else [f"{path}.{key} is missing"])
        ]
    if recorded == "null" or (isinstance(recorded, str) and isinstance(now, str) and _types(now) <= _types(recorded)):
        return []
    return [f"{path} was {recorded}, now it is {now}"]


def _types(names: str) -> set[str]:
    return set(names.split("|"))


def _joined(one: Shape | str, other: Shape | str) -> Shape | str:
    """Both shapes in one; an object and a value that is none go together only where the value is null."""
    if not one or one == other:
        return other
    if isinstance(one, dict) and isinstance(other, dict):
        both = {key: _joined(one[key], other[key]) for key in one.keys() & other.keys()}
        return {**one, **other, **both}
    if isinstance(one, dict) or isinstance(other, dict):
        return one if isinstance(one, dict) else other
    return "|".join(sorted(_types(one) | _types(other)))
