"""Owns docs/events.md, made from the events' own classes. `python -m tests.docs.events` writes it anew."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.store.event_kinds import IN_A_MINUTE, PAYLOADS, CommitmentKept, Payload
from tests.docs import content

FILE = Path(__file__).parents[2] / "docs" / "events.md"

_HEAD = """# Events

What happens in a world is told by `GET /world/events`, by the answer of a tick, and by an export.
Each event is an object:

| field | type | meaning |
|---|---|---|
| `id` | integer | grows within a world; `after=` asks for what is later |
| `at` | string | the world time, `YYYY-MM-DDTHH:MM` |
| `kind` | string | one of those below; it says what `data` is |
| `person_id` | string or null | whose event it is; null: nobody's |
| `data` | object | the fields below; those marked (may be left out) are there only where there is something to say |

Made from `service/store/event_kinds.py` by `python -m tests.docs.events`; a test fails where this page says
something else.

Within one minute of the world a story tells what happens in the order of this page, up to `{last}`. The kinds after
that one are told at once, when an author or the service acts.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tongue:
    """How a page tells of fields in its language: `told` is a sentence of the models in it."""

    words: content.Words
    shared: str
    as_shared: str
    whole: str
    inside: str
    left_out: str
    told: Callable[[str], str]


ENGLISH = Tongue(
    words=content.ENGLISH,
    shared="Fields of several kinds",
    as_shared="- {}: [below](#fields-of-several-kinds)",
    whole="An event of the kind `{}`, whole; `openapi.json` has an example of each field:",
    inside="object ({})",
    left_out="{} (may be left out)",
    told=str,
)


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD.format(last=IN_A_MINUTE[-1].kind), *sections(PAYLOADS, example(CommitmentKept))])


def example(payload: type[Payload]) -> dict[str, Any]:
    """An event as it travels, made of its fields' examples."""
    return {
        "id": 42,
        "at": "2026-04-01T07:30",
        "kind": payload.kind,
        "person_id": _person(payload),
        "data": example_data(payload),
    }


def example_data(payload: type[Payload]) -> dict[str, Any]:
    """What an event tells, made of its fields' examples."""
    schema = payload.model_json_schema(mode="serialization")
    return {name: _example(schema, field) for name, field in schema.get("properties", {}).items()}


def sections(payloads: Sequence[type[Payload]], shown: Mapping[str, Any], tongue: Tongue = ENGLISH) -> Iterator[str]:
    """What the page says of each kind, then of the fields that several kinds have; `shown` is an event."""
    fields = {payload: _fields(payload, tongue) for payload in payloads}
    often = Counter((name, line) for lines in fields.values() for name, line in lines.items())
    known = {name: line for (name, line), times in reversed(often.most_common()) if times > 1}
    for payload, lines in fields.items():
        yield f"## {payload.kind}\n\n{tongue.told(' '.join((payload.__doc__ or '').split()))}\n"
        shared = [f"`{name}`" for name, line in lines.items() if line == known.get(name)]
        told = [line for name, line in lines.items() if line != known.get(name)]
        if shared:
            told.append(tongue.as_shared.format(tongue.words.several.join(shared)))
        if told:
            yield "\n".join(told) + "\n"
    yield f"## {tongue.shared}\n"
    yield "\n".join(line for name, line in often if line == known.get(name)) + "\n"
    yield tongue.whole.format(shown["kind"]) + "\n"
    yield "```json\n" + json.dumps(shown, ensure_ascii=False) + "\n```\n"


def _person(payload: type[Payload]) -> str | None:
    return None if "Nobody's event." in (payload.__doc__ or "") else "aoi"


def _fields(payload: type[Payload], tongue: Tongue) -> dict[str, str]:
    """What the page says of each field of a kind, by its name."""
    schema = payload.model_json_schema(mode="serialization")
    return {
        name: f"- `{name}` ({_type(schema, field, tongue)}): {_meaning(schema, name, field, tongue)}"
        for name, field in schema.get("properties", {}).items()
    }


def _meaning(schema: Mapping[str, Any], name: str, field: Mapping[str, Any], tongue: Tongue) -> str:
    words = tongue.told(field.get("description", "")).replace("|", "\\|")
    return words if name in schema.get("required", ()) else tongue.left_out.format(words)


def _type(schema: Mapping[str, Any], field: Mapping[str, Any], tongue: Tongue) -> str:
    words = tongue.words
    if "$ref" in field:
        return _type(schema, _referred(schema, field), tongue)
    if "anyOf" in field:
        given = [one for one in field["anyOf"] if one != _NULL or "default" not in field]
        return words.either.join(_type(schema, one, tongue) for one in given)
    if named := field.get("enum") or ([field["const"]] if "const" in field else []):
        return words.several.join(f"`{one}`" for one in named)
    if "type" not in field:
        return words.kinds["any"]
    if field["type"] == "array":
        return words.list_of.format(_type(schema, field["items"], tongue))
    if "properties" in field:
        fields = (f"`{name}`: {_type(schema, one, tongue)}" for name, one in field["properties"].items())
        return tongue.inside.format(words.several.join(fields))
    return words.kinds.get(field["type"], field["type"])


_NULL = {"type": "null"}


def _example(schema: Mapping[str, Any], field: Mapping[str, Any]) -> Any:
    if "examples" in field:
        return field["examples"][0]
    if field.get("type") == "array":
        return [_example(schema, field["items"])]
    if "$ref" in field:
        fields = _referred(schema, field)["properties"]
        return {name: _example(schema, one) for name, one in fields.items()}
    raise LookupError(f"a field without an example: {field}")


def _referred(schema: Mapping[str, Any], field: Mapping[str, Any]) -> Mapping[str, Any]:
    referred: Mapping[str, Any] = schema["$defs"][field["$ref"].rsplit("/", 1)[-1]]
    return referred


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
