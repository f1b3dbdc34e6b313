"""Owns a scene's log: what happened in it as one value, whole or as one person perceived it, as JSON and as YAML.

Its shape is Project Anima's: `scene_info`, `interventions_in_scene`, `turns`. Turns count from 1. What it has besides
says who perceived a turn. And the report on it: how people felt from turn to turn, how they came to stand to each
other, and the lines that turned it, all counted from what was said; no model judges it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Literal

import yaml
from pydantic import BaseModel, Field
from sqlmodel import Session

from service.conversation.scenes import definition_of, staged
from service.conversation.transcript import turns_of
from service.conversation.turn_taking import interventions_in
from service.errors import NotFound
from service.locales import Language, sentence
from service.people.attitude import attitude_changes, bounded_affinity, sums_by_pair
from service.people.worlds import WorldView
from service.store.perception import is_there, perceivers
from service.store.phase import Loudness, Phase
from service.store.tables import AttitudeChangeRow, ConversationRow, InterventionRow, ParticipantRow, TurnRow
from world.time import WorldTime

TO_ALL = ("scene_situation_update", "add_event")
"""Kinds of interventions that whoever is there perceives."""


class SceneInfo(BaseModel):
    """Which scene it is, where, when and with whom."""

    scene_id: str = Field(description="the scene's id in this world", examples=["S001"])
    location: str = Field(description="where it plays, in words", examples=["A classroom"])
    time: str = Field(description="when it plays, in words", examples=["After school"])
    situation: str = Field(description="how things stood when it began", examples=["The sun is low."])
    participant_character_ids: list[str] = Field(description="all who were ever in it", examples=[["aoi", "npc_taro"]])


class InterventionLog(BaseModel):
    """Something that the writer did, or the scene's file."""

    applied_before_turn_number: int = Field(description="the turn from which on it holds", examples=[2])
    intervention_type: str = Field(description="what it is", examples=["SCENE_SITUATION_UPDATE"])
    target_character_id: str | None = Field(None, description="whom it concerns", examples=["aoi"])
    details: dict[str, object] = Field(description="its text, and what else it has", examples=[{"event": "A bell."}])


class TurnLog(BaseModel, from_attributes=True):
    """What somebody thought, did and said; null where it did not, or where nothing of it was perceived."""

    turn_number: int = Field(description="its turn, from 1", examples=[1])
    character_id: str = Field(description="whose turn it is", examples=["aoi"])
    character_name: str = Field(description="its name", examples=["Aoi"])
    think: str | None = Field(None, description="what it thinks; nobody else perceives it", examples=["She knows."])
    act: str | None = Field(None, description="what it does", examples=["turns to Taro"])
    talk: str | None = Field(None, description="what it says", examples=["What is the matter?"])
    emotion: str = Field(description="how it feels", examples=["worried"])
    loudness: Loudness = Field(Loudness.NORMAL, description="how loud the words are", examples=["normal"])
    addressed: list[str] | None = Field(None, description="to whom they are said; null: to all", examples=[["aoi"]])
    seen_by: list[str] = Field(description="who of the others sees the act", examples=[["npc_taro"]])
    heard_by: list[str] = Field(description="who of the others hears the words", examples=[["npc_taro"]])


class SceneLog(BaseModel):
    """A scene from its beginning to where it stands. `view`: as that person perceived it (null: all of it)."""

    scene_info: SceneInfo = Field(description="which scene it is")
    view: str | None = Field(None, description="whose view it is; null: the writer's", examples=["aoi"])
    interventions_in_scene: list[InterventionLog] = Field(description="what was done to it, in that order")
    turns: list[TurnLog] = Field(description="what was thought, done and said, in that order")


def scene_log(
    row: ConversationRow, turns: Sequence[TurnRow], interventions: Iterable[InterventionRow], place: str
) -> SceneLog:
    """The whole log; `place` is where it plays, in words."""
    definition = definition_of(row)
    return SceneLog(
        scene_info=SceneInfo(
            scene_id=row.scene_id or "",
            location=place,
            time=definition.time.of(row.language),
            situation=definition.situation.of(row.language),
            participant_character_ids=list(row.person_ids),
        ),
        interventions_in_scene=[
            InterventionLog(
                applied_before_turn_number=one.before_turn + 1,
                intervention_type=one.kind.upper(),
                target_character_id=one.target_id,
                details=one.details,
            )
            for one in interventions
        ],
        turns=[
            TurnLog(
                turn_number=turn.turn + 1,
                character_id=turn.speaker_id,
                character_name=turn.speaker_name,
                think=turn.think or None,
                act=turn.act or None,
                talk=turn.text or None,
                emotion=turn.emotion,
                loudness=Loudness(turn.loudness),
                addressed=turn.addressed,
                seen_by=perceivers(row, turn, turn.seen_by) if turn.act else [],
                heard_by=perceivers(row, turn, turn.heard_by) if turn.text else [],
            )
            for turn in turns
        ],
    )


