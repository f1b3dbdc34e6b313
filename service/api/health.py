"""Owns the endpoints for those who run the service."""

from fastapi import APIRouter, Request, Response
from sqlalchemy.exc import SQLAlchemyError

from service.api.dependencies import ApiDependencies, Serving
from service.api.problem import language_of
from service.api.schemas import HealthOut
from service.errors import DatabaseDamaged, DatabaseGone, GraphUnavailable, ModelNotConfigured
from service.locales import Language, sentence

router = APIRouter(tags=["health"])

_OK = "ok"


@router.get("/healthz", response_model=HealthOut)
async def healthz() -> HealthOut:
    """The process answers."""
    return HealthOut(status="ok", checks={})


@router.get("/readyz", response_model=HealthOut, responses={503: {"model": HealthOut, "description": "Not ready"}})
async def readyz(request: Request, deps: Serving, response: Response) -> HealthOut:
    """Whether the database and the long-term memory are there and whole, and whether the models answer.

    Only the database is needed to serve. Anything else that is missing is `degraded`, and 503, so that whoever waits
    for a whole service sees it; `checks` says what is wrong, and what to do, in the language of `Accept-Language`. No
    model is asked for this: it is told what became of the last calls of each role.
    """
    language = language_of(request)
    faults = {
        "database": await _database_fault(deps, language),
        "memory": await _memory_fault(deps, language),
        "models": _models_fault(deps, language),
    }
    if deps.conversation.budget.limits:
        faults["budget"] = _budget_fault(deps, language)
    checks = {name: fault or _OK for name, fault in faults.items()}
    if faults["models"] is None:
        checks["models"] = ", ".join(sorted(set(deps.conversation.models.names().values())))
    ready = not any(faults.values())
    response.status_code = 200 if ready else 503
    return HealthOut(status="ok" if ready else "degraded", checks=checks)


async def _database_fault(deps: ApiDependencies, language: Language) -> str | None:
    try:
        await deps.conversation.database.check()
    except (DatabaseGone, DatabaseDamaged) as exc:
        return exc.sentence(language)
    except SQLAlchemyError as exc:
        return sentence(language, "answers.database_away", error=type(exc).__name__)
    return None


async def _memory_fault(deps: ApiDependencies, language: Language) -> str | None:
    """A database that is away is its own fault."""
    try:
        await deps.conversation.memory.check()
        if deps.conversation.projection is not None:
            await deps.conversation.projection.check()
    except GraphUnavailable as exc:
        return exc.sentence(language)
    except (DatabaseGone, DatabaseDamaged, SQLAlchemyError):
        return None
    return None


def _budget_fault(deps: ApiDependencies, language: Language) -> str | None:
    exhausted = deps.conversation.budget.exhausted
    return None if exhausted is None else exhausted.sentence(language)


def _models_fault(deps: ApiDependencies, language: Language) -> str | None:
    if "none" in deps.conversation.models.names().values():
        return ModelNotConfigured().sentence(language)
    roles: dict[str, list[str]] = {}
    for role, error in sorted(deps.conversation.models.failing().items()):
        roles.setdefault(error.sentence(language), []).append(role)
    return " ".join(f"{', '.join(names)}: {sentence}" for sentence, names in roles.items()) or None
