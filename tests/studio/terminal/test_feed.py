"""Owns the tests of the feed, the ledger and the panel of a run: what happens in words, in both languages."""

from typing import Any, get_args

import pytest
from rich.console import Console
from sqlmodel import Session

from service.content.load import Content
from service.locales import Language, languages, room
from service.people.worlds import WorldRepository, WorldView
from service.public.events import StoryEvent
from service.public.talk import Talk
from service.settings import WorldSettings
from service.store.tables import EventRow, SummaryRow, TurnRow, WorldRow
from service.store.usage import Purpose
from service.usage import Usage
from studio.terminal.cost import money_of, spent_on
from studio.terminal.feed import Feed, Ledger, RunResult, summary
from studio.terminal.show import Status, panel
from tests.store.conversations import conversation_row
from world.time import MINUTES_PER_DAY, WorldTime, parse_time

NOW = parse_time("2026-04-01T07:30")


def opened(village: Content, language: Language) -> WorldView:
    row = WorldRow(id="main", language=language, started_at=NOW, now=NOW)
    return WorldRepository(village, WorldSettings()).as_world(Session(), row)


def happened(kind: str, data: dict[str, Any], person_id: str | None = "aoi", at: int = NOW, **more: Any) -> StoryEvent:
    return StoryEvent(event=EventRow(world_id="main", id=1, at=at, kind=kind, person_id=person_id, data=data), **more)


