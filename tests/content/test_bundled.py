"""The village that travels with Kataribe: valid, big enough, and whole in both languages."""

import re
from collections.abc import Iterator
from dataclasses import replace

from pydantic import BaseModel

from service.content.check import examine
from service.content.fields import Text
from service.content.files import bundled_content
from service.content.load import load_content

_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def _texts(value: object, key: str) -> Iterator[tuple[str, Text]]:
    """Every text that was written, with its place."""
    if isinstance(value, Text):
        if value.of("en"):
            yield key, value
    elif isinstance(value, BaseModel):
        for name, child in value:
            yield from _texts(child, f"{key}.{name}")
    elif isinstance(value, tuple):
        for i, child in enumerate(value):
            yield from _texts(child, f"{key}[{i}]")


def test_the_bundled_village_is_valid() -> None:
    directory = bundled_content()
    assert [problem.line("en") for problem in examine(directory).problems] == []
    cast = load_content(directory).cast("ja")
    assert len(cast.world_map.nodes) >= 60
    assert len(cast.world_map.map_names) == 2
    assert len(cast.world_map.facilities) >= 8
    assert len(cast.npcs) >= 8
    assert len(cast.characters) >= 4


def test_every_text_of_the_bundled_village_is_written_in_both_languages() -> None:
    checked = examine(bundled_content())
    assert checked.maps is not None
    assert checked.actions is not None
    people = {**checked.npcs, **checked.characters}
    files = [*_texts(checked.maps, "maps"), *_texts(checked.actions, "actions")]
    texts = [*files, *(pair for name, it in people.items() for pair in _texts(it, name))]
    assert len(texts) > 100
    assert [key for key, text in texts if not _JAPANESE.search(text.of("ja"))] == []
    assert [key for key, text in texts if _JAPANESE.search(text.of("en"))] == []


def test_the_bundled_actions_are_the_same_in_both_languages_but_for_names() -> None:
    content = load_content(bundled_content())
    en, ja = content.cast("en").catalogue, content.cast("ja").catalogue
    assert [replace(a, name="") for a in en.actions] == [replace(a, name="") for a in ja.actions]
    assert all(a.name and a.name != b.name for a, b in zip(en.actions, ja.actions, strict=True))


def test_the_bundled_actions_let_one_sleep_eat_and_work() -> None:
    actions = {action.id: action for action in load_content(bundled_content()).cast("en").catalogue.actions}
    assert actions["sleep"].ends_day
    assert not actions["sleep"].interruptible
    assert actions["eat_out"].seats == 6
    assert actions["work"].per_hour["money"] > 0


def test_the_bundled_actions_fit_the_bundled_map() -> None:
    cast = load_content(bundled_content()).cast("en")
    assert {need.id for need in cast.catalogue.needs.all} >= {"energy", "satiety", "sociability", "money"}
    for facility in cast.world_map.facilities.values():
        possible = [a.id for a in cast.catalogue.actions if a.tags & facility.tags]
        assert ("home" in facility.tags) != bool(possible), facility


def test_whom_one_of_the_village_knows_knows_it_too_and_only_newcomers_are_strangers() -> None:
    cast = load_content(bundled_content()).cast("en")
    pairs = [(one, other) for one in cast.characters for other in (*cast.characters, *cast.npcs) if one != other]
    assert all(cast.are_acquainted(one, other) == cast.are_acquainted(other, one) for one, other in pairs)
    villagers = ("mio", "nagi", "ren", "kohei")
    for one in villagers:
        assert all(cast.are_acquainted(one, other) for other in (*villagers, *cast.npcs) if other != one), one
    assert {other for one, other in pairs if one == "aoi" and cast.are_acquainted(one, other)} == {
        "kohei",
        "npc_fumi",
        "sayo",
    }
