"""Owns prompt templates: Jinja2 files beside the code that uses them, one per prompt and language, in named blocks.

A game may replace each of them by one of its own. These run in a sandbox: whoever writes a game writes no Python.
"""

from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb

from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, FunctionLoader, StrictUndefined, Template
from jinja2.sandbox import SandboxedEnvironment

from service.llm.chat import Message, Prompt, Role, T
from service.locales import Language

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
            environment = SandboxedEnvironment if own else Environment
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
