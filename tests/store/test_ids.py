"""Owns the tests of ids."""

import re

from service.store.ids import derived_id, new_id


def test_a_new_id_is_28_hex_digits_and_none_comes_twice() -> None:
    ids = [new_id() for _ in range(200)]
    assert all(re.fullmatch("[0-9a-f]{28}", made) for made in ids)
    assert len(set(ids)) == 200


def test_later_ids_sort_after_earlier_ones() -> None:
    stamps = [new_id()[:12] for _ in range(50)]
    assert stamps == sorted(stamps)


def test_a_derived_id_is_the_same_for_the_same_parts_only() -> None:
    assert derived_id("c", "mid_term", 1) == derived_id("c", "mid_term", 1)
    assert len({derived_id("c", "mid_term", 1), derived_id("c", "mid_term", 2), derived_id("d", "mid_term", 1)}) == 3
