"""Owns the village whose story the tests of this folder live again, and the model that is asked in it."""

import asyncio
import random
import zlib
from pathlib import Path
from typing import Any

from service.llm.cassette import Voice
from service.llm.chat import Answer, Prompt, T, TextListener
from service.locales import Language
from service.settings import Settings
from service.usage import Usage
from tests.api.play import settings_for
from tests.content.village import Village
from tests.freeze.script import ANSWERS, Question, question_of
from tests.memory.answers import plain
from tests.memory.whispers import answered_alike

VOICE = Voice(name="by question", model="m", temperature=None)
GOAL = {"goal": "Hear of the loaves", "success_criteria": "Their number is known"}


class ByQuestion:
    """A ChatModel whose answers depend on what is asked alone: of whom, when, and after how many words. It takes up to
    50 ms for one, and speaks word by word.
    """

    name = "by question"

    def __init__(self, *, hurries: bool) -> None:
        self._rng = None if hurries else random.Random(5)

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """The answer that belongs to the question."""
        given: Any = prompt.given
        question = question_of(prompt)
        moment = (question.what, question.person_id, prompt.thread, getattr(given, "at", ""))
        index = zlib.crc32(repr((*moment, len(getattr(given, "lines", ())))).encode()) % 1000
        fields = self._answer(question, index, prompt.language)
        if question.what == "remembers" and len(given.participants) > 2:
            fields = answered_alike(prompt, [f"They talked of {index} loaves."]).model_dump(mode="json")
        value = prompt.answer.model_validate({k: v for k, v in fields.items() if k in prompt.answer.model_fields})
        words = str(fields.get("utterance", "")).split()
        for number in range(1, len(words) + 1):
            await asyncio.sleep(self._rng.random() * 0.01 if self._rng else 0)
            if on_text is not None:
                on_text(" ".join(words[:number]), "neutral")
        await asyncio.sleep(self._rng.random() * 0.05 if self._rng else 0)
        return Answer(value=value, usage=Usage(calls=1, prompt_tokens=10, completion_tokens=5), model=self.name)

    def _answer(self, question: Question, index: int, language: Language) -> dict[str, Any]:
        if question.what == "speaks":
            give = {"id": "give_item", "args": {"item": "bun", "count": 1}} if index % 3 == 0 else None
            said = {"utterance": f"I counted {index} loaves. What else?", "emotion": "happy", "action": give}
            return {**said, "wants_to_end": index % 9 == 0, "goal_achieved": False, **GOAL}
        if question.what == "remembers":
            return plain(f"They talked of {index} loaves.", second={"affinity": index % 21 - 10})
        return ANSWERS[question.what](question, index, language)

    async def aclose(self) -> None:
        """Nothing to release."""


def settings_of(directory: Path, **more: Any) -> Settings:
    """Millbrook, where three decide by their models."""
    content = directory / "content"
    if not content.exists():
        village = Village.with_actions()
        for person in ("umi", "rin"):
            name = person.capitalize()
            village.people[f"characters/{person}.yaml"] = {
                **village.sora,
                "id": person,
                "name": name,
                "home": "yard",
                "decision": "model",
            }
        village.write(content)
    world = {"language": "en", "decision": "model", "silence_world_minutes": 0}
    return settings_for(directory, content, allowed_hosts=["127.0.0.1"], world=world, **more)
