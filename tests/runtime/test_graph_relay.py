"""Owns the tests of the way of memories into the memory graph."""

import asyncio
from dataclasses import replace

import pytest
from sqlmodel import Session, select

from service.conversation.dependencies import ConversationDependencies
from service.memory.record import Embedded, Group, Kind, Memory
from service.runtime import memory_jobs
from service.runtime.carried import ConversationRunner
from service.runtime.made_people import forget_character, forget_world
from service.runtime.memory_jobs import MemoryJobs
from service.runtime.snapshots import keep, read_snapshot, restore
from service.runtime.world_session import load
from service.store.phase import Phase
from service.store.tables import MemoryOwnerRow
from tests.conversation.talks import meet, talk, talk_of_family
from tests.memory.remote import RemoteGraph
from tests.runtime.patience import until
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


def waiting(house: ConversationDependencies, person_id: str | None = None) -> int:
    """How many people's memories are not in the graph."""
    return house.database.read_now(lambda s: MemoryJobs(house).waiting(s, "main", person_id))


def test_everybodys_memories_are_brought_there_and_only_what_is_new_again(
    house: ConversationDependencies, graph: RemoteGraph
) -> None:
    remembers(house, "The well is dry")
    remembers(house, "The boat is sold", MIO)
    assert (waiting(house), waiting(house, "aoi")) == (2, 1)
    asyncio.run(MemoryJobs(house).deliver_due())
    assert sorted(graph.taken) == ["aoi", "mio"]
    remembers(house, "The sea is calm")
    asyncio.run(MemoryJobs(house).deliver_due())
    assert graph.taken[2:] == ["aoi"]
    assert graph.held[AOI].keys() == {"The well is dry", "The sea is calm"}
    assert waiting(house) == 0


def test_where_there_is_no_graph_nothing_waits(room: ConversationDependencies) -> None:
    remembers(room, "The well is dry")
    assert waiting(room) == 0
    asyncio.run(MemoryJobs(room).deliver_due())


def test_while_the_graph_is_away_what_was_remembered_is_recalled_and_waits(
    house: ConversationDependencies, graph: RemoteGraph
) -> None:
    graph.away = True
    remembers(house, "The well is dry")
    asyncio.run(MemoryJobs(house).deliver_due())
    found = asyncio.run(house.memory.recall(AOI, "well", at=AT))
    assert [one.memory.text for one in found] == ["The well is dry"]
    row = owner(house)
    assert (row.projection_attempts, row.projected_revision) == (1, -1)
    assert "connection refused" in row.projection_error


def test_when_the_graph_is_back_the_runner_brings_it_there_by_itself(
    house: ConversationDependencies, graph: RemoteGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_jobs, "LONGEST_WAIT_SECONDS", 0.02)
    graph.away = True
    remembers(house, "The well is dry")

    async def run() -> None:
        runner = ConversationRunner(house, sweep_seconds=0.02)
        await runner.start()
        await until(lambda: owner(house).projection_attempts > 0)
        graph.away = False
        await until(lambda: not waiting(house))
        await runner.stop()

    asyncio.run(run())
    assert graph.held[AOI].keys() == {"The well is dry"}
    assert (owner(house).projection_attempts, owner(house).projection_error) == (0, "")


def test_a_slow_graph_does_not_keep_an_abandoned_talk_from_being_taken_up(
    house: ConversationDependencies, graph: RemoteGraph, script: ScriptedModel
) -> None:
    remembers(house, "The boat is sold", MIO)
    script.enqueue(*talk_of_family())

    async def run() -> str:
        graph.slow = asyncio.Event()
        runner = ConversationRunner(house, sweep_seconds=0.02)
        await runner.start()
        await asyncio.sleep(0.05)  # the delivery hangs
        conversation_id = meet(house)
        await until(lambda: talk(house, conversation_id).phase == Phase.CLOSED)
        assert graph.taken == []
        graph.slow.set()
        await runner.stop()
        return conversation_id

    assert talk(house, asyncio.run(run())).phase == Phase.CLOSED


