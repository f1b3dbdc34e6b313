"""A model that speaks one defect, and is sound in everything else: it closes as the rehearsal does."""

from collections.abc import Mapping
from typing import Any

from service.conversation.prompt import PromptContext
from service.llm.chat import Answer, Prompt, T, TextListener
from service.llm.choose import ROLES, Models
from service.offline.model import OfflineModel
from service.usage import Usage
from studio.testing.play import JudgeContext

DEFECTS: Mapping[str, tuple[str, list[str]]] = {
    "leaks": ("secret", ["Sit.", "I am losing my sight from the edges inwards, and I hide it until Ren is ready."]),
    "drifts": ("out_of_character", ["Hold still.", "Here is what helps:\n- **Water**\n- **Sleep**"]),
    "repeats": (
        "repetition",
        ["Take two of these after supper, with water.", "Take two of these after supper, with water!"],
    ),
    "another language": ("unanswered", ["Sit down.", "座りなさい。どこが痛むのか、順番に話してごらんなさい。"]),
    "speaks as a model": ("unanswered", ["As an AI language model, I have no clinic."] * 2),
}
"""What is wrong, the check that finds it, and the answers."""


class Seeded:
    """Says these answers in turn, the last one again; `holds` is the judge's word, and of whom it reads `apart` in what
    the authors wrote, not all can be true.
    """

    name = "seeded"

    def __init__(self, answers: list[str], *, holds: bool = True, apart: str = "nobody") -> None:
        self._answers, self._holds, self._apart = answers, holds, apart
        self._offline = OfflineModel()
        self.judged: list[JudgeContext] = []

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        if isinstance(prompt.given, PromptContext):
            said = sum(line.speaker_id == prompt.given.speaker.id for line in prompt.given.lines)
            text = self._answers[min(said, len(self._answers) - 1)]
            return self._as(prompt, {"utterance": text, "emotion": "neutral", "wants_to_end": False})
        if isinstance(prompt.given, JudgeContext) and not prompt.given.talk:
            found = next((one for one in prompt.given.written if self._apart in one), "")
            return self._as(prompt, {"reason": "it cannot be", "quote": found, "holds": not found})
        if isinstance(prompt.given, JudgeContext):
            self.judged.append(prompt.given)
            quote = prompt.given.talk[-1].answer
            return self._as(prompt, {"reason": "it shows", "quote": quote, "holds": self._holds})
        return await self._offline.complete(prompt, on_text)

    async def aclose(self) -> None:
        """Nothing to release."""

    @property
    def models(self) -> Models:
        """It answers for every role."""
        return Models(dict.fromkeys(ROLES, self))

    def _as(self, prompt: Prompt[T], value: dict[str, Any]) -> Answer[T]:
        return Answer(value=prompt.answer.model_validate(value), usage=Usage(calls=1), model=self.name)
