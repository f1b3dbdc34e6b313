"""Owns the wiring: which parts the settings choose, put together into one app. Nothing else."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.routing import APIRoute
from sqlalchemy.exc import OperationalError
from starlette.routing import BaseRoute, Route

from service.api import (
    actions,
    client_events,
    commitments,
    conversations,
    events,
    game,
    health,
    made_people,
    memories,
    memory_graph,
    people,
    player,
    problem,
    quality,
    scenes,
    surveys,
    why,
    world,
    worlds,
    writing,
)
from service.api.chat import router as chat
from service.api.dependencies import ApiDependencies
from service.api.guard import Guard
from service.api.head import HeadAsGet
from service.api.key import ApiKey
from service.api.key import router as login
from service.api.mcp import Checker, McpEndpoint
from service.api.request_id import HEADER, RequestId
from service.content.files import bundled_content
from service.content.load import Content
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.stream import Stream
from service.decision.context import DecisionDependencies
from service.errors import Misconfigured
from service.llm.cassette import open_cassette
from service.llm.choose import PROBE_SECONDS, Models, choose_models
from service.locales import Phrase
from service.memory.choose import choose_memory, choose_projection
from service.memory.memory_store import MemoryStore
from service.memory.projection import Projection
from service.offline.model import OfflineModel
from service.own_prompts import game_problems, load_game
from service.people.worlds import WorldRepository
from service.quality.checked import DecisionChecks, TurnChecks
from service.runtime.carried import ConversationRunner
from service.runtime.clock_scheduler import ClockScheduler
from service.runtime.content_reload import ContentReload
from service.runtime.memory_jobs import VectorFiller
from service.runtime.run_window import WorldDependencies
from service.runtime.tasks import cancel, repeat
from service.runtime.world_runner import WorldRunner
from service.settings import Settings
from service.store.budget import DailyBudget
from service.store.lock import store_lock
from service.store.session import Database, unopenable
from service.web import pages
from world.errors import BadWorldTime

DESCRIPTION = """A life and a memory for a game's characters.

A world clock moves characters over a map; fixed NPCs stand at their posts. Two language models hold a conversation with
a goal; afterwards it is remembered, and the next meeting starts from there. All times are world times. The header
`X-World-Id`, or `world_id` in the query, chooses a world (default `main`). Errors are RFC 9457 problems, in the
language of `Accept-Language`; below `/v1` they have the shape that OpenAI's clients read. Every answer bears an
`X-Request-Id`, as problems and the log do: the client's own, where it sends one, else a new one. A parameter or a
field that an operation does not take is refused (422), except below `/v1`.

