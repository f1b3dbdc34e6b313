"""Owns the commands for a whole world: let it live, ask its people, write down its story, read and replay one."""

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from service.public.files import bundled_content, load_content
from service.public.upkeep import back_up, export_into, export_to, restore_backup, span_of, store_place
from service.public.words import Phrase
from studio.cli.options import MODEL, WORLD, Options, command, commands, offers
from studio.cli.words import say


@command(commands, "run", "cli.help.run", "world", "content", "language", *MODEL, "plain")
def run(
    options: Options,
    days: Annotated[int, typer.Option(min=1, max=365, help=say("cli.help.days"))] = 2,
    characters: Annotated[int, typer.Option(min=0, help=say("cli.help.characters"))] = 8,
    data: Annotated[Path | None, typer.Option(help=say("cli.help.data_of_run"))] = None,
    seed: Annotated[int | None, typer.Option(help=say("cli.help.seed"))] = None,
) -> None:
    """Let a world live for some days and watch it. Without a model configured, as a rehearsal."""
    from studio.terminal.watch import WatchedRun, run_world

    settings = options.settings(quiet=True, data_dir=data)
    if seed is not None:
        settings = settings.changed(llm={"seed": seed})
    wanted = WatchedRun(
        days=days,
        characters=characters,
        world_id=options.world_id,
        language=options.reader,
        plain=options.plain,
        keeps="data_dir" in settings.model_fields_set,
    )
    if not run_world(settings, wanted, offers(settings)):
        raise typer.Exit(130)


@command(commands, "ask", "cli.help.ask", *WORLD, "language", *MODEL)
def ask(
    options: Options,
    question: Annotated[str, typer.Argument(help=say("cli.help.question"))],
    people: Annotated[str, typer.Option(help=say("cli.help.people_asked"))] = "all",
    choice: Annotated[str | None, typer.Option(help=say("cli.help.choice"))] = None,
    number: Annotated[str | None, typer.Option(help=say("cli.help.number"))] = None,
    stimulus: Annotated[str | None, typer.Option(help=say("cli.help.stimulus"))] = None,
    remember: Annotated[bool, typer.Option("--remember", help=say("cli.help.remember"))] = False,
    scan: Annotated[bool, typer.Option("--scan", help=say("cli.help.scan"))] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help=say("cli.help.survey_output"))] = None,
) -> None:
    """Ask many people the same. Without a model configured, as a rehearsal."""
    from studio.terminal.ask import run_ask

    asked = {
        "question": question,
        "people": people if people in ("all", "npcs", "characters") and not scan else people.split(","),
        "stimulus": stimulus,
        "choices": None if choice is None else choice.split(","),
        "number": None if number is None else _span(number),
        "remember": remember,
    }
    settings = options.settings(needs_model=True)
    asyncio.run(run_ask(settings, options.world_id, options.reader, asked, scan=scan, output=output))


def _span(text: str) -> dict[str, float]:
    """The bounds of a number: ``1..5``."""
    least, _, most = text.partition("..")
    try:
        return {"min": float(least), "max": float(most)}
    except ValueError as exc:
        raise typer.BadParameter(say("cli.no_span", text=text), param_hint="--number") from exc


@command(commands, "export", "cli.help.export", *WORLD, "output")
def export(
    options: Options,
    day: Annotated[str | None, typer.Option(help=say("cli.help.day"))] = None,
    since: Annotated[str | None, typer.Option("--from", help=say("cli.help.since"))] = None,
    until: Annotated[str | None, typer.Option("--to", help=say("cli.help.until"))] = None,
) -> None:
    """Write what happened and what was said as JSON lines. The service may run meanwhile."""
    if day is not None and (since is not None or until is not None):
        raise typer.BadParameter(say("cli.day_and_span"), param_hint="--day")
    settings = options.settings()
    span = span_of(day, since, until, day_starts=settings.world.day_starts_minutes)
    world_id, game = options.world_id, load_content(settings.content_dir or bundled_content())
    names = {tongue: cast.world_name for tongue, cast in game.casts.items()}
    if options.output is None:
        export_into(settings, world_id, names, span, sys.stdout.buffer)
    else:
        count = export_to(settings, world_id, names, span, options.output)
        typer.echo(say("cli.exported", file=options.output, count=count), err=True)


@command(commands, "backup", "cli.help.backup", "data")
def backup(options: Options, file: Annotated[Path, typer.Argument(help=say("cli.help.backup_file"))]) -> None:
    """Write all that the store holds into one file. The service may run meanwhile."""
    typer.echo(say("cli.backed_up", file=file, **_counted(back_up(options.settings(), file))), err=True)


@command(commands, "restore", "cli.help.restore", "data")
def restore(
    options: Options,
    file: Annotated[Path, typer.Argument(help=say("cli.help.backup_file"))],
    replace: Annotated[bool, typer.Option("--replace", help=say("cli.help.replace"))] = False,
) -> None:
    """Read a backup into an empty store. No service may run on the data meanwhile."""
    settings = options.settings()
    rows = restore_backup(settings, file, replaces=replace)
    typer.echo(say("cli.restored", place=store_place(settings), **_counted(rows)))


def _counted(rows: Counter[str]) -> dict[str, Phrase]:
    counts = {"worlds": rows["worlds"], "conversations": rows["conversations"], "rows": rows.total()}
    return {name: Phrase(f"counts.{name}", count=count) for name, count in counts.items()}


@command(commands, "replay", "cli.help.replay", *WORLD, *MODEL)
def replay_(options: Options, file: Annotated[Path, typer.Argument(help=say("cli.help.commands"))]) -> None:
    """Do again what came to a world from outside."""
    from service.replay import replay

    count = asyncio.run(replay(options.settings(), options.world_id, file))
    typer.echo(say("cli.replayed", world=options.world, count=count))
