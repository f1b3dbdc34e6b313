"""Owns the report on a scene: how people felt from turn to turn, how they came to stand to each other, and the lines
that turned it. All of it is counted from what was said; no model judges it.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations

from pydantic import BaseModel, Field

from service.people.attitude import bounded_affinity
from service.store.tables import ConversationRow, TurnRow

TURNS_IT = 2
"""By so much liking (-3 to 3) a line must shift it to be a turning point."""


class Felt(BaseModel):
    """What somebody felt in a turn of its own."""

    turn_number: int = Field(description="its turn, from 1", examples=[1])
    emotion: str = Field(description="the emotion it showed", examples=["worried"])


class Feelings(BaseModel):
    """A person's emotions, turn by turn."""

    character_id: str = Field(description="who feels", examples=["aoi"])
    character_name: str = Field(description="its name", examples=["Aoi"])
    emotions: list[Felt] = Field(description="one for each of its turns")


class Liked(BaseModel):
    """How much somebody likes somebody after a turn."""

    turn_number: int = Field(description="0: before the first turn", examples=[1])
    affinity: int = Field(description="liking, -100..100", examples=[12])


class Relation(BaseModel):
    """How one person stands to another over the scene. `remembered`: what it is since the scene was closed (null: it is
    not yet).
    """

    owner_id: str = Field(description="who likes", examples=["aoi"])
    other_id: str = Field(description="whom it likes", examples=["npc_taro"])
    affinity: list[Liked] = Field(description="before the first turn, and wherever it changed")
    remembered: int | None = Field(None, description="-100..100, since the closing", examples=[14])


class TurningPoint(BaseModel):
    """A line after which somebody liked somebody clearly more, or less, or felt otherwise than before."""

    turn_number: int = Field(description="the turn of the line", examples=[4])
    character_id: str = Field(description="whose line it is", examples=["npc_taro"])
    line: str = Field(description="what was done and said", examples=["I took it."])
    owner_id: str = Field(description="in whom it turned something", examples=["aoi"])
    other_id: str | None = Field(None, description="towards whom; null: its emotion", examples=["npc_taro"])
    by: int | None = Field(None, description="-3 to 3; null: its emotion", examples=[-3])
    emotion: str | None = Field(None, description="what it feels now; null: it was no emotion", examples=["angry"])


class SceneReport(BaseModel):
    """Feelings and relations of a scene."""

    scene_id: str = Field(description="the scene", examples=["S001"])
    feelings: list[Feelings] = Field(description="of everybody, in the order of their seats")
    relations: list[Relation] = Field(description="of each towards each other one")
    turning_points: list[TurningPoint] = Field(description="in the order of their turns")


def scene_report(
    scene_id: str,
    row: ConversationRow,
    turns: Sequence[TurnRow],
    names: Mapping[str, str],
    before: Mapping[tuple[str, str], int],
    after: Mapping[tuple[str, str], int] | None,
) -> SceneReport:
    """The report; `before` and `after` are the affinities of each towards each other when the scene began, and since it
    was closed (None: it is not).
    """
    return SceneReport(
        scene_id=scene_id,
        feelings=[
            Feelings(
                character_id=person_id,
                character_name=names[person_id],
                emotions=[
                    Felt(turn_number=turn.turn + 1, emotion=turn.emotion)
                    for turn in turns
                    if turn.speaker_id == person_id
                ],
            )
            for person_id in row.person_ids
        ],
        relations=[
            Relation(
                owner_id=owner,
                other_id=other,
                affinity=_affinities(owner, other, turns, before.get((owner, other), 0)),
                remembered=None if after is None else after.get((owner, other), 0),
            )
            for owner, other in permutations(row.person_ids, 2)
        ],
        turning_points=_turning_points(turns),
    )


def _affinities(owner: str, other: str, turns: Sequence[TurnRow], start: int) -> list[Liked]:
    found = [Liked(turn_number=0, affinity=start)]
    for turn in turns:
        by = sum(by for person_id, by in turn.shifts or () if person_id == other) if turn.speaker_id == owner else 0
        if by:
            found.append(Liked(turn_number=turn.turn + 1, affinity=bounded_affinity(found[-1].affinity + by)))
    return found


def _turning_points(turns: Sequence[TurnRow]) -> list[TurningPoint]:
    """A person shows in its own turn what a line before it has done to it: the last one of another that it perceived,
    of the one whom it likes otherwise now where that one spoke since.
    """
    found = list[TurningPoint]()
    felt: dict[str, str] = {}
    for turn in turns:
        owner = turn.speaker_id
        heard = [one for one in turns[: turn.turn] if one.speaker_id != owner and _perceived(one, owner)]
        emotion = turn.emotion if felt.get(owner, turn.emotion) != turn.emotion else None
        felt[owner] = turn.emotion
        for other, by in sorted(turn.shifts or (), key=lambda shift: -abs(shift[1])):
            cause = next((one for one in reversed(heard) if one.speaker_id == other), None)
            if cause is not None and abs(by) >= TURNS_IT:
                found.append(_point(cause, owner, other_id=other, by=by, emotion=emotion))
                emotion = None  # the line that shifted most has changed that too
        if heard and emotion is not None:
            found.append(_point(heard[-1], owner, emotion=emotion))
    return sorted(found, key=lambda point: (point.turn_number, point.owner_id))


def _perceived(turn: TurnRow, person_id: str) -> bool:
    return any(only is None or person_id in only for only in (turn.seen_by, turn.heard_by))


def _point(
    cause: TurnRow, owner_id: str, *, other_id: str | None = None, by: int | None = None, emotion: str | None = None
) -> TurningPoint:
    return TurningPoint(
        turn_number=cause.turn + 1,
        character_id=cause.speaker_id,
        line=" ".join(filter(None, (f"({cause.act})" if cause.act else "", cause.text))),
        owner_id=owner_id,
        other_id=other_id,
        by=by,
        emotion=emotion,
    )
