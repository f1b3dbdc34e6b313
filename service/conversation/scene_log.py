"""Owns a scene's log: what happened in it as one value, whole or as one person perceived it, as JSON and as YAML.

Its shape is Project Anima's: `scene_info`, `interventions_in_scene`, `turns`. Turns count from 1. What it has besides
says who perceived a turn.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import yaml
from pydantic import BaseModel, Field

from service.locales import Language, sentence
from service.store.perceived import is_there, perceives
from service.store.phase import Loudness
from service.store.tables import ConversationRow, InterventionRow, ParticipantRow, SceneRow, TurnRow

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
    scene: SceneRow,
    row: ConversationRow,
    turns: Sequence[TurnRow],
    interventions: Iterable[InterventionRow],
    place: str,
) -> SceneLog:
    """The whole log; `place` is where it plays, in words."""
    return SceneLog(
        scene_info=SceneInfo(
            scene_id=scene.id,
            location=place,
            time=str(scene.definition.get("time") or ""),
            situation=str(scene.definition.get("situation") or ""),
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
        turns=[_turn(row, turn) for turn in turns],
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


def as_json(log: SceneLog) -> str:
    """The log as JSON."""
    return json.dumps(log.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"


def as_yaml(log: SceneLog) -> str:
    """The same as YAML."""
    return yaml.safe_dump(log.model_dump(mode="json"), allow_unicode=True, sort_keys=False, width=120)


def _turn(row: ConversationRow, turn: TurnRow) -> TurnLog:
    def others(only: Sequence[str] | None) -> list[str]:
        people = (one for one in row.participants if one.person_id != turn.speaker_id)
        return [one.person_id for one in people if perceives(one, turn.turn, turn.speaker_id, only)]

    return TurnLog(
        turn_number=turn.turn + 1,
        character_id=turn.speaker_id,
        character_name=turn.speaker_name,
        think=turn.think or None,
        act=turn.act or None,
        talk=turn.text or None,
        emotion=turn.emotion,
        loudness=Loudness(turn.loudness),
        addressed=turn.addressed,
        seen_by=others(turn.seen_by) if turn.act else [],
        heard_by=others(turn.heard_by) if turn.text else [],
    )


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
