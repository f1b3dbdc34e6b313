"""Owns who perceives a turn: who is there, and for whom it was meant. Pure."""

from collections.abc import Collection

from service.store.tables import ParticipantRow


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


def told_of_turn(act: str, text: str) -> str:
    """What was done and said in a turn, as one text: what was done stands in brackets."""
    return f"({act}) {text}".strip() if act else text
