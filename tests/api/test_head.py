"""Owns the tests of HEAD: what a GET would be answered, without its body, and no stream goes on behind it."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message

from service.api.middleware import HeadAsGet
from service.api.stream import EventStream


@pytest.mark.parametrize("path", ["/", "/docs", "/world", "/v1/models", "/view/static/api.js", "/nowhere", "/readyz"])
def test_a_head_is_answered_as_a_get_is_without_its_body(client: TestClient, path: str) -> None:
    asked, whole = client.head(path), client.get(path)
    assert (asked.status_code, asked.content) == (whole.status_code, b"")
    for name in ("content-type", "content-length"):
        assert asked.headers[name] == whole.headers[name]


def test_a_head_of_what_is_only_written_is_refused(client: TestClient) -> None:
    answer = client.head("/world/tick")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_stream_whose_head_alone_is_asked_for_ends() -> None:
    async def events() -> AsyncGenerator[bytes]:
        while True:
            yield b"data: 1\n\n"
            await asyncio.sleep(0)

    sent: list[Message] = []
    answered = asyncio.Event()

    async def receive() -> Message:
        await answered.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)
        if not message.get("more_body", True):
            answered.set()

    async def play() -> None:
        scope = {"type": "http", "method": "HEAD", "asgi": {"spec_version": "2.3"}}
        async with asyncio.timeout(10):
            await HeadAsGet(EventStream.of(events()))(scope, receive, send)

    asyncio.run(play())
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[1] == {"type": "http.response.body", "body": b"", "more_body": False}
