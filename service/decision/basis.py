"""Owns what is kept of a question to a character's model: what its prompt held, in a few hundred bytes, and what it
cost.
"""

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel

from service.decision.context import BaseContext, ModelReply
from service.decision.situation import Situation
from service.store.event_kinds import FailedCall
from service.store.tables import DecisionRow
from world.actions import Option, Reason, Refusal

KEPT = tuple(name for name in DecisionRow.model_fields if name not in ("world_id", "person_id", "at", "call"))
"""What of a row is set anew where somebody is asked again for the same minute."""

_UNTOLD_FACTS = ("arrival",)
"""No sentence says it."""


class Basis(BaseModel, frozen=True):
    """What the prompt of a decision, or of a day's plan, held. `memories` are references (memory/telling.py).

    `offered` are the options, `refused` what was told to be impossible, each in short; `chosen` counts the offered
    ones from 1 (None: no answer could be used). `broken` is why the last plan did not hold ("": it is a new day's).
    """

    memories: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    refused: tuple[tuple[str, Reason, str | None, str | None, dict[str, str | int | float]], ...] = ()
    chosen: int | None = None
    needs: dict[str, int] = {}
    """how its needs stood, by id"""
    places: tuple[str, ...] = ()
    """of a plan: ids of the facilities it might name"""
    broken: str = ""

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


def question_row(
    situation: Situation, call: FailedCall, context: BaseContext, asked: ModelReply[Any], **held: Any
) -> DecisionRow:
    """The row of a question that was asked; `held` are fields of its Basis beside the needs."""
    basis, usage = Basis(needs={need.need_id: need.level for need in context.needs}, **held), asked.usage
    return DecisionRow(
        world_id=situation.world.id,
        person_id=situation.snapshot.person_id,
        at=situation.snapshot.time,
        call=call,
        basis=basis.model_dump(mode="json", exclude_defaults=True),
        model=asked.model,
        calls=usage.calls,
        failures=asked.failures,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=usage.cached_tokens,
        duration_ms=usage.milliseconds,
        prompt=[asdict(one) for one in asked.messages],
    )


def offer_in_short(option: Option) -> str:
    """``work 4 56 inn``: the action, both minutes, and its facility; a person has ``@`` before it, a node ``#``."""
    where = option.facility_id or (f"@{option.target_id}" if option.target_id else f"#{option.node_id}")
    return f"{option.action_id} {option.walk_minutes} {option.minutes} {where}"


def _option(row: str) -> Option:
    """What `offer_in_short` wrote; of what is done in a facility, or with somebody, the node is not kept."""
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


def refusal_in_short(one: Refusal) -> tuple[str, Reason, str | None, str | None, dict[str, str | int | float]]:
    """Its fields in their order, without the facts that no sentence tells."""
    facts = {name: fact for name, fact in one.facts.items() if name not in _UNTOLD_FACTS}
    return one.action_id, one.reason, one.facility_id, one.target_id, facts