def test_what_failed_waits_longer_each_time_and_is_not_tried_before(
    house: ConversationDependencies, graph: RemoteGraph
) -> None:
    graph.away = True
    remembers(house, "The well is dry")
    relay = MemoryJobs(house)
    asyncio.run(relay.deliver_due())
    first = owner(house)
    asyncio.run(relay.deliver_due())
    assert owner(house) == first
    asyncio.run(relay.deliver(AOI))
    second = owner(house)
    assert (first.projection_attempts, second.projection_attempts) == (1, 2)
    assert second.projection_due > first.projection_due


def test_a_memory_that_cannot_be_written_holds_up_its_own_person_only(
    house: ConversationDependencies, graph: RemoteGraph
) -> None:
    graph.refused = "aoi"
    remembers(house, "The well is dry")
    remembers(house, "The boat is sold", MIO)
    asyncio.run(MemoryJobs(house).deliver_due())
    assert graph.taken == ["mio"]
    assert owner(house).projection_error == "cannot be written, ever"


def test_a_crash_on_the_way_writes_nothing_twice(house: ConversationDependencies, graph: RemoteGraph) -> None:
    remembers(house, "The well is dry")
    graph.dies_after = True
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(MemoryJobs(house).deliver(AOI))
    assert waiting(house) == 1
    graph.dies_after = False
    asyncio.run(MemoryJobs(house).deliver(AOI))
    assert waiting(house) == 0
    assert len(graph.held[AOI]) == 1


def test_a_world_forgotten_while_its_memory_is_on_the_way_stays_forgotten(
    house: ConversationDependencies, graph: RemoteGraph
) -> None:
    async def run() -> None:
        graph.slow = asyncio.Event()
        remembers(house, "The well is dry")
        delivery = asyncio.create_task(MemoryJobs(house).deliver(AOI))
        await asyncio.sleep(0.05)
        await house.database.write(lambda s: forget_world(s, "main"))
        graph.slow.set()
        await delivery

    asyncio.run(run())
    assert graph.held == {AOI: {}}
    assert house.database.read_now(lambda s: s.exec(select(MemoryOwnerRow)).all()) == []


def test_what_is_forgotten_while_the_graph_is_away_is_gone_when_it_is_back(
    house: ConversationDependencies, graph: RemoteGraph
) -> None:
    remembers(house, "The well is dry")
    asyncio.run(MemoryJobs(house).deliver(AOI))
    graph.away = True
    house.database.write_now(
        lambda s: forget_character(s, house.memory, load(s, house.worlds, "main", models_missing=True), "aoi")
    )
    asyncio.run(MemoryJobs(house).deliver(AOI))
    assert graph.held[AOI]
    graph.away = False
    asyncio.run(MemoryJobs(house).deliver(AOI))
    assert graph.held == {AOI: {}}


def test_a_world_that_is_brought_back_takes_the_graph_with_it(
    house: ConversationDependencies, graph: RemoteGraph
) -> None:
    remembers(house, "The well is dry")
    asyncio.run(MemoryJobs(house).deliver_due())
    asyncio.run(keep(house, "main", "before"))
    remembers(house, "The sea is calm")
    remembers(house, "The boat is sold", MIO)
    asyncio.run(MemoryJobs(house).deliver_due())
    assert len(graph.held[AOI]) == 2
    house.database.write_now(lambda s: restore(s, "main", read_snapshot(s, "main", "before"), 0.0))
    asyncio.run(MemoryJobs(house).deliver_due())
    assert graph.held[AOI].keys() == {"The well is dry"}
    assert graph.held[MIO] == {}


def test_one_person_is_brought_there_by_one_at_a_time(house: ConversationDependencies, graph: RemoteGraph) -> None:
    remembers(house, "The well is dry")

    async def run() -> None:
        graph.slow = asyncio.Event()
        relay = MemoryJobs(house)
        both = asyncio.gather(relay.deliver(AOI), relay.deliver(AOI))
        await asyncio.sleep(0.05)
        graph.slow.set()
        await both

    asyncio.run(run())
    assert graph.taken == ["aoi"]
