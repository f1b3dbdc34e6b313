"""The story is a function of seed and answers: not of latencies, of how many calls run at once, of ticks, or of
stops.
"""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from service.content.load import Content
from tests.runtime.lives import Slow, hamlet, house, rehearsal

MORNING = 6 * 60


@pytest.fixture(scope="session")
def village(village: Content) -> Content:
    """With few characters."""
    return hamlet(village)


@pytest.fixture(scope="module")
def told_in_order(village: Content, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """A morning, one call at a time, all answers at once."""

    async def live() -> dict[str, list[Any]]:
        async with house(village, tmp_path_factory.mktemp("in-order"), rehearsal(), at_once=1) as home:
            await home.live(MORNING)
            return home.story()

    return asyncio.run(live())


def test_people_decide_talk_and_remember(told_in_order: dict[str, list[Any]]) -> None:
    kinds = {event["kind"] for event in told_in_order["events"]}
    assert {"decided", "departed", "arrived", "activity_started", "activity_ended", "conversation_started"} <= kinds
    closed = [talk for talk in told_in_order["conversations"] if talk["phase"] == "closed"]
    assert closed
    assert {row["conversation_id"] for row in told_in_order["summaries"]} == {talk["id"] for talk in closed}


def test_events_are_told_in_order_of_world_time(told_in_order: dict[str, list[Any]]) -> None:
    times = [event["at"] for event in told_in_order["events"]]
    assert times == sorted(times)


def test_a_talk_takes_a_minute_a_turn_at_its_own_time(told_in_order: dict[str, list[Any]]) -> None:
    started = {talk["id"]: talk["started_at"] for talk in told_in_order["conversations"]}
    assert told_in_order["turns"]
    for turn in told_in_order["turns"]:
        assert turn["at"] == started[turn["conversation_id"]] + turn["turn"]


def test_latencies_and_ticks_do_not_change_the_story(
    village: Content, tmp_path: Path, told_in_order: dict[str, list[Any]]
) -> None:
    async def live() -> dict[str, list[Any]]:
        rng = random.Random(1)
        model = Slow(rehearsal(), seed=1, longest_seconds=0.02)
        async with house(village, tmp_path, model, at_once=rng.choice((2, 5, 16))) as home:
            left = MORNING
            while left:
                ticks = min(left, rng.choice((1, 7, 60, 240)))
                await home.live(ticks)
                left -= ticks
            return home.story()

    told = asyncio.run(live())
    for part, rows in told_in_order.items():
        assert told[part] == rows, part


def test_a_stop_in_the_middle_does_not_change_the_story(
    village: Content, tmp_path: Path, told_in_order: dict[str, list[Any]]
) -> None:
    """The model dies at a call drawn at random, again and again, until the morning is over."""

    async def live() -> dict[str, list[Any]]:
        rng = random.Random(1)
        stops = 0
        while True:
            model = Slow(rehearsal(), seed=1, longest_seconds=0.005, fail_at=rng.randint(5, 60))
            async with house(village, tmp_path, model) as home:
                try:
                    if not stops:
                        await home.world_runner.tick("main", MORNING)
                    await home.world_runner.wait("main", _end(village))
                except RuntimeError:
                    stops += 1
                    continue
                assert stops
                return home.story()

    told = asyncio.run(live())
    for part, rows in told_in_order.items():
        if part != "usage":  # what was asked and lost is asked, and paid for, again
            assert _unpaid(told[part]) == _unpaid(rows), part


def _unpaid(rows: list[Any]) -> list[Any]:
    paid = {"calls", "prompt_tokens", "completion_tokens"}
    return [{name: value for name, value in row.items() if name not in paid} for row in rows]


def _end(village: Content) -> Any:
    return village.start + MORNING
