"""Owns the command line: serve, demo, run, scene, ask, quality, export, import, replay, generate, people, memory, init,
check, doctor, test.
"""

import asyncio
import errno
import io
import json
import logging
import os
import signal
import sys
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
from fastapi import FastAPI
from rich.console import Console
from typer._click.exceptions import UsageError
from typer.core import TyperGroup
from typer.rich_utils import rich_abort_error

from service.api.mcp import SECONDS, mcp_server
from service.api.quality import ScoredRole
from service.api.server import Server, settle_memory
from service.app import checker, create_app
from service.content.check import examine
from service.content.files import CAST_TESTS, bundled_content, init_content, small_content
from service.content.load import load_content
from service.errors import KataribeError, LinesWrong
from service.export.files import export_into, export_to, import_from, span_of, world_name
from service.export.problem import usable
from service.llm.choose import LocalServer, find_local_servers
from service.locales import Language, Listed, Phrase, language_named, languages, sentence
from service.logs import write_logs
from service.own_prompts import game_problems, persona_costs
from service.settings import USUAL_CONTEXT, CassetteMode, Settings, read_settings
from service.store.tables import MAIN_WORLD
from service.upkeep import adopt, export_memory, import_memory, prune_memory, purge, reembed
from studio.cli.help import show_help_in, show_wrong_call
from studio.exchange.anima import read_anima
from studio.exchange.card import MOST_CARD_BYTES, read_card
from studio.exchange.draft import Draft, Report, file_bytes
from studio.exchange.give import Format, give
from studio.exchange.place import Wish, ids_in, take_in, take_map_in, write_all
from studio.exchange.tiled import read_tiled
from studio.exchange.tinytroupe import read_tinytroupe
from studio.generate.groups import groups_plan
from studio.generate.making import Order, make_dataset
from studio.generate.people.making import PeopleJob, people_job
from studio.generate.people.plan import MOST_PEOPLE
from studio.generate.sessions.plan import sessions_plan
from studio.generate.stage import kind_of
from studio.terminal.ask import run_ask, show_quality
from studio.terminal.cost import Prices, prices_of
from studio.terminal.demo import run_demo
from studio.terminal.doctor import show_doctor
from studio.terminal.replay import replay
from studio.terminal.scene import TakenAs, form_of, run_scene, take_scene
from studio.terminal.watch import Run, run_world
from studio.testing.play import run_tests
from studio.testing.report import show, write_junit


def _own_language() -> Language:
    """The user's, by the locale."""
    named = (os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name))
    return language_named(next(named, None)) or "en"


_help = partial(sentence, _own_language())

cli = typer.Typer(no_args_is_help=True, add_completion=False, help=_help("cli.help.kataribe"))
memory = typer.Typer(no_args_is_help=True)
cli.add_typer(memory, name="memory", help=_help("cli.help.memory"))
scenes = typer.Typer(no_args_is_help=True)
cli.add_typer(scenes, name="scene", help=_help("cli.help.scenes"))


class _ImportGroup(TyperGroup):
    """Commands of which each is a kind of file, that need not be said: without one it is an export of our own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *self.get_help_option_names(ctx)):
            args = [self.kind(args[0]), *args]
        return super().parse_args(ctx, args)

    def kind(self, file: str) -> str:
        """The command for that file."""
        return "story"


class _GenerateGroup(_ImportGroup):
    """The same of what can be made: the file shows its kind."""

    def kind(self, file: str) -> str:
        return kind_of(Path(file))


generate = typer.Typer(cls=_GenerateGroup, no_args_is_help=True)
cli.add_typer(generate, name="generate", help=_help("cli.help.generate"))
people = typer.Typer(no_args_is_help=True)
cli.add_typer(people, name="people", help=_help("cli.help.people"))
imports = typer.Typer(cls=_ImportGroup, no_args_is_help=True)
cli.add_typer(imports, name="import", help=_help("cli.help.import"))


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(f"kataribe {version('kataribe')}")
        raise typer.Exit


@cli.callback()
def kataribe(
    asked: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_tell_version, help=_help("cli.help.version"))
    ] = False,
) -> None:
    """A life and a memory for a game's characters."""


def _language(text: str | None) -> Language | None:
    if text is None or text in languages():
        return text
    expected = Listed(languages(), last="common.or")
    raise typer.BadParameter(_say("cli.no_language", text=text, languages=expected), param_hint="--language")


