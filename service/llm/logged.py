"""Owns the line that the log has of every call of a language model: who asked whom, how long it took, what it cost."""

import logging
import time

from service.errors import ModelError
from service.llm.chat import Answer, ModelWrapper, Prompt, T, TextListener
from service.usage import Usage

_log = logging.getLogger(__name__)


class Logged(ModelWrapper):
    """A ChatModel that logs each call of `inner` in one line at DEBUG, also one that fails or is cancelled.

    The line holds role, model, milliseconds and tokens, and nothing of what was asked or answered.
    """

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel."""
        begun = time.perf_counter()
        paid, end = Usage(), "cancelled"
        try:
            answer = await self._inner.complete(prompt, on_text)
            paid, end = answer.usage, "answered"
            return answer
        except ModelError as error:
            paid, end = error.usage, error.slug
            raise
        finally:
            milliseconds = round(1000 * (time.perf_counter() - begun))
            tokens = (paid.prompt_tokens, paid.completion_tokens)
            _log.debug("%s %s: %d ms, %d + %d tokens, %s", prompt.role, self.name, milliseconds, *tokens, end)
