"""Owns the endpoints for those who run the service."""

from fastapi import Request, Response
from sqlalchemy.exc import SQLAlchemyError

from service.api.dependencies import Router, Serving
from service.api.problem import language_of
from service.api.schemas import HealthOut
from service.core import Core
from service.errors import DatabaseDamaged, DatabaseGone, GraphUnavailable, ModelNotConfigured
from service.locales import Language, sentence
from service.store.budget import try_write

router = Router(tags=["health"])


@router.get("/healthz")
async def healthz() -> HealthOut:
    """The process answers."""
    return HealthOut(status="ok", checks={})


@router.get("/readyz", responses={503: {"model": HealthOut, "description": "Nothing can be kept"}})
async def readyz(request: Request, deps: Serving, response: Response) -> HealthOut:
    """Whether the service serves, and what of it is degraded.

    It serves while its database can be written to, which is tried: else it is `down`, and 503. What else is missing is
    named under `degraded`, and the service is ready all the same: people talk without the long-term memory, and the
    world goes on by routine without a model. `checks` says what is wrong, and what to do, in the language of
    `Accept-Language`. No model is asked for this: it is told what became of the last calls of each role, and the roles
    that failed are probed in the background.
    """
    language = language_of(request)
    faults = {
        "database": await _database_fault(deps, language),
        "memory": await _memory_fault(deps, language),
        "models": _models_fault(deps, language),
    }
    if deps.conversation.budget.limits:
        exhausted = deps.conversation.budget.exhausted
        faults["budget"] = exhausted.sentence(language) if exhausted else None
    checks = {name: fault or "ok" for name, fault in faults.items()}
    if faults["models"] is None:
        checks["models"] = ", ".join(sorted(set(deps.conversation.models.names().values())))
    degraded = [name for name, fault in faults.items() if fault and name != "database"]
    if faults["database"]:
        response.status_code = 503
        return HealthOut(status="down", checks=checks, degraded=degraded)
    return HealthOut(status="degraded" if degraded else "ok", checks=checks, degraded=degraded)


async def _database_fault(deps: Core, language: Language) -> str | None:
    try:
        await deps.conversation.database.check()
        await deps.conversation.database.write(try_write)
    except (DatabaseGone, DatabaseDamaged) as exc:
        return exc.sentence(language)
    except SQLAlchemyError as exc:
        return sentence(language, "answers.database_away", error=type(exc).__name__)
    return None


async def _memory_fault(deps: Core, language: Language) -> str | None:
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


def _models_fault(deps: Core, language: Language) -> str | None:
    if "none" in deps.conversation.models.names().values():
        return ModelNotConfigured().sentence(language)
    roles: dict[str, list[str]] = {}
    for role, error in sorted(deps.conversation.models.health.failing().items()):
        roles.setdefault(error.sentence(language), []).append(role)
    return " ".join(f"{', '.join(names)}: {sentence}" for sentence, names in roles.items()) or None