LanguageOption = Annotated[
    str | None,
    typer.Option(callback=_language, help=_help("cli.help.language", languages=Listed(languages(), last="common.or"))),
]
ContentOption = Annotated[Path | None, typer.Option(help=_help("cli.help.content"))]
DataOption = Annotated[Path | None, typer.Option(help=_help("cli.help.data"))]
WorldOption = Annotated[str, typer.Option(help=_help("cli.help.world"))]
CassetteOption = Annotated[Path | None, typer.Option(help=_help("cli.help.cassette"))]
CassetteModeOption = Annotated[CassetteMode | None, typer.Option(help=_help("cli.help.cassette_mode"))]


@cli.command(help=_help("cli.help.serve"))
def serve(
    host: Annotated[str | None, typer.Option(help=_help("cli.help.host"))] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help=_help("cli.help.port"))] = None,
    rehearsal: Annotated[bool, typer.Option("--rehearsal", help=_help("cli.help.rehearsal"))] = False,
    content: ContentOption = None,
    data: DataOption = None,
    language: LanguageOption = None,
    reload_content: Annotated[bool, typer.Option("--reload-content", help=_help("cli.help.reload_content"))] = False,
) -> None:
    """Serve the HTTP API and the pages."""
    settings = _settings(rehearsal=rehearsal, content=content, data=data, language=language)
    settings.host = host or settings.host
    settings.port = settings.port if port is None else port
    app = create_app(settings, reload_content=reload_content)
    if app.state.models_missing and not rehearsal:
        _say_no_model(settings)
    asyncio.run(_serve(app, settings))


@cli.command(help=_help("cli.help.demo"))
def demo(
    language: LanguageOption = None,
    content: ContentOption = None,
    character: Annotated[str | None, typer.Option(help=_help("cli.help.character"))] = None,
    npc: Annotated[str | None, typer.Option(help=_help("cli.help.npc"))] = None,
) -> None:
    """Two meetings of a character and an NPC, a world day apart. Without a model configured, as a rehearsal."""
    chosen = language or _own_language()
    settings = _settings(content=content, language=chosen)
    run_demo(settings, chosen, character_id=character, npc_id=npc, offers=asyncio.run(_offers(settings)))


@cli.command(help=_help("cli.help.run"))
def run(
    days: Annotated[int, typer.Option(min=1, max=365, help=_help("cli.help.days"))] = 2,
    characters: Annotated[int, typer.Option(min=0, help=_help("cli.help.characters"))] = 8,
    world: WorldOption = MAIN_WORLD,
    content: ContentOption = None,
    data: Annotated[
        Path | None,
        typer.Option(help=_help("cli.help.data_of_run")),
    ] = None,
    language: LanguageOption = None,
    rehearsal: Annotated[bool, typer.Option("--rehearsal", help=_help("cli.help.rehearsal"))] = False,
    plain: Annotated[bool, typer.Option("--plain", help=_help("cli.help.plain"))] = False,
    seed: Annotated[int | None, typer.Option(help=_help("cli.help.seed"))] = None,
    cassette: CassetteOption = None,
    cassette_mode: CassetteModeOption = None,
    price_in: Annotated[float | None, typer.Option(min=0, help=_help("cli.help.price_in"))] = None,
    price_out: Annotated[float | None, typer.Option(min=0, help=_help("cli.help.price_out"))] = None,
) -> None:
    """Let a world live for some days and watch it. Without a model configured, as a rehearsal."""
    chosen = language or _own_language()
    settings = _settings(
        quiet=True, rehearsal=rehearsal, content=content, data=data, cassette=cassette, cassette_mode=cassette_mode
    )
    if seed is not None:
        settings.llm.seed = seed
    wanted = Run(
        days=days,
        characters=characters,
        world_id=world_name(world),
        language=chosen,
        plain=plain,
        prices=prices_of(price_in, price_out),
        keeps="data_dir" in settings.model_fields_set,
    )
    if not run_world(settings, wanted, asyncio.run(_offers(settings))):
        raise typer.Exit(130)


@scenes.command(name="log", help=_help("cli.help.scene_taken"))
def scene_log(
    scene: Annotated[str, typer.Argument(help=_help("cli.help.scene_played"))],
    form: Annotated[TakenAs | None, typer.Option("--as", help=_help("cli.help.scene_form"))] = None,
    view: Annotated[str, typer.Option(help=_help("cli.help.scene_view"))] = "",
    thoughts: Annotated[bool, typer.Option("--thoughts", help=_help("cli.help.scene_thoughts"))] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help=_help("cli.help.output"))] = None,
    world: WorldOption = MAIN_WORLD,
    content: ContentOption = None,
    data: DataOption = None,
    language: LanguageOption = None,
) -> None:
    """Take away what happened in a scene."""
    settings = _settings(content=content, data=data, language=language)
    spoken, form = language or _own_language(), form or form_of(output or Path())
    asyncio.run(take_scene(settings, scene, world_name(world), spoken, output, form=form, view=view, thoughts=thoughts))


