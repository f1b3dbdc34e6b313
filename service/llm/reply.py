"""Owns what came back for a prompt, whole or in pieces, and what it amounts to: the utterance so far, and in the end
the checked value that was asked for, or an error.
"""

import json
import re
import time
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from service.errors import ModelBroken, ModelEmpty, ModelRefused, ModelTruncated
from service.llm.chat import Prompt, T, TextListener, estimate_tokens, prompt_tokens
from service.llm.marks import certain, without_marks
from service.locales import Phrase
from service.usage import Usage

_BEGINNING = re.compile(r'\{\s*(?=["}]|$)')
"""Where the answer's object begins; prose in braces has another letter next."""
_HALF = re.compile("[\ud800-\udbff]$")
"""The first half of a character that a server sends in two chunks."""


class PartialString:
    """The growing value of one top-level string of a JSON object, fed in pieces of any size.

    Only whole characters are ever shown: an escape or a surrogate pair is held back until it is complete. Think
    blocks and prose before the object are passed over; prose in braces is not taken for the object.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._text = ""
        self._answer = ""
        self._value = ""
        self._found: dict[str, Any] = {}

    def feed(self, piece: str) -> str:
        """Read on; returns the whole value so far ("" before it begins)."""
        self._text += piece
        answer = without_thought(_HALF.sub("", self._text))
        if not answer.startswith(self._answer):
            self._value = ""  # what looked like the answer was a draft in a thought
        self._answer = answer
        begins = _BEGINNING.search(answer)
        if begins is not None:
            self._value = self._read(answer[begins.start() :])
        return self._value

    def before(self, key: str) -> str | None:
        """The string of that key, where it stands before this one."""
        keys = [*self._found]
        value = self._found.get(key)
        known = key in keys and self._key in keys and keys.index(key) < keys.index(self._key)
        return value if known and isinstance(value, str) else None

    def _read(self, text: str) -> str:
        try:
            self._found = found = from_json(mend_surrogates(text), allow_partial="trailing-strings")
        except ValueError:  # half a character, or something behind the object: what was read stays
            return self._value
        value = found.get(self._key)
        return value if isinstance(value, str) else self._value


_THOUGHT = re.compile(r"[ \t]*<think>.*?(?:</think>|\Z)", re.DOTALL)
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

    The first object that fits is taken; braces in prose before it are passed over, and so are keys nobody asked for.
    What is no word is taken out of its strings.

    Raises:
        ModelBroken: there is no JSON object, or none that fits; the reason names the field, never the whole text.
    """
    text = without_thought(text)
    reason: str | Phrase = Phrase("llm.no_object")
    start = 0
    while found := _OBJECT.search(text, start):
        try:
            value, start = _DECODER.raw_decode(text, found.start())
            return answer.model_validate(_in_words(value), extra="ignore")
        except ValidationError as exc:
            reason = _faults(exc)
        except json.JSONDecodeError as exc:
            broken = Phrase("llm.broken_json", reason=exc.msg, position=exc.pos)
            raise ModelBroken(model=model, reason=broken) from exc
        except RecursionError as exc:
            raise ModelBroken(model=model, reason=Phrase("llm.nested_too_deep")) from exc
    raise ModelBroken(model=model, reason=reason)


def _in_words(value: Any) -> Any:
    """The value without what is no word in its strings: thoughts, control tokens, template marks."""
    if isinstance(value, str):
        return without_marks(_THOUGHT.sub("", value))
    if isinstance(value, list):
        return [_in_words(one) for one in value]
    return {key: _in_words(one) for key, one in value.items()} if isinstance(value, dict) else value


def _faults(exc: ValidationError) -> str:
    errors = exc.errors(include_url=False, include_input=False, include_context=False)
    named = (f"{'.'.join(map(str, e['loc'])) or 'answer'}: {e['msg']}" for e in errors[:3])
    more = f" (and {len(errors) - 3} more)" if len(errors) > 3 else ""
    return "; ".join(named) + more


class BrokenOff(Exception):
    """The reply ended in the middle, without a finish reason: the connection, not the model, is at fault."""


@dataclass(kw_only=True, slots=True)
class Reply:
    """One reply. `thought`: the model thought before it answered. `usage` None: the server did not report it."""

    content: str = ""
    refusal: str = ""
    finish_reason: str | None = None
    thought: bool = False
    usage: Usage | None = None

    def read(self, answer: type[T], *, model: str, max_tokens: int) -> T:
        """The checked value of the reply; the names are for the errors.

        Raises:
            ModelRefused: the model or a content filter declined.
            ModelTruncated: it ran into the length limit, and what there is of it is no answer.
            ModelEmpty: nothing, or nothing but thought.
            ModelBroken: not the JSON that was asked for.
            BrokenOff: it ended in the middle.
        """
        if self.refusal or self.finish_reason == "content_filter":
            reason = " ".join(self.refusal.split())[:300] or "the content filter stopped it"
            raise ModelRefused(model=model, reason=reason)
        content = mend_surrogates(self.content)
        try:
            if not without_thought(content):
                raise ModelEmpty(model=model)
            return read_answer(content, answer, model)
        except (ModelEmpty, ModelBroken) as exc:
            if self.finish_reason == "length":
                raise ModelTruncated(model=model, max_tokens=max_tokens) from exc
            if self.finish_reason is None and content:
                raise BrokenOff from exc
            raise


@dataclass(kw_only=True, slots=True)
class ReplyProgress:
    """What answering one prompt has taken so far: the requests sent, and what the listener has heard."""

    prompt: Prompt[Any]
    listener: TextListener | None
    calls: int = 0
    begun: float = field(default_factory=time.perf_counter)
    reply: Reply = field(default_factory=Reply)
    heard: str = ""
    _utterance: PartialString = field(default_factory=lambda: PartialString("utterance"))

    def hear(self, piece: str) -> None:
        """The next piece of the content of a streamed reply."""
        self.reply.content += piece
        self.tell(certain(_THOUGHT.sub("", self._utterance.feed(piece))), self._utterance.before("emotion"))

    def tell(self, utterance: str, emotion: str | None) -> None:
        """The utterance so far, for the listener if it is news."""
        if self.listener is not None and utterance and utterance != self.heard:
            self.heard = utterance
            self.listener(utterance, emotion)

    @property
    def asked(self) -> Usage:
        """The requests that were sent, and how long they have taken."""
        return Usage(calls=self.calls, milliseconds=round(1000 * (time.perf_counter() - self.begun)))

    def usage(self) -> Usage:
        """Cost of the reply, with all requests that led to it; estimated where the server did not say."""
        reported = self.reply.usage or Usage(
            prompt_tokens=prompt_tokens(self.prompt.messages),
            completion_tokens=estimate_tokens(self.reply.content),
            estimated=True,
        )
        return reported + self.asked
