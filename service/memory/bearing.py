"""Owns what somebody's memory says about how it stands to another: asked before the closing judges it, once for each
dimension.

Source: LoCoMo's relationship reflection, where evidence is found for each dimension by a question of its own. The
questions are fixed here, so that no model is asked for them, and their vectors are made once.
"""

from service.memory.recall import new_lines, remembered, within
from service.memory.secrets import Discretion
from service.memory.store import Kind, MemoryStore
from service.people.attitude import DIMENSIONS, Dimension
from service.people.worlds import WorldView

MOST_FOUND = 3
EVIDENCE_TOKENS = 40
"""What bears on one dimension takes no more of the closing's prompt, by `estimate_tokens`."""

Evidence = tuple[tuple[Dimension, tuple[str, ...]], ...]
"""The dimensions that memory says something of, and what, each line with when."""


async def evidence(
    memory: MemoryStore, world: WorldView, person_id: str, partner: Discretion, told: tuple[str, ...]
) -> Evidence:
    """What the person remembers of the partner that bears on each dimension, and stands not in a text of `told`;
    nothing that it keeps from it.

    Nothing while the store is away.
    """
    found: list[tuple[Dimension, tuple[str, ...]]] = []
    for dimension in DIMENSIONS:
        question = world.say(f"people.asks.{dimension}")
        recalled = await remembered(
            memory,
            world,
            person_id,
            question,
            limit=MOST_FOUND,
            partner_id=partner.partner_id,
            kinds={Kind.FACT, Kind.TURN},
        )
        earlier = (*told, *(line for _, lines in found for line in lines))
        lines = within(
            new_lines(world, (one for one in partner.known(recalled) if one.bears), earlier), EVIDENCE_TOKENS
        )
        if lines:
            found.append((dimension, lines))
    return tuple(found)
