"""Owns the tests of the way of memories into the memory graph."""

import asyncio
from dataclasses import replace

import pytest
from sqlmodel import Session, select

from service.conversation.dependencies import ConversationDependencies
from service.llm.scripted import ScriptedModel
from service.memory.revision import next_revision
from service.memory.seeding import past_conversation
from service.memory.record import Group
from service.runtime import outbox_relay as outbox_module
from service.runtime.conversation_runner import ConversationRunner
from service.runtime.forget import forget_character, forget_world
from service.runtime.outbox_relay import OutboxRelay, waiting
from service.runtime.world_session import load
from service.store.phase import Phase
from service.store.tables import OutboxRow
from tests.conversation.talks import meet, rows, talk, talk_of_family
from tests.memory.remote import RemoteMemory
from tests.runtime.patience import until
from tests.runtime.worlds import give_past
from tests.store.conversations import conversation_row, main
from world.time import LATEST

AOI = Group(world_id="main", person_id="aoi")
MIO = Group(world_id="main", person_id="mio")


@pytest.fixture
def graph() -> RemoteMemory:
    """The memory of `house`, outside its database."""
    return RemoteMemory()


@pytest.fixture
def house(room: ConversationDependencies, graph: RemoteMemory) -> ConversationDependencies:
    """A room with that memory."""
    return replace(room, memory=graph)


def _leave(house: ConversationDependencies, conversation_id: str, group: Group = AOI) -> None:
    """Leave the memory of a conversation in the outbox."""
    episode = {
        "conversation_id": conversation_id,
        "partner_id": "npc_taro",
        "summary": f"They spoke of {conversation_id}.",
        "topics": [],
        "others": [],
        "at": 1000,
    }
    fact = {
        "id": f"fact-{conversation_id}",
        "subject": "Taro",
        "relation": "tells",
        "object": conversation_id,
        "statement": f"Taro told of {conversation_id}",
        "turn": 1,
        "valid_at": 1000,
        "replaces": [],
        "chain": [],
    }
    row = OutboxRow(
        world_id=group.world_id,
        person_id=group.person_id,
        revision=0,
        conversation_id=conversation_id,
        payload={"episode": episode, "facts": [fact]},
    )

    def leave(session: Session) -> None:
        row.revision = next_revision(session, group)
        session.add(
            conversation_row(
                id=conversation_id,
                world_id=group.world_id,
                character_id=group.person_id,
                npc_id="npc_taro",
                node_id="tavern_door",
                language="en",
                max_turns=10,
                phase=Phase.CLOSED,
                started_at=1000,
                models={},
            )
        )
        session.add(row)

    house.database.write_now(leave)


def _waiting(house: ConversationDependencies) -> list[str]:
    return [row["conversation_id"] for row in rows(house, OutboxRow)]


def _episodes(house: ConversationDependencies, group: Group = AOI) -> list[str]:
    delivery = house.memory
    assert isinstance(delivery, RemoteMemory)
    return list(delivery.held.get(group, {}))


def test_memories_are_delivered_in_order(house: ConversationDependencies, graph: RemoteMemory) -> None:
    for conversation_id in ("c1", "c2", "c3"):
        _leave(house, conversation_id)
    asyncio.run(OutboxRelay(house).deliver(AOI))
    assert graph.taken == ["c1", "c2", "c3"]
    assert _waiting(house) == []


def test_everybodys_due_memories_are_delivered(house: ConversationDependencies, graph: RemoteMemory) -> None:
    _leave(house, "c1", AOI)
    _leave(house, "c2", MIO)
    asyncio.run(OutboxRelay(house).deliver_due())
    assert sorted(graph.taken) == ["c1", "c2"]
    assert (_episodes(house, AOI), _episodes(house, MIO)) == (["c1"], ["c2"])


