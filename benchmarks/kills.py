"""Measures what kill -9 and a server's absence lose, double or change.

Kills: a client with a fixed list of requests sends each until it is answered, whatever dies meanwhile, and all of them
twice more at the end. One run is left alone; each other is killed once, at another moment of it, and started again. On
PostgreSQL three replicas share the work: one of them is killed, and the client goes to the next. Then all tables of
the run are compared with those of the run that was left alone. The model is a function of its prompt, so whatever
differs is the service's doing. Ids that are drawn, machine times, who holds a row and what calls cost are not compared,
nor the attempts to say something of which clients were told that they were cut off.

Outages: two hundred conversations are spoken while the model, PostgreSQL or Neo4j is away; all must be remembered at
the end, and no job left, without a hand.
"""

import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import Column, Integer, create_engine, select
from sqlmodel import SQLModel, col

from benchmarks.model_server import MODEL, ModelServer, model_server
from benchmarks.neo4j import NotHere, neo4j_server
from service.store.client_event_kinds import UtteranceDiscarded
from service.store.tables import EventRow
from tests.api.play import TALK, write_village
from tests.content.village import in_pairs
from tests.end_to_end.process import Service
from tests.end_to_end.test_kill import start_again, stop
from tests.servers.postgres import PostgresServer, find_binaries

SQLITE_KILLS, POSTGRESQL_KILLS, REPLICAS = 40, 20, 3
ROUNDS = 3
TALKS = 200
AWAY_SECONDS = {"model": 60.0, "postgresql": 20.0, "neo4j": 60.0}
ANSWERED_WITHIN = 120.0
SETTLED_WITHIN = 900.0

Tables = Mapping[str, Counter[str]]
"""By table: its rows, and how often each stands there."""

_APART = frozenset(
    {"installation", "idempotency_keys", "usage", "kept_rows", "snapshots", "client_event_counts", "jobs"}
)
"""What is of the machine: answers that were given, and what calls cost (a lost one is paid, too)."""
_OF_THE_MACHINE = re.compile(
    r".*(?:runner|revision|epoch|timeline|seq|duration_ms|created_at|updated_at|due|attempts|error|wanted_until)"
)
_DRAWN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{28}|[0-9a-f]{64}")
_ATTEMPT = re.compile(r"('utterance_id': 'ID\.\d+)\.\d+'")
_NOW = re.compile(r"20[2-9]\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)?|1[6-9]\d{8}(?:\.\d+)?")


def requests(rounds: int) -> Iterator[tuple[str, str, Any]]:
    """What is asked in order; `{talk}` stands for the conversation that was begun last."""
    yield "PUT", "/people/ken", {"kind": "player", "name": "Ken"}
    yield "PUT", "/people/ken/position", {"node_id": "door"}
    for number in range(rounds):
        talk = {**TALK, "goal": f"Ask {number}", "max_turns": 4}
        yield "POST", "/conversations/start?wait=true", talk
        yield "POST", "/world/observations", {"text": f"The bell rings {number}.", "seen_by": ["baker", "sora"]}
        yield "PATCH", "/npcs/baker", {"give": ["bun"]}
        yield "POST", "/world/snapshots", {"name": f"kept-{number}"}
        yield "POST", "/conversations/start", {"mode": "player", "player_id": "ken", "partner_id": "baker"}
        yield "POST", "{talk}/say?wait=true", {"text": f"Good morning, the {number}th time."}
        yield "POST", "{talk}/say?wait=true", {"text": "Where is your sister?"}
        yield "POST", "{talk}/end?wait=true", None
        scene = {
            "scene_id": f"S{number}",
            "location": "The mill",
            "time": "noon",
            "situation": "The wheel stands still.",
        }
        yield "POST", "/scenes", {"scene": {**scene, "participant_character_ids": ["umi", "rin"]}}
        yield "POST", f"/scenes/S{number}/turns?wait=true", {"count": 2}
        yield "POST", f"/scenes/S{number}/end?wait=true", None
        yield "POST", "/world/tick", {"ticks": 45}
        yield "PUT", "/world/flags", {"flags": {f"bell-{number}": True}}
        if number == 1:
            yield "POST", "/world/restore", {"name": "kept-1"}
        yield "POST", "/characters/sora/actions", {"type": "sleep"}
        line = {"id": f"s{number}", "statement": f"Rye costs {number}."}
        yield "POST", "/people/baker/memory", {"statements": [line]}


