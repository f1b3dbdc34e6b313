"""Owns the tests of how long a model has been away."""

import asyncio

import pytest

from service.errors import ModelUnreachable
from service.llm.wrappers import ModelHealth, Watched
from tests.llm.prompts import TURN, ask
from tests.scripted_model import ScriptedModel


def test_a_model_that_answers_somebody_else_in_between_is_not_away() -> None:
    """A talk whose turn has failed asks how long to wait; another talk may have had its answer since."""
    away = ModelUnreachable(model="scripted", base_url="http://127.0.0.1:1", reason="refused")
    health = ModelHealth()
    model, role = Watched(ScriptedModel(away, TURN, away), health), ask().role

    async def run() -> list[float]:
        found = [health.failing_seconds(role)]
        for fails in (True, False, True):
            if fails:
                with pytest.raises(ModelUnreachable):
                    await model.complete(ask())
            else:
                await model.complete(ask())
            found.append(health.failing_seconds(role))
        return found

    unasked, failed, answered, failed_anew = asyncio.run(run())
    assert unasked == answered == 0
    assert 0 <= failed < 60
    assert 0 <= failed_anew < 60
