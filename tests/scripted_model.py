"""Owns the model of the tests: it answers what was put into its queue, and keeps what it was asked."""

import asyncio
import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from service.errors import ModelError
from service.llm.chat import Answer, Prompt, Role, T, TextListener, estimated

Scripted = BaseModel | Mapping[str, Any] | ModelError | Callable[[Prompt[Any]], BaseModel]
"""An answer, its fields, an error to raise, or a function that answers from the prompt."""

_WORD = re.compile(r"[!-~]+\s*|[^!-~]{1,2}")  # a word with its space; of other scripts two characters


class ScriptError(AssertionError):
    """A test's script does not fit what was asked: its queue is empty, or its answer has another type."""


class ScriptedModel:
    """A ChatModel that plays a script.

    Answers enqueued for a role are used before those for everybody. `history` keeps every prompt, in order.
    `latency_seconds` passes before each answer ends; with `on_text` it is spread over the words.
    """

    def __init__(self, *answers: Scripted, name: str = "scripted", latency_seconds: float = 0) -> None:
        self.history: list[Prompt[Any]] = []
        self.latency_seconds = latency_seconds
        self._name = name
        self._queues: dict[Role | None, deque[Scripted]] = {}
        self.enqueue(*answers)

    @property
    def name(self) -> str:
        """Who answers."""
        return self._name

    @property
    def unused(self) -> int:
        """How many answers nobody has asked for yet."""
        return sum(map(len, self._queues.values()))

    def enqueue(self, *answers: Scripted, role: Role | None = None) -> None:
        """Answers for the next prompts, of that role only when one is given."""
        self._queues.setdefault(role, deque()).extend(answers)

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt from the script.

        Raises:
            ModelError: when the script says so.
            ScriptError: the queue is empty, or the answer is not of the type asked for.
        """
        self.history.append(prompt)
        scripted = self._next(prompt)
        if isinstance(scripted, ModelError):
            await asyncio.sleep(self.latency_seconds)
            raise scripted
        value = self._value(prompt, scripted)
        await self._speak(value, on_text)
        return estimated(prompt, value, self.name)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _next(self, prompt: Prompt[Any]) -> Scripted:
        for role in (prompt.role, None):
            if queue := self._queues.get(role):
                return queue.popleft()
        raise ScriptError(
            f"the script has no answer left for prompt {prompt.name!r} of role {prompt.role!r} "
            f"(prompt number {len(self.history)}): enqueue one more"
        )

    def _value(self, prompt: Prompt[T], scripted: Scripted) -> T:
        if callable(scripted) and not isinstance(scripted, BaseModel):
            scripted = scripted(prompt)
        if isinstance(scripted, Mapping):
            return prompt.answer.model_validate(scripted)
        if not isinstance(scripted, prompt.answer):
            raise ScriptError(
                f"prompt {prompt.name!r} wants {prompt.answer.__name__}, the script has {type(scripted).__name__}"
            )
        return scripted

    async def _speak(self, value: BaseModel, on_text: TextListener | None) -> None:
        words = _WORD.findall(getattr(value, "utterance", "")) if on_text else []
        for count in range(1, len(words) + 1):
            await asyncio.sleep(self.latency_seconds / len(words))
            if on_text:
                on_text("".join(words[:count]), getattr(value, "emotion", None))
        if not words:
            await asyncio.sleep(self.latency_seconds)
