"""Owns what came back for a prompt, whole or in pieces, and what it amounts to: an answer or an error."""

from dataclasses import dataclass, field
from typing import Any

from service.errors import ModelBroken, ModelEmpty, ModelRefused, ModelTruncated
from service.llm.answer import mend_surrogates, read_answer, without_thought
from service.llm.chat import Prompt, T, TextListener, estimate_tokens, prompt_tokens
from service.llm.partial import PartialString
from service.usage import Usage


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
class Work:
    """What answering one prompt has taken so far: the requests sent, and what the listener has heard."""

    prompt: Prompt[Any]
    listener: TextListener | None
    calls: int = 0
    reply: Reply = field(default_factory=Reply)
    heard: str = ""
    _utterance: PartialString = field(default_factory=lambda: PartialString("utterance"))

    def hear(self, piece: str) -> None:
        """The next piece of the content of a streamed reply."""
        self.reply.content += piece
        self.tell(self._utterance.feed(piece), self._utterance.before("emotion"))

    def tell(self, utterance: str, emotion: str | None) -> None:
        """The utterance so far, for the listener if it is news."""
        if self.listener is not None and utterance and utterance != self.heard:
            self.heard = utterance
            self.listener(utterance, emotion)

    def usage(self) -> Usage:
        """Cost of the reply, with all requests that led to it; estimated where the server did not say."""
        reported = self.reply.usage or Usage(
            prompt_tokens=prompt_tokens(self.prompt.messages),
            completion_tokens=estimate_tokens(self.reply.content),
            estimated=True,
        )
        return reported + Usage(calls=self.calls)
