"""Owns what is done to a store by hand: keys are given out; other installations' groups are taken over or removed, what
another embedder has embedded is embedded anew, what people remember is written to a file and read from one, and what
has faded is removed.
"""

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from sqlmodel import Session, col, exists, select

from service.errors import LinesWrong, Misconfigured, WrongLine, usable
from service.export.files import named_time
from service.locales import Phrase
from service.memory.authoring import Author, seeds_of
from service.memory.choose import choose_embedder, choose_memory, choose_projection
from service.memory.memory_store import MemoryStore, Reembedded
from service.memory.projection import project_anew
from service.memory.record import Group, Kind
from service.memory.seed_lines import GivenLine, read_lines
from service.memory.seeding import Seeded, past_lines, seed
from service.people.worlds import WorldRepository
from service.settings import Settings
from service.store.session import Database, opened_database
from service.store.tables import (
    CommitmentRow,
    ConversationRow,
    MemoryOwnerRow,
    MemoryRow,
    OverheardRow,
    SummaryRow,
)
from service.wiring import chosen_worlds
from world.time import LATEST

if TYPE_CHECKING:
    from service.memory.graphiti.projection import GraphitiProjection


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """How many memories were removed, of how many people, and how many conversations nobody remembers any more."""

    memories: int = 0
    people: int = 0
    conversations: int = 0


def owners(session: Session, world_id: str) -> list[Group]:
    """Who of the world remembers anything."""
    people = select(MemoryOwnerRow.person_id).where(MemoryOwnerRow.world_id == world_id)
    return [Group(world_id=world_id, person_id=one) for one in session.exec(people.order_by(MemoryOwnerRow.person_id))]


def prune(
    session: Session,
    memory: MemoryStore,
    group: Group,
    faded: Collection[tuple[Kind, str]],
    remembered: Collection[str],
) -> int:
    """Remove what has faded from the person's memory; the caller commits. Answers how much it was.

    Of a talk of which something is `remembered`, the turns stay, and stay faded.
    """
    for kind, key in sorted(faded):
        if kind is not Kind.TURN:
            memory.remove(session, group, kind, key)
            row = session.get(MemoryRow, group.key(key))
            if row is not None and not row.given_id:  # nobody brings it back: nothing need bar it
                session.delete(row)
    for talk in sorted(talks_of(faded)):
        summary = session.get(SummaryRow, group.key(talk))
        if summary is None:
            session.delete(session.get_one(OverheardRow, group.key(talk)))
        elif talk not in remembered:
            session.delete(summary)
    return sum(kind is not Kind.TURN or key.partition("/")[0] not in remembered for kind, key in faded)


def talks_of(faded: Iterable[tuple[Kind, str]]) -> set[str]:
    """The talks that have faded."""
    return {key.partition("/")[0] for kind, key in faded if kind in (Kind.TURN, Kind.SUMMARY)}


def prune_talks(session: Session, world_id: str, talks: Collection[str]) -> int:
    """Remove those of the talks that nobody remembers and of which nothing else came; the caller commits. Answers how
    many.
    """
    session.flush()
    removed = 0
    for talk in sorted(talks):
        came = (
            exists().where(col(row.world_id) == world_id, col(row.conversation_id) == talk)
            for row in (SummaryRow, MemoryRow, CommitmentRow, OverheardRow)
        )
        found = session.get(ConversationRow, (world_id, talk))
        if found is not None and not any(session.execute(select(one)).scalar() for one in came):
            session.delete(found)
            removed += 1
    return removed


async def adopt(settings: Settings, world_id: str) -> int:
    """Make the groups of a world that another installation wrote into Neo4j this one's, and have all of the world
    written there anew; answers how many.

    Raises:
        Misconfigured: the memory is not on Neo4j, or a service runs on the data.
        GraphUnavailable.
    """

    async with _on_neo4j(settings) as (database, graph):
        taken = await graph.take_over(world_id)
        await database.write(lambda s: project_anew(s, world_id))
        return taken


async def purge(settings: Settings, world_id: str) -> int:
    """Remove the groups of a world that another installation wrote into Neo4j; answers how many.

    Raises:
        Misconfigured: the memory is not on Neo4j, or a service runs on the data.
        GraphUnavailable: some may be left; the same call may be made again.
    """
    async with _on_neo4j(settings) as (_, graph):
        return await graph.purge(world_id)


async def reembed(settings: Settings) -> Reembedded:
    """Give what another embedder has embedded the vectors of the one that is set.

    Raises:
        Misconfigured: no embedder is set, or a service runs on the data.
        GraphUnavailable: what was done until then stays; the same call goes on from there.
    """
    if choose_embedder(settings) is None:
        raise Misconfigured(setting="KATARIBE_EMBEDDING__PROVIDER", reason=Phrase("settings.nothing_embeds"))
    async with _with_memory(settings) as (_, __, memory):
        return await memory.reembed()


