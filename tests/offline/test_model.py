"""The model that is none: whose handler answers, from which chance, in which pieces, at what cost."""

import asyncio
import random
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import BaseModel

from service.errors import ModelBroken, ModelRejected
from service.llm.chat import Message, Prompt
from service.offline.model import OfflineModel


@dataclass(frozen=True)
class Question:
    text: str


class Reply(BaseModel):
    utterance: str
    number: int = 0


class Other(BaseModel):
    text: str


def reply(given: Question, rng: random.Random) -> BaseModel:
    return Reply(utterance=f"{given.text} indeed, said the old ferryman.", number=rng.randrange(10**9))


def prompt(text: str = "Fog") -> Prompt[Reply]:
    return Prompt(
        name="npc",
        role="npc",
        language="en",
        messages=(Message(role="system", content="You are Taro."),),
        answer=Reply,
        given=Question(text),
    )


def number(model: OfflineModel, text: str = "Fog") -> int:
    return asyncio.run(model.complete(prompt(text))).value.number


def test_another_seed_or_another_given_draws_other_chances() -> None:
    first = number(OfflineModel({Question: reply}, seed=3))
    assert first != number(OfflineModel({Question: reply}, seed=4))
    assert first != number(OfflineModel({Question: reply}, seed=3), "Rain")


def test_another_process_makes_the_same_answer() -> None:
    script = "from tests.offline.test_model import *; print(number(OfflineModel({Question: reply}, seed=3)))"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "99", "PYTHONPATH": str(root)},
    )
    assert int(done.stdout) == number(OfflineModel({Question: reply}, seed=3))


def test_the_utterance_is_reported_in_growing_pieces_up_to_the_whole() -> None:
    pieces: list[str] = []
    answer = asyncio.run(OfflineModel({Question: reply}).complete(prompt(), lambda text, _: pieces.append(text)))
    assert len(pieces) > 2
    assert pieces[-1] == answer.value.utterance
    assert all(longer.startswith(shorter) and longer != shorter for shorter, longer in pairwise(pieces))


def test_a_pace_slows_the_telling_down() -> None:
    async def seconds(pace: float) -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await OfflineModel({Question: reply}, pace_seconds=pace).complete(prompt(), lambda *_: None)
        return loop.time() - began

    assert asyncio.run(seconds(0.02)) >= 0.08


def test_a_question_nobody_rehearsed_is_refused_and_costs_nothing() -> None:
    with pytest.raises(ModelRejected) as refused:
        asyncio.run(OfflineModel({}).complete(prompt()))
    assert "Question" in refused.value.facts["reason"]
    assert refused.value.usage.calls == 0
    assert "rehearsal" in refused.value.sentence("ja")


def test_an_answer_of_another_kind_is_an_error_not_dialogue() -> None:
    model = OfflineModel({Question: lambda given, rng: Other(text="?")})
    with pytest.raises(ModelBroken) as broken:
        asyncio.run(model.complete(prompt()))
    assert "Reply" in broken.value.facts["reason"]
