"""Owns how typer shows help and errors in the user's language: its headings, and lines that break at any letter."""

from rich.text import Text
from typer import rich_utils

from service.locales import Language, sentence


class _Folding(rich_utils.OptionHighlighter):
    """Japanese has no spaces: typer would take a sentence for one long word and cut it off with an ellipsis."""

    def highlight(self, text: Text) -> None:
        text.overflow = "fold"
        super().highlight(text)


def show_help_in(language: Language) -> None:
    """From here on typer's help and its errors stand in that language, as far as typer lets them."""
    rich_utils.highlighter = _Folding()
    rich_utils.ARGUMENTS_PANEL_TITLE = sentence(language, "cli.typer.arguments")
    rich_utils.OPTIONS_PANEL_TITLE = sentence(language, "cli.typer.options")
    rich_utils.COMMANDS_PANEL_TITLE = sentence(language, "cli.typer.commands")
    rich_utils.ERRORS_PANEL_TITLE = sentence(language, "cli.typer.error")
    rich_utils.REQUIRED_LONG_STRING = sentence(language, "cli.typer.required")
    rich_utils.DEFAULT_STRING = sentence(language, "cli.typer.default", value="{}")
    rich_utils.RICH_HELP = sentence(
        language, "cli.typer.see_help", command_path="{command_path}", help_option="{help_option}"
    )
