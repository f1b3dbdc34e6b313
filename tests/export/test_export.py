"""Owns the tests of exports: what is read back is the same story, and what is no story is told with its line."""

import io
import json
import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlmodel import Session, func, select

from service.content.files import bundled_content
from service.content.load import load_content
from service.errors import BadLine, FileUnusable, Misconfigured, NoSuchTime, NoSuchWorld, NothingThen, WorldHasLived
from service.export.files import export_into, export_to, import_from, span_of
from service.export.story import StorySpan
from service.locales import Language
from service.memory.episodes import NOTHING, overhear, read_turns
from service.memory.record import Group
from service.people.worlds import WorldRepository
from service.settings import Settings, WorldSettings
from service.store.phase import ClockPolicy
from service.store.session import Database, DataLock
from service.store.tables import ConversationRow, EventRow, SummaryRow, WorldRow
from tests.export.stories import BEGUN, NOW, STORIES, tell
from tests.memory.whispers import seat
from tests.servers.sqlite import put_migrated
from tests.store.conversations import main
from world.ids import SLUG, SLUG_MAX
from world.time import WorldTime

NAMES: dict[Language, str] = {"en": "Shione", "ja": "汐音"}
TALK: dict[str, Any] = {
    "character_id": "aoi",
    "npc_id": "npc_taro",
    "node_id": "quay",
    "language": "en",
    "max_turns": 10,
    "phase": "closed",
    "end_reason": "wants_to_end",
    "started_at": BEGUN + 10,
    "ended_at": BEGUN + 12,
    "closed_at": BEGUN + 12,
    "models": {"npc": "rehearsal"},
}
TURN: dict[str, Any] = {
    "speaker_id": "aoi",
    "speaker_name": "葵",
    "text": "潮が引く前に。",
    "emotion": "neutral",
    "at": BEGUN + 10,
    "model": "rehearsal",
    "calls": 1,
    "prompt_tokens": 9,
    "completion_tokens": 3,
    "duration_ms": 4,
}
STORY: dict[str, Any] = {
    "events": [
        {"at": BEGUN + 1, "kind": "arrived", "person_id": "aoi", "data": {"node_id": "quay"}},
        {
            "at": BEGUN + 10,
            "kind": "conversation_closed",
            "person_id": "aoi",
            "data": {"conversation_id": "a1", "partner_id": "npc_taro"},
        },
        {"at": BEGUN + 2000, "kind": "day_began", "person_id": None, "data": {"day": "2026-04-02"}},
    ],
    "conversations": {"a1": (TALK, [TURN], {"aoi": ("They spoke of the tide.", BEGUN + 12)})},
}


def own(directory: Path) -> Settings:
    return Settings(_env_file=None, data_dir=directory)


def at(directory: Path) -> Database:
    return Database(f"sqlite:///{directory / 'kataribe.db'}")


def told(settings: Settings, world_id: str = "main", span: StorySpan | None = None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported(settings, world_id, span).splitlines()]


def exported(settings: Settings, world_id: str = "main", span: StorySpan | None = None) -> bytes:
    out = io.BytesIO()
    export_into(settings, world_id, NAMES, span or StorySpan(), out)
    return out.getvalue()


def lived(directory: Path, story: dict[str, Any]) -> Settings:
    """A data directory in which the story has happened."""
    put_migrated(directory / "kataribe.db")
    database = at(directory)
    database.write_now(lambda s: tell(s, story))
    database.close()
    return own(directory)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return lived(tmp_path / "data", STORY)


def test_a_story_is_a_header_and_the_rows_table_by_table(settings: Settings) -> None:
    header, *lines = told(settings)
    assert header == {
        "type": "kataribe",
        "version": 5,
        "world_id": "main",
        "name": "汐音",
        "language": "ja",
        "from": "2026-04-01T07:00",
        "to": "2026-04-03T09:00",
    }
    assert [line["table"] for line in lines] == [
        "conversations",
        "participants",
        "participants",
        "turns",
        "summaries",
        "events",
        "events",
        "events",
    ]
    talk, *people, turn, summary = (line["row"] for line in lines[:5])
    assert (talk["id"], talk["started_at"]) == ("a1", BEGUN + 10)
    assert [one["person_id"] for one in people] == ["aoi", "npc_taro"]
    assert (turn["turn"], turn["text"]) == (0, "潮が引く前に。")
    assert summary["summary"] == "They spoke of the tide."
    assert [line["row"]["kind"] for line in lines[5:]] == ["arrived", "conversation_closed", "day_began"]


