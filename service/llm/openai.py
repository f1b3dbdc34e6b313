"""Owns the talk with OpenAI-compatible servers: the only file of this package that knows the openai SDK."""

import asyncio
import json
from collections import deque
from dataclasses import replace
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import openai
from httpx2 import RequestError  # the SDK's own

from service.errors import (
    ModelBroken,
    ModelError,
    ModelRejected,
    ModelServerError,
    ModelTimeout,
    ModelUnreachable,
)
from service.llm.chat import Answer, Prompt, T, TextListener
from service.llm.dialect import Dialect
from service.llm.failure import BASE_URL, MODEL, failure
from service.llm.reply import BrokenOff, Reply, ReplyProgress
from service.llm.wrappers import PerLoop
from service.locales import Phrase
from service.settings import OPENAI_URL, is_openai
from service.usage import Usage

DEFAULT_MODEL = "gpt-4.1-mini"
_CONNECT_SECONDS = 5.0
_CEDES = (400, 404, 415, 422, 501)  # statuses that may mean "I do not know that parameter"


class OpenAIChat:
    """A ChatModel on one OpenAI-compatible server.

    `base_url` None is OpenAI itself. `model` None is the first one the server lists (OpenAI: a small default).
    `timeout_seconds` is for the whole answer, its probing of the server's dialect included. `responses`: it is asked by
    the Responses API from the first call, instead of when the server says that the model needs it.
    """

    def __init__(
        self,
        *,
        base_url: str | None,
        api_key: str,
        model: str | None = None,
        temperature: float | None = None,
        timeout_seconds: float = 60,
        responses: bool = False,
    ) -> None:
        self._base_url = base_url or OPENAI_URL
        self._api_key = api_key
        self._model = model or (DEFAULT_MODEL if is_openai(base_url) else None)
        self._temperature = temperature
        self._timeout_seconds = timeout_seconds
        is_theirs = is_openai(base_url)
        self._dialect = Dialect(
            limit="max_completion_tokens" if is_theirs else "max_tokens", cache_key=is_theirs, responses=responses
        )
        # Questions (name and thread) last answered against the schema, though the server had accepted it: the next one
        # says the schema in words too. The oldest are forgotten.
        self._broken: deque[tuple[str, str]] = deque(maxlen=1000)
        self._clients = PerLoop(self._new_client)

    @property
    def name(self) -> str:
        """``openai:`` and the model; of a weights file only its name, never the path on the server's disk."""
        model = self._model or "auto"
        if model.endswith(".gguf"):
            model = model.replace("\\", "/").rsplit("/", 1)[-1]
        return f"openai:{model}"

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel."""
        work = ReplyProgress(prompt=prompt, listener=on_text)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._answer(prompt, work)
        except TimeoutError as exc:
            timeout = ModelTimeout(model=self.name, seconds=self._timeout_seconds)
            raise timeout.costing(work.asked) from exc
        except ModelError as error:
            error.usage = replace(error.usage, calls=work.calls, milliseconds=work.asked.milliseconds)
            raise

    async def aclose(self) -> None:
        """Release the running loop's connections."""
        client = self._clients.take()
        if client is not None:
            await client.close()

    def _new_client(self) -> openai.AsyncOpenAI:
        client = openai.AsyncOpenAI(
            api_key=self._api_key,
            admin_api_key="",
            base_url=self._base_url,
            max_retries=0,
            # reading is bounded by our own clock, over the whole answer
            timeout=openai.Timeout(None, connect=min(_CONNECT_SECONDS, self._timeout_seconds)),
            # An answer in forty pieces takes two thirds of the CPU that it takes over the SDK's own transport, which
            # alone takes a name and a password in the address, and is all that an install without `fast` has.
            http_client=None
            if "@" in self._base_url or find_spec("aiohttp") is None
            else openai.DefaultAioHttpClient(),
        )
        # The SDK reads these from the environment by itself. What was meant for OpenAI must not reach another server.
        client.organization = client.project = None
        client._custom_headers = {}
        return client

    async def _answer(self, prompt: Prompt[T], work: ReplyProgress) -> Answer[T]:
        client, asked = self._clients.get(), (prompt.name, prompt.thread)
        model = await self._model_id(client)
        dialect = await self._ask(client, model, work)
        try:
            value = work.reply.read(prompt.answer, model=self.name, max_tokens=dialect.max_tokens(prompt))
        except BrokenOff as exc:
            raise self._unreachable("the answer broke off in the middle").costing(work.usage()) from exc
        except ModelError as error:
            if isinstance(error, ModelBroken) and asked not in self._broken:
                self._broken.append(asked)
            error.usage = work.usage()
            raise
        if asked in self._broken:
            self._broken.remove(asked)
        spoken = getattr(value, "utterance", None)
        if isinstance(spoken, str):
            work.tell(spoken, getattr(value, "emotion", None))
        return Answer(value=value, usage=work.usage(), model=self.name)

    async def _ask(self, client: openai.AsyncOpenAI, model: str, work: ReplyProgress) -> Dialect:
        """Send the request, in simpler and simpler dialects until the server accepts one, which is remembered."""
        dialect = replace(self._dialect, explain=(work.prompt.name, work.prompt.thread) in self._broken)
        while True:
            work.calls += 1
            try:
                await self._send(client, dialect, model, work)
            except openai.APIStatusError as exc:
                reason = self._reason(exc)
                cedes = exc.status_code in _CEDES or (exc.status_code == 500 and "grammar" in reason.lower())
                simpler = dialect.simpler(exc.param, reason) if cedes else None
                if simpler is None:
                    raise self._failure(exc, reason) from exc
                dialect = simpler
            except (openai.APIConnectionError, RequestError) as exc:
                raise self._unreachable(str(exc.__cause__ or exc)) from exc
            except openai.APIError as exc:  # an error object in the middle of a stream
                raise ModelServerError(model=self.name, status_code=200, reason=self._reason(exc)) from exc
            except (json.JSONDecodeError, UnicodeDecodeError) as exc:
                raise ModelBroken(model=self.name, reason=Phrase("llm.response_no_json")) from exc
            else:
                # another answer, meanwhile, may have taught something too
                thinks = dialect.thinks or self._dialect.thinks or work.reply.thought or "<think>" in work.reply.content
                self._dialect = replace(dialect, thinks=thinks, explain=False)
                return dialect

    async def _send(self, client: openai.AsyncOpenAI, dialect: Dialect, model: str, work: ReplyProgress) -> None:
        path = "/responses" if dialect.responses else "/chat/completions"
        body = dialect.request(work.prompt, model, self._temperature)
        # As plain JSON: the SDK's types of requests and chunks take a third of a millisecond each, and check nothing.
        body["stream"] = work.listener is not None and dialect.stream
        if not body["stream"]:
            self._read_whole(await client.post(path, cast_to=object, body=body), work.reply)
            return
        if dialect.stream_usage and not dialect.responses:
            body["stream_options"] = {"include_usage": True}
        stream = await client.post(path, cast_to=object, body=body, stream=True, stream_cls=openai.AsyncStream[object])
        async with stream:
            if stream.response.headers.get("content-type", "").startswith("application/json"):
                # the server does not stream, whatever it is asked
                self._read_whole(json.loads(await stream.response.aread()), work.reply)
            else:
                await self._read_stream(stream, work)

    def _read_whole(self, whole: object, reply: Reply) -> None:
        if not isinstance(whole, dict):
            raise ModelRejected(model=self.name, status_code=200, reason=Phrase("llm.no_completion"), setting=BASE_URL)
        if whole.get("object") == "response":
            for part in _parts(whole):
                reply.content += _part(part, "text") or ""
                reply.refusal += _part(part, "refusal") or ""
            self._read_end(whole, reply)
            return
        choices, usage = whole.get("choices"), whole.get("usage")
        if not choices:
            if whole.get("error"):
                raise ModelServerError(model=self.name, status_code=200, reason=self._brief(whole["error"]))
            return
        message = _part(choices[0], "message")
        reply.content = _part(message, "content") or ""
        reply.refusal = _part(message, "refusal") or ""
        reply.finish_reason = _part(choices[0], "finish_reason")
        reply.usage = _usage(usage)
        reply.thought = _has_thought(message) or _reasoned(usage)

    async def _read_stream(self, stream: openai.AsyncStream[object], work: ReplyProgress) -> None:
        reply = work.reply
        async for chunk in stream:
            kind = _part(chunk, "type")
            if kind == "response.output_text.delta":
                work.hear(_part(chunk, "delta") or "")
            elif kind == "response.refusal.delta":
                reply.refusal += _part(chunk, "delta") or ""
            elif kind in ("response.completed", "response.incomplete", "response.failed"):
                self._read_end(_part(chunk, "response"), reply)
            elif kind == "error":
                raise ModelServerError(model=self.name, status_code=200, reason=self._brief(chunk))
            usage = _part(chunk, "usage")
            reply.usage = _usage(usage) or reply.usage
            reply.thought = reply.thought or _reasoned(usage)
            for choice in (_part(chunk, "choices") or [])[:1]:
                delta = _part(choice, "delta")
                reply.finish_reason = _part(choice, "finish_reason") or reply.finish_reason
                reply.refusal += _part(delta, "refusal") or ""
                reply.thought = reply.thought or _has_thought(delta)
                work.hear(_part(delta, "content") or "")

    def _read_end(self, response: object, reply: Reply) -> None:
        """How an answer of the Responses API ended, and what it cost."""
        if _part(response, "error"):
            raise ModelServerError(model=self.name, status_code=200, reason=self._brief(_part(response, "error")))
        why = _part(_part(response, "incomplete_details"), "reason")
        ended = "stop" if _part(response, "status") == "completed" else None
        reply.finish_reason = {"max_output_tokens": "length"}.get(why, why) or ended
        reply.usage = _usage(_part(response, "usage"))
        reply.thought = _reasoned(_part(response, "usage"))

    async def _model_id(self, client: openai.AsyncOpenAI) -> str:
        """The model's id; asks the server once when the settings name none."""
        if self._model is not None:
            return self._model
        try:
            page = await client.models.list()
        except openai.APIStatusError as exc:
            raise self._failure(exc, self._reason(exc)) from exc
        except openai.APIConnectionError as exc:
            raise self._unreachable(str(exc.__cause__ or exc)) from exc
        except ValueError as exc:
            raise ModelRejected(
                model=self.name, status_code=200, reason=Phrase("llm.no_json"), setting=BASE_URL
            ) from exc
        ids = [model.id for model in getattr(page, "data", None) or []]
        if not ids:
            raise ModelRejected(model=self.name, status_code=200, reason=Phrase("llm.no_model"), setting=MODEL)
        # Ollama and LM Studio list their embedding models too
        self._model = next((i for i in ids if "embed" not in i.lower()), ids[0])
        return self._model

    def _failure(self, exc: openai.APIStatusError, reason: str) -> ModelError:
        return failure(
            model=self.name,
            status=exc.status_code,
            code=exc.code or exc.type,
            reason=reason,
            headers=exc.response.headers,
        )

    def _unreachable(self, reason: str) -> ModelUnreachable:
        parts = urlsplit(self._base_url)
        shown = parts._replace(netloc=parts.netloc.rsplit("@", 1)[-1]).geturl()
        return ModelUnreachable(
            model=self.name, base_url=shown, reason=self._brief(reason) or Phrase("llm.no_connection")
        )

    def _reason(self, exc: openai.APIError) -> str:
        """What the server said; the key is struck out of it, and of the cause, should the server have echoed it."""
        body = exc.body
        said = body.get("message") or body.get("detail") or body.get("error") if isinstance(body, dict) else None
        exc.args = (self._brief(exc.message),)
        exc.message = exc.args[0]
        return self._brief(said or exc.message)

    def _brief(self, said: object) -> str:
        if isinstance(said, dict):
            said = said.get("message", said)
        text = " ".join(str(said).split())
        return text.replace(self._api_key, "***")[:300] if self._api_key else text[:300]


