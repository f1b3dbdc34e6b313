"""Owns who speaks next and when a conversation is over. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.store.phase import EndReason, TurnPolicy

OPENER, PARTNER = 0, 1
"""Seats. The opener speaks first, and the goal is its own."""
FEWEST = 2
"""With fewer there is no conversation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spoken:
    """What counts of a turn for the end, and for who is next: `addressed` are the seats it was said to, `urgency` is
    how much its speaker wanted to go on (0 to 10).
    """

    seat: int
    goal_achieved: bool = False
    wants_to_end: bool = False
    addressed: tuple[int, ...] = ()
    urgency: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Seats:
    """Who is there when: for each seat the first turn it hears, and the first that it does not hear any more (None: it
    stays). `policy` says who is next where more than two are there.
    """

    stays: tuple[tuple[int, int | None], ...] = ((0, None), (0, None))
    policy: TurnPolicy = TurnPolicy.IN_ORDER

    def there(self, turn: int) -> list[int]:
        """The seats that hear that turn."""
        return [
            seat for seat, (joined, left) in enumerate(self.stays) if joined <= turn and (left is None or turn < left)
        ]


PAIR = Seats()
"""Two who stay."""


def next_step(turns: Sequence[Spoken], max_turns: int, seats: Seats = PAIR) -> int | EndReason:
    """The seat that speaks next, or why it is over. The opener speaks first; then two alternate, and of more it is as
    `seats` say.

    After the goal is achieved one farewell turn follows, within the limit. A goal cannot be achieved before somebody
    else has spoken. Who wants to end it leaves; with fewer than two there it is over.
    """
    there = seats.there(len(turns))
    if not turns:
        return there[0] if len(there) >= FEWEST else EndReason.WANTS_TO_END
    last = turns[-1]
    achieved = [i for i, turn in enumerate(turns) if turn.goal_achieved and i > 0]
    if achieved and (achieved[0] < len(turns) - 1 or len(turns) >= max_turns):
        return EndReason.GOAL_ACHIEVED
    if last.wants_to_end and not achieved:
        there = [seat for seat in there if seat != last.seat]
    if len(there) < FEWEST:
        return EndReason.WANTS_TO_END
    if len(turns) >= max_turns:
        return EndReason.TURN_LIMIT
    return _next_of([seat for seat in there if seat != last.seat], turns, seats.policy)


def _next_of(others: Sequence[int], turns: Sequence[Spoken], policy: TurnPolicy) -> int:
    """Which of the others, of whom none spoke last."""
    last = turns[-1]
    in_order = sorted(others, key=lambda seat: (seat <= last.seat, seat))
    if policy == TurnPolicy.ADDRESSED:
        return next((seat for seat in last.addressed if seat in others), in_order[0])
    if policy == TurnPolicy.URGENCY:
        return max(in_order, key=lambda seat: _urgency(turns, seat))
    return in_order[0]


def _urgency(turns: Sequence[Spoken], seat: int) -> int:
    """How much it wanted to go on when it spoke last; who has not spoken yet wants to most."""
    own = [turn for turn in turns if turn.seat == seat]
    return (own[-1].urgency or 0) if own else 11
