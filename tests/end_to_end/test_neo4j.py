"""Owns the tests of the service and its long-term memory on a real Neo4j that is killed and comes back.

Neo4j takes long to start. So there is ONE outage, lived through by everything that has to bear it: a service that has
talked before, and one that starts meanwhile.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.app import create_app
from tests.api.play import TALK, serve, settings_for, write_village
from tests.end_to_end.process import kataribe
from tests.memory.graphiti.graphs import empty, query
from tests.servers import NO_AUTHORITIES
from tests.servers.neo4j import Neo4jServer

pytestmark = pytest.mark.server

SORA = "/characters/sora/memory"
KINDS = ("fact", "observed", "self", "insight", "mid_term")
EDGES = "MATCH ()-[e:RELATES_TO {group_id: $group}]->() RETURN e.fact_id AS id"
TALKS = "MATCH (n:Episodic {group_id: $group}) RETURN n.conversation_id AS id"


@dataclass
class Service:
    """A running service, and its client."""

    client: httpx.Client

    def talk(self) -> dict[str, Any]:
        """Hold one conversation; it must close."""
        held = self.client.post("/conversations/start", params={"wait": "true"}, json=TALK).raise_for_status().json()
        assert held["phase"] == "closed", held
        told: dict[str, Any] = held
        return told

    def memory(self, words: str = "") -> dict[str, Any]:
        """What Sora remembers of the baker."""
        told: dict[str, Any] = (
            self.client.get(SORA, params={"npc_id": "baker", "query": words, "limit": 100}).raise_for_status().json()
        )
        return told

    def memories(self) -> list[dict[str, Any]]:
        """All that Sora remembers."""
        told: dict[str, Any] = self.client.get("/people/sora/memories", params={"limit": 200}).raise_for_status().json()
        items: list[dict[str, Any]] = told["items"]
        return items

    def until_delivered(self, seconds: float = 60) -> None:
        """Wait until the graph has everything."""
        deadline = time.monotonic() + seconds
        while self.client.get("/world").json()["memories_waiting"]:
            assert time.monotonic() < deadline, "the memory was not delivered"
            time.sleep(0.1)


@contextmanager
def serving(directory: Path, server: Neo4jServer, *, data: str = "data", **changed: Any) -> Iterator[Service]:
    """The service on that directory, with its long-term memory on that server."""
    told = {"neo4j_uri": server.uri, "neo4j_user": server.user, "neo4j_password": server.password, **changed}
    memory = {"backend": "graphiti", **told}
    settings = settings_for(
        directory,
        write_village(directory / "content"),
        language="ja",
        llm={"provider": "rehearsal"},
        memory=memory,
        data_dir=directory / data,
    )
    with (
        serve(create_app(settings)) as url,
        httpx.Client(base_url=url, timeout=60, trust_env=False, verify=NO_AUTHORITIES) as client,
    ):
        yield Service(client)


@dataclass
class Outage:
    """What was seen before, while and after Neo4j was away."""

    ready: dict[str, Any]
    ready_while_away: httpx.Response
    waiting: int
    met_while_away: dict[str, Any]
    remembered: set[str]
    in_graph: list[str]
    episodes: list[str]
    talks: list[str]
    after_forgetting: list[str]


@pytest.fixture(scope="module")
def outage(neo4j_server: Neo4jServer, tmp_path_factory: pytest.TempPathFactory) -> Outage:
    """Neo4j is killed once, and started once."""
    empty(neo4j_server)
    seen: dict[str, Any] = {}
    directory = tmp_path_factory.mktemp("service")
    with serving(directory, neo4j_server) as service:
        seen["ready"] = service.client.get("/readyz").json()
        talks = [service.talk()]
        service.until_delivered()
        neo4j_server.kill()
        talks.append(service.talk())
    with serving(directory, neo4j_server) as service:
        seen["ready_while_away"] = service.client.get("/readyz")
        talks.append(service.talk())
        seen["waiting"] = service.client.get("/world").json()["memories_waiting"]
        seen["met_while_away"] = service.memory()["last_meeting"]
        neo4j_server.start()
        service.until_delivered()
        seen["remembered"] = {row["id"].partition(".")[2] for row in service.memories() if row["kind"] in KINDS}
        seen["in_graph"] = [row["id"] for row in query(neo4j_server, EDGES, group="main--sora")]
        seen["episodes"] = [row["id"] for row in query(neo4j_server, TALKS, group="main--sora")]
        service.client.delete(SORA).raise_for_status()
        seen["after_forgetting"] = [row["id"] for row in query(neo4j_server, EDGES, group="main--sora")]
    return Outage(**seen, talks=[one["id"] for one in talks])


def test_what_a_talk_leaves_is_there_and_goes_where_it_is_forgotten(outage: Outage) -> None:
    assert outage.ready == {
        "status": "ok",
        "checks": {"database": "ok", "memory": "ok", "models": "rehearsal"},
        "degraded": [],
    }
    assert outage.in_graph
    assert outage.after_forgetting == []


def test_while_neo4j_is_away_people_talk_and_remember_all_the_same(outage: Outage) -> None:
    assert outage.ready_while_away.json()["degraded"] == ["memory"]
    assert "KATARIBE_MEMORY__NEO4J_URI" in outage.ready_while_away.json()["checks"]["memory"]
    assert outage.waiting == 2, "of both who talked"
    assert outage.met_while_away["conversation_id"] == outage.talks[-1]


def test_neo4j_killed_between_talks_loses_nothing_and_doubles_nothing(outage: Outage) -> None:
    assert len(outage.talks) == 3
    assert sorted(outage.in_graph) == sorted(outage.remembered)
    assert sorted(outage.episodes) == sorted(outage.talks)


@pytest.fixture
def neo4j(neo4j_server: Neo4jServer) -> Neo4jServer:
    """It runs, and holds nothing."""
    empty(neo4j_server)
    return neo4j_server


def test_a_wrong_password_is_told_by_its_setting_and_nobody_is_kept_from_talking(
    tmp_path: Path, neo4j: Neo4jServer
) -> None:
    # Neo4j shuts out for some seconds whom it has refused: not the one that the other tests are.
    with serving(tmp_path, neo4j, neo4j_user="stranger", neo4j_password="not-this-one") as service:
        told = service.client.get("/readyz").json()["checks"]["memory"]
        assert "KATARIBE_MEMORY__NEO4J_PASSWORD" in told
        assert "not-this-one" not in told
        assert service.talk()["turns"]


def told_by(directory: Path, server: Neo4jServer, *arguments: str) -> str:
    """What the command says; it ended well."""
    settings = {
        "KATARIBE_MEMORY__BACKEND": "graphiti",
        "KATARIBE_MEMORY__NEO4J_URI": server.uri,
        "KATARIBE_MEMORY__NEO4J_PASSWORD": server.password,
    }
    told = kataribe(directory, *arguments, **settings)
    assert told.returncode == 0, told.stderr
    return told.stdout


@pytest.mark.parametrize(
    ("command", "said"), [("adopt", "main: 2 groups taken over"), ("purge", "main: 2 groups removed")]
)
def test_after_the_data_directory_was_deleted_the_old_groups_are_written_anew_or_removed(
    tmp_path: Path, neo4j: Neo4jServer, command: str, said: str
) -> None:
    with serving(tmp_path, neo4j) as service:
        service.talk()
        service.until_delivered()
        assert service.memory()["group_id"] == "main--sora"
    with serving(tmp_path, neo4j, data="anew") as service:
        for language, sentence in (("en", "another installation of Kataribe"), ("ja", "別のKataribe")):
            ready = service.client.get("/readyz", headers={"Accept-Language": language})
            assert ready.json()["degraded"] == ["memory"]
            assert sentence in ready.json()["checks"]["memory"]
            assert f"kataribe memory {command} --world main" in ready.json()["checks"]["memory"]
        talk = service.talk()
        assert service.client.get("/world").json()["memories_waiting"] == 2
    assert [row["id"] for row in query(neo4j, TALKS, group="main--sora")] != [talk["id"]]
    assert told_by(tmp_path, neo4j, "memory", command, "--data", "anew").strip() == said
    with serving(tmp_path, neo4j, data="anew") as service:
        service.until_delivered()
        assert service.client.get("/readyz").status_code == 200
    assert [row["id"] for row in query(neo4j, TALKS, group="main--sora")] == [talk["id"]]


def test_with_a_prefix_of_its_own_a_second_service_starts_with_nothing_and_is_ready(
    tmp_path: Path, neo4j: Neo4jServer
) -> None:
    with serving(tmp_path, neo4j) as service:
        service.talk()
        service.until_delivered()
    with serving(tmp_path, neo4j, data="anew", group_prefix="second") as service:
        assert service.client.get("/readyz").status_code == 200
        assert service.memory()["group_id"] == "second--main--sora"
