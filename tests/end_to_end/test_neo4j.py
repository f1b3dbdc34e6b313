"""Owns the tests of the service and its long-term memory on a real Neo4j that is killed and comes back.

Neo4j takes long to start. So there is ONE outage, lived through by everything that has to bear it: a service that has
talked before, a service that starts meanwhile, a writer that is cut off, and a reader that comes too early.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.app import create_app
from service.errors import GraphUnavailable
from service.memory.record import Group, GroupDump
from service.settings import MemorySettings
from tests.api.play import TALK, serve, settings_for, write_village
from tests.end_to_end.process import kataribe
from tests.memory.contract import MONDAY, TARO, THURSDAY, TOWN, draft, episode, tell
from tests.memory.fake_embedder import FakeEmbedder
from tests.memory.graphiti.test_graph import To, empty, graph_on, query
from tests.servers import NO_AUTHORITIES
from tests.servers.neo4j import Neo4jServer
from world.time import WorldTime

pytestmark = pytest.mark.server

SORA = "/characters/sora/memory"
MENTIONS = "MATCH (e:Episodic {group_id: $group})-[m:MENTIONS]->() RETURN count(m) AS n"
EARLY = Group(world_id="main", person_id="early")
TALKS = [episode(TARO, f"c{number}", WorldTime(MONDAY + number)) for number in range(30)]
TOLD = {
    talk.conversation_id: [draft(talk, index, f"{talk.conversation_id}: {text}") for index, text in enumerate(TOWN)]
    for talk in TALKS
}


@dataclass
class Service:
    """A running service; its client, and what was learned of the talks held through it."""

    client: httpx.Client
    learned: list[dict[str, Any]] = field(default_factory=list)

    def talk(self) -> dict[str, Any]:
        """Hold one conversation; it must close."""
        held = self.client.post("/conversations/start", params={"wait": "true"}, json=TALK).raise_for_status().json()
        assert held["phase"] == "closed", held
        self.learned += held["changes"]["facts"]
        told: dict[str, Any] = held
        return told

    def memory(self, words: str = "") -> dict[str, Any]:
        """What Sora remembers of the baker."""
        told: dict[str, Any] = (
            self.client.get(SORA, params={"npc_id": "baker", "query": words, "limit": 100}).raise_for_status().json()
        )
        return told

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
    memory = MemorySettings(backend="graphiti", **told)
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

    learned: list[dict[str, Any]]
    first: dict[str, Any]
    first_found: dict[str, Any]
    ready: dict[str, Any]
    held_while_away: list[dict[str, Any]]
    waiting: int
    memory_while_away: dict[str, Any]
    ready_while_away: httpx.Response
    seconds_until_refused: float
    memory_after: dict[str, Any]
    memory_after_forgetting: dict[str, Any]
    written: list[str]
    cut_off: GroupDump
    retried: GroupDump
    mentions: int
    early: GroupDump


@pytest.fixture(scope="module")
def outage(neo4j_server: Neo4jServer, tmp_path_factory: pytest.TempPathFactory) -> Outage:
    """Neo4j is killed once and started once."""
    empty(neo4j_server)
    seen: dict[str, Any] = {}
    directory = tmp_path_factory.mktemp("service")
    with serving(directory, neo4j_server) as service:
        seen["ready"] = service.client.get("/readyz").json()
        seen["first"] = service.talk()
        service.until_delivered()
        seen["first_found"] = service.memory(seen["first"]["changes"]["facts"][0]["statement"][3:20])
        seen["written"] = asyncio.run(_killed_while_writing(neo4j_server))
        seen["held_while_away"] = [service.talk()]
        learned = service.learned
    with serving(directory, neo4j_server) as service:
        seen["ready_while_away"] = service.client.get("/readyz")
        seen["held_while_away"].append(service.talk())
        seen["learned"] = learned + service.learned
        seen["waiting"] = service.client.get("/world").json()["memories_waiting"]
        seen["memory_while_away"] = service.memory()
        seen |= asyncio.run(_started_again(neo4j_server))
        service.until_delivered()
        seen["memory_after"] = service.memory()
        service.client.delete(SORA).raise_for_status()
        seen["memory_after_forgetting"] = service.memory()
    return Outage(**seen)


async def _killed_while_writing(server: Neo4jServer) -> list[str]:
    """The conversations that were written when Neo4j was killed in the middle."""
    graph = graph_on(server, FakeEmbedder())
    written: list[str] = []
    under_way = asyncio.Event()

    async def write() -> None:
        for talk in TALKS:
            await graph.deliver(TARO, talk, TOLD[talk.conversation_id])
            written.append(talk.conversation_id)
            if len(written) == 5:
                under_way.set()

    writing = asyncio.create_task(write())
    await under_way.wait()
    await asyncio.to_thread(server.kill)
    with pytest.raises(GraphUnavailable):
        await writing
    await graph.aclose()
    return written


async def _started_again(server: Neo4jServer) -> dict[str, Any]:
    """A graph that was opened before the server was there is used once it is; what was cut off is written again."""
    graph = graph_on(server, FakeEmbedder())
    begun = time.monotonic()
    with pytest.raises(GraphUnavailable, match="KATARIBE_MEMORY__NEO4J_URI"):
        await graph.check()
    with pytest.raises(GraphUnavailable):
        await tell(To(graph), EARLY, "c1", MONDAY, *TOWN)
    with pytest.raises(GraphUnavailable):
        await graph.recall(EARLY, "太郎", at=MONDAY)
    refused = time.monotonic() - begun
    await asyncio.to_thread(server.start)
    await tell(To(graph), EARLY, "c1", MONDAY, *TOWN)
    cut_off = await graph.export(TARO)
    for _ in range(2):
        for talk in TALKS:
            await graph.deliver(TARO, talk, TOLD[talk.conversation_id])
    seen = {
        "seconds_until_refused": refused,
        "early": await graph.export(EARLY),
        "cut_off": cut_off,
        "retried": await graph.export(TARO),
    }
    seen["mentions"] = query(server, MENTIONS, group="main--taro")[0]["n"]
    assert len(await graph.recall(TARO, "apples", at=THURSDAY, limit=30)) == 30
    await graph.aclose()
    return seen


def test_a_talk_is_remembered_on_neo4j_and_found_in_japanese(outage: Outage) -> None:
    assert outage.ready == {
        "status": "ok",
        "checks": {"database": "ok", "memory": "ok", "models": "rehearsal"},
    }
    told = outage.first["changes"]["facts"][0]
    assert outage.first_found["long_term_available"]
    assert outage.first_found["facts"][0]["statement"] == told["statement"]
    assert outage.first_found["facts"][0]["conversation_id"] == outage.first["id"]
    assert outage.memory_after_forgetting["facts"] == []


def test_while_neo4j_is_away_people_talk_and_sql_is_there_all_the_same(outage: Outage) -> None:
    assert outage.ready_while_away.status_code == 503
    assert "KATARIBE_MEMORY__NEO4J_URI" in outage.ready_while_away.json()["checks"]["memory"]
    assert outage.waiting == len(outage.held_while_away) == 2
    away = outage.memory_while_away
    assert (away["long_term_available"], away["facts"]) == (False, [])
    assert away["last_meeting"]["conversation_id"] == outage.held_while_away[-1]["id"]


def test_neo4j_killed_between_talks_loses_nothing_and_doubles_nothing(outage: Outage) -> None:
    assert outage.learned
    assert sorted(f["id"] for f in outage.memory_after["facts"]) == sorted(f["id"] for f in outage.learned)
    remembered = sorted(fact["statement"] for fact in outage.memory_after["facts"])
    assert remembered == sorted(fact["statement"] for fact in outage.learned)


def test_a_server_killed_in_the_middle_of_writing_holds_whole_episodes_and_a_retry_doubles_nothing(
    outage: Outage,
) -> None:
    assert len(outage.written) < len(TALKS)
    held = {one.conversation_id for one in outage.cut_off.episodes}
    assert held >= set(outage.written)
    assert {fact.id for fact in outage.cut_off.facts} == {fact.id for key in held for fact in TOLD[key]}
    assert [one.conversation_id for one in outage.retried.episodes] == [talk.conversation_id for talk in TALKS]
    ids = {fact.id for fact in outage.retried.facts}
    assert len(outage.retried.facts) == len(ids) == len(TALKS) * len(TOWN)
    assert outage.mentions == 2 * len(TALKS)


def test_a_server_that_is_down_at_start_is_named_and_used_when_it_comes(outage: Outage) -> None:
    assert outage.seconds_until_refused < 20
    assert len(outage.early.facts) == len(TOWN)


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
    ("command", "said", "kept"),
    [("adopt", "main: 2 groups taken over", True), ("purge", "main: 2 groups removed", False)],
)
def test_after_the_data_directory_was_deleted_the_old_memories_are_taken_over_or_removed(
    tmp_path: Path, neo4j: Neo4jServer, command: str, said: str, *, kept: bool
) -> None:
    with serving(tmp_path, neo4j) as service:
        old = [fact["statement"] for fact in service.talk()["changes"]["facts"]]
        service.until_delivered()
        assert service.memory()["group_id"] == "main--sora"
    with serving(tmp_path, neo4j, data="anew") as service:
        for language, sentence in (("en", "another installation of Kataribe"), ("ja", "別のKataribe")):
            ready = service.client.get("/readyz", headers={"Accept-Language": language})
            assert ready.status_code == 503
            assert sentence in ready.json()["checks"]["memory"]
            assert f"kataribe memory {command} --world main" in ready.json()["checks"]["memory"]
        ghosts = service.memory()
        assert (ghosts["long_term_available"], ghosts["facts"]) == (False, [])
        new = [fact["statement"] for fact in service.talk()["changes"]["facts"]]
        assert service.client.get("/world").json()["memories_waiting"] == 1
    assert told_by(tmp_path, neo4j, "memory", command, "--data", "anew").strip() == said
    with serving(tmp_path, neo4j, data="anew") as service:
        service.until_delivered()
        assert service.client.get("/readyz").status_code == 200
        remembered = {fact["statement"] for fact in service.memory()["facts"]}
        assert remembered == {*new, *(old if kept else ())}


def test_with_a_prefix_of_its_own_a_second_service_starts_with_nothing_and_is_ready(
    tmp_path: Path, neo4j: Neo4jServer
) -> None:
    with serving(tmp_path, neo4j) as service:
        service.talk()
        service.until_delivered()
    with serving(tmp_path, neo4j, data="anew", group_prefix="second") as service:
        assert service.client.get("/readyz").status_code == 200
        memory = service.memory()
        assert (memory["group_id"], memory["long_term_available"], memory["facts"]) == ("second--main--sora", True, [])
