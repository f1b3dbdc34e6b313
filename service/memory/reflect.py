"""Owns the one model call of a reflection: what a person lived through becomes two or three insights, each with its
evidence; and which of them may stand. Pure but for the call.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field

from service.llm.chat import Answer, ChatModel, Prompt, PromptValues, Templates
from service.memory.closing.answer import Ref, Sentence, Weight
from service.memory.lexical import normal
from service.memory.telling import one_line
from service.store.event_kinds import DroppedInsight

TEMPLATES = Templates(__file__)

MAX_TOKENS = 600
MOST_EPISODES = 8
MOST_MEMORIES = 12
MOST_KNOWN = 6
"""So many episodes and memories are thought over, those that matter most, beside the last insights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """Something the person lived through, under the short `ref` that the model may cite. `source` refers to it
    (``talk:…``, ``memory:…``), `partner_ids` are those with whom it talked then.
    """

    ref: str
    text: str
    source: str
    partner_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ReflectionContext(PromptValues):
    """All that a reflection may draw on. `personality` and `wishes` are what its author wrote of the person, `thoughts`
    what it thinks already.
    """

    person_id: str
    name: str
    now: str
    evidence: tuple[Evidence, ...]
    personality: str = ""
    wishes: tuple[str, ...] = ()
    thoughts: tuple[str, ...] = ()


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
        known = {normal(one) for one in (*context.thoughts, *(one.text for one in kept))}
        if not text or not evidence:
            dropped.append(DroppedInsight(text=text, reason="no_evidence"))
        elif normal(text) in known:
            dropped.append(DroppedInsight(text=text, reason="known"))
        else:
            kept.append(ValidInsight(text=text, evidence=evidence, importance=draft.importance))
    return tuple(kept), tuple(dropped)
