"""Owns the checks of turns and decisions before they count: which ones are checked, how they are judged, and how they
are improved. One below the threshold is made again with its faults named, then corrected, where the settings allow it;
else the best attempt is taken. A judge that fails spoils nothing.
"""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from service.conversation.dependencies import Again, Spoken
from service.conversation.prompt import PromptContext, data
from service.decision.context import (
    Decision,
    DecisionContext,
    ModelReply,
    ask,
    decide_prompt,
    decision_fault,
    offer_of,
)
from service.decision.situation import Situation
from service.errors import ModelBroken, ModelError
from service.llm.chat import Answer, Role
from service.llm.choose import Models
from service.memory.secrets import Discretion, discretion_among
from service.quality.checks import (
    LATELY,
    CheckContext,
    Exchange,
    Judge,
    Marks,
    Standard,
    below,
    feedback,
    lowest,
    rank,
    stored,
)
from service.settings import QualitySettings
from service.store.perception import told_of_turn
from service.store.quality import CheckedAnswer, QualityOutcome, Tally
from service.store.tables import ConversationKey, QualityRow
from world.time import WorldTime

T = TypeVar("T")


class Improvable(Protocol[T]):
    """A turn or decision that can be marked and made again. `tally` counts every call of a model, failed ones too."""

    tally: Tally

    def line(self, value: T) -> str:
        """The words that are judged."""

    async def marks(self, value: T) -> Marks:
        """Marks the value. Raises: ModelError: the judge failed."""

    async def again(self, value: T, reasons: Sequence[str]) -> T | None:
        """Makes it anew; None: the model's answer cannot be used. Raises: ModelError."""

    async def correct(self, value: T, reasons: Sequence[str]) -> T | None:
        """Has its faults taken out; None: the model's answer cannot be used. Raises: ModelError."""


@dataclass(frozen=True, kw_only=True)
class Tried(Generic[T]):
    """An attempt with its marks; `outcome` is recorded if it passes."""

    value: T
    marks: Marks
    outcome: QualityOutcome


async def improve(work: Improvable[T], first: T, rules: QualitySettings, **of: Any) -> CheckedAnswer[T]:
    """Tries until an attempt reaches the threshold, else takes the best; without marks if the judge failed at once.

    `of` are columns of its row that say what was checked; the caller sets the row's `model`.
    """
    tried: list[Tried[T]] = []
    failure: ModelError | None = None
    try:
        await _try_all(work, first, rules, tried)
    except ModelError as exc:
        _log.warning("a check of quality failed: %s", exc)
        failure = exc
    best = _best(tried) if tried else Tried(value=first, marks={}, outcome="unscored")
    spent = work.tally.usage
    row = QualityRow(
        line=work.line(best.value),
        outcome="best" if best.marks and lowest(best.marks) < rules.threshold else best.outcome,
        lowest=lowest(best.marks) if best.marks else None,
        marks=stored(best.marks),
        refused=[{"line": work.line(one.value), "marks": stored(one.marks)} for one in tried if one is not best],
        failure=failure.slug if failure else None,
        threshold=rules.threshold,
        model="",
        calls=spent.calls,
        failures=spent.failures,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        duration_ms=spent.milliseconds,
        **of,
    )
    return CheckedAnswer(value=best.value, row=row, usage=spent)


async def _try_all(work: Improvable[T], first: T, rules: QualitySettings, tried: list[Tried[T]]) -> None:
    """Adds each marked attempt to `tried`, until one passes.

    Raises:
        ModelError: a model failed.
    """

    async def passes(value: T | None, outcome: QualityOutcome) -> bool:
        if value is not None:
            tried.append(Tried(value=value, marks=await work.marks(value), outcome=outcome))
        return lowest(tried[-1].marks) >= rules.threshold

    if await passes(first, "passed"):
        return
    for _ in range(rules.attempts):
        last = tried[-1]
        if await passes(await work.again(last.value, below(last.marks, rules.threshold)), "again"):
            return
    if rules.correct:
        best = _best(tried)
        await passes(await work.correct(best.value, below(best.marks, rules.threshold)), "corrected")


