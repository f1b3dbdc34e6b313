"""Owns a model server for benchmarks, in a process of its own: OpenAI chat completions, valid answers, lognormal
latency.

No language model: what it answers fits the schema of the request and is a function of the prompt, and so is how long
it takes. Two runs that ask the same get the same, after the same time.
"""

import asyncio
import json
import math
import multiprocessing
import random
import re
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from multiprocessing.connection import Connection
from typing import Any

from service.llm.chat import estimate_tokens

MODEL = "made-up"
_PIECE = 24
"""Characters of the content in one streamed chunk."""
_SAID = (
    "The boats came back early today, and nobody knows why.",
    "My sister wrote that the road over the hill is open again.",
    "I have been thinking about what you told me last time.",
    "There will be rice cakes at the shrine if the weather holds.",
    "The old clock stopped twice this week, always at the same hour.",
    "If you see the carpenter, tell him the roof leaks again.",
    "I could use some help in the garden before the rain comes.",
    "That is good to hear. I was worried about you, to be honest.",
)
_OFTEN = {"wants_to_end": 0.2, "goal_achieved": 0.15}
"""How often a yes or no is yes; half of the time where the name is not here."""
_OFFER = re.compile(r"^(\d+) (.+)$", re.MULTILINE)
_HOUR = re.compile(r"^(\d\d:\d\d) ([^(\n]+?)(?: \((.+)\))?$", re.MULTILINE)


