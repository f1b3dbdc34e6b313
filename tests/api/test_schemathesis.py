"""Owns the run of schemathesis over the whole API: requests nobody here thought of, judged by what is described."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.app import create_app
from service.content.files import bundled_content
from tests.api.play import serve, settings_for
from world.ids import is_slug

PATIENCE = 3
CONFIG = Path(__file__).with_name("schemathesis.toml")
ENV = {
    "NO_PROXY": "*",
    "SCHEMATHESIS_HOOKS": "tests.api.schemathesis_hooks",
    "PYTHONPATH": str(Path(__file__).parents[2]),
}


class Patient:
    """Lets years pass as minutes, and a hasty clock run slowly: what is asked for is lived, minute by minute. Who would
    wait for news is answered at once.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/updates"):
            scope = {**scope, "query_string": _at_once(scope["query_string"])}
        if scope["type"] != "http" or scope["path"] not in ("/world/tick", "/world/clock"):
            await self._app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        body = _patient(body)
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
        scope = {**scope, "headers": [*headers, (b"content-length", str(len(body)).encode())]}
        told = False

        async def once() -> Message:
            nonlocal told
            if told:
                return await receive()
            told = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, once, send)


class OneWorld:
    """Who names a world in the query and another in the header is refused (test_worlds.py); here the query counts, or
    every operation would have to be allowed to refuse what fits its description.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and b"world_id=" in scope["query_string"]:
            scope = {**scope, "headers": [one for one in scope["headers"] if not _names_a_world(*one)]}
        await self._app(scope, receive, send)


def _names_a_world(name: bytes, value: bytes) -> bool:
    """One that fits the description: what does not is refused as anywhere."""
    return name == b"x-world-id" and is_slug(value.decode("latin-1"))


def _at_once(query: bytes) -> bytes:
    """The same query that waits for nothing; one that is refused stays as it is."""
    asked = parse_qsl(query.decode("latin-1"), keep_blank_values=True, encoding="latin-1")
    waits = [value for name, value in asked if name == "wait"]
    if any(re.fullmatch(r"[0-9]+(\.[0-9]+)?", value) is None or float(value) > 60 for value in waits):
        return query
    others = [(name, value) for name, value in asked if name != "wait"]
    return urlencode([*others, ("wait", "0")], encoding="latin-1").encode()


def _patient(body: bytes) -> bytes:
    """The same request for at most `PATIENCE`; what is refused stays as it is."""
    try:
        asked = json.loads(body)
    except ValueError:
        return body
    for name, most in (("ticks", 10_000_000), ("speed", 100_000)):
        value = asked.get(name) if isinstance(asked, dict) else None
        if isinstance(value, int | float) and PATIENCE < value <= most:
            asked[name] = PATIENCE if float(value).is_integer() or name == "speed" else value
    return json.dumps(asked).encode()


@pytest.fixture
def village_url(tmp_path: Path) -> Iterator[str]:
    """The sample village in Japanese, as a rehearsal, on a real uvicorn."""
    app = create_app(settings_for(tmp_path, bundled_content(), language="ja", llm={"provider": "rehearsal"}))
    app.add_middleware(Patient)
    app.add_middleware(OneWorld)
    with serve(app) as url:
        yield url


@pytest.mark.server
@pytest.mark.long
def test_schemathesis_finds_nothing(village_url: str, tmp_path: Path) -> None:
    """All checks, also where one answer leads to the next request; a finding fails with schemathesis's own report."""
    command = [
        *(
            str(Path(sys.executable).parent / "schemathesis"),
            "--config-file",
            str(CONFIG),
            "run",
            f"{village_url}/openapi.json",
        ),
        *("--checks", "all", "--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "1"),
        *("--seed", "7", "--generation-deterministic"),
        *("--request-timeout", "20", "--max-response-time", "15", "--workers", "1", "--no-color"),
    ]
    # few variables, for each request looks through all of them
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | ENV
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, env=environment)
    assert told.returncode == 0, told.stdout[-12_000:] + told.stderr[-2000:]