def test_while_the_graph_is_away_a_talk_closes_and_its_memory_waits(
    house: ConversationDependencies, graph: RemoteMemory, script: ScriptedModel
) -> None:
    graph.away = True
    script.enqueue(*talk_of_family())

    async def run() -> str:
        runner = ConversationRunner(house, sweep_seconds=0.02)
        await runner.start()
        conversation_id = meet(house)
        runner.submit(main(conversation_id))
        await asyncio.wait_for(runner.wait(main(conversation_id)), 60)
        await runner.stop()
        return conversation_id

    conversation_id = asyncio.run(run())
    assert talk(house, conversation_id).phase == Phase.CLOSED
    left = rows(house, OutboxRow)
    assert [row["person_id"] for row in left] == ["aoi", "npc_taro"]
    assert all(row["attempts"] >= 1 and "connection refused" in row["last_error"] for row in left)
    assert house.database.read_now(lambda s: waiting(s, "main")) == 1
    assert house.database.read_now(lambda s: waiting(s, "other")) == 0


def test_when_the_graph_is_back_the_runner_delivers_by_itself(
    house: ConversationDependencies, graph: RemoteMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "LONGEST_WAIT_SECONDS", 0.02)
    graph.away = True
    _leave(house, "c1")

    async def run() -> None:
        runner = ConversationRunner(house, sweep_seconds=0.02)
        await runner.start()
        await until(lambda: rows(house, OutboxRow)[0]["attempts"] > 0)
        graph.away = False
        await until(lambda: not _waiting(house))
        await runner.stop()

    asyncio.run(run())
    assert _episodes(house) == ["c1"]


def test_a_memory_that_failed_waits_longer_each_time_and_is_not_asked_for_before(
    house: ConversationDependencies, graph: RemoteMemory
) -> None:
    graph.away = True
    _leave(house, "c1")
    outbox = OutboxRelay(house)
    asyncio.run(outbox.deliver_due())
    first = rows(house, OutboxRow)[0]
    asyncio.run(outbox.deliver_due())
    assert rows(house, OutboxRow)[0] == first
    asyncio.run(outbox.deliver(AOI))
    second = rows(house, OutboxRow)[0]
    assert (first["attempts"], second["attempts"]) == (1, 2)
    assert second["due"] > first["due"]


def test_a_memory_that_cannot_be_written_holds_up_its_own_character_only(
    house: ConversationDependencies, graph: RemoteMemory
) -> None:
    graph.refused = "c1"
    _leave(house, "c1", AOI)
    _leave(house, "c2", AOI)
    _leave(house, "c3", MIO)
    asyncio.run(OutboxRelay(house).deliver_due())
    assert graph.taken == ["c3"]
    assert _waiting(house) == ["c1", "c2"]
    assert rows(house, OutboxRow)[0]["last_error"] == "cannot be written, ever"


def test_a_crash_between_delivery_and_deletion_writes_nothing_twice(
    house: ConversationDependencies, graph: RemoteMemory
) -> None:
    _leave(house, "c1")
    graph.dies_after = True
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(OutboxRelay(house).deliver(AOI))
    assert _waiting(house) == ["c1"]
    graph.dies_after = False
    asyncio.run(OutboxRelay(house).deliver(AOI))
    assert _waiting(house) == []
    assert _episodes(house) == ["c1"]
    assert graph.facts(AOI) == ["Taro told of c1"]


def test_a_world_forgotten_while_its_memory_is_on_the_way_stays_forgotten(
    house: ConversationDependencies, graph: RemoteMemory
) -> None:
    async def run() -> None:
        graph.slow = asyncio.Event()
        _leave(house, "c1")
        delivery = asyncio.create_task(OutboxRelay(house).deliver(AOI))
        await asyncio.sleep(0.05)
        assert await house.database.write(lambda s: forget_world(s, graph, "main")) == ["aoi", "npc_taro"]
        graph.slow.set()
        await delivery
        await OutboxRelay(house).deliver(replace(AOI, person_id="npc_taro"))

    asyncio.run(run())
    assert graph.taken == ["c1"]
    assert _episodes(house) == []
    assert _waiting(house) == []


