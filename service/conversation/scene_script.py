"""Owns a scene's log as a script that a writer takes away: Markdown, and plain text for a word processor."""

from collections.abc import Iterator
from typing import Literal

from service.conversation.scene_log import TO_ALL, InterventionLog, SceneLog, TurnLog
from service.locales import Language, sentence
from service.store.phase import Loudness

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
