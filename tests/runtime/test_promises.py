"""Promises move the world: who promised to be somewhere goes there, and what became of it is told and felt, whatever
the latencies, and after a stop.
"""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, col, select

from service.content.load import Content
from service.content.made import Made
from service.people.commitment import LATE_MINUTES
from service.people.commitments import FELT_AFTER
from service.runtime.client_actions import take_control
from service.runtime.made_people import place_person, put_person
from service.store.tables import CommitmentRow
from tests.runtime.lives import House, Slow, hamlet, house, rehearsal
from tests.runtime.promised import appointment, place_promises
from world.time import WorldTime, parse_time

START = parse_time("2026-04-01T07:00")
NINE = parse_time("2026-04-01T09:00")
THREE_HOURS = 3 * 60
PROMISED = (
    appointment("aoi", "npc_genzo", "market_scales", NINE, START),
    appointment("isao", "ren", "cedar_old", WorldTime(NINE + 10), START),
    appointment("ren", "isao", "cedar_old", WorldTime(NINE + 10), START),
    appointment("mio", "npc_taro", None, NINE, START),
)
"""One with an NPC, two with each other, one that names no place."""


@pytest.fixture(scope="session")
def village(village: Content) -> Content:
    """With those characters only who promise."""
    return hamlet(village, ("aoi", "isao", "mio", "ren"))


async def _lived(content: Content, directory: Path, **how: Any) -> dict[str, list[Any]]:
    async with house(content, directory, how.pop("model", None) or rehearsal(), **how) as home:
        place_promises(home.room.database, home.room.worlds, PROMISED)
        await home.live(THREE_HOURS)
        return _told(home)


def _told(home: House) -> dict[str, list[Any]]:
    def promises(session: Session) -> list[Any]:
        return [row.model_dump() for row in session.exec(select(CommitmentRow).order_by(col(CommitmentRow.id)))]

    return {**home.story(), "commitments": home.room.database.read_now(promises)}


