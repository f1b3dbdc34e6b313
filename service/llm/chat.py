"""Owns the boundary to language models: what is asked (Prompt), what comes back (Answer), who answers (ChatModel); and
prompt templates: Jinja2 files beside the code that uses them, one per prompt and language, in named blocks.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb
from typing import Generic, Literal, Protocol, TypeVar

from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, FunctionLoader, StrictUndefined, Template
from pydantic import BaseModel

from service.llm.bounded import BoundedSandbox
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


OwnPrompts = tuple[tuple[str, str], ...]
"""A game's own templates of one language: the name of each, and its source."""


@dataclass(frozen=True, kw_only=True)
class PromptValues:
    """What all prompts are rendered from: the language it is asked in, and the game's own templates."""

    language: Language
    own_prompts: OwnPrompts = ()


class Templates:
    """The templates of one package: ``prompts/<language>/<name>.j2``, each made of ``{% block … %}`` parts."""

    def __init__(self, package_file: str) -> None:
        """`package_file` is the ``__file__`` of a module of the package."""
        self._prompts = Path(package_file).parent / "prompts"
        self._environments: dict[tuple[Language, OwnPrompts], Environment] = {}

    @property
    def names(self) -> frozenset[str]:
        """What the templates are called."""
        return frozenset(file.stem for file in self._prompts.glob("*/*.j2"))

    def blocks(self, name: str, language: Language) -> tuple[str, ...]:
        """The blocks of a template of the service, in their order."""
        return tuple(self._template(name, language, ()).blocks)

    def render(self, name: str, block: str, language: Language, scene: object, own: OwnPrompts = ()) -> str:
        """One block of a template, the game's `own` if it has one, rendered from `scene`, its only variable.

        Raises:
            jinja2.TemplateNotFound: the language has no such template.
            jinja2.UndefinedError: the template names what the scene does not have.
        """
        template = self._template(name, language, own)
        context = template.new_context({"scene": scene})
        return "".join(template.blocks[block](context)).strip()

    def question(
        self, name: str, role: Role, scene: PromptValues, answer: type[T], *, max_tokens: int, thread: str = ""
    ) -> Prompt[T]:
        """What is asked by the blocks `system` and `user` of a template."""
        blocks = {
            block: self.render(name, block, scene.language, scene, scene.own_prompts) for block in ("system", "user")
        }
        return Prompt(
            name=name,
            role=role,
            language=scene.language,
            messages=(
                Message(role="system", content=blocks["system"]),
                Message(role="user", content=blocks["user"]),
            ),
            answer=answer,
            given=scene,
            max_tokens=max_tokens,
            thread=thread,
        )

    def place_of(self, error: Exception, language: Language, own: OwnPrompts) -> tuple[str, int] | None:
        """The name of the game's own template in which the error was raised, and the line; None: it was in none."""
        for frame in reversed(extract_tb(error.__traceback__)):
            if Path(frame.filename).parent == _folder(language):
                name = Path(frame.filename).stem
                line = self._template(name, language, own).get_corresponding_lineno(frame.lineno or 1)
                return name, line
        return None

    def _template(self, name: str, language: Language, own: OwnPrompts) -> Template:
        key = (language, own)
        if key not in self._environments:
            environment = BoundedSandbox if own else Environment
            self._environments[key] = environment(
                loader=ChoiceLoader([_loader(language, own), FileSystemLoader(self._prompts / language)]),
                undefined=StrictUndefined,
                auto_reload=False,
                trim_blocks=True,
                lstrip_blocks=True,
                autoescape=False,
            )
        return self._environments[key].get_template(f"{name}.j2")


def _loader(language: Language, own: OwnPrompts) -> BaseLoader:
    sources = {f"{name}.j2": (source, str(_folder(language) / f"{name}.j2"), lambda: True) for name, source in own}
    return FunctionLoader(sources.get)


def _folder(language: Language) -> Path:
    """Where a game's own templates lie in its directory."""
    return Path("prompts", language)
