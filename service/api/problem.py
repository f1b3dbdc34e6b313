"""Owns the errors a client sees: RFC 9457 problem details, in the language it asks for, each type stable. Under /v1
they are what OpenAI's clients read.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from http import HTTPStatus
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema
from pydantic_core import to_jsonable_python
from sqlalchemy.exc import OperationalError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import Scope

from service.api.access import ACCESS
from service.api.dependencies import MEDIA_TYPE, NOT_BLANK, REF, In, describe, whole
from service.api.key import OPEN
from service.errors import KataribeError, KeyMissing, LinesWrong, NoSuchModel, StoreFull, StoreUnavailable
from service.locales import Language, Listed, language_accepted, room, sentence
from service.logs import REQUEST_ID
from service.memory.seed_lines import Past, Statement, Summary, Turn
from service.store.idempotency import Replayed
from service.store.session import is_full
from world.ids import SLUG

REQUEST_ID_HEADER = "X-Request-Id"

TYPE_PREFIX = "urn:kataribe:problem:"

OPENAI = "/v1"
"""Below it errors have OpenAI's shape."""

_WITHOUT_V1 = frozenset({"/models", "/chat/completions"})
"""What OpenAI's clients ask for where somebody has left /v1 out of the base URL."""

_OPENAI_CODES = {KeyMissing.slug: "invalid_api_key", NoSuchModel.slug: "model_not_found"}
"""Problems for which OpenAI has a code of its own, by our slug."""

_FORMS = {SLUG: "slug", NOT_BLANK: "not_blank"}
"""Patterns that have a sentence of their own."""

_CHOICES = ("expected", "expected_tags")
"""Facts of an error that are the library's list of what may stand there."""

TOLD = 20
"""Errors of one request that are told."""

_REFERRED = re.compile(r'"#/components/schemas/(\w+)"')


class FieldError(BaseModel):
    """One field that is wrong."""

    field: str = Field(description="Where: body.goal, query.limit, header.X-World-Id")
    message: str = Field(description="what is wrong with it")


class Problem(BaseModel):
    """RFC 9457 problem details. `facts` are what the sentence was made of."""

    model_config = ConfigDict(json_schema_extra={"description": "RFC 9457 problem details"})

    type: str = Field(examples=["urn:kataribe:problem:busy"], description="which problem it is: stable, for programs")
    title: str = Field(description="the problem in a few words, in English")
    status: int = Field(description="the HTTP status")
    detail: str = Field(description="what is wrong, as a sentence in the language of Accept-Language")
    facts: dict[str, Any] | None = Field(
        default=None, description="what the sentence was made of: ids, names, limits; null: nothing"
    )
    request_id: str | None = Field(default=None, description="As in the header X-Request-Id and in the log")
    errors: list[FieldError] | None = Field(
        default=None, description="each field that is wrong; null: the problem is not with fields"
    )


class OpenAIErrorBody(BaseModel):
    """A problem as OpenAI's clients read it."""

    message: str = Field(description="what is wrong, as a sentence in the language of Accept-Language")
    type: Literal["invalid_request_error", "server_error"] = Field(
        description="whose fault it is: the request's or not"
    )
    param: str | None = Field(description="the field that is wrong; null: it is not with a field")
    code: str | None = Field(description="which problem it is: stable, for programs", examples=["model_not_found"])


class OpenAIError(BaseModel):
    """An error under /v1."""

    error: OpenAIErrorBody = Field(description="the error")


def language_of(request: HTTPConnection) -> Language:
    """The language that the client's Accept-Language asks for first, else English."""
    return language_accepted(request.headers.get("accept-language")) or "en"


def install(app: FastAPI, *, keyed: bool) -> None:
    """Make every error of the app a problem, and describe what a problem is; and, where it is `keyed`, the key."""
    app.exception_handlers |= {
        KataribeError: _refused,
        RequestValidationError: _validation,
        WebSocketRequestValidationError: _validation,
        HTTPException: _http,
        Replayed: _replayed,
        OperationalError: _refused,
        Exception: _refused,
    }
    app.openapi = cache(partial(_described, app.openapi, keyed=keyed))  # type: ignore[method-assign]  # the way FastAPI documents