@scenes.command(name="run", help=_help("cli.help.scene_run"))
def scene_run(
    scene: Annotated[str, typer.Argument(help=_help("cli.help.scene"))],
    turns: Annotated[int | None, typer.Option(min=1, help=_help("cli.help.turns"))] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help=_help("cli.help.scene_log"))] = None,
    world: WorldOption = MAIN_WORLD,
    content: ContentOption = None,
    data: DataOption = None,
    language: LanguageOption = None,
    rehearsal: Annotated[bool, typer.Option("--rehearsal", help=_help("cli.help.rehearsal"))] = False,
    cassette: CassetteOption = None,
    cassette_mode: CassetteModeOption = None,
) -> None:
    """Play a scene, turn after turn. Without a model configured, as a rehearsal."""
    settings = _settings(
        needs_model=True,
        rehearsal=rehearsal,
        content=content,
        data=data,
        language=language,
        cassette=cassette,
        cassette_mode=cassette_mode,
    )
    asyncio.run(run_scene(settings, scene, world_name(world), language or _own_language(), turns=turns, output=output))


@cli.command(help=_help("cli.help.ask"))
def ask(
    question: Annotated[str, typer.Argument(help=_help("cli.help.question"))],
    people: Annotated[str, typer.Option(help=_help("cli.help.people_asked"))] = "all",
    choice: Annotated[str | None, typer.Option(help=_help("cli.help.choice"))] = None,
    number: Annotated[str | None, typer.Option(help=_help("cli.help.number"))] = None,
    stimulus: Annotated[str | None, typer.Option(help=_help("cli.help.stimulus"))] = None,
    remember: Annotated[bool, typer.Option("--remember", help=_help("cli.help.remember"))] = False,
    scan: Annotated[bool, typer.Option("--scan", help=_help("cli.help.scan"))] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help=_help("cli.help.survey_output"))] = None,
    world: WorldOption = MAIN_WORLD,
    content: ContentOption = None,
    data: DataOption = None,
    language: LanguageOption = None,
    rehearsal: Annotated[bool, typer.Option("--rehearsal", help=_help("cli.help.rehearsal"))] = False,
    cassette: CassetteOption = None,
    cassette_mode: CassetteModeOption = None,
) -> None:
    """Ask many people the same. Without a model configured, as a rehearsal."""
    settings = _settings(
        needs_model=True,
        rehearsal=rehearsal,
        content=content,
        data=data,
        language=language,
        cassette=cassette,
        cassette_mode=cassette_mode,
    )
    asked = {
        "question": question,
        "people": people if people in ("all", "npcs", "characters") and not scan else people.split(","),
        "stimulus": stimulus,
        "choices": None if choice is None else choice.split(","),
        "number": None if number is None else _span(number),
        "remember": remember,
    }
    asyncio.run(run_ask(settings, world_name(world), language or _own_language(), asked, scan=scan, output=output))


@cli.command(help=_help("cli.help.quality"))
def quality(
    worst: Annotated[int, typer.Option(min=0, max=1000, help=_help("cli.help.quality_worst"))] = 10,
    role: Annotated[ScoredRole | None, typer.Option(help=_help("cli.help.quality_role"))] = None,
    as_json: Annotated[bool, typer.Option("--json", help=_help("cli.help.quality_json"))] = False,
    world: WorldOption = MAIN_WORLD,
    content: ContentOption = None,
    data: DataOption = None,
    language: LanguageOption = None,
) -> None:
    """Tell how good what was said and decided was found to be."""
    settings = _settings(content=content, data=data, language=language)
    reader = language or _own_language()
    asyncio.run(show_quality(settings, world_name(world), reader, worst=worst, role=role, as_json=as_json))


@cli.command(help=_help("cli.help.export"))
def export(
    data: DataOption = None,
    world: WorldOption = MAIN_WORLD,
    day: Annotated[str | None, typer.Option(help=_help("cli.help.day"))] = None,
    since: Annotated[str | None, typer.Option("--from", help=_help("cli.help.since"))] = None,
    until: Annotated[str | None, typer.Option("--to", help=_help("cli.help.until"))] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help=_help("cli.help.output"))] = None,
    content: ContentOption = None,
) -> None:
    """Write what happened and what was said as JSON lines. The service may run meanwhile."""
    if day is not None and (since is not None or until is not None):
        raise typer.BadParameter(_say("cli.day_and_span"), param_hint="--day")
    settings = _settings(content=content, data=data)
    span = span_of(day, since, until, day_starts=settings.world.day_starts_minutes)
    world_id, game = world_name(world), load_content(settings.content_dir or bundled_content())
    names = {tongue: cast.world_name for tongue, cast in game.casts.items()}
    if output is None:
        export_into(settings, world_id, names, span, sys.stdout.buffer)
        return
    count = export_to(settings, world_id, names, span, output)
    typer.echo(_say("cli.exported", file=output, count=count), err=True)


