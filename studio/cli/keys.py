"""Owns the commands for the keys that are given out. The service may run meanwhile."""

from typing import Annotated

import typer

from service.public.upkeep import Key, Scope, add_key, list_keys, revoke_key, with_keys
from studio.cli.options import Options, command, group_of
from studio.cli.words import say

keys = group_of("keys", "cli.help.keys")

Name = Annotated[str, typer.Argument(help=say("cli.help.key_name"))]


@command(keys, "add", "cli.help.keys_add", "data")
def keys_add(
    options: Options,
    name: Name,
    scope: Annotated[Scope, typer.Option(help=say("cli.help.key_scope"))] = Scope.PLAY,
    world: Annotated[str | None, typer.Option(help=say("cli.help.key_world"))] = None,
    player: Annotated[str | None, typer.Option(help=say("cli.help.key_player"))] = None,
) -> None:
    """Make a key, and print it once."""
    key = Key(name=name, scope=scope, world_id=world, player_id=player)
    typer.echo(with_keys(options.settings(), lambda s: add_key(s, key)))


@command(keys, "list", "cli.help.keys_list", "data")
def keys_list(options: Options) -> None:
    """List the keys, without their secrets."""
    for key, made_at in with_keys(options.settings(), list_keys):
        typer.echo("\t".join((key.name, key.scope, key.world_id or "*", key.player_id or "*", made_at)))


@command(keys, "revoke", "cli.help.keys_revoke", "data")
def keys_revoke(options: Options, name: Name) -> None:
    """Let a key open nothing any more."""
    with_keys(options.settings(), lambda s: revoke_key(s, name))
