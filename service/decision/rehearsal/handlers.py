"""Owns the rehearsal's handlers of decisions and plans."""

import random

from pydantic import BaseModel

from service.decision.rehearsal.day import plan_day
from service.decision.rehearsal.decide import decide
from service.decision.scene import DecisionScene, PlanScene
from service.llm.rehearsal import Handler

__all__ = ["HANDLERS", "decide", "plan_day"]


def _decide(scene: DecisionScene, rng: random.Random) -> BaseModel:
    return decide(scene, rng)


def _plan(scene: PlanScene, rng: random.Random) -> BaseModel:
    return plan_day(scene)


HANDLERS: dict[type, Handler] = {DecisionScene: _decide, PlanScene: _plan}