class Client:
    """Sends each request with a key of its own until one of the replicas has answered it."""

    def __init__(self, services: Sequence[Service]) -> None:
        self._services = services
        self._turn = 0
        self._sent_so_far: list[tuple[str, str, Any]] = []

    def play(self, rounds: int) -> None:
        """All requests in order, each once its predecessor is answered."""
        talk = ""
        for method, path, body in requests(rounds):
            asked = (method, path.format(talk=talk), body)
            told = self._send(len(self._sent_so_far), *asked)
            self._sent_so_far.append(asked)
            if path.startswith("/conversations/start"):
                talk = told["links"]["self"]

    def play_again(self) -> None:
        """The same with the same keys. What a restore took away is not found, nor begun anew."""
        for number, asked in enumerate(self._sent_so_far):
            self._send(number, *asked, allowed=404)

    def _send(self, number: int, method: str, path: str, body: Any, *, allowed: int = 200) -> Any:
        deadline = time.monotonic() + ANSWERED_WITHIN
        while True:
            service = self._services[self._turn % len(self._services)]
            self._turn += 1
            try:
                answer = service.client.request(method, path, json=body, headers={"Idempotency-Key": f"kills-{number}"})
            except (httpx.TransportError, RuntimeError) as exc:  # it was killed, its client with it
                said = repr(exc)
            else:
                if answer.is_success or answer.status_code == allowed:
                    return answer.json() if answer.content else None
                said = f"{answer.status_code} {answer.text}"
                if answer.status_code not in (409, 429, 503):
                    raise RuntimeError(f"{method} {path}: {said}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{method} {path} was not answered: {said}")
            time.sleep(0.05)


def tables(url: str) -> Tables:
    """All that is stored there but what is of the machine."""
    engine = create_engine(url)
    with engine.connect() as connection:
        told = {}
        discarded = select(col(EventRow.data)).where(col(EventRow.kind) == UtteranceDiscarded.kind)
        taken_back = {data["utterance_id"] for data in connection.scalars(discarded)}
        for table in SQLModel.metadata.sorted_tables:
            if table.name not in _APART:
                columns = [c for c in table.c if not _OF_THE_MACHINE.fullmatch(c.name) and not _is_numbered(c)]
                rows = connection.execute(select(*columns)).all()
                told[table.name] = Counter(
                    _ATTEMPT.sub(r"\1'", _NOW.sub("NOW", _DRAWN.sub("ID", str(tuple(row)))))
                    for row in rows
                    if "looked" not in row  # when those who live look round hangs on who asked, and is no write
                    and not any(isinstance(one, dict) and one.get("utterance_id") in taken_back for one in row)
                )
    engine.dispose()
    return told


def _is_numbered(column: Column[Any]) -> bool:
    """Two that write at once may be numbered in either order."""
    return column.name == "id" and isinstance(column.type, Integer)


def compared(unharmed: Tables, killed: Tables) -> Counter[str]:
    """Rows that a run lost, that it has twice or more, and that are others than those of the run left alone."""
    found: Counter[str] = Counter()
    for name, rows in unharmed.items():
        lost, more = rows - killed[name], killed[name] - rows
        changed = min(lost.total(), more.total())
        found += Counter(lost=lost.total() - changed, doubled=more.total() - changed, different=changed)
        if lost or more:
            print(f"{name}: lost {list(lost)[:3]}, more {list(more)[:3]}")
    return found


def _settings(model: ModelServer, url: str | None, **more: str) -> dict[str, str]:
    own = {"KATARIBE_LLM__BASE_URL": model.base_url, "KATARIBE_LLM__MODEL": MODEL, "KATARIBE_WORLD__LANGUAGE": "en"}
    return {**own, **more, **({"KATARIBE_DATABASE_URL": url} if url else {})}


def _settled(services: Sequence[Service]) -> None:
    """Wait until no job is left that is to be done. Raises: RuntimeError: one is, after `SETTLED_WITHIN`."""
    deadline = time.monotonic() + SETTLED_WITHIN
    while time.monotonic() < deadline:
        try:
            told = services[0].client.get("/work").json()
            if "items" in told and not told["items"]:
                return
        except httpx.TransportError as exc:
            told = repr(exc)
        time.sleep(0.2)
    raise RuntimeError(f"work is left: {told}")