@pytest.fixture(scope="module")
def in_order(village: Content, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Three hours, one call at a time."""
    return asyncio.run(_lived(village, tmp_path_factory.mktemp("in-order"), at_once=1))


def test_who_promised_to_meet_goes_there_in_time(in_order: dict[str, list[Any]]) -> None:
    states = {row["id"]: row["state"] for row in in_order["commitments"]}
    assert states == {
        PROMISED[0].id: "kept",
        PROMISED[1].id: "kept",
        PROMISED[2].id: "kept",
        PROMISED[3].id: "lapsed",
    }


def test_what_becomes_of_a_promise_is_told(in_order: dict[str, list[Any]]) -> None:
    assert _kinds_of(in_order, PROMISED[0]) == [("commitment_due", NINE), ("commitment_kept", NINE + LATE_MINUTES)]
    assert _kinds_of(in_order, PROMISED[3]) == [("commitment_due", NINE)]


def test_a_kept_promise_is_felt_by_who_was_promised_and_remembered_by_both(in_order: dict[str, list[Any]]) -> None:
    felt = NINE + LATE_MINUTES + FELT_AFTER
    moved = [row for row in in_order["attitudes"] if row["owner_id"] == "npc_genzo" and row["at"] == felt]
    assert [(row["other_id"], row["affinity_delta"]) for row in moved] == [("aoi", 5)]
    kept = {row["person_id"]: row for row in in_order["memories"] if row["known_from"] == felt}
    assert kept.keys() == {"aoi", "npc_genzo"}
    assert all(PROMISED[0].what in row["text"] for row in kept.values())
    assert {(row["kind"], row["source"]) for row in kept.values()} == {("observed", "promise")}


def test_who_is_not_there_has_broken_it(village: Content, tmp_path: Path) -> None:
    """Aoi is in a client's hands, and stands where it is."""

    async def live() -> dict[str, list[Any]]:
        async with house(village, tmp_path, rehearsal()) as home:
            place_promises(home.room.database, home.room.worlds, PROMISED[:1])
            await home.world_runner.command("main", lambda s, session: take_control(s, session, "aoi"))
            await home.live(THREE_HOURS)
            return _told(home)

    told = asyncio.run(live())
    assert [row["state"] for row in told["commitments"]] == ["broken"]
    assert _kinds_of(told, PROMISED[0])[-1] == ("commitment_broken", NINE + LATE_MINUTES)
    assert [row["affinity_delta"] for row in told["attitudes"] if row["id"] != row["conversation_id"]] == [-8]


def test_latencies_do_not_change_what_is_kept(village: Content, tmp_path: Path, in_order: dict[str, list[Any]]) -> None:
    slow = Slow(rehearsal(), seed=1, longest_seconds=0.02)
    told = asyncio.run(_lived(village, tmp_path, model=slow, at_once=16))
    assert told["summaries"]
    for part, rows in in_order.items():
        assert told[part] == rows, part


def test_promises_survive_a_stop_in_the_middle(
    village: Content, tmp_path: Path, in_order: dict[str, list[Any]]
) -> None:
    async def live() -> dict[str, list[Any]]:
        rng, stops = random.Random(3), 0
        while True:
            model = Slow(rehearsal(), seed=3, longest_seconds=0.005, fail_at=rng.randint(5, 60))
            async with house(village, tmp_path, model) as home:
                try:
                    if not stops:
                        place_promises(home.room.database, home.room.worlds, PROMISED)
                        await home.world_runner.tick("main", THREE_HOURS)
                    await home.world_runner.wait("main", WorldTime(START + THREE_HOURS))
                except RuntimeError:
                    stops += 1
                    continue
                assert stops
                return _told(home)

    told = asyncio.run(live())
    assert told["commitments"] == in_order["commitments"]
    assert [_told_of(told), told["attitudes"]] == [_told_of(in_order), in_order["attitudes"]]


def _kinds_of(story: dict[str, list[Any]], promise: CommitmentRow) -> list[tuple[str, int]]:
    return [(event["kind"], event["at"]) for event in _told_of(story) if event["data"]["commitment_id"] == promise.id]


def _told_of(story: dict[str, list[Any]]) -> list[Any]:
    return [event for event in story["events"] if event["kind"].startswith("commitment")]


def test_who_promised_to_come_this_morning_goes_there_and_waits_a_while(village: Content, tmp_path: Path) -> None:
    """Two go there, and one is alone: Ren is in a client's hands, and Aoi has waited long enough."""
    noon, five = parse_time("2026-04-01T12:00"), parse_time("2026-04-01T05:00")
    promised = [
        appointment("mio", "npc_taro", "tavern_bench", noon, START, since=five),
        appointment("isao", "mio", "tavern_bench", noon, START, since=five),
        appointment("aoi", "ren", "cedar_old", noon, START, since=five),
        appointment("ren", "aoi", "cedar_old", noon, START, since=five),
    ]

    async def live() -> tuple[dict[str, list[Any]], list[str]]:
        async with house(village, tmp_path, rehearsal(), decision="routine") as home:
            place_promises(home.room.database, home.room.worlds, promised)
            await home.world_runner.command("main", lambda s, session: take_control(s, session, "ren"))
            await home.live(noon - START + 1)
            return _told(home), [
                step["path"][-1] for step in home.story()["movements"] if step["character_id"] == "aoi"
            ]

    told, aoi = asyncio.run(live())
    states = {(row["by_id"], row["to_id"]): row["state"] for row in told["commitments"]}
    assert states == {
        ("mio", "npc_taro"): "kept",
        ("isao", "mio"): "kept",
        ("aoi", "ren"): "lapsed",
        ("ren", "aoi"): "broken",
    }
    assert {at for promise in promised for kind, at in _kinds_of(told, promise) if kind != "commitment_due"} == {noon}
    assert "cedar_old" in aoi[:-1], "she has gone on with her day"


async def _met_by_player(content: Content, directory: Path, stands: str) -> dict[str, list[Any]]:
    """Ken has promised Genzo to be there at nine, and his game has put him somewhere."""
    ken = Made(id="ken", kind="player", profile='{"name": "Ken"}')
    async with house(content, directory, rehearsal(), decision="routine") as home:
        worlds = home.room.worlds
        place_promises(home.room.database, worlds, [appointment("ken", "npc_genzo", "market_scales", NINE, START)])
        await home.world_runner.command("main", lambda s, session: put_person(s, worlds, session, ken))
        await home.world_runner.command("main", lambda s, session: place_person(s, session, "ken", stands))
        await home.live(THREE_HOURS)
        return _told(home)


@pytest.mark.parametrize(
    ("stands", "state", "felt"), [("market_hall", "kept", 5), ("quay_pier", "broken", -8)], ids=["there", "elsewhere"]
)
def test_a_player_keeps_a_promise_by_standing_there(
    village: Content, tmp_path: Path, stands: str, state: str, felt: int
) -> None:
    told = asyncio.run(_met_by_player(village, tmp_path, stands))
    assert [row["state"] for row in told["commitments"]] == [state]
    assert [row["affinity_delta"] for row in told["attitudes"] if row["other_id"] == "ken"] == [felt]
