"""Owns what every endpoint is handed: what it is answered with, the world of the request, the idempotency key."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Query, Request, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from sqlmodel import Session
from starlette.requests import HTTPConnection

from service.api.fields import Slug
from service.conversation.dependencies import ConversationDependencies
from service.errors import Invalid, ModelNotConfigured
from service.llm.chat import Role
from service.locales import Phrase
from service.people.worlds import WorldView
from service.runtime.clock_scheduler import ClockScheduler
from service.runtime.content_reload import ContentReload
from service.runtime.conversation_runner import ConversationRunner
from service.runtime.memory_jobs import VectorFiller
from service.runtime.world_runner import WorldRunner
from service.store.commands import Asked
from service.store.idempotency import Once
from service.store.tables import MAIN_WORLD, ConversationKey
from world.ids import SLUG, SLUG_MAX

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ApiDependencies:
    """What the app serves with; made once, in service/app.py."""

    conversation: ConversationDependencies
    runner: ConversationRunner
    world_runner: WorldRunner
    clock_scheduler: ClockScheduler
    vectors: VectorFiller
    content_reload: ContentReload | None
    """Takes changed content files in; None: they are read when the service starts."""

    async def read(self, world_id: str, work: Callable[[Session, WorldView], T]) -> T:
        """What `work` reads of the world as it stands."""
        worlds = self.conversation.worlds
        return await self.conversation.database.read(lambda s: work(s, worlds.open(s, world_id)))

    async def bring_on(self, world_id: str | None = None) -> None:
        """Bring what was written of the world, or of any, to the memory graph, and have its vectors made."""
        await self.runner.graph.deliver_due(world_id)
        self.vectors.wake()

    def require_models(self, role: Role = "npc") -> None:
        """Raises: ModelNotConfigured: nobody answers for that role."""
        if self.conversation.models.for_role(role).name == "none":
            raise ModelNotConfigured


def _deps(request: HTTPConnection) -> ApiDependencies:
    deps: ApiDependencies = request.app.state.deps
    return deps


_ANYWHERE = {"world_id", "_", "lastEventId"}
"""What every operation lets pass: libraries add a number against caches, and what an EventSource last heard."""


def _known_query(request: HTTPConnection) -> None:
    """What is misspelt would be answered as if it had not been asked for.

    Raises:
        RequestValidationError: it has a parameter that the operation does not take.
    """
    fields = get_flat_params(request.scope["route"].dependant)
    known = {field.alias for field in fields if isinstance(field.field_info, params.Query)}
    if unknown := request.query_params.keys() - known - _ANYWHERE:
        found = [{"type": "unknown_parameter", "loc": ("query", name)} for name in sorted(unknown)]
        raise RequestValidationError(found)


def _world_id(
    x_world_id: Annotated[
        str | None,
        Header(
            pattern=SLUG,
            max_length=SLUG_MAX,
            description="The world, `main` if none is named; each is wholly apart from the others",
        ),
    ] = None,
    world_id: Annotated[
        str | None,
        Query(
            pattern=SLUG,
            max_length=SLUG_MAX,
            description="The same as `X-World-Id`, for who cannot send headers, as a browser's EventSource",
        ),
    ] = None,
) -> str:
    """Raises: Invalid: the header names one world, the query another."""
    if None not in (x_world_id, world_id) and x_world_id != world_id:
        reason = Phrase("answers.invalid_fields.two_worlds", header=x_world_id, query=world_id)
        raise Invalid(field="query.world_id", reason=reason)
    return x_world_id or world_id or MAIN_WORLD


def _key(
    idempotency_key: Annotated[
        str | None,
        Header(
            min_length=1,
            max_length=255,
            pattern=r"^[\x21-\x7e]+$",
            description="A second request with the same key and body gets the first one's answer and changes nothing",
        ),
    ] = None,
) -> str | None:
    return idempotency_key


async def _asked(request: Request) -> Asked:
    return Asked(
        method=request.method,
        path=request.url.path,
        query=request.url.query,
        body=(await request.body()).decode(errors="replace"),
        key=request.headers.get("Idempotency-Key", ""),
    )


async def _world(request: Request, world_id: Annotated[str, Depends(_world_id)]) -> WorldView:
    return await _deps(request).read(world_id, lambda _, world: world)


def _conversation_key(conversation_id: Slug, world_id: Annotated[str, Depends(_world_id)]) -> ConversationKey:
    return ConversationKey(world_id, conversation_id)


KNOWN_QUERY = Depends(_known_query)
"""Of a router whose operations refuse parameters that they do not take; all know `world_id`."""
Serving = Annotated[ApiDependencies, Depends(_deps)]
WorldId = Annotated[str, Depends(_world_id)]
World = Annotated[WorldView, Depends(_world)]
"""The world of the request as it stands."""
Conversation = Annotated[ConversationKey, Depends(_conversation_key)]
"""Which conversation the path names."""
AsAsked = Annotated[Asked, Depends(_asked)]
"""The request as the log of its world keeps it."""
IdempotencyKey = Annotated[str | None, Depends(_key)]


def once_of(world_id: str, key: str | None, operation: str, body: Any) -> Once | None:
    """The request as `store.idempotency.once` wants it."""
    return None if key is None else Once.of(world_id, key, operation, body)
