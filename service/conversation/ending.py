"""Owns who speaks next and when a conversation is over. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.store.phase import EndReason

OPENER, PARTNER = 0, 1
"""Seats. The opener speaks first, and the goal is its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spoken:
    """What counts of a turn for the end."""

    seat: int
    goal_achieved: bool = False
    wants_to_end: bool = False


def next_step(turns: Sequence[Spoken], max_turns: int) -> int | EndReason:
    """The seat that speaks next, or why it is over. The opener speaks first, then they alternate.

    After the goal is achieved the partner still gets one farewell turn, within the limit. A goal cannot be achieved
    before the partner has spoken.
    """
    if not turns:
        return OPENER
    last = turns[-1]
    achieved = [i for i, turn in enumerate(turns) if turn.goal_achieved and i > 0]
    if achieved:
        farewell_due = achieved[0] == len(turns) - 1 and len(turns) < max_turns
        return PARTNER if farewell_due else EndReason.GOAL_ACHIEVED
    if last.wants_to_end:
        return EndReason.WANTS_TO_END
    if len(turns) >= max_turns:
        return EndReason.TURN_LIMIT
    return PARTNER if last.seat == OPENER else OPENER
