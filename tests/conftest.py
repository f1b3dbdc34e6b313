"""What every test may ask for: the sample village, a database (SQLite, and PostgreSQL in CI), a scripted room."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Dialect, Engine, event

from service.content.files import bundled_content
from service.content.load import Content, load_content
from service.conversation.dependencies import ConversationDependencies
from service.conversation.stream import Stream
from service.llm.choose import ROLES, Models
from service.memory.memory_store import MemoryStore
from service.people.worlds import WorldRepository
from service.settings import Settings
from service.store.budget import DailyBudget
from service.store.session import Database
from tests.scripted_model import ScriptedModel
from tests.servers.sqlite import migrate_a_copy, put_migrated

os.environ.setdefault("KATARIBE_MEMORY__VERIFY", "false")
"""A closing asks once: who tests what is verified (tests/conversation/test_verified.py) sets it."""
os.environ.setdefault("KATARIBE_LLM__AWAY_SECONDS", "0")
"""No talk waits for a model that is away: who tests how one does (tests/conversation/test_away.py) sets it."""

ON_BOTH_DATABASES = {"store", "memory", "runtime"}
"""Folders of tests whose code meets the dialect: locks, upserts, leases, queues."""
ON_SQLITE = {"test_client_actions.py", "test_heard_from.py", "test_recall.py", "test_secrets.py"}
"""Files of those folders that say nothing to the database but what others there say to both."""
ON_NEO4J = {"graphiti"}
"""Folders of tests that ask Neo4j: one dialect beside it is enough."""
MIGRATES = {"store", "packaging", "end_to_end"}
"""Folders of tests that tell how a database is migrated, or prepared for it."""

pytest_plugins = [
    "tests.servers.together",
    "tests.servers.postgres",
    "tests.servers.chromium",
    "tests.servers.neo4j",
    "tests.servers.smollm2",
]


gc.disable()  # until everything is loaded


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: the garbage collector need not look through it again and again. Nor need
    it look after every few hundred objects.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 10)
    gc.enable()


_COMPILED: dict[type[Dialect], tuple[Dialect, dict[Any, Any]]] = {}


@event.listens_for(Engine, "engine_connect")
def compile_once(connection: Connection) -> None:
    """A statement is compiled once for the databases of all tests; anew for each, it was half of their time."""
    dialect, compiled = _COMPILED.setdefault(type(connection.dialect), (connection.dialect, {}))
    connection.dialect = dialect
    connection.execution_options(compiled_cache=compiled)


@pytest.fixture(scope="session")
def village() -> Content:
    """The sample village."""
    return load_content(bundled_content())


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a service of its own, whose database is migrated: lexical recall only, nothing is verified, in
    English, no .env read.
    """
    put_migrated(tmp_path / "data" / "kataribe.db")
    return Settings(
        _env_file=None,
        data_dir=tmp_path / "data",
        allowed_hosts=["testserver"],
        embedding={"provider": "none"},
        memory={"verify": False},
        world={"language": "en", "decision": "routine"},
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what depends on the SQL dialect on a real PostgreSQL too; everything else on SQLite alone."""
    if "database" in metafunc.fixturenames:
        dialects: list[Any] = ["sqlite"]
        parts = set(metafunc.definition.path.parts)
        if parts & ON_BOTH_DATABASES and not parts & (ON_SQLITE | ON_NEO4J):
            dialects.append(pytest.param("postgresql", marks=pytest.mark.server))
        metafunc.parametrize("database", dialects, indirect=True)


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A fresh, migrated database of the dialect that the test runs on (see `pytest_generate_tests`)."""
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_emptied")
    else:
        put_migrated(tmp_path / "kataribe.db")
        url = f"sqlite:///{tmp_path / 'kataribe.db'}"
    database = Database(url)
    yield database
    database.close()


@pytest.fixture(autouse=True)
def migrated_by_copying(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where databases are made by what is tested, the migrations run once a process (but see `MIGRATES`)."""
    if not MIGRATES & set(request.path.relative_to(request.config.rootpath).parts):
        monkeypatch.setattr(Database, "migrate", migrate_a_copy)


@pytest.fixture
def script() -> ScriptedModel:
    """The model that every role of `room` speaks with: enqueue what it is to answer."""
    return ScriptedModel()


@pytest.fixture
def room(database: Database, village: Content, settings: Settings, script: ScriptedModel) -> ConversationDependencies:
    """Where conversations are held, with the scripted model and a memory of its own."""
    return ConversationDependencies(
        settings=settings,
        worlds=WorldRepository(village, settings.world),
        database=database,
        memory=MemoryStore(database),
        models=Models(dict.fromkeys(ROLES, script)),
        budget=DailyBudget(database, settings.llm),
        stream=Stream(),
    )
