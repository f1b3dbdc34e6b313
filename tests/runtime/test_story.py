"""The story is a function of seed and answers: not of latencies, of how many calls run at once, of ticks, or of
stops.
"""

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from service.content.load import Content
from service.conversation.acting import CharacterTurn, NpcTurn
from service.conversation.prompt import PromptContext
from service.decision.context import Decision, DecisionContext
from service.errors import ModelUnreachable
from service.llm.chat import Answer, Prompt, T, TextListener
from service.offline.model import OfflineModel
from service.quality.checks import CheckContext, GivenMark, GivenMarks
from service.settings import QualitySettings
from tests.runtime.lives import HAMLET, Slow, hamlet, house, unpaid
from tests.world.simulation import draw

MORNING = 2 * 60
HALF = QualitySettings(share=0.5)
"""Half of what is said and decided is checked."""


class Sociable(OfflineModel):
    """The model that is none, but whoever decides joins a talk in sight; and talks last: who is at a table of more than
    two leaves now and then. What is checked has good marks or bad ones. All depends on what is asked alone.
    """

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        answer = await super().complete(prompt, on_text)
        given, value = prompt.given, answer.value
        update: dict[str, Any] = {}
        if isinstance(given, DecisionContext) and isinstance(value, Decision):
            joins = next((offer for offer in given.offers if offer.option.talk_id), None)
            if joins is not None:
                what = {"target": joins.partner_name, "goal": "hear the news", "success_criteria": "somebody tells"}
                update = {"choice": joins.number, **what}
        elif isinstance(given, PromptContext) and isinstance(value, CharacterTurn | NpcTurn):
            leaves = bool(given.others) and draw(given.speaker.id, len(given.lines), given.now) < 0.7
            update = {"wants_to_end": leaves, "goal_achieved": False} if isinstance(value, CharacterTurn) else {}
            update |= {"wants_to_end": leaves}
        elif isinstance(given, CheckContext) and isinstance(value, GivenMarks):
            update = {"persona": GivenMark(reason="So so.", score=5 + int(5 * draw(given.speaker.id, given.line, "")))}
        assert isinstance(value, BaseModel)
        return replace(answer, value=value.model_copy(update=update))


@pytest.fixture(scope="session")
def village(village: Content) -> Content:
    """With few characters, but enough for a table of three."""
    return hamlet(village, (*HAMLET, "sayo"))


@pytest.fixture(scope="module")
def told_in_order(village: Content, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """A morning, one call at a time, all answers at once."""

    async def live() -> dict[str, list[Any]]:
        async with house(
            village, tmp_path_factory.mktemp("in-order"), Sociable(seed=3), at_once=1, quality=HALF
        ) as home:
            await home.live(MORNING)
            return home.story()

    return asyncio.run(live())


def test_people_decide_talk_and_remember(told_in_order: dict[str, list[Any]]) -> None:
    kinds = {event["kind"] for event in told_in_order["events"]}
    assert {"decided", "departed", "arrived", "activity_started", "activity_ended", "conversation_started"} <= kinds
    closed = [talk for talk in told_in_order["conversations"] if talk["phase"] == "closed"]
    assert closed
    assert {row["conversation_id"] for row in told_in_order["summaries"]} == {talk["id"] for talk in closed}


def test_people_join_leave_and_overhear(told_in_order: dict[str, list[Any]]) -> None:
    """What the next tests hold equal has tables of more than two in it."""
    kinds = {event["kind"] for event in told_in_order["events"]}
    assert {"conversation_joined", "conversation_left"} <= kinds
    assert any(one["seat"] > 1 for one in told_in_order["participants"])
    assert told_in_order["overheard"]


def test_half_is_checked_and_some_of_it_is_made_again(told_in_order: dict[str, list[Any]]) -> None:
    """What the next tests hold equal has that in it, too."""
    turns = [row for row in told_in_order["quality"] if row["turn"] is not None]
    assert 0.3 < len(turns) / len(told_in_order["turns"]) < 0.7
    assert len(turns) < len(told_in_order["quality"])
    assert {"passed", "again", "best"} <= {row["outcome"] for row in told_in_order["quality"]}


def test_events_are_told_in_order_of_world_time(told_in_order: dict[str, list[Any]]) -> None:
    times = [event["at"] for event in told_in_order["events"]]
    assert times == sorted(times)


def test_a_talk_takes_a_minute_a_turn_at_its_own_time(told_in_order: dict[str, list[Any]]) -> None:
    started = {talk["id"]: talk["started_at"] for talk in told_in_order["conversations"]}
    assert told_in_order["turns"]
    for turn in told_in_order["turns"]:
        assert turn["at"] == started[turn["conversation_id"]] + turn["turn"]


class Away(Sociable):
    """The same, but it cannot be reached when it is to speak for the third and the ninth time."""

    asked = 0

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        is_turn = isinstance(prompt.given, PromptContext) and not prompt.given.feedback
        self.asked += is_turn
        if is_turn and self.asked in (3, 9):
            raise ModelUnreachable(model="m", base_url="http://127.0.0.1:1", reason="refused")
        return await super().complete(prompt, on_text)


def test_the_world_waits_for_a_model_that_is_away_and_the_story_is_the_same(
    village: Content, tmp_path: Path, told_in_order: dict[str, list[Any]]
) -> None:
    async def live() -> dict[str, list[Any]]:
        model = Away(seed=3)
        async with house(village, tmp_path, model, quality=HALF, llm={"away_seconds": 60}) as home:
            await home.live(MORNING)
            assert model.asked > 9
            return home.story()

    told = asyncio.run(live())
    assert {name: unpaid(rows) for name, rows in told.items() if name != "usage"} == {
        name: unpaid(rows) for name, rows in told_in_order.items() if name != "usage"
    }


def test_latencies_and_ticks_do_not_change_the_story(
    village: Content, tmp_path: Path, told_in_order: dict[str, list[Any]]
) -> None:
    async def live() -> dict[str, list[Any]]:
        rng = random.Random(1)
        model = Slow(Sociable(seed=3), seed=1, longest_seconds=0.02)
        async with house(village, tmp_path, model, at_once=rng.choice((2, 5, 16)), quality=HALF) as home:
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
            model = Slow(Sociable(seed=3), seed=1, longest_seconds=0.005, fail_at=rng.randint(5, 60))
            async with house(village, tmp_path, model, quality=HALF) as home:
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