@imports.command(name="story", help=_help("cli.help.import_story"))
def import_story(
    file: Annotated[Path, typer.Argument(help=_help("cli.help.file"))],
    data: DataOption = None,
    world: WorldOption = MAIN_WORLD,
) -> None:
    """Read an export into a world that has not lived, to look at it. No service may run on the data meanwhile."""
    read = import_from(_settings(data=data), world_name(world), file)
    events = Phrase("counts.events", count=read.events)
    conversations = Phrase("counts.conversations", count=read.conversations)
    typer.echo(_say("cli.imported", world=world, events=events, conversations=conversations))


ANIMA_PAST = "anima.jsonl"
"""What characters of Project Anima remember, beside the content's files."""

IdOption = Annotated[str | None, typer.Option("--id", help=_help("cli.help.import_id"))]
HomeOption = Annotated[str | None, typer.Option(help=_help("cli.help.import_home"))]
ReplaceOption = Annotated[bool, typer.Option("--replace", help=_help("cli.help.import_replace"))]


@imports.command(name="card", help=_help("cli.help.import_card"))
def import_card(
    file: Annotated[Path, typer.Argument(help=_help("cli.help.card_file"))],
    content: ContentOption = None,
    person_id: IdOption = None,
    home: HomeOption = None,
    replace: ReplaceOption = False,
) -> None:
    """Take the person of a Character Card into a game's content."""
    draft = read_card(file.name, file_bytes(file, MOST_CARD_BYTES))
    _take_in(draft, content, Wish(id=person_id, home=home, replace=replace))


@imports.command(name="anima", help=_help("cli.help.import_anima"))
def import_anima(
    files: Annotated[list[Path], typer.Argument(help=_help("cli.help.anima_files"))],
    content: ContentOption = None,
    home: HomeOption = None,
    replace: ReplaceOption = False,
) -> None:
    """Take the characters and scenes of Project Anima into a game's content."""
    game = _settings(content=content).content_dir or Path()
    found = read_anima(files)
    scenes, past = found.ours(ids_in(examine(game)))
    wishes = [(one.draft, Wish(id=one.id, home=home, replace=replace)) for one in found.people]
    report = [note for one in found.people for note in (*one.draft.report, *one.notes.report)]
    texts = {ANIMA_PAST: past} if past else {}
    _tell_import(take_in(game, wishes, texts, scenes, replace_it=replace), report)
    if past:
        typer.echo(f"kataribe memory import {game / ANIMA_PAST} --content {game}")


@imports.command(name="tinytroupe", help=_help("cli.help.import_tinytroupe"))
def import_tinytroupe(
    file: Annotated[Path, typer.Argument(help=_help("cli.help.agent_file"))],
    content: ContentOption = None,
    person_id: IdOption = None,
    home: HomeOption = None,
    replace: ReplaceOption = False,
) -> None:
    """Take an agent of TinyTroupe into a game's content."""
    _take_in(read_tinytroupe(file.name, file_bytes(file)), content, Wish(id=person_id, home=home, replace=replace))


@imports.command(name="tiled", help=_help("cli.help.import_tiled"))
def import_tiled(
    file: Annotated[Path, typer.Argument(help=_help("cli.help.tiled_file"))],
    content: ContentOption = None,
    replace: Annotated[bool, typer.Option("--replace", help=_help("cli.help.replace_map"))] = False,
) -> None:
    """Take a map of Tiled's into a game's maps.json."""
    tiled = read_tiled(file.name, file_bytes(file))
    directory = _settings(content=content).content_dir or Path()
    _tell_import(take_map_in(directory, tiled, replace_it=replace), tiled.report)


def _take_in(draft: Draft, content: Path | None, wish: Wish) -> None:
    """Write the files of the person, and tell what was not carried over."""
    _tell_import(take_in(_settings(content=content).content_dir or Path(), [(draft, wish)]), draft.report)


def _tell_import(files: list[Path], report: Report) -> None:
    for path in files:
        typer.echo(path)
    for note in report:
        typer.echo(note.line(_own_language()))


