"""Owns the tests of Project Anima's characters: what of their two files becomes ours, and what is said of the rest."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.content.check import examine
from service.content.load import load_content
from service.settings import Settings
from service.upkeep import import_memory
from studio.exchange.anima import Anima, read_anima
from studio.exchange.draft import Draft, ImportRefused
from studio.exchange.place import Wish, ids_in, take_in
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


def bring(village: Path, root: Path) -> None:
    found = read_anima([root])
    take_in(village, wishes(found), {}, found.ours({})[0])


def wishes(found: Anima) -> list[tuple[Draft, Wish]]:
    return [(one.draft, Wish(id=one.id)) for one in found.people]


def test_the_two_files_of_a_character_become_a_person_and_a_past_that_is_given(tmp_path: Path) -> None:
    write(tmp_path, "alice", ALICE, GROWN)
    write(tmp_path, "ボブ", BOB)
    village = Village().write(tmp_path / "game")
    found = read_anima([tmp_path])
    people, (_, past) = found.people, found.ours({})
    files = take_in(village, wishes(found), {"anima.jsonl": past})
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
        read_anima([tmp_path])
    (line,) = (one.line("en") for one in found.value.problems)
    assert line.startswith(where)
    assert words in line


def test_a_directory_without_characters_and_two_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="no characters"):
        read_anima([tmp_path])
    write(tmp_path, "ボブ", BOB)
    write(tmp_path, "ボブ2", BOB | {"character_id": "b-2"})
    village = Village().write(tmp_path / "game")
    with pytest.raises(ImportRefused, match=r"characters/bob\.yaml"):
        take_in(village, wishes(read_anima([tmp_path])))


A_ID, B_ID = "3f0c1b1e-8f53-4a7e-9a52-0d9d1c5a7001", "b2a4c7de-1d2f-4c8b-8f6e-5e0f4a9b7002"
CLASSROOM = f"""
scene_id: "S001"
location: "学校の教室"
time: "放課後"
situation: "窓から夕日が入り、ほかの生徒はもう帰った。AとBが窓ぎわで話している。"
participant_character_ids: ["{A_ID}", "{B_ID}"]
previous_scene_log_reference: "scene_S000.json"
"""
BEFORE = f"""
location: 校門
time: 2026-03-01 08:10:00
situation: 朝。
participant_character_ids: ["{A_ID}", "{B_ID}"]
"""


def project(root: Path) -> Path:
    """Two characters and two scenes as Project Anima keeps them: its sample is the second."""
    memories = [
        {"memory": "Bは傘を忘れていった。", "scene_id_of_memory": "S000", "related_character_ids": [B_ID]},
        {"memory": "Bは引っ越すらしい。", "date": "2026-02-11"},
    ]
    write(root, "chara_a", ALICE | {"character_id": A_ID}, {"character_id": A_ID, "memories": memories})
    write(root, "chara_b", BOB | {"character_id": B_ID})
    (root / "scenes").mkdir()
    (root / "scenes" / "S000.yaml").write_text(BEFORE, encoding="utf-8")
    (root / "scenes" / "S001.yaml").write_text(CLASSROOM, encoding="utf-8")
    return root


def test_a_whole_project_comes_in_its_scenes_with_our_ids_and_its_memories_with_their_dates(tmp_path: Path) -> None:
    village, found = Village().write(tmp_path / "game"), read_anima([project(tmp_path / "anima")])
    scenes, past = found.ours({})
    files = take_in(village, wishes(found), {}, scenes)
    assert [file.name for file in files] == ["S000.yaml", "S001.yaml", "chara_a.yaml", "chara_b.yaml"]
    assert examine(village).problems == []
    scene = load_content(village).cast("ja").scenes["S001"]
    assert (scene.location.of("ja"), scene.time.of("ja"), scene.previous_scene) == ("学校の教室", "放課後", "S000")
    assert [one.id for one in scene.participants] == ["chara_a", "chara_b"]
    told = [json.loads(line) for line in past.splitlines()]
    assert [(one["statement"], one["at"], one.get("about")) for one in told] == [
        ("Bは傘を忘れていった。", "2026-03-01T08:10", "chara_b"),
        ("Bは引っ越すらしい。", "2026-02-11T00:00", None),
    ]


def test_a_scene_that_comes_later_finds_its_characters_by_their_ids_there(tmp_path: Path) -> None:
    village, root = Village().write(tmp_path / "game"), project(tmp_path / "anima")
    take_in(village, wishes(read_anima([root / "characters"])))
    ids = ids_in(examine(village))
    assert (ids[A_ID], ids[B_ID]) == ("chara_a", "chara_b")
    scenes, _ = read_anima([root / "scenes" / "S000.yaml", root / "scenes" / "S001.yaml"]).ours(ids)
    take_in(village, [], {}, scenes)
    assert load_content(village).cast("ja").scenes["S000"].participants[0].id == "chara_a"
    with pytest.raises(ImportRefused, match="S000"):
        take_in(village, [], {}, scenes)
    take_in(village, [], {}, scenes, replace_it=True)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (A_ID, "nobody", "participants.0.*nobody"),
        ("location:", "place:", "location"),
        ("S000.json", "S009.json", "previousScene.*S009"),
        ('"S001"', '"../S001"', "sceneId"),
    ],
)
def test_a_scene_that_cannot_be_played_is_refused_with_all_that_is_wrong(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    village, root = Village().write(tmp_path / "game"), project(tmp_path / "anima")
    file = root / "scenes" / "S001.yaml"
    file.write_text(CLASSROOM.replace(old, new), encoding="utf-8")
    with pytest.raises(ImportRefused, match=words):
        bring(village, root)
    assert not (village / "scenes").exists()
