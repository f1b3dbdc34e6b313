"""Owns the checks of the pages' words."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from service.api.worlds import WorldState
from service.content.profile import Emotion, Importance, Mood
from service.locales import room
from service.runtime.world_session import DecidingBy as How
from service.store.event_kinds import PAYLOADS, RejectionReason, Stopped
from service.store.phase import EndReason, Phase
from service.web import pages
from world.actions import Reason as Refused

_HERE = Path(pages.__file__).parent
TEXTS = room("en", "web")


def test_every_text_a_script_or_template_asks_for_exists() -> None:
    scripts = "".join(path.read_text("utf-8") for path in (_HERE / "static").glob("*.js"))
    pages = "".join(path.read_text("utf-8") for path in (_HERE / "templates").glob("*.html"))
    asked = set(re.findall(r'\bt\("(\w+)"', scripts)) | set(re.findall(r"\bt\.(\w+)", pages))
    assert len(asked) > 60
    assert asked - set(TEXTS) == set()


def test_every_value_the_api_can_name_has_a_text() -> None:
    named: dict[str, Iterable[str]] = {
        "phase": list(Phase),
        "end": list(EndReason),
        "stopped": get_args(Stopped),
        "reason": list(RejectionReason),
        "mood": get_args(Mood),
        "state": get_args(WorldState),
        "importance": get_args(Importance),
        "why": list(Refused),
        "decides": get_args(How),
        "emotion": [emotion for emotion in get_args(Emotion) if emotion != "neutral"],
    }
    keys = {f"{kind}_{value}" for kind, values in named.items() for value in values}
    assert keys - set(TEXTS) == set()


def test_every_kind_of_event_has_a_text() -> None:
    assert {f"{text}_{payload.kind}" for payload in PAYLOADS for text in ("event", "kind")} - set(TEXTS) == set()


def test_no_text_is_left_over() -> None:
    """A text is asked for by its name, or by the first part of it and a value of the API: event_, phase_, …"""
    ours = [path for folder in ("static", "templates") for path in (_HERE / folder).iterdir() if path.is_file()]
    used = "".join(path.read_text("utf-8") for path in ours)
    built = tuple(re.findall(r"`(\w+_)\$\{", used))
    assert [key for key in TEXTS if not re.search(rf"\b{key}\b", used) and not key.startswith(built)] == []
