"""An NPC whose file lets it leave goes to its appointments and back, by whatever ticks and latencies; another stays."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, select

from service.content.load import Cast, Content
from service.people.whereabouts import positions
from service.store.tables import CommitmentRow
from tests.runtime.lives import House, Slow, hamlet, house, rehearsal
from tests.runtime.promised import appointment, place_promises
from world.time import WorldTime, parse_time

START = parse_time("2026-04-01T07:00")
NINE = parse_time("2026-04-01T09:00")
FIVE_HOURS = 5 * 60
TARO, PLACE = "npc_taro", "cedar_old"
PROMISED = (appointment(TARO, "aoi", PLACE, NINE, START), appointment("aoi", TARO, PLACE, NINE, START))


def leaving(cast: Cast) -> Cast:
    """The same, where Taro may leave its post."""
    places = cast.world_map
    posts = {npc_id: node_id for npc_id, node_id in places.posts.items() if npc_id != TARO}
    return replace(
        cast,
        npcs={**cast.npcs, TARO: cast.npcs[TARO].model_copy(update={"may_leave": True})},
        world_map=replace(places, posts=posts, bases={TARO: places.posts[TARO]}),
    )


@pytest.fixture(scope="session")
def village(village: Content) -> Content:
    """With few characters, and an NPC that may leave."""
    small = hamlet(village, ("aoi", "isao", "mio", "ren"))
    return replace(small, casts={language: leaving(cast) for language, cast in small.casts.items()})


async def _lived(content: Content, directory: Path, *ticks: int, **how: Any) -> dict[str, Any]:
    async with house(content, directory, how.pop("model", None) or rehearsal(), **how) as home:
        place_promises(home.room.database, home.room.worlds, PROMISED)
        for minutes in ticks:
            await home.live(minutes)
        return {**home.story(), "states": _states(home)}


def _states(home: House) -> list[str]:
    return home.room.database.read_now(lambda s: [row.state for row in s.exec(select(CommitmentRow))])


@pytest.fixture(scope="module")
def in_order(village: Content, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Five hours, one call at a time."""
    return asyncio.run(_lived(village, tmp_path_factory.mktemp("in-order"), FIVE_HOURS, at_once=1))


def test_it_goes_to_its_appointment_in_time_and_back(village: Content, in_order: dict[str, Any]) -> None:
    base = village.casts["en"].world_map.bases[TARO]
    there, back = [step for step in in_order["movements"] if step["character_id"] == TARO]
    assert (there["path"][0], there["path"][-1]) == (base, PLACE)
    assert NINE - 15 <= there["times"][-1] <= NINE
    assert (back["path"][0], back["path"][-1]) == (PLACE, base)
    assert back["starts_at"] >= NINE
    assert in_order["states"] == ["kept", "kept"]


def test_people_talk_with_it_as_with_any_other_npc(in_order: dict[str, Any]) -> None:
    talks = [one for one in in_order["participants"] if one["person_id"] == TARO]
    assert talks
    assert {one["person_id"] for one in in_order["summaries"]} >= {TARO}


def test_ticks_and_latencies_do_not_change_where_it_goes(
    village: Content, tmp_path: Path, in_order: dict[str, Any]
) -> None:
    slow = Slow(rehearsal(), seed=1, longest_seconds=0.02)
    told = asyncio.run(_lived(village, tmp_path, 60, 65, 55, 120, model=slow, at_once=16))
    for part, rows in in_order.items():
        assert told[part] == rows, part


def test_where_it_is_can_be_asked_at_any_time(village: Content, tmp_path: Path) -> None:
    base = village.casts["en"].world_map.bases[TARO]

    async def live() -> list[str]:
        async with house(village, tmp_path, rehearsal(), decision="routine") as home:
            place_promises(home.room.database, home.room.worlds, PROMISED)
            await home.live(FIVE_HOURS)

            def stood(session: Session, at: WorldTime) -> str:
                world = home.room.worlds.open(session, "main")
                return positions(session, world, at)[TARO].node_id

            moments = (START, NINE, WorldTime(START + FIVE_HOURS - 1))
            return [home.room.database.read_now(lambda s, at=at: stood(s, at)) for at in moments]  # type: ignore[misc]

    assert asyncio.run(live()) == [base, PLACE, base]
