"""Owns the tests that a recorded story is told again by its cassette alone, byte for byte, and from a snapshot on."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from service.app import create_app
from service.export.files import export_to
from service.export.story import StorySpan
from service.llm.cassette import Cassette, Recorded
from service.llm.chat import Answer, ModelWrapper, Prompt, T, TextListener
from service.llm.choose import ROLES, Models
from service.memory.choose import RecordedEmbedder
from service.memory.memory_store import MemoryStore
from service.settings import Settings
from studio.cli import main as cli
from tests.api.play import until
from tests.memory.fake_embedder import FakeEmbedder
from tests.studio.terminal.by_question import VOICE, ByQuestion, settings_of


def told(settings: Settings, file: Path) -> bytes:
    """What is exported of it, costs and all."""
    export_to(settings, "main", {"en": "Millbrook", "ja": "ミルブルック"}, StorySpan(since=None, until=None), file)
    return file.read_bytes()


def _client(app: FastAPI) -> TestClient:
    return TestClient(app, base_url="http://127.0.0.1")


def live(client: TestClient, minutes: int) -> None:
    client.post("/world/tick", json={"ticks": minutes}).raise_for_status()


def keep(client: TestClient) -> None:
    client.post("/world/snapshots", json={"name": "noon"}).raise_for_status()


def restore(client: TestClient) -> None:
    client.post("/world/restore", json={"name": "noon"}).raise_for_status()


class Slow(ModelWrapper):
    """A ChatModel that takes 17 milliseconds to answer, as it says."""

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        answer = await self._inner.complete(prompt, on_text)
        return replace(answer, usage=replace(answer.usage, milliseconds=17))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """The cassette of some hours of the village, a snapshot in their middle, and what was told of them."""
    tmp_path = tmp_path_factory.mktemp("recorded")
    cassette = Cassette(tmp_path / "cassette", "record")
    cassette.voiced(dict.fromkeys(ROLES, VOICE))
    model = Recorded(Slow(ByQuestion(hurries=False)), cassette, VOICE)
    cassette.embedded_by("openai:m")
    embedder = RecordedEmbedder(FakeEmbedder(), cassette, "openai:m")
    settings, models = settings_of(tmp_path / "lived"), Models(dict.fromkeys(ROLES, model), cassette)
    app = create_app(settings, models=models, memory=lambda database: MemoryStore(database, embedder))
    with _client(app) as client:
        live(client, 40)
        keep(client)
        live(client, 60)
    return cassette.directory, told(settings, tmp_path / "lived.jsonl")


def test_a_recorded_story_is_told_again_byte_for_byte_without_a_model(
    tmp_path: Path, recorded: tuple[Path, bytes]
) -> None:
    directory, story = recorded
    assert story.count(b'"table": "conversations"') == 3
    again = settings_of(tmp_path / "again", llm={"cassette": directory, "cassette_mode": "replay"})
    with _client(create_app(again)) as client:
        live(client, 40)
        keep(client)
        live(client, 60)
        assert told(again, tmp_path / "again.jsonl") == story
        restore(client)
        live(client, 60)
    assert told(again, tmp_path / "restored.jsonl") == story


def test_a_story_goes_on_from_a_snapshot_by_its_cassette_and_ends_loudly_where_that_ends(
    tmp_path: Path, recorded: tuple[Path, bytes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    directory, story = recorded
    settings = settings_of(directory.parent / "lived", llm={"cassette": directory, "cassette_mode": "replay"})
    with _client(create_app(settings)) as client:
        restore(client)
        live(client, 60)
        assert told(settings, tmp_path / "again.jsonl") == story
        client.put("/people/ken", json={"kind": "player", "name": "Ken"}).raise_for_status()
        talk = {"mode": "player", "player_id": "ken", "partner_id": "hermit"}
        begun = client.post("/conversations/start", json=talk).raise_for_status().json()
        said = client.post(f"/conversations/{begun['id']}/say", json={"text": "Good day"}, params={"wait": True})
        assert "Good day\nTo ask a model" in said.json()["conversation"]["failure"]["detail"]
        client.post(f"/conversations/{begun['id']}/end").raise_for_status()
        assert until(client, begun["id"], "closing_failed")["failure"]["type"] == "cassette-miss"
    options = ("--days", "1", "--characters", "9", "--content", str(settings.content_dir), "--language", "en")
    taped = ("--cassette", str(directory), "--cassette-mode", "replay", "--data", str(settings.data_dir))
    monkeypatch.setattr(sys, "argv", ["kataribe", "run", "--plain", *options, *taped])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    told_run = capsys.readouterr()
    assert f"Replayed from {directory}: no model is asked." in told_run.out
    assert "The nearest that is recorded differs in this:\n--- calls/" in told_run.err


@pytest.mark.parametrize("command", [("run", "--plain"), ("scene", "run", "S001")])
def test_with_a_cassette_and_no_model_nobody_rehearses(
    tmp_path: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("OPENAI_API_KEY", "KATARIBE_LLM__BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    taped = ("--cassette", str(tmp_path / "empty"), "--data", str(tmp_path / "data"), "--language", "en")
    monkeypatch.setattr(sys, "argv", ["kataribe", *command, *taped])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    assert "no model is set to be asked" in capsys.readouterr().err
