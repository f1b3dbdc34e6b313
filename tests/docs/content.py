"""Owns the lists of keys in the docs, made from the files' models. `python -m tests.docs.content` writes them anew."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from service.content.actions import ActionsFile
from service.content.fields import UNWRITTEN, ContentModel, TextForm
from service.content.groups import GroupsFile
from service.content.lore import LoreFile
from service.content.maps import MapsFile
from service.content.persons import CharacterFile, FactEntry, NpcFile, PersonFile
from service.content.scenes import Scene
from studio.generate.sessions.plan import SessionsFile
from studio.testing.file import TestsFile
from world.places import ALWAYS_OPEN

DOCS = Path(__file__).parents[2] / "docs"
MODELS: Mapping[str, type[ContentModel]] = {
    "maps.json": MapsFile,
    "actions.json": ActionsFile,
    "npcs/*.yaml": NpcFile,
    "characters/*.yaml": CharacterFile,
    "lore/*.yaml": LoreFile,
    "scenes/*.yaml": Scene,
}
"""Every content file's model."""

PAGES: Mapping[str, Mapping[str, type[ContentModel]]] = {
    "content": MODELS,
    "testing-your-cast": {"cast-tests/*.yaml": TestsFile},
    "generate": {"groups.yaml": GroupsFile, "sessions.yaml": SessionsFile},
}
"""The files that each page tells of, in every language in which the page is there."""


@dataclass(frozen=True)
class Words:
    """What a list says of types and defaults in one language."""

    key: str
    required: str
    default: str
    always: str
    no_bound: str
    kinds: Mapping[str, str]
    either: str
    several: str
    list_of: str
    not_empty: str
    by_id: str
    as_in: str
    bounds: str


ENGLISH = Words(
    key="- `{}` ({}): {}",
    required="{}, required",
    default="{}; else {}",
    always="always",
    no_bound="no bound",
    kinds={"any": "any value"},
    either=" or ",
    several=", ",
    list_of="list of {}",
    not_empty=", at least one",
    by_id="mapping of ids to {}",
    as_in='{}, as `"{}"`',
    bounds=", {:,.0f} to {:,.0f}",
)
JAPANESE = Words(
    key="- `{}`({}): {}",
    required="{}、必須",
    default="{}、なければ{}",
    always="いつでも",
    no_bound="限りなし",
    kinds={
        "any": "任意の値",
        "text": "文章",
        "string": "文字列",
        "integer": "整数",
        "number": "数",
        "boolean": "真偽値",
        "object": "マッピング",
    },
    either="、",
    several="、",
    list_of="{}のリスト",
    not_empty="(1つ以上)",
    by_id="idごとの{}",
    as_in='{}(`"{}"` の形)',
    bounds="({:,.0f}〜{:,.0f})",
)


def pages() -> Iterator[tuple[Path, str]]:
    """Each page that is there, with its text as the models have it today."""
    for name, models in PAGES.items():
        for file in sorted(DOCS.glob(f"{name}.*md")):
            words = JAPANESE if file.name.endswith(".ja.md") else ENGLISH
            yield file, _page(file, models, words)


def _page(file: Path, models: Mapping[str, type[ContentModel]], words: Words) -> str:
    text = file.read_text("utf-8")
    for named, model in models.items():
        begin, end = f"<!-- keys of {named} -->", f"<!-- end of {named} -->"
        before, found, rest = text.partition(begin)
        after = rest.partition(end)[2]
        if not found or not after:
            raise LookupError(f"{file.name}: no place for the keys of {named}")
        told = keys(model, words) if model is not CharacterFile else _beside_those_of_npcs(words)
        text = before + "\n".join((begin, *(_line(key, words) for key in told), end)) + after
    return text


Key = tuple[str, str, FieldInfo]
"""Where a key stands (`maps[].nodes[].id`), its type, and the model's field."""


def keys(model: type[ContentModel], words: Words = ENGLISH, above: str = "") -> Iterator[Key]:
    """Every key that may stand in a file, those in lists and mappings too."""
    schema = model.model_json_schema()
    for name, field in model.model_fields.items():
        if name in TextForm.model_fields:  # a text's languages are told once, above the lists
            continue
        told = schema["properties"][field.alias]
        path = f"{above}{field.alias}"
        yield path, _type(schema, told, words), field
        inside = _model_in(field.annotation)
        if inside not in (None, PersonFile):  # a person's keys are those of npcs/*.yaml
            yield from keys(inside, words, f"{path}{_step(told)}.")


def _beside_those_of_npcs(words: Words) -> Iterator[Key]:
    """The keys of characters that no list has told before."""
    told = {path for path, _, _ in keys(NpcFile)}
    return (key for key in keys(CharacterFile, words) if key[0] not in told)


def _line(key: Key, words: Words) -> str:
    path, kind, field = key
    in_english, _, in_japanese = (field.description or "").partition(" / ")
    return words.key.format(path, _with_default(kind, field, words), in_japanese if words is JAPANESE else in_english)


def _with_default(kind: str, field: FieldInfo, words: Words) -> str:
    """The type, and what holds where the key is left out; nothing of it where that is nothing."""
    if field.is_required():
        return words.required.format(kind)
    if field.default is ALWAYS_OPEN:
        return words.default.format(kind, words.always)
    if isinstance(field.default, float) and math.isinf(field.default):
        return words.default.format(kind, words.no_bound)
    if field.default is UNWRITTEN or isinstance(field.default, ContentModel) or field.default in (None, "", (), {}, []):
        return kind
    return words.default.format(kind, f"`{json.dumps(field.default)}`")


def _type(schema: Mapping[str, Any], field: Mapping[str, Any], words: Words) -> str:
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        is_text = name in (TextForm.__name__, FactEntry.__name__)
        return _kind("text", words) if is_text else _type(schema, schema["$defs"][name], words)
    if "anyOf" in field:
        return words.either.join(_type(schema, one, words) for one in field["anyOf"] if one != {"type": "null"})
    if "enum" in field:
        return words.several.join(f"`{word}`" for word in field["enum"])
    if not field:
        return _kind("any", words)
    if field["type"] == "array":
        listed = words.list_of.format(_type(schema, field["items"], words))
        return f"{listed}{words.not_empty if field.get('minItems') else ''}"
    if field.get("additionalProperties"):
        return words.by_id.format(_type(schema, field["additionalProperties"], words))
    kind = _kind(field["type"], words)
    if "examples" in field:
        return words.as_in.format(kind, field["examples"][0])
    return f"{kind}{_bounds(field, words)}"


def _kind(name: str, words: Words) -> str:
    return words.kinds.get(name, name)


def _bounds(field: Mapping[str, Any], words: Words) -> str:
    least, most = field.get("minimum"), field.get("maximum")
    return "" if least is None else words.bounds.format(least, most)


def _step(field: Mapping[str, Any]) -> str:
    """How a path goes on into what stands in a list or in a mapping from ids."""
    return "[]" if field.get("type") == "array" else ".<id>" if field.get("additionalProperties") else ""


def _model_in(annotation: Any) -> type[ContentModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, ContentModel):
        return annotation
    return next((model for part in getattr(annotation, "__args__", ()) if (model := _model_in(part))), None)


if __name__ == "__main__":
    for place, text in pages():
        place.write_text(text, encoding="utf-8")
