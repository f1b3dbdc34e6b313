"""Owns the commands for what people remember. While one of them works, no service may run on the data, unless its
help says otherwise.
"""

import asyncio
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from service.public.errors import usable
from service.public.upkeep import adopt, export_memory, import_memory, prune_memory, purge, reembed
from service.public.words import Phrase
from studio.cli.options import WORLD, Options, command, group_of
from studio.cli.words import say

memory = group_of("memory", "cli.help.memory")


@command(memory, "adopt", "cli.help.adopt", "data", "world")
def memory_adopt(options: Options) -> None:
    """Take over what another installation wrote into Neo4j for a world."""
    count = asyncio.run(adopt(options.settings(), options.world_id))
    typer.echo(say("cli.adopted", world=options.world, count=count))


@command(memory, "purge", "cli.help.purge", "data", "world")
def memory_purge(options: Options) -> None:
    """Remove what another installation wrote into Neo4j for a world."""
    count = asyncio.run(purge(options.settings(), options.world_id))
    typer.echo(say("cli.purged", world=options.world, count=count))


@command(memory, "reembed", "cli.help.reembed", "data")
def memory_reembed(options: Options) -> None:
    """Embed anew what another embedder has embedded."""
    done = asyncio.run(reembed(options.settings()))
    texts, people = Phrase("counts.texts", count=done.texts), Phrase("counts.people", count=done.people)
    typer.echo(say("cli.reembedded", space=done.space, texts=texts, people=people))


@command(memory, "prune", "cli.help.prune", *WORLD)
def memory_prune(
    options: Options, before: Annotated[str | None, typer.Option(help=say("cli.help.before"))] = None
) -> None:
    """Remove what people have forgotten."""
    done = asyncio.run(prune_memory(options.settings(), options.world_id, before))
    counts = {name: Phrase(f"counts.{name}", count=count) for name, count in asdict(done).items()}
    typer.echo(say("cli.pruned", world=options.world, **counts))


@command(memory, "export", "cli.help.memory_export", *WORLD, "output")
def memory_export(
    options: Options,
    person: Annotated[str | None, typer.Argument(help=say("cli.help.person"))] = None,
    everybody: Annotated[bool, typer.Option("--all", help=say("cli.help.everybody"))] = False,
) -> None:
    """Write what a person remembers, or everybody, as JSON lines."""
    if (person is None) is not everybody:
        raise typer.BadParameter(say("cli.person_or_all"), param_hint="PERSON")
    settings, world_id, output = options.settings(), options.world_id, options.output
    if output is None:
        asyncio.run(export_memory(settings, world_id, person, sys.stdout.buffer))
        return
    with usable(output):
        file = output.open("wb")
    with file:
        count = asyncio.run(export_memory(settings, world_id, person, file))
    typer.echo(say("cli.exported", file=output, count=count), err=True)


@command(memory, "import", "cli.help.memory_import", *WORLD)
def memory_import(options: Options, file: Annotated[Path, typer.Argument(help=say("cli.help.memory_file"))]) -> None:
    """Give people the past that JSON lines hold."""
    done = asyncio.run(import_memory(options.settings(), options.world_id, file))
    typer.echo(say("cli.memory_imported", **asdict(done)))
