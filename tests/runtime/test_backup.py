"""Owns the tests of a backup: of a store that is being written to, restored in the other kind of database, and back."""

import gzip
import json
import threading
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, col, select

from service.conversation.dependencies import ConversationDependencies
from service.errors import BadLine, Misconfigured, NoSuchWorld, StoreHoldsWorlds
from service.export.backup import back_up, restore_backup
from service.settings import Settings
from service.store.idempotency import Once, once
from service.store.session import Database, store_lock
from service.store.tables import EventRow, IdempotencyRow, MemoryOwnerRow, WorldRow
from tests.runtime.worlds import fill
from tests.scripted_model import ScriptedModel
from tests.servers.sqlite import put_migrated

PROJECTED = {"projected_epoch", "projected_revision", "projection_due"}
"""Columns that a restore sets: the graph is brought what people remember anew."""


@pytest.fixture
def here(room: ConversationDependencies, script: ScriptedModel) -> Settings:
    """A store with something in every table, and an answer that is null beside one that is not there."""
    fill(room, script)
    for key in ("null", "none"):
        asked = Once(world_id="main", key=key, fingerprint="f", shown=lambda _: None)
        room.database.write_now(lambda s: once(s, asked, lambda: None))  # noqa: B023 - run here
    room.database.write_now(lambda s: s.execute(IdempotencyRow.__table__.update().where(  # type: ignore[attr-defined]
        col(IdempotencyRow.key) == "none").values(answer=None)))  # fmt: skip
    return settings_of(room, room.database)


def settings_of(room: ConversationDependencies, database: Database) -> Settings:
    return room.settings.changed(database_url=database.url.render_as_string(hide_password=False))


@pytest.fixture
def there(settings: Settings, tmp_path: Path) -> Settings:
    """An empty store on SQLite."""
    put_migrated(tmp_path / "there" / "kataribe.db")
    return settings.changed(data_dir=tmp_path / "there", database_url=None)


def lines_of(file: Path) -> list[dict[str, Any]]:
    """The rows of a backup, but for what a restore changes."""
    _, *lines = map(json.loads, gzip.decompress(file.read_bytes()).splitlines())
    owners = MemoryOwnerRow.__tablename__
    return [
        {**line, "row": {k: v for k, v in line["row"].items() if line["table"] != owners or k not in PROJECTED}}
        for line in lines
    ]


def told(line: dict[str, Any]) -> str:
    """A line without the form of its JSON, which databases have each their own of."""
    return json.dumps(line, sort_keys=True)


def test_a_backup_made_while_it_is_written_to_is_of_one_moment_and_goes_to_the_other_database_and_back(
    room: ConversationDependencies, here: Settings, there: Settings, tmp_path: Path
) -> None:
    stops, written = threading.Event(), count(1000)

    def pair(session: Session) -> None:
        number = next(written)
        common: dict[str, Any] = {"world_id": "main", "at": 0, "kind": "spoke", "data": {}}
        session.add_all(EventRow(id=number, audience=one, **common) for one in ("left", "right"))

    def write() -> None:
        while not stops.is_set():
            room.database.write_now(pair)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        counted = back_up(here, tmp_path / "one.gz")
    finally:
        stops.set()
        writing.join()
    assert next(written) > 1000
    first = lines_of(tmp_path / "one.gz")
    events = [line["row"] for line in first if line["table"] == EventRow.__tablename__]
    pairs = [{one["id"] for one in events if one["audience"] == side} for side in ("left", "right")]
    assert pairs[0] == pairs[1]
    assert counted == restore_backup(there, tmp_path / "one.gz")
    back_up(there, tmp_path / "two.gz")
    assert sorted(map(told, lines_of(tmp_path / "two.gz"))) == sorted(map(told, first))
    with pytest.raises(StoreHoldsWorlds) as refused:
        restore_backup(here, tmp_path / "two.gz")
    assert "2 worlds" in refused.value.sentence("en")
    restore_backup(here, tmp_path / "two.gz", replaces=True)
    back_up(here, tmp_path / "three.gz")
    assert sorted(map(told, lines_of(tmp_path / "three.gz"))) == sorted(map(told, first))
    answers = select(IdempotencyRow.key).where(col(IdempotencyRow.answer).is_not(None))
    assert "none" in room.database.read_now(lambda s: s.exec(answers).all())


@pytest.mark.parametrize("spoil", ["empty", "cut off", "no gzip", "a story", "another schema", "an unknown column"])
def test_what_is_no_whole_backup_changes_nothing(
    room: ConversationDependencies, here: Settings, there: Settings, tmp_path: Path, spoil: str
) -> None:
    file = tmp_path / "backup.gz"
    back_up(here, file)
    header, first, *rest = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    spoilt = {
        "empty": b"",
        "cut off": file.read_bytes()[:-2000],
        "no gzip": b"{}",
        "a story": gzip.compress(b'{"type": "kataribe", "version": 5}\n'),
        "another schema": gzip.compress(header.replace(b'"store_schema": "', b'"store_schema": "x') + first),
        "an unknown column": gzip.compress(header + first + b"".join(rest) + first.replace(b'{"', b'{"x": 1, "')),
    }  # fmt: skip
    file.write_bytes(spoilt[spoil])
    with pytest.raises(BadLine):
        restore_backup(there, file)
    assert room.database.read_now(lambda s: len(s.exec(select(WorldRow)).all())) == 2
    with pytest.raises(BadLine):
        restore_backup(here, file, replaces=True)
    assert room.database.read_now(lambda s: len(s.exec(select(WorldRow)).all())) == 2


def test_nothing_is_restored_while_a_service_runs_and_nothing_written_of_no_store(
    room: ConversationDependencies, here: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "backup.gz"
    back_up(here, file)
    room.database.presence.new_holder()  # as any that serves
    with store_lock(here), pytest.raises(Misconfigured):
        restore_backup(here, file, replaces=True)
    with pytest.raises(NoSuchWorld):
        back_up(here.changed(data_dir=tmp_path / "nowhere", database_url=None), tmp_path / "nothing.gz")
    assert not (tmp_path / "nothing.gz").exists()
