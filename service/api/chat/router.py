"""Owns /v1, the door for every OpenAI client: whom one can talk to, and the talk itself."""

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from fastapi.sse import format_sse_event

from service.api.access import Asking, require_player
from service.api.chat.request import AnswerStream, Begun, ChatTarget, begin, check, let_in, make
from service.api.chat.schemas import (
    AnswerMessage,
    ChatIn,
    ChatUsage,
    Choice,
    Completion,
    ModelList,
    ModelOut,
    choice,
)
from service.api.dependencies import AsAsked, Serving, T, WorldId, describe
from service.api.problem import language_of, openai_error, problem_of
from service.api.stream import EventStream, has_left
from service.errors import KataribeError
from service.locales import Language
from service.people.worlds import WorldView
from service.store.idempotency import Once

router = APIRouter(prefix="/v1", tags=["chat clients"])

_DONE = format_sse_event(data_str="[DONE]")


@router.get("/models")
async def list_models(deps: Serving, world_id: WorldId) -> ModelList:
    """Everybody to talk to, as a chat client lists its models."""
    world = await deps.read(world_id, lambda _, world: world)
    return ModelList(data=[_model(world, one) for one in (*sorted(world.cast.npcs), *sorted(world.cast.characters))])


@router.get("/models/{model}")
async def read_model(model: str, deps: Serving, world_id: WorldId) -> ModelOut:
    """One of those to talk to, by the name it is asked for."""
    wanted = ChatTarget.of(model)
    found = await deps.read(world_id, lambda _, world: _model(world, wanted.partner(world)))
    return found.model_copy(update={"id": model})


@router.post(
    "/chat/completions",
    response_model=Completion,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}, **describe(404, 409)},
)
async def complete_chat(
    body: ChatIn,
    request: Request,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
    key: Asking,
) -> Response:
    """Talk to somebody with any client of OpenAI's chat completions.

    `model` is `npc:<id>` or `character:<id>`, with `@<player>` behind it who the user is (`visitor` where nobody is
    named; who was never there before is made). The service knows what was said: of the client's messages only the last
    is read. The rest, a system prompt too, is not what the person goes by.
    """
    wanted = ChatTarget.of(body.model, key.name)
    require_player(key, wanted.player_id)
    check(body)
    deps.require_models()
    await let_in(deps, world_id, wanted)
    begun = await begin(deps, world_id, wanted, body, Once.of(world_id, asked, is_read_anew=True))
    speech = AnswerStream(partial(make, deps=deps, world_id=world_id, wanted=wanted, body=body, begun=begun))
    if not body.stream:
        spoken = await _unless_gone(request, speech, speech.spoken())
        if spoken is None:
            return Response()
        choices = [Choice(message=AnswerMessage(content=spoken.text))]
        told = {"id": begun.id, "created": begun.created, "model": body.model}
        return JSONResponse(Completion(**told, choices=choices, usage=ChatUsage.spent(spoken.usage)).model_dump())
    pieces = speech.pieces()
    first = await _unless_gone(request, speech, anext(pieces, ""))  # what fails before the first word is no stream yet
    return EventStream.of(_events(body, begun, speech, first or "", pieces, language_of(request)))


def _model(world: WorldView, person_id: str) -> ModelOut:
    person = world.cast.person(person_id)
    return ModelOut(id=f"{person.kind}:{person.id}", name=person.name)


async def _unless_gone(request: Request, speech: AnswerStream, awaited: Coroutine[Any, Any, T]) -> T | None:
    """What is awaited; None: the client has left meanwhile, and the speech is broken off."""
    waiting, leaving = asyncio.ensure_future(awaited), asyncio.ensure_future(has_left(request))
    try:
        await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
        return waiting.result() if waiting.done() else None
    finally:
        leaving.cancel()
        if not waiting.done():
            waiting.cancel()
            speech.leave()


async def _events(
    body: ChatIn, begun: Begun, speech: AnswerStream, first: str, pieces: AsyncGenerator[str], language: Language
) -> AsyncGenerator[bytes]:
    """The answer as it is spoken. Who leaves in the middle has heard what was sent."""
    with_usage: dict[str, Any] = {"usage": None} if body.wants_usage else {}

    def event(*choices: dict[str, Any], **more: Any) -> bytes:
        told = {"id": begun.id, "object": "chat.completion.chunk", "created": begun.created, "model": body.model}
        return format_sse_event(data_str=json.dumps(told | {"choices": choices} | with_usage | more))

    try:
        yield event(choice({"role": "assistant", "content": first}))
        async for piece in pieces:
            yield event(choice({"content": piece}))
        spoken = await speech.spoken()
    except KataribeError as exc:
        yield format_sse_event(data_str=openai_error(problem_of(exc, language)).model_dump_json())
        return
    finally:
        speech.leave()
    yield event(choice({}, "stop"))
    if body.wants_usage:
        yield event(usage=ChatUsage.spent(spoken.usage).model_dump())
    yield _DONE
