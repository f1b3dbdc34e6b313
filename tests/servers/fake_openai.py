"""Owns a small real HTTP server that speaks OpenAI chat completions and responses, and misbehaves on demand."""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

_PHRASES = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the server does with one request. `content` None: what the default handler answers."""

    content: str | None = None
    status: int = 200
    error: Any = None
    """The body's ``error``; with status 200 it comes instead of the rest of the answer."""
    headers: dict[str, str] = field(default_factory=dict)
    piece: int = 7
    """Characters of the content in one streamed chunk."""
    finish_reason: str | None = "stop"
    refusal: str | None = None
    reasoning: str | None = None
    usage: bool = True
    latency_seconds: float = 0
    pause_seconds: float = 0
    """Between a stream's chunks, or between pieces of so many bytes of a `raw` body."""
    hangs: bool = False
    hangs_after: int = 0
    """A stream's characters before it hangs."""
    cut_after: int | None = None
    """A stream's characters before the connection breaks."""
    ends_cleanly: bool = False
    """The cut is an orderly end of the response, as from a proxy that lost its server."""
    raw: bytes | None = None
    """The whole body, in place of a completion."""


def failing(status: int, message: str = "out of order", **error: Any) -> Reply:
    """An HTTP error."""
    return Reply(status=status, error={"message": message, **error})


def rate_limited(retry_after: str | None = None) -> Reply:
    """429, with Retry-After if one is given."""
    return replace(failing(429, "slow down"), headers={} if retry_after is None else {"Retry-After": retry_after})


def unsupported(param: str, named: bool = True) -> Reply:
    """400 about a parameter; named in ``param``, or only in the message."""
    message = f"Unsupported parameter: '{param}' is not supported with this model."
    return failing(400, message, type="invalid_request_error", param=param if named else None)


def hanging() -> Reply:
    """Never answers; a stream stalls after its first chunk."""
    return Reply(hangs=True)


def thinking(content: str, thought: str = 'I might say {"utterance": "no"}.') -> Reply:
    """An answer after a think block."""
    return Reply(content=f"<think>{thought}</think>\n{content}")


