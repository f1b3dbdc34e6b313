"""Owns what is said in a turn, and who perceives it: who is there, and for whom it was meant. Pure."""

from collections.abc import Collection
from dataclasses import dataclass

from service.store.phase import ClockPolicy
from service.store.tables import ConversationRow, ParticipantRow, TurnRow
from world.time import WorldTime

LATER_MINUTES = 21
"""Who left a talk of the living world before its end, or overheard it, knows of it so many minutes after its end. More
than anybody lives ahead of the clock (world_run.AHEAD_MINUTES): so it cannot be noticed in which order talks were held.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What was said in a turn, and by whom. `turn` counts from 0."""

    turn: int
    speaker_id: str
    speaker_name: str
    text: str


def is_there(one: ParticipantRow, turn: int) -> bool:
    """Whether somebody who takes part has joined by that turn, and has not left."""
    return one.joined_turn <= turn and (one.left_turn is None or turn < one.left_turn)


def are_together(one: ParticipantRow, other: ParticipantRow) -> bool:
    """Whether the two are there at one time."""
    return not any(a.left_turn is not None and a.left_turn <= b.joined_turn for a, b in ((one, other), (other, one)))


def perceives(one: ParticipantRow, turn: int, speaker_id: str, only: Collection[str] | None) -> bool:
    """Whether somebody perceives what was said in a turn, or done: its speaker does, and who is there. `only` are those
    who did (`heard_by`, or `seen_by`, of TurnRow; None: everybody): also who has left since, and come again.
    """
    return one.person_id == speaker_id or (is_there(one, turn) if only is None else one.person_id in only)


def perceivers(conversation: ConversationRow, turn: TurnRow, only: Collection[str] | None) -> list[str]:
    """Ids of the others who perceive what was said in a turn, or done; `only` as in `perceives`."""
    others = (one for one in conversation.participants if one.person_id != turn.speaker_id)
    return [one.person_id for one in others if perceives(one, turn.turn, turn.speaker_id, only)]


def known_late(conversation: ConversationRow, person_id: str) -> WorldTime | None:
    """From when on who left before the end knows what it took away; None: it stayed, or turns take no world time."""
    one = conversation.participants[conversation.seat_of(person_id)]
    if one.left_turn is None or conversation.clock_policy != ClockPolicy.MINUTE or conversation.ended_at is None:
        return None
    return WorldTime(conversation.ended_at + LATER_MINUTES)


def told_of_turn(act: str, text: str) -> str:
    """What was done and said in a turn, as one text: what was done stands in brackets."""
    return f"({act}) {text}".strip() if act else text
