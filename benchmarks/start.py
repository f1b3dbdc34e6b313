"""Measures what the command's own start costs; what the start of a conversation costs while others run, and what
becomes of many at once.

`kataribe --help`, and `kataribe serve` on data that is there until GET /healthz is answered, each in a process of its
own: CPU seconds, modules, resident megabytes. KATARIBE_BENCH_BEFORE names another checkout: it is measured in turn.

The real service runs on SQLite in a process of its own; pairs of characters stand beside each other at one place. The
model is asked and never answers, so that what is started goes on running. The cost of a start is all that the service
does until the first speaker is asked: the request, and the preparation of the first words.
"""

import asyncio
import multiprocessing
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from sqlalchemy import Engine, event

from service.app import create_app
from service.llm.chat import Answer, Prompt, T, TextListener
from service.llm.choose import ROLES, Models
from service.settings import Settings
from tests.content.village import in_pairs
from tests.end_to_end.process import forked

KATARIBE = "from studio.cli.start import main; main()"
COMMANDS = 3
"""How often each start of the command is measured."""
RUNNING = (0, 100, 300)
STARTS = 30
BURST = 200
BURST_SECONDS = 2.0


@dataclass(kw_only=True)
class Cost:
    """What the service has done since it began. `cpu` in seconds, of its whole process."""

    cpu: float = 0.0
    reads: int = 0
    writes: int = 0
    asked: int = 0


