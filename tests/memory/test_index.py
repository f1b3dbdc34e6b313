"""The search in one person's memory: what is found, in which order, and what is held for it."""

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest

from service.memory.embedding.embedder import Vectors
from service.memory.index import IndexCache, PersonIndex, RecallQuery
from service.memory.record import Group, HeardTurn, Item, Kind, Memory
from world.time import WorldTime

NOON = WorldTime(1_000_000)


def fact(number: int, text: str, *, about: str = "Taro", at: int = NOON) -> Memory:
    """A memory that holds since `at`."""
    return Memory(
        id=f"f{number:05}",
        kind=Kind.FACT,
        text=text,
        about=about,
        told_by="hanako",
        partner_id="hanako",
        conversation_id="c1",
        turns=(1,),
        valid_from=WorldTime(at),
        known_from=WorldTime(at),
    )


def turn(number: int, text: str) -> HeardTurn:
    """A turn of Hanako's."""
    return HeardTurn(
        conversation_id="c1",
        turn=number,
        speaker_id="hanako",
        speaker_name="Hanako",
        text=text,
        partner_id="hanako",
        at=NOON,
    )


def index_of(*items: Item) -> PersonIndex:
    """An index that holds the items."""
    index = PersonIndex()
    with index.lock:
        index.take(items)
    return index


def found(index: PersonIndex, query: str, **given: object) -> list[str]:
    """The texts that answer, best first."""
    asked = RecallQuery(**{"query": query, "at": NOON, "kinds": set(Kind), **given})  # type: ignore[arg-type]
    return [one.item.text for one in index.rank(asked)]


def packed(*vectors: Sequence[float]) -> list[bytes]:
    """As a store reads them."""
    return [np.array(vector, dtype=np.float16).tobytes() for vector in vectors]


def test_words_and_likeness_are_summed() -> None:
    items = [fact(n, text) for n, text in enumerate(("The mill burned", "The mill stands", "Flour is ground", "Fish"))]
    index = index_of(*items)
    with index.lock:
        vectors = packed([0.6, 0.8], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0])
        index.take_vectors([(Kind.FACT, item.id, vector) for item, vector in zip(items, vectors, strict=True)])
    query = np.array([1.0, 0.0], dtype=np.float32)
    by_words = found(index, "mill")
    assert set(by_words) == {"The mill burned", "The mill stands"}
    both = found(index, "mill", vector=query)
    assert both == ["The mill burned", "The mill stands", "Flour is ground"]


def test_a_vector_that_comes_later_or_again_takes_the_place_of_none_or_the_former() -> None:
    items = [fact(n, text) for n, text in enumerate(("alpha", "beta", "gamma"))]
    index = index_of(*items)
    query = RecallQuery(query="x", at=NOON, vector=np.array([1.0, 0.0], dtype=np.float32))
    assert index.lacking
    assert index.without_vector(2) == items[:2]
    with index.lock:
        index.take_vectors([(Kind.FACT, "f00000", packed([0.0, 1.0])[0]), (Kind.FACT, "gone", packed([1.0, 0.0])[0])])
        index.take_vectors([(Kind.FACT, "f00001", packed([0.0, 1.0])[0]), (Kind.FACT, "f00002", packed([0.1, 1.0])[0])])
    assert not index.lacking
    with index.lock:
        index.take_vectors([(Kind.FACT, "f00000", packed([1.0, 0.0])[0])])
    assert found(index, "x", vector=query.vector) == ["alpha"]


@pytest.mark.parametrize("japanese", [True, False])
def test_what_is_held_is_counted_about_right(*, japanese: bool) -> None:
    text = (
        "霧の夜に灯台の鐘を聞いたと祖母が話していた" if japanese else "grandmother heard the bell of the tower in fog"
    )
    tracemalloc.start()
    index = index_of(*(fact(n, f"{text} {n} {n * 7919 % 997}") for n in range(800)))
    with index.lock:
        vector = packed([0.1] * 384)[0]
        index.take_vectors([(Kind.FACT, f"f{n:05}", vector) for n in range(800)])
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held * 0.6 < index.bytes < held * 1.8


def test_a_cache_keeps_to_its_bound_and_lets_go_of_those_asked_least_recently() -> None:
    groups = [Group(world_id="main", person_id=name) for name in ("a", "b", "c")]
    cache = IndexCache(max_bytes=2 * index_of(fact(0, "Fish is cheap")).bytes)
    for group in groups:
        held = cache.get(group)
        with held.lock:
            held.take([fact(0, "Fish is cheap")])
        if group.person_id == "b":
            cache.get(groups[0])
        cache.shrink(group)
    assert cache.bytes <= 2 * index_of(fact(0, "Fish is cheap")).bytes
    assert [len(cache.get(group)) for group in groups] == [1, 0, 1]


def test_what_is_greater_than_the_bound_by_itself_is_not_kept() -> None:
    group = Group(world_id="main", person_id="a")
    cache = IndexCache(max_bytes=1)
    held = cache.get(group)
    with held.lock:
        held.take([fact(0, "Fish is cheap")])
    cache.shrink(group)
    assert (cache.bytes, len(cache.get(group))) == (0, 0)


def test_the_likest_of_texts_that_are_all_alike_bears_on_nothing_and_one_that_stands_out_does() -> None:
    rng = np.random.default_rng(7)
    index = index_of(*(fact(i, f"word{i} and thing{i}") for i in range(40)))
    vectors = rng.normal(size=(40, 64)).astype(np.float16)
    with index.lock:
        index.take_vectors([(Kind.FACT, f"f{i:05}", vector.tobytes()) for i, vector in enumerate(vectors)])

    def bearing(vector: Vectors) -> list[str]:
        asked = RecallQuery(query="elephants", at=NOON, limit=40, partner_id="hanako", vector=vector)
        ranked = index.rank(asked)
        assert len(ranked) == 40, "whom it was heard from chooses who answers"
        return [one.memory.id for one in ranked if one.bears]

    unlike = [bearing(rng.normal(size=64).astype(np.float32)) for _ in range(20)]
    assert sum(map(bool, unlike)) <= 2
    assert bearing(vectors[5].astype(np.float32)) == ["f00005"]


def test_what_shares_a_word_bears_on_the_query_and_where_nothing_was_asked_everything_does() -> None:
    index = index_of(fact(1, "The bell has not rung for years"), fact(2, "Rye is gone by nine"))

    def bearing(query: str) -> list[str]:
        ranked = index.rank(RecallQuery(query=query, at=NOON, partner_id="hanako"))
        assert len(ranked) == 2
        return [one.memory.id for one in ranked if one.bears]

    assert bearing("the bell") == ["f00001"]
    assert bearing("elephants") == []
    assert bearing("") == ["f00001", "f00002"]
