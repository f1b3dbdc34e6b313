"""What pydantic finds wrong in a content file, as problems in our words."""

from collections.abc import Iterator
from typing import get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from service.content.problem import ContentProblem, Key, closest, found, hint, problem, quote
from service.locales import Listed, Phrase, languages
from world.actions import BUILT_IN
from world.ids import SLUG_MAX

_BUILT_IN = ", ".join(sorted(BUILT_IN))
_LANGUAGES = Listed(map(quote, languages()), last="common.or")


def schema_errors(model: type[BaseModel], file: str, error: ValidationError) -> Iterator[ContentProblem]:
    """Every way in which a file's values are not in the model's form."""
    errors = error.errors(include_url=False)
    misspelt = {_meant(model, error) for error in errors if error["type"] == "extra_forbidden"}
    for one in errors:
        if one["type"] == "missing" and one["loc"] in misspelt:
            continue  # the unknown key beside it says what to do
        if one["type"] == "too_short" and one["input"]:
            continue  # its items are wrong, and say so
        yield _problem(model, file, one)


def _problem(model: type[BaseModel], file: str, error: ErrorDetails) -> ContentProblem:
    key, kind = error["loc"], error["type"]
    if kind.startswith("string_") and key[-1] == "[key]":  # the place of an error in a mapping's key, not in its value
        key = (*key[:-2], str(key[-2]))
    if kind == "missing":
        return problem(file, key, "content.missing", name=quote(str(key[-1])))
    if kind in {"extra_forbidden", "invalid_key"}:
        name, known = str(key[-1]), _keys_of(model, key[:-1])
        hinted = hint(name, known)
        return problem(
            file, (*key[:-1], name), "content.unknown_key", name=quote(name), known=", ".join(known), hint=hinted
        )
    facts = error.get("ctx", {})
    choices = str(facts.get("expected")).replace("'", '"')
    facts = {**facts, "choices": choices, "most": SLUG_MAX, "built_in": _BUILT_IN, "languages": _LANGUAGES}
    expected = Phrase(f"content.expected.{kind}", **facts)
    return problem(file, key, "content.mismatch", found=found(error["input"]), expected=expected)


def _meant(model: type[BaseModel], error: ErrorDetails) -> Key:
    *above, name = error["loc"]
    return (*above, closest(str(name), _keys_of(model, tuple(above))) or "")


def _keys_of(model: type[BaseModel], key: Key) -> list[str]:
    """The keys that may stand in the mapping at `key`. What is no key of a model is one of a mapping from ids."""
    for name in key:
        field = next((f for f in model.model_fields.values() if f.alias == name), None)
        model = (field and _model_in(field.annotation)) or model
    return [str(field.alias) for field in model.model_fields.values()]


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part))), None)