def of_table(lines: list[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    """The rows of the table."""
    return [line["row"] for line in lines[1:] if line["table"] == table]


def changed(lines: list[dict[str, Any]], table: str, **fields: Any) -> list[dict[str, Any]]:
    """The lines, each row of that table with these fields."""
    return [{**line, "row": {**line["row"], **fields}} if line["table"] == table else line for line in lines]


@hypothesis_settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=STORIES, same_store=st.booleans())
def test_what_is_read_back_is_written_the_same_but_for_the_world(
    tmp_path_factory: pytest.TempPathFactory, story: dict[str, Any], same_store: bool
) -> None:
    first, second = (tmp_path_factory.mktemp("store") for _ in range(2))
    for directory in (first, second):
        put_migrated(directory / "kataribe.db")
    database = at(first)
    database.write_now(lambda s: tell(s, story))
    database.close()
    file = first / "story.jsonl"
    export_to(own(first), "main", NAMES, StorySpan(), file)
    target = own(first if same_store else second)
    read = import_from(target, "other", file)
    before, after = file.read_bytes(), exported(target, "other")
    assert read.events == len(story["events"])
    assert read.conversations == len([talk for talk, *_ in story["conversations"].values() if is_told(talk)])
    assert after == before.replace(b'"world_id": "main"', b'"world_id": "other"', 1)
    assert exported(own(first)) == before


def is_told(talk: dict[str, Any]) -> bool:
    """Not one that the living world ends in the very minute the clock shows."""
    over_at = talk["ended_at"] if talk["closed_at"] is None else talk["closed_at"]
    return bool(over_at < NOW or talk["clock_policy"] == ClockPolicy.NONE)


def test_a_world_that_is_read_in_has_the_flags_of_its_story(tmp_path: Path) -> None:
    set_twice: list[dict[str, Any]] = [{"bell_id": "no slug", "storm": True, "stage": 1}, {"storm": None, "stage": 2}]
    events = [
        {
            "at": BEGUN,
            "kind": "flags",
            "person_id": None,
            "data": {"flags": [{"name": n, "value": v} for n, v in one.items()]},
        }
        for one in set_twice
    ]
    settings = lived(tmp_path / "data", {**STORY, "events": events})
    export_to(settings, "main", NAMES, StorySpan(), tmp_path / "story.jsonl")
    import_from(settings, "other", tmp_path / "story.jsonl")
    database = at(settings.data_dir)
    assert database.read_now(lambda s: s.get_one(WorldRow, "other").flags) == {"bell_id": "no slug", "stage": 2}
    database.close()


def picture(directory: Path) -> dict[str, list[dict[str, Any]]]:
    database = at(directory)
    picture = database.read_now(
        lambda s: {
            table.__name__: [
                row.model_dump(exclude={"id"} if table is EventRow else None) for row in s.exec(select(table)).unique()
            ]
            for table in (WorldRow, EventRow, ConversationRow)
        }
    )
    database.close()
    return picture


def test_a_day_is_what_lies_between_its_beginning_and_its_end(settings: Settings, tmp_path: Path) -> None:
    day = span_of("2026-04-01", None, None, day_starts=0)
    header, *lines = told(settings, span=day)
    assert (header["from"], header["to"]) == ("2026-04-01T07:00", "2026-04-02T00:00")
    assert Counter(line["table"] for line in lines) == {
        "conversations": 1,
        "participants": 2,
        "turns": 1,
        "summaries": 1,
        "events": 2,
    }
    export_to(settings, "main", NAMES, day, tmp_path / "day.jsonl")
    import_from(settings, "day", tmp_path / "day.jsonl")
    assert told(settings, "day")[1:] == lines
    rest = told(settings, span=span_of(None, "2026-04-02", None, day_starts=0))
    assert [line["row"].get("kind") for line in rest[1:]] == ["day_began"]


def test_what_is_worked_out_ahead_and_talks_that_are_not_over_are_left_out(tmp_path: Path) -> None:
    story = {
        "events": [],
        "conversations": {
            "a1": ({**TALK, "phase": "running", "ended_at": None, "closed_at": None}, [TURN], {}),
            "a2": ({**TALK, "started_at": NOW + 5, "ended_at": NOW + 9, "closed_at": NOW + 9}, [TURN], {}),
            "a4": ({**TALK, "clock_policy": "minute", "talk_id": "t", "ended_at": NOW, "closed_at": NOW}, [TURN], {}),
            "a3": ({**TALK, "phase": "closing_failed", "closed_at": None}, [TURN], {}),
        },
    }
    lines = told(lived(tmp_path, story))
    assert [row["id"] for row in of_table(lines, "conversations")] == ["a3"]
    assert [row["conversation_id"] for row in of_table(lines, "turns")] == ["a3"]


def test_a_world_that_is_served_can_be_exported_but_not_imported_into(settings: Settings, tmp_path: Path) -> None:
    export_to(settings, "main", NAMES, StorySpan(), tmp_path / "story.jsonl")
    lock = DataLock(settings.data_dir)
    try:
        assert len(told(settings)) == 9
        with pytest.raises(Misconfigured, match="in use by another process"):
            import_from(settings, "other", tmp_path / "story.jsonl")
    finally:
        lock.close()


def test_a_world_that_has_lived_is_not_written_over(settings: Settings, tmp_path: Path) -> None:
    export_to(settings, "main", NAMES, StorySpan(), tmp_path / "story.jsonl")
    before = exported(settings)
    with pytest.raises(WorldHasLived):
        import_from(settings, "main", tmp_path / "story.jsonl")
    import_from(settings, "other", tmp_path / "story.jsonl")
    with pytest.raises(WorldHasLived) as again:
        import_from(settings, "other", tmp_path / "story.jsonl")
    assert "other" in again.value.sentence("ja")
    assert exported(settings) == before


def test_a_story_read_in_beside_others_has_ids_that_the_service_takes(settings: Settings, tmp_path: Path) -> None:
    header, *lines = told(settings)
    long = changed(lines, "conversations", id="a" * 48)
    for table in ("participants", "turns", "summaries"):
        long = changed(long, table, conversation_id="a" * 48)
    import_from(settings, "w" * 64, write(tmp_path, header, *long))
    database = at(settings.data_dir)
    ids = database.read_now(lambda s: s.exec(select(ConversationRow.id)).all())
    database.close()
    assert sorted(ids) == sorted(["a1", "a" * 48])
    assert all(len(one) <= SLUG_MAX and re.fullmatch(SLUG, one) for one in ids)
    assert told(settings, "w" * 64)[1:] == long


DECIDED = {"action_id": "work", "node_id": "inn"}


def test_half_a_letter_of_a_model_does_not_stop_an_export(tmp_path: Path) -> None:
    thought = {"at": BEGUN, "kind": "decided", "person_id": "aoi", "data": {**DECIDED, "thought": "\ud83d…"}}
    settings = lived(tmp_path / "data", {"events": [thought], "conversations": {}})
    export_to(settings, "main", NAMES, StorySpan(), tmp_path / "story.jsonl")
    import_from(settings, "other", tmp_path / "story.jsonl")
    assert told(settings, "other")[1]["row"]["data"] == {**DECIDED, "thought": "\ud83d…"}


HEADER = '{"type":"kataribe","version":5,"world_id":"main","name":"S","language":"en","from":"2026-04-01T07:00","to":"2026-04-02T07:00"}'  # noqa: E501
AT = f'"at":{BEGUN + 60}'
EVENT = f'{{"table":"events","row":{{"id":1,{AT},"kind":"slept","person_id":"aoi","data":{{"cleared":1}}}}}}'


@pytest.mark.parametrize(
    ("lines", "line", "en", "ja"),
    [
        ([], 1, "no JSON", "JSON"),
        (["[]"], 1, "no JSON object", "オブジェクト"),
        ([EVENT], 1, "no export of Kataribe", "語り部"),
        ([HEADER.replace('"version":5', '"version":6')], 1, "version 6", "版 6"),
        ([HEADER.replace('"version":5', '"version":4')], 1, "an export of version 4", "版 4 の書き出し"),
        ([HEADER.replace('"language":"en"', '"language":"fr"')], 1, "language", "language"),
        ([HEADER.replace('"to":"2026-04-02T07:00"', '"to":"2026-03-02T07:00"')], 1, "later than", "より後"),
        ([HEADER.replace('"name":"S",', "")], 1, "name is missing", "name がありません"),
        ([HEADER, EVENT, "{"], 3, "no JSON", "JSON"),
        ([HEADER, EVENT, ""], 3, "no JSON", "JSON"),
        ([HEADER, EVENT.replace("slept", "sneezed")], 2, "kind 'sneezed'", "kind 'sneezed'"),
        ([HEADER, EVENT.replace("cleared", "clear")], 2, "cleared is missing", "cleared がありません"),
        ([HEADER, EVENT.replace("events", "dreams")], 2, "'dreams'", "'dreams'"),
        ([HEADER, EVENT.replace('"events"', "[]")], 2, "table: found", "table: "),
        ([HEADER, EVENT.replace(AT, '"at":"8"')], 2, "at: found", "at: "),
        ([HEADER.replace("T07:00", "T7")], 1, "world time", "世界の時刻"),
        ([HEADER, EVENT.replace(AT, f'"at":{NOW}')], 2, "from and to", "from と to"),
        ([HEADER, EVENT.replace('"data":{"cleared":1}', '"data":[]')], 2, "an object", "オブジェクト"),
        ([HEADER, EVENT.replace('"data":{"cleared":1}', '"data":{"x":NaN}')], 2, "NaN", "NaN"),
        ([HEADER, EVENT.replace('"data":{"cleared":1}', '"data":{"x":1e999}')], 2, "1e999", "1e999"),
        ([HEADER.replace('"main"', '"a b"')], 1, "world_id: found", "world_id: "),
        (
            [HEADER, EVENT.replace('"aoi"', '"aoi--mio"')],
            2,
            'person_id: found "aoi--mio"; expected an id',
            "64 文字以内のid",
        ),
        ([HEADER, EVENT.replace('"aoi"', '"../aoi"')], 2, "person_id: found", "person_id: "),
        ([HEADER, EVENT.replace('"aoi"', f'"{"a" * 65}"')], 2, "person_id: found", "person_id: "),
        ([HEADER, EVENT.replace('"aoi"', '"aoi\\n"')], 2, "person_id: found", "person_id: "),
        ([HEADER, EVENT.replace('{"cleared":1}', '{"npc_id":"葵"}')], 2, 'data.npc_id: found "葵"', "data.npc_id: "),
        (
            [HEADER, EVENT.replace('{"cleared":1}', '{"blocks":[{"action_id":""}]}')],
            2,
            "data.blocks[0].action_id",
            "action_id: ",
        ),
        ([HEADER, EVENT.replace('"aoi"', '"\\u0000"')], 2, "person_id", "person_id"),
        ([HEADER, EVENT.replace('"aoi"', '"\\ud800"')], 2, "person_id", "person_id"),
        ([HEADER, EVENT.replace('"data"', '"more":1,"data"')], 2, "more is not known", "more"),
        ([HEADER, '{"table":"events"}'], 2, "is missing", "がありません"),
        ([HEADER, '{"table":"events","row":{}}'], 2, "is missing", "がありません"),
        ([HEADER, '{"type":"event","table":"events","row":{}}'], 2, "type is not known", "type"),
        ([HEADER, EVENT, EVENT[: len(EVENT) // 2]], 3, "no JSON", "JSON"),
        ([HEADER, "[" * 100_000], 2, "no JSON", "JSON"),
        ([HEADER, "\ufeff"], 2, "no JSON", "JSON"),
    ],
)
def test_a_line_that_is_none_is_told_with_its_number_and_nothing_is_kept(
    tmp_path: Path, lines: list[str], line: int, en: str, ja: str
) -> None:
    put_migrated(tmp_path / "kataribe.db")
    file = tmp_path / "story.jsonl"
    file.write_text("".join(f"{text}\n" for text in lines), encoding="utf-8")
    with pytest.raises(BadLine) as bad:
        import_from(own(tmp_path), "main", file)
    assert f"line {line}:" in bad.value.sentence("en")
    assert f"{line} 行目" in bad.value.sentence("ja")
    assert en in bad.value.sentence("en")
    assert ja in bad.value.sentence("ja")
    assert rows_of(tmp_path) == (0, 0, 0)


@pytest.mark.parametrize(
    ("table", "spoilt", "en"),
    [
        ("conversations", {"id": "a1.b"}, 'id: found "a1.b"; expected an id of letters'),
        ("conversations", {"id": "a" * 65}, "id: found"),
        ("conversations", {"started_at": "5"}, "started_at: found"),
        ("conversations", {"runner": "me"}, "runner is not known"),
        ("participants", {"person_id": "aoi/mio"}, 'person_id: found "aoi/mio"; expected an id'),
        ("participants", {"conversation_id": "a2"}, "cannot stand there"),
        ("turns", {"speaker_id": "a b"}, "speaker_id: found"),
        ("turns", {"turn": None}, "turn: found"),
        ("turns", {"text": "\0"}, "text that can be written down"),
        ("turns", {"text": "\ud800"}, "text that can be written down"),
        ("summaries", {"partner_id": "a--b"}, "partner_id: found"),
        ("summaries", {"topics": {}}, "topics: found"),
    ],
)
def test_a_row_that_is_none_is_told(
    settings: Settings, tmp_path: Path, table: str, spoilt: dict[str, Any], en: str
) -> None:
    header, *lines = told(settings)
    number = [line["table"] for line in lines].index(table) + 2
    with pytest.raises(BadLine, match=f"line {number}:") as bad:
        import_from(settings, "other", write(tmp_path, header, *changed(lines, table, **spoilt)))
    assert en in bad.value.sentence("en")
    assert is_unknown(settings, "other")


MIKA: dict[str, Any] = {
    "person_id": "mika",
    "kind": "player",
    "profile": '{"name": {"en": "Mika", "ja": "ミカ"}}',
    "removed": False,
}


def test_a_person_that_is_none_is_told(settings: Settings, tmp_path: Path) -> None:
    header, *_ = told(settings)
    for spoilt, en in (
        ({"profile": '{"nmae": "x"}'}, 'did you mean "name"'),
        ({"profile": "{"}, "no JSON"),
        ({"kind": "ghost"}, "kind"),
        ({"person_id": "a/b"}, "id"),
    ):
        with pytest.raises(BadLine, match="line 2") as bad:
            import_from(settings, "other", write(tmp_path, header, {"table": "made_people", "row": {**MIKA, **spoilt}}))
        assert en in bad.value.sentence("en")
        assert is_unknown(settings, "other")


def is_unknown(settings: Settings, world_id: str) -> bool:
    """Nothing of the world was kept."""
    database = at(settings.data_dir)
    row = database.read_now(lambda s: s.get(WorldRow, world_id))
    database.close()
    return row is None


def test_nothing_may_be_there_twice(settings: Settings, tmp_path: Path) -> None:
    header, *lines = told(settings)
    for number, line in enumerate(lines, 3):
        twice = [*lines[: number - 2], line, *lines[number - 2 :]]
        with pytest.raises(BadLine, match=rf"line {number}: .*a second one"):
            import_from(settings, "other", write(tmp_path, header, *twice))
    assert is_unknown(settings, "other")


def write(directory: Path, *lines: dict[str, Any]) -> Path:
    file = directory / "spoilt.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    return file


def rows_of(directory: Path) -> tuple[int, ...]:
    database = at(directory)

    def count(session: Session) -> tuple[int, ...]:
        tables = (WorldRow, EventRow, ConversationRow)
        return tuple(session.exec(select(func.count()).select_from(table)).one() for table in tables)

    counts = database.read_now(count)
    database.close()
    return counts


def test_a_world_that_is_not_there_is_told_and_nothing_is_made(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(NoSuchWorld, match="nowhere"):
        exported(settings, "nowhere")
    with pytest.raises(NoSuchWorld):
        exported(own(tmp_path / "elsewhere"))
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(("since", "until"), [("2026-05-01", None), (None, "2026-03-01"), ("2026-04-02", "2026-04-02")])
def test_a_time_the_world_has_not_lived_is_told(settings: Settings, since: str | None, until: str | None) -> None:
    with pytest.raises(NothingThen, match="2026-04-03T09:00"):
        exported(settings, span=span_of(None, since, until, day_starts=0))


def test_a_time_that_is_none_is_told() -> None:
    with pytest.raises(NoSuchTime, match="--day: 'soon'"):
        span_of("soon", None, None, day_starts=0)


def test_an_export_that_fails_leaves_no_file_and_no_half_of_one(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(NoSuchWorld):
        export_to(settings, "nowhere", NAMES, StorySpan(), tmp_path / "out" / "x.jsonl")
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(FileUnusable):
        export_to(settings, "main", NAMES, StorySpan(), tmp_path / "not" / "there.jsonl")
    with pytest.raises(FileUnusable):
        import_from(settings, "other", tmp_path / "not-there.jsonl")


def test_a_long_story_is_read_and_written_in_pieces(tmp_path: Path) -> None:
    """More rows than one piece holds, events and conversations."""
    story = {
        "events": [
            {**STORY["events"][1], "at": BEGUN + n, "data": {**STORY["events"][1]["data"], "conversation_id": f"{n:x}"}}
            for n in range(1200)
        ],
        "conversations": {f"{n:x}": ({**TALK, "closed_at": BEGUN + 7 * n}, [TURN], {}) for n in range(120)},
    }
    settings = lived(tmp_path / "data", story)
    export_to(settings, "main", NAMES, StorySpan(), tmp_path / "story.jsonl")
    read = import_from(settings, "other", tmp_path / "story.jsonl")
    assert (read.events, read.conversations) == (1200, 120)
    assert [row["id"] for row in of_table(told(settings), "events")] == list(range(1, 1201))
    assert told(settings, "other")[1:] == told(settings)[1:]


@pytest.fixture
def on_postgres(postgres_url: str, tmp_path: Path) -> Settings:
    database = Database(postgres_url)
    database.migrate()
    database.write_now(lambda s: tell(s, STORY))
    database.close()
    return Settings(_env_file=None, data_dir=tmp_path / "none", database_url=postgres_url)


@pytest.mark.server
def test_a_story_goes_from_sqlite_to_postgresql_and_back(
    settings: Settings, on_postgres: Settings, tmp_path: Path
) -> None:
    assert exported(on_postgres) == exported(settings)
    export_to(on_postgres, "main", NAMES, StorySpan(until=WorldTime(NOW + 9)), tmp_path / "story.jsonl")
    import_from(on_postgres, "other", tmp_path / "story.jsonl")
    assert told(on_postgres, "other")[1:] == told(settings)[1:]
    assert not (tmp_path / "none").exists()


def test_a_whisper_and_what_was_overheard_are_so_where_they_are_read_in(tmp_path: Path) -> None:
    put_migrated(tmp_path / "one" / "kataribe.db")
    put_migrated(tmp_path / "two" / "kataribe.db")
    one, two = at(tmp_path / "one"), at(tmp_path / "two")
    worlds = WorldRepository(load_content(bundled_content()), WorldSettings())
    people = ("aoi", "ren", "mio")

    def work(session: Session) -> None:
        world = worlds.open(session, "main", lock=True)
        turns: list[dict[str, Any]] = [
            {"speaker_id": "aoi", "text": "It lies under the stairs.", "heard_by": ["ren"], "loudness": "whisper"},
            {"speaker_id": "ren", "text": "Good night.", "act": "winks", "seen_by": []},
        ]
        ended = {"phase": "closed", "closed_at": world.now, "stays": {"mio": {"left_turn": 2}}}
        seat(session, world, turns, people, id="table", **ended)
        for number, person_id in enumerate(people):
            others = [other for other in people if other != person_id]
            talk: dict[str, Any] = {"conversation_id": "table", "summary": "They met.", "topics": [], "revision": 1}
            session.add(
                SummaryRow(
                    world_id="main",
                    person_id=person_id,
                    partner_id=others[0],
                    others=others[1:],
                    **talk,
                    at=world.now,
                    night=number,
                )
            )
        overhear(session, world, main("table"), "npc_taro", [1], world.now)
        session.get_one(WorldRow, "main").now = WorldTime(world.now + 60)

    def heard(session: Session, person_id: str) -> list[Any]:
        turns = read_turns(session, Group(world_id="main", person_id=person_id), NOTHING)
        return [(turn.text, turn.partner_id, turn.others, turn.overheard, turn.later) for turn in turns]

    one.write_now(work)
    export_to(own(tmp_path / "one"), "main", NAMES, StorySpan(), tmp_path / "story.jsonl")
    import_from(own(tmp_path / "two"), "main", tmp_path / "story.jsonl")
    for person_id, count in (("aoi", 2), ("ren", 2), ("mio", 1), ("npc_taro", 1)):
        before, after = (store.read_now(partial(heard, person_id=person_id)) for store in (one, two))
        assert len(before) == count
        assert after == before
    one.close()
    two.close()