def _best(tried: Sequence[Tried[T]]) -> Tried[T]:
    """The earliest of the best."""
    return max(tried, key=lambda one: rank(one.marks))


_ALL = 2**64


def is_sampled(share: float, *what: object) -> bool:
    """Whether the thing with that name falls into the `share` (0 to 1) that is checked: the same at every call."""
    if share <= 0:
        return False
    name = "/".join(map(str, what)).encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big") < share * _ALL


_SAID = ("think", "act", "talk", "utterance")
"""Fields of an answer that others perceive: these may be corrected."""
_LONGEST = 2000
"""Letters: more than those fields may have together."""


class _Checks:
    """Checks as the settings say."""

    def __init__(self, rules: QualitySettings, models: Models) -> None:
        self._rules = rules
        self._models = models


class TurnChecks(_Checks):
    """Checks turns (conversation/dependencies.py)."""

    def wants(self, key: ConversationKey, turn: int, role: Role) -> bool:
        """Whether that turn is one of those that are checked."""
        return is_sampled(self._rules.of(role), *key, turn)

    async def best(self, spoken: Spoken, first: Answer[Any], again: Again, tally: Tally) -> CheckedAnswer[Answer[Any]]:
        """Returns the answer that is spoken: `first` if it passes, else the best attempt."""
        work = _Turn(self._models, spoken, again, tally)
        checked = await improve(
            work,
            first,
            self._rules,
            world_id=spoken.key.world_id,
            id=f"{spoken.key.conversation_id}/{spoken.turn}",
            role=spoken.context.speaker.kind,
            person_id=spoken.context.speaker.id,
            conversation_id=spoken.key.conversation_id,
            turn=spoken.turn,
            at=0,  # whoever writes the turn down knows when it was said
        )
        checked.row.model = work.judge.name
        return checked


class _Turn:
    """A turn that is being said."""

    def __init__(self, models: Models, spoken: Spoken, again: Again, tally: Tally) -> None:
        self.tally = tally
        self._again = again
        context = spoken.context
        self.judge = Judge(
            model=models.for_role("quality"),
            context=CheckContext(
                language=context.language,
                speaker=context.speaker,
                told=data(spoken.told),
                line="",
                lines=tuple(data(f"{one.speaker_name}: {one.shown}") for one in context.lines if one.shown)[-LATELY:],
            ),
            standard=Standard(
                speaker=context.speaker,
                language=context.language,
                discretion=discretion_among(context.speaker, context.affinities),
                longest=_LONGEST,
            ),
            thread="/".join(spoken.key),
            tally=tally,
        )
        self._before, self._said = _exchanges(context)

    def line(self, value: Answer[Any]) -> str:
        """What others perceive of the turn; its thought, if they perceive nothing."""
        answer = value.value
        act = getattr(answer, "act", "").strip()
        return told_of_turn(act, answer.utterance.strip()) or str(answer.think).strip()

    async def marks(self, value: Answer[Any]) -> Marks:
        line = self.line(value)
        return await self.judge.marks(line, Exchange(self._said, line), self._before)

    async def again(self, value: Answer[Any], reasons: Sequence[str]) -> Answer[Any] | None:
        return await self._again(feedback(replace(self.judge.context, line=self.line(value)), reasons))

    async def correct(self, value: Answer[Any], reasons: Sequence[str]) -> Answer[Any] | None:
        parts = {name: getattr(value.value, name) for name in _SAID if getattr(value.value, name, "")}
        changed = await self.judge.corrected("", parts, reasons)
        return replace(value, value=value.value.model_copy(update=changed)) if changed else None


def _exchanges(context: PromptContext) -> tuple[list[Exchange], str]:
    """What the speaker heard before each of its turns and what it said then; and what it has heard since the last."""
    before, heard = list[Exchange](), list[str]()
    for line in context.lines:
        if line.speaker_id == context.speaker.id:
            before.append(Exchange(" ".join(heard), told_of_turn(line.act, line.text)))
            heard = []
        else:
            heard.append(line.shown)
    return before, " ".join(heard)


