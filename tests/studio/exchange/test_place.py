"""Owns the tests of taking somebody into a content directory: whole and accepted by the check, or not at all."""

from pathlib import Path
from typing import Any

import pytest

from service.content.check import examine
from service.content.files import ContentUnwritable, write_all
from service.content.load import load_content
from service.content.lore import KnownByEntry
from studio.exchange.card import read_card
from studio.exchange.draft import Draft, ImportRefused
from studio.exchange.place import Wish, take_in
from tests.content.village import Village
from tests.studio.exchange.cards import as_json, card

BOOK = {"entries": [{"keys": ["bell"], "content": "The bell rings in fog."}]}


def draft(name: str = "Ione", *, knows: bool = True) -> Draft:
    return read_card("ione.json", as_json(card(name=name, character_book=BOOK if knows else None)))


def snapshot(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


def test_somebody_who_is_taken_in_lives_in_the_world(tmp_path: Path) -> None:
    village = Village().write(tmp_path)
    files = take_in(village, [(draft(), Wish())])
    assert [file.relative_to(village).as_posix() for file in files] == ["characters/ione.yaml", "lore/ione.yaml"]
    cast = load_content(village).cast("ja")
    assert (cast.character("ione").name, cast.character("ione").home) == ("Ione", "square")
    (bell,) = cast.lore
    assert bell.known_by == KnownByEntry(people=("ione",))


def test_whose_post_is_on_the_map_already_is_that_npc(tmp_path: Path) -> None:
    village = Village().write(tmp_path)
    (village / "npcs" / "hermit.yml").unlink()
    files = take_in(village, [(draft(), Wish(id="hermit"))])
    assert files[0] == village / "npcs" / "hermit.yaml"
    assert load_content(village).cast("en").npc("hermit").name == "Ione"


def test_who_is_there_is_replaced_only_where_it_is_wished(tmp_path: Path) -> None:
    village = Village().write(tmp_path)
    take_in(village, [(draft(), Wish())])
    before = snapshot(village)
    with pytest.raises(ImportRefused) as refused:
        take_in(village, [(draft("Ione!", knows=False), Wish())])
    assert [one.file for one in refused.value.problems] == ["characters/ione.yaml", "lore/ione.yaml"]
    assert snapshot(village) == before
    take_in(village, [(draft("Ione!", knows=False), Wish(home="lane"))], replace_it=True)
    assert examine(village).problems == []
    assert snapshot(village).keys() == before.keys() - {"lore/ione.yaml"}
    assert load_content(village).cast("en").character("ione").home == "lane"


@pytest.mark.parametrize(
    ("wish", "key", "words"),
    [
        (Wish(id="no id"), "id", "is no id"),
        (Wish(id="hermit"), "id", "already taken"),
        (Wish(home="moon"), "home", "moon"),
        (Wish(home="counter"), "home", "counter"),
    ],
)
def test_what_would_be_wrong_in_the_world_is_refused(tmp_path: Path, wish: Wish, key: str, words: str) -> None:
    village = Village().write(tmp_path)
    before = snapshot(village)
    with pytest.raises(ImportRefused) as refused:
        take_in(village, [(draft(), wish)])
    assert [one.key_path for one in refused.value.problems] == [key]
    assert words in refused.value.sentence("en")
    assert snapshot(village) == before


def test_nothing_is_half_written(tmp_path: Path) -> None:
    """The second file has no place; the first is taken back."""
    village = Village().write(tmp_path)
    (village / "lore").write_bytes(b"")
    before = snapshot(village)
    with pytest.raises(ContentUnwritable):
        take_in(village, [(draft(), Wish())])
    assert snapshot(village) == before


class Stopping(dict[str, str | None]):
    """Files of which the second is not moved any more: somebody presses Ctrl-C."""

    asked = 0

    def items(self) -> Any:
        self.asked += 1
        yield next(iter(super().items()))
        if self.asked == 2:
            raise KeyboardInterrupt
        yield from [*super().items()][1:]


def test_what_is_stopped_by_hand_while_it_writes_leaves_everything_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("before", "utf-8")
    with pytest.raises(KeyboardInterrupt):
        write_all(tmp_path, Stopping({"a.yaml": "after", "new/b.yaml": "after"}))
    assert {name: text for name, text in snapshot(tmp_path).items() if name} == {"a.yaml": b"before"}
