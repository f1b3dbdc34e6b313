"""Owns what is kept of a question to a character's model: what its prompt held, in a few hundred bytes, and what it
cost.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import BaseModel

from service.decision.context import Asked, BaseContext, DecisionContext, PlanContext
from service.store.event_kinds import FailedCall
from world.actions import Option, Reason, Refusal
from world.time import WorldTime

KEPT = (
    "basis",
    "model",
    "calls",
    "failures",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "duration_ms",
    "prompt",
)
"""What of a row (`Made.row`) is set anew where somebody is asked again for the same minute."""

RefusalRow = tuple[str, Reason, str | None, str | None, dict[str, str | int | float]]
_UNTOLD_FACTS = ("arrival",)
"""No sentence says it."""


class Basis(BaseModel, frozen=True):
    """What the prompt of a decision, or of a day's plan, held. `memories` are references (memory/telling.py).

    `offered` are the options, `refused` what was told to be impossible, each in short; `chosen` counts the offered
    ones from 1 (None: no answer could be used). `needs` are levels by id. A plan has `places` that it might
    name, by id; `broken` is why the last one did not hold ("": it is a new day's).
    """

    memories: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    refused: tuple[RefusalRow, ...] = ()
    chosen: int | None = None
    needs: dict[str, int] = {}
    """how its needs stood, by id"""
    places: tuple[str, ...] = ()
    """of a plan: ids of the facilities it might name"""
    broken: str = ""

    @classmethod
    def of_decision(
        cls, context: DecisionContext, memories: Iterable[str], refusals: Iterable[Refusal], chosen: int | None
    ) -> "Basis":
        """What a decision was made from."""
        return cls(
            memories=tuple(memories),
            offered=tuple(_offered(offer.option) for offer in context.offers),
            refused=tuple(map(_refused, refusals)),
            chosen=chosen,
            needs=_needs(context),
        )

    @classmethod
    def of_plan(cls, context: PlanContext, memories: Iterable[str]) -> "Basis":
        """What a plan of the day was made from."""
        return cls(
            memories=tuple(memories),
            needs=_needs(context),
            places=tuple(place.facility_id for place in context.places),
            broken=context.broken,
        )

    def stored(self) -> dict[str, Any]:
        """As its row keeps it: what says nothing is left out."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def options(self) -> tuple[Option, ...]:
        """What was offered."""
        return tuple(map(_option, self.offered))

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """What was told to be impossible."""
        return tuple(
            Refusal(action_id=action_id, reason=reason, facility_id=facility_id, target_id=target_id, facts=facts)
            for action_id, reason, facility_id, target_id, facts in self.refused
        )


@dataclass(frozen=True, kw_only=True)
class Made:
    """A question that was asked: which `call`, what it held, and how it was answered."""

    call: FailedCall
    basis: Basis
    asked: Asked[Any]

    def row(self, world_id: str, person_id: str, at: WorldTime, *, keep_prompt: bool) -> dict[str, Any]:
        """As it is kept (DecisionRow)."""
        usage = self.asked.usage
        return {
            "world_id": world_id,
            "person_id": person_id,
            "at": at,
            "call": self.call,
            "basis": self.basis.stored(),
            "model": self.asked.model,
            "calls": usage.calls,
            "failures": self.asked.failures,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cached_tokens": usage.cached_tokens,
            "duration_ms": self.asked.usage.milliseconds,
            "prompt": [asdict(one) for one in self.asked.messages] if keep_prompt else None,
        }


def _offered(option: Option) -> str:
    """``work 4 56 inn``: the action, both minutes, and its facility; a person has ``@`` before it, a node ``#``."""
    where = option.facility_id or (f"@{option.target_id}" if option.target_id else f"#{option.node_id}")
    return f"{option.action_id} {option.walk_minutes} {option.minutes} {where}"


def _option(row: str) -> Option:
    """What `_offered` wrote; of what is done in a facility, or with somebody, the node is not kept."""
    action_id, walk, minutes, where = row.split(" ", 3)
    mark, name = where[0], where[1:]
    return Option(
        action_id=action_id,
        node_id=name if mark == "#" else "",
        walk_minutes=int(walk),
        minutes=int(minutes),
        facility_id=where if mark not in "@#" else None,
        target_id=name if mark == "@" else None,
    )


def _refused(one: Refusal) -> RefusalRow:
    facts = {name: fact for name, fact in one.facts.items() if name not in _UNTOLD_FACTS}
    return one.action_id, one.reason, one.facility_id, one.target_id, facts


def _needs(context: BaseContext) -> dict[str, int]:
    return {need.need_id: need.level for need in context.needs}