def talk(*turns: TurnRow, failure: str | None = None, **more: Any) -> Talk:
    row = conversation_row(
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
    return Talk(row=row, turns=turns, failure=failure)


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


THOUGHT = {"action_id": "work", "node_id": "inn", "by": "model", "thought": "Off\nI go.\x1b[31m"}
FAILED = {"action_id": "talk", "target_id": "npc_taro", "reason": "busy"}
BLOCK = {"starts": "08:00", "activity": "tea", "facility_id": None, "action_id": None}
STARTED = {"action_id": "work", "node_id": "inn", "until": "2026-04-01T08:30"}
EXPIRED = {"content": "Bring a letter", "importance": "low"}
ANNOUNCED = {"text": "Festival", "until": "2026-04-02T00:00"}
CLOSED = {"conversation_id": "a1", "partner_id": "npc_taro"}
NOT_SAVED = {"conversation_id": "a1", "partner_id": "npc_taro", "error": "e"}
REJECTED = {"conversation_id": "a1", "statement": "x", "reason": "not_perceived", "turn": 1}
ENDED = {"conversation_id": "a1", "partner_id": "npc_taro", "reason": "model_failure", "goal_achieved": False}


@pytest.mark.parametrize(
    ("kind", "data", "en", "ja"),
    [
        ("decided", THOUGHT, "Aoi decides: Work — Off I go.[31m", "葵は決めた: 働く――Off I go.[31m"),
        ("decided", {**THOUGHT, "by": "fallback", "failure": "model-timeout"}, "model-timeout", "model-timeout"),
        (
            "decided",
            {**THOUGHT, "failure": "model-broken", "failed_call": "plan"},
            "when it planned: model-broken",
            "予定を立てるときにモデルが失敗したため",
        ),
        ("planned", {"blocks": [BLOCK]}, "plans the day: 08:00 tea", "08:00 tea"),
        ("activity_ended", {"action_id": "work", "because": "cut"}, "stops: Work (spoken to)", "話しかけられた"),
        ("activity_started", STARTED, "until 08:30", "08:30 まで"),
        ("action_failed", FAILED, "Talk: Taro", "太郎"),
        ("slept", {"cleared": 2}, "put away: 2", "2 件"),
        ("memory_expired", EXPIRED, "lets go of: Bring a letter", "Bring a letter"),
        ("announced", ANNOUNCED, "Announced: Festival", "お知らせ: Festival"),
        ("weather", {"weather": "rain"}, "Weather: rain", "天気: rain"),
        ("observed", {"text": "Fire!", "seen_by": ["aoi"]}, "Seen: Fire!", "見た: Fire!"),
        ("closing_failed", NOT_SAVED, "could not be", "記憶"),
        ("fact_rejected", REJECTED, "Not kept of Aoi", "不採用"),
        ("forgot", {}, "Aoi: forgot", "葵: forgot"),
    ],
)
def test_every_event_is_a_line_with_its_time_in_both_languages(
    village: Content, kind: str, data: dict[str, Any], en: str, ja: str
) -> None:
    told = happened(kind, data, talk=talk() if "conversation_id" in data else None)
    for language, words in (("en", en), ("ja", ja)):
        (line,) = Feed(opened(village, "ja" if language == "ja" else "en"), ["aoi"]).lines(told)
        assert line.startswith("07:30  ")
        assert words in line
        assert "\x1b" not in line
        assert "\n" not in line


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_talk_that_is_over_is_told_whole_and_what_its_model_failed_of(village: Content, language: Language) -> None:
    failure = {"en": "it timed out", "ja": "時間切れ"}[language]
    failed = talk(turn("Good\nmorning."), failure=failure, goal="Hear of the boat")
    told = happened("conversation_ended", ENDED, talk=failed)
    head, said, over = Feed(opened(village, language), ["aoi"]).lines(told)
    assert "Hear of the boat" in head
    assert "Good morning." in said
    assert {"en": "the model failed: it timed out", "ja": "モデルが失敗した: 時間切れ"}[language] in over


def test_what_a_character_remembers_is_its_own_summary(village: Content) -> None:
    rows = tuple(
        SummaryRow(
            conversation_id="a1",
            person_id=who,
            world_id="main",
            partner_id="x",
            summary=f"as {who}",
            at=NOW,
            revision=0,
        )
        for who in ("mio", "aoi")
    )
    told = happened("conversation_closed", CLOSED, talk=talk(), summaries=rows)
    assert Feed(opened(village, "en"), ["aoi"]).lines(told) == ["07:30  Aoi remembers: as aoi"]


def test_who_is_not_followed_is_told_of_only_with_somebody_who_is(village: Content) -> None:
    feed = Feed(opened(village, "en"), ["mio"])
    assert feed.lines(happened("slept", {"cleared": 0})) == []
    met = {"conversation_id": "a1", "partner_id": "mio", "node_id": "quay"}
    assert feed.lines(happened("conversation_started", met, talk=talk(npc_id="mio"))) != []
    assert feed.lines(happened("day_began", {"day": "2026-04-01"}, None)) == ["", "— Wed 1 Apr, 7:30 —"]


def test_what_a_routine_decides_and_what_simply_is_done_needs_no_line(village: Content) -> None:
    feed = Feed(opened(village, "en"), ["aoi"])
    for by in ("routine", "plan"):
        assert feed.lines(happened("decided", {"action_id": "work", "node_id": "inn", "by": by, "thought": ""})) == []
    assert feed.lines(happened("activity_ended", {"action_id": "work", "because": "done"})) == []


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


def test_what_took_a_few_minutes_is_told_in_minutes_and_what_took_none_is_not_told(village: Content) -> None:
    world, ledger = opened(village, "en"), Ledger(opened(village, "en"), NOW)
    ledger.days["aoi"][NOW // MINUTES_PER_DAY].minutes.update({"work": 90, "walk": 6, "talk": 2, "sleep": 0})
    result = RunResult(world=world, since=NOW, ledger=ledger, deciding=(), needs={}, spent={}, seconds=1.0)
    (did,) = (line for line in summary(result) if "did:" in line)
    assert [word for word in did.split() if word in ("1.5", "0.1", "2", "h,", "min")] == [
        "1.5",
        "h,",
        "0.1",
        "h,",
        "2",
        "min",
    ]


def test_of_two_characters_each_learns_what_it_learned(village: Content) -> None:
    changes = {
        "facts": [{"statement": "Mio sings."}],
        "mid_term": [],
        "partner": {"facts": [], "mid_term": [{"content": "Visit Aoi"}]},
    }
    rows = tuple(
        SummaryRow(conversation_id="a1", person_id=a, world_id="main", partner_id=b, summary="s", at=NOW, revision=0)
        for a, b in (("aoi", "mio"), ("mio", "aoi"))
    )
    ledger = Ledger(opened(village, "en"), NOW)
    row = talk(npc_id="mio", changes=changes)
    ledger.take(happened("conversation_closed", CLOSED, talk=row, summaries=rows))
    aoi, mio = (ledger.days[who][NOW // MINUTES_PER_DAY] for who in ("aoi", "mio"))
    assert (aoi.learned, aoi.mid_term, aoi.talks[0][1].partner_id) == (["Mio sings."], [], "mio")
    assert (mio.learned, mio.mid_term, mio.talks[0][1].partner_id) == ([], ["Visit Aoi"], "aoi")


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


def test_money_is_what_the_tokens_cost() -> None:
    assert [money_of(spent_on(Usage(calls=3, money=money))) for money in (1.6, 0.002, 0.0)] == ["1.60", "0.0020", ""]


def test_whatever_calls_are_counted_for_has_a_name_in_the_cost_of_a_run() -> None:
    purposes = {name for one in get_args(Purpose) for name in (get_args(one) or (one,))}
    assert {"character", "attitude", "survey", "quality"} < purposes
    for language in languages():
        assert purposes < set(room(language, "run.roles")), language
