"""Owns the commands for people and maps of other programs: in and out."""

import json
from pathlib import Path
from typing import Annotated

import typer

from service.public.files import bundled_content, examine, load_content, write_all
from service.public.upkeep import import_from
from service.public.words import Phrase
from studio.cli.options import KindGroup, Options, command, commands, group_of
from studio.cli.words import own_language, say
from studio.exchange.anima import read_anima
from studio.exchange.card import MOST_CARD_BYTES, read_card
from studio.exchange.draft import Draft, Report, file_bytes
from studio.exchange.give import Format, give
from studio.exchange.place import Wish, ids_in, take_in, take_map_in
from studio.exchange.tiled import read_tiled
from studio.exchange.tinytroupe import read_tinytroupe

imports = group_of("import", "cli.help.import", KindGroup)

ANIMA_PAST = "anima.jsonl"
"""What characters of Project Anima remember, beside the content's files."""

IdOption = Annotated[str | None, typer.Option("--id", help=say("cli.help.import_id"))]
HomeOption = Annotated[str | None, typer.Option(help=say("cli.help.import_home"))]
ReplaceOption = Annotated[bool, typer.Option("--replace", help=say("cli.help.import_replace"))]


@command(imports, "card", "cli.help.import_card", "content")
def import_card(
    options: Options,
    file: Annotated[Path, typer.Argument(help=say("cli.help.card_file"))],
    person_id: IdOption = None,
    home: HomeOption = None,
    replace: ReplaceOption = False,
) -> None:
    """Take the person of a Character Card into a game's content."""
    _take(options, read_card(file.name, file_bytes(file, MOST_CARD_BYTES)), person_id, home, replace)


@command(imports, "anima", "cli.help.import_anima", "content")
def import_anima(
    options: Options,
    files: Annotated[list[Path], typer.Argument(help=say("cli.help.anima_files"))],
    home: HomeOption = None,
    replace: ReplaceOption = False,
) -> None:
    """Take the characters and scenes of Project Anima into a game's content."""
    game = options.game
    found = read_anima(files)
    scenes, past = found.ours(ids_in(examine(game)))
    wishes = [(one.draft, Wish(id=one.id, home=home)) for one in found.people]
    report = [note for one in found.people for note in (*one.draft.report, *one.notes.report)]
    _tell(take_in(game, wishes, {ANIMA_PAST: past} if past else {}, scenes, replace_it=replace), report)
    if past:
        typer.echo(f"kataribe memory import {game / ANIMA_PAST} --content {game}")


@command(imports, "tinytroupe", "cli.help.import_tinytroupe", "content")
def import_tinytroupe(
    options: Options,
    file: Annotated[Path, typer.Argument(help=say("cli.help.agent_file"))],
    person_id: IdOption = None,
    home: HomeOption = None,
    replace: ReplaceOption = False,
) -> None:
    """Take an agent of TinyTroupe into a game's content."""
    _take(options, read_tinytroupe(file.name, file_bytes(file)), person_id, home, replace)


@command(imports, "tiled", "cli.help.import_tiled", "content")
def import_tiled(
    options: Options,
    file: Annotated[Path, typer.Argument(help=say("cli.help.tiled_file"))],
    replace: Annotated[bool, typer.Option("--replace", help=say("cli.help.replace_map"))] = False,
) -> None:
    """Take a map of Tiled's into a game's maps.json."""
    tiled = read_tiled(file)
    _tell(take_map_in(options.game, tiled, replace_it=replace), tiled.report)


@command(imports, "story", "cli.help.import_story", "world", "data")
def import_story(options: Options, file: Annotated[Path, typer.Argument(help=say("cli.help.file"))]) -> None:
    """Read an export into a world that has not lived, to look at it. No service may run on the data meanwhile."""
    read = import_from(options.settings(), options.world_id, file)
    events = Phrase("counts.events", count=read.events)
    conversations = Phrase("counts.conversations", count=read.conversations)
    typer.echo(say("cli.imported", world=options.world, events=events, conversations=conversations))


def _take(options: Options, draft: Draft, person_id: str | None, home: str | None, replace: bool) -> None:
    _tell(take_in(options.game, [(draft, Wish(id=person_id, home=home))], replace_it=replace), draft.report)


def _tell(files: list[Path], report: Report) -> None:
    for path in files:
        typer.echo(path)
    for note in report:
        typer.echo(note.line(own_language()))


_NO_JSON = frozenset({".png", ".apng", ".webp", ".jpg", ".jpeg", ".charx", ".zip"})
"""What a card may be in elsewhere, and what a person is not written as."""


@command(commands, "export-person", "cli.help.export_person", "output", "content", "language")
def export_person(
    options: Options,
    person: Annotated[str, typer.Argument(help=say("cli.help.person"))],
    form: Annotated[Format, typer.Option("--as", help=say("cli.help.person_form"))],
) -> None:
    """Write a person of a game as other programs read one."""
    output = options.output
    if output is not None and output.suffix.lower() in _NO_JSON:
        raise typer.BadParameter(say("cli.person_is_json", file=output.name), param_hint="--output")
    game = load_content(options.settings().content_dir or bundled_content())
    given = give(game, person, form, options.language or game.default_language)
    told = f"{json.dumps(given.values, ensure_ascii=False, indent=2)}\n"
    if output is None:
        typer.echo(told, nl=False)
    else:
        write_all(output.parent, {output.name: told})
    for note in given.report:
        typer.echo(note.line(own_language()), err=True)
