"""Owns the tests of the feed, the ledger and the panel of a run: what happens in words, in both languages."""

from typing import Any

import pytest
from rich.console import Console
from sqlmodel import Session

from service.content.load import Content
from service.locales import Language
from service.people.worlds import WorldRepository, WorldView
from service.settings import WorldSettings
from service.store.tables import ConversationRow, EventRow, TurnRow, WorldRow
from studio.terminal.feed import Ledger, StoryEvent
from studio.terminal.show import Status, panel
from tests.store.conversations import conversation_row
from world.time import MINUTES_PER_DAY, WorldTime, parse_time

NOW = parse_time("2026-04-01T07:30")


def opened(village: Content, language: Language) -> WorldView:
    row = WorldRow(id="main", language=language, started_at=NOW, now=NOW)
    return WorldRepository(village, WorldSettings()).as_world(Session(), row)


def happened(kind: str, data: dict[str, Any], person_id: str | None = "aoi", at: int = NOW, **more: Any) -> StoryEvent:
    return StoryEvent(event=EventRow(world_id="main", id=1, at=at, kind=kind, person_id=person_id, data=data), **more)


def talk(**more: Any) -> ConversationRow:
    return conversation_row(
        **{
            "id": "a1",
            "world_id": "main",
            "character_id": "aoi",
            "npc_id": "npc_taro",
            "node_id": "quay",
            "language": "en",
            "max_turns": 9,
            "phase": "closed",
            "started_at": NOW,
            **more,
        }
    )


def turn(text: str) -> TurnRow:
    return TurnRow(
        world_id="main",
        conversation_id="a1",
        turn=0,
        speaker_id="aoi",
        speaker_name="Aoi",
        text=text,
        emotion="neutral",
        at=NOW,
        model="m",
        calls=1,
        prompt_tokens=1,
        completion_tokens=1,
        duration_ms=1,
    )


FAILED = {"action_id": "talk", "target_id": "npc_taro", "reason": "busy"}
STARTED = {"action_id": "work", "node_id": "inn", "until": "2026-04-01T08:30"}
EXPIRED = {"content": "Bring a letter", "importance": "low"}
CLOSED = {"conversation_id": "a1", "partner_id": "npc_taro"}
ENDED = {"conversation_id": "a1", "partner_id": "npc_taro", "reason": "model_failure", "goal_achieved": False}


DEPARTED = {"from_node_id": "inn", "to_node_id": "quay", "arrives_at": "2026-04-01T08:10"}


def test_hours_are_counted_by_action_and_split_where_a_day_begins(village: Content) -> None:
    ledger = Ledger(opened(village, "en"), NOW)
    ledger.take(happened("activity_ended", {"action_id": "work", "because": "done"}, at=NOW + 30))
    ledger.take(happened("departed", DEPARTED, at=NOW + 30))
    ledger.take(happened("arrived", {"node_id": "quay"}, at=NOW + 40))
    ledger.take(happened("conversation_started", {**CLOSED, "partner_id": "mio", "node_id": "quay"}, at=NOW + 40))
    ledger.take(happened("conversation_ended", ENDED | {"partner_id": "mio"}, at=NOW + 45))
    ledger.take(happened("activity_started", {**STARTED, "action_id": "sleep"}, at=NOW + 900))
    ledger.finish(WorldTime(NOW + 1100))
    first, second = (ledger.days["aoi"][NOW // MINUTES_PER_DAY + n].minutes for n in (0, 1))
    assert dict(first) == {"work": 30, "walk": 10, "talk": 5, "sleep": 90}
    assert dict(second) == {"sleep": 110}
    assert sum(ledger.days["mio"][NOW // MINUTES_PER_DAY].minutes.values()) == 5


@pytest.mark.parametrize("width", [20, 80])
def test_the_panel_never_runs_over_a_line_and_shows_the_end_of_what_is_said(width: int) -> None:
    console = Console(width=width, force_terminal=True, color_system=None)
    status = Status(line="4月1日(水) 7:30 " + "進" * 60, done=0.5, speaking=["葵「" + "潮" * 90 + "おわり"])
    with console.capture() as shown:
        console.print(panel(status, width))
    lines = shown.get().splitlines()
    assert len(lines) == 4
    assert "おわり" in lines[1]
    assert lines[2].count("#") == min(width, 60) // 2
    assert all(console.measure(line).maximum <= width for line in lines)