_NO_JSON = frozenset({".png", ".apng", ".webp", ".jpg", ".jpeg", ".charx", ".zip"})
"""What a card may be in elsewhere, and what a person is not written as."""


@cli.command(name="export-person", help=_help("cli.help.export_person"))
def export_person(
    person: Annotated[str, typer.Argument(help=_help("cli.help.person"))],
    form: Annotated[Format, typer.Option("--as", help=_help("cli.help.person_form"))],
    output: Annotated[Path | None, typer.Option("--output", "-o", help=_help("cli.help.output"))] = None,
    content: ContentOption = None,
    language: LanguageOption = None,
) -> None:
    """Write a person of a game as other programs read one."""
    if output is not None and output.suffix.lower() in _NO_JSON:
        raise typer.BadParameter(_say("cli.person_is_json", file=output.name), param_hint="--output")
    game = load_content(_settings(content=content).content_dir or bundled_content())
    given = give(game, person, form, language or game.default_language)
    told = f"{json.dumps(given.values, ensure_ascii=False, indent=2)}\n"
    if output is None:
        typer.echo(told, nl=False)
    else:
        write_all(output.parent, {output.name: told})
    for note in given.report:
        typer.echo(note.line(_own_language()), err=True)


@cli.command(name="replay", help=_help("cli.help.replay"))
def replay_(
    file: Annotated[Path, typer.Argument(help=_help("cli.help.commands"))],
    data: DataOption = None,
    world: WorldOption = MAIN_WORLD,
    content: ContentOption = None,
    rehearsal: Annotated[bool, typer.Option("--rehearsal", help=_help("cli.help.rehearsal"))] = False,
    cassette: CassetteOption = None,
    cassette_mode: CassetteModeOption = None,
) -> None:
    """Do again what came to a world from outside."""
    settings = _settings(
        data=data, content=content, rehearsal=rehearsal, cassette=cassette, cassette_mode=cassette_mode
    )
    count = asyncio.run(replay(settings, world_name(world), file))
    typer.echo(_say("cli.replayed", world=world, count=count))


@memory.command(name="adopt", help=_help("cli.help.adopt"))
def memory_adopt(data: DataOption = None, world: WorldOption = MAIN_WORLD) -> None:
    """Take over what another installation wrote into Neo4j for a world. No service may run on the data meanwhile."""
    count = asyncio.run(adopt(_settings(data=data), world_name(world)))
    typer.echo(_say("cli.adopted", world=world, count=count))


@memory.command(name="purge", help=_help("cli.help.purge"))
def memory_purge(data: DataOption = None, world: WorldOption = MAIN_WORLD) -> None:
    """Remove what another installation wrote into Neo4j for a world. No service may run on the data meanwhile."""
    count = asyncio.run(purge(_settings(data=data), world_name(world)))
    typer.echo(_say("cli.purged", world=world, count=count))


@memory.command(name="reembed", help=_help("cli.help.reembed"))
def memory_reembed(data: DataOption = None) -> None:
    """Embed anew what another embedder has embedded. No service may run on the data meanwhile."""
    done = asyncio.run(reembed(_settings(data=data)))
    texts, people = Phrase("counts.texts", count=done.texts), Phrase("counts.people", count=done.people)
    typer.echo(_say("cli.reembedded", space=done.space, texts=texts, people=people))


@memory.command(name="prune", help=_help("cli.help.prune"))
def memory_prune(
    before: Annotated[str | None, typer.Option(help=_help("cli.help.before"))] = None,
    data: DataOption = None,
    world: WorldOption = MAIN_WORLD,
    content: ContentOption = None,
) -> None:
    """Remove what people have forgotten. No service may run on the data meanwhile."""
    done = asyncio.run(prune_memory(_settings(data=data, content=content), world_name(world), before))
    counts = {name: Phrase(f"counts.{name}", count=count) for name, count in asdict(done).items()}
    typer.echo(_say("cli.pruned", world=world, **counts))


@memory.command(name="export", help=_help("cli.help.memory_export"))
def memory_export(
    person: Annotated[str | None, typer.Argument(help=_help("cli.help.person"))] = None,
    everybody: Annotated[bool, typer.Option("--all", help=_help("cli.help.everybody"))] = False,
    data: DataOption = None,
    world: WorldOption = MAIN_WORLD,
    content: ContentOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help=_help("cli.help.output"))] = None,
) -> None:
    """Write what a person remembers, or everybody, as JSON lines. No service may run on the data meanwhile."""
    if (person is None) is not everybody:
        raise typer.BadParameter(_say("cli.person_or_all"), param_hint="PERSON")
    settings, world_id = _settings(data=data, content=content), world_name(world)
    if output is None:
        asyncio.run(export_memory(settings, world_id, person, sys.stdout.buffer))
        return
    with usable(output):
        file = output.open("wb")
    with file:
        count = asyncio.run(export_memory(settings, world_id, person, file))
    typer.echo(_say("cli.exported", file=output, count=count), err=True)


