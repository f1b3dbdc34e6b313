"""Owns the words and steps the tests of checks share: a room that checks, and what a judge answers."""

from dataclasses import replace
from typing import Any

from service.conversation.dependencies import ConversationDependencies
from service.quality.checked import TurnChecks
from service.quality.checks import ASKED, CheckContext
from service.settings import QualitySettings
from service.store.quality import quality_rows
from service.store.tables import QualityRow
from service.store.usage import usage_rows


def checking(room: ConversationDependencies, **rules: Any) -> ConversationDependencies:
    """The same room, in which turns are checked: all of them, unless the rules say otherwise."""
    settings = QualitySettings(**{"share": "all", **rules})
    return replace(room, quality=TurnChecks(settings, room.models))


def marks(score: int = 9, reason: str = "It fits.", **others: tuple[int, str]) -> dict[str, Any]:
    """What a judge answers: that score for all, but for the `others`."""
    given = {name: {"reason": reason, "score": score} for name in ASKED}
    return given | {name: {"reason": why, "score": one} for name, (one, why) in others.items()}


def checked(room: ConversationDependencies, world_id: str = "main") -> list[QualityRow]:
    """What is kept of all checks, by time."""
    return room.database.read_now(lambda s: quality_rows(s, world_id))


def spent(room: ConversationDependencies, world_id: str = "main") -> dict[str, tuple[int, int]]:
    """Calls and failures by what they were for."""
    rows = room.database.read_now(lambda s: usage_rows(s, world_id))
    return {row.role: (row.calls, row.failures) for row in rows}


def judged(given: object) -> CheckContext:
    """What the judge was asked from."""
    assert isinstance(given, CheckContext)
    return given
