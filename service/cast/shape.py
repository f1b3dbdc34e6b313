"""Owns the translation of pydantic's findings into content problems with our words, in both languages."""

from collections.abc import Iterator
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from service.cast.files import EXPECTED, Written
from service.cast.problem import ContentProblem, Key, closest, hint, mismatch, problem, quote
from service.cast.read import Document

M = TypeVar("M", bound=Written)

_OF_THE_KEY = "[key]"
"""How pydantic ends the place of an error in a mapping's key, not in its value."""

_EXPECTATIONS = {
    "bool_type": ("true or false", "true か false "),
    "dict_type": ("a mapping", "マッピング"),
    "finite_number": ("a finite number", "有限の数"),
    "float_type": ("a number such as 12.5", "12.5 のような数"),
    "greater_than_equal": ("a whole number of {ge} or more", "{ge} 以上の整数"),
    "int_type": ("a whole number such as 3", "3 のような整数"),
    "less_than_equal": ("a whole number of {le} or less", "{le} 以下の整数"),
    "list_type": ("a list", "リスト"),
    "model_attributes_type": ("a mapping", "マッピング"),
    "model_type": ("a mapping", "マッピング"),
    "string_type": ("a text in quotes", "引用符で囲んだ文字列"),
    "tuple_type": ("a list", "リスト"),
    EXPECTED: ("{en}", "{ja}"),
}


def shape(model: type[M], document: Document) -> tuple[M | None, tuple[ContentProblem, ...]]:
    """The document's values in the model's form (None if they do not fit), and every way in which they do not."""
    if not document.readable:
        return None, ()
    try:
        return model.model_validate(document.data), ()
    except ValidationError as exc:
        return None, tuple(_translate(model, document, exc.errors(include_url=False)))


def _translate(model: type[BaseModel], document: Document, errors: list[ErrorDetails]) -> Iterator[ContentProblem]:
    misspelt = {_meant(model, error) for error in errors if error["type"] == "extra_forbidden"}
    for error in errors:
        if error["type"] == "missing" and error["loc"] in misspelt:
            continue  # the unknown key beside it says what to do
        yield _problem(model, document.file, error)


def _problem(model: type[BaseModel], file: str, error: ErrorDetails) -> ContentProblem:
    key, kind, context = error["loc"], error["type"], error.get("ctx", {})
    if len(key) > 1 and key[-1] == _OF_THE_KEY and str(error["input"]) == str(key[-2]):
        key = (*key[:-2], str(key[-2]))
    if kind == "missing":
        name = quote(str(key[-1]))
        return problem(
            file, key, f"the key is missing; expected {name} here", f"キーがありません。{name} を書いてください"
        )
    if kind in {"extra_forbidden", "invalid_key"}:
        return _unknown_key(model, file, key)
    if kind == "literal_error":
        choices = str(context["expected"]).replace("'", '"')
        ja = choices.replace(", ", "、").replace(" or ", "、") + " のどれか"
        return mismatch(file, key, error["input"], choices, ja)
    en, ja = _EXPECTATIONS.get(kind, (error["msg"], error["msg"]))
    return mismatch(file, key, error["input"], _fill(en, context), _fill(ja, context))


def _fill(text: str, context: dict[str, Any]) -> str:
    return text.format(**context) if "{" in text else text


def _unknown_key(model: type[BaseModel], file: str, key: Key) -> ContentProblem:
    parent, name = key[:-1], str(key[-1])
    known = _keys_of(model, parent)
    guess_en, guess_ja = hint(name, known)
    return problem(
        file,
        (*parent, name),
        f"unknown key {quote(name)}; expected one of {', '.join(known)}{guess_en}",
        f"キー {quote(name)} は使えません。使えるのは {', '.join(known)} です{guess_ja}",
    )


def _meant(model: type[BaseModel], error: ErrorDetails) -> Key:
    *parent, name = error["loc"]
    return (*parent, closest(str(name), _keys_of(model, tuple(parent))) or "")


def _keys_of(model: type[BaseModel], key: Key) -> list[str]:
    """The keys that may stand in the mapping at `key`. What is no key of a model is one of a mapping from ids."""
    for name in key:
        field = next((f for n, f in model.model_fields.items() if name in {n, f.alias}), None)
        if field is not None:
            model = _model_in(field.annotation) or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
