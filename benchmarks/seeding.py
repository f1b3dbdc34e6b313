"""Measures how long it takes to give a person a past over HTTP, half statements and half turns, until all is found by
words, and how many bytes of the database it takes. No embedder: vectors are made afterwards, in the background.
"""

import asyncio
import json
import random
import tempfile
import time
from pathlib import Path

import httpx

from service.app import create_app
from service.content.files import bundled_content
from service.settings import Settings

_JA = "船 鐘 霧 祖母 手紙 杉 港 旅館 薬 帳面 灯台 猫 豆 祭り 神社 借金 約束 兄 娘 潮 釘 錨 日記 市場 医者 鍛冶".split()
_EN = "boat bell fog letter cedar harbour inn medicine ledger lighthouse cat bread festival shrine debt promise".split()
_A_TALK = 40


async def run(lines: int) -> dict[str, float]:
    """Figures ``seed_<lines>_s``, its machine time of CPU, ``…_kb_body``, ``…_bytes_a_line``, and ``…_again_s`` for the
    same lines once more.
    """
    body = _body(lines, random.Random(7))
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(
            _env_file=None,
            data_dir=Path(directory),
            content_dir=bundled_content(),
            allowed_hosts=["bench"],
            embedding={"provider": "none"},
            llm={"provider": "rehearsal"},
        )
        app = create_app(settings)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bench", timeout=120) as client,
        ):
            before = _bytes(Path(directory))
            took, cpu = await _give(client, body, lines)
            again, _ = await _give(client, body, lines)
            grown = _bytes(Path(directory)) - before
    name = f"seed_{lines}"
    return {
        f"{name}_s": took,
        f"{name}_cpu_s": cpu,
        f"{name}_again_s": again,
        f"{name}_kb_body": len(body) / 1000,
        f"{name}_bytes_a_line": grown / lines,
    }


async def _give(client: httpx.AsyncClient, body: bytes, lines: int) -> tuple[float, float]:
    """Seconds until the answer came and the last line is found, and those of CPU."""
    begun, worked = time.perf_counter(), time.process_time()
    headers = {"Content-Type": "application/x-ndjson"}
    answer = await client.post("/people/aoi/memory", content=body, headers=headers)
    answer.raise_for_status()
    found = (await client.get(f"/people/aoi/memory/search?k=1&query=number{lines - 1}")).raise_for_status().json()
    if not found["found"]:
        raise RuntimeError(found)
    return time.perf_counter() - begun, time.process_time() - worked


def _body(lines: int, rng: random.Random) -> bytes:
    return b"".join(json.dumps(_line(n, rng), ensure_ascii=False).encode() + b"\n" for n in range(lines))


def _line(number: int, rng: random.Random) -> dict[str, str]:
    text = (
        f"the {rng.choice(_EN)} and the {rng.choice(_EN)} of the {rng.choice(_EN)}, number{number}"
        if rng.random() < 0.5
        else f"{rng.choice(_JA)}の{rng.choice(_JA)}と{rng.choice(_JA)}について話した number{number}"
    )
    line = {"id": f"line{number}", "at": f"2025-{number % 12 + 1:02}-{number % 28 + 1:02}T{number % 24:02}:00"}
    if number % 2:
        return {**line, "statement": text, "about": "npc_taro"}
    return {
        **line,
        "text": text,
        "conversation": f"talk{number // _A_TALK}",
        "speaker": ("npc_taro", "aoi")[number // 2 % 2],
    }


def _bytes(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(10_000)), indent=1))
