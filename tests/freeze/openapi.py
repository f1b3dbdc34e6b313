"""Owns what a description of an API promises, as single lines that two descriptions can be compared by."""

import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from service.app import create_app
from service.settings import Settings

Promises = frozenset[str]


@cache
def description() -> dict[str, Any]:
    """The openapi.json that the service answers with today. To make it takes a second; it is not to be changed."""
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(_env_file=None, data_dir=Path(directory), llm={"provider": "rehearsal"})
        return create_app(settings).openapi()


def promises(described: Mapping[str, Any]) -> Promises:
    """Every operation, parameter, status, and every field of what is sent and answered, with its types and values."""
    return frozenset(
        line for name, operation in _operations(described) for line in _promises(described, name, operation)
    )


def demands(described: Mapping[str, Any]) -> Promises:
    """What a client must send: parameters and fields without which a request is refused."""
    return frozenset(
        line for name, operation in _operations(described) for line in _demands(described, name, operation)
    )


def _operations(described: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def _promises(described: Mapping[str, Any], name: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield name
    for parameter in operation.get("parameters", ()):
        place = f"{name} {parameter['in']} {parameter['name']}"
        yield place
        yield from _fields(described, parameter["schema"], place)
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"{name} takes {kind}"
        yield from _fields(described, content["schema"], f"{name} takes ")
    for status, response in operation["responses"].items():
        yield f"{name} answers {status}"
        for kind, content in response.get("content", {}).items():
            yield f"{name} answers {status} {kind}"
            yield from _fields(described, content.get("schema", {}), f"{name} answers {status} ")


def _demands(described: Mapping[str, Any], name: str, operation: Mapping[str, Any]) -> Iterator[str]:
    for parameter in operation.get("parameters", ()):
        if parameter.get("required"):
            yield f"{name} {parameter['in']} {parameter['name']}"
    for content in operation.get("requestBody", {}).get("content", {}).values():
        for place, schema in _objects(described, content["schema"], f"{name} takes "):
            yield from (f"{place}.{field}" for field in schema.get("required", ()))


def _fields(described: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> Iterator[str]:
    """A line for every type the value may have, every word it may be, and the fields below it."""
    for plain in _alternatives(described, schema, ()):
        if "type" in plain:
            yield f"{place}: {plain['type']}"
        for word in (*plain.get("enum", ()), *([plain["const"]] if "const" in plain else ())):
            yield f"{place}: {word!r}"
        for field, member in plain.get("properties", {}).items():
            yield f"{place}.{field}"
            yield from _fields(described, member, f"{place}.{field}")
        if "items" in plain:
            yield from _fields(described, plain["items"], f"{place}[]")
        if isinstance(plain.get("additionalProperties"), dict):
            yield from _fields(described, plain["additionalProperties"], f"{place}{{}}")


def _objects(
    described: Mapping[str, Any], schema: Mapping[str, Any], place: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object in a value, named by its constant fields: ``(do)`` is what has "do" as its `type`."""
    for plain in _alternatives(described, schema, ()):
        fields = plain.get("properties", {})
        constants = ",".join(str(member["const"]) for member in fields.values() if "const" in member)
        one = f"{place}({constants})" if constants else place
        if fields:
            yield one, plain
        for field, member in fields.items():
            yield from _objects(described, member, f"{one}.{field}")


def _alternatives(
    described: Mapping[str, Any], schema: Mapping[str, Any], within: tuple[str, ...]
) -> Iterator[Mapping[str, Any]]:
    """The schemas a value may follow, references and alternatives taken apart."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        if name not in within:
            yield from _alternatives(described, described["components"]["schemas"][name], (*within, name))
        return
    parts = [part for key in ("anyOf", "oneOf", "allOf") for part in schema.get(key, ())]
    for part in parts:
        yield from _alternatives(described, part, within)
    if not parts:
        yield schema
