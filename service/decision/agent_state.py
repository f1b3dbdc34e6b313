"""Owns what is on a character's mind between decisions: its thought, the goal of the talk it begins, its plan."""

from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from service.content.profile import RoutineBlock
from world.actions import Refusal


@dataclass(frozen=True, kw_only=True)
class LastAsked:
    """How things stood when its model was last asked, to tell whether anything is new.

    `block_since` is the world time its day's block began, `seen` are the ids of all in sight, `news` a digest of
    what is told to everybody and of what it carries. `action_id` and `facility_id` are what it does since, by that
    answer, or by going on: `continuations` times without a question.
    """

    action_id: str
    facility_id: str | None = None
    block_since: int | None = None
    seen: tuple[str, ...] = ()
    news: str = ""
    continuations: int = 0


@dataclass(frozen=True, kw_only=True)
class AgentState:
    """What a character carries from one decision to the next.

    `goal` and `success_criteria` belong to the talk it is about to begin. `plan` is the plan of the world day
    `plan_day` (empty: its routine is the plan), revised `revisions` times. `failed` is what it last chose in vain,
    without the facts of that moment. `decided_at` is the world time of its last decision; `last_asked` is about the
    last one its model made (None: the model failed since).
    """

    thought: str = ""
    goal: str | None = None
    success_criteria: str | None = None
    plan: tuple[RoutineBlock, ...] = ()
    plan_day: int | None = None
    revisions: int = 0
    failed: Refusal | None = None
    decided_at: int | None = None
    last_asked: LastAsked | None = None


_AGENT_STATE = TypeAdapter(AgentState)


def agent_state_record(agent_state: AgentState) -> dict[str, Any]:
    """As it is stored: what says nothing is left out."""
    record: dict[str, Any] = _AGENT_STATE.dump_python(agent_state, mode="json", exclude_defaults=True)
    return record


def read_agent_state(record: dict[str, Any]) -> AgentState:
    """What `agent_state_record` wrote."""
    return _AGENT_STATE.validate_python(record)
