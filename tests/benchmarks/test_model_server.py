"""The benchmarks' model server answers what the service can use, streamed and whole, and always the same."""

import asyncio
import json
import random

import pytest
from pydantic import BaseModel

from benchmarks.model_server import answer, model_server
from service.conversation.acting import CharacterTurn, NpcTurn, OpeningTurn
from service.decision.context import DayPlan, Decision
from service.llm.chat import Answer, TextListener
from service.llm.openai import OpenAIChat
from service.llm.schema import schema_text
from service.memory.closing.context import ClosingAnswer
from service.memory.closing.verify import Verdicts
from tests.llm.prompts import ask

OPTIONS = "Now: 09:10, the square.\nOptions\n1 Wait (15 min)\n2 Work: the mill (4 min) [your day]\n3 Talk: Taro (0 min)"
DAY = "Now: 07:30, home.\nPlan the day from 07:30 on.\nYour usual day\n07:00 breakfast\n08:00 work (Mill)\n20:00 home"
PLACES = "You plan your day.\nPlaces\n0 home: rest\n1 Mill 08:00-17:00: work (4 min)"


@pytest.mark.parametrize("model", [CharacterTurn, NpcTurn, OpeningTurn, Decision, DayPlan, ClosingAnswer, Verdicts])
def test_every_answer_fits_its_schema(model: type[BaseModel]) -> None:
    schema = json.loads(schema_text(model))
    for seed in range(50):
        model.model_validate(answer(schema, [PLACES, OPTIONS], random.Random(seed)))


def test_a_decision_chooses_what_the_prompt_offers_and_mostly_what_the_day_says() -> None:
    schema = json.loads(schema_text(Decision))
    chosen = [answer(schema, ["Rules", OPTIONS], random.Random(seed))["choice"] for seed in range(300)]
    assert set(chosen) == {1, 2, 3}
    assert chosen.count(2) > 150


def test_a_plan_keeps_the_usual_day() -> None:
    blocks = answer(json.loads(schema_text(DayPlan)), [PLACES, DAY], random.Random(1))["blocks"]
    assert [(block["starts"], block["place"]) for block in blocks] == [("07:30", 0), ("08:00", 1), ("20:00", 0)]


def asked(base_url: str, on_text: TextListener | None = None) -> Answer[CharacterTurn]:
    async def once() -> Answer[CharacterTurn]:
        chat = OpenAIChat(base_url=base_url, api_key="none", model=None, temperature=None, timeout_seconds=20)
        try:
            return await chat.complete(ask(), on_text)
        finally:
            await chat.aclose()

    return asyncio.run(once())


def test_streamed_or_whole_it_says_the_same_and_counts() -> None:
    heard: list[str] = []
    with model_server(mean_seconds=0.001) as server:
        whole, streamed = asked(server.base_url), asked(server.base_url, lambda text, _: heard.append(text))
        tally = server.tally()
    assert streamed.value == whole.value
    assert heard[-1] == whole.value.utterance
    assert not whole.usage.estimated
    assert (tally.calls, tally.prompt_tokens) == (2, 2 * whole.usage.prompt_tokens)
    assert tally.schemas == {"CharacterTurn": 2}
    assert tally.in_flight == 0
