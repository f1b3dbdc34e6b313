"""Owns the running of the command `kataribe`, with all its commands: whatever is wrong is told in a sentence."""

import errno
import io
import sys

import typer

from service.public.errors import KataribeError, LinesWrong
from service.public.models import write_logs
from studio.cli.options import cli, own_language, say

# in the order in which the help names their commands
from studio.cli import serve, worlds, scenes, memory, keys, generate, exchange, content  # isort: skip  # noqa: F401

__all__ = ["cli", "main"]


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
