"""Owns the look at what a service would run on: settings, database, memory, models and clock, one finding each. It may
run beside a service, and changes nothing.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from service.errors import DatabaseDamaged, KataribeError, Misconfigured
from service.export.files import is_missing, store_place
from service.llm.choose import ROLES, Models, choose_models, probe
from service.locales import Language, Phrase
from service.memory.choose import choose_memory, choose_projection
from service.offline.model import REHEARSAL, OfflineModel
from service.settings import Role, Settings
from service.store.budget import try_write
from service.store.session import Database, find_damage, newest_schema, schema_of
from service.wiring import chosen_worlds

MOST_SKEW_SECONDS = 2.0
"""Replicas hold promises by the machine's time: clocks farther apart are told."""
_SETTING = "KATARIBE_DATABASE_URL"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was looked at, a key under `doctor`, and what was found; an error: what is wrong, and what to set."""

    what: str
    found: Phrase | KataribeError
    role: Role | None = None
    """whose model it was"""

    @property
    def is_wrong(self) -> bool:
        """Whether it needs somebody's hand."""
        return isinstance(self.found, KataribeError)

    def said(self, language: Language) -> str:
        """The finding in that language."""
        found = self.found
        return found.sentence(language) if isinstance(found, KataribeError) else found.of(language)


async def check_up(settings: Settings, models: Models | None = None) -> AsyncIterator[Finding]:
    """The findings, as each is made; `models` stand in for those that the settings would choose."""
    yield await _finding("settings", _content(settings))
    if is_missing(settings):
        yield Finding(what="database", found=Phrase("doctor.no_database", place=store_place(settings)))
    else:
        with closing(Database(settings.store_url)) as database:
            yield await _finding("database", _database(database))
            yield await _finding("memory", _memory(settings, database))
            yield await _finding("clock", _clock(database))
    chosen = models or choose_models(settings, OfflineModel(seed=settings.llm.seed))
    try:
        if {*chosen.names().values()} <= {"none", REHEARSAL}:
            yield await _finding("models", _model(chosen, "closing"))
        else:
            for one in await asyncio.gather(*(_finding("models", _model(chosen, role), role) for role in ROLES)):
                yield one
    finally:
        await chosen.aclose()


async def _finding(what: str, look: Awaitable[Phrase], role: Role | None = None) -> Finding:
    try:
        return Finding(what=what, found=await look, role=role)
    except KataribeError as exc:
        return Finding(what=what, found=exc, role=role)
    except SQLAlchemyError as exc:
        reason = Phrase("settings.database_unopenable", reason=" ".join(str(getattr(exc, "orig", exc)).split()))
        return Finding(what=what, found=Misconfigured(setting=_SETTING, reason=reason))


async def _content(settings: Settings) -> Phrase:
    return Phrase("doctor.content", languages=", ".join(chosen_worlds(settings).content.casts))


async def _database(database: Database) -> Phrase:
    """A store of another version is one that the next start brings up to date, or refuses."""
    file = database.url.database or ""
    if database.is_sqlite and (damage := find_damage(Path(file))) is not None:
        raise DatabaseDamaged(setting=_SETTING, file=file, found=damage)
    with database.engine.connect() as connection:
        revision = schema_of(connection)
    kind = "SQLite" if database.is_sqlite else "PostgreSQL"
    if revision != newest_schema():
        return Phrase("doctor.other_schema", kind=kind, found=revision or "-", known=newest_schema())
    await database.write(try_write)
    return Phrase("doctor.on_database", kind=kind, schema=revision)


async def _memory(settings: Settings, database: Database) -> Phrase:
    memory = choose_memory(settings, database)
    await memory.check()
    graph = choose_projection(settings, database, memory)
    if graph is not None:
        try:
            await graph.check()
        finally:
            await graph.aclose()
    vectors = (await memory.embed(["a"])).vectors if memory.embeds else {}
    found = Phrase("doctor.vectors", count=vectors["a"].size) if vectors else Phrase("doctor.words_alone")
    return Phrase("doctor.held", graph="Neo4j" if graph is not None else "SQL", vectors=found)


async def _clock(database: Database) -> Phrase:
    if database.is_sqlite:
        return Phrase("doctor.same_clock")
    asked = time.time()
    with database.engine.connect() as connection:
        there = float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())
    skew = there - (asked + time.time()) / 2
    if abs(skew) > MOST_SKEW_SECONDS:
        raise Misconfigured(setting=_SETTING, reason=Phrase("doctor.skew", seconds=f"{skew:+.1f}"))
    return Phrase("doctor.skewed", milliseconds=round(1000 * skew))


async def _model(models: Models, role: Role) -> Phrase:
    if models.for_role(role).name == REHEARSAL:
        return Phrase("doctor.rehearsal")
    answer = await models.for_role(role).complete(probe(role))
    return Phrase("doctor.answered", model=models.names()[role], milliseconds=answer.usage.milliseconds)