_DECIDED = ("thought", "goal", "success_criteria")
"""Fields of a decision that may be corrected: its choice stays."""


class DecisionChecks(_Checks):
    """Checks decisions (decision/context.py)."""

    def wants(self, world_id: str, person_id: str, at: WorldTime) -> bool:
        """Whether that decision is one of those that are checked."""
        return is_sampled(self._rules.of("decision"), world_id, person_id, at)

    async def best(
        self, situation: Situation, context: DecisionContext, first: ModelReply[Decision]
    ) -> CheckedAnswer[ModelReply[Decision]]:
        """Returns the decision that counts: `first` if it passes, else the best attempt."""
        person_id, at = situation.snapshot.person_id, situation.snapshot.time
        work = _Choice(self._models, situation, context)
        checked = await improve(
            work,
            first,
            self._rules,
            world_id=situation.world.id,
            id=f"{person_id}@{at}",
            role="decision",
            person_id=person_id,
            conversation_id=None,
            turn=None,
            at=at,
        )
        checked.row.model = work.judge.name
        return replace(checked, value=replace(checked.value, usage=first.usage))


class _Choice:
    """A decision that is being made."""

    def __init__(self, models: Models, situation: Situation, context: DecisionContext) -> None:
        self.tally = Tally()
        self._models = models
        self._situation = situation
        self._context = context
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
            thread=situation.thread,
            tally=self.tally,
        )

    def line(self, value: ModelReply[Decision]) -> str:
        """The option, why, and what is wanted of a talk."""
        decision = _made(value)
        offer = offer_of(self._context, decision)
        told = (offer.text if offer else "", decision.thought, decision.goal, decision.success_criteria)
        return " / ".join(one.strip() for one in told if one.strip())

    async def marks(self, value: ModelReply[Decision]) -> Marks:
        decision = _made(value)
        thought = Exchange("", f"{decision.thought} {decision.goal}".strip() or "…")
        return await self.judge.marks(self.line(value), thought, self._before(decision))

    async def again(self, value: ModelReply[Decision], reasons: Sequence[str]) -> ModelReply[Decision] | None:
        wrong = _made(value).model_dump_json()
        told = feedback(replace(self.judge.context, line=self.line(value)), reasons)
        context = replace(self._context, fault=told, wrong_answer=wrong)
        model = self._models.for_role("decision")
        asked = await ask(model, decide_prompt, context, decision_fault, self._situation.thread)
        self.tally.add(asked.usage)
        if asked.failure is not None and not isinstance(asked.failure, ModelBroken):
            raise asked.failure
        return asked if asked.value is not None else None

    async def correct(self, value: ModelReply[Decision], reasons: Sequence[str]) -> ModelReply[Decision] | None:
        decision = _made(value)
        parts = {name: getattr(decision, name) for name in _DECIDED}
        changed = await self.judge.corrected(self.line(value), parts, reasons)
        limits = Decision.model_json_schema()["properties"]
        made = decision.model_copy(update={name: text[: limits[name]["maxLength"]] for name, text in changed.items()})
        return replace(value, value=made) if made != decision else None

    def _before(self, decision: Decision) -> list[Exchange]:
        """What it thought when it last decided. Who goes on with the same, but for a talk, may think the same."""
        state, offer = self._situation.agent_state, offer_of(self._context, decision)
        chosen = (offer.option.action_id, offer.option.facility_id) if offer else None
        last = (state.last_asked.action_id, state.last_asked.facility_id) if state.last_asked else None
        goes_on = chosen == last and not decision.goal
        thought = f"{state.thought} {state.goal or ''}".strip()
        return [Exchange("", thought)] if thought and not goes_on else []


def _made(value: ModelReply[Decision]) -> Decision:
    if value.value is None:
        raise ValueError("a decision that was not made cannot be checked")
    return value.value


def _told(context: DecisionContext) -> str:
    """What its prompt told of the moment, after its day."""
    (_, moment) = decide_prompt(replace(context, fault="")).messages
    day = "\n".join(f"{line.at} {line.activity}" for line in context.day)
    return data(f"{day}\n\n{moment.content}".strip())


_log = logging.getLogger(__name__)
