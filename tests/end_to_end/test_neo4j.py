"""Owns the tests of the whole service with its long-term memory on a real Neo4j that comes and goes."""

import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.content.files import bundled_content
from tests.end_to_end.process import KATARIBE, Service, environment
from tests.memory.graphiti.test_graph import empty
from tests.servers.neo4j import Neo4jServer

pytestmark = pytest.mark.server

PAIR = {"character_id": "aoi", "npc_id": "npc_umekichi"}


@pytest.fixture
def neo4j(mortal_neo4j: Neo4jServer) -> Neo4jServer:
    """It runs, holds nothing, and the test may stop it."""
    empty(mortal_neo4j)
    return mortal_neo4j


def _settings(server: Neo4jServer, **changed: str) -> dict[str, str]:
    return {
        "KATARIBE_LLM__PROVIDER": "rehearsal",
        "KATARIBE_WORLD__LANGUAGE": "ja",
        "KATARIBE_MEMORY__BACKEND": "graphiti",
        "KATARIBE_MEMORY__NEO4J_URI": server.uri,
        "KATARIBE_MEMORY__NEO4J_USER": server.user,
        "KATARIBE_MEMORY__NEO4J_PASSWORD": server.password,
        **changed,
    }


def _walk_up(client: httpx.Client) -> None:
    way = client.post("/characters/aoi/actions", json={"type": "move", "npc_id": PAIR["npc_id"]}).raise_for_status()
    client.post("/world/tick", json={"ticks": max(1, way.json()["minutes"])}).raise_for_status()


def _talk(client: httpx.Client) -> dict[str, Any]:
    _walk_up(client)
    started = client.post("/conversations/start", params={"wait": "true"}, json=PAIR, timeout=60)
    talk: dict[str, Any] = started.raise_for_status().json()
    assert talk["phase"] == "closed", talk
    return talk


def _memory(client: httpx.Client, query: str = "") -> dict[str, Any]:
    path = f"/characters/{PAIR['character_id']}/memory"
    found: dict[str, Any] = (
        client.get(path, params={"npc_id": PAIR["npc_id"], "query": query}).raise_for_status().json()
    )
    return found


