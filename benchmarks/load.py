"""Measures one process and three replicas on PostgreSQL under load: players who talk, and streams that are read.

The model is the one of `benchmarks.player`, 30 tokens a second, in a process of its own; replicas are `kataribe serve`,
each a process; the players are this process. Each player has an NPC for itself, ten a world.
"""

import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx

from benchmarks.neo4j import NotHere
from benchmarks.player import ANSWER, PIECE, TOKENS_PER_SECOND, process, speak
from service.content.files import bundled_content
from tests.end_to_end.process import Service
from tests.servers.postgres import PostgresServer, find_binaries

PLAYERS = 500
NPCS = tuple(path.stem for path in sorted((bundled_content() / "npcs").glob("*.yaml")))
SAYS = 60
SAYING_SECONDS = 60.0
"""Over so long as many as `SAYS` of the players say something once, while all listen."""
BUSY = 30
ROUNDS = 2
"""So often as many as `BUSY` say something again as soon as they are answered."""
HOPS = 10
"""So many turns are listened to at another replica, and as many at none."""
MODEL_SECONDS = len(json.dumps(ANSWER)) / PIECE / TOKENS_PER_SECOND
SETTING_UP = 8
"""So many requests at once while talks are begun."""
PATIENCE_SECONDS = 120.0


def run(
    *,
    players: int = PLAYERS,
    says: int = SAYS,
    saying_seconds: float = SAYING_SECONDS,
    busy: int = BUSY,
    rounds: int = ROUNDS,
    hops: int = HOPS,
) -> dict[str, float]:
    """Figures: seconds until others go on when a replica is killed; milliseconds that words need to another replica,
    p95; answered turns a second, by one process and by three; what the service adds to a turn, p95, and its resident
    memory, with so many players who talk and listen; CPU of a turn with and without a listener at another replica.

    Raises:
        NotHere: this machine has no PostgreSQL.
    """
    binaries = find_binaries()
    if binaries is None:
        raise NotHere("needs PostgreSQL's server: apt-get install postgresql")
    with (
        tempfile.TemporaryDirectory() as directory,
        PostgresServer(binaries) as postgres,
        process(speak) as (model, _),
        ExitStack() as running,
    ):
        settings = {
            "KATARIBE_DATABASE_URL": postgres.create_database(),
            "KATARIBE_LLM__BASE_URL": model,
            "KATARIBE_LLM__MODEL": "paced",
            "KATARIBE_LLM__API_KEY": "none",
            "KATARIBE_LLM__MAX_CONCURRENCY": str(players),
            "KATARIBE_MAX_TURNS_WITH_PLAYER": "100",
            "KATARIBE_WORLD__DECISION": "routine",
            "KATARIBE_WORLD__LANGUAGE": "en",
        }

        def serve(name: str) -> Service:
            return running.enter_context(Service(Path(directory), bundled_content(), settings, data=name))

        return asyncio.run(_measure(serve, players, says, saying_seconds, busy, rounds, hops))


