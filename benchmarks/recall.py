"""Measures recall: p50 and p95 at growing numbers of facts of one character, without and with 1,000 characters beside it.

The embedder is a fixed table of random unit vectors, so that embedding costs nothing and the search is what is timed.
Facts are sentences over a skewed vocabulary of Japanese and English words; questions are made of words of a fact.
"""

import asyncio
import hashlib
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import SecretStr

from benchmarks.neo4j import NotHere, neo4j_server
from service.memory.embedding.embedder import Vectors
from service.memory.graph import Episode, FactDraft, Group, MemoryGraph, episode_id, fact_id
from service.memory.graphiti.graph import GraphitiGraph
from service.memory.sqlite.graph import SqliteGraph
from world.time import WorldTime

SIZES = (100, 1_000, 10_000, 100_000)
BESIDE_SIZE = 10_000
BESIDE = 1_000
BESIDE_FACTS = 20
QUERIES = 60
PER_EPISODE = 250
NOW = WorldTime(1_000_000_000)

_JA = "船 鐘 霧 祖母 手紙 杉 港 旅館 薬 帳面 灯台 猫 豆 パン 祭り 神社 借金 約束 兄 娘 潮 釘 錨 日記 切手 瓦 粉 市場 医者 鍛冶".split()
_EN = "boat bell fog letter cedar harbour inn medicine ledger lighthouse cat bread festival shrine debt promise".split()
_ENDS = "を覚えている を失くした を探している を直した について話した を売った".split()


class TableEmbedder:
    """A unit vector per text, made from its hash: costs nothing and is the same everywhere."""

    name = "table"
    dimensions = 384

    async def query(self, text: str) -> Vectors:
        """Shape (1, 384)."""
        return self._vectors([text])

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), 384)."""
        return self._vectors(texts)

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        seeds = (int.from_bytes(hashlib.sha256(t.encode()).digest()[:8], "big") for t in texts)
        rows = np.stack([np.random.default_rng(seed).standard_normal(384, dtype=np.float32) for seed in seeds])
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How many facts a character has, and how many characters are beside the one with `beside_size` facts."""

    sizes: tuple[int, ...] = SIZES
    beside_size: int = BESIDE_SIZE
    beside: int = BESIDE
    queries: int = QUERIES


def run(scale: Scale | None = None, *, with_neo4j: bool = True) -> dict[str, float]:
    """Figures ``<graph>_<facts>_ms_p50|p95`` and, with other characters beside, ``<graph>_10000_beside_ms_p50|p95``."""
    return asyncio.run(_run(scale or Scale(), with_neo4j=with_neo4j))


async def _run(scale: Scale, *, with_neo4j: bool) -> dict[str, float]:
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as directory:
        graph = SqliteGraph(Path(directory) / "memory.db", TableEmbedder())
        figures |= await _measure("sqlite", graph, scale)
        await graph.aclose()
    if not with_neo4j:
        return figures
    try:
        with neo4j_server() as server:
            where = (server.uri, server.user, SecretStr(server.password), server.database)
            served = GraphitiGraph(*where, TableEmbedder())
            figures |= await _measure("neo4j", served, scale)
            await served.aclose()
    except NotHere as exc:
        print(f"recall: Neo4j is left out, {exc}", file=sys.stderr)
    return figures


async def _measure(name: str, graph: MemoryGraph, scale: Scale) -> dict[str, float]:
    figures: dict[str, float] = {}
    rng = random.Random(7)
    for size in scale.sizes:
        group = Group(world_id="bench", character_id=f"c{size}")
        await _fill(graph, group, size, rng)
        figures |= await _timed(f"{name}_{size}", graph, group, scale.queries, rng)
    for other in range(scale.beside):
        await _fill(graph, Group(world_id="bench", character_id=f"beside{other}"), BESIDE_FACTS, rng)
    group = Group(world_id="bench", character_id=f"c{scale.beside_size}")
    return figures | await _timed(f"{name}_{scale.beside_size}_beside", graph, group, scale.queries, rng)


async def _timed(name: str, graph: MemoryGraph, group: Group, queries: int, rng: random.Random) -> dict[str, float]:
    def ask(about: str | None) -> Callable[[str], Awaitable[object]]:
        return lambda query: graph.recall(group, query, at=NOW, about=about, limit=10)

    await ask(None)(_sentence(rng))  # the first one reads the group's vectors
    plain = await _times(ask(None), queries, rng)
    about = await _times(ask(_JA[3]), queries, rng)
    return {
        f"{name}_ms_p50": statistics.median(plain),
        f"{name}_ms_p95": plain[int(queries * 0.95)],
        f"{name}_about_ms_p95": about[int(queries * 0.95)],
    }


async def _times(ask: Callable[[str], Awaitable[object]], queries: int, rng: random.Random) -> list[float]:
    times = []
    for _ in range(queries):
        query = _sentence(rng)
        begun = time.perf_counter()
        await ask(query)
        times.append((time.perf_counter() - begun) * 1000)
    return sorted(times)


async def _fill(graph: MemoryGraph, group: Group, size: int, rng: random.Random) -> None:
    for number in range(0, size, PER_EPISODE):
        conversation = f"talk{number}"
        at = WorldTime(NOW - size + number)
        episode = Episode(
            id=episode_id(group, conversation),
            name="talk",
            body=_sentence(rng),
            partner_id=f"npc{rng.randrange(10)}",
            conversation_id=conversation,
            at=at,
        )
        drafts = [_draft(episode.id, index, at, rng) for index in range(min(PER_EPISODE, size - number))]
        await graph.remember(group, episode, drafts)


def _draft(episode: str, index: int, at: WorldTime, rng: random.Random) -> FactDraft:
    return FactDraft(
        id=fact_id(episode, index),
        subject=_word(_JA, rng),
        relation="knows",
        object=_word(_JA, rng),
        statement=_sentence(rng),
        turn=index % 10,
        valid_at=at,
    )


def _sentence(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return f"the {_word(_EN, rng)} and the {_word(_EN, rng)} of {_word(_EN, rng)} {rng.randrange(1000)}"
    return f"{_word(_JA, rng)}の{_word(_JA, rng)}と{_word(_JA, rng)}{rng.choice(_ENDS)}{rng.randrange(1000)}"


def _word(words: Sequence[str], rng: random.Random) -> str:
    """Skewed: the first words are much more common than the last."""
    return words[int(len(words) * rng.random() ** 2)]
