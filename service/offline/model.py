"""Owns the stand-in for a language model: it answers by rule, needs no key and no network, and says so by its name."""

import asyncio
import hashlib
import random
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json

from service.conversation.aside import AsideContext
from service.conversation.asking import ScanContext, SurveyContext
from service.conversation.attitude import AttitudeContext
from service.conversation.context import PromptContext
from service.conversation.directing import ModeratorContext, ModulatorContext
from service.conversation.long_term import LongTermContext
from service.conversation.writing import WriteContext
from service.decision.context import DecisionContext, PlanContext
from service.errors import ModelBroken, ModelRejected
from service.llm.chat import Answer, Prompt, T, TextListener, estimated
from service.memory.extraction import ClosingContext
from service.memory.reflect import ReflectionContext
from service.offline.closing import close, judge, propose, reflect
from service.offline.decider import decide, plan_day
from service.offline.scene import answer, choose_next, modulate
from service.offline.writing import answer_survey, check, scan, write, write_aside
from service.quality.judge import CheckContext
from service.usage import Usage

REHEARSAL = "rehearsal"
"""The name of the model, wherever it answered."""

Handler = Callable[[Any, random.Random], BaseModel]
"""Answers one kind of `Prompt.given`. All its chance comes from the generator it is handed."""

HANDLERS: Mapping[type, Handler] = {
    PromptContext: answer,
    ModeratorContext: choose_next,
    ModulatorContext: modulate,
    AttitudeContext: judge,
    AsideContext: write_aside,
    WriteContext: write,
    SurveyContext: answer_survey,
    ScanContext: scan,
    ClosingContext: close,
    ReflectionContext: reflect,
    LongTermContext: propose,
    DecisionContext: decide,
    PlanContext: plan_day,
    CheckContext: check,
}
"""The handler for each type of `Prompt.given`."""

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
            rejected = ModelRejected(
                model=self.name,
                status_code=501,
                reason=f"the rehearsal has no rule for the prompt {prompt.name!r} ({type(prompt.given).__name__})",
                setting="KATARIBE_LLM__PROVIDER",
            )
            rejected.usage = Usage()
            raise rejected
        value = handler(prompt.given, random.Random(_seed(self._seed, prompt)))
        if not isinstance(value, prompt.answer):
            reason = f"{prompt.answer.__name__} was asked for, {type(value).__name__} came"
            raise ModelBroken(model=self.name, reason=reason)
        return value


def _seed(seed: int, prompt: Prompt[T]) -> int:
    """Not Python's hash(): that differs from process to process. What may be asked of the game changes no words."""
    given = to_json(prompt.given, exclude={"actions", "can_do"})
    return int.from_bytes(hashlib.sha256(f"{seed}/{prompt.name}/".encode() + given).digest()[:8], "big")
