"""What may be an id, and what could be mistaken."""

import pytest

from world.ids import SLUG_MAX, is_slug


@pytest.mark.parametrize("good", ["main", "npc_taro", "a-1", "W2", "a" * SLUG_MAX])
def test_an_id_is_plain(good: str) -> None:
    assert is_slug(good)


@pytest.mark.parametrize("bad", ["", "a--b", "葵", "a b", "-a", "a_", "a/b", "a:b", "a\n", "a" * (SLUG_MAX + 1)])
def test_what_could_be_mistaken_is_no_id(bad: str) -> None:
    assert not is_slug(bad)
