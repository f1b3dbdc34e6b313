"""Owns the calls of a model that are recorded on a cassette, or answered from it."""

from typing import Any

from pydantic import ValidationError

from service.content.problem import reason_of
from service.errors import CassetteUnusable, ModelError, ModelNotConfigured
from service.llm.cassette import Cassette, Slot
from service.llm.cassette_files import ERRORS, Call, Failure, Voice, request_of
from service.llm.chat import Answer, ChatModel, ModelWrapper, Prompt, T, TextListener
from service.locales import Phrase
from service.usage import Usage


class Recorded(ModelWrapper):
    """A ChatModel that asks `inner` only for what the cassette does not hold, and keeps the answer there, also one that
    is an error. What is replayed costs what it cost, and an utterance is heard whole.
    """

    def __init__(self, inner: ChatModel, cassette: Cassette, voice: Voice) -> None:
        super().__init__(inner)
        self._cassette = cassette
        self._voice = voice
        self._name = voice.name

    @property
    def name(self) -> str:
        """Who answered last, or would."""
        return self._name

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel.

        Raises:
            CassetteMiss: the cassette is replayed, and does not hold it.
            CassetteUnusable: what it holds is no such answer, or cannot be written.
        """
        slot = self._cassette.ask(prompt, request_of(prompt, self._voice))
        if slot.call is None:
            return await self._ask(prompt, on_text, slot)
        if slot.call.failure is not None:
            raise _error_of(slot.call.failure, slot.call.usage)
        value = self._value(prompt, slot, slot.call)
        self._name = slot.call.by
        spoken = getattr(value, "utterance", None)
        if on_text is not None and isinstance(spoken, str) and spoken:
            on_text(spoken, getattr(value, "emotion", None))
        return Answer(value=value, usage=slot.call.usage, model=slot.call.by)

    async def _ask(self, prompt: Prompt[T], on_text: TextListener | None, slot: Slot) -> Answer[T]:
        try:
            answer = await self._inner.complete(prompt, on_text)
        except ModelNotConfigured:
            raise
        except ModelError as error:
            failure = Failure(slug=error.slug, facts={name: _plain(fact) for name, fact in error.facts.items()})
            self._cassette.keep(slot, Call(**_asked(slot), by=self._inner.name, usage=error.usage, failure=failure))
            raise
        value = answer.value.model_dump(mode="json")
        self._cassette.keep(slot, Call(**_asked(slot), by=answer.model, usage=answer.usage, answer=value))
        self._name = answer.model
        return answer

    def _value(self, prompt: Prompt[T], slot: Slot, call: Call) -> T:
        try:
            return prompt.answer.model_validate(call.answer)
        except ValidationError as exc:
            raise CassetteUnusable(file=str(self._cassette.file_of(slot)), reason=reason_of(exc)) from exc


def _asked(slot: Slot) -> dict[str, Any]:
    return {"prompt": slot.prompt, "thread": slot.lane, "request": slot.request}


def _plain(fact: object) -> object:
    """A fact as JSON has it."""
    return {"key": fact.key, "facts": fact.facts} if isinstance(fact, Phrase) else fact


def _error_of(failure: Failure, usage: Usage) -> ModelError:
    facts = {
        name: Phrase(fact["key"], **fact["facts"]) if isinstance(fact, dict) else fact
        for name, fact in failure.facts.items()
    }
    error = ERRORS[failure.slug](**facts)
    error.usage = usage
    return error
