"""Owns the check of a game's own prompts: each is rendered as the service's are, from examples of what it is told; and
what a person's file costs in them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, TemplateError, TemplateSyntaxError, nodes

from service.content.check import examine
from service.content.fields import ContentProblem, hint, problem, quote
from service.content.load import Content, ContentRefused, load_content
from service.conversation import prompt as speaking
from service.conversation.context_selection import PERSONA_TOKENS
from service.conversation.prompt import PromptContext
from service.decision import context as deciding
from service.llm.chat import OwnPrompts, Templates, estimate_tokens
from service.locales import Language
from service.memory import reflections as reflecting
from service.memory.closing import ask as closing
from service.prompt_examples import EXAMPLES, bare

_RAISED = (TemplateError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What a template can end with."""


def load_game(directory: Path) -> Content:
    """Read and check the content files, and the game's own prompts.

    Raises:
        ContentErrors: they have errors; it names all of those of the files, or of the prompts.
    """
    content = load_content(directory)
    problems = [*check_prompts({language: content.cast(language).own_prompts for language in content.casts})]
    if problems:
        raise ContentRefused(directory, problems)
    return content


def game_problems(directory: Path) -> list[ContentProblem]:
    """Everything wrong with the content files and the game's own prompts."""
    checked = examine(directory)
    return [*checked.problems, *check_prompts(checked.own_prompts)]


_LISTED = ("tendencies", "identity", "goals", "facts", "lines")
"""What of a profile stands in prompts, beside two texts."""


@dataclass(frozen=True, kw_only=True)
class PersonaCost:
    """What a person's file takes of each prompt in which it speaks, in estimated tokens; and what comes in at most when
    two meet and the moment asks for it.
    """

    person_id: str
    always: int
    moment: int


def persona_costs(content: Content, language: Language) -> Iterator[PersonaCost]:
    """What each person costs, by the game's own prompts where it has some."""
    cast = content.cast(language)
    for person in (*cast.npcs.values(), *cast.characters.values()):
        nobody = person.model_copy(update={"personality": "", "custom_prompt": "", **dict.fromkeys(_LISTED, ())})
        told, untold = (
            bare(PromptContext, speaker=one, begins=False, language=language, own_prompts=cast.own_prompts)
            for one in (person, nobody)
        )
        system, frame = (speaking.render_record(one).system for one in (told, untold))
        yield PersonaCost(
            person_id=person.id,
            always=estimate_tokens(system) - estimate_tokens(frame),
            moment=min(PERSONA_TOKENS, sum(estimate_tokens(line.told) for line in person.persona)),
        )


def check_prompts(own: Mapping[Language, OwnPrompts]) -> Iterator[ContentProblem]:
    """Everything wrong with a game's own prompts: by their form, and, where that is right, when they are rendered."""
    for language, prompts in own.items():
        if not prompts:
            continue
        wrong = [found for name, source in prompts for found in _form(language, name, source)]
        yield from wrong or _rendered(language, prompts)


def _form(language: Language, name: str, source: str) -> Iterator[ContentProblem]:
    file = _file(language, name)
    users = [kind for kind, templates in _TEMPLATES.items() if name in templates.names]
    if not users:
        known = sorted({one for templates in _TEMPLATES.values() for one in templates.names})
        listed = ", ".join(map(quote, known))
        yield problem(file, (), "prompts.unknown_name", id=quote(name), known=listed, hint=hint(name, known))
        return
    try:
        tree = Environment(autoescape=False).parse(source)  # noqa: S701 - it is only read here
    except TemplateSyntaxError as exc:
        yield problem(file, (), "prompts.no_template", line=exc.lineno, reason=exc.message)
        return
    wanted = _TEMPLATES[users[0]].blocks(name, language)
    for block in sorted(set(wanted) - {found.name for found in tree.find_all(nodes.Block)}):
        yield problem(file, (), "prompts.missing_block", name=quote(block), known=", ".join(map(quote, wanted)))
    told = EXAMPLES.get(name) or [one for kind in users for one in EXAMPLES[kind]]
    yield from _unknown(file, tree, told)


def _unknown(file: str, tree: nodes.Template, told: Iterable[object]) -> Iterator[ContentProblem]:
    """What the template asks of the scene, in whatever branch, and no scene has."""
    known = {name for example in told for name in dir(example) if not name.startswith("_")}
    for asked in tree.find_all(nodes.Getattr):
        if isinstance(asked.node, nodes.Name) and asked.node.name == "scene" and asked.attr not in known:
            facts = {"line": asked.lineno, "name": asked.attr, "hint": hint(asked.attr, known)}
            yield problem(file, (), "prompts.unknown_variable", **facts)


def _rendered(language: Language, own: OwnPrompts) -> Iterator[ContentProblem]:
    """The first error of each template."""
    seen: set[str] = set()
    for name, templates in _TEMPLATES.items():
        for block in templates.blocks(name, language):
            for example in EXAMPLES[name]:
                try:
                    templates.render(name, block, language, example, own)
                except _RAISED as exc:
                    place, line = templates.place_of(exc, language, own) or (name, 1)
                    if place not in seen:
                        seen.add(place)
                        yield problem(_file(language, place), (), "prompts.not_rendered", line=line, reason=str(exc))


def _file(language: Language, name: str) -> str:
    return f"prompts/{language}/{name}.j2"


_TEMPLATES: Mapping[str, Templates] = {
    name: templates
    for templates in (speaking.TEMPLATES, closing.TEMPLATES, reflecting.TEMPLATES, deciding.TEMPLATES)
    for name in EXAMPLES
    if name in templates.names
}
"""By the name of the prompt."""
