"""Measures how a memory grows: two talks and a night a day for 100 world days, in virtual time and without a model."""

import asyncio
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from sqlalchemy import text
from sqlmodel import Session, col, func, select

from service.content.files import bundled_content
from service.content.load import load_content
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.locales import Language
from service.memory.episodes import Fading
from service.memory.index import IndexCache
from service.memory.memory_store import MemoryStore
from service.memory.mind import due_reflections
from service.memory.record import Group, Kind
from service.runtime.carried import jobs_of
from service.runtime.publish import fall_asleep
from service.runtime.world_session import load, save
from service.settings import MemorySettings
from service.store.tables import TurnRow, WorldRow
from tests.conversation.talks import meet
from tests.runtime.lives import house, rehearsal
from tests.store.conversations import main
from world.time import MINUTES_PER_DAY, WorldTime

DAYS = 100
LOOKED_AT = (1, 10, 50, 100)
PARTNERS = ("npc_taro", "npc_hamako")
ASKED = ("the letter", "What did he say about the sea?", "family", "Who mends the boat?")
ROUNDS = 5
AOI = Group(world_id="main", person_id="aoi")


def run(days: int = DAYS, language: Language = "en") -> dict[str, float]:
    """Figures ``day_<n>_rows`` of all tables, ``…_index_bytes``, ``…_recall_ms`` (CPU) and ``…_prompt_tokens`` of a
    turn; and ``bytes_a_day`` of the database.
    """
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(_lived(Path(directory), days, language))


async def _lived(directory: Path, days: int, language: Language) -> dict[str, float]:
    figures: dict[str, float] = {}
    content, indexes = load_content(bundled_content()), IndexCache()
    fading = Fading(after_days=MemorySettings().fade_after_days)
    async with house(content, directory, rehearsal(), language=language, decision="routine", look_seconds=3600) as home:
        room = replace(home.room, memory=MemoryStore(home.room.database, None, indexes, fading))
        empty = await room.database.read(_bytes)
        for day in range(1, days + 1):
            began = await room.database.read(lambda s: room.worlds.open(s, "main").now)
            await _day(room)
            if day in LOOKED_AT or day == days:
                figures |= {f"day_{day}_{name}": value for name, value in (await _look(room, indexes, began)).items()}
        figures["bytes_a_day"] = (await room.database.read(_bytes) - empty) / days
    return figures


async def _day(room: ConversationDependencies) -> None:
    engine = Engine(room)
    for partner_id in PARTNERS:
        key = main(await asyncio.to_thread(meet, room, npc_id=partner_id, goal=None))
        await engine.converse(key)
        await engine.close(key)
    await room.database.write(lambda s: _sleep(s, room))
    jobs = jobs_of(room)
    await asyncio.gather(*(jobs.submit(key.job) for key in await room.database.read(due_reflections)))
    await room.database.write(_next_day)


def _sleep(session: Session, room: ConversationDependencies) -> None:
    now = room.worlds.open(session, "main", lock=True).now
    world_session = load(session, room.worlds, "main", models_missing=True)
    fall_asleep(session, world_session, "aoi", now)
    save(session, world_session)


def _next_day(session: Session) -> None:
    session.get_one(WorldRow, "main").now += MINUTES_PER_DAY


async def _look(room: ConversationDependencies, indexes: IndexCache, began: WorldTime) -> dict[str, float]:
    now = WorldTime(began + MINUTES_PER_DAY)
    await room.memory.recall(AOI, ASKED[0], at=now, kinds=set(Kind))  # it is read
    cpu = time.process_time()
    for query in ASKED * ROUNDS:
        await room.memory.recall(AOI, query, at=now, kinds=set(Kind))
    cpu = time.process_time() - cpu

    def tokens(session: Session) -> float:
        return float(session.exec(select(func.avg(TurnRow.prompt_tokens)).where(col(TurnRow.at) >= began)).one())

    return {
        "rows": await room.database.read(_rows),
        "index_bytes": indexes.bytes,
        "recall_ms": 1000 * cpu / (len(ASKED) * ROUNDS),
        "prompt_tokens": await room.database.read(tokens),
    }


def _rows(session: Session) -> int:
    names = session.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars().all()
    return sum(int(session.execute(text(f'SELECT count(*) FROM "{name}"')).scalar_one()) for name in names)  # noqa: S608


def _bytes(session: Session) -> int:
    pages, size = (session.execute(text(f"PRAGMA {name}")).scalar_one() for name in ("page_count", "page_size"))
    return int(pages * size)
