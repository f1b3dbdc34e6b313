"""Who perceives a turn: tests of service/store/perception.py."""

import pytest

from service.store.perception import are_together, perceives, told_of_turn
from service.store.tables import ParticipantRow


def takes_part(person_id: str, joined: int = 0, left: int | None = None) -> ParticipantRow:
    return ParticipantRow(
        world_id="main", conversation_id="c", person_id=person_id, seat=0, joined_turn=joined, left_turn=left
    )


@pytest.mark.parametrize(
    ("turn", "only", "perceived"),
    [(1, None, False), (2, None, True), (4, None, True), (5, None, False), (3, ["hana"], True), (3, ["ken"], False)],
    ids=["before", "first", "last", "gone", "meant for her", "meant for others"],
)
def test_who_is_there_perceives_what_is_meant_for_all_or_for_it(
    turn: int, only: list[str] | None, perceived: bool
) -> None:
    assert perceives(takes_part("hana", 2, 5), turn, "aoi", only) is perceived


def test_a_speaker_perceives_its_own_aside() -> None:
    assert perceives(takes_part("hana"), 3, "hana", [])


def test_who_left_before_another_came_was_never_there_with_it() -> None:
    assert not are_together(takes_part("aoi", 0, 2), takes_part("ken", 2))
    assert are_together(takes_part("aoi", 0, 3), takes_part("ken", 2))


def test_what_was_done_stands_in_brackets_before_what_was_said() -> None:
    assert told_of_turn("shows the bell", "Look.") == "(shows the bell) Look."
    assert told_of_turn("leaves", "") == "(leaves)"
