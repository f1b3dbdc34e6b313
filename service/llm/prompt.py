"""Owns prompt templates: Jinja2 files beside the code that uses them, one per prompt and language, in named blocks."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from service.locales import Language


class Templates:
    """The templates of one package: ``prompts/<language>/<name>.j2``, each made of ``{% block … %}`` parts."""

    def __init__(self, package_file: str) -> None:
        """`package_file` is the ``__file__`` of a module of the package."""
        self._prompts = Path(package_file).parent / "prompts"
        self._environments: dict[Language, Environment] = {}

    def render(self, name: str, block: str, language: Language, scene: object) -> str:
        """One block of a template, rendered from `scene`, its only variable.

        Raises:
            jinja2.TemplateNotFound: the language has no such template.
            jinja2.UndefinedError: the template names what the scene does not have.
        """
        template = self._environment(language).get_template(f"{name}.j2")
        context = template.new_context({"scene": scene})
        return "".join(template.blocks[block](context)).strip()

    def _environment(self, language: Language) -> Environment:
        if language not in self._environments:
            self._environments[language] = Environment(
                loader=FileSystemLoader(self._prompts / language),
                undefined=StrictUndefined,
                auto_reload=False,
                trim_blocks=True,
                lstrip_blocks=True,
                autoescape=False,  # noqa: S701 - the text goes to a model, not into a page
            )
        return self._environments[language]
