"""Owns the commands for whoever writes a game: begin one, check its files, its models and its people."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from service.public.files import (
    CAST_TESTS,
    bundled_content,
    game_problems,
    init_content,
    load_content,
    persona_costs,
    small_content,
)
from service.public.models import USUAL_CONTEXT
from service.public.words import sentence
from studio.cli.options import GAME, MODEL, Options, command, commands
from studio.cli.words import own_language, say


@command(commands, "init", "cli.help.init", "language")
def init(
    options: Options,
    directory: Annotated[Path, typer.Argument(help=say("cli.help.directory"))],
    small: Annotated[bool, typer.Option("--small", help=say("cli.help.small"))] = False,
) -> None:
    """Copy the sample village, or an empty stage, into a directory, for a game of your own, whose worlds begin in the
    reader's language.
    """
    source = small_content(options.reader) if small else None
    for path in init_content(directory, source=source, language=options.reader):
        typer.echo(path)
    typer.echo(f"kataribe check {directory}\nkataribe serve --content {directory}")


@command(commands, "check", "cli.help.check", "language")
def check(
    options: Options, directory: Annotated[Path | None, typer.Argument(help=say("cli.help.content"))] = None
) -> None:
    """Report every error in a game's content files at once; where there is none, what each person costs."""
    place, speak = directory or bundled_content(), options.reader
    problems = game_problems(place)
    for problem in problems:
        typer.echo(problem.line(speak))
    for cost in () if problems else persona_costs(load_content(place), speak):
        typer.echo(sentence(speak, "cli.persona", id=cost.person_id, count=cost.always, moment=cost.moment))
        if cost.always > USUAL_CONTEXT // 2:
            typer.echo(sentence(speak, "cli.long_persona", id=cost.person_id, context=USUAL_CONTEXT))
    typer.echo(sentence(speak, "cli.errors", place=place, count=len(problems)), err=bool(problems))
    raise typer.Exit(1 if problems else 0)


@command(commands, "doctor", "cli.help.doctor", *GAME, "language")
def doctor(
    options: Options,
    closings: Annotated[bool, typer.Option("--closings", help=say("cli.help.closings"))] = False,
) -> None:
    """Look at what a service would run on, a line each; something is wrong: exit code 1."""
    from studio.terminal.doctor import show_checkup, show_doctor

    settings = options.settings(quiet=True)
    is_well = asyncio.run(show_checkup(settings, options.reader))
    if closings:
        asyncio.run(show_doctor(settings, options.reader))
    raise typer.Exit(0 if is_well else 1)


@command(commands, "test", "cli.help.test", "content", "language", *MODEL)
def cast_test(
    options: Options,
    directory: Annotated[Path | None, typer.Argument(help=say("cli.help.tests"))] = None,
    probes: Annotated[bool, typer.Option("--probes", help=say("cli.help.probes"))] = False,
    npc: Annotated[list[str] | None, typer.Option(help=say("cli.help.tested_npc"))] = None,
    junit: Annotated[Path | None, typer.Option(help=say("cli.help.junit"))] = None,
) -> None:
    """Speak with people of a game as its tests say, and check what they answer."""
    from rich.console import Console

    from studio.testing.play import run_tests
    from studio.testing.report import show, write_junit

    settings = options.settings(quiet=True)
    place = None if probes else (settings.content_dir or bundled_content()) / CAST_TESTS
    outcome = run_tests(settings, directory or place, probes=probes, people=npc or ())
    show(outcome, own_language(), Console())
    if junit is not None:
        write_junit(outcome, junit, own_language())
    raise typer.Exit(0 if outcome.passed else 1)
