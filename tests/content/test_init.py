"""Owns the tests of copying the bundled content for a game of one's own."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.content.check import examine
from service.content.files import ContentExists, ContentUnwritable, init_content, small_content
from service.content.load import load_content
from service.locales import Language, languages
from tests.api.play import settings_for
from tests.content.village import Village

JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return Village(raw={"npcs/.gitkeep": b""}).write(tmp_path / "source")


def test_a_copy_is_complete_and_valid(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "new" / "game"
    written = init_content(target, source=source)
    assert [path.relative_to(target).as_posix() for path in written] == [
        "characters/sora.yaml",
        "maps.json",
        "npcs/baker.yaml",
        "npcs/hermit.yml",
    ]
    assert examine(target).problems == []
    assert sorted(path.name for path in target.iterdir()) == ["characters", "maps.json", "npcs"]
    for path in written:
        assert path.read_bytes() == (source / path.relative_to(target)).read_bytes()


def test_the_copy_of_a_read_only_installation_can_be_edited(tmp_path: Path, source: Path) -> None:
    (source / "maps.json").chmod(0o444)
    (source / "npcs/baker.yaml").chmod(0o444)
    assert all(path.stat().st_mode & 0o200 for path in init_content(tmp_path / "game", source=source))


@pytest.mark.parametrize("name", ["maps.json", "actions.json", "npcs", "characters"])
def test_content_that_is_there_is_never_touched(tmp_path: Path, source: Path, name: str) -> None:
    target = tmp_path / "game"
    (target / name).mkdir(parents=True)
    with pytest.raises(ContentExists) as caught:
        init_content(target, source=source)
    assert caught.value.facts["names"] == name
    assert name in caught.value.sentence("ja")
    assert [path.name for path in target.rglob("*")] == [name]


def test_a_link_that_leads_nowhere_is_not_replaced(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "game"
    target.mkdir()
    (target / "maps.json").symlink_to("elsewhere.json")
    with pytest.raises(ContentExists):
        init_content(target, source=source)
    assert (target / "maps.json").is_symlink()


def test_a_copy_that_fails_leaves_nothing_behind(tmp_path: Path, source: Path) -> None:
    (source / "characters/sora.yaml").unlink()
    (source / "characters").rmdir()
    target = tmp_path / "new" / "game"
    with pytest.raises(ContentUnwritable):
        init_content(target, source=source)
    assert not (tmp_path / "new").exists()


def test_a_file_in_the_place_of_the_directory_is_an_error(tmp_path: Path, source: Path) -> None:
    (tmp_path / "game").write_text("mine", encoding="utf-8")
    with pytest.raises(ContentUnwritable):
        init_content(tmp_path / "game", source=source)
    assert (tmp_path / "game").read_text(encoding="utf-8") == "mine"


@pytest.fixture(params=languages())
def tongue(request: pytest.FixtureRequest) -> Language:
    language: Language = request.param
    return language


@pytest.fixture
def stage(tmp_path: Path, tongue: Language) -> Path:
    """A copy of the small stage in that language."""
    init_content(tmp_path / "stage", source=small_content(tongue))
    return tmp_path / "stage"


@pytest.fixture
def playing(tmp_path: Path, stage: Path) -> Iterator[TestClient]:
    """A service of the small stage, in the stage's own language, whose people speak without a model."""
    settings = settings_for(tmp_path, stage, llm={"provider": "rehearsal"}, world={"decision": "routine"})
    with TestClient(create_app(settings)) as client:
        yield client


def test_a_small_stage_has_one_of_each_and_is_valid(stage: Path, tongue: Language) -> None:
    assert examine(stage).problems == []
    cast = load_content(stage).cast(tongue)
    assert (len(cast.world_map.map_names), len(cast.npcs), len(cast.characters)) == (1, 1, 1)
    assert [action.id for action in cast.catalogue.actions] == ["eat", "sleep"]
    assert load_content(stage).default_language == tongue


@pytest.mark.parametrize("tongue", ["en"], indirect=True)  # the others differ in their words alone
def test_days_can_be_lived_on_a_small_stage(playing: TestClient) -> None:
    for _ in range(2 * 24):
        playing.post("/world/tick", json={"ticks": 60}).raise_for_status()
        needs = playing.get("/characters/first").json()["needs"]
        assert all(need["level"] > need["critical"] for need in needs), needs
    events = playing.get("/world/events?limit=500").json()["items"]
    done = [event["data"]["action_id"] for event in events if event["kind"] == "activity_started"]
    assert done.count("eat") >= 4
    assert done.count("sleep") == 2


def test_a_conversation_can_be_held_on_a_small_stage(playing: TestClient, tongue: Language) -> None:
    walk = playing.post("/characters/first/actions", json={"type": "move", "npc_id": "keeper"}).json()
    playing.post("/world/tick", json={"ticks": walk["minutes"]}).raise_for_status()
    body = {"character_id": "first", "npc_id": "keeper"}
    told = playing.post("/conversations/start?wait=true", json=body).json()
    assert told["phase"] == "closed", told
    said = [turn["text"] for turn in told["turns"]]
    assert len(said) >= 4
    assert all(bool(JAPANESE.search(text)) == (tongue == "ja") for text in said), said