@dataclass(kw_only=True)
class Tally:
    """What was asked so far."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    latency_seconds: float = 0.0
    schemas: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ModelServer:
    """Where it listens."""

    base_url: str

    def leave(self) -> None:
        """From now on it hangs up on whoever asks for an answer, and on whoever waits for one."""
        urllib.request.urlopen(f"{self.base_url}/leave").close()  # noqa: S310  our own server

    def come_back(self) -> None:
        """From now on it answers again."""
        urllib.request.urlopen(f"{self.base_url}/come-back").close()  # noqa: S310  our own server

    def tally(self) -> Tally:
        """What it was asked so far."""
        with urllib.request.urlopen(f"{self.base_url}/tally") as answer:  # noqa: S310  our own server
            return Tally(**json.load(answer))


@contextmanager
def model_server(
    *, mean_seconds: float, sigma: float = 0.6, seed: int = 1, may_end: bool = True
) -> Iterator[ModelServer]:
    """Run it. `mean_seconds`: of its lognormal latency, already scaled down. Unless it `may_end` a talk, it never wants
    to.
    """
    here, there = multiprocessing.Pipe()
    spawn = multiprocessing.get_context("spawn")
    process = spawn.Process(target=_run, args=(there, mean_seconds, sigma, seed, may_end), daemon=True)
    process.start()
    try:
        yield ModelServer(base_url=f"http://127.0.0.1:{here.recv()}/v1")
    finally:
        process.terminate()
        process.join()


def _run(started: "Connection[int, int]", mean_seconds: float, sigma: float, seed: int, may_end: bool) -> None:
    asyncio.run(_Desk(mean_seconds, sigma, seed, may_end).serve(started))


class _Desk:
    def __init__(self, mean_seconds: float, sigma: float, seed: int, may_end: bool) -> None:
        self._mean, self._sigma, self._seed, self._may_end = mean_seconds, sigma, seed, may_end
        self._tally = Tally()
        self._is_away = False

    async def serve(self, started: "Connection[int, int]") -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        started.send(server.sockets[0].getsockname()[1])
        async with server:
            await server.serve_forever()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1])) if length else b""
                await self._handle(writer, head.split(" ", 2)[1], body)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            writer.close()

    async def _handle(self, writer: asyncio.StreamWriter, path: str, body: bytes) -> None:
        if path.endswith("/chat/completions"):
            await self._complete(writer, json.loads(body))
        elif path.endswith("/models"):
            _whole(writer, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        elif path.endswith("/tally"):
            _whole(writer, vars(self._tally))
        elif path.endswith(("/leave", "/come-back")):
            self._is_away = path.endswith("/leave")
            _whole(writer, {})
        else:
            _whole(writer, {"error": {"message": f"no {path} here"}}, status="404 Not Found")
        await writer.drain()

    async def _complete(self, writer: asyncio.StreamWriter, asked: Mapping[str, Any]) -> None:
        texts = [message["content"] for message in asked["messages"]]
        draw = random.Random(blake2b("\n".join([str(self._seed), *texts]).encode(), digest_size=8).digest())
        seconds = self._mean * draw.lognormvariate(-(self._sigma**2) / 2, self._sigma)
        described = asked.get("response_format", {}).get("json_schema", {})
        value = answer(described.get("schema", {}), texts, draw)
        if "wants_to_end" in value:
            value["wants_to_end"] = value["wants_to_end"] and self._may_end
        content = json.dumps(value, ensure_ascii=False)
        usage = self._count(described.get("name", "?"), texts, content, seconds)
        self._tally.in_flight += 1
        self._tally.most_in_flight = max(self._tally.most_in_flight, self._tally.in_flight)
        await asyncio.sleep(seconds)
        self._tally.in_flight -= 1
        if self._is_away:
            raise ConnectionResetError
        if asked.get("stream"):
            _stream(writer, content, usage)
        else:
            message = {"role": "assistant", "content": content}
            _whole(writer, {**_said("message", message, "stop"), "usage": usage})

    def _count(self, schema: str, texts: list[str], content: str, seconds: float) -> dict[str, int]:
        tally, prompt, completion = self._tally, sum(estimate_tokens(t) + 4 for t in texts), estimate_tokens(content)
        tally.calls += 1
        tally.prompt_tokens += prompt
        tally.completion_tokens += completion
        tally.latency_seconds += seconds
        tally.schemas[schema] = tally.schemas.get(schema, 0) + 1
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def answer(schema: Mapping[str, Any], texts: list[str], draw: random.Random) -> Any:
    """Something that fits the schema; a decision chooses among the options the prompt numbers, a plan keeps the usual
    day.
    """
    fields = schema.get("properties", {})
    value = _fitting(schema, draw)
    if "choice" in fields:
        value["choice"], value["target"] = _choice(texts, draw), ""
    if set(fields) == {"blocks"}:
        value["blocks"] = _blocks(texts)
    return value


def _choice(texts: list[str], draw: random.Random) -> int:
    """Mostly what the day says; a repaired answer chooses again."""
    listed = [text for text in texts if _OFFER.search(text)]
    offers = [(int(number), text) for number, text in _OFFER.findall(listed[-1])] if listed else [(1, "")]
    planned = [number for number, text in offers if text.endswith("]")]
    return draw.choice(planned) if planned and draw.random() < 0.6 else draw.choice(offers)[0]


def _blocks(texts: list[str]) -> list[dict[str, Any]]:
    """The usual day from now on, or an hour at home and the rest of the day there."""
    places = {name.split(":")[0].strip(): int(number) for number, name in _OFFER.findall(texts[0])}
    now = next(iter(re.findall(r"\d\d:\d\d", texts[-1])), "07:00")
    usual = [(at, activity, place) for at, activity, place in _HOUR.findall(texts[-1]) if at >= now]
    blocks = [(now, "at home", ""), *(line for line in usual if line[0] > now)][:8]
    if len(blocks) < 2:
        blocks.append((f"{(int(now[:2]) + 1) % 24:02d}:{now[3:]}", "at home", ""))
    return [
        {"starts": at, "activity": activity[:80], "place": _place(places, place), "action": ""}
        for at, activity, place in blocks
    ]


def _place(places: Mapping[str, int], name: str) -> int:
    return next((number for listed, number in places.items() if name and listed.startswith(name)), 0)


def _fitting(schema: Mapping[str, Any], draw: random.Random, name: str = "") -> Any:
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw.choice(schema["enum"])
    if "anyOf" in schema:
        return _fitting(schema["anyOf"][0], draw, name)
    kind = schema.get("type")
    if kind == "object":
        return {key: _fitting(part, draw, key) for key, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [_fitting(schema["items"], draw, name) for _ in range(schema.get("minItems", 0))]
    if kind == "boolean":
        return draw.random() < _OFTEN.get(name, 0.5)
    if kind in ("integer", "number"):
        lowest = math.ceil(schema.get("minimum", 0))
        return draw.randint(lowest, math.floor(min(schema.get("maximum", lowest + 5), lowest + 5)))
    if kind == "string":
        return _text(schema, draw)
    return None


def _text(schema: Mapping[str, Any], draw: random.Random) -> str:
    if "pattern" in schema:
        return "" if re.search(schema["pattern"], "") else "07:00"
    said = " ".join(draw.sample(_SAID, 2))
    return said[: schema.get("maxLength", len(said))]


def _said(key: str, value: dict[str, Any], finish: str | None) -> dict[str, Any]:
    choice = {"index": 0, key: value, "finish_reason": finish}
    return {"id": "made-up", "object": "chat.completion", "created": 0, "model": MODEL, "choices": [choice]}


def _whole(writer: asyncio.StreamWriter, value: object, status: str = "200 OK") -> None:
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)


def _stream(writer: asyncio.StreamWriter, content: str, usage: Mapping[str, int]) -> None:
    """All chunks at once: the latency is over, and a client that counts its own CPU reads them as they come."""
    pieces = [content[i : i + _PIECE] for i in range(0, len(content), _PIECE)]
    chunks: list[object] = [_said("delta", {"role": "assistant", "content": piece}, None) for piece in pieces]
    chunks.append(_said("delta", {}, "stop"))
    chunks.append({**_said("delta", {}, None), "choices": [], "usage": usage})
    data = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(data.encode())}\r\n\r\n"
    writer.write(head.encode() + data.encode())