@memory.command(name="import", help=_help("cli.help.memory_import"))
def memory_import(
    file: Annotated[Path, typer.Argument(help=_help("cli.help.memory_file"))],
    data: DataOption = None,
    world: WorldOption = MAIN_WORLD,
    content: ContentOption = None,
) -> None:
    """Give people the past that JSON lines hold. No service may run on the data meanwhile."""
    done = asyncio.run(import_memory(_settings(data=data, content=content), world_name(world), file))
    typer.echo(_say("cli.memory_imported", **asdict(done)))


_PLANS = {"groups": groups_plan, "sessions": sessions_plan}


@generate.command(name="groups", help=_help("cli.help.generate_groups"))
@generate.command(name="sessions", help=_help("cli.help.generate_sessions"))
def generate_dialogues(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help=_help("cli.help.generate_file"))],
    output: Annotated[Path, typer.Option("--output", "-o", help=_help("cli.help.generate_output"))],
    seed: Annotated[int | None, typer.Option(help=_help("cli.help.generate_seed"))] = None,
    licence: Annotated[str | None, typer.Option(help=_help("cli.help.licence"))] = None,
    content: ContentOption = None,
    rehearsal: Annotated[bool, typer.Option("--rehearsal", help=_help("cli.help.rehearsal"))] = False,
    plain: Annotated[bool, typer.Option("--plain", help=_help("cli.help.plain"))] = False,
    cassette: CassetteOption = None,
    cassette_mode: CassetteModeOption = None,
    price_in: Annotated[float | None, typer.Option(min=0, help=_help("cli.help.price_in"))] = None,
    price_out: Annotated[float | None, typer.Option(min=0, help=_help("cli.help.price_out"))] = None,
) -> None:
    """Make dialogues in bulk."""
    settings = _settings(
        quiet=True, rehearsal=rehearsal, content=content, cassette=cassette, cassette_mode=cassette_mode
    )
    prices = prices_of(price_in, price_out)
    order = Order(file=output, licence=licence, prices=prices, plain=plain, language=_own_language())
    if not make_dataset(settings, _PLANS[ctx.info_name or ""](file, settings, seed), order):
        raise typer.Exit(130)


@people.command(name="make", help=_help("cli.help.people_make"))
def people_make(
    wish: Annotated[str, typer.Argument(help=_help("cli.help.wish"))] = "",
    demography: Annotated[Path | None, typer.Option(help=_help("cli.help.demography"))] = None,
    count: Annotated[int | None, typer.Option(min=1, max=MOST_PEOPLE, help=_help("cli.help.people_count"))] = None,
    seed: Annotated[int | None, typer.Option(help=_help("cli.help.people_seed"))] = None,
    world: Annotated[Path | None, typer.Option("--world", "--content", help=_help("cli.help.people_world"))] = None,
    language: LanguageOption = None,
    rehearsal: Annotated[bool, typer.Option("--rehearsal", help=_help("cli.help.rehearsal"))] = False,
    plain: Annotated[bool, typer.Option("--plain", help=_help("cli.help.plain"))] = False,
    cassette: CassetteOption = None,
    cassette_mode: CassetteModeOption = None,
    price_in: Annotated[float | None, typer.Option(min=0, help=_help("cli.help.price_in"))] = None,
    price_out: Annotated[float | None, typer.Option(min=0, help=_help("cli.help.price_out"))] = None,
) -> None:
    """Make people and weave them into a world. Without a model configured, as a rehearsal."""
    if bool(wish) is (demography is not None):
        raise typer.BadParameter(_say("cli.wish_or_demography"), param_hint="WISH")
    settings = _settings(
        needs_model=True,
        quiet=True,
        rehearsal=rehearsal,
        content=world,
        language=language,
        cassette=cassette,
        cassette_mode=cassette_mode,
    )
    settings.content_dir = settings.content_dir or Path()
    prices = prices_of(price_in, price_out)
    job = people_job(settings, wish=wish, demography=demography, count=count, seed=seed)
    _announce(job, prices, rehearsed=settings.llm.provider == "rehearsal")
    job.files.open()
    if not make_dataset(
        settings, job, Order(file=job.files.answers, prices=prices, plain=plain, language=_own_language())
    ):
        raise typer.Exit(130)
    problems = game_problems(settings.content_dir)
    for problem in problems:
        typer.echo(problem.line(_own_language()))
    typer.echo(_say("cli.errors", place=settings.content_dir, count=len(problems)), err=bool(problems))
    raise typer.Exit(0 if job.made and not problems else 1)