Any request may be refused before it is read: 401 (no key), 403 (another host's name, or a write from another site),
408 (a body that does not arrive), 413 (a body that is too long), 415 (a body that is compressed).
"""


TAGS = (
    {"name": "conversations", "description": "Two people talk with a goal; what they say can be followed and is kept."},
    {"name": "world", "description": "The clock, the map, what happens, and what it costs."},
    {"name": "people", "description": "Characters and NPCs: where they are, what they do, what they remember."},
    {"name": "chat clients", "description": "A door for every client of OpenAI's chat completions."},
    {"name": "health", "description": "Whether the service is there, and whether what it needs is."},
)


def _named(route: BaseRoute) -> BaseRoute:
    """``start_conversation`` is ``startConversation``: what generated clients call it."""
    if isinstance(route, APIRoute):
        first, *rest = route.name.split("_")
        route.operation_id = first + "".join(word.capitalize() for word in rest)
    return route


ROUTES = tuple(
    _named(route)
    for router in (
        conversations.router,
        scenes.router,
        player.router,
        client_events.router,
        world.router,
        worlds.router,
        game.router,
        quality.router,
        events.router,
        why.router,
        people.router,
        made_people.router,
        writing.router,
        surveys.router,
        commitments.router,
        actions.router,
        memory_graph.router,
        memories.router,
        chat.router,
        health.router,
        login,
        pages.router,
    )
    for route in router.routes
)
"""What every app answers. `include_router` would make each anew, for every app, at its first request."""


def checker(settings: Settings) -> Checker:
    """Checks the game's content files anew, whenever it is asked."""
    directory, language = settings.content_dir or bundled_content(), settings.world.language or "en"
    return lambda: [one.line(language) for one in game_problems(directory)]


def create_app(
    settings: Settings,
    *,
    models: Models | None = None,
    memory: Callable[[Database], MemoryStore] | None = None,
    projection: Callable[[Database], Projection] | None = None,
    carries: bool = True,
    reload_content: bool = False,
) -> FastAPI:
    """The service. `models`, `memory` and `projection` stand in for those the settings would choose; `carries`: see
    ConversationRunner. `reload_content`: content files that are changed while it runs are taken in.

    Raises:
        ContentErrors: the game's files have errors; such a world does not start.
        Misconfigured: a setting is wrong.
    """
    worlds = chosen_worlds(settings)
    offline = OfflineModel(seed=settings.llm.seed, pace_seconds=settings.llm.rehearsal_pace_seconds)
    # now, so that a wrong setting stops the service
    cassette = None if models else open_cassette(settings.llm)
    configured = models or choose_models(settings, offline, cassette=cassette)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with opened_database(settings) as database:
            store = memory(database) if memory else choose_memory(settings, database, cassette)
            graph = projection(database) if projection else choose_projection(settings, database, store, cassette)
            budget = DailyBudget(database, settings.llm)
            speaking = models or choose_models(settings, offline, budget, cassette)
            conversation = ConversationDependencies(
                settings=settings,
                worlds=worlds,
                database=database,
                memory=store,
                models=speaking,
                budget=budget,
                stream=Stream(),
                quality=TurnChecks(settings.quality, speaking) if settings.quality.is_on else None,
                projection=graph,
            )
            runner = ConversationRunner(conversation, carries=carries)
            decision = DecisionDependencies(
                settings=settings,
                database=database,
                memory=store,
                models=speaking,
                quality=DecisionChecks(settings.quality, speaking) if settings.quality.is_on else None,
            )
            vectors = VectorFiller(conversation)
            world_runner = WorldRunner(
                WorldDependencies(
                    conversation=conversation,
                    decision=decision,
                    engine=Engine(conversation),
                    graph=runner.graph,
                    vectors=vectors,
                )
            )
            clock_scheduler = ClockScheduler(world_runner)
            directory = settings.content_dir or bundled_content()
            reload = ContentReload(world_runner, partial(load_game, directory), directory) if reload_content else None
            app.state.deps = ApiDependencies(
                conversation=conversation,
                runner=runner,
                world_runner=world_runner,
                clock_scheduler=clock_scheduler,
                vectors=vectors,
                content_reload=reload,
            )
            async with AsyncExitStack() as ending:  # each ends, also where a database that is gone keeps one from it
                ending.push_async_callback(store.aclose)
                if graph is not None:
                    ending.push_async_callback(graph.aclose)
                ending.push_async_callback(speaking.aclose)
                if cassette is None:  # what a probe is answered is no part of a story
                    probing = asyncio.create_task(repeat(speaking.probe, PROBE_SECONDS))
                    ending.push_async_callback(cancel, [probing])
                for part in (runner, vectors, world_runner, clock_scheduler):
                    await part.start()
                    ending.push_async_callback(part.stop)
                if reload is not None:
                    await reload.start()
                    ending.push_async_callback(reload.stop)
                ending.push_async_callback(tools.stop)
                yield

    key = ApiKey.of(settings)
    app = FastAPI(
        routes=[*ROUTES],
        title="Kataribe",
        version=version("kataribe"),
        summary="A life and a memory for a game's characters",
        description=DESCRIPTION,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        openapi_tags=[*TAGS],
        servers=[{"url": "/", "description": "Where this description was read"}],
        lifespan=lifespan,
        docs_url=None,  # the pages have one of their own, which loads nothing from elsewhere
        redoc_url=None,
    )
    app.state.settings = settings
    app.state.key = key
    app.state.models_missing = "none" in configured.names().values()
    problem.install(app, keyed=key is not None)
    tools = McpEndpoint(app, settings.api_key.get_secret_value() if settings.api_key else None, checker(settings))
    app.router.routes.append(Route("/mcp", tools, include_in_schema=False))
    app.add_middleware(HeadAsGet)
    app.add_middleware(Guard, settings=settings, key=key)
    if settings.cors_origins:  # outside the guard: a page that may ask must be able to read why it is refused
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=[HEADER],
        )
    app.add_middleware(RequestId)  # outside all others: who is refused is told its id too
    return app


def chosen_worlds(settings: Settings) -> WorldRepository:
    """The worlds of the settings' content.

    Raises:
        ContentErrors: the game's files have errors.
        Misconfigured: the beginning that is set is no world time.
    """
    worlds = WorldRepository(load_game(settings.content_dir or bundled_content()), settings.world)
    try:
        worlds.start  # noqa: B018 - read now, so that a wrong setting stops the service and not its first request
    except BadWorldTime as exc:
        raise Misconfigured(
            setting="KATARIBE_WORLD__START", reason=Phrase("common.no_world_time", text=exc.facts[0])
        ) from exc
    return worlds


@contextmanager
def opened_database(settings: Settings) -> Iterator[Database]:
    """The migrated database; one of SQLite's is this process's alone.

    Raises:
        Misconfigured: it cannot be opened, is damaged, or another process has it.
    """
    with store_lock(settings), closing(Database(settings.store_url)) as database:
        try:
            database.migrate()
        except OperationalError as exc:
            raise unopenable(exc) from exc
        yield database


@asynccontextmanager
async def conversations_apart(
    settings: Settings,
    content: Content,
    offline: OfflineModel,
    *,
    models: Models | None = None,
    metered: Callable[[Models], Models] = lambda models: models,
) -> AsyncIterator[ConversationDependencies]:
    """What conversations are held with that nobody will go on with: their database is thrown away. `models` stand in
    for those the settings would choose.

    Raises:
        Misconfigured: a setting is wrong.
    """
    with tempfile.TemporaryDirectory(prefix="kataribe-apart-") as directory:
        settings.data_dir, settings.database_url = Path(directory), None
        settings.memory.backend = "sql"  # nobody's graph is written to
        with opened_database(settings) as database:
            worlds, budget = WorldRepository(content, settings.world), DailyBudget(database, settings.llm)
            cassette = None if models else open_cassette(settings.llm)
            memory = choose_memory(settings, database, cassette)
            chosen = models or choose_models(settings, offline, budget, cassette)
            try:
                yield ConversationDependencies(
                    settings=settings,
                    worlds=worlds,
                    database=database,
                    memory=memory,
                    models=metered(chosen),
                    budget=budget,
                    stream=Stream(),
                )
            finally:
                await memory.aclose()
                await chosen.aclose()