def test_a_past_goes_the_same_way_and_one_forgotten_on_the_way_stays_forgotten(
    house: ConversationDependencies, graph: RemoteMemory
) -> None:
    async def run() -> None:
        give_past(house, "main", "aoi")
        await OutboxRelay(house).deliver(AOI)
        assert {item.conversation_id for item in await graph.items(AOI, LATEST)} == {past_conversation("aoi", "c"), ""}
        graph.slow = asyncio.Event()
        give_past(house, "main", "mio")
        delivery = asyncio.create_task(OutboxRelay(house).deliver(MIO))
        await asyncio.sleep(0.05)
        assert await house.database.write(lambda s: forget_world(s, graph, "main")) == ["aoi", "mio"]
        graph.slow.set()
        await delivery
        await OutboxRelay(house).deliver(AOI)

    asyncio.run(run())
    assert graph.written == {}
    assert _waiting(house) == []


def test_what_is_forgotten_while_the_graph_is_away_is_gone_when_it_is_back(
    house: ConversationDependencies, graph: RemoteMemory
) -> None:
    _leave(house, "c1")
    asyncio.run(OutboxRelay(house).deliver(AOI))
    graph.away = True
    house.database.write_now(
        lambda s: forget_character(s, graph, load(s, house.worlds, "main", models_missing=True), "aoi")
    )
    asyncio.run(OutboxRelay(house).deliver(AOI))
    assert _episodes(house) == ["c1"]
    graph.away = False
    asyncio.run(OutboxRelay(house).deliver(AOI))
    assert (_episodes(house), _waiting(house)) == ([], [])


def test_of_one_talk_each_characters_memory_is_delivered_and_waits_for_itself(
    house: ConversationDependencies, graph: RemoteMemory
) -> None:
    """Both have a row of the same conversation: neither is taken for the other's."""
    _leave(house, "c1")

    def also_mio(session: Session) -> None:
        payload = session.exec(select(OutboxRow.payload)).one()
        also = OutboxRow(
            world_id="main", person_id="mio", revision=1, conversation_id="c1", payload=dict(payload), attempts=3
        )
        session.add(also)

    house.database.write_now(also_mio)
    graph.away = True
    asyncio.run(OutboxRelay(house).deliver(MIO))
    assert {r["person_id"]: r["attempts"] for r in rows(house, OutboxRow)} == {"aoi": 0, "mio": 4}
    graph.away = False
    asyncio.run(OutboxRelay(house).deliver(MIO))
    assert [r["person_id"] for r in rows(house, OutboxRow)] == ["aoi"]
    asyncio.run(OutboxRelay(house).deliver(AOI))
    assert rows(house, OutboxRow) == []
    assert graph.taken == ["c1", "c1"]


def test_one_character_is_delivered_by_one_at_a_time(house: ConversationDependencies, graph: RemoteMemory) -> None:
    async def run() -> None:
        graph.slow = asyncio.Event()
        outbox = OutboxRelay(house)
        both = asyncio.gather(outbox.deliver(AOI), outbox.deliver(AOI))
        await asyncio.sleep(0.05)
        graph.slow.set()
        await both

    for conversation_id in ("c1", "c2"):
        _leave(house, conversation_id)
    asyncio.run(run())
    assert graph.taken == ["c1", "c2"]


def test_a_slow_graph_does_not_keep_an_abandoned_talk_from_being_taken_up(
    house: ConversationDependencies, graph: RemoteMemory, script: ScriptedModel
) -> None:
    _leave(house, "c1", MIO)
    script.enqueue(*talk_of_family())

    async def run() -> str:
        graph.slow = asyncio.Event()
        runner = ConversationRunner(house, sweep_seconds=0.02)
        await runner.start()
        await asyncio.sleep(0.05)  # the delivery hangs
        conversation_id = meet(house)
        await until(lambda: talk(house, conversation_id).phase == Phase.CLOSED)
        graph.slow.set()
        await runner.stop()
        return conversation_id

    assert talk(house, asyncio.run(run())).phase == Phase.CLOSED
