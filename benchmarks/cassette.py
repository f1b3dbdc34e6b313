"""Measures a day of the sample village that is recorded with a model over HTTP, and replayed without one."""

import tempfile
import time
from pathlib import Path

from fastapi.testclient import TestClient

from benchmarks.model_server import MODEL, model_server
from service.app import create_app
from service.export.files import export_to
from service.export.story import StorySpan
from service.settings import Settings
from world.time import MINUTES_PER_DAY

MEAN_SECONDS = 0.05
TICKS = 240


def run(minutes: int = MINUTES_PER_DAY) -> dict[str, float]:
    """`replay_equal` 1: the exports of the two are the same, byte for byte, costs and times too."""
    with tempfile.TemporaryDirectory() as found:
        directory = Path(found)
        with model_server(mean_seconds=MEAN_SECONDS) as server:
            asked = {"base_url": server.base_url, "model": MODEL, "cassette_mode": "record"}
            recorded = _lived(directory, "recorded", minutes, asked)
            calls = server.tally().calls
        replayed = _lived(directory, "replayed", minutes, {"cassette_mode": "replay"})
        files = [file.stat().st_size for file in (directory / "cassette" / "calls").iterdir()]
        stories = [(directory / f"{name}.jsonl").read_bytes() for name in ("recorded", "replayed")]
    return {
        "replay_equal": float(stories[0] == stories[1]),
        "calls": calls,
        "calls_kept": len(files),
        "cassette_mb": sum(files) / 1e6,
        "cassette_kb_per_call": sum(files) / 1e3 / len(files),
        "recorded_s": recorded,
        "replayed_s": replayed,
    }


def _lived(directory: Path, name: str, minutes: int, llm: dict[str, str]) -> float:
    """Live and export it; answers the seconds of living."""
    settings = Settings(
        _env_file=None,
        data_dir=directory / name,
        llm={**llm, "cassette": directory / "cassette"},
        embedding={"provider": "none"},
        world={"language": "en"},
    )
    with TestClient(create_app(settings), base_url="http://127.0.0.1") as client:
        begun = time.monotonic()
        for _ in range(0, minutes, TICKS):
            client.post("/world/tick", json={"ticks": min(TICKS, minutes)}).raise_for_status()
        seconds = time.monotonic() - begun
    export_to(settings, "main", {"en": "", "ja": ""}, StorySpan(since=None, until=None), directory / f"{name}.jsonl")
    return seconds