class Player:
    """A player who talks, and listens at one or more replicas."""

    def __init__(self, number: int) -> None:
        self.world = {"X-World-Id": f"w{number // len(NPCS)}"}
        self.id, self.npc_id = f"p{number}", NPCS[number % len(NPCS)]
        self.path = ""
        self._said, self._last = 0, -1
        self._number = number
        self._answered = asyncio.Event()
        self.listens = asyncio.Event()
        self.answered_at = 0.0
        self.deltas: dict[int, list[tuple[float, int]]] = {}
        """By port, when so many characters of the answer were there."""

    async def begin(self, http: httpx.AsyncClient) -> None:
        """Begin to talk."""
        person = {"kind": "player", "name": self.id}
        (await http.put(f"/people/{self.id}", json=person, headers=self.world)).raise_for_status()
        start = {"mode": "player", "player_id": self.id, "partner_id": self.npc_id}
        begun = (await http.post("/conversations/start", json=start, headers=self.world)).raise_for_status()
        self.path = f"/conversations/{begun.json()['id']}"

    async def say(self, http: httpx.AsyncClient) -> float:
        """Say something; seconds until the answer is told as said, beyond the model's own."""
        sent = time.perf_counter()
        await self.ask(http)
        await self.answered()
        return self.answered_at - sent - MODEL_SECONDS

    async def ask(self, http: httpx.AsyncClient) -> None:
        """Say something, and wait for no answer."""
        self._answered.clear()
        self.deltas = {}
        word, self._said = f"word{self._number}x{self._said}", self._said + 1
        said = await http.post(f"{self.path}/say", json={"text": f"And {word}?"}, headers=self.world)
        said.raise_for_status()

    async def answered(self) -> None:
        """Return when the answer was told as said."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._answered.wait()

    async def listen(self, port: int) -> None:
        """Read the stream at that replica until it ends. It costs less than a client of HTTP would."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"GET {self.path}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nX-World-Id: {self.world['X-World-Id']}\r\n\r\n"
        writer.write(head.encode())
        kind = ""
        try:
            while line := await reader.readline():
                if line.startswith(b"event: "):
                    kind = line[7:].decode().strip()
                    self.listens.set()
                elif line.startswith(b"data: ") and kind in ("utterance.delta", "utterance.completed"):
                    self._hear(port, kind, json.loads(line[6:])["data"])
        except ConnectionError:
            return  # the replica was killed
        finally:
            writer.close()
            with suppress(ConnectionError):
                await asyncio.shield(writer.wait_closed())

    def _hear(self, port: int, kind: str, told: dict[str, Any]) -> None:
        if kind == "utterance.delta":
            known = told["char_start"] + len(told["text"])
            self.deltas.setdefault(port, []).append((time.perf_counter(), known))
        elif told["speaker_id"] == self.npc_id and told["turn"] > self._last:  # else it was told at another replica
            self._last = told["turn"]
            self.answered_at = time.perf_counter()
            self._answered.set()


async def _measure(
    serve: Any, players: int, says: int, saying_seconds: float, busy: int, rounds: int, hops: int
) -> dict[str, float]:
    one: Service = await asyncio.to_thread(serve, "one")
    everybody = [Player(number) for number in range(players)]
    async with _client(one) as http:
        clock = {"mode": "running", "speed": 120}
        (await http.put("/world/clock", json=clock, headers={"X-World-Id": "clock"})).raise_for_status()
        turns = asyncio.Semaphore(SETTING_UP)

        async def begin(player: Player) -> None:
            async with turns:
                await player.begin(http)

        await asyncio.gather(*map(begin, everybody))
        print(f"{players} talks have begun", file=sys.stderr)
        listening = [asyncio.create_task(player.listen(one.port)) for player in everybody]
        draw = random.Random(1)

        async def say(player: Player) -> float:
            await asyncio.sleep(draw.random() * saying_seconds)
            return await player.say(http)

        await asyncio.gather(*(player.listens.wait() for player in everybody))
        await everybody[-1].say(http)  # the first answer of a process loads what only answers need
        overheads = sorted(await asyncio.gather(*map(say, everybody[:says])))
        megabytes = _resident(one)
        print(f"overhead p95 {overheads[int(0.95 * len(overheads))]:.2f} s, {megabytes:.0f} MB", file=sys.stderr)
        spent = _cpu(one)
        alone = await _calls(everybody[:busy], [http], rounds)
        spent = _cpu(one) - spent
    replicas = [one, *[await asyncio.to_thread(serve, name) for name in ("two", "three")]]
    clients = [_client(replica) for replica in replicas]
    await _calls(everybody[:busy], clients, 1)  # what they read for the first time
    together = await _calls(everybody[:busy], clients, rounds)
    print(f"{alone:.1f} answers a second, with three replicas {together:.1f}", file=sys.stderr)
    figures = {
        "players": players,
        f"overhead_ms_p50_{players}": 1000 * statistics.median(overheads),
        f"overhead_ms_p95_{players}": 1000 * overheads[int(0.95 * len(overheads))],
        f"rss_mb_{players}": megabytes,
        "calls_per_s_1_process": alone,
        "cpu_ms_per_call": 1000 * spent / (busy * rounds),
        "calls_per_s_3_replicas": together,
        **await _hops(everybody[0], replicas[:2], clients[0], hops, listening),
        "takeover_s": await _takeover(everybody[1 : 1 + min(20, players - 1)], replicas, clients, listening),
    }
    for task in listening:
        task.cancel()
    await asyncio.gather(*listening, return_exceptions=True)
    for client in clients:
        await client.aclose()
    return figures