def _described(describe_app: Callable[[], dict[str, Any]], *, keyed: bool) -> dict[str, Any]:
    """The app's OpenAPI with the problems that any endpoint of its kind can answer, and with the schemas of problems,
    and of a past: what is no JSON, or has a body of its own, cannot bring a model of its own. And with the key, which
    the guard asks for, so that generated clients send it.
    """
    described = describe_app()
    for path, operation in ((path, one) for path, methods in described["paths"].items() for one in methods.values()):
        responses, sent = operation["responses"], operation.get("requestBody", {"content": {}})
        is_openai, is_health = path.startswith(f"{OPENAI}/"), operation["tags"] == ["health"]
        is_answered = {
            400: "requestBody" in operation or is_openai,
            401: path not in OPEN,
            403: path not in OPEN,
            429: path not in OPEN,
            404: "{" in path,
            422: not is_openai and not is_health,
            503: not is_health,
        }
        responses.pop("422", None)
        responses |= {str(status): told for status, told in describe(*filter(is_answered.get, is_answered)).items()}
        if is_openai:
            openai = {"application/json": {"schema": {"$ref": REF.format(model="OpenAIError")}}}
            responses |= {key: {**told, "content": openai} for key, told in responses.items() if key >= "400"}
        if keyed:
            name = re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", operation["operationId"])
            operation["security"] = [{"HTTPBearer": [ACCESS[name].scope]}] if path not in OPEN else []
        for content in sent["content"].values():
            models = _REFERRED.findall(json.dumps(content["schema"]))
            bodies = {name: {"value": body} for one in models for name, body in In.examples.get(one, {}).items()}
            content |= {"examples": bodies} if bodies else {}
    _, schemas = models_json_schema(
        [
            *((one, "serialization") for one in (Problem, OpenAIError)),
            *((one, "validation") for one in (Past, Statement, Turn, Summary)),
        ],
        ref_template=REF,
    )
    described["components"]["schemas"] |= schemas["$defs"]
    for replaced in ("HTTPValidationError", "ValidationError"):
        described["components"]["schemas"].pop(replaced, None)
    if keyed:
        described["components"]["securitySchemes"] = {"HTTPBearer": {"type": "http", "scheme": "bearer"}}
    return described


def problem_of(error: KataribeError, language: Language) -> Problem:
    """An error as its problem."""
    return Problem(
        type=TYPE_PREFIX + error.slug,
        title=error.slug.replace("-", " ").capitalize(),
        status=error.status,
        detail=error.sentence(language),
        facts=to_jsonable_python(error.facts, fallback=str) or None,
        errors=[FieldError(field=one.where, message=one.reason.of(language)) for one in error.found]
        if isinstance(error, LinesWrong)
        else None,
    )


def answer(scope: Scope, error: KataribeError) -> JSONResponse:
    """The answer to a request that is refused before, or let go after, the app has it."""
    seconds = error.facts.get("retry_after_seconds")
    headers = {} if seconds is None else {"Retry-After": str(round(seconds))}
    return _answer(scope, problem_of(error, language_of(HTTPConnection(scope))), headers)


async def _refused(request: HTTPConnection, error: Exception) -> JSONResponse:
    """What is none of our errors is the store's, or a bug: the log has it, the client is not shown our insides."""
    if isinstance(error, OperationalError):
        error = StoreFull() if is_full(error) else StoreUnavailable()
    return answer(request.scope, error if isinstance(error, KataribeError) else KataribeError())


