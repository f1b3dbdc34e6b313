"""Owns the tests of the way of memories into the memory graph."""

import asyncio
from dataclasses import replace

import pytest
from sqlmodel import Session, select

from service.conversation.dependencies import ConversationDependencies
from service.memory.forgetting import forget_world
from service.memory.record import Embedded, Group, Kind, Memory
from service.runtime.carried import Deliveries, jobs_of
from service.runtime.made_people import forget_character
from service.runtime.snapshots import keep, read_snapshot, restore
from service.runtime.world_session import load
from service.store.jobs import JobKind, jobs_waiting
from service.store.phase import Phase
from service.store.tables import JobKey, MemoryOwnerRow
from tests.conversation.talks import meet, talk, talk_of_family
from tests.memory.remote import RemoteGraph
from tests.runtime.patience import until
from tests.runtime.trying import job, try_jobs
from tests.scripted_model import ScriptedModel
from world.time import WorldTime

AOI = Group(world_id="main", person_id="aoi")
MIO = Group(world_id="main", person_id="mio")
AT = WorldTime(1000)


@pytest.fixture
def graph() -> RemoteGraph:
    """The graph of `house`."""
    return RemoteGraph()


@pytest.fixture
def house(room: ConversationDependencies, graph: RemoteGraph) -> ConversationDependencies:
    """A room with that graph."""
    room.database.has_graph = True
    return replace(room, projection=graph)


def remembers(house: ConversationDependencies, text: str, group: Group = AOI) -> None:
    """The person is told something by Taro."""
    one = Memory(
        id=text, kind=Kind.FACT, text=text, told_by="npc_taro", partner_id="npc_taro", valid_from=AT, known_from=AT
    )

    def work(session: Session) -> None:
        house.worlds.open(session, group.world_id, lock=True)
        house.memory.remember(session, group, [one], Embedded())

    house.database.write_now(work)


def owner(house: ConversationDependencies, group: Group = AOI) -> MemoryOwnerRow:
    """How far the person's memory is, and the graph."""
    return house.database.read_now(lambda s: s.get_one(MemoryOwnerRow, group.key()))


def waiting(house: ConversationDependencies, person_id: str = "") -> int:
    """How many people's memories are not in the graph."""
    return house.database.read_now(lambda s: jobs_waiting(s, JobKey("main", JobKind.DELIVERY, person_id)))


def deliver(house: ConversationDependencies, *people: str) -> None:
    """Bring there what these remember, or all."""
    try_jobs(house, JobKind.DELIVERY, *people)


def test_everybodys_memories_are_brought_there_and_only_what_is_new_again(
    house: ConversationDependencies, graph: RemoteGraph
) -> None:
    remembers(house, "The well is dry")
    remembers(house, "The boat is sold", MIO)
    assert (waiting(house), waiting(house, "aoi")) == (2, 1)
    deliver(house)
    assert sorted(graph.taken) == ["aoi", "mio"]
    remembers(house, "The sea is calm")
    deliver(house)
    assert graph.taken[2:] == ["aoi"]
    assert graph.held[AOI].keys() == {"The well is dry", "The sea is calm"}
    assert waiting(house) == 0


def test_where_there_is_no_graph_nothing_waits(room: ConversationDependencies) -> None:
    remembers(room, "The well is dry")
    assert waiting(room) == 0
    deliver(room)


def test_while_the_graph_is_away_what_was_remembered_is_recalled_and_waits(
    house: ConversationDependencies, graph: RemoteGraph
) -> None:
    graph.away = True
    remembers(house, "The well is dry")
    deliver(house)
    found = asyncio.run(house.memory.recall(AOI, "well", at=AT))
    assert [one.memory.text for one in found] == ["The well is dry"]
    assert owner(house).projected_revision == -1
    row = job(house, JobKind.DELIVERY, "aoi")
    assert row is not None
    assert row.tries == 1
    assert "connection refused" in row.last_error


def test_when_the_graph_is_back_the_runner_brings_it_there_by_itself(
    house: ConversationDependencies, graph: RemoteGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Deliveries, "first_wait", 0.02)
    graph.away = True
    remembers(house, "The well is dry")

    async def run() -> None:
        jobs = jobs_of(house)
        await jobs.start()
        await until(lambda: any(row.last_error for row in [job(house, JobKind.DELIVERY, "aoi")] if row))
        graph.away = False
        await until(lambda: not waiting(house))
        await jobs.stop()

    asyncio.run(run())
    assert graph.held[AOI].keys() == {"The well is dry"}


