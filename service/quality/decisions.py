"""Owns the check of what somebody decides: which decisions are checked, by what they are judged, and how one is made
anew.
"""

from collections.abc import Sequence
from dataclasses import replace

from service.conversation.prompt import data
from service.decision.context import (
    Asked,
    Deciding,
    Decision,
    DecisionContext,
    ask,
    decide_prompt,
    decision_fault,
    offer_of,
)
from service.errors import ModelBroken
from service.llm.choose import Models
from service.memory.secrets import Discretion
from service.quality.checks import Exchange, Standard
from service.quality.improve import improve, row_of
from service.quality.judge import CheckContext, Judge, feedback
from service.quality.marks import Marks
from service.quality.sampling import is_sampled
from service.settings import QualitySettings
from service.store.quality import Checked, Tally
from world.time import WorldTime

_PARTS = ("thought", "goal", "success_criteria")
"""What of a decision may be corrected; what is done stays."""
_LONGEST = 2000


class DecisionChecks:
    """Checks decisions as the settings say (decision/context.py)."""

    def __init__(self, rules: QualitySettings, models: Models) -> None:
        self._rules = rules
        self._models = models

    def wants(self, world_id: str, person_id: str, at: WorldTime) -> bool:
        """Whether that decision is one of those that are checked."""
        return is_sampled(self._rules.of("decision"), world_id, person_id, at)

    async def best(self, deciding: Deciding, first: Asked[Decision]) -> Checked[Asked[Decision]]:
        """What is decided instead of, or as, the `first`."""
        work = _Choice(self._models, deciding)
        found = await improve(work, first, self._rules)
        row = row_of(
            found,
            work.line,
            world_id=deciding.world_id,
            id=f"{deciding.context.speaker.id}@{deciding.at}",
            role="decision",
            person_id=deciding.context.speaker.id,
            conversation_id=None,
            turn=None,
            threshold=self._rules.threshold,
            model=work.judge.name,
            tally=work.tally,
        )
        row.at = deciding.at
        taken = replace(found.value, usage=first.usage, failures=first.failures)
        return Checked(value=taken, row=row, tally=work.tally)


class _Choice:
    """A decision that is being made."""

    def __init__(self, models: Models, deciding: Deciding) -> None:
        self.tally = Tally()
        self._models = models
        self._deciding = deciding
        context = deciding.context
        self.judge = Judge(
            model=models.for_role("quality"),
            context=CheckContext(
                language=context.language,
                speaker=context.speaker,
                told=_told(context),
                line="",
                is_decision=True,
            ),
            standard=Standard(
                speaker=context.speaker,
                language=context.language,
                discretion=Discretion(),  # nobody hears what it thinks
                longest=_LONGEST,
            ),
            thread=deciding.thread,
            tally=self.tally,
        )

    def line(self, value: Asked[Decision]) -> str:
        """The option, why, and what is wanted of a talk."""
        decision = _made(value)
        offer = offer_of(self._deciding.context, decision)
        told = (offer.text if offer else "", decision.thought, decision.goal, decision.success_criteria)
        return " / ".join(one.strip() for one in told if one.strip())

    async def marks(self, value: Asked[Decision]) -> Marks:
        decision = _made(value)
        thought = Exchange("", f"{decision.thought} {decision.goal}".strip() or "…")
        return await self.judge.marks(self.line(value), thought, self._before(decision))

    async def again(self, value: Asked[Decision], reasons: Sequence[str]) -> Asked[Decision] | None:
        wrong = _made(value).model_dump_json()
        told = feedback(replace(self.judge.context, line=self.line(value)), reasons)
        context = replace(self._deciding.context, fault=told, wrong_answer=wrong)
        model = self._models.for_role("decision")
        asked = await ask(model, decide_prompt, context, decision_fault, self._deciding.thread)
        self.tally.add(asked.usage, failures=asked.failures)
        if asked.failure is not None and not isinstance(asked.failure, ModelBroken):
            raise asked.failure
        return asked if asked.value is not None else None

    async def correct(self, value: Asked[Decision], reasons: Sequence[str]) -> Asked[Decision] | None:
        decision = _made(value)
        parts = {name: getattr(decision, name) for name in _PARTS}
        changed = await self.judge.corrected(self.line(value), parts, reasons)
        limits = Decision.model_json_schema()["properties"]
        made = decision.model_copy(update={name: text[: limits[name]["maxLength"]] for name, text in changed.items()})
        return replace(value, value=made) if made != decision else None

    def _before(self, decision: Decision) -> list[Exchange]:
        """What it thought when it last decided. Who goes on with the same, but for a talk, may think the same."""
        deciding, offer = self._deciding, offer_of(self._deciding.context, decision)
        chosen = (offer.option.action_id, offer.option.facility_id) if offer else None
        goes_on = chosen == deciding.last and not decision.goal
        return [Exchange("", deciding.thought)] if deciding.thought and not goes_on else []


def _made(value: Asked[Decision]) -> Decision:
    if value.value is None:
        raise ValueError("a decision that was not made cannot be checked")
    return value.value


def _told(context: DecisionContext) -> str:
    """What it was told of the moment, and its day."""
    (_, moment) = decide_prompt(replace(context, fault="")).messages
    day = "\n".join(f"{line.at} {line.activity}" for line in context.day)
    return data(f"{day}\n\n{moment.content}".strip())
