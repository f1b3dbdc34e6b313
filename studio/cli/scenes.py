"""Owns the commands for scenes."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from studio.cli.options import MODEL, WORLD, Options, command, group_of
from studio.cli.words import say
from studio.terminal.scene import TakenAs, form_of, run_scene, take_scene

scenes = group_of("scene", "cli.help.scenes")


@command(scenes, "log", "cli.help.scene_taken", "output", *WORLD, "language")
def scene_log(
    options: Options,
    scene: Annotated[str, typer.Argument(help=say("cli.help.scene_played"))],
    form: Annotated[TakenAs | None, typer.Option("--as", help=say("cli.help.scene_form"))] = None,
    view: Annotated[str, typer.Option(help=say("cli.help.scene_view"))] = "",
    thoughts: Annotated[bool, typer.Option("--thoughts", help=say("cli.help.scene_thoughts"))] = False,
) -> None:
    """Take away what happened in a scene."""
    settings, output = options.settings(), options.output
    form = form or form_of(output or Path())
    taken = take_scene(
        settings, scene, options.world_id, options.reader, output, form=form, view=view, thoughts=thoughts
    )
    asyncio.run(taken)


@command(scenes, "run", "cli.help.scene_run", *WORLD, "language", *MODEL)
def scene_run(
    options: Options,
    scene: Annotated[str, typer.Argument(help=say("cli.help.scene"))],
    turns: Annotated[int | None, typer.Option(min=1, help=say("cli.help.turns"))] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help=say("cli.help.scene_log"))] = None,
) -> None:
    """Play a scene, turn after turn. Without a model configured, as a rehearsal."""
    settings = options.settings(needs_model=True)
    asyncio.run(run_scene(settings, scene, options.world_id, options.reader, turns=turns, output=output))
