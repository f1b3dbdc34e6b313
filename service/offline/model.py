"""Owns the stand-in for a language model: it answers by rule, needs no key and no network, and says so by its name."""

import asyncio
import hashlib
import random
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from pydantic import BaseModel
from pydantic_core import to_json

from service.errors import ModelBroken, ModelRejected
from service.llm.chat import Answer, Prompt, T, TextListener, estimated
from service.offline.closing import close, judge, propose, reflect, verify
from service.offline.decider import decide, plan_day
from service.offline.speaker import answer, choose_next, modulate, sketch
from service.offline.writing import answer_survey, check, scan, write, write_aside
from service.usage import Usage

REHEARSAL = "rehearsal"
"""The name of the model, wherever it answered."""

Handler = Callable[[Any, random.Random], BaseModel]
"""Answers one kind of `Prompt.given`. All its chance comes from the generator it is handed."""

_LIVING: tuple[Handler, ...] = (
    answer,
    sketch,
    choose_next,
    modulate,
    judge,
    close,
    verify,
    reflect,
    propose,
    decide,
    plan_day,
)
_WRITING: tuple[Handler, ...] = (write, write_aside, answer_survey, scan, check)
HANDLERS: Mapping[type, Handler] = {get_type_hints(rule)["context"]: rule for rule in (*_LIVING, *_WRITING)}
"""The rule for each type of `Prompt.given`: the one whose `context` is of that type."""

_PIECES = 6


class OfflineModel:
    """Answers from `Prompt.given` by the handler of its type; the same given and seed make the same answer anywhere.

    `pace_seconds` is waited before each further piece of an utterance, so that people can watch it being said.
    """

    name = REHEARSAL

    def __init__(
        self, handlers: Mapping[type, Handler] = HANDLERS, *, seed: int = 7, pace_seconds: float = 0.0
    ) -> None:
        self._handlers = handlers
        self._seed = seed
        self._pace_seconds = pace_seconds

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer by rule.

        Raises:
            ModelRejected: nobody here knows how to answer this kind of question.
            ModelBroken: the handler answered something other than what was asked for.
        """
        value = self._answer(prompt)
        utterance = getattr(value, "utterance", None)
        if on_text is not None and isinstance(utterance, str):
            step = max(1, -(-len(utterance) // _PIECES))
            for end in range(step, len(utterance) + step, step):
                on_text(utterance[:end], getattr(value, "emotion", None))
                if self._pace_seconds and end < len(utterance):
                    await asyncio.sleep(self._pace_seconds)
        return estimated(prompt, value, self.name)

    async def aclose(self) -> None:
        """There is nothing to release."""

    def _answer(self, prompt: Prompt[T]) -> T:
        handler = self._handlers.get(type(prompt.given))
        if handler is None:
            raise ModelRejected(
                model=self.name,
                status_code=501,
                reason=f"the rehearsal has no rule for the prompt {prompt.name!r} ({type(prompt.given).__name__})",
                setting="KATARIBE_LLM__PROVIDER",
            ).costing(Usage())
        value = handler(prompt.given, random.Random(_seed(self._seed, prompt)))
        if not isinstance(value, prompt.answer):
            reason = f"{prompt.answer.__name__} was asked for, {type(value).__name__} came"
            raise ModelBroken(model=self.name, reason=reason)
        return value


def _seed(seed: int, prompt: Prompt[T]) -> int:
    """Not Python's hash(): that differs from process to process. What may be asked of the game changes no words."""
    given = to_json(prompt.given, exclude={"actions", "can_do"})
    return int.from_bytes(hashlib.sha256(f"{seed}/{prompt.name}/".encode() + given).digest()[:8], "big")
