"""Owns the tests of patience: what is asked again, when, and at what cost."""

import asyncio
import random
from itertools import pairwise

import pytest

from service.conversation.acting import CharacterTurn
from service.errors import (
    ModelBroken,
    ModelEmpty,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelServerError,
    ModelTimeout,
    ModelTruncated,
    ModelUnreachable,
)
from service.llm.chat import Answer, Prompt, T, TextListener
from service.llm.wrappers import ConcurrencyLimit, Limited, Retrying
from service.usage import Usage
from tests.llm.prompts import TURN, ask
from tests.scripted_model import ScriptedModel


def timeout() -> ModelError:
    return ModelTimeout(model="m", seconds=1)


def limited(seconds: float | None) -> ModelError:
    return ModelRateLimited(model="m", retry_after_seconds=seconds)


class Patience:
    """A Retrying over a script, with the seconds it slept."""

    def __init__(self, *script: ModelError | dict[str, object], attempts: int = 3, backoff: float = 1) -> None:
        self.inner = ScriptedModel(*script)
        self.slept: list[float] = []
        self.model = Retrying(
            self.inner,
            attempts=attempts,
            backoff_seconds=backoff,
            rng=random.Random(1),
            sleep=self._sleep,
        )

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def run(self) -> Answer[CharacterTurn]:
        return asyncio.run(self.model.complete(ask()))


@pytest.mark.parametrize(
    "error",
    [
        limited(None),
        ModelUnreachable(model="m", base_url="u", reason="r"),
        ModelServerError(model="m", status_code=500, reason="r"),
    ],
)
def test_passing_troubles_are_tried_up_to_the_limit(error: ModelError) -> None:
    patience = Patience(error, error, error, TURN)
    with pytest.raises(type(error)):
        patience.run()
    assert len(patience.inner.history) == 3


@pytest.mark.parametrize(
    "error",
    [ModelBroken(model="m", reason="r"), ModelEmpty(model="m"), ModelTruncated(model="m", max_tokens=1), timeout()],
)
def test_what_each_try_pays_or_waits_for_in_full_is_tried_once_more(error: ModelError) -> None:
    patience = Patience(error, ModelEmpty(model="m"), TURN, attempts=5)
    with pytest.raises(ModelEmpty):
        patience.run()
    assert len(patience.inner.history) == 2


@pytest.mark.parametrize(
    "error",
    [
        ModelRejected(model="m", status_code=401, reason="r", setting="S"),
        ModelRefused(model="m", reason="r"),
    ],
)
def test_what_a_retry_cannot_help_is_not_tried_again(error: ModelError) -> None:
    patience = Patience(error, TURN)
    with pytest.raises(type(error)):
        patience.run()
    assert patience.slept == []


def test_waits_are_drawn_below_a_ceiling_that_doubles() -> None:
    patience = Patience(*[limited(None) for _ in range(7)], TURN, attempts=9)
    patience.run()
    ceilings = [1, 2, 4, 8, 16, 30, 30]
    assert len(patience.slept) == len(ceilings)
    assert all(0 <= wait <= ceiling for wait, ceiling in zip(patience.slept, ceilings, strict=True))
    assert any(a != b for a, b in pairwise(patience.slept))
    assert max(patience.slept) > 4


def test_retry_after_is_waited_for() -> None:
    patience = Patience(limited(12), TURN)
    patience.run()
    assert 12 <= patience.slept[0] <= 13


def test_a_retry_after_that_is_too_long_is_raised_at_once() -> None:
    patience = Patience(limited(31), TURN)
    with pytest.raises(ModelRateLimited):
        patience.run()
    assert patience.slept == []


def test_the_answer_carries_the_cost_of_the_failed_tries() -> None:
    broken = ModelBroken(model="m", reason="r")
    broken.usage = Usage(calls=2, prompt_tokens=100, completion_tokens=50)
    alone = Patience(TURN).run().usage
    usage = Patience(broken, TURN).run().usage
    assert usage.calls == 3
    assert usage.prompt_tokens == 100 + alone.prompt_tokens
    assert usage.completion_tokens == 50 + alone.completion_tokens


def test_the_error_finally_raised_carries_the_cost_of_all_tries() -> None:
    errors = [limited(None), ModelBroken(model="m", reason="r"), ModelBroken(model="m", reason="r")]
    for error in errors[1:]:
        error.usage = Usage(calls=1, prompt_tokens=10, completion_tokens=5)
    with pytest.raises(ModelBroken) as caught:
        Patience(*errors, attempts=9).run()
    assert caught.value.usage == Usage(calls=3, prompt_tokens=20, completion_tokens=10)


class CutOff(ScriptedModel):
    """Its first answer breaks off after some words."""

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        if not self.history and on_text:
            self.history.append(prompt)
            on_text("I was ab", None)
            raise ModelUnreachable(model="m", base_url="u", reason="cut")
        return await super().complete(prompt, on_text)


def test_the_listener_hears_the_next_try_from_its_beginning() -> None:
    heard: list[str] = []
    model = Retrying(
        CutOff({**TURN, "utterance": "Good day to you"}),
        attempts=2,
        backoff_seconds=0,
        rng=random.Random(1),
    )
    asyncio.run(model.complete(ask(), lambda text, _: heard.append(text)))
    assert heard == ["I was ab", "Good ", "Good day ", "Good day to ", "Good day to you"]


def test_a_cancelled_answer_is_not_tried_again() -> None:
    inner = ScriptedModel(TURN, TURN, latency_seconds=30)
    model = Retrying(inner, attempts=3, backoff_seconds=0, rng=random.Random(1))

    async def cancel() -> None:
        task = asyncio.create_task(model.complete(ask()))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())
    assert len(inner.history) == 1


class Counting(ScriptedModel):
    """Keeps how many were in flight at most."""

    now, most = 0, 0

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        Counting.now += 1
        Counting.most = max(Counting.most, Counting.now)
        try:
            await asyncio.sleep(0.001)
            return await super().complete(prompt, on_text)
        finally:
            Counting.now -= 1


def test_models_that_share_a_limit_share_it_in_every_loop() -> None:
    limit = ConcurrencyLimit(3)
    models = [Limited(Counting(*[TURN] * 10), limit) for _ in range(2)]

    async def crowd() -> None:
        await asyncio.gather(*(model.complete(ask()) for model in models for _ in range(5)))

    asyncio.run(crowd())
    asyncio.run(crowd())
    assert Counting.most == 3


def test_a_failed_answer_gives_its_slot_back() -> None:
    model = Limited(ScriptedModel(timeout(), TURN), ConcurrencyLimit(1))

    async def twice() -> None:
        with pytest.raises(ModelTimeout):
            await model.complete(ask())
        async with asyncio.timeout(1):
            await model.complete(ask())

    asyncio.run(twice())
