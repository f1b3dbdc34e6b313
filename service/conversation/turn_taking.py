"""Owns whose turn it is: who is there and perceives a turn, who speaks next, when a conversation is over, when it waits
for a human or for somebody to let it go on, and when it has waited too long.
"""

import time
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import ColumnElement
from sqlmodel import Session, and_, col, func, or_, select

from service.people.worlds import WorldView
from service.store.perceived import is_there, perceives
from service.store.phase import EndReason, Loudness, Phase, Speaker, TurnPolicy
from service.store.tables import ConversationKey, ConversationRow, ParticipantRow, TurnRow, WorldRow

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


Reached = tuple[list[str] | None, list[str] | None]
"""Of the others, who sees a turn's act and who hears its words; None: everybody there."""


def reached(others: Sequence[str], sees: Collection[str], hears: Collection[str]) -> Reached:
    """Those of the others, in their order."""
    seen, heard = ([one for one in others if one in some] for some in (sees, hears))
    return None if len(seen) == len(others) else seen, None if len(heard) == len(others) else heard


def by_place(spots: Mapping[str, str], speaker_id: str, addressed: Collection[str], loudness: Loudness) -> Reached:
    """The rule of place: `spots` says where each one who is there stands. An act is seen at the same spot."""
    others = [one for one in spots if one != speaker_id]
    near = {one for one in others if spots[one] == spots[speaker_id]}
    hears = {
        Loudness.LOUD: set(others),
        Loudness.NORMAL: near,
        Loudness.WHISPER: near & set(addressed),
        Loudness.ASIDE: set[str](),
    }[loudness]
    return reached(others, near, hears)


def those_there(row: ConversationRow, turn: int) -> list[ParticipantRow]:
    """Who is there at that turn, in the order of their seats."""
    return [one for one in row.participants if is_there(one, turn)]


def hears(turn: TurnRow, person: ParticipantRow) -> bool:
    """Whether the person hears the turn's words."""
    return perceives(person, turn.turn, turn.speaker_id, turn.heard_by)


def sees(turn: TurnRow, person: ParticipantRow) -> bool:
    """Whether the person sees what is done in the turn."""
    return perceives(person, turn.turn, turn.speaker_id, turn.seen_by)


SECONDS_PER_MINUTE = 60


def let_speak(row: ConversationRow, step: int | EndReason, world: WorldView) -> None:
    """Where the next to speak is a human, the conversation waits from now on: nobody works on it meanwhile."""
    awaited = None if isinstance(step, EndReason) else row.participants[step]
    waits = awaited is not None and awaited.speaker == Speaker.HUMAN
    now = (0, awaited.person_id if awaited is not None and waits else None)
    if (row.attempts, row.awaits) != now:
        row.attempts, row.awaits = now
    if waits:
        row.silent_at, row.silent_at_minute = _silent_from(row, world)
        row.runner = None


def keep_waiting(row: ConversationRow, world: WorldView) -> None:
    """The human whose words are awaited still listens: its silence begins now."""
    if row.awaits is not None:
        row.silent_at, row.silent_at_minute = _silent_from(row, world)


def silent(session: Session) -> list[ConversationKey]:
    """Conversations in which a human has said nothing for too long."""
    by_machine, by_world = col(ConversationRow.silent_at), col(ConversationRow.silent_at_minute)
    query = (
        select(ConversationRow.world_id, ConversationRow.id)
        .join(WorldRow, col(WorldRow.id) == ConversationRow.world_id)
        .where(
            ConversationRow.phase == Phase.RUNNING,
            col(ConversationRow.awaits).is_not(None),
            or_(by_machine.between(1, time.time()), by_world.between(1, col(WorldRow.now))),
        )
    )
    return [ConversationKey(*found) for found in session.exec(query.order_by(col(ConversationRow.id)))]


def stands() -> ColumnElement[bool]:
    """The condition that a conversation waits for somebody to let it go on."""
    said = select(func.count()).where(
        TurnRow.world_id == ConversationRow.world_id, TurnRow.conversation_id == ConversationRow.id
    )
    waits = col(ConversationRow.stands_at) <= said.scalar_subquery()
    return and_(ConversationRow.phase == Phase.RUNNING, col(ConversationRow.stands_at).is_not(None), waits)


def is_silent(row: ConversationRow, world: WorldView) -> bool:
    """Whether a human has said nothing in it for too long."""
    over = 0 < row.silent_at <= time.time() or 0 < row.silent_at_minute <= world.now
    return row.awaits is not None and over


def _silent_from(row: ConversationRow, world: WorldView) -> tuple[float, int]:
    """From when on silence is too long, in machine time and in world time; 0: never."""
    minutes, world_minutes = world.settings.silence_minutes, world.settings.silence_world_minutes
    if row.chat_idle_minutes is not None:
        minutes, world_minutes = row.chat_idle_minutes, 0
    return (
        time.time() + minutes * SECONDS_PER_MINUTE if minutes else 0.0,
        world.now + world_minutes if world_minutes else 0,
    )
