"""Owns what travels over /v1: the requests of OpenAI clients as they come, what a request means, and the answers they
understand. Pure. Front ends send the whole history, and only model, messages and sampling come from real clients: no
user, no session, no name of the gesture, which must be read from what was said.
"""

import hashlib
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, Field

from service.api.dependencies import In, Out
from service.usage import Usage


class ContentPart(BaseModel, extra="allow"):
    """A part of a message: text, or something else that nobody here can take in."""

    type: str = Field(description="text; what else there is (image_url, input_audio, file) is refused")
    text: str | None = Field(default=None, description="the words of a part whose type is text")


class ChatMessage(BaseModel, extra="allow"):
    """One message of a client's history. Only the last one counts: what was said before, the service knows itself."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"] = Field(description="whose words")
    content: str | list[ContentPart] | None = Field(default=None, description="the words, whole or in parts")

    @property
    def text(self) -> str:
        """Its words; those of several parts in lines."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text" and part.text is not None)
        return self.content or ""

    @property
    def foreign(self) -> str | None:
        """The type of its first part that is no text; None: it is text alone."""
        parts = self.content if isinstance(self.content, list) else ()
        return next((part.type for part in parts if part.type != "text" or part.text is None), None)


class StreamOptions(BaseModel, extra="allow"):
    """How an answer is streamed."""

    include_usage: bool | None = Field(default=None, description="the last chunk says what the answer cost")


class ChatIn(
    In,
    extra="allow",
    examples={
        "the first words": {
            "model": "npc:npc_taro@ken",
            "messages": [{"role": "user", "content": "How is the boat?"}],
        }
    },
):
    """What an OpenAI client sends. Whatever else it sends (sampling, stop, tools) is taken and not used."""

    model: str = Field(min_length=1, description="whom to talk to: npc:<id>, or npc:<id>@<player>")
    messages: list[ChatMessage] = Field(min_length=1, description="the client's history, the newest last")
    stream: bool | None = Field(default=None, description="the answer comes while it is spoken")
    stream_options: StreamOptions | None = Field(default=None, description="see there")

    response_format: Any = Field(
        default=None, description="text, or nothing: people answer in words, and JSON is refused"
    )
    tool_choice: Any = Field(default=None, description="no answer calls a tool: one that must is refused")

    @property
    def wants_no_words(self) -> str | None:
        """The field by which the answer is to be something else than words; None: there is none."""
        form = self.response_format
        if isinstance(form, dict) and form.get("type") in ("json_object", "json_schema"):
            return "response_format"
        return "tool_choice" if self.tool_choice == "required" or isinstance(self.tool_choice, dict) else None

    @property
    def wants_usage(self) -> bool:
        """A streamed answer is to end with its cost."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)


class ModelOut(Out):
    """Somebody to talk to."""

    id: str = Field(description="what `model` of a request names", examples=["npc:npc_taro"])
    object: Literal["model"] = Field(default="model", description="always model")
    created: int = Field(default=0, description="always 0: people have no such date")
    owned_by: str = Field(default="kataribe", description="always kataribe")
    name: str = Field(description="what the person is called, in the world's language")


class ModelList(Out):
    """Everybody to talk to."""

    object: Literal["list"] = Field(default="list", description="always list")
    data: list[ModelOut] = Field(description="everybody, by id")


class CachedTokens(Out):
    """Of the prompt's tokens."""

    cached_tokens: int = Field(description="those the model's provider had in its cache")


class ChatUsage(Out):
    """What the answer cost: the tokens of all model calls that were made for it."""

    prompt_tokens: int = Field(description="tokens that were sent")
    completion_tokens: int = Field(description="tokens that were answered")
    total_tokens: int = Field(description="the sum of both")
    prompt_tokens_details: CachedTokens = Field(description="of the tokens that were sent")

    @classmethod
    def spent(cls, usage: Usage) -> "ChatUsage":
        """As OpenAI counts it."""
        return cls(
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            total_tokens=usage.prompt_tokens + usage.completion_tokens,
            prompt_tokens_details=CachedTokens(cached_tokens=usage.cached_tokens),
        )


class AnswerMessage(Out):
    """What was answered."""

    role: Literal["assistant"] = Field(default="assistant", description="always assistant")
    content: str = Field(description="the words")
    refusal: None = Field(default=None, description="always null")


class Choice(Out):
    """The one answer there is."""

    index: int = Field(default=0, description="always 0: somebody answers once")
    message: AnswerMessage = Field(description="the answer")
    logprobs: None = Field(default=None, description="always null")
    finish_reason: Literal["stop"] = Field(default="stop", description="always stop")


class Completion(Out):
    """A whole answer."""

    id: str = Field(description="of this answer", examples=["chatcmpl-0f3a"])
    object: Literal["chat.completion"] = Field(default="chat.completion", description="always chat.completion")
    created: int = Field(default_factory=lambda: int(time.time()), description="seconds since 1970")
    model: str = Field(description="as in the request")
    choices: list[Choice] = Field(description="always one")
    usage: ChatUsage = Field(description="what it cost")


def choice(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    """The one choice of an event."""
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


INSTRUCTIONS = frozenset({"system", "developer"})
_CONTINUE = re.compile(
    r"\W*(please\s+)?(continue|keep\s+going|go\s+on|carry\s+on)\b|[^。.\n]*続[けきい]", re.IGNORECASE
)
_TASK = re.compile(r"\s*###\s*Task:")
"""How Open WebUI begins what it asks for itself (a title, tags, what to say next) in the place of its user."""


class Gesture(StrEnum):
    """What a person did in front of the chat client."""

    OPEN = "open"
    """Began a chat: the open conversation ends, and these words open another."""
    SAY = "say"
    """Said something more."""
    ANSWER_AGAIN = "answer_again"
    """Regenerated or swiped: the last answer is taken back, and the same words are answered anew."""
    CONTINUE = "continue"
    """Asked for more of the last answer."""
    ASIDE = "aside"
    """Asked for something that is no part of the talk (impersonate, a summary, a title): nothing changes by it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenChat:
    """The open conversation: the fingerprint of the request whose words were said last, and whether they are
    answered.
    """

    last_request: str | None
    is_answered: bool


def fingerprint(messages: Sequence[ChatMessage]) -> str:
    """What tells a request from the one before: all that was said. Two with the same are one gesture made again,
    whatever the client changes in its instructions and sampling meanwhile.
    """
    said = [(message.role, message.text) for message in messages if message.role not in INSTRUCTIONS]
    return "chat-" + hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


def is_said(last: ChatMessage) -> bool:
    """Whether the last message of a request is something that its user says to the person."""
    return last.role == "user" and not _TASK.match(last.text)


def gesture_of(messages: Sequence[ChatMessage], standing: OpenChat | None) -> Gesture:
    """What the request means while that conversation is open (None: none is).

    A history that has more than one message of its user, while no conversation is open, opens one with the last. To
    continue what was never said is no gesture of the talk either.
    """
    last = messages[-1]
    if last.role == "assistant" or (last.role in INSTRUCTIONS and _CONTINUE.match(last.text)):
        return Gesture.CONTINUE if standing is not None and standing.is_answered else Gesture.ASIDE
    if not is_said(last):
        return Gesture.ASIDE
    if standing is None:
        return Gesture.OPEN
    if standing.last_request == fingerprint(messages):
        return Gesture.ANSWER_AGAIN
    return Gesture.OPEN if sum(message.role == "user" for message in messages) == 1 else Gesture.SAY
