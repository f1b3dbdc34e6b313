"""Measures how soon a player sees, and can hear, what a model begins to say: beyond a model that speaks 30 tokens a
second, for one player and for fifty at once.

The model is an OpenAI-compatible server in a process of its own, which notes when it sends the first character of an
utterance, and the first after its first sentence. Service and model are asked over HTTP; clocks are the machine's one.
"""

import asyncio
import json
import multiprocessing
import re
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from service.app import create_app
from service.settings import Settings
from tests.end_to_end.process import forked

AT_ONCE = (1, 50)
SAYS = {1: 20, 50: 4}
"""How often each says something."""
TOKENS_PER_SECOND = 30.0
PIECE = 4
"""Characters of a token."""
UTTERANCE = "The boats came back early today. Nobody knows why, and nobody asks. Will you stay until the evening?"
SENTENCE = UTTERANCE.index(".") + 2
"""The character that makes the first sentence certain."""
ANSWER = {"emotion": "neutral", "utterance": UTTERANCE, "wants_to_end": False}

Times = tuple[float, float]
"""When the first character was there, and the first sentence, in seconds of the machine's clock."""


@dataclass(frozen=True, kw_only=True)
class _Heard:
    """Milliseconds after the model, of every utterance."""

    delta: list[float]
    sentence: list[float]


def run(at_once: tuple[int, ...] = AT_ONCE, says: int | None = None) -> dict[str, float]:
    """Figures: milliseconds from what the model sends to what the player is told, first characters and first sentence:
    p50 and p95.
    """
    figures: dict[str, float] = {}
    for players in at_once:
        heard = _measure(players, says or SAYS[players])
        name = "" if players == 1 else f"_{players}_at_once"
        for kind, values in (("first_delta", heard.delta), ("first_sentence", heard.sentence)):
            ranked = statistics.quantiles(values, n=20) if len(values) > 1 else values * 19
            figures[f"{kind}_ms_p50{name}"] = round(statistics.median(values), 2)
            figures[f"{kind}_ms_p95{name}"] = round(ranked[-1], 2)
    return figures


def _measure(players: int, says: int) -> _Heard:
    with tempfile.TemporaryDirectory() as directory, process(speak) as (model, sent):
        with process(_serve, directory, model, players) as (service, _):
            heard = asyncio.run(_play(service, players, says))
        sent.send("all")
        begun: dict[str, Times] = sent.recv()
    late = [[1000 * (one - own) for one, own in zip(heard[word], begun[word], strict=True)] for word in heard]
    return _Heard(delta=[delta for delta, _ in late], sentence=[sentence for _, sentence in late])


@contextmanager
def process(work: Any, *given: Any) -> Iterator[tuple[str, "Connection[Any, Any]"]]:
    """A process that says where it listens."""
    here, there = multiprocessing.Pipe()
    process = forked(work, there, *given)
    try:
        yield here.recv(), here
    finally:
        process.terminate()
        process.join()


# ---- the players -----------------------------------------------------------------------------------------------------


async def _play(url: str, players: int, says: int) -> dict[str, Times]:
    async with httpx.AsyncClient(base_url=url, timeout=120) as http:
        told = await asyncio.gather(*(_player(http, number, says) for number in range(players)))
    return {word: times for one in told for word, times in one.items()}


async def _player(http: httpx.AsyncClient, number: int, says: int) -> dict[str, Times]:
    """One player in a world of its own. What it says names the turn, so that the model knows whom it answers."""
    world = {"X-World-Id": f"w{number}"}
    await http.put("/people/ken", json={"kind": "player", "name": "Ken"}, headers=world)
    start = {"mode": "player", "player_id": "ken", "partner_id": "npc_taro"}
    path = f"/conversations/{(await http.post('/conversations/start', json=start, headers=world)).json()['id']}"
    heard: dict[str, Times] = {}
    async with http.stream("GET", f"{path}/stream", headers=world) as events:
        lines = events.aiter_lines()
        for turn in range(says):
            word = f"word{number}x{turn}"
            await http.post(f"{path}/say", json={"text": f"And {word}?"}, headers=world)
            first: dict[str, float] = {}
            async for line in lines:
                kind = line.removeprefix("event: ") if line.startswith("event: ") else ""
                if kind in ("utterance.delta", "utterance.sentence"):
                    first.setdefault(kind, time.monotonic())
                elif kind == "utterance.completed" and "utterance.delta" in first:
                    break
            heard[word] = first["utterance.delta"], first["utterance.sentence"]
    return heard


# ---- the service -----------------------------------------------------------------------------------------------------


def _serve(told: "Connection[Any, Any]", directory: str, model: str, players: int) -> None:
    settings = Settings(
        _env_file=None,
        data_dir=Path(directory),
        log_level="error",
        embedding={"provider": "none"},
        world={"language": "en", "decision": "routine"},
        llm={"base_url": model, "model": "paced", "max_concurrency": players, "api_key": "none"},
    )
    server = uvicorn.Server(uvicorn.Config(create_app(settings), log_level="error"))
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)

    async def serve() -> None:
        told.send(f"http://127.0.0.1:{listening.getsockname()[1]}")
        await server.serve([listening])

    asyncio.run(serve())


# ---- the model -------------------------------------------------------------------------------------------------------


def speak(told: "Connection[Any, Any]") -> None:
    asyncio.run(_Model().serve(told))


class _Model:
    """Streams the same answer to everybody, token by token."""

    def __init__(self) -> None:
        self._begun: dict[str, Times] = {}

    async def serve(self, told: "Connection[Any, Any]") -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        told.send(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        async with server:
            await asyncio.to_thread(told.recv)
            told.send(self._begun)
            await asyncio.sleep(60)  # the one who asked ends it

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
                asked = json.loads(await reader.readexactly(int(length[1]))) if length else {}
                await self._complete(writer, asked)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            writer.close()

    async def _complete(self, writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        word = re.findall(r"word\d+x\d+", asked["messages"][-1]["content"])[-1]
        content = json.dumps(ANSWER)
        first = content.index(UTTERANCE)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        begun = time.monotonic()
        for number, at in enumerate(range(0, len(content), PIECE)):
            await asyncio.sleep(max(0, begun + number / TOKENS_PER_SECOND - time.monotonic()))
            if at <= first < at + PIECE:
                self._begun[word] = (time.monotonic(), 0.0)
            if at <= first + SENTENCE < at + PIECE:
                self._begun[word] = (self._begun[word][0], time.monotonic())
            await _send(writer, {"content": content[at : at + PIECE]})
        await _send(writer, {}, "stop")
        data = b"data: [DONE]\n\n"
        writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data))
        await writer.drain()


async def _send(writer: asyncio.StreamWriter, delta: dict[str, str], finish: str | None = None) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "paced", "choices": [choice]}
    data = f"data: {json.dumps(chunk)}\n\n".encode()
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))
    await writer.drain()