def _part(value: object, key: str) -> Any:
    """What a server has put there; None: it has left it out, as some do."""
    return value.get(key) if isinstance(value, dict) else None


def _parts(response: dict[str, Any]) -> list[object]:
    """What a response of the Responses API says, without the items of its thinking."""
    said = (item for item in response.get("output") or [] if _part(item, "type") == "message")
    return [part for item in said for part in _part(item, "content") or []]


def _has_thought(message: object) -> bool:
    """Whether the server passed the model's thinking beside the content (two names are in use)."""
    return any(_part(message, key) for key in ("reasoning_content", "reasoning"))


def _usage(reported: object) -> Usage | None:
    """Tokens as the server counted them; None when it did not."""
    given, made = ("input", "output") if _part(reported, "input_tokens") is not None else ("prompt", "completion")
    if _part(reported, f"{given}_tokens") is None:
        return None
    return Usage(
        prompt_tokens=_part(reported, f"{given}_tokens"),
        completion_tokens=_part(reported, f"{made}_tokens") or 0,
        cached_tokens=_part(_part(reported, f"{given}_tokens_details"), "cached_tokens") or 0,
    )


def _reasoned(reported: object) -> bool:
    """Whether the server counted tokens of thinking that it did not show."""
    details = _part(reported, "completion_tokens_details") or _part(reported, "output_tokens_details")
    return bool(_part(details, "reasoning_tokens"))
