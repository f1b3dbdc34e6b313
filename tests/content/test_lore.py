"""Owns the tests of lore in content: what its files hold, and every way in which they can be wrong."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from service.content.check import examine
from service.content.files import bundled_content, init_content
from service.content.load import load_content
from service.locales import languages
from tests.content.village import Village

OVEN: dict[str, Any] = {
    "id": "oven",
    "text": {"en": "The oven is warm at night.", "ja": "窯は夜も温かい。"},
    "knownBy": {"people": ["hermit"], "groups": ["bakers"], "maps": ["village"]},
    "when": {"open": True, "stage": 2},
    "tell": "always",
}
LORE: dict[str, Any] = {"groups": {"bakers": ["baker", "sora"]}, "entries": [OVEN]}


def written(directory: Path, lore: dict[str, Any]) -> Path:
    """The small village, with this lore."""
    (Village().write(directory) / "lore").mkdir()
    (directory / "lore" / "town.yaml").write_text(yaml.safe_dump(lore, allow_unicode=True), encoding="utf-8")
    return directory


def test_lore_is_read_with_its_groups(tmp_path: Path) -> None:
    cast = load_content(written(tmp_path, LORE)).cast("ja")
    (oven,) = cast.lore
    assert (oven.id, oven.text.of("ja"), oven.tell) == ("oven", "窯は夜も温かい。", "always")
    known = {
        one
        for one in ("hermit", "baker", "sora", "ken")
        if oven.is_known(one, None, {"open": True, "stage": 2}, cast.groups)
    }
    assert known == {"hermit", "baker", "sora"}
    assert cast.groups == {"bakers": ("baker", "sora")}


@pytest.mark.parametrize(
    ("person_id", "map_id", "flags", "knows"),
    [
        ("sora", None, {"open": True, "stage": 2}, True),
        ("ken", "village", {"open": True, "stage": 2}, True),
        ("ken", "forest", {"open": True, "stage": 2}, False),
        ("sora", None, {"open": True, "stage": 3}, False),
        ("sora", None, {"open": 1, "stage": 2}, False),
        ("sora", None, {}, False),
    ],
)
def test_lore_is_known_to_who_is_named_while_the_flags_hold(
    tmp_path: Path, person_id: str, map_id: str | None, flags: dict[str, Any], knows: bool
) -> None:
    cast = load_content(written(tmp_path, LORE)).cast("en")
    (oven,) = cast.lore
    assert oven.is_known(person_id, map_id, flags, cast.groups) is knows


@pytest.mark.parametrize(
    ("lore", "key", "words"),
    [
        ({"groups": {"bakers": ["bakr"]}}, "groups.bakers[0]", 'did you mean "baker"?'),
        ({"groups": {"bakers": []}}, "groups.bakers", "expected"),
        ({"groups": {"the bakers": ["baker"]}}, "groups", "expected"),
        ({"entrys": []}, "entrys", 'did you mean "entries"?'),
        ({"entries": [OVEN, OVEN]}, "entries[1].id", "already taken by entries[0].id"),
        ({"entries": [{**OVEN, "knownBy": {"people": ["herbert"]}}]}, "entries[0].knownBy.people[0]", "unknown person"),
        ({"entries": [{**OVEN, "knownBy": {"groups": ["baker"]}}]}, "entries[0].knownBy.groups[0]", '"bakers"?'),
        ({"entries": [{**OVEN, "knownBy": {"maps": ["vilage"]}}]}, "entries[0].knownBy.maps[0]", '"village"?'),
        ({"entries": [{**OVEN, "knownBy": {}}]}, "entries[0].knownBy", "everybody knows it"),
        ({"entries": [{**OVEN, "when": {"open": [1]}}]}, "entries[0].when.open", "expected"),
        ({"entries": [{**OVEN, "tell": "often"}]}, "entries[0].tell", "always"),
        ({"entries": [{**OVEN, "text": ""}]}, "entries[0].text", "expected"),
    ],
)
def test_what_is_wrong_in_lore_is_told_with_its_place(
    tmp_path: Path, lore: dict[str, Any], key: str, words: str
) -> None:
    problems = examine(written(tmp_path, {**LORE, **lore})).problems
    assert [problem.file for problem in problems] == ["lore/town.yaml"], [one.line("en") for one in problems]
    assert problems[0].key_path.startswith(key)
    assert words in problems[0].message("en")
    assert problems[0].message("ja") != problems[0].message("en")


def test_the_village_has_an_example_that_init_copies_and_that_waits_for_its_flag(tmp_path: Path) -> None:
    init_content(tmp_path / "mine")
    for directory in (bundled_content(), tmp_path / "mine"):
        content = load_content(directory)
        for language in languages():
            cast = content.cast(language)
            lore = cast.lore
            assert {one.tell for one in lore} == {"always", "recalled"}
            assert not any(one.is_known("npc_genzo", "shrine_hill", {}, cast.groups) for one in lore)
            assert all(one.is_known("npc_genzo", "harbour", {"bell_repaired": True}, cast.groups) for one in lore)