def _until_delivered(client: httpx.Client, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while client.get("/world").json()["memories_waiting"]:
        assert time.monotonic() < deadline, "the memory was not delivered"
        time.sleep(0.2)


def test_a_talk_is_remembered_on_neo4j_and_found_in_japanese(tmp_path: Path, neo4j: Neo4jServer) -> None:
    with Service(tmp_path, bundled_content(), _settings(neo4j)) as service:
        assert service.client.get("/readyz").json() == {
            "status": "ok",
            "checks": {"database": "ok", "memory": "ok", "models": "rehearsal"},
        }
        talk = _talk(service.client)
        told = talk["changes"]["facts"][0]["statement"]
        memory = _memory(service.client, told[3:20])
        assert memory["long_term_available"]
        assert memory["facts"][0]["statement"] == told
        assert memory["facts"][0]["conversation_id"] == talk["id"]
        service.client.delete("/characters/aoi/memory").raise_for_status()
        assert _memory(service.client)["facts"] == []


def test_while_neo4j_is_away_people_talk_and_what_they_said_is_delivered_when_it_is_back(
    tmp_path: Path, neo4j: Neo4jServer
) -> None:
    neo4j.stop()
    with Service(tmp_path, bundled_content(), _settings(neo4j)) as service:
        ready = service.client.get("/readyz")
        assert ready.status_code == 503
        assert "KATARIBE_MEMORY__NEO4J_URI" in ready.json()["checks"]["memory"]
        talk = _talk(service.client)
        assert service.client.get("/world").json()["memories_waiting"] == 1
        away = _memory(service.client)
        assert (away["long_term_available"], away["facts"]) == (False, [])
        assert away["last_meeting"]["conversation_id"] == talk["id"], "what SQL holds is there all the same"
        neo4j.start()
        _until_delivered(service.client)
        back = _memory(service.client)
        assert sorted(f["statement"] for f in back["facts"]) == sorted(f["statement"] for f in talk["changes"]["facts"])


def test_neo4j_killed_between_talks_loses_nothing_and_doubles_nothing(tmp_path: Path, neo4j: Neo4jServer) -> None:
    told = []
    with Service(tmp_path, bundled_content(), _settings(neo4j, KATARIBE_WORLD__DECISION="routine")) as service:
        told += _talk(service.client)["changes"]["facts"]
        neo4j.kill()
        service.client.post("/world/tick", json={"ticks": 1500}).raise_for_status()
        told += _talk(service.client)["changes"]["facts"]
        neo4j.start()
        _until_delivered(service.client)
        remembered = _memory(service.client)["facts"]
    assert sorted(f["id"] for f in remembered) == sorted(f["id"] for f in told)


def test_a_wrong_password_is_told_by_its_setting_and_nobody_is_kept_from_talking(
    tmp_path: Path, neo4j: Neo4jServer
) -> None:
    # Neo4j shuts out for some seconds whom it has refused: not the one that the other tests are.
    stranger = {"KATARIBE_MEMORY__NEO4J_USER": "stranger", "KATARIBE_MEMORY__NEO4J_PASSWORD": "not-this-one"}
    wrong = _settings(neo4j, **stranger)
    with Service(tmp_path, bundled_content(), wrong) as service:
        told = service.client.get("/readyz").json()["checks"]["memory"]
        assert "KATARIBE_MEMORY__NEO4J_PASSWORD" in told
        assert "not-this-one" not in told
        assert _talk(service.client)["turns"]


def _kataribe(directory: Path, settings: dict[str, str], *arguments: str) -> str:
    """What the command says; it ended well."""
    told = subprocess.run(
        [KATARIBE, *arguments], cwd=directory, env=environment(**settings), capture_output=True, text=True, check=True
    )
    return told.stdout


@pytest.mark.parametrize(
    ("command", "said", "kept"),
    [("adopt", "main: 2 group(s) taken over", True), ("purge", "main: 2 group(s) removed", False)],
)
def test_after_the_data_directory_was_deleted_the_old_memories_are_taken_over_or_removed(
    tmp_path: Path, neo4j: Neo4jServer, command: str, said: str, *, kept: bool
) -> None:
    settings = _settings(neo4j, KATARIBE_WORLD__DECISION="routine")
    with Service(tmp_path, bundled_content(), settings) as service:
        old = [fact["statement"] for fact in _talk(service.client)["changes"]["facts"]]
        _until_delivered(service.client)
        assert _memory(service.client)["group_id"] == "main--aoi"
    with Service(tmp_path, bundled_content(), settings, data="anew") as service:
        for language, sentence in (("en", "another installation of Kataribe"), ("ja", "別のKataribe")):
            ready = service.client.get("/readyz", headers={"Accept-Language": language})
            assert ready.status_code == 503
            assert sentence in ready.json()["checks"]["memory"]
            assert f"kataribe memory {command} --world main" in ready.json()["checks"]["memory"]
        ghosts = _memory(service.client)
        assert (ghosts["long_term_available"], ghosts["facts"]) == (False, [])
        new = [fact["statement"] for fact in _talk(service.client)["changes"]["facts"]]
        assert service.client.get("/world").json()["memories_waiting"] == 1
        service.terminate()
    assert _kataribe(tmp_path, settings, "memory", command, "--data", "anew").strip() == said
    with Service(tmp_path, bundled_content(), settings, data="anew") as service:
        _until_delivered(service.client)
        assert service.client.get("/readyz").status_code == 200
        remembered = {fact["statement"] for fact in _memory(service.client)["facts"]}
        assert remembered == {*new, *(old if kept else ())}


def test_with_a_prefix_of_its_own_a_second_service_starts_with_nothing_and_is_ready(
    tmp_path: Path, neo4j: Neo4jServer
) -> None:
    with Service(tmp_path, bundled_content(), _settings(neo4j)) as service:
        _talk(service.client)
        _until_delivered(service.client)
    apart = _settings(neo4j, KATARIBE_MEMORY__GROUP_PREFIX="second")
    with Service(tmp_path, bundled_content(), apart, data="anew") as service:
        assert service.client.get("/readyz").status_code == 200
        memory = _memory(service.client)
        assert (memory["group_id"], memory["long_term_available"], memory["facts"]) == ("second--main--aoi", True, [])
