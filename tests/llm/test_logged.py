"""Owns the tests of the log line of a model call."""

import asyncio
import json
import logging
from typing import Any

import pytest

from service.errors import ModelServerError
from service.llm.choose import choose_models
from service.llm.wrappers import Logged
from service.settings import LlmSettings, Settings
from tests.llm.prompts import TURN, ask
from tests.scripted_model import ScriptedModel
from tests.servers.fake_openai import FakeOpenAI, Reply, failing


def said(body: dict[str, Any]) -> str:
    return json.dumps(TURN)


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What our logger told, all of it at DEBUG."""
    ours = [record for record in caplog.records if record.name == "service.llm.wrappers"]
    assert {record.levelno for record in ours} <= {logging.DEBUG}
    return [record.getMessage() for record in ours]


def test_every_call_is_one_line_with_role_model_time_and_tokens(caplog: pytest.LogCaptureFixture) -> None:
    with (
        FakeOpenAI(Reply(latency_seconds=0.2), failing(500), Reply(), answer=said) as server,
        caplog.at_level(logging.DEBUG, "service"),
    ):
        llm = LlmSettings(base_url=server.base_url, model="m", attempts=2, backoff_seconds=0)

        async def run() -> None:
            models = choose_models(Settings(_env_file=None, llm=llm), ScriptedModel())
            await models.for_role("npc").complete(ask(role="npc"))
            await models.for_role("closing").complete(ask(role="closing"))
            await models.aclose()

        asyncio.run(run())
    first, failed, again = lines_of(caplog)
    assert first.startswith("npc openai:m: ")
    assert 200 <= int(first.split(": ")[1].split(" ms")[0]) < 5000
    written = max(1, len(said({})) // 4)
    assert first.endswith(f" ms, 40 + {written} tokens, answered")
    assert failed.startswith("closing openai:m: ")
    assert failed.endswith(" ms, 0 + 0 tokens, model-server-error")
    assert again.endswith(f" ms, 40 + {written} tokens, answered")
    assert TURN["utterance"] not in caplog.text
    assert "You are Ren." not in caplog.text


def test_an_error_and_a_cancelled_call_have_their_line_too(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel(ModelServerError(model="scripted", status_code=500, reason="no"), TURN)
    logged = Logged(model)

    async def run() -> None:
        with pytest.raises(ModelServerError):
            await logged.complete(ask())
        model.latency_seconds = 30
        call = asyncio.create_task(logged.complete(ask()))
        await asyncio.sleep(0)  # it begins
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await logged.aclose()

    with caplog.at_level(logging.DEBUG, "service"):
        asyncio.run(run())
    assert [line.rpartition(", ")[2] for line in lines_of(caplog)] == ["model-server-error", "cancelled"]
    assert logged.name == "scripted"


def test_at_the_usual_level_nothing_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "service"):
        asyncio.run(Logged(ScriptedModel(TURN)).complete(ask()))
    assert lines_of(caplog) == []
