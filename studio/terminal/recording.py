"""Owns the recording that the demonstration plays: what a strong model answered, in a file a language."""

import asyncio
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from service.public.models import Answer, ChatModel, ModelWrapper, Prompt, T, TextListener, estimate_tokens, estimated
from service.public.words import Language

_LETTERS = 6
"""So many letters at once are heard of an utterance."""


class Recording(ModelWrapper):
    """A ChatModel that answers by talk and turn, or by the person who is asked outside of a talk, whatever the prompt
    says. From the first question on to which it has no answer of that form, `inner` answers.
    """

    def __init__(self, language: Language, inner: ChatModel, *, pace_seconds: float) -> None:
        """`pace_seconds` is how long a token of an utterance takes to say."""
        super().__init__(inner)
        text = Path(__file__).with_name(f"recording.{language}.yaml").read_text(encoding="utf-8")
        recorded: dict[str, Any] = yaml.safe_load(text)
        self.character_id: str = recorded["character"]
        self.npc_id: str = recorded["npc"]
        self.astray = ""
        """to which question it had no answer, such as ``talk 1, turn 3``; "": it has had all so far"""
        self._answers: dict[str, dict[str, Any]] = recorded["answers"]
        self._talks: list[str] = []
        self._pace_seconds = pace_seconds

    @property
    def name(self) -> str:
        """Who answers."""
        return "recording"

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """The recorded answer; see ChatModel. Its tokens are estimated."""
        asker, question = self._place_of(prompt)
        try:
            value = prompt.answer.model_validate(self._answers.get(asker, {}).pop(question, None))
        except ValidationError:
            self.astray = self.astray or f"{asker}, {question}"
        if self.astray:
            return await self._inner.complete(prompt, on_text)
        if on_text is not None:
            await self._say(value, on_text)
        return estimated(prompt, value, self.name)

    def _place_of(self, prompt: Prompt[Any]) -> tuple[str, str]:
        """Where its answer stands in the file."""
        asker = f"{prompt.thread}/".split("/")[1]
        if asker in self._answers:
            return asker, prompt.name
        if asker not in self._talks:
            self._talks.append(asker)
        turn = len(getattr(prompt.given, "lines", ())) + 1
        return f"talk {self._talks.index(asker) + 1}", f"turn {turn}" if prompt.name == "speaker" else prompt.name

    async def _say(self, value: Any, on_text: TextListener) -> None:
        text = value.utterance
        for end in range(_LETTERS, len(text) + _LETTERS, _LETTERS):
            on_text(text[:end], value.emotion)
            await asyncio.sleep(self._pace_seconds * _LETTERS * estimate_tokens(text) / len(text))
