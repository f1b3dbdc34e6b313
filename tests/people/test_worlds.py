"""Owns the tests of the way into a world."""

import pytest

from service.content.load import Content
from service.locales import Language
from service.people.worlds import WorldRepository, WorldView
from service.settings import WorldSettings
from service.store.session import Database
from service.store.tables import WorldRow
from world.errors import BadWorldTime
from world.time import iso


def _open(database: Database, worlds: WorldRepository, world_id: str = "main") -> WorldView:
    return database.read_now(lambda s: worlds.open(s, world_id))


def test_a_world_nobody_wrote_to_is_at_its_beginning_and_has_no_row(database: Database, village: Content) -> None:
    world = _open(database, WorldRepository(village, WorldSettings()))
    assert (world.id, world.language, iso(world.now), world.now) == ("main", "ja", "2026-04-01T07:00", world.started_at)
    assert database.read_now(lambda s: s.get(WorldRow, "main")) is None


def test_a_world_that_is_locked_gets_its_row(database: Database, village: Content) -> None:
    worlds = WorldRepository(village, WorldSettings())
    database.write_now(lambda s: worlds.open(s, "main", lock=True))
    database.write_now(lambda s: worlds.open(s, "main", lock=True))
    row = database.read_now(lambda s: s.get_one(WorldRow, "main"))
    assert (row.language, iso(_open(database, worlds).now)) == ("ja", "2026-04-01T07:00")


def test_settings_choose_language_and_start_of_a_new_world(database: Database, village: Content) -> None:
    world = _open(database, WorldRepository(village, WorldSettings(language="en", start="0999-12-31T23:59")))
    assert (world.language, iso(world.now)) == ("en", "0999-12-31T23:59")
    assert world.label == "Tue 31 Dec, 23:59"


def test_a_world_that_has_begun_keeps_its_language_and_clock(database: Database, village: Content) -> None:
    english = WorldRepository(village, WorldSettings(language="en"))
    database.write_now(lambda s: english.open(s, "main", lock=True))
    later = _open(database, WorldRepository(village, WorldSettings(language="ja", start="2030-01-01")))
    assert (later.language, iso(later.now)) == ("en", "2026-04-01T07:00")


def test_a_start_that_is_no_time_is_refused(village: Content) -> None:
    with pytest.raises(BadWorldTime):
        _ = WorldRepository(village, WorldSettings(start="once upon a time")).start


def test_the_day_turns_at_its_hour(database: Database, village: Content) -> None:
    at_midnight = _open(database, WorldRepository(village, WorldSettings(start="2026-04-02T00:00")))
    before_dawn = _open(
        database, WorldRepository(village, WorldSettings(start="2026-04-02T00:00", day_starts_minutes=300))
    )
    assert at_midnight.day == before_dawn.day + 1


@pytest.mark.parametrize(
    ("language", "node_id", "told"),
    [
        ("en", "lane_bakery", "Bread Lane, Mugiho Bakery (bread and buns; Harue's)"),
        ("ja", "bakery_oven", "春江の窯、パン屋「麦穂堂」(パンとあんぱん。春江の店)"),
        ("en", "net_loft", "Net Loft, Room above the Net Loft"),
        ("en", "main_cross", "Village Cross"),
    ],
)
def test_a_place_is_told_with_what_it_is_and_sells(
    database: Database, village: Content, language: Language, node_id: str, told: str
) -> None:
    world = _open(database, WorldRepository(village, WorldSettings(language=language)))
    assert world.place_told(node_id) == told
