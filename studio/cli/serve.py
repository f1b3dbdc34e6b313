"""Owns the commands that serve: the HTTP API with its pages, the demonstration of it, and the tools of an author's
assistant.
"""

import asyncio
import signal
from typing import Annotated, Any

import typer
from fastapi import FastAPI

from service.api.mcp import SECONDS, mcp_server
from service.api.server import Server, settle_memory
from service.app import checker, create_app
from service.public.models import Settings, write_logs
from service.public.upkeep import MAIN_WORLD, is_of_another_game
from service.public.words import languages, sentence
from studio.cli.options import GAME, Options, command, commands, offers
from studio.cli.words import own_language, say


@command(commands, "serve", "cli.help.serve", "rehearsal", *GAME, "language")
def serve(
    options: Options,
    host: Annotated[str | None, typer.Option(help=say("cli.help.host"))] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help=say("cli.help.port"))] = None,
    reload_content: Annotated[bool, typer.Option("--reload-content", help=say("cli.help.reload_content"))] = False,
) -> None:
    """Serve the HTTP API and the pages."""
    settings = options.settings(host=host, port=port)
    if settings.content_dir is None and settings.world.language is None:  # the sample village is written in all
        settings = settings.changed(world={"language": own_language()})
    app = create_app(settings, reload_content=reload_content, importer=_incoming)
    if app.state.models_missing and not options.rehearsal:
        _say_no_model(settings)
    asyncio.run(_serve(app, settings, options.language))


def _incoming(*sent: Any) -> Any:
    """See studio.exchange.incoming, which is imported when somebody sends a file."""
    from studio.exchange.incoming import incoming

    return incoming(*sent)


async def _serve(app: FastAPI, settings: Settings, wanted: str | None) -> None:
    """Serve until a signal. The lifespan is run here, not by uvicorn, which would tell its errors as a traceback."""
    server = Server(app, host=settings.host, port=settings.port, lifespan="off", log_level="info", grace_seconds=2)
    async with app.router.lifespan_context(app):
        talk = app.state.deps.conversation
        world, is_alien = await talk.database.read(
            lambda s: (world := talk.worlds.open(s, MAIN_WORLD), is_of_another_game(s, world))
        )
        if wanted not in (None, world.language):
            typer.echo(say("cli.other_language", language=world.language, wanted=wanted), err=True)
        if is_alien:
            typer.echo(say("cli.other_game", data=settings.data_dir), err=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            # uvicorn stops at the first one and then raises it again: that must not cut the end of the lifespan short.
            signal.signal(number, lambda *_: None)
        settle_memory()
        await server.serve()


def _say_no_model(settings: Settings) -> None:
    for language in languages():
        typer.echo(sentence(language, "cli.no_model"), err=True)
    for found in offers(settings):
        typer.echo(f"  {found.name}: KATARIBE_LLM__BASE_URL={found.base_url}", err=True)


@command(commands, "demo", "cli.help.demo", "content", "language", "rehearsal")
def demo(
    options: Options,
    character: Annotated[str | None, typer.Option(help=say("cli.help.character"))] = None,
    npc: Annotated[str | None, typer.Option(help=say("cli.help.npc"))] = None,
) -> None:
    """Two meetings of a character and an NPC, a world day apart, and what is remembered on the third. Without a model
    configured, as a recording.
    """
    from studio.terminal.demo import run_demo

    settings = options.settings().changed(world={"language": options.reader})
    run_demo(settings, options.reader, character_id=character, npc_id=npc, offers=offers(settings))


@command(commands, "mcp", "cli.help.mcp", "content")
def mcp(options: Options, url: Annotated[str | None, typer.Option(help=say("cli.help.mcp_url"))] = None) -> None:
    """Serve the tools for an author's assistant over standard input and output, of a service that runs."""
    settings = options.settings()
    write_logs("text", "warning")  # to standard error: standard output is the assistant's
    asyncio.run(_serve_tools(url or f"http://{settings.host}:{settings.port}", settings))


async def _serve_tools(url: str, settings: Settings) -> None:
    import httpx

    headers = {"Authorization": f"Bearer {settings.api_key.get_secret_value()}"} if settings.api_key else {}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=SECONDS) as http:
        await mcp_server(http, checker(settings)).run_stdio_async()