def example(schema: dict[str, Any]) -> Any:
    """A small value that fits a JSON schema without references."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {name: example(field) for name, field in schema.get("properties", {}).items()}
    if kind == "array":
        return [example(schema["items"])] * schema.get("minItems", 0)
    if kind == "string":
        return "good day"[: schema.get("maxLength", 8)]
    return {"boolean": False, "integer": schema.get("minimum", 0), "number": schema.get("minimum", 0)}.get(str(kind))


def answer_by_schema(body: dict[str, Any]) -> str:
    """The default handler: a small value of the schema in the request."""
    described = body.get("response_format", {}).get("json_schema", {})
    return json.dumps(example(described.get("schema", {"type": "object"})), ensure_ascii=False)


class FakeOpenAI:
    """A server in a thread, on a free port; a context manager.

    The queue of `behaviours` is used up first, then every request gets the text of `answer`. `refuses` looks at each
    body before that: a server that never understands a parameter. `requests` and `headers` keep what came in.
    """

    def __init__(
        self,
        *behaviours: Reply,
        answer: Callable[[dict[str, Any]], str] = answer_by_schema,
        refuses: Callable[[dict[str, Any]], Reply | None] = lambda body: None,
        models: tuple[str, ...] | Reply = ("fake-model",),
    ) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.listings = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.models = models
        self._queue = deque(behaviours)
        self._answer = answer
        self._refuses = refuses
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def base_url(self) -> str:
        """For the client's settings."""
        return f"http://127.0.0.1:{self.port}/v1"

    def enqueue(self, *behaviours: Reply) -> None:
        """More behaviours for the next requests."""
        self._queue.extend(behaviours)

    def __enter__(self) -> "FakeOpenAI":
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        if self._thread.is_alive():
            raise TimeoutError("The model's server did not stop.")

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port: int = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        await asyncio.sleep(0.01)  # what was accepted just now reaches _accept
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:  # as a task that was cancelled before its first step, or a full buffer
            writer.transport.abort()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        task = asyncio.create_task(self._connection(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await self._handle(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.transport.abort()  # the client has gone: nobody is left to tell
        finally:
            self.in_flight -= 1
            writer.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.headers.append(headers)
        if head[0].startswith("GET /v1/models "):
            self.listings += 1
            await self._list(writer)
        elif head[0].startswith(("POST /v1/chat/completions ", "POST /v1/responses ")):
            asked = json.loads(body)
            self.requests.append(asked)
            await self._complete(writer, asked)
        else:
            await self._whole(writer, failing(404, "Not Found"), {})

    async def _list(self, writer: asyncio.StreamWriter) -> None:
        if isinstance(self.models, Reply):
            await self._whole(writer, self.models, {})
        else:
            await self._whole(writer, Reply(), {"object": "list", "data": [{"id": name} for name in self.models]})

    async def _complete(self, writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        reply = self._refuses(asked) or (self._queue.popleft() if self._queue else Reply())
        if reply.content is None:
            reply = replace(reply, content=self._answer(asked))
        await asyncio.sleep(reply.latency_seconds)
        if reply.status == 200 and asked.get("stream") and reply.raw is None:
            await self._stream(writer, reply, asked)
            return
        if reply.hangs:
            await self._stop.wait()
        if "input" in asked:
            await self._whole(writer, reply, _response(reply))
            return
        message = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        completion = _completion(asked, "message", message, reply.finish_reason)
        if reply.usage:
            completion["usage"] = _usage(str(reply.content))
        await self._whole(writer, reply, completion)

    async def _whole(self, writer: asyncio.StreamWriter, reply: Reply, value: dict[str, Any]) -> None:
        if reply.error is not None:
            value = {"error": reply.error}
        body = json.dumps(value).encode() if reply.raw is None else reply.raw
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **reply.headers}
        writer.write(_head(reply.status, headers))
        step = reply.piece if reply.pause_seconds else max(1, len(body))
        for start in range(0, len(body), step):
            writer.write(body[start : start + step])
            await writer.drain()
            await asyncio.sleep(reply.pause_seconds)

    async def _stream(self, writer: asyncio.StreamWriter, reply: Reply, asked: dict[str, Any]) -> None:
        writer.write(_head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}))
        sent = 0
        for delta in self._deltas(reply):
            await _event(writer, _spoken(delta) if "input" in asked else _completion(asked, "delta", delta, None))
            await asyncio.sleep(reply.pause_seconds)  # at least a turn of the loop: each chunk on its own
            sent += len(delta.get("content", ""))
            if reply.hangs and sent >= reply.hangs_after:
                await self._stop.wait()
        if reply.error is not None:
            await _event(writer, {"error": reply.error})
        elif "input" in asked and reply.cut_after is None:
            ended = _response(reply)
            await _event(writer, {"type": f"response.{ended['status']}", "response": ended})
        elif reply.cut_after is None:
            await _event(writer, _completion(asked, "delta", {}, reply.finish_reason))
            if reply.usage and asked.get("stream_options", {}).get("include_usage"):
                await _event(
                    writer,
                    {**_completion(asked, "delta", {}, None), "choices": [], "usage": _usage(str(reply.content))},
                )
            await _event(writer, None)
        if reply.cut_after is None or reply.ends_cleanly:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        else:
            writer.transport.abort()

    def _deltas(self, reply: Reply) -> list[dict[str, Any]]:
        content = str(reply.content)[: reply.cut_after]
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        if reply.reasoning:
            deltas.append({"reasoning_content": reply.reasoning})
        if reply.refusal:
            deltas.append({"refusal": reply.refusal})
        deltas += [{"content": content[i : i + reply.piece]} for i in range(0, len(content), reply.piece)]
        return deltas


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_PHRASES.get(status, 'Status')}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _spoken(delta: dict[str, Any]) -> dict[str, Any]:
    """A piece of an answer as the Responses API streams it."""
    if "refusal" in delta:
        return {"type": "response.refusal.delta", "delta": delta["refusal"]}
    return {"type": "response.output_text.delta", "delta": delta.get("content", "")}


def _response(reply: Reply) -> dict[str, Any]:
    """A whole answer of the Responses API, after an item of its thinking."""
    why = {"length": "max_output_tokens"}.get(str(reply.finish_reason), reply.finish_reason)
    parts = [{"type": "output_text", "text": reply.content}]
    if reply.refusal:
        parts = [{"type": "refusal", "refusal": reply.refusal}]
    counted = _usage(str(reply.content))
    return {
        "object": "response",
        "status": {"stop": "completed", None: "in_progress"}.get(reply.finish_reason, "incomplete"),
        "incomplete_details": None if why in ("stop", None) else {"reason": why},
        "output": [
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm {"}]},
            {"type": "message", "role": "assistant", "content": parts},
        ],
        "usage": {
            "input_tokens": counted["prompt_tokens"],
            "output_tokens": counted["completion_tokens"],
            "input_tokens_details": counted["prompt_tokens_details"],
        }
        if reply.usage
        else None,
    }


async def _event(writer: asyncio.StreamWriter, value: dict[str, Any] | None) -> None:
    data = b"data: " + (b"[DONE]" if value is None else json.dumps(value).encode()) + b"\n\n"
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))
    await writer.drain()


def _completion(asked: dict[str, Any], key: str, value: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    choice = {"index": 0, key: value, "finish_reason": finish_reason}
    return {"id": "fake", "object": "chat.completion", "created": 0, "model": asked.get("model"), "choices": [choice]}


def _usage(content: str) -> dict[str, Any]:
    return {
        "prompt_tokens": 40,
        "completion_tokens": max(1, len(content) // 4),
        "total_tokens": 40 + len(content) // 4,
        "prompt_tokens_details": {"cached_tokens": 32},
    }
