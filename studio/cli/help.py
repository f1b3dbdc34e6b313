"""Owns how typer shows help and errors in the user's language: its headings, what was wrong with a call, and lines that
break at any letter.
"""

import re
from typing import Any

from pydantic import ValidationError
from rich.text import Text
from typer import rich_utils
from typer._click.core import Command, Context
from typer._click.exceptions import BadParameter, MissingParameter, NoArgsIsHelpError, NoSuchOption, UsageError
from typer._click.formatting import HelpFormatter
from typer.core import TyperOption

from service.api.problem import expected
from service.locales import Language, Listed, Phrase, sentence

_FOUND = {
    "no_command": re.compile(r"No such command '(?P<name>.*?)'\.(?: Did you mean (?P<guesses>.*)\?)?", re.DOTALL),
    "extra": re.compile(r"Got unexpected extra argument\(s\) \((?P<words>.*)\)", re.DOTALL),
    "no_value": re.compile(r"Option '(?P<name>.*)' requires an argument\."),
    "value": re.compile(r"Option '(?P<name>.*)' does not take a value\.", re.DOTALL),
    "no_choice": re.compile(r"(?:Value error, )?(?P<found>'.*') is not one of (?P<choices>.*)\.", re.DOTALL),
}
"""What typer says without facts, and the sentence that says it."""


class _Folding(rich_utils.OptionHighlighter):
    """Japanese has no spaces: typer would take a sentence for one long word and cut it off with an ellipsis."""

    def highlight(self, text: Text) -> None:
        text.overflow = "fold"
        super().highlight(text)


def show_help_in(language: Language) -> None:
    """From here on typer's help stands in that language."""
    rich_utils.highlighter = _Folding()
    rich_utils.ARGUMENTS_PANEL_TITLE = sentence(language, "cli.typer.arguments")
    rich_utils.OPTIONS_PANEL_TITLE = sentence(language, "cli.typer.options")
    rich_utils.COMMANDS_PANEL_TITLE = sentence(language, "cli.typer.commands")
    rich_utils.ERRORS_PANEL_TITLE = sentence(language, "cli.typer.error")
    rich_utils.ABORTED_TEXT = sentence(language, "cli.typer.aborted")
    rich_utils.REQUIRED_LONG_STRING = sentence(language, "cli.typer.required")
    rich_utils.DEFAULT_STRING = sentence(language, "cli.typer.default", value="{}")
    rich_utils.RICH_HELP = sentence(
        language, "cli.typer.see_help", command_path="{command_path}", help_option="{help_option}"
    )
    Context.formatter_class = _usage_in(language)
    Command.get_help_option = _help_option_in(language)  # type: ignore[method-assign]  # typer asks for no words


def _usage_in(language: Language) -> type[HelpFormatter]:
    class Formatter(HelpFormatter):
        def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
            for typers, key in {"[OPTIONS]": "any_options", "COMMAND [ARGS]...": "any_command"}.items():
                args = args.replace(typers, sentence(language, f"cli.typer.{key}"))
            super().write_usage(prog, args, prefix or sentence(language, "cli.typer.usage"))

    return Formatter


_HELP_OPTION = Command.get_help_option


def _help_option_in(language: Language) -> Any:
    def get_help_option(self: Command, ctx: Context) -> TyperOption | None:
        option = _HELP_OPTION(self, ctx)
        if option is not None:
            option.help = sentence(language, "cli.help.help")
        return option

    return get_help_option


def show_wrong_call(error: UsageError, language: Language) -> None:
    """Say what was wrong with a call as typer does, in that language."""
    if not isinstance(error, NoArgsIsHelpError):  # making it has shown the help
        rich_utils.rich_format_error(UsageError(_told(error, language), ctx=error.ctx))


def _told(error: UsageError, language: Language) -> str:
    if isinstance(error, NoSuchOption):
        return sentence(
            language, "cli.typer.no_option", name=error.option_name, hint=_guess(sorted(error.possibilities or ()))
        )
    if isinstance(error, MissingParameter):
        param = error.param
        choices = param.type_descriptor.choices if param is not None else None
        is_argument = param is not None and param.param_type_name == "argument"
        key = "missing_argument" if is_argument else "missing_option"
        hint = Phrase("cli.typer.choices", choices=Listed(map(str, choices), last="common.or")) if choices else ""
        return sentence(language, f"cli.typer.{key}", name=_names(error), hint=hint)
    if isinstance(error, BadParameter):
        return sentence(language, "cli.typer.invalid", name=_names(error), reason=_reason(error, language))
    return _said(error.message, language)


def _names(error: BadParameter) -> str:
    """What the user has to write: an option's names, or an argument's."""
    hint = error.param_hint or (error.param.get_error_hint() if error.param is not None else "")
    return (hint if isinstance(hint, str) else " / ".join(hint)).replace("'", "")


def _reason(error: BadParameter, language: Language) -> str:
    if isinstance(error.__cause__, ValidationError):
        first = error.__cause__.errors()[0]
        if first["type"] != "value_error":
            return expected(first, language)
    return _said(error.message, language)


def _said(message: str, language: Language) -> str:
    """What typer says, in our words; what we have no words for, as it says it."""
    for key, pattern in _FOUND.items():
        if found := pattern.fullmatch(message):
            facts = found.groupdict()
            if "guesses" in facts:
                facts["hint"] = _guess(re.findall("'(.*?)'", facts["guesses"] or ""))
            if "choices" in facts:
                facts["choices"] = Listed(re.findall("'(.*?)'", facts["choices"]), last="common.or")
            return sentence(language, f"cli.typer.{key}", **facts)
    return message


def _guess(words: list[str]) -> Phrase | str:
    return Phrase("common.hint", guess=Listed(words, last="common.or")) if words else ""
