"""Owns the running of the command `kataribe`, with all its commands: whatever is wrong is told in a sentence."""

import errno
import io
import sys

import typer
from typer.rich_utils import rich_abort_error

from service.errors import KataribeError, LinesWrong
from service.logs import write_logs
from studio.cli.help import own_language, say, show_help_in, show_wrong_call
from studio.cli.options import cli

# in the order in which the help names their commands
from studio.cli import serve, worlds, scenes, memory, generate, exchange, author  # isort: skip  # noqa: F401

__all__ = ["cli", "main"]


def main() -> None:
    """The command ``kataribe``: errors are told in the user's language, ours in one line."""
    write_logs("text", "info")  # until the settings say more
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Japanese letters is no reason to stop
    show_help_in(own_language())
    try:
        sys.exit(cli(standalone_mode=False))
    except typer.TyperException as exc:
        show_wrong_call(exc, own_language())
        sys.exit(exc.exit_code)
    except typer.Abort:
        rich_abort_error()
        sys.exit(1)
    except KataribeError as exc:
        typer.echo(exc.sentence(own_language()), err=True)
        for wrong in exc.found if isinstance(exc, LinesWrong) else ():
            typer.echo(f"{wrong.where}: {wrong.reason.of(own_language())}", err=True)
    except OSError as exc:
        if exc.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        typer.echo(say("cli.no_room"), err=True)
    sys.exit(2)
