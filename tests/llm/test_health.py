"""Owns the tests of how the models have been doing."""

import asyncio

import pytest

from service.errors import ModelError, ModelNotConfigured, ModelServerError
from service.llm.chat import Role
from service.llm.choose import ROLES, Models, NotConfigured
from service.llm.wrappers import CALLS, ModelHealth, Watched
from tests.llm.prompts import TURN, ask
from tests.scripted_model import ScriptedModel

AWAY = ModelServerError(model="gpt-x", status_code=500, reason="out of order")


def call(model: Watched, role: Role, times: int = 1) -> None:
    async def run() -> None:
        for _ in range(times):
            try:
                await model.complete(ask(role=role))
            except ModelError:
                continue

    asyncio.run(run())


def test_a_first_failure_tells_and_an_answer_ends_it() -> None:
    health, script = ModelHealth(), ScriptedModel(AWAY, TURN)
    call(Watched(script, health), "npc")
    assert health.failing() == {"npc": AWAY}
    call(Watched(script, health), "npc")
    assert health.failing() == {}


def test_after_an_answer_it_takes_some_failures_in_a_row() -> None:
    health, script = ModelHealth(), ScriptedModel(TURN, *[AWAY] * (CALLS - 1), TURN, *[AWAY] * CALLS)
    model = Watched(script, health)
    call(model, "npc", times=CALLS)
    assert health.failing() == {}
    call(model, "npc", times=CALLS)
    assert health.failing() == {}
    call(model, "npc")
    assert health.failing() == {"npc": AWAY}


def test_each_role_stands_for_itself() -> None:
    health = ModelHealth()
    call(Watched(ScriptedModel(AWAY, TURN), health), "npc")
    call(Watched(ScriptedModel(TURN), health), "character")
    assert list(health.failing()) == ["npc"]


def test_a_role_that_failed_is_found_well_by_a_probe_and_others_are_not_asked() -> None:
    script = ScriptedModel()
    models = Models(dict.fromkeys(ROLES, script))

    async def run() -> None:
        script.enqueue(AWAY, role="npc")
        with pytest.raises(ModelServerError):
            await models.for_role("npc").complete(ask(role="npc"))
        for answer in (AWAY, {"utterance": "yes"}):
            assert list(models.health.failing()) == ["npc"]
            script.enqueue(answer, role="npc")
            await models.probe()

    asyncio.run(run())
    assert models.health.failing() == {}
    assert [prompt.role for prompt in script.history] == ["npc"] * 3


def test_a_model_that_nobody_configured_has_not_been_asked() -> None:
    health = ModelHealth()
    with pytest.raises(ModelNotConfigured):
        asyncio.run(Watched(NotConfigured(), health).complete(ask(role="npc")))
    assert health.failing() == {}
