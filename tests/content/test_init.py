"""Owns the tests of copying the bundled content for a game of one's own."""

from pathlib import Path

import pytest

from service.content.check import check_content
from service.content.init import ContentExists, ContentUnwritable, _copy_all, init_content
from tests.content.village import Village


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
    assert check_content(target) == []
    assert sorted(path.name for path in target.iterdir()) == ["characters", "maps.json", "npcs"]
    for path in written:
        assert path.read_bytes() == (source / path.relative_to(target)).read_bytes()


def test_actions_are_copied_too(tmp_path: Path) -> None:
    source = Village.with_actions().write(tmp_path / "source")
    written = init_content(tmp_path / "game", source=source)
    assert tmp_path / "game" / "actions.json" in written
    assert (tmp_path / "game" / "actions.json").read_bytes() == (source / "actions.json").read_bytes()
    assert check_content(tmp_path / "game") == []


def test_the_bundled_game_has_its_own_actions(tmp_path: Path) -> None:
    assert tmp_path / "game" / "actions.json" in init_content(tmp_path / "game")


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


def test_what_was_moved_into_place_is_taken_back_when_the_rest_cannot_be(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "game"
    (target / "characters" / "somebody").mkdir(parents=True)  # appeared after the look for it
    with pytest.raises(OSError, match="characters"):
        _copy_all(source, target)
    assert [path.name for path in target.iterdir()] == ["characters"]


def test_other_files_in_the_directory_do_not_matter(tmp_path: Path, source: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    init_content(tmp_path, source=source)
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


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
