"""Owns the boundary to language models: what is asked (Prompt), what comes back (Answer), who answers (ChatModel)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel

from service.locales import Language
from service.settings import Role as Role
from service.usage import Usage

T = TypeVar("T", bound=BaseModel)

TextListener = Callable[[str, str | None], None]
"""Receives the utterance so far, each time the whole of it: a text that does not extend the last one began anew. Beside
it the emotion it is said with; None: that is not known yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a chat completion."""

    role: Literal["system", "user", "assistant"]
    """who speaks in the prompt"""
    content: str
    """the text of the message"""


@dataclass(frozen=True, kw_only=True)
class Prompt(Generic[T]):
    """One question to a model.

    `given` is the value the messages were rendered from: a model that is no language model (the rehearsal, a test's
    script) answers from it. `max_tokens` bounds the answer. `thread` is what the question belongs to, such as its
    conversation.
    """

    name: str
    role: Role
    language: Language
    messages: tuple[Message, ...]
    answer: type[T]
    given: object = None
    max_tokens: int = 600
    thread: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer(Generic[T]):
    """A checked answer: `value` has passed the response model; `model` names who gave it."""

    value: T
    usage: Usage = field(default_factory=Usage)
    model: str


class ChatModel(Protocol):
    """Anything that can answer a Prompt."""

    @property
    def name(self) -> str:
        """Who answers, for people: ``openai:gpt-4.1-mini``, ``rehearsal``, ``scripted``."""

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt.

        With `on_text` the value of the answer's ``utterance`` is reported while it is being made, with its ``emotion``
        where that stands before it.

        Raises:
            ModelError: whatever went wrong, mapped to our tree; never a default in place of an answer.
        """

    async def aclose(self) -> None:
        """Release connections."""


class ModelWrapper:
    """The common part of every ChatModel around another one, `inner`."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """Who answers."""
        return self._inner.name

    async def aclose(self) -> None:
        """Release connections."""
        await self._inner.aclose()


def estimate_tokens(text: str) -> int:
    """Tokens of a text whose tokenizer is unknown: four ASCII characters make a token, four others three.

    The Japanese sentence OpenAI published with GPT-4o has 0.62 tokens a character in o200k and 0.88 in cl100k.
    """
    ascii_count = len(text.encode("ascii", "ignore"))
    return (ascii_count + 3) // 4 + (3 * (len(text) - ascii_count) + 3) // 4


def prompt_tokens(messages: tuple[Message, ...]) -> int:
    """Estimated tokens of a whole prompt, with four per message for its frame."""
    return sum(estimate_tokens(m.content) + 4 for m in messages)


def estimated(prompt: Prompt[T], value: T, model: str) -> Answer[T]:
    """The answer of a model that counts no tokens: one call, whose tokens are estimated."""
    usage = Usage(
        calls=1,
        prompt_tokens=prompt_tokens(prompt.messages),
        completion_tokens=estimate_tokens(value.model_dump_json()),
        estimated=True,
    )
    return Answer(value=value, usage=usage, model=model)