def _client(service: Service) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None)
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{service.port}", timeout=120, trust_env=False, limits=limits)


async def _calls(players: Sequence[Player], clients: list[httpx.AsyncClient], rounds: int) -> float:
    """Answers a second where each of the players says something again as soon as it is answered, at the next client."""
    begun = time.perf_counter()

    async def talk(number: int, player: Player) -> None:
        for turn in range(rounds):
            await player.say(clients[(number + turn) % len(clients)])

    await asyncio.gather(*(talk(number, player) for number, player in enumerate(players)))
    return len(players) * rounds / (time.perf_counter() - begun)


async def _hops(
    player: Player, replicas: list[Service], http: httpx.AsyncClient, turns: int, listening: list[asyncio.Task[None]]
) -> dict[str, float]:
    """The player speaks at one replica, and listens there; then also at the other one."""
    near, far = replicas
    cpu = [[_cpu(one) for one in replicas]]
    for _ in range(turns):
        await player.say(http)
        await asyncio.sleep(0.5)
    cpu.append([_cpu(one) for one in replicas])
    listening.append(asyncio.create_task(player.listen(far.port)))
    await asyncio.sleep(3)
    cpu.append([_cpu(one) for one in replicas])
    late: list[float] = []
    told = [0, 0]
    for _ in range(turns):
        await player.say(http)
        await asyncio.sleep(0.5)
        heard, heard_far = player.deltas.get(near.port, []), player.deltas.get(far.port, [])
        told = [told[0] + len(heard), told[1] + len(heard_far)]
        for at, known in heard:
            late += [next((one for one, so_far in heard_far if so_far >= known), at + PATIENCE_SECONDS) - at]
    cpu.append([_cpu(one) for one in replicas])
    late.sort()
    spent = [[1000 * (b - a) / turns for a, b in zip(*both, strict=True)] for both in (cpu[:2], cpu[2:])]
    return {
        "stream_hop_ms_p50": 1000 * statistics.median(late),
        "stream_hop_ms_p95": 1000 * late[int(0.95 * len(late))],
        "deltas_near": told[0],
        "deltas_far": told[1],
        "turn_cpu_ms_heard_here": spent[0][0],
        "turn_cpu_ms_heard_here_far": spent[0][1],
        "turn_cpu_ms_heard_there": spent[1][0],
        "turn_cpu_ms_heard_there_far": spent[1][1],
    }


async def _takeover(
    players: list[Player],
    replicas: list[Service],
    clients: list[httpx.AsyncClient],
    listening: list[asyncio.Task[None]],
) -> float:
    """Seconds after kill -9 of the replica that runs a world's clock, and is speaking for the players, until the clock
    goes on at another one, and all are answered there, beyond the model's own.
    """
    other, http = replicas[1], clients[1]
    listening += [asyncio.create_task(player.listen(other.port)) for player in players]
    await asyncio.sleep(3)
    await asyncio.gather(*(player.ask(clients[0]) for player in players))
    replicas[0].kill()
    killed, stood = time.perf_counter(), await _clock(http)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await _clock(http) <= stood:  # noqa: ASYNC110 - another process's clock
            await asyncio.sleep(0.05)
    goes_on = time.perf_counter() - killed
    await asyncio.gather(*(player.answered() for player in players))
    return max(goes_on, *(player.answered_at - killed - MODEL_SECONDS for player in players))


async def _clock(http: httpx.AsyncClient) -> str:
    return str((await http.get("/world", headers={"X-World-Id": "clock"})).json()["now"])


def _resident(service: Service) -> float:
    status = Path(f"/proc/{service.process.pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def _cpu(service: Service) -> float:
    spent = Path(f"/proc/{service.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")
