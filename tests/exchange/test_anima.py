"""Owns the tests of Project Anima's characters: what of their two files becomes ours, and what is said of the rest."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.content.check import examine
from service.content.load import load_content
from service.exchange.anima import past_of, read_anima
from service.exchange.draft import ImportRefused
from service.exchange.place import Wish, take_in
from service.settings import Settings
from service.upkeep import import_memory
from tests.content.village import Village
from tests.servers.sqlite import put_migrated

ALICE: dict[str, Any] = {
    "character_id": "a-1",
    "name": "アリス",
    "age": 20,
    "occupation": "新聞記者",
    "base_personality": "好奇心が強い。",
    "blood_type": "AB",
}
GROWN: dict[str, Any] = {
    "character_id": "a-1",
    "experiences": [{"event": "洪水を生き延びた。", "importance": 8}],
    "goals": [{"goal": "小説家になる。", "importance": 9}, {"goal": "ケーキを食べる。", "importance": 3}],
    "memories": [
        {
            "memory": "ボブに秘密を打ち明けられた。",
            "scene_id_of_memory": "S000",
            "related_character_ids": ["b-1", "a-1", "z-9"],
        },
        {"memory": "鐘が鳴った。"},
    ],
}
BOB = {"character_id": "b-1", "name": "Bob", "base_personality": "Quiet."}


def write(directory: Path, folder: str, always: dict[str, Any], grown: dict[str, Any] | None = None) -> None:
    place = directory / "characters" / folder
    place.mkdir(parents=True)
    for name, values in (("immutable.yaml", always), ("long_term.yaml", grown)):
        if values is not None:
            (place / name).write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")


def test_the_two_files_of_a_character_become_a_person_and_a_past_that_is_given(tmp_path: Path) -> None:
    write(tmp_path, "alice", ALICE, GROWN)
    write(tmp_path, "ボブ", BOB)
    village = Village().write(tmp_path / "game")
    people = read_anima(tmp_path)
    past = past_of(people)
    files = take_in(village, [(one.draft, Wish(id=one.id)) for one in people], {"anima.jsonl": past})
    assert [file.name for file in files] == ["alice.yaml", "bob.yaml", "anima.jsonl"]
    assert examine(village).problems == []
    alice = load_content(village).cast("ja").character("alice")
    assert (alice.name, alice.personality, alice.identity) == (
        "アリス",
        "好奇心が強い。",
        ("20歳である", "職業は新聞記者"),
    )
    assert [(goal.goal, goal.weight) for goal in alice.goals] == [("小説家になる。", 9), ("ケーキを食べる。", 3)]
    assert [(line.text, line.weight) for line in alice.persona] == [("洪水を生き延びた。", 8), ("ケーキを食べる。", 3)]
    told = [note.line("en") for one in people for note in (*one.draft.report, *one.notes.report)]
    assert [line.split(": ")[:2] for line in told] == [
        ["alice/immutable.yaml", "not carried over, for we have no key for it"],
        ["alice/long_term.yaml", "memories[0].related_character_ids[1]"],
        ["alice/long_term.yaml", "memories[0].related_character_ids[2]"],
    ]
    settings = Settings(_env_file=None, data_dir=tmp_path / "data", content_dir=village)
    put_migrated(tmp_path / "data" / "kataribe.db")
    done = asyncio.run(import_memory(settings, "main", village / "anima.jsonl"))
    assert (done.statements, done.known) == (2, 0)
    assert '"about": "bob", "conversation": "S000"' in past


@pytest.mark.parametrize(
    ("always", "grown", "where", "words"),
    [
        ({"age": "twenty"}, {}, "alice/immutable.yaml: age", "a whole number"),
        ({"base_personality": " "}, {}, "alice/immutable.yaml: base_personality", "not empty"),
        ({"name": None}, {}, "alice/immutable.yaml: name", "missing"),
        ({}, {"goals": [{"goal": "x", "importance": 0}]}, "alice/long_term.yaml: goals[0].importance", "1 to 10"),
        ({}, {"character_id": "b-1"}, "alice/long_term.yaml: character_id", '"a-1"'),
    ],
)
def test_what_is_not_in_the_form_is_named_by_file_and_key(
    tmp_path: Path, always: dict[str, Any], grown: dict[str, Any], where: str, words: str
) -> None:
    write(tmp_path, "alice", ALICE | always, GROWN | grown)
    with pytest.raises(ImportRefused) as found:
        read_anima(tmp_path)
    (line,) = (one.line("en") for one in found.value.problems)
    assert line.startswith(where)
    assert words in line


def test_a_directory_without_characters_and_two_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="no characters"):
        read_anima(tmp_path)
    write(tmp_path, "ボブ", BOB)
    write(tmp_path, "ボブ2", BOB | {"character_id": "b-2"})
    village = Village().write(tmp_path / "game")
    with pytest.raises(ImportRefused, match=r"characters/bob\.yaml"):
        take_in(village, [(one.draft, Wish(id=one.id)) for one in read_anima(tmp_path)])
