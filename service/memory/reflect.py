"""Owns the one model call of a reflection: what a person lived through becomes two or three insights, each with its
evidence; and which of them may stand. Pure but for the call.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field

from service.llm.chat import Answer, ChatModel, Prompt
from service.llm.prompt import PromptValues, Templates
from service.memory.comparison import are_same
from service.memory.extraction import Ref, Sentence, Weight
from service.memory.record import Episode, Fact
from service.memory.summary import adds_nothing
from service.memory.words import one_line
from service.store.event_kinds import DroppedInsight, DropReason

TEMPLATES = Templates(__file__)

MAX_TOKENS = 600
MOST_EPISODES = 8
MOST_FACTS = 12
MOST_KNOWN = 6
"""So many episodes and facts are thought over, those that matter most, beside the last insights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """Something the person lived through, under the short `ref` that the model may cite. `source` refers to it
    (``talk:…``, ``fact:…``), `partner_ids` are those with whom it talked then.
    """

    ref: str
    text: str
    source: str
    partner_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ReflectionContext(PromptValues):
    """All that a reflection may draw on. `thoughts` are what the person thinks already; `names` are known to
    everybody.
    """

    person_id: str
    name: str
    now: str
    evidence: tuple[Evidence, ...]
    thoughts: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


class InsightDraft(BaseModel, extra="forbid"):
    """Something the person has come to think, and the refs of what it thinks so for."""

    text: Sentence
    evidence: list[Ref] = Field(max_length=4)
    importance: Weight


class Reflection(BaseModel, extra="forbid"):
    """The one structured answer a reflection needs."""

    insights: Annotated[list[InsightDraft], Field(max_length=3)]


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidInsight:
    """An insight that may stand."""

    text: str
    evidence: tuple[Evidence, ...]
    importance: int


def gather_evidence(episodes: Sequence[Episode], facts: Sequence[Fact]) -> tuple[Evidence, ...]:
    """The last episodes, and the facts that matter most, in the order in which they were lived through."""
    last = sorted(episodes, key=lambda one: (one.at, one.conversation_id))[-MOST_EPISODES:]
    most = sorted(facts, key=lambda one: (-one.importance, one.told))[:MOST_FACTS]
    told = [(f"talk:{one.conversation_id}", one.summary, (one.partner_id, *one.others)) for one in last]
    told += [(f"fact:{one.id}", one.shown, (one.partner_id,)) for one in sorted(most, key=lambda one: one.told)]
    return tuple(
        Evidence(ref=f"e{number}", text=one_line(text), source=source, partner_ids=partner_ids)
        for number, (source, text, partner_ids) in enumerate(told, 1)
    )


def reflection_prompt(context: ReflectionContext, thread: str = "") -> Prompt[Reflection]:
    """The question as it is sent. The closing's model answers it, and it is counted with the closings."""
    return TEMPLATES.question("reflection", "closing", context, Reflection, max_tokens=MAX_TOKENS, thread=thread)


async def reflect(model: ChatModel, context: ReflectionContext, thread: str = "") -> Answer[Reflection]:
    """Ask. `thread` says whose reflection it is. Raises: ModelError."""
    return await model.complete(reflection_prompt(context, thread))


def valid_insights(
    drafts: Sequence[InsightDraft], context: ReflectionContext
) -> tuple[tuple[ValidInsight, ...], tuple[DroppedInsight, ...]]:
    """Those that may stand, and those that may not, with the reason."""
    kept: list[ValidInsight] = []
    dropped: list[DroppedInsight] = []
    for draft in drafts:
        text = one_line(draft.text)
        evidence = tuple(one for one in context.evidence if one.ref in draft.evidence)
        reason = _fault(text, evidence, (*context.thoughts, *(one.text for one in kept)), context)
        if reason is None:
            kept.append(ValidInsight(text=text, evidence=evidence, importance=draft.importance))
        else:
            dropped.append(DroppedInsight(text=text, reason=reason))
    return tuple(kept), tuple(dropped)


def _fault(
    text: str, evidence: Sequence[Evidence], thoughts: Sequence[str], context: ReflectionContext
) -> DropReason | None:
    if not text or not evidence:
        return "no_evidence"
    if not adds_nothing(text, " ".join(one.text for one in evidence), context.names):
        return "not_in_evidence"
    return "known" if any(are_same(text, known, context.names) for known in thoughts) else None
