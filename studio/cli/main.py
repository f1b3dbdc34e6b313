"""Owns the running of the command `kataribe`: a command's file is imported when it is run, and whatever is wrong is
told in a sentence.
"""

import errno
import gc
import io
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from service.public.errors import KataribeError, LinesWrong
from service.public.models import write_logs
from studio.cli.words import own_language, say

__all__ = ["COMMANDS", "cli", "main"]

COMMANDS = {
    "serve": ("serve", "cli.help.serve"),
    "demo": ("serve", "cli.help.demo"),
    "mcp": ("serve", "cli.help.mcp"),
    "run": ("worlds", "cli.help.run"),
    "ask": ("worlds", "cli.help.ask"),
    "export": ("worlds", "cli.help.export"),
    "backup": ("worlds", "cli.help.backup"),
    "restore": ("worlds", "cli.help.restore"),
    "replay": ("worlds", "cli.help.replay"),
    "export-person": ("exchange", "cli.help.export_person"),
    "init": ("content", "cli.help.init"),
    "check": ("content", "cli.help.check"),
    "doctor": ("content", "cli.help.doctor"),
    "test": ("content", "cli.help.test"),
    "scene": ("scenes", "cli.help.scenes"),
    "memory": ("memory", "cli.help.memory"),
    "keys": ("keys", "cli.help.keys"),
    "generate": ("generate", "cli.help.generate"),
    "people": ("generate", "cli.help.people"),
    "import": ("exchange", "cli.help.import"),
}
"""The file of each command and the key of its help, in the order in which the help names them."""


class _Commands(TyperGroup):
    """Holds a name and a help line for each command; the command itself is in its file."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        return name, command_named(str(name)), rest


def command_named(name: str) -> Any:
    """The command of that name, with its file imported now."""
    from pydantic import BaseModel

    BaseModel.model_config["defer_build"] = True  # half a second: a run needs few of the models that are imported
    import_module(f"studio.cli.{COMMANDS[name][0]}")
    from studio.cli.options import commands

    gc.freeze()
    gc.enable()
    return get_group(commands).commands[name]


cli = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # rich takes a Japanese sentence for one long word and cuts it off
    help=say("cli.help.kataribe"),
)


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(f"kataribe {version('kataribe')}")
        raise typer.Exit


@cli.callback()
def kataribe(
    asked: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_tell_version, help=say("cli.help.version"))
    ] = False,
) -> None:
    """A life and a memory for a game's characters."""


for _name, (_, _key) in COMMANDS.items():
    cli.command(_name, help=say(_key), short_help=say(_key))(lambda: None)


def main() -> None:
    """The command ``kataribe``: errors are told in the user's language, ours in one line."""
    write_logs("text", "info")  # until the settings say more
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Japanese letters is no reason to stop
    try:
        cli()
    except KataribeError as exc:
        typer.echo(exc.sentence(own_language()), err=True)
        for wrong in exc.found if isinstance(exc, LinesWrong) else ():
            typer.echo(f"{wrong.where}: {wrong.reason.of(own_language())}", err=True)
    except OSError as exc:
        if exc.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        typer.echo(say("cli.no_room"), err=True)
    sys.exit(2)
