"""Which place of the map is meant by a name that was said: one, or none."""

import pytest

from service.content.load import Content
from service.locales import Language
from service.people.commitment import node_named


@pytest.mark.parametrize(
    ("language", "said", "node_id"),
    [
        ("en", "the Thousand-Year Cedar", "cedar_old"),
        ("en", "under the thousand-year cedar", "cedar_old"),
        ("en", "at Mugiho Bakery", "lane_bakery"),
        ("en", "the bakery", "lane_bakery"),
        ("en", "the moon", None),
        ("en", "the corner", None),
        ("en", "", None),
        ("ja", "千年杉の下", "cedar_old"),
        ("ja", "汐音診療所の前", "clinic_door"),
        ("ja", "富士山のてっぺん", None),
    ],
)
def test_a_name_is_a_place_if_only_one_is_called_so(
    village: Content, language: Language, said: str, node_id: str | None
) -> None:
    assert node_named(village.cast(language).world_map, said) == node_id
