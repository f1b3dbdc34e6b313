"""Which place of the map is meant by a name that was said: one, or none."""

import pytest

from service.content.load import Content
from service.locales import Language
from service.people.place_names import node_named


@pytest.mark.parametrize(
    ("language", "said", "node_id"),
    [
        ("en", "the Thousand-Year Cedar", "cedar_old"),
        ("en", "under the thousand-year cedar", "cedar_old"),
        ("en", "at Mugiho Bakery", "lane_bakery"),
        ("en", "the bakery", "lane_bakery"),
        ("en", "here", "torii"),
        ("en", "the moon", None),
        ("en", "the corner", None),
        ("en", "", None),
        ("ja", "千年杉の下", "cedar_old"),
        ("ja", "汐音診療所の前", "clinic_door"),
        ("ja", "ここ", "torii"),
        ("ja", "富士山のてっぺん", None),
    ],
)
def test_a_name_is_a_place_if_only_one_is_called_so(
    village: Content, language: Language, said: str, node_id: str | None
) -> None:
    assert node_named(village.cast(language).world_map, said, "torii") == node_id


def test_here_is_no_place_of_the_map_where_somebody_is_at_none(village: Content) -> None:
    assert node_named(village.cast("en").world_map, "here", "") is None
