"""Owns what is kept of a speaker's context beside its text: which memories stood in it, and how the speaker stood to
the partner; a few hundred bytes that stay when the text is gone.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from service.content.profile import Mood
from service.conversation.context import PromptContext
from service.memory.recall import RecentMemory
from service.memory.refs import MemoryKind, ref, turn_ref


class Knowledge(BaseModel, frozen=True):
    """What the context of a prompt held, as it was when the two met. `memories` are references (memory/refs.py).

    `affinity` (-100..100), `stance` and `times_met` are the speaker's towards the partner.
    """

    memories: tuple[str, ...] = ()
    affinity: int = 0
    """how it liked the other, -100..100"""
    stance: str = ""
    """in words, in the world's language; empty: nothing had formed yet"""
    times_met: int = 0
    """how often the two had talked before"""
    mood: Mood = "neutral"

    def stored(self) -> dict[str, Any]:
        """As its row keeps it: what says nothing is left out."""
        return self.model_dump(mode="json", exclude_defaults=True)


NOTHING_KNOWN = Knowledge()


def knowledge(context: PromptContext, recent: RecentMemory, told: Sequence[str]) -> Knowledge:
    """What stands in the context: what was `told` from memory, by its references, beside the last talk of the two."""
    last = [ref(MemoryKind.TALK, recent.last_summary.conversation_id)] if recent.last_summary else []
    unsettled = (turn_ref(row.conversation_id, row.turn) for row in recent.unsettled)
    return Knowledge(
        memories=tuple(dict.fromkeys((*last, *told, *unsettled))),
        affinity=context.affinity,
        stance=context.stance,
        times_met=context.times_met,
        mood=context.mood,
    )
