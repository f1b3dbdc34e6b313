"""Which of many is checked is a share of them, and the same whoever asks."""

import pytest

from service.quality.checked import is_sampled


@pytest.mark.parametrize(
    ("share", "least", "most"), [(0.0, 0, 0), (0.05, 400, 600), (0.5, 4800, 5200), (1.0, 10**4, 10**4)]
)
def test_about_that_share_of_all_is_checked(share: float, least: int, most: int) -> None:
    assert least <= sum(is_sampled(share, "main", "c", turn) for turn in range(10_000)) <= most


def test_it_is_the_same_whenever_it_is_asked_and_another_for_another_name() -> None:
    of_main, again, of_other = (
        [is_sampled(0.5, world, "c", turn) for turn in range(64)] for world in ("main", "main", "other")
    )
    assert of_main == again != of_other
