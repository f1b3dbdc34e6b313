"""Owns the options that commands share: each says which of them it takes."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from service.public import models, upkeep
from service.public.models import CassetteMode, Settings, read_settings, write_logs
from service.public.words import Language, Listed, languages
from studio.cli.words import own_language, say

commands = typer.Typer(add_completion=False, rich_markup_mode=None)
"""The commands whose files are imported: see studio/cli/main.py."""

GAME = ("content", "data")
WORLD = ("world", *GAME)
MODEL = ("rehearsal", "cassette", "cassette_mode")


def _language(text: str | None) -> Language | None:
    if text is None or text in languages():
        return text
    expected = Listed(languages(), last="common.or")
    raise typer.BadParameter(say("cli.no_language", text=text, languages=expected), param_hint="--language")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user gave for the options that commands share; those that a command does not take keep their default."""

    world: Annotated[str, typer.Option(help=say("cli.help.world"))] = upkeep.MAIN_WORLD
    content: Annotated[Path | None, typer.Option(help=say("cli.help.content"))] = None
    data: Annotated[Path | None, typer.Option(help=say("cli.help.data"))] = None
    language: Annotated[
        str | None,
        typer.Option(
            callback=_language,
            help=say("cli.help.language", languages=Listed(languages(), last="common.or")),
        ),
    ] = None
    rehearsal: Annotated[bool, typer.Option("--rehearsal", help=say("cli.help.rehearsal"))] = False
    cassette: Annotated[Path | None, typer.Option(help=say("cli.help.cassette"))] = None
    cassette_mode: Annotated[CassetteMode | None, typer.Option(help=say("cli.help.cassette_mode"))] = None
    plain: Annotated[bool, typer.Option("--plain", help=say("cli.help.plain"))] = False
    output: Annotated[Path | None, typer.Option("--output", "-o", help=say("cli.help.output"))] = None

    @property
    def reader(self) -> Language:
        """The language in which the user is told something."""
        return self.language or own_language()

    @property
    def game(self) -> Path:
        """The directory of the game that is to be written into."""
        return self.settings().content_dir or Path()

    @property
    def world_id(self) -> str:
        """The world's id. Raises: BadWorldName."""
        return upkeep.world_name(self.world)

    def settings(self, *, quiet: bool = False, needs_model: bool = False, **more: Any) -> Settings:
        """The environment's settings with what the command line says on top; `more` are settings of the command's own.
        `quiet`: log lines that warn of nothing would stand between those of what is shown. `needs_model`: without one
        configured it is a rehearsal.
        """
        settings = read_settings()
        write_logs(settings.log_format, "warning" if quiet else settings.log_level)
        if quiet:
            logging.getLogger().setLevel(logging.WARNING)
        provider = "rehearsal" if self.rehearsal else None
        settings = settings.changed(
            llm=_given({"provider": provider, "cassette": self.cassette, "cassette_mode": self.cassette_mode}),
            world=_given({"language": self.language}),
            **_given({"content_dir": self.content, "data_dir": self.data, **more}),
        )
        if needs_model and not settings.names_model:  # a cassette names one
            return settings.changed(llm={"provider": "rehearsal"})
        return settings


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def command(group: typer.Typer, name: str, help_key: str, *taken: str) -> Callable[..., Any]:
    """Make a function a command of the group. Its first argument is the `Options`, of which the command takes those
    that are named; the others are its own.
    """
    shared = [field for field in fields(Options) if field.name in taken]

    def add(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(**given: Any) -> None:
            options = Options(**{field.name: given.pop(field.name) for field in shared})
            function(options, **given)

        _, *own = inspect.signature(function).parameters.values()
        added = [
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
            for one in shared
        ]
        run.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]  # typer reads this
        group.command(name, help=say(help_key), short_help=say(help_key))(run)
        return function

    return add


def group_of(name: str, help_key: str, cls: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """A group of commands."""
    group = typer.Typer(cls=cls, no_args_is_help=True)
    commands.add_typer(group, name=name, help=say(help_key), short_help=say(help_key))
    return group


class KindGroup(TyperGroup):
    """Commands of which each is a kind of file, that need not be said."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *self.get_help_option_names(ctx)):
            args = [self.kind(args[0]), *args]
        return super().parse_args(ctx, args)

    def kind(self, file: str) -> str:
        """The command for that file: without a kind it is an export of our own."""
        return "story"


def offers(settings: Settings) -> "list[models.LocalServer]":
    """Model servers found on this machine, when the settings name none."""
    is_chosen = settings.names_model or settings.llm.provider == "rehearsal"
    return [] if is_chosen else asyncio.run(models.find_local_servers())
