"""Measures whether the memory of `kataribe serve` stays flat: players who talk, streams, ticks, recalls, and worlds
that are made and deleted, for as long as it is told; the resident memory is read four times a minute.

The model is `model_server`; the load is light, so that what grows is what is held, and not what waits.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from benchmarks.model_server import model_server
from tests.servers.postgres import free_port

MINUTES = 60.0
PLAYERS = 2
"""Each in a world of its own, which is deleted after a talk; every fourth talk is in a world that stays."""
LASTING = 4
SAMPLE_SECONDS = 15.0
REST_SECONDS = 2.0
SAYS = ("Good day.", "What did he say about the sea?", "Then until tomorrow.")


def run(minutes: float = MINUTES, players: int = PLAYERS) -> dict[str, float]:
    """Figures: MB resident after the first quarter and at the end, MB an hour that it grew by between them (least
    squares), and the talks that were held.
    """
    with tempfile.TemporaryDirectory() as directory, model_server(mean_seconds=0.05) as model:
        port = free_port()
        settings = {
            "KATARIBE_LLM__BASE_URL": model.base_url,
            "KATARIBE_LLM__MODEL": "made-up",
            "KATARIBE_DATA_DIR": directory,
            "KATARIBE_EMBEDDING__PROVIDER": "none",
        }
        command = [*_serving(), "serve", "--port", str(port)]
        with subprocess.Popen(command, env={**os.environ, **settings}) as service:
            try:
                return asyncio.run(_measure(f"http://127.0.0.1:{port}", service.pid, 60 * minutes, players))
            finally:
                service.terminate()


def _serving() -> list[str]:
    """The installed command; `KATARIBE_RUN` may name another one, such as a profiler's, for the hunt."""
    return os.environ.get("KATARIBE_RUN", str(Path(sys.executable).parent / "kataribe")).split()


async def _measure(url: str, pid: int, seconds: float, players: int) -> dict[str, float]:
    async with httpx.AsyncClient(base_url=url, timeout=120) as http:
        while True:
            try:
                (await http.get("/healthz")).raise_for_status()
                break
            except httpx.ConnectError:
                await asyncio.sleep(0.2)
        until = time.monotonic() + seconds
        sampling = asyncio.create_task(_sampled(pid, until))
        talks = await asyncio.gather(*(_player(http, number, until) for number in range(players)))
        samples = await sampling
    settled = samples[len(samples) // 4 :]
    slope, _ = statistics.linear_regression(*zip(*settled, strict=True))
    return {
        "rss_mb_quarter": settled[0][1],
        "rss_mb_end": settled[-1][1],
        "rss_growth_mb_h": 3600 * slope,
        "talks": sum(talks),
    }


async def _sampled(pid: int, until: float) -> list[tuple[float, float]]:
    """Seconds, and MB resident."""
    begun, found = time.monotonic(), list[tuple[float, float]]()
    while time.monotonic() < until:
        await asyncio.sleep(SAMPLE_SECONDS)
        found.append((time.monotonic() - begun, _resident_mb(pid)))
        print(f"{found[-1][0]:.0f} s {found[-1][1]:.1f} MB", file=sys.stderr, flush=True)
    return found


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


async def _player(http: httpx.AsyncClient, number: int, until: float) -> int:
    talks = 0
    while time.monotonic() < until:
        stays = talks % 4 == 3
        world_id = f"stays{number % LASTING}" if stays else f"goes{number}x{talks}"
        await _talk(http, world_id)
        await _live(http, world_id, deletes=not stays)
        talks += 1
        await asyncio.sleep(REST_SECONDS)
    return talks


async def _talk(http: httpx.AsyncClient, world_id: str) -> None:
    world = {"X-World-Id": world_id}
    await _asked(http, "PUT", "/people/ken", world, {"kind": "player", "name": "Ken"})
    start = {"mode": "player", "player_id": "ken", "partner_id": "npc_taro"}
    path = f"/conversations/{(await _asked(http, 'POST', '/conversations/start', world, start)).json()['id']}"
    listening = asyncio.create_task(_listen(http, f"{path}/stream", world))
    for text in SAYS:
        answer = await http.post(f"{path}/say?wait=true", json={"text": text}, headers=world)
        if answer.status_code == 409:  # the model has ended it
            break
        answer.raise_for_status()
    await _asked(http, "POST", f"{path}/end", world)
    await listening


async def _listen(http: httpx.AsyncClient, path: str, world: dict[str, str]) -> None:
    """Until the talk is remembered."""
    async with http.stream("GET", path, headers=world) as events:
        async for _ in events.aiter_lines():
            pass


async def _live(http: httpx.AsyncClient, world_id: str, *, deletes: bool) -> None:
    world = {"X-World-Id": world_id}
    met = await _asked(http, "GET", "/people/npc_taro/memory/search?query=sea", world)
    assert met.json()
    await _asked(http, "POST", "/world/tick", world, {"ticks": 30})
    await _asked(http, "GET", "/world/events?limit=100", world)
    if deletes:
        await _asked(http, "DELETE", "/world", world)


async def _asked(
    http: httpx.AsyncClient, method: str, path: str, headers: dict[str, str], body: object = None
) -> httpx.Response:
    answer = await http.request(method, path, json=body, headers=headers)
    return answer.raise_for_status()
