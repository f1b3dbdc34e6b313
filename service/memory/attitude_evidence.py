"""Owns what somebody's memory says about how it stands to another: asked before that is judged, once for each
dimension.

Source: LoCoMo's relationship reflection, where evidence is found for each dimension by a question of its own. Those of
a closing are fixed here, so that no model is asked for them, and their vectors are made once.
"""

import asyncio
from collections.abc import Mapping, Sequence

from service.memory.memory_store import MemoryStore
from service.memory.recall import remembered
from service.memory.record import FACTS, Kind, Recalled
from service.memory.secrets import Discretion
from service.memory.telling import tell
from service.people.attitude import DIMENSIONS, Dimension
from service.people.worlds import WorldView

MOST_FOUND = 3
EVIDENCE_TOKENS = 40
"""What bears on one dimension takes no more of a prompt, by `estimate_tokens`."""

Evidence = tuple[tuple[Dimension, tuple[str, ...]], ...]
"""The dimensions that memory says something of, and what, each line with when."""


def fixed_questions(world: WorldView) -> dict[Dimension, str]:
    """What a closing asks memory, for each dimension."""
    return {dimension: world.say(f"people.asks.{dimension}") for dimension in DIMENSIONS}


async def ask_each(
    memory: MemoryStore, world: WorldView, person_id: str, partner_id: str, questions: Mapping[Dimension, str]
) -> dict[Dimension, list[Recalled]]:
    """What the person remembers of the partner that answers each question best, all asked at once; nothing while the
    store is away.
    """
    kinds = {*FACTS, Kind.TURN}
    found = await asyncio.gather(
        *(
            remembered(memory, world, person_id, question, limit=MOST_FOUND, partner_id=partner_id, kinds=kinds)
            for question in questions.values()
        )
    )
    return dict(zip(questions, found, strict=True))


def evidence(
    world: WorldView, partner: Discretion, found: Mapping[Dimension, Sequence[Recalled]], person_id: str
) -> Evidence:
    """What of the `found` bears, for the person, on each dimension, each once; nothing that is kept from the
    partner.
    """
    known: list[tuple[Dimension, tuple[str, ...]]] = []
    for dimension, recalled in found.items():
        earlier = [line for _, lines in known for line in lines]
        bears = (one for one in partner.known(recalled, world) if one.bears)
        if lines := tell(world, person_id, bears, tokens=EVIDENCE_TOKENS, told=earlier).lines:
            known.append((dimension, lines))
    return tuple(known)