async def _validation(
    request: HTTPConnection, error: RequestValidationError | WebSocketRequestValidationError
) -> JSONResponse:
    found, language = error.errors(), language_of(request)
    says_json = media_type(request.headers).partition("/")[2].rpartition("+")[2] == "json"
    if any(e["loc"] == ("body",) and e["type"] != "missing" for e in found) and not says_json:
        found = [{"type": "not_json", "loc": ("header", "content-type")}]
    problem = Problem(
        type=TYPE_PREFIX + "invalid",
        title="Invalid",
        status=422,
        detail=sentence(language, "answers.invalid")
        + (sentence(language, "answers.more", told=TOLD, all=len(found)) if len(found) > TOLD else ""),
        errors=[FieldError(field=".".join(map(str, e["loc"])), message=expected(e, language)) for e in found[:TOLD]],
    )
    return _answer(request.scope, problem)


def media_type(headers: Headers) -> str:
    """What a body says it is, without parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def expected(error: Mapping[str, Any], language: Language) -> str:
    """What was expected of a field; where there is no sentence for an error, what the library says."""
    ctx = error.get("ctx", {})
    form = _FORMS.get(ctx.get("pattern"), error["type"])
    if form not in room(language, "answers.expected"):
        return str(error["msg"])
    facts = {
        name: Listed(re.split(", | or ", fact), last="common.or") if name in _CHOICES else whole(fact)
        for name, fact in ctx.items()
    }
    return sentence(language, f"answers.expected.{form}", **facts)


async def _http(request: Request, error: HTTPException) -> JSONResponse:
    key = str(error.status_code)
    detail = room(language_of(request), "answers.status").get(key, str(error.detail))
    if request.url.path in _WITHOUT_V1:
        detail = sentence(language_of(request), "answers.without_v1", path=f"{OPENAI}{request.url.path}")
    problem = Problem(
        type="about:blank", title=HTTPStatus(error.status_code).phrase, status=error.status_code, detail=detail
    )
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = _allowed(request) or headers.get("Allow", "")
    return _answer(request.scope, problem, headers)


def _allowed(request: Request) -> str:
    """All methods of the path: the framework names those of the first route it finds there only."""
    path = getattr(request.scope.get("route"), "path", "")
    routes = (one for one in request.app.routes if isinstance(one, APIRoute) and one.include_in_schema)
    methods = {method for one in routes if one.path == path for method in one.methods or ()}
    return ", ".join(sorted(methods | {"HEAD"} if "GET" in methods else methods))


async def _replayed(request: Request, known: Replayed) -> Response:
    """What the same request was answered the first time."""
    status, headers = request.scope["route"].status_code or 200, {"Idempotency-Replayed": "true"}
    if status == 204:
        return Response(status_code=status, headers=headers)
    return JSONResponse(known.answer, status, headers)


def openai_error(problem: Problem) -> OpenAIError:
    """The problem as OpenAI's clients read it."""
    slug, facts = problem.type.removeprefix(TYPE_PREFIX), problem.facts or {}
    wrong = [f"{one.field}: {one.message}" for one in problem.errors or ()]
    first = problem.errors[0].field if problem.errors else facts.get("field", facts.get("kind", ""))
    code = _OPENAI_CODES.get(slug, slug.replace("-", "_"))
    return OpenAIError(
        error=OpenAIErrorBody(
            message="; ".join(wrong) or problem.detail,
            type="invalid_request_error" if problem.status < 500 else "server_error",
            param=first.removeprefix("body").removeprefix(".") or None,
            code=None if slug == "about:blank" else code,
        )
    )


def _answer(scope: Scope, problem: Problem, headers: dict[str, str] | None = None) -> JSONResponse:
    request_id = REQUEST_ID.get()
    bearing = {REQUEST_ID_HEADER: request_id} if request_id else {}  # a bug is answered outside of what would set it
    bearing |= headers or {}
    if scope["path"] in {OPENAI, *_WITHOUT_V1} or scope["path"].startswith(f"{OPENAI}/"):
        status = 400 if problem.status == 422 else problem.status
        return JSONResponse(openai_error(problem).model_dump(), status, bearing)
    body = problem.model_copy(update={"request_id": request_id}).model_dump(exclude_none=True)
    return JSONResponse(body, problem.status, bearing, media_type=MEDIA_TYPE)
