"""An NPC whose file lets it leave goes to its appointments and back, by whatever ticks and latencies; another stays."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, select

from service.content.load import Content
from service.conversation.engine import Engine
from service.conversation.start import Start
from service.people.person import positions
from service.runtime.client_actions import talk
from service.store.tables import CommitmentRow
from tests.runtime.lives import House, Slow, hamlet, house, leaving, rehearsal
from tests.runtime.promised import appointment, place_promises
from world.time import WorldTime, parse_time

START = parse_time("2026-04-01T07:00")
EIGHT = parse_time("2026-04-01T08:00")
THREE_HOURS = 3 * 60
TARO, PLACE = "npc_taro", "cedar_old"
PROMISED = (appointment(TARO, "aoi", PLACE, EIGHT, START), appointment("aoi", TARO, PLACE, EIGHT, START))


@pytest.fixture(scope="session")
def village(village: Content) -> Content:
    """With few characters, and an NPC that may leave."""
    small = hamlet(village, ("aoi", "isao", "mio", "ren"))
    return replace(small, casts={language: leaving(cast, TARO) for language, cast in small.casts.items()})


async def _lived(content: Content, directory: Path, *ticks: int, **how: Any) -> dict[str, Any]:
    async with house(content, directory, how.pop("model", None) or rehearsal(), **how) as home:
        place_promises(home.room.database, home.room.worlds, PROMISED)
        for minutes in ticks:
            await home.live(minutes)
        return {**home.story(), "states": _states(home)}


def _states(home: House) -> list[str]:
    return home.room.database.read_now(lambda s: [row.state for row in s.exec(select(CommitmentRow))])


def _stands(home: House, at: WorldTime | None = None) -> str:
    """Where Taro is at `at` (None: now)."""

    def read(session: Session) -> str:
        world = home.room.worlds.open(session, "main")
        return positions(session, world if at is None else world.at(at))[TARO].node_id

    return home.room.database.read_now(read)


@pytest.fixture(scope="module")
def in_order(village: Content, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Three hours, one call at a time."""
    return asyncio.run(_lived(village, tmp_path_factory.mktemp("in-order"), THREE_HOURS, at_once=1))


def test_it_goes_to_its_appointment_in_time_and_back(village: Content, in_order: dict[str, Any]) -> None:
    base = village.casts["en"].world_map.bases[TARO]
    there, back = [step for step in in_order["movements"] if step["character_id"] == TARO]
    assert (there["path"][0], there["path"][-1]) == (base, PLACE)
    assert EIGHT - 15 <= there["times"][-1] <= EIGHT
    assert (back["path"][0], back["path"][-1]) == (PLACE, base)
    assert back["starts_at"] >= EIGHT
    assert in_order["states"] == ["kept", "kept"]


def test_it_can_be_spoken_to_where_it_is_and_goes_back_when_it_has_been(village: Content, tmp_path: Path) -> None:
    """The talk begins at the place, and lasts for longer than it would have waited there."""
    base = village.casts["en"].world_map.bases[TARO]

    async def live() -> tuple[str, str, str]:
        async with house(village, tmp_path, rehearsal(), decision="routine") as home:
            place_promises(home.room.database, home.room.worlds, PROMISED)
            await home.live(EIGHT - START)
            wanted = Start(opener_id="aoi", partner_id=TARO, goal=None, max_turns=4, conversation_id="c")
            row = await home.world_runner.command("main", lambda s, session: talk(s, session, wanted, {}))
            await home.live(THREE_HOURS)
            held = _stands(home)
            engine = Engine(home.room)
            await engine.converse(row.key)
            await engine.close(row.key)
            await home.live(60)
            return row.node_id, held, _stands(home)

    assert asyncio.run(live()) == (PLACE, PLACE, base)


def test_ticks_and_latencies_do_not_change_where_it_goes(
    village: Content, tmp_path: Path, in_order: dict[str, Any]
) -> None:
    slow = Slow(rehearsal(), seed=1, longest_seconds=0.02)
    told = asyncio.run(_lived(village, tmp_path, 30, 35, 25, 90, model=slow, at_once=16))
    for part, rows in in_order.items():
        assert told[part] == rows, part


def test_where_it_is_can_be_asked_at_any_time(village: Content, tmp_path: Path) -> None:
    base = village.casts["en"].world_map.bases[TARO]

    async def live() -> list[str]:
        async with house(village, tmp_path, rehearsal(), decision="routine") as home:
            place_promises(home.room.database, home.room.worlds, PROMISED)
            await home.live(THREE_HOURS)
            return [_stands(home, at) for at in (START, EIGHT, WorldTime(START + THREE_HOURS))]

    assert asyncio.run(live()) == [base, PLACE, base]


def test_people_talk_with_npcs_that_may_leave_and_the_story_is_the_same(village: Content, tmp_path: Path) -> None:
    """Every NPC may leave, and is found where it stands as any person is."""
    cast = village.casts["en"]
    for npc_id in cast.world_map.posts:
        cast = leaving(cast, npc_id)
    content = replace(village, casts={"en": cast})
    for name in ("in-order", "slow"):
        (tmp_path / name).mkdir()
    told = asyncio.run(_lived(content, tmp_path / "in-order", THREE_HOURS, at_once=1))
    talks = {one["conversation_id"] for one in told["participants"] if one["person_id"] in cast.npcs}
    assert talks
    assert {one["person_id"] for one in told["summaries"] if one["conversation_id"] in talks} & cast.npcs.keys()
    acts = {one["kind"] for one in told["events"] if one["person_id"] in cast.npcs}
    assert not acts & {"decided", "activity_started", "activity_ended"}, "that it stands at its post is no news"
    slow = Slow(rehearsal(), seed=2, longest_seconds=0.01)
    again = asyncio.run(_lived(content, tmp_path / "slow", 60, 120, model=slow, at_once=16))
    for part, rows in told.items():
        assert again[part] == rows, part
