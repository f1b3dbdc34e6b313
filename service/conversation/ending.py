"""Owns who speaks next and when a conversation is over. Pure."""

from collections.abc import Sequence

from service.conversation.perception import those_there
from service.store.phase import EndReason, TurnPolicy
from service.store.tables import ConversationRow, TurnRow

OPENER, PARTNER = 0, 1
"""Seats. The opener speaks first, and the goal is its own."""
FEWEST = 2
"""With fewer there is no conversation."""


def next_step(row: ConversationRow, turns: Sequence[TurnRow]) -> int | EndReason:
    """The seat that speaks next, or why it is over. The opener speaks first; then two alternate, and of more it is as
    the conversation's turn policy says.

    After the goal is achieved one farewell turn follows, within the limit. A goal cannot be achieved before somebody
    else has spoken. Who wants to end it leaves; with fewer than two there it is over. A chat client's no word ends.
    """
    there = [one.seat for one in those_there(row, len(turns))]
    if not turns:
        return there[0] if len(there) >= FEWEST else EndReason.WANTS_TO_END
    last = turns[-1]
    spoke = row.seat_of(last.speaker_id)
    achieved = [i for i, turn in enumerate(turns) if turn.goal_achieved and i > 0]
    if achieved and (achieved[0] < len(turns) - 1 or len(turns) >= row.max_turns):
        return EndReason.GOAL_ACHIEVED
    if last.wants_to_end and row.chat_idle_minutes is None and not achieved:
        there = [seat for seat in there if seat != spoke]
    if len(there) < FEWEST:
        return EndReason.WANTS_TO_END
    if len(turns) >= row.max_turns:
        return EndReason.TURN_LIMIT
    in_order = sorted((seat for seat in there if seat != spoke), key=lambda seat: (seat < spoke, seat))
    return _next_of(row, in_order, turns)


def _next_of(row: ConversationRow, others: Sequence[int], turns: Sequence[TurnRow]) -> int:
    """Which of the others, of whom none spoke last, in the order of their seats from there on."""
    if row.turn_policy == TurnPolicy.ADDRESSED:
        addressed = map(row.seat_of, turns[-1].addressed or ())
        return next((seat for seat in addressed if seat in others), others[0])
    if row.turn_policy == TurnPolicy.URGENCY:
        return max(others, key=lambda seat: _urgency(turns, row.person_ids[seat]))
    return others[0]


def _urgency(turns: Sequence[TurnRow], person_id: str) -> int:
    """How much it wanted to go on when it spoke last; who has not spoken yet wants to most."""
    own = [turn for turn in turns if turn.speaker_id == person_id]
    return (own[-1].urgency or 0) if own else 11
