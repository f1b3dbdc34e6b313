"""Owns what one OpenAI-compatible server understands: the request in its dialect, and the next simpler dialect."""

import json
import re
from dataclasses import dataclass, replace
from enum import IntEnum
from hashlib import sha256
from typing import Any, Literal

from pydantic import BaseModel

from service.llm.chat import Message, Prompt
from service.llm.schema import schema_name, schema_text
from service.locales import sentence

THINKING_TOKENS = 2048
"""Added to the limit for a model that thinks before it answers: `max_tokens` bounds the answer, not the thought."""

_TOO_LONG = re.compile(r"context.{0,9}(length|size|window)|maximum context|too many tokens", re.IGNORECASE)
_BLAME = (
    ("responses", re.compile(r"v1/responses|Responses API|not a chat model", re.IGNORECASE)),
    ("stream_options", re.compile(r"stream_options|include_usage")),
    ("cache_key", re.compile(r"prompt_cache_key")),
    ("limit", re.compile(r"max_(completion_)?tokens")),
    ("temperature", re.compile(r"\btemperature\b", re.IGNORECASE)),
    ("stream", re.compile(r"^stream$|['\"`]stream['\"`]|to stream this model")),
    ("system", re.compile(r"system.{0,3} role|roles? must alternate|^role$", re.IGNORECASE)),
    (
        "form",
        re.compile(
            r"response.?format|text\.format|json.?(schema|object|mode)|structured.?output|guided|grammar|schema|strict"
            r"|(min|max)(Length|Items)|\b(min|max)imum\b|additionalProperties",
            re.IGNORECASE,
        ),
    ),
)


class Form(IntEnum):
    """How the answer's form is asked for, from the most exact to what everybody understands."""

    STRICT = 0
    """JSON schema, strict, with every bound."""
    STRICT_UNBOUNDED = 1
    """The bounds are only described."""
    LOOSE = 2
    """The same without `strict`."""
    JSON_OBJECT = 3
    """Any JSON object; the schema stands in the prompt."""
    TEXT = 4
    """Nothing but the prompt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """What the server accepts. `explain`: the prompt says the schema in words too. `cache_key`: requests that begin
    alike are named alike, so that they reach the machine that has kept their beginning. `responses`: the model is
    reached by the Responses API alone.
    """

    form: Form = Form.STRICT
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    limit_changed: bool = False
    temperature: bool = True
    stream: bool = True
    stream_usage: bool = True
    cache_key: bool = False
    system_role: bool = True
    explain: bool = False
    thinks: bool = False
    responses: bool = False

    def max_tokens(self, prompt: Prompt[Any]) -> int:
        """The limit that is sent."""
        return prompt.max_tokens + (THINKING_TOKENS if self.thinks else 0)

    def request(self, prompt: Prompt[Any], model: str, temperature: float | None) -> dict[str, Any]:
        """The body of the request, without what streaming adds."""
        body: dict[str, Any] = {"model": model, "messages": self._messages(prompt)}
        body[self.limit] = self.max_tokens(prompt)
        if self.cache_key:
            body["prompt_cache_key"] = sha256(prompt.messages[0].content.encode()).hexdigest()
        if temperature is not None and self.temperature:
            body["temperature"] = temperature
        if self.form is Form.JSON_OBJECT:
            body["response_format"] = {"type": "json_object"}
        elif self.form < Form.JSON_OBJECT:
            answer: type[BaseModel] = prompt.answer
            schema = json.loads(schema_text(answer, bounded=self.form is Form.STRICT))
            described: dict[str, Any] = {"name": schema_name(answer), "schema": schema}
            if self.form < Form.LOOSE:
                described["strict"] = True
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        return self._for_responses(body) if self.responses else body

    def _for_responses(self, body: dict[str, Any]) -> dict[str, Any]:
        """The same request in the words of the Responses API; nothing of it is kept there."""
        body |= {"input": body.pop("messages"), "max_output_tokens": body.pop(self.limit), "store": False}
        form = body.pop("response_format", None)
        if form is not None:
            body["text"] = {"format": {"type": form["type"], **form.get("json_schema", {})}}
        return body

    def _messages(self, prompt: Prompt[Any]) -> list[dict[str, str]]:
        messages = list(prompt.messages)
        if self.explain or self.form >= Form.JSON_OBJECT:
            answer: type[BaseModel] = prompt.answer
            explained = f"{sentence(prompt.language, 'llm.json_only')}\n{schema_text(answer)}"
            # joined to the first system message: many chat templates allow only one
            if messages and messages[0].role == "system":
                messages[0] = replace(messages[0], content=f"{messages[0].content}\n\n{explained}")
            else:
                messages.insert(0, Message(role="system", content=explained))
        if not self.system_role:
            messages = _without_system(messages)
        return [{"role": m.role, "content": m.content} for m in messages]

    def simpler(self, param: str | None, message: str) -> "Dialect | None":
        """The dialect to try after the server refused this one; None: the refusal is not about a parameter of ours."""
        if _TOO_LONG.search(message):
            return None
        for text in (param or "", message):
            for blamed, pattern in _BLAME:
                if pattern.search(text) and (found := self._without(blamed)) is not None:
                    return found
        return None

    def _without(self, blamed: str) -> "Dialect | None":
        """The dialect without what is blamed; None: it has nothing of that any more."""
        other = "max_completion_tokens" if self.limit == "max_tokens" else "max_tokens"
        simpler: dict[str, tuple[bool, dict[str, Any]]] = {
            "form": (self.form < Form.TEXT, {"form": Form(min(self.form + 1, Form.TEXT))}),
            "limit": (not self.limit_changed, {"limit": other, "limit_changed": True}),
            "temperature": (self.temperature, {"temperature": False}),
            "stream_options": (self.stream_usage, {"stream_usage": False}),
            "cache_key": (self.cache_key, {"cache_key": False}),
            "stream": (self.stream, {"stream": False}),
            "responses": (not self.responses, {"responses": True}),
            "system": (self.system_role, {"system_role": False}),
        }
        is_left, changed = simpler[blamed]
        return replace(self, **changed) if is_left else None


def _without_system(messages: list[Message]) -> list[Message]:
    """System messages become user's, and neighbours of one role become one message."""
    merged: list[Message] = []
    for message in messages:
        role = "user" if message.role == "system" else message.role
        if merged and merged[-1].role == role:
            merged[-1] = Message(role=role, content=f"{merged[-1].content}\n\n{message.content}")
        else:
            merged.append(Message(role=role, content=message.content))
    return merged
