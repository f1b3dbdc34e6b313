"""Owns the tests of the schema: the migrations make exactly the tables, as often as they are run."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import inspect
from sqlmodel import SQLModel

import service.store.tables  # noqa: F401 - fills the metadata
from service.errors import Misconfigured
from service.store.session import MIGRATIONS, Database
from tests.servers.postgres import PostgresServer


@pytest.fixture
def postgres_emptied(postgres_server: PostgresServer, postgres_template: str) -> str:
    """A database of its own for each test: they change its tables."""
    return postgres_server.create_database(like=postgres_template)


def test_the_migrations_make_exactly_the_tables_of_the_code(database: Database) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with database.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.check(config)  # raises when a table or column differs
    with database.engine.connect() as connection:
        tables = set(inspect(connection).get_table_names())
    assert tables == {*SQLModel.metadata.tables, "alembic_version"}


def test_the_check_would_see_a_difference(database: Database) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE idempotency_keys")
        config.attributes["connection"] = connection
        with pytest.raises(Exception, match="idempotency_keys"):
            command.check(config)


def test_migrating_again_changes_nothing(database: Database) -> None:
    database.migrate()
    database.migrate()
    with database.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM alembic_version").scalar() == 1


@pytest.mark.server
def test_replicas_that_start_at_once_migrate_one_database_once(postgres_url: str) -> None:
    databases = [Database(postgres_url, threads=1) for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(Database.migrate, databases))
    with databases[0].engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM alembic_version").scalar() == 1
    for database in databases:
        database.close()


def test_a_database_of_an_unknown_revision_stays_as_it_is_and_is_named_in_one_sentence(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0007'")
        connection.exec_driver_sql("DROP TABLE idempotency_keys")
    with pytest.raises(Misconfigured) as refused:
        database.migrate()
    said = refused.value
    assert said.sentence("en").startswith(
        "KATARIBE_DATABASE_URL: this database was made by another version of Kataribe (0007)"
    )
    assert said.sentence("ja").startswith(
        "設定 KATARIBE_DATABASE_URL: このデータベースは別の版の Kataribe が作ったもの(0007)"
    )
    with database.engine.connect() as connection:
        assert "idempotency_keys" not in inspect(connection).get_table_names()
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == "0007"


def test_every_primary_key_begins_with_its_world(database: Database) -> None:
    """So that a branch of a world may copy rows with their ids. What is no world's is said here."""
    keys = {name: [c.name for c in table.primary_key] for name, table in SQLModel.metadata.tables.items()}
    others = {name: key for name, key in keys.items() if key[0] != "world_id"}
    assert others == {"worlds": ["id"], "installation": ["number"], "api_keys": ["digest"]}
    with database.engine.connect() as connection:
        made = {name: inspect(connection).get_pk_constraint(name)["constrained_columns"] for name in keys}
    assert made == keys
