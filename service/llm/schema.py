"""Owns the JSON Schema of a response model, in the forms that servers understand."""

import json
import re
from functools import cache
from typing import Any

from pydantic import BaseModel

_BOUNDS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "pattern": "matching {}",
    "format": "in the format {}",
}
"""Keywords that some servers refuse; said in the description they still reach the model."""


@cache
def schema_text(answer: type[BaseModel], *, bounded: bool = True) -> str:
    """The schema as compact JSON: references inlined, every field required, nothing beside them allowed.

    With `bounded` False the bounds of strings, numbers and lists move into the descriptions.

    Raises:
        ValueError: the response model refers to itself, so that its answer would have no end.
    """
    schema = answer.model_json_schema()
    plain = _plain(schema, schema.get("$defs", {}), (), bounded)
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def schema_name(answer: type[BaseModel]) -> str:
    """A name for the schema, in the letters that OpenAI allows."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", answer.__name__)[:64]


def _plain(node: Any, defs: dict[str, Any], within: tuple[str, ...], bounded: bool) -> Any:
    if isinstance(node, list):
        return [_plain(item, defs, within, bounded) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        if name in within:
            raise ValueError(f"the response model {name} refers to itself")
        beside = {key: value for key, value in node.items() if key != "$ref"}
        # A docstring speaks to who reads the code, and costs tokens in every call.
        named = {key: value for key, value in defs[name].items() if key != "description"}
        return _plain({**named, **beside}, defs, (*within, name), bounded)
    result: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":
            result[key] = {name: _plain(field, defs, within, bounded) for name, field in value.items()}
        elif key in ("enum", "const"):
            result[key] = value
        elif key not in ("title", "default", "$defs"):
            result[key] = _plain(value, defs, within, bounded)
    if "properties" in result:
        result.pop("description", None)
        result |= {"required": list(result["properties"]), "additionalProperties": False}
    return result if bounded else _said(result)


def _said(node: dict[str, Any]) -> dict[str, Any]:
    """The same node with its bounds in words."""
    words = [said.format(node[key]) for key, said in _BOUNDS.items() if key in node]
    kept = {key: value for key, value in node.items() if key not in _BOUNDS}
    if words:
        bounds = ", ".join(words)
        kept["description"] = f"{kept['description']} ({bounds})" if "description" in kept else bounds
    return kept
