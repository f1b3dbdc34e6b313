"""Owns how long every call of a language model takes, and the line that the log has of it."""

import logging
import time
from dataclasses import replace

from service.errors import ModelError
from service.llm.chat import Answer, ModelWrapper, Prompt, T, TextListener
from service.usage import Usage

_log = logging.getLogger(__name__)


class Logged(ModelWrapper):
    """A ChatModel that measures each call of `inner`, and logs it in one line at DEBUG, also one that fails or is
    cancelled.

    The line holds role, model, milliseconds and tokens, and nothing of what was asked or answered.
    """

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel."""
        begun = time.perf_counter()
        paid, end = Usage(), "cancelled"
        try:
            answer = await self._inner.complete(prompt, on_text)
            paid, end = _timed(answer.usage, begun), "answered"
            return replace(answer, usage=paid)
        except ModelError as error:
            error.usage, end = _timed(error.usage, begun), error.slug
            paid = error.usage
            raise
        finally:
            tokens = (paid.prompt_tokens, paid.completion_tokens)
            spent_ms = _timed(paid, begun).milliseconds
            _log.debug("%s %s: %d ms, %d + %d tokens, %s", prompt.role, self.name, spent_ms, *tokens, end)


def _timed(usage: Usage, begun: float) -> Usage:
    return replace(usage, milliseconds=round(1000 * (time.perf_counter() - begun)))
