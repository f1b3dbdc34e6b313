"""Owns who perceives a turn: who is there, near enough, and meant. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from service.store.perceived import is_there, perceives
from service.store.phase import Loudness
from service.store.tables import ConversationRow, ParticipantRow, TurnRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Perceivers:
    """Of the others, who sees a turn's act and who hears its words; None: everybody there."""

    seen_by: tuple[str, ...] | None = None
    heard_by: tuple[str, ...] | None = None

    @classmethod
    def among(cls, others: Sequence[str], sees: Collection[str], hears: Collection[str]) -> "Perceivers":
        """Those of the others, in their order."""
        kept = [tuple(one for one in others if one in some) for some in (sees, hears)]
        seen, heard = (None if len(some) == len(others) else some for some in kept)
        return cls(seen_by=seen, heard_by=heard)


def by_place(spots: Mapping[str, str], speaker_id: str, addressed: Collection[str], loudness: Loudness) -> Perceivers:
    """The rule of place: `spots` says where each one who is there stands. An act is seen at the same spot."""
    others = [one for one in spots if one != speaker_id]
    near = {one for one in others if spots[one] == spots[speaker_id]}
    hears = {
        Loudness.LOUD: set(others),
        Loudness.NORMAL: near,
        Loudness.WHISPER: near & set(addressed),
        Loudness.ASIDE: set[str](),
    }[loudness]
    return Perceivers.among(others, near, hears)


def those_there(row: ConversationRow, turn: int) -> list[ParticipantRow]:
    """Who is there at that turn, in the order of their seats."""
    return [one for one in row.participants if is_there(one, turn)]


def hears(turn: TurnRow, person: ParticipantRow) -> bool:
    """Whether the person hears the turn's words."""
    return perceives(person, turn.turn, turn.speaker_id, turn.heard_by)


def sees(turn: TurnRow, person: ParticipantRow) -> bool:
    """Whether the person sees what is done in the turn."""
    return perceives(person, turn.turn, turn.speaker_id, turn.seen_by)