class Silent:
    """A model that is asked and never answers."""

    name = "silent"

    def __init__(self, cost: Cost) -> None:
        self._cost = cost

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Never returns."""
        self._cost.asked += 1
        never: asyncio.Future[Answer[T]] = asyncio.get_running_loop().create_future()
        return await never

    async def aclose(self) -> None:
        """Nothing to release."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """The service in its process."""

    url: str
    control: "Connection[str, Cost]"

    def cost(self) -> Cost:
        """What it has done so far."""
        self.control.send("cost")
        return self.control.recv()


def run(
    *,
    commands: int = COMMANDS,
    running: tuple[int, ...] = RUNNING,
    starts: int = STARTS,
    burst: int = BURST,
    seconds: float = BURST_SECONDS,
) -> dict[str, float]:
    """Figures of one start by how many conversations run: ``start_ms_p50_100``, ``cpu_ms_100``, ``reads_100`` …; of so
    many starts in `seconds`: ``burst_202``, ``burst_409_<problem>``, and how long they waited for their answer.
    """
    figures = dict(_command(commands))
    with _service(max(running) + 1) as service, httpx.Client(base_url=service.url, timeout=60) as http:
        number = 0
        for level in sorted(running):
            while number < level:
                _start(http, service, number)
                number += 1
            figures |= _measured(http, service, level, starts)
    with _service(burst) as service:
        figures |= asyncio.run(_burst(service, burst, seconds))
    return figures


def _command(times: int) -> Iterator[tuple[str, float]]:
    """``help_s``, ``help_modules``, ``serve_cpu_s`` and ``serve_mb``, each the median; of the other checkout with
    ``_before``.
    """
    trees = {"": str(Path(__file__).parents[1])}
    if other := os.environ.get("KATARIBE_BENCH_BEFORE"):
        trees["_before"] = other
    found = defaultdict[str, list[float]](list)
    with tempfile.TemporaryDirectory(prefix="kataribe-bench-command-") as directory:
        for number in range(times + 1):
            for name, tree in trees.items():
                data = Path(directory, f"data{name}")
                data.mkdir(exist_ok=True)
                measured = {**_help(tree, data), **_served(tree, data)}
                for figure, value in measured.items() if number else ():  # the first one compiles and migrates
                    found[figure + name].append(value)
    yield from ((figure, statistics.median(values)) for figure, values in found.items())


def _help(tree: str, data: Path) -> dict[str, float]:
    told = "import atexit, sys; atexit.register(lambda: print(len(sys.modules)))"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = [sys.executable, "-c", f"{told}; {KATARIBE}", "--help"]
    done = subprocess.run(run, cwd=data, env=_environment(tree), capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"help_s": seconds, "help_modules": float(done.stdout.split()[-1])}


def _served(tree: str, data: Path) -> dict[str, float]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = [sys.executable, "-c", KATARIBE, "serve", "--rehearsal", "--language", "en", "--port", str(port)]
    process = subprocess.Popen([*run, "--data", data], cwd=data, env=_environment(tree), stderr=subprocess.DEVNULL)
    try:
        for _ in range(6000):
            with suppress(httpx.TransportError):
                httpx.get(f"http://127.0.0.1:{port}/healthz").raise_for_status()
                break
            time.sleep(0.01)
        # utime and stime are the fields 14 and 15 of proc(5), in ticks
        ticks = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
        pages = int(Path(f"/proc/{process.pid}/statm").read_text(encoding="utf-8").split()[1])
        seconds = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
        return {"serve_cpu_s": seconds, "serve_mb": pages * os.sysconf("SC_PAGE_SIZE") / 2**20}
    finally:
        process.terminate()
        process.wait()


def _environment(tree: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("KATARIBE_", "PYTHON"))}
    return own | {"PYTHONPATH": tree, "LANG": "C.UTF-8"}


def _measured(http: httpx.Client, service: Service, level: int, starts: int) -> dict[str, float]:
    """Each start is ended again before the next one, so that as many others run beside each."""
    waited, spent = [], []
    _end(http, _start(http, service, level)[0])  # the first one may read what the others then have
    for _ in range(starts):
        before = service.cost()
        conversation_id, milliseconds = _start(http, service, level)
        after = service.cost()
        waited.append(milliseconds)
        spent.append((after.cpu - before.cpu, after.reads - before.reads, after.writes - before.writes))
        _end(http, conversation_id)
    return {
        f"start_ms_p50_{level}": statistics.median(waited),
        f"start_ms_p95_{level}": sorted(waited)[int(len(waited) * 0.95)],
        f"cpu_ms_{level}": statistics.median(cpu for cpu, _, _ in spent) * 1000,
        f"reads_{level}": statistics.median(reads for _, reads, _ in spent),
        f"writes_{level}": statistics.median(writes for _, _, writes in spent),
    }


def _start(http: httpx.Client, service: Service, number: int) -> tuple[str, float]:
    """Start a conversation and wait until its first speaker is asked; its id, and the milliseconds to the answer."""
    asked = service.cost().asked
    begun = time.perf_counter()
    answer = http.post("/conversations/start", json=_body(number)).raise_for_status()
    milliseconds = (time.perf_counter() - begun) * 1000
    while service.cost().asked == asked:
        time.sleep(0.002)
    return answer.json()["id"], milliseconds


def _end(http: httpx.Client, conversation_id: str) -> None:
    http.post(f"/conversations/{conversation_id}/end").raise_for_status()


async def _burst(service: Service, count: int, seconds: float) -> dict[str, float]:
    begun, before = time.perf_counter(), service.cost().cpu
    async with httpx.AsyncClient(base_url=service.url, timeout=300, limits=httpx.Limits(max_connections=None)) as http:

        async def start(number: int) -> tuple[str, float]:
            await asyncio.sleep(number * seconds / count)
            sent = time.perf_counter()
            answer = await http.post("/conversations/start", json=_body(number))
            return _outcome(answer), (time.perf_counter() - sent) * 1000

        ends = await asyncio.gather(*map(start, range(count)))
    outcomes, waited = Counter(outcome for outcome, _ in ends), sorted(ms for _, ms in ends)
    return {
        **{f"burst_{outcome}": float(times) for outcome, times in sorted(outcomes.items())},
        "burst_ms_p50": statistics.median(waited),
        "burst_ms_p95": waited[int(count * 0.95)],
        "burst_seconds": time.perf_counter() - begun,
        "burst_cpu_ms_each": (service.cost().cpu - before) * 1000 / count,
    }


def _outcome(answer: httpx.Response) -> str:
    if answer.status_code == 202:
        return "202"
    return f"{answer.status_code}_{answer.json()['type'].rpartition(':')[2]}"


def _body(number: int) -> dict[str, Any]:
    return {
        "character_id": f"a{number:04}",
        "npc_id": f"b{number:04}",
        "goal": "Hear the news",
        "success_criteria": "Something happened that was not known before",
    }


@contextmanager
def _service(pairs: int) -> Iterator[Service]:
    here, there = multiprocessing.Pipe()
    with tempfile.TemporaryDirectory(prefix="kataribe-bench-start-") as directory:
        in_pairs(pairs).write(Path(directory) / "game")
        process = forked(_serve, Path(directory), there)
        try:
            yield Service(url=here.recv(), control=here)
        finally:
            process.terminate()
            process.join()


def _serve(directory: Path, control: "Connection[Any, Any]") -> None:
    cost = Cost()
    event.listen(Engine, "before_cursor_execute", lambda *args: _count(cost, args[2]))
    settings = Settings(
        _env_file=None,
        data_dir=directory / "data",
        content_dir=directory / "game",
        embedding={"provider": "none"},
        world={"language": "en", "decision": "routine"},
    )
    app = create_app(settings, models=Models(dict.fromkeys(ROLES, Silent(cost))))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    threading.Thread(target=_tell, args=(server, cost, control), daemon=True).start()
    server.run()


def _count(cost: Cost, statement: str) -> None:
    kind = statement.lstrip()[:6].upper()
    cost.reads += kind == "SELECT"
    cost.writes += kind in ("INSERT", "UPDATE", "DELETE")


def _tell(server: uvicorn.Server, cost: Cost, control: "Connection[Any, Any]") -> None:
    while not server.started:
        time.sleep(0.01)
    control.send(f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}")
    while control.recv():
        cost.cpu = time.process_time()
        control.send(cost)
