"""Owns the commands that make things in bulk: dialogues of a data set, and people of a world."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from service.public.files import game_problems
from service.public.models import Settings
from service.public.words import Phrase
from studio.cli.options import MODEL, KindGroup, Options, command, group_of
from studio.cli.words import own_language, say
from studio.generate.dialogues import kind_of
from studio.generate.groups import groups_plan
from studio.generate.making import Order, make_dataset
from studio.generate.people.making import PeopleJob, people_job
from studio.generate.people.plan import MOST_PEOPLE
from studio.generate.sessions.plan import sessions_plan
from studio.terminal.cost import money_of


class _GenerateGroup(KindGroup):
    """Data sets: the file shows its kind."""

    def kind(self, file: str) -> str:
        return kind_of(Path(file))


generate = group_of("generate", "cli.help.generate", _GenerateGroup)
people = group_of("people", "cli.help.people")

_PLANS = {"groups": groups_plan, "sessions": sessions_plan}


@command(generate, "groups", "cli.help.generate_groups", "content", *MODEL, "plain")
@command(generate, "sessions", "cli.help.generate_sessions", "content", *MODEL, "plain")
def generate_dialogues(
    options: Options,
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help=say("cli.help.generate_file"))],
    output: Annotated[Path, typer.Option("--output", "-o", help=say("cli.help.generate_output"))],
    seed: Annotated[int | None, typer.Option(help=say("cli.help.generate_seed"))] = None,
    licence: Annotated[str | None, typer.Option(help=say("cli.help.licence"))] = None,
) -> None:
    """Make dialogues in bulk."""
    settings = options.settings(quiet=True)
    order = Order(file=output, licence=licence, plain=options.plain, language=own_language())
    if not make_dataset(settings, _PLANS[ctx.info_name or ""](file, settings, seed), order):
        raise typer.Exit(130)


@command(people, "make", "cli.help.people_make", "language", *MODEL, "plain")
def people_make(
    options: Options,
    wish: Annotated[str, typer.Argument(help=say("cli.help.wish"))] = "",
    demography: Annotated[Path | None, typer.Option(help=say("cli.help.demography"))] = None,
    count: Annotated[int | None, typer.Option(min=1, max=MOST_PEOPLE, help=say("cli.help.people_count"))] = None,
    seed: Annotated[int | None, typer.Option(help=say("cli.help.people_seed"))] = None,
    world: Annotated[Path | None, typer.Option("--world", "--content", help=say("cli.help.people_world"))] = None,
) -> None:
    """Make people and weave them into a world. Without a model configured, as a rehearsal."""
    if bool(wish) is (demography is not None):
        raise typer.BadParameter(say("cli.wish_or_demography"), param_hint="WISH")
    settings = options.settings(needs_model=True, quiet=True, content_dir=world)
    settings = settings.changed(content_dir=settings.content_dir or Path())
    job = people_job(settings, wish=wish, demography=demography, count=count, seed=seed)
    _announce(job, settings)
    job.files.open()
    order = Order(file=job.files.answers, plain=options.plain, language=own_language())
    if not make_dataset(settings, job, order):
        raise typer.Exit(130)
    problems = game_problems(job.content.directory)
    for problem in problems:
        typer.echo(problem.line(own_language()))
    typer.echo(say("cli.errors", place=job.content.directory, count=len(problems)), err=bool(problems))
    raise typer.Exit(0 if job.made and not problems else 1)


def _announce(job: PeopleJob, settings: Settings) -> None:
    """Say what is about to be made, and what it costs; where somebody sits at the terminal, ask whether to go on."""
    plan = {"count": job.count, "language": job.language, "there": job.made, "world": job.content.directory}
    typer.echo(say("people_make.plan", **plan, answers=job.files.answers_kept()))
    if settings.llm.provider == "rehearsal":
        typer.echo(say("people_make.rehearsal"))
        if not job.reads_wish:
            typer.echo(say("people_make.wish_unread", language=job.language))
        return
    spent = job.forecast(settings)
    tokens = spent["prompt_tokens"] + spent["completion_tokens"]
    money = Phrase("people_make.money", money=told) if (told := money_of(spent)) else ""
    typer.echo(say("people_make.forecast", calls=f"{spent['calls']:,}", tokens=f"{tokens:,}", money=money))
    if spent["calls"] and sys.stdin.isatty() and sys.stdout.isatty():
        typer.confirm(say("people_make.go_on"), default=True, abort=True)
