"""Owns what the tests of decisions share: a desk with the scripted model, moments of the village, answers."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.conversation.dependencies import ConversationDependencies
from service.decision.choose import Chosen, choose
from service.decision.context import DecisionContext, PlanContext
from service.decision.situation import AgentState, DecisionDependencies
from service.llm.chat import Prompt
from service.locales import Language
from service.people.worlds import WorldRepository, WorldView
from world.perception import Snapshot
from world.simulation import Simulation as Core
from world.simulation import newcomer
from world.time import WorldTime, parse_time

NINE = parse_time("2026-04-01T09:00")


def desk_of(room: ConversationDependencies) -> DecisionDependencies:
    """The room's database, graph and models, to decide with."""
    return DecisionDependencies(settings=room.settings, database=room.database, memory=room.memory, models=room.models)


def world_of(room: ConversationDependencies, language: Language = "en") -> WorldView:
    """The sample village at its beginning."""
    row = room.database.read_now(lambda s: room.worlds.open(s, "main"))
    if row.language == language:
        return row
    settings = room.settings.world.model_copy(update={"language": language})
    return room.database.read_now(lambda s: WorldRepository(room.worlds.content, settings).open(s, "main"))


def snapshot_of(
    world: WorldView,
    character_id: str = "aoi",
    *,
    node_id: str = "inn_hall",
    at: WorldTime = NINE,
    needs: Mapping[str, float] | None = None,
    others: Mapping[str, str] | None = None,
) -> Snapshot:
    """What the character perceives on that node, others standing on theirs (by id)."""
    stands = {character_id: node_id, **(others or {})}
    people = [
        newcomer(world.setting, person_id, "nagaya_one", at, node_id=node, needs=needs)
        for person_id, node in stands.items()
    ]
    return Core(world.setting, people).perceive(character_id)


def decides(choice: int, **changed: Any) -> dict[str, Any]:
    """A decision's fields."""
    return {"thought": "So be it.", "choice": choice, "target": "", "goal": "", "success_criteria": "", **changed}


def plans(*blocks: tuple[str, str, int, str]) -> dict[str, Any]:
    """A plan's fields, a block as (starts, activity, place, action)."""
    keys = ("starts", "activity", "place", "action")
    return {"blocks": [dict(zip(keys, block, strict=True)) for block in blocks]}


PLAN = plans(("08:30", "Works at the inn", 2, "work"), ("22:00", "Sleeps", 0, ""))
"""The inn is place 2: the second facility of Aoi's routine."""

PLANNED = AgentState(plan_day=NINE // 1440)
"""The day is planned already: its routine is the plan."""


def decision_context(prompt: Prompt[Any]) -> DecisionContext:
    """What a prompt was rendered from."""
    assert isinstance(prompt.given, DecisionContext)
    return prompt.given


def plan_context(prompt: Prompt[Any]) -> PlanContext:
    """What a prompt was rendered from."""
    assert isinstance(prompt.given, PlanContext)
    return prompt.given


@dataclass(kw_only=True)
class Sitting:
    """A character at the desk, decision after decision."""

    room: ConversationDependencies
    world: WorldView
    agent_state: AgentState = PLANNED

    def choose(self, snapshot: Snapshot) -> Chosen:
        """Decide, and keep what is on its mind."""
        chosen = asyncio.run(choose(desk_of(self.room), self.world.at(snapshot.time), snapshot, self.agent_state))
        self.agent_state = chosen.agent_state
        return chosen


def sitting(room: ConversationDependencies, language: Language = "en", agent_state: AgentState = PLANNED) -> Sitting:
    """A character of the village at the desk."""
    return Sitting(room=room, world=world_of(room, language), agent_state=agent_state)
