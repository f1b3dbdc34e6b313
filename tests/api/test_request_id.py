"""Every answer, every problem and every line of the log says which request it belongs to."""

import json
import logging
import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from service.app import create_app
from service.logs import JsonLine, TextLine
from tests.api.play import problem, settings_for, write_village

MADE = re.compile(r"[0-9a-f]{32}")


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return create_app(settings_for(tmp_path, write_village(tmp_path / "game"), llm={"provider": "rehearsal"}))


def test_an_id_that_a_client_gives_comes_back_with_the_answer_and_in_the_problem(app: FastAPI) -> None:
    with TestClient(app) as client:
        given = {"X-Request-Id": "turn-7/of:game"}
        assert client.get("/world", headers=given).headers["X-Request-Id"] == "turn-7/of:game"
        assert problem(client.get("/npcs/nobody", headers=given), 404)["request_id"] == "turn-7/of:game"
        refused = client.get("/world", headers={**given, "Host": "evil.example"})
        assert problem(refused, 403)["request_id"] == refused.headers["X-Request-Id"] == "turn-7/of:game"


@pytest.mark.parametrize("given", [None, "", "a b", "x" * 129, "line\tbreak", "é"])
def test_without_a_sane_one_an_id_is_made_for_each_request(app: FastAPI, given: str | None) -> None:
    headers = {} if given is None else {b"X-Request-Id": given.encode()}
    with TestClient(app) as client:
        answers = [client.get("/npcs/nobody", headers=headers) for _ in range(2)]
    made = [answer.headers["X-Request-Id"] for answer in answers]
    assert all(MADE.fullmatch(one) for one in made)
    assert len(set(made)) == 2
    assert [answer.json()["request_id"] for answer in answers] == made


def test_a_bug_is_answered_and_logged_with_its_request(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    app = create_app(settings_for(tmp_path, write_village(tmp_path / "game"), llm={"provider": "rehearsal"}))
    told: list[str] = []
    log = logging.getLogger("service.buggy")

    @app.get("/buggy")
    async def buggy() -> None:
        log.warning("about to fail")
        told.extend(formatter.format(caplog.records[-1]) for formatter in (JsonLine(), TextLine()))
        raise RuntimeError("a bug")

    with TestClient(app, raise_server_exceptions=False) as client:
        answer = client.get("/buggy", headers={"X-Request-Id": "r1"})
    assert problem(answer, 500)["request_id"] == answer.headers["X-Request-Id"] == "r1"
    line = json.loads(told[0])
    assert line.pop("time").endswith("+00:00")
    assert line == {"level": "warning", "logger": "service.buggy", "message": "about to fail", "request_id": "r1"}
    assert told[1] == "WARNING service.buggy: about to fail [r1]"
