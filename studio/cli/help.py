"""Owns how commands speak the user's language: their help, and what was wrong with a call."""

import os
import re
from typing import Any

import typer
from pydantic import ValidationError
from rich.text import Text
from typer import rich_utils
from typer.core import TyperCommand, TyperGroup

from service.api.problem import expected
from service.locales import Language, Listed, Phrase, language_named, sentence

_WORDS = {
    "ARGUMENTS_PANEL_TITLE": "arguments",
    "OPTIONS_PANEL_TITLE": "options",
    "COMMANDS_PANEL_TITLE": "commands",
    "ERRORS_PANEL_TITLE": "error",
    "ABORTED_TEXT": "aborted",
    "REQUIRED_LONG_STRING": "required",
    "DEFAULT_STRING": "default",
    "RICH_HELP": "see_help",
}
"""What typer's help is put together of, and the key of the sentence that says it."""
_PLACEHOLDERS = {"value": "{}", "command_path": "{command_path}", "help_option": "{help_option}"}
"""What typer fills in."""
_USAGE = {"[OPTIONS]": "any_options", "COMMAND [ARGS]...": "any_command"}
_FOUND = {
    "no_command": re.compile(r"No such command '(?P<name>.*?)'\.(?: Did you mean (?P<guesses>.*)\?)?", re.DOTALL),
    "extra": re.compile(r"Got unexpected extra argument\(s\) \((?P<words>.*)\)", re.DOTALL),
    "no_value": re.compile(r"Option '(?P<name>.*)' requires an argument\."),
    "value": re.compile(r"Option '(?P<name>.*)' does not take a value\.", re.DOTALL),
    "no_choice": re.compile(r"(?:Value error, )?(?P<found>'.*') is not one of (?P<choices>.*)\.", re.DOTALL),
}
"""What typer says without facts, and the sentence that says it."""


def own_language() -> Language:
    """The user's language, by the locale."""
    named = (os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name))
    return language_named(next(named, None)) or "en"


def say(key: str, /, **facts: object) -> str:
    """The sentence in the user's language."""
    return sentence(own_language(), key, **facts)


class _Folding(rich_utils.OptionHighlighter):
    """Japanese has no spaces: typer would take a sentence for one long word and cut it off with an ellipsis."""

    def highlight(self, text: Text) -> None:
        text.overflow = "fold"
        super().highlight(text)


class _Told:
    """What a command of typer's tells of itself in the user's language: its usage, and its option --help."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        pieces = self.collect_usage_pieces(ctx)  # type: ignore[attr-defined]  # both of typer's classes have these
        words = [say(f"cli.typer.{_USAGE[piece]}") if piece in _USAGE else piece for piece in pieces]
        formatter.write_usage(ctx.command_path, " ".join(words), prefix=say("cli.typer.usage"))

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        option.help = say("cli.help.help")
        return option


class Command(_Told, TyperCommand):
    """A command."""


class Group(_Told, TyperGroup):
    """A group of commands."""


def show_help_in(language: Language) -> None:
    """From here on typer's help stands in that language."""
    rich_utils.highlighter = _Folding()
    for name, key in _WORDS.items():
        setattr(rich_utils, name, sentence(language, f"cli.typer.{key}", **_PLACEHOLDERS))


class _WrongCall(typer.BadParameter):
    """What was wrong with a call, in our words."""

    def format_message(self) -> str:
        return self.message


def show_wrong_call(error: Any, language: Language) -> None:
    """Say what was wrong with a call as typer does, in that language; `error` is a typer.TyperException."""
    kind = type(error).__name__  # typer exports no other name of these
    if kind != "NoArgsIsHelpError":  # making it has shown the help
        rich_utils.rich_format_error(_WrongCall(_told(error, kind, language), ctx=error.ctx))


def _told(error: Any, kind: str, language: Language) -> str:
    match kind:
        case "NoSuchOption":
            hint = _guess(sorted(error.possibilities or ()))
            return sentence(language, "cli.typer.no_option", name=error.option_name, hint=hint)
        case "MissingParameter":
            choices = [str(one) for one in error.param.type_descriptor.choices or ()]
            missing = "missing_argument" if error.param.param_type_name == "argument" else "missing_option"
            one_of = Phrase("cli.typer.choices", choices=Listed(choices, last="common.or")) if choices else ""
            return sentence(language, f"cli.typer.{missing}", name=_names(error), hint=one_of)
        case "BadParameter":
            return sentence(language, "cli.typer.invalid", name=_names(error), reason=_reason(error, language))
    return _said(error.message, language)


def _names(error: Any) -> str:
    """What the user has to write: an option's names, or an argument's."""
    hint = error.param_hint or error.param.get_error_hint()
    return (hint if isinstance(hint, str) else " / ".join(hint)).replace("'", "")


def _reason(error: Any, language: Language) -> str:
    if isinstance(error.__cause__, ValidationError):
        first = error.__cause__.errors()[0]
        if first["type"] != "value_error":
            return expected(first, language)
    return _said(error.message, language)


def _said(message: str, language: Language) -> str:
    """What typer says, in our words; what we have no words for, as it says it."""
    for key, pattern in _FOUND.items():
        if found := pattern.fullmatch(message):
            facts = found.groupdict("")
            listed = {name: re.findall("'(.*?)'", facts.pop(name, "")) for name in ("guesses", "choices")}
            choices = Listed(listed["choices"], last="common.or")
            return sentence(language, f"cli.typer.{key}", **facts, hint=_guess(listed["guesses"]), choices=choices)
    return message


def _guess(words: list[str]) -> Phrase | str:
    return Phrase("common.hint", guess=Listed(words, last="common.or")) if words else ""