def view_of(log: SceneLog, row: ConversationRow, person_id: str) -> SceneLog:
    """The log as a person who takes part perceived it: what it thought, did and said itself, what it saw and heard of
    others, what happened while it was there, and what was revealed to it alone.

    Raises:
        ValueError: the person takes no part.
    """
    me = row.participants[row.seat_of(person_id)]
    perceived = [turn for turn in log.turns if person_id in (turn.character_id, *turn.seen_by, *turn.heard_by)]
    return log.model_copy(
        update={
            "view": person_id,
            "interventions_in_scene": [one for one in log.interventions_in_scene if _reaches(one, me)],
            "turns": [turn if turn.character_id == person_id else _from_outside(turn, person_id) for turn in perceived],
        }
    )


def read_log(session: Session, world: WorldView, scene_id: str, view: str | None) -> SceneLog:
    """A scene's log, whole (`view` is None) or as that person perceived it.

    Raises:
        NotFound: there is no such scene, or nobody of that id in it.
    """
    row = staged(session, world.id, scene_id)
    place = row.place or world.map.label(row.node_id)
    log = scene_log(row, turns_of(session, row.key), interventions_in(session, row.key), place)
    if view is None:
        return log
    if view not in row.person_ids:
        raise NotFound(kind="person", id=view)
    return view_of(log, row, view)


def as_json(log: SceneLog) -> str:
    """The log as JSON."""
    return json.dumps(log.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"


def as_yaml(log: SceneLog) -> str:
    """The same as YAML."""
    return yaml.safe_dump(log.model_dump(mode="json"), allow_unicode=True, sort_keys=False, width=120)


def _from_outside(turn: TurnLog, person_id: str) -> TurnLog:
    """What of another's turn that person perceived; who else did is not its affair."""
    return turn.model_copy(
        update={
            "think": None,
            "act": turn.act if person_id in turn.seen_by else None,
            "talk": turn.talk if person_id in turn.heard_by else None,
            "addressed": turn.addressed if person_id in turn.heard_by else None,
            "seen_by": [],
            "heard_by": [],
        }
    )


def _reaches(one: InterventionLog, person: ParticipantRow) -> bool:
    kind = one.intervention_type.lower()
    if kind == "revelation":
        return one.target_character_id == person.person_id
    return kind in TO_ALL and is_there(person, one.applied_before_turn_number - 1)


Form = Literal["script", "text"]
"""Markdown, or plain text."""


def as_script(log: SceneLog, form: Form, language: Language, *, thoughts: bool = False) -> str:
    """The scene to be read. With `thoughts`, what people think stands in it too."""
    info = log.scene_info
    head = sentence(language, "scene_log.head", place=info.location, time=info.time).strip()
    marks = _MARKS[form]
    parts = [marks["title"].format(info.scene_id, head)]
    if info.situation:
        parts.append(marks["aside"].format(info.situation))
    done = list(log.interventions_in_scene)
    for turn in log.turns:
        while done and done[0].applied_before_turn_number <= turn.turn_number:
            parts += _happening(done.pop(0), marks)
        parts += _lines(turn, form, language, thoughts=thoughts)
    for one in done:
        parts += _happening(one, marks)
    return "\n\n".join(parts) + "\n"


_MARKS: dict[Form, dict[str, str]] = {
    "script": {"title": "# {} {}", "aside": "*{}*", "name": "**{}**"},
    "text": {"title": "{} {}", "aside": "    {}", "name": "{}"},
}


def _happening(one: InterventionLog, marks: dict[str, str]) -> list[str]:
    """What the readers of a script are told: how things stand, and what happens."""
    told = one.details.get("situation") or one.details.get("event")
    return [marks["aside"].format(told)] if told and one.intervention_type.lower() in TO_ALL else []


def _lines(turn: TurnLog, form: Form, language: Language, *, thoughts: bool) -> Iterator[str]:
    name, aside = _MARKS[form]["name"].format(turn.character_name), _MARKS[form]["aside"]
    if thoughts and turn.think:
        yield aside.format(sentence(language, "scene_log.thinks", name=turn.character_name, think=turn.think))
    if turn.act:
        yield aside.format(sentence(language, "scene_log.does", name=turn.character_name, act=turn.act))
    if turn.talk:
        how = "" if turn.loudness is Loudness.NORMAL else sentence(language, f"scene_log.{turn.loudness}")
        yield sentence(language, "scene_log.says", name=name, how=how, talk=turn.talk)


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


def read_report(session: Session, world: WorldView, scene_id: str) -> SceneReport:
    """The report on a scene, as far as it was played. Raises: NotFound."""
    row = staged(session, world.id, scene_id)
    names = {person_id: world.name_of(person_id) for person_id in row.person_ids}
    found = attitude_changes(session, world.id, WorldTime(row.ended_at or world.now), row.person_ids, row.person_ids)
    before = _affinities_by_pair(one for one in found if one.conversation_id is None or one.conversation_id < row.id)
    after = _affinities_by_pair(one for one in found if one.conversation_id is None or one.conversation_id <= row.id)
    is_closed = row.phase == Phase.CLOSED
    return scene_report(scene_id, row, turns_of(session, row.key), names, before, after if is_closed else None)


def _affinities_by_pair(changes: Iterable[AttitudeChangeRow]) -> dict[tuple[str, str], int]:
    """The affinity of each owner towards each other. Ids of conversations are in the order in which they began."""
    return {pair: attitude.affinity for pair, attitude in sums_by_pair(changes).items()}


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