def test_a_slow_graph_does_not_keep_an_abandoned_talk_from_being_taken_up(
    house: ConversationDependencies, graph: RemoteGraph, script: ScriptedModel
) -> None:
    remembers(house, "The boat is sold", MIO)
    script.enqueue(*talk_of_family())

    async def run() -> str:
        graph.slow = asyncio.Event()
        jobs = jobs_of(house)
        await jobs.start()
        await asyncio.sleep(0.05)  # the delivery hangs
        conversation_id = meet(house)
        await until(lambda: talk(house, conversation_id).phase == Phase.CLOSED)
        assert graph.taken == []
        graph.slow.set()
        await jobs.stop()
        return conversation_id

    assert talk(house, asyncio.run(run())).phase == Phase.CLOSED


def test_a_memory_that_cannot_be_written_holds_up_its_own_person_only(
    house: ConversationDependencies, graph: RemoteGraph
) -> None:
    graph.refused = "aoi"
    remembers(house, "The well is dry")
    remembers(house, "The boat is sold", MIO)
    deliver(house)
    assert graph.taken == ["mio"]
    row = job(house, JobKind.DELIVERY, "aoi")
    assert row is not None
    assert "cannot be written, ever" in row.last_error


def test_a_crash_on_the_way_writes_nothing_twice(house: ConversationDependencies, graph: RemoteGraph) -> None:
    remembers(house, "The well is dry")
    graph.dies_after = True
    with pytest.raises(KeyboardInterrupt):
        deliver(house, "aoi")
    assert waiting(house) == 1
    graph.dies_after = False
    deliver(house, "aoi")
    assert waiting(house) == 0
    assert len(graph.held[AOI]) == 1


def test_a_world_forgotten_while_its_memory_is_on_the_way_stays_forgotten(
    house: ConversationDependencies, graph: RemoteGraph
) -> None:
    async def run() -> None:
        graph.slow = asyncio.Event()
        remembers(house, "The well is dry")
        jobs = jobs_of(house)
        delivery = asyncio.create_task(jobs.submit(JobKey("main", JobKind.DELIVERY, "aoi")))
        await until(lambda: any(row.runner for row in [job(house, JobKind.DELIVERY, "aoi")] if row))
        await house.database.write(lambda s: forget_world(s, "main"))
        graph.slow.set()
        await delivery
        await jobs.stop()

    asyncio.run(run())
    assert graph.held == {AOI: {}}
    assert house.database.read_now(lambda s: s.exec(select(MemoryOwnerRow)).all()) == []


def test_what_is_forgotten_while_the_graph_is_away_is_gone_when_it_is_back(
    house: ConversationDependencies, graph: RemoteGraph
) -> None:
    remembers(house, "The well is dry")
    deliver(house, "aoi")
    graph.away = True
    house.database.write_now(
        lambda s: forget_character(s, house.memory, load(s, house.worlds, "main", models_missing=True), "aoi")
    )
    deliver(house, "aoi")
    assert graph.held[AOI]
    graph.away = False
    deliver(house, "aoi")
    assert graph.held == {AOI: {}}


def test_a_world_that_is_brought_back_takes_the_graph_with_it(
    house: ConversationDependencies, graph: RemoteGraph
) -> None:
    remembers(house, "The well is dry")
    deliver(house)
    asyncio.run(keep(house, "main", "before"))
    remembers(house, "The sea is calm")
    remembers(house, "The boat is sold", MIO)
    deliver(house)
    assert len(graph.held[AOI]) == 2
    house.database.write_now(lambda s: restore(s, "main", read_snapshot(s, "main", "before"), 0.0))
    deliver(house)
    assert graph.held[AOI].keys() == {"The well is dry"}
    assert graph.held[MIO] == {}


def test_one_person_is_brought_there_by_one_at_a_time(house: ConversationDependencies, graph: RemoteGraph) -> None:
    remembers(house, "The well is dry")

    async def run() -> None:
        graph.slow = asyncio.Event()
        jobs, aoi = jobs_of(house), JobKey("main", JobKind.DELIVERY, "aoi")
        both = asyncio.gather(jobs.submit(aoi), jobs.submit(aoi))
        await asyncio.sleep(0.05)
        graph.slow.set()
        await both
        await jobs.stop()

    asyncio.run(run())
    assert graph.taken == ["aoi"]
