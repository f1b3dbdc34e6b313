"""Owns the reading of a finished answer: from whatever text a model wrote to the checked value that was asked for."""

import json
import re
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from service.errors import ModelBroken
from service.locales import Phrase

T = TypeVar("T", bound=BaseModel)

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_OBJECT = re.compile(r'\{\s*["}]')
_DECODER = json.JSONDecoder(strict=False)  # a raw line break inside a string is readable enough


def without_thought(text: str) -> str:
    """The text without its think blocks: closed, never closed, or closed without having been opened."""
    if not text.lstrip().startswith("{"):
        text = _THOUGHT.sub("", text)
        before, tag, after = text.partition("</think>")
        text = after if tag else before
    return text.strip()


def mend_surrogates(text: str) -> str:
    """Joins halves of a surrogate pair that a server sent in two chunks; a lone half becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_answer(text: str, answer: type[T], model: str) -> T:
    """The checked value of a text that holds one JSON object, between fences, think blocks or prose.

    The first object that fits is taken; braces in prose before it are passed over.

    Raises:
        ModelBroken: there is no JSON object, or none that fits; the reason names the field, never the whole text.
    """
    text = without_thought(text)
    reason: str | Phrase = Phrase("llm.no_object")
    start = 0
    while found := _OBJECT.search(text, start):
        try:
            value, start = _DECODER.raw_decode(text, found.start())
            return answer.model_validate(value)
        except ValidationError as exc:
            reason = _faults(exc)
        except (json.JSONDecodeError, RecursionError) as exc:
            raise ModelBroken(model=model, reason=_syntax(exc)) from exc
    raise ModelBroken(model=model, reason=reason)


def _faults(exc: ValidationError) -> str:
    errors = exc.errors(include_url=False, include_input=False, include_context=False)
    named = (f"{'.'.join(map(str, e['loc'])) or 'answer'}: {e['msg']}" for e in errors[:3])
    more = f" (and {len(errors) - 3} more)" if len(errors) > 3 else ""
    return "; ".join(named) + more


def _syntax(exc: json.JSONDecodeError | RecursionError) -> Phrase:
    if isinstance(exc, json.JSONDecodeError):
        return Phrase("llm.broken_json", reason=exc.msg, position=exc.pos)
    return Phrase("llm.nested_too_deep")
