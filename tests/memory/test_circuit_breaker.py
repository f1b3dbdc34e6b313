"""Owns the tests of patience with a memory store that is away."""

import asyncio
from typing import Any, cast

import pytest

from service.errors import GraphUnavailable, MemoryOfAnother
from service.memory.circuit_breaker import CircuitBreaker, RemoteMemory
from service.memory.store import Group, Kind
from world.time import WorldTime

WHO = Group(world_id="main", person_id="aoi")


class Away:
    """A graph that is away until it `is_back`; `asked` counts. Its group `taken` is another installation's."""

    name = "away"

    def __init__(self) -> None:
        self.asked = 0
        self.given: dict[str, Any] = {}
        self.is_back = False

    async def recall(self, group: Group, *_: Any, **given: Any) -> list[Any]:
        self.given = given
        if group.person_id == "taken":
            raise MemoryOfAnother(backend="neo4j", reason="", setting="", group_id=group.id, world_id=group.world_id)
        return self._answer()

    async def check(self) -> None:
        self._answer()

    def _answer(self) -> list[Any]:
        self.asked += 1
        if not self.is_back:
            raise GraphUnavailable(backend="neo4j", reason="no answer", setting="KATARIBE_MEMORY__NEO4J_URI")
        return []


def recall(graph: CircuitBreaker) -> Any:
    return asyncio.run(graph.recall(WHO, "bell", at=WorldTime(0)))


def test_who_asks_while_it_rests_is_told_the_same_at_once() -> None:
    inner, now = Away(), [0.0]
    graph = CircuitBreaker(cast("RemoteMemory", inner), rest_seconds=3, seconds=lambda: now[0])
    for now[0] in (0.0, 1.0, 2.9):
        with pytest.raises(GraphUnavailable) as told:
            recall(graph)
        assert told.value.facts["setting"] == "KATARIBE_MEMORY__NEO4J_URI"
    assert inner.asked == 1


def test_it_is_asked_again_after_the_rest_and_then_as_ever() -> None:
    inner, now = Away(), [0.0]
    graph = CircuitBreaker(cast("RemoteMemory", inner), rest_seconds=3, seconds=lambda: now[0])
    with pytest.raises(GraphUnavailable):
        recall(graph)
    inner.is_back, now[0] = True, 3.0
    assert recall(graph) == []
    assert recall(graph) == []
    assert inner.asked == 3


def test_a_check_asks_even_while_it_rests_and_ends_the_rest() -> None:
    inner = Away()
    graph = CircuitBreaker(cast("RemoteMemory", inner), rest_seconds=3, seconds=lambda: 0.0)
    with pytest.raises(GraphUnavailable):
        recall(graph)
    inner.is_back = True
    asyncio.run(graph.check())
    assert recall(graph) == []


def test_a_group_that_is_another_installations_spoils_no_other_group() -> None:
    inner = Away()
    inner.is_back = True
    graph = CircuitBreaker(cast("RemoteMemory", inner), rest_seconds=3, seconds=lambda: 0.0)
    with pytest.raises(MemoryOfAnother):
        asyncio.run(graph.recall(Group(world_id="main", person_id="taken"), "bell", at=WorldTime(0)))
    assert recall(graph) == []


def test_it_hands_on_all_that_a_recall_asks_for() -> None:
    inner = Away()
    inner.is_back = True
    graph = CircuitBreaker(cast("RemoteMemory", inner), rest_seconds=3)
    asked: dict[str, Any] = {"at": WorldTime(7), "kinds": {Kind.TURN}, "about": "bell", "partner_id": "taro"}
    asked |= {"limit": 3, "history": True, "at_hand": True, "forgotten": True, "now": WorldTime(8)}
    asyncio.run(graph.recall(WHO, "bell", **asked))
    assert inner.given == asked