def _announce(job: PeopleJob, prices: Prices | None, *, rehearsed: bool) -> None:
    """Say what is about to be made, and what it costs; where somebody sits at the terminal, ask whether to go on."""
    place = job.content.directory
    typer.echo(
        _say(
            "people_make.plan",
            count=job.count,
            language=job.language,
            there=job.made,
            world=place,
            answers=job.files.answers_kept(),
        )
    )
    if rehearsed:
        typer.echo(_say("people_make.rehearsal"))
        if not job.reads_wish:
            typer.echo(_say("people_make.wish_unread", language=job.language))
        return
    spent = job.forecast()
    tokens = spent["prompt_tokens"] + spent["completion_tokens"]
    money = Phrase("people_make.money", money=prices.of(spent)) if prices else ""
    typer.echo(_say("people_make.forecast", calls=f"{spent['calls']:,}", tokens=f"{tokens:,}", money=money))
    if spent["calls"] and sys.stdin.isatty() and sys.stdout.isatty():
        typer.confirm(_say("people_make.go_on"), default=True, abort=True)


@cli.command(help=_help("cli.help.init"))
def init(
    directory: Annotated[Path, typer.Argument(help=_help("cli.help.directory"))],
    small: Annotated[bool, typer.Option("--small", help=_help("cli.help.small"))] = False,
    language: Annotated[
        str | None,
        typer.Option(
            callback=_language,
            help=_help("cli.help.language_of_small", languages=Listed(languages(), last="common.or")),
        ),
    ] = None,
) -> None:
    """Copy the sample village, or an empty stage, into a directory, for a game of your own."""
    if language is not None and not small:
        raise typer.BadParameter(_say("cli.language_without_small"), param_hint="--language")
    for path in init_content(directory, source=small_content(language or _own_language()) if small else None):
        typer.echo(path)
    typer.echo(f"kataribe check {directory}\nkataribe serve --content {directory}")


@cli.command(help=_help("cli.help.check"))
def check(
    directory: Annotated[Path | None, typer.Argument(help=_help("cli.help.content"))] = None,
    language: LanguageOption = None,
) -> None:
    """Report every error in a game's content files at once; where there is none, what each person costs."""
    place = directory or bundled_content()
    problems = game_problems(place)
    speak = language or _own_language()
    for problem in problems:
        typer.echo(problem.line(speak))
    for cost in () if problems else persona_costs(load_content(place), speak):
        typer.echo(sentence(speak, "cli.persona", id=cost.person_id, count=cost.always, moment=cost.moment))
        if cost.always > USUAL_CONTEXT // 2:
            typer.echo(sentence(speak, "cli.long_persona", id=cost.person_id, context=USUAL_CONTEXT))
    typer.echo(sentence(speak, "cli.errors", place=place, count=len(problems)), err=bool(problems))
    raise typer.Exit(1 if problems else 0)


@cli.command(help=_help("cli.help.doctor"))
def doctor(language: LanguageOption = None) -> None:
    """Tell what remembering is worth on the models that are configured."""
    asyncio.run(show_doctor(_settings(), language or _own_language()))


@cli.command(name="test", help=_help("cli.help.test"))
def cast_test(
    directory: Annotated[Path | None, typer.Argument(help=_help("cli.help.tests"))] = None,
    probes: Annotated[bool, typer.Option("--probes", help=_help("cli.help.probes"))] = False,
    npc: Annotated[list[str] | None, typer.Option(help=_help("cli.help.tested_npc"))] = None,
    junit: Annotated[Path | None, typer.Option(help=_help("cli.help.junit"))] = None,
    content: ContentOption = None,
    language: LanguageOption = None,
    rehearsal: Annotated[bool, typer.Option("--rehearsal", help=_help("cli.help.rehearsal"))] = False,
    cassette: CassetteOption = None,
    cassette_mode: CassetteModeOption = None,
) -> None:
    """Speak with people of a game as its tests say, and check what they answer."""
    settings = _settings(
        quiet=True,
        content=content,
        language=language,
        rehearsal=rehearsal,
        cassette=cassette,
        cassette_mode=cassette_mode,
    )
    place = None if probes else (settings.content_dir or bundled_content()) / CAST_TESTS
    outcome = run_tests(settings, directory or place, probes=probes, people=npc or ())
    show(outcome, _own_language(), Console())
    if junit is not None:
        write_junit(outcome, junit, _own_language())
    raise typer.Exit(0 if outcome.passed else 1)


