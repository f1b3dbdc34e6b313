"""Owns the app: every route, what stands before them, and the core that answers. Nothing else."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route, WebSocketRoute

from service.api import (
    actions,
    client_events,
    content,
    conversations,
    events,
    health,
    memories,
    memory,
    metrics,
    people,
    problem,
    quality,
    scenes,
    surveys,
    why,
    work,
    world,
    worlds,
)
from service.api.access import ACCESS
from service.api.chat import router as chat
from service.api.key import OPEN, Keys
from service.api.key import router as login
from service.api.mcp import Checker, McpEndpoint
from service.api.middleware import Allowed, Guard, HeadAsGet, RequestId
from service.api.tracing import trace_requests
from service.content.editing import Importer
from service.content.files import bundled_content
from service.llm.choose import Models
from service.memory.memory_store import MemoryStore
from service.memory.projection import Projection
from service.own_prompts import game_problems
from service.settings import Settings
from service.store.session import Database
from service.web import pages
from service.wiring import Wiring

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


def _served(route: BaseRoute) -> BaseRoute:
    """``start_conversation`` is ``startConversation``: what generated clients call it. And only keys that may are let
    in.
    """
    if isinstance(route, APIRoute):
        first, *rest = route.name.split("_")
        route.operation_id = first + "".join(word.capitalize() for word in rest)
    assert isinstance(route, Route | WebSocketRoute)  # noqa: S101 - there are no others
    if route.path not in OPEN:
        route.app = Allowed(route.app, ACCESS[route.name])
    return route


ROUTES = tuple(
    _served(route)
    for router in (
        conversations.router,
        scenes.router,
        client_events.router,
        world.router,
        worlds.router,
        work.router,
        quality.router,
        events.router,
        why.router,
        people.router,
        surveys.router,
        content.router,
        actions.router,
        memory.router,
        memories.router,
        chat.router,
        health.router,
        metrics.router,
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
    importer: Importer | None = None,
) -> FastAPI:
    """The service. `models`, `memory` and `projection` stand in for those the settings would choose; `carries`: see
    Jobs. `reload_content`: content files that are changed while it runs are taken in. `importer` reads files of other
    programs; None: they are refused.

    Raises:
        ContentErrors: the game's files have errors; such a world does not start.
        Misconfigured: a setting is wrong.
    """
    wiring = Wiring(settings, models=models, memory=memory, projection=projection)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with wiring.running(carries=carries, reload_content=reload_content) as app.state.deps:
            await app.state.keys.begin(app.state.deps.conversation.database)
            try:
                yield
            finally:
                await tools.stop()

    keys = Keys(settings)
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
    app.state.keys = keys
    app.state.importer = importer
    app.state.models_missing = "none" in wiring.models.names().values()
    problem.install(app, keyed=not keys.is_open)
    tools = McpEndpoint(app, checker(settings))
    app.router.routes.append(_served(Route("/mcp", tools, name="mcp", include_in_schema=False)))
    app.add_middleware(HeadAsGet)
    app.add_middleware(Guard, settings=settings, keys=keys)
    if settings.cors_origins:  # outside the guard: a page that may ask must be able to read why it is refused
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=[problem.REQUEST_ID_HEADER],
        )
    app.add_middleware(RequestId)  # outside all others: who is refused is told its id too
    app.add_middleware(metrics.Measured)
    trace_requests(app)
    return app
