"""Owns the tests of the log line of a model call."""

import asyncio
import json
import logging
from typing import Any

import pytest

from service.errors import ModelServerError
from service.llm.wrappers import ModelHealth, Watched
from tests.llm.prompts import TURN, ask
from tests.scripted_model import ScriptedModel


def said(body: dict[str, Any]) -> str:
    return json.dumps(TURN)


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What our logger told, all of it at DEBUG."""
    ours = [record for record in caplog.records if record.name == "service.llm.observe"]
    assert {record.levelno for record in ours} <= {logging.DEBUG}
    return [record.getMessage() for record in ours]


def test_an_error_and_a_cancelled_call_have_their_line_too(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel(ModelServerError(model="scripted", status_code=500, reason="no"), TURN)
    logged = Watched(model, ModelHealth())

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
