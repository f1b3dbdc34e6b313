"""Owns the endpoint that tells how good what is said and decided was found to be, and the worst of it."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from sqlmodel import Session

from service.api.dependencies import KNOWN_QUERY, Out, Serving, Slug, WorldId
from service.api.schemas import CostOut
from service.offline.model import REHEARSAL
from service.people.worlds import WorldView
from service.quality.checks import DIMENSIONS, Dimension, Mark
from service.quality.summary import QualitySummary, summed
from service.settings import SCORED, QualitySettings, ScoredRole
from service.store.quality import QualityOutcome, quality_rows
from service.store.tables import QualityRow

router = APIRouter(prefix="/world", tags=["world"], dependencies=[KNOWN_QUERY])


class QualityRuleOut(Out):
    """How many of a role's answers are checked."""

    role: ScoredRole = Field(description="what characters say, what NPCs say, or what characters decide")
    share: float = Field(description="the share that is checked, from 0 to 1")


class QualityRulesOut(Out, of=QualitySettings, shows="threshold attempts correct"):
    """What is checked from now on, as the service is set."""

    shares: list[QualityRuleOut] = Field(description="one for each role")


class QualityOutcomesOut(Out):
    """What became of all that was checked."""

    passed: int = Field(description="as it was first made")
    again: int = Field(description="made again, with what was found wrong")
    corrected: int = Field(description="corrected by the model that scores")
    best: int = Field(description="nothing passed: the best of it was taken")
    unscored: int = Field(description="taken without marks, because the model that scores failed")


class MarkOut(Out, of=Mark, shows="score reason"):
    """A score, and why."""

    dimension: Dimension = Field(description="what was scored")


class RefusedLineOut(Out):
    """A line that was not taken."""

    line: str = Field(description="the words, or the decision")
    marks: list[MarkOut] = Field(description="those that it was given")


class WorstLineOut(Out, of=QualityRow, shows="person_id line conversation_id turn model at"):
    """A line that was taken, with its marks."""

    role: ScoredRole = Field(description="what characters say, what NPCs say, or what characters decide")
    name: str = Field(description="name of that person")
    lowest: int = Field(description="the lowest of its scores")
    marks: list[MarkOut] = Field(description="its marks; where a rule found a fault, those of a model are left out")
    outcome: QualityOutcome = Field(description="how it came to be taken")
    refused: list[RefusedLineOut] = Field(description="what else was made, and was not taken")


class QualityOut(Out, of=QualitySummary, shows="checked means spans failures"):
    """How good it was found to be."""

    rules: QualityRulesOut = Field(description="what is checked from now on")
    outcomes: QualityOutcomesOut = Field(description="what became of them")
    worst: list[WorstLineOut] = Field(description="the lines with the lowest scores; the newest of equals first")
    rehearsal: bool = Field(description="true: the rehearsal scored some of it, which judges nothing")
    cost: CostOut = Field(description="all that the checks came to, with what was made again")


@router.get("/quality")
async def read_quality(
    deps: Serving,
    world_id: WorldId,
    role: Annotated[ScoredRole | None, Query(description="Only what is of that role; left out: all")] = None,
    person_id: Annotated[Slug | None, Query(description="Only what that person said or decided; left out: all")] = None,
    worst: Annotated[int, Query(ge=0, le=1000, description="So many of the worst lines")] = 20,
) -> QualityOut:
    """How good what was said and decided is, of what was checked before it counted: off unless KATARIBE_QUALITY__SHARE
    says otherwise.
    """

    settings = deps.conversation.settings.quality

    def work(session: Session, world: WorldView) -> QualityOut:
        rows = quality_rows(session, world.id, role=role, person_id=person_id)
        found = summed(rows, worst=worst)
        return QualityOut.of(
            found,
            rules=QualityRulesOut.of(settings, shares=[{"role": role, "share": settings.of(role)} for role in SCORED]),
            outcomes=QualityOutcomesOut(**{name: found.outcomes[name] for name in QualityOutcomesOut.model_fields}),
            worst=[
                WorstLineOut.of(
                    row,
                    name=world.name_of(row.person_id),
                    marks=_marks(row.marks),
                    refused=[{"line": one["line"], "marks": _marks(one["marks"])} for one in row.refused],
                )
                for row in found.worst
            ],
            rehearsal=any(row.model == REHEARSAL for row in rows),
            cost=CostOut.of(found.usage),
        )

    return await deps.read(world_id, work)


def _marks(stored: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"dimension": name, "score": stored[name][0], "reason": stored[name][1]}
        for name in DIMENSIONS
        if name in stored
    ]
