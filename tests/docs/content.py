"""Owns the tables of keys in the docs, made from the files' models. `python -m tests.docs.content` writes them anew."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from service.content.actions import ActionsFile
from service.content.fields import UNWRITTEN, ContentModel, Text
from service.content.groups import GroupsFile
from service.content.lore import LoreFile
from service.content.maps import MapsFile
from service.content.persona import FactEntry
from service.content.persons import CharacterFile, NpcFile, PersonFile
from service.content.scenes import SceneFile
from service.generate.sessions.file import SessionsFile
from service.testing.file import TestsFile
from world.places import ALWAYS_OPEN

_DOCS = Path(__file__).parents[2] / "docs"
FILE = _DOCS / "content.md"
MODELS: Mapping[str, type[ContentModel]] = {
    "maps.json": MapsFile,
    "actions.json": ActionsFile,
    "npcs/*.yaml": NpcFile,
    "characters/*.yaml": CharacterFile,
    "lore/*.yaml": LoreFile,
    "scenes/*.yaml": SceneFile,
}
"""Every content file's model."""

PAGES: Mapping[Path, Mapping[str, type[ContentModel]]] = {
    FILE: MODELS,
    _DOCS / "testing-your-cast.md": {"cast-tests/*.yaml": TestsFile},
    _DOCS / "generate.md": {"groups.yaml": GroupsFile, "sessions.yaml": SessionsFile},
}
"""Each page's files."""

_HEAD = "| key | type | default | meaning | 意味 |\n|---|---|---|---|---|"
_WORDS = {"[]": "`[]`", "{}": "`{}`", "null": "none / なし", "Infinity": "no bound / 限りなし"}


def page(text: str, models: Mapping[str, type[ContentModel]]) -> str:
    """The page with the table of each file made anew."""
    for file, model in models.items():
        begin, end = f"<!-- keys of {file} -->", f"<!-- end of {file} -->"
        before, found, rest = text.partition(begin)
        after = rest.partition(end)[2]
        if not found or not after:
            raise LookupError(f"no place for the keys of {file}")
        told = keys(model) if model is not CharacterFile else _beside_those_of_npcs()
        text = before + "\n".join((begin, _HEAD, *map(_row, told), end)) + after
    return text


Key = tuple[str, str, FieldInfo]
"""Where a key stands (`maps[].nodes[].id`), its type, and the model's field."""


def keys(model: type[ContentModel], above: str = "") -> Iterator[Key]:
    """Every key that may stand in a file, those in lists and mappings too."""
    schema = model.model_json_schema()
    for name, field in model.model_fields.items():
        if name in Text.model_fields:  # a text's languages are told once, above the tables
            continue
        told = schema["properties"][field.alias]
        path = f"{above}{field.alias}"
        yield path, _type(schema, told), field
        inside = _model_in(field.annotation)
        if inside not in (None, PersonFile):  # a person's keys are those of npcs/*.yaml
            yield from keys(inside, f"{path}{_step(told)}.")


def _beside_those_of_npcs() -> Iterator[Key]:
    """The keys of characters that no table has told before."""
    told = {path for path, _, _ in keys(NpcFile)}
    return (key for key in keys(CharacterFile) if key[0] not in told)


def _row(key: Key) -> str:
    path, kind, field = key
    meaning, _, in_japanese = (field.description or "").partition(" / ")
    return f"| `{path}` | {kind} | {_default(field)} | {meaning} | {in_japanese} |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required / 必須"
    if field.default is UNWRITTEN:
        return "empty / 空"
    if field.default is ALWAYS_OPEN:
        return "always / いつでも"
    if isinstance(field.default, ContentModel):
        return "`{}`"
    written = json.dumps(field.default).removeprefix("-")
    return _WORDS.get(written, f"`{json.dumps(field.default)}`")


def _type(schema: Mapping[str, Any], field: Mapping[str, Any]) -> str:
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        return "text" if name in (Text.__name__, FactEntry.__name__) else _type(schema, schema["$defs"][name])
    if "anyOf" in field:
        return " or ".join(_type(schema, one) for one in field["anyOf"] if one != {"type": "null"})
    if "enum" in field:
        return ", ".join(f"`{word}`" for word in field["enum"])
    if not field:
        return "any value"
    if field["type"] == "array":
        least = ", at least one" if field.get("minItems") else ""
        return f"list of {_type(schema, field['items'])}{least}"
    if field.get("additionalProperties"):
        return f"mapping of ids to {_type(schema, field['additionalProperties'])}"
    if "examples" in field:
        return f'string, as `"{field["examples"][0]}"`'
    return f"{field['type']}{_bounds(field)}"


def _bounds(field: Mapping[str, Any]) -> str:
    least, most = field.get("minimum"), field.get("maximum")
    return "" if least is None else f", {least:,.0f} to {most:,.0f}"


def _step(field: Mapping[str, Any]) -> str:
    """How a path goes on into what stands in a list or in a mapping from ids."""
    return "[]" if field.get("type") == "array" else ".<id>" if field.get("additionalProperties") else ""


def _model_in(annotation: Any) -> type[ContentModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, ContentModel):
        return None if annotation is Text else annotation
    return next((model for part in getattr(annotation, "__args__", ()) if (model := _model_in(part))), None)


if __name__ == "__main__":
    for place, models in PAGES.items():
        place.write_text(page(place.read_text("utf-8"), models), encoding="utf-8")