async def prune_memory(settings: Settings, world_id: str, before: str | None) -> Pruned:
    """Remove what people of a world have forgotten by now, or by a world time `before`.

    Raises:
        NoSuchTime: `before` is no world time.
        Misconfigured: a setting is wrong, or a service runs on the data.
        GraphUnavailable: what was removed until then stays so; the same call goes on from there.
    """
    until = LATEST if before is None else named_time("--before", before)

    async with _with_memory(settings) as (database, worlds, memory):
        now = database.read_now(lambda s: worlds.open(s, world_id)).now
        counts, talks = list[int](), set[str]()
        for group in await database.read(lambda s: owners(s, world_id)):
            gone = [key for key, at in (await memory.forgotten(group, now)).items() if at <= until]
            remembered = {item.conversation_id for item in await memory.items(group, now)}
            counts.append(
                await database.write(partial(prune, memory=memory, group=group, faded=gone, remembered=remembered))
            )
            talks |= talks_of(gone)
        removed = await database.write(lambda s: prune_talks(s, world_id, talks))
        return Pruned(memories=sum(counts), people=sum(count > 0 for count in counts), conversations=removed)


async def export_memory(settings: Settings, world_id: str, person_id: str | None, to: BinaryIO) -> int:
    """Write what a person of a world remembers, or everybody, as lines of JSON; answers how many.

    Raises:
        NotFound: there is no such person.
        Misconfigured: a setting is wrong, or a service runs on the data.
        GraphUnavailable.
    """

    async with _with_memory(settings) as (database, worlds, memory):
        world = database.read_now(lambda s: worlds.open(s, world_id))
        everybody = list(world.cast.everybody)
        count = 0
        for one in everybody if person_id is None else [world.cast.person(person_id).id]:
            group = Group(world_id=world_id, person_id=one)
            items = await memory.items(group, world.now)
            given = await database.read(partial(seeds_of, group=group, items=items))
            for line in past_lines(items, given):
                to.write(json.dumps({"person": one, **line}, ensure_ascii=False).encode() + b"\n")
                count += 1
        return count


async def import_memory(settings: Settings, world_id: str, file: Path) -> Seeded:
    """Give people of a world the past that a file of JSON lines holds, all of it or nothing; each line names its
    `person`. What was given before changes nothing.

    Raises:
        LinesWrong: lines that cannot be taken.
        NotFound: there is no such person.
        FileUnusable: it cannot be read.
        Misconfigured: a setting is wrong, or a service runs on the data.
    """
    with usable(file):
        past = _past_of(file)

    async with _with_memory(settings) as (database, worlds, memory):

        def write(session: Session) -> list[Seeded]:
            world = worlds.open(session, world_id, lock=True)
            author = Author(name="kataribe memory import", reason=file.name)
            return [seed(session, world, memory, person_id, lines, author) for person_id, lines in past.items()]

        done = await database.write(write)
    return Seeded(**{one.name: sum(getattr(each, one.name) for each in done) for one in fields(Seeded)})


def _past_of(file: Path) -> dict[str, list[GivenLine | WrongLine]]:
    """The lines of a file by their person. Raises: LinesWrong: some name nobody, or are no JSON."""
    found: defaultdict[str, list[GivenLine | WrongLine]] = defaultdict(list)
    wrong: list[WrongLine] = []
    with file.open("rb") as lines:
        for number, text in enumerate(lines, start=1):
            try:
                person_id, rest = _person_of(text)
            except ValueError:
                wrong.append(WrongLine(where=f"line {number}", reason=Phrase("answers.lines.no_person")))
                continue
            found[person_id] += read_lines([(number, rest)])
    if wrong:
        raise LinesWrong(wrong)
    return found


def _person_of(text: bytes) -> tuple[str, bytes]:
    """Raises: ValueError: it is no JSON, or has no person."""
    line = json.loads(text)
    if not isinstance(line, dict) or not isinstance(person_id := line.pop("person", None), str):
        raise ValueError("no person")
    return person_id, json.dumps(line).encode()


@asynccontextmanager
async def _with_memory(settings: Settings) -> AsyncIterator[tuple[Database, WorldRepository, MemoryStore]]:
    worlds = chosen_worlds(settings)
    with opened_database(settings) as database:
        memory = choose_memory(settings, database)
        try:
            yield database, worlds, memory
        finally:
            await memory.aclose()


@asynccontextmanager
async def _on_neo4j(settings: Settings) -> AsyncIterator[tuple[Database, "GraphitiProjection"]]:
    with opened_database(settings) as database:
        graph = choose_projection(settings, database, choose_memory(settings, database))
        if graph is None:
            raise Misconfigured(setting="KATARIBE_MEMORY__BACKEND", reason=Phrase("settings.not_on_neo4j"))
        try:
            yield database, graph
        finally:
            await graph.aclose()