@cli.command(help=_help("cli.help.mcp"))
def mcp(
    url: Annotated[str | None, typer.Option(help=_help("cli.help.mcp_url"))] = None, content: ContentOption = None
) -> None:
    """Serve the tools for an author's assistant over standard input and output, of a service that runs."""
    settings = _settings(content=content)
    write_logs("text", "warning")  # to standard error: standard output is the assistant's
    asyncio.run(_serve_tools(url or f"http://{settings.host}:{settings.port}", settings))


async def _serve_tools(url: str, settings: Settings) -> None:
    headers = {"Authorization": f"Bearer {settings.api_key.get_secret_value()}"} if settings.api_key else {}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=SECONDS) as http:
        await mcp_server(http, checker(settings)).run_stdio_async()


def main() -> None:
    """The command ``kataribe``: errors are told in the user's language, ours in one line."""
    write_logs("text", "info")  # until the settings say more
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Japanese letters is no reason to stop
    show_help_in(_own_language())
    try:
        sys.exit(cli(standalone_mode=False))
    except UsageError as exc:
        show_wrong_call(exc, _own_language())
        sys.exit(exc.exit_code)
    except typer.Abort:
        rich_abort_error()
        sys.exit(1)
    except KataribeError as exc:
        typer.echo(exc.sentence(_own_language()), err=True)
        for wrong in exc.found if isinstance(exc, LinesWrong) else ():
            typer.echo(f"{wrong.where}: {wrong.reason.of(_own_language())}", err=True)
        sys.exit(2)
    except OSError as exc:
        if exc.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        typer.echo(sentence(_own_language(), "cli.no_room"), err=True)
        sys.exit(2)


async def _serve(app: FastAPI, settings: Settings) -> None:
    """Serve until a signal. The lifespan is run here, not by uvicorn, which would tell its errors as a traceback."""
    server = Server(app, host=settings.host, port=settings.port, lifespan="off", log_level="info", grace_seconds=2)
    async with app.router.lifespan_context(app):
        for number in (signal.SIGINT, signal.SIGTERM):
            # uvicorn stops at the first one and then raises it again: that must not cut the end of the lifespan short.
            signal.signal(number, lambda *_: None)
        settle_memory()
        await server.serve()


def _settings(
    *,
    rehearsal: bool = False,
    content: Path | None = None,
    data: Path | None = None,
    language: str | None = None,
    cassette: Path | None = None,
    cassette_mode: CassetteMode | None = None,
    quiet: bool = False,
    needs_model: bool = False,
) -> Settings:
    """The environment's settings with what the command line says on top. `quiet`: log lines that warn of nothing would
    stand between those of what is shown. `needs_model`: without one configured it is a rehearsal.
    """
    settings = read_settings()
    write_logs(settings.log_format, "warning" if quiet else settings.log_level)
    if quiet:
        logging.getLogger().setLevel(logging.WARNING)
    said: list[tuple[object, str, object]] = [
        (settings.llm, "provider", "rehearsal" if rehearsal else None),
        (settings.llm, "cassette", cassette),
        (settings.llm, "cassette_mode", cassette_mode),
        (settings, "content_dir", content),
        (settings, "data_dir", data),
        (settings.world, "language", language),
    ]
    for part, name, value in said:
        if value is not None:
            setattr(part, name, value)
    if needs_model and not settings.names_model:  # a cassette names one
        settings.llm.provider = "rehearsal"
    return settings


def _span(text: str) -> dict[str, float]:
    """The bounds of a number: ``1..5``."""
    least, _, most = text.partition("..")
    try:
        return {"min": float(least), "max": float(most)}
    except ValueError as exc:
        raise typer.BadParameter(_say("cli.no_span", text=text), param_hint="--number") from exc


def _say(key: str, /, **facts: object) -> str:
    return sentence(_own_language(), key, **facts)


async def _offers(settings: Settings) -> list[LocalServer]:
    """Model servers found on this machine, when the settings name none."""
    return [] if settings.names_model or settings.llm.provider == "rehearsal" else await find_local_servers()


def _say_no_model(settings: Settings) -> None:
    for language in languages():
        typer.echo(sentence(language, "cli.no_model"), err=True)
    for server in asyncio.run(_offers(settings)):
        typer.echo(f"  {server.name}: KATARIBE_LLM__BASE_URL={server.base_url}", err=True)
