"""Owns prompt templates: Jinja2 files beside the code that uses them, one per prompt and language, in named blocks."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from service.locales import Language


class Templates:
    """The templates of one package: ``prompts/{en,ja}/<name>.j2``, each made of ``{% block … %}`` parts."""

    def __init__(self, package_file: str) -> None:
        """`package_file` is the ``__file__`` of a module of the package."""
        self._environment = Environment(
            loader=FileSystemLoader(Path(package_file).parent / "prompts"),
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,  # noqa: S701 - the text goes to a model, not into a page
        )

    def render(self, name: str, block: str, language: Language, scene: object) -> str:
        """One block of a template, rendered from `scene`, its only variable.

        Raises:
            jinja2.UndefinedError: the template names what the scene does not have.
        """
        template = self._environment.get_template(f"{language}/{name}.j2")
        context = template.new_context({"scene": scene})
        return "".join(template.blocks[block](context)).strip()