def _run_once(
    content: Path, settings: Mapping[str, str], url: str, replicas: int, kill_at: float | None, rounds: int
) -> tuple[float, Tables]:
    """One run: how many seconds it took until the list was through, and what it has stored."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:

        def serve(number: int, port: int | None = None) -> Service:
            service = Service(Path(directory), content, settings, data=f"data-{number}", port=port)
            return stack.enter_context(service)

        services = [serve(number) for number in range(replicas)]
        client, began = Client(services), time.monotonic()
        with ThreadPoolExecutor(max_workers=1) as pool:
            playing = pool.submit(client.play, rounds)
            if kill_at is not None:
                wait([playing], timeout=kill_at)
                victim = int(1000 * kill_at) % replicas
                services[victim].kill()
                services[victim] = serve(victim, services[victim].port)
            playing.result()
        took = time.monotonic() - began
        for _ in range(2):
            client.play_again()
        _settled(services)
        for service in services:
            service.terminate()
        return took, tables(url.format(data=Path(directory) / "data-0"))


def kills(moments: int, *, postgresql: PostgresServer | None = None, rounds: int = ROUNDS) -> dict[str, float]:
    """Figures: kills, and rows lost, doubled, different over all of them; each asks the list so many `rounds`."""
    found: Counter[str] = Counter()
    name, replicas = ("sqlite", 1) if postgresql is None else ("postgresql", REPLICAS)
    with tempfile.TemporaryDirectory() as directory, model_server(mean_seconds=0.05, may_end=False) as model:
        content = write_village(Path(directory))

        def once(kill_at: float | None = None) -> tuple[float, Tables]:
            url = None if postgresql is None else postgresql.create_database()
            settings = _settings(model, url)
            return _run_once(content, settings, url or "sqlite:///{data}/kataribe.db", replicas, kill_at, rounds)

        seconds, unharmed = once()
        _, again = once()
        if (noise := compared(unharmed, again)).total():
            raise RuntimeError(f"two runs that nobody killed are not equal: {noise}")
        for moment in range(moments):
            kill_at = seconds * (moment + 0.5) / moments
            told = compared(unharmed, once(kill_at)[1])
            print(f"{name}: killed after {kill_at:.2f} of {seconds:.2f} s: {dict(told) or 'equal'}", flush=True)
            found += told
    return {
        f"kills_{name}": moments,
        **{f"kills_{name}_{what}": found[what] for what in ("lost", "doubled", "different")},
    }


def outage(what: str, postgresql: PostgresServer | None = None) -> dict[str, float]:
    """Figures: conversations, those remembered at the end, seconds from the return until all were."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = stack.enter_context(model_server(mean_seconds=1.0))
        more = {}
        take, bring = model.leave, model.come_back
        if what == "postgresql":
            assert postgresql is not None
            database = postgresql
            take, bring = (lambda: stop(database)), (lambda: start_again(database))
        elif what == "neo4j":
            graph = stack.enter_context(neo4j_server())
            names = {"URI": graph.uri, "USER": graph.user, "PASSWORD": graph.password}
            more = {
                "KATARIBE_MEMORY__BACKEND": "graphiti",
                **{f"KATARIBE_MEMORY__NEO4J_{k}": v for k, v in names.items()},
            }
            take, bring = graph.kill, graph.start
        url = postgresql.create_database() if what == "postgresql" and postgresql else None
        content = in_pairs(TALKS).write(directory / "content")
        service = stack.enter_context(
            Service(directory, content, _settings(model, url, KATARIBE_WORLD__DECISION="routine", **more))
        )
        begun = [_begun(service, number) for number in range(TALKS)]
        take()
        time.sleep(AWAY_SECONDS[what])
        bring()
        back = time.monotonic()
        _settled([service])
        told = [service.client.get(path).json() for path in begun]
        return {
            f"outage_{what}_talks": TALKS,
            f"outage_{what}_remembered": sum(one["phase"] == "closed" and bool(one["changes"]) for one in told),
            f"outage_{what}_settled_s": time.monotonic() - back,
        }


def _begun(service: Service, number: int) -> str:
    asked = {**TALK, "character_id": f"a{number:04}", "npc_id": f"b{number:04}", "max_turns": 8}
    answer = service.client.post("/conversations/start", json=asked).raise_for_status()
    return str(answer.json()["links"]["self"])


def run() -> dict[str, float]:
    """Figures of all kills and outages. Raises: NotHere: this machine has no PostgreSQL, or no Neo4j."""
    binaries = find_binaries()
    if binaries is None:
        raise NotHere("needs PostgreSQL")
    figures = kills(SQLITE_KILLS)
    with PostgresServer(binaries) as server:
        figures |= kills(POSTGRESQL_KILLS, postgresql=server)
        for what in AWAY_SECONDS:
            figures |= outage(what, server)
    return figures
