"""The cache reads each stored row once, and lets go of what is least recently used."""

import threading

import numpy as np

from service.memory.sqlite.vector_cache import Fetched, VectorCache

DIMENSIONS = 4
ROW_BYTES = DIMENSIONS * 4 + 8


class Stored:
    """Rows of one group as the database would give them, and what was asked for."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.asked: list[int] = []

    def fetch(self, after: int) -> Fetched:
        self.asked.append(after)
        keys = np.arange(after + 1, self.rows + 1, dtype=np.int64)
        vectors = np.repeat(keys.astype(np.float32)[:, None], DIMENSIONS, axis=1)
        return max(self.rows, after), keys, vectors


def test_only_rows_stored_since_are_read() -> None:
    cache, stored = VectorCache(), Stored(3)
    cache.get((1, "m", DIMENSIONS), stored.fetch)
    for rows in (3, 4, 40):
        stored.rows = rows
        keys, matrix = cache.get((1, "m", DIMENSIONS), stored.fetch)
        assert keys.tolist() == list(range(1, rows + 1))
        assert matrix[:, 0].tolist() == list(range(1, rows + 1))
    assert stored.asked == [0, 3, 3, 4]


def test_what_a_reader_holds_does_not_change_under_it() -> None:
    cache, stored = VectorCache(), Stored(3)
    keys, matrix = cache.get((1, "m", DIMENSIONS), stored.fetch)
    stored.rows = 100
    cache.get((1, "m", DIMENSIONS), stored.fetch)
    assert keys.tolist() == [1, 2, 3]
    assert matrix[:, 0].tolist() == [1, 2, 3]


def test_groups_models_and_dimensions_do_not_meet() -> None:
    cache, stored = VectorCache(), Stored(1)
    for key in ((1, "m", DIMENSIONS), (2, "m", DIMENSIONS), (1, "n", DIMENSIONS)):
        cache.get(key, stored.fetch)
    assert stored.asked == [0, 0, 0]


def test_the_least_recently_used_group_goes_first() -> None:
    cache, stored = VectorCache(max_bytes=25 * ROW_BYTES), Stored(10)
    for group in (1, 2, 1, 3):
        cache.get((group, "m", DIMENSIONS), stored.fetch)
    assert cache.bytes <= 25 * ROW_BYTES
    stored.asked.clear()
    cache.get((1, "m", DIMENSIONS), stored.fetch)
    cache.get((2, "m", DIMENSIONS), stored.fetch)
    assert stored.asked == [10, 0]


def test_a_group_beyond_the_bound_is_answered_and_not_kept() -> None:
    cache, stored = VectorCache(max_bytes=5 * ROW_BYTES), Stored(10)
    keys, _ = cache.get((1, "m", DIMENSIONS), stored.fetch)
    assert len(keys) == 10
    assert cache.bytes == 0


def test_a_dropped_group_is_read_anew() -> None:
    cache, stored = VectorCache(), Stored(2)
    cache.get((1, "m", DIMENSIONS), stored.fetch)
    cache.drop(1)
    assert cache.bytes == 0
    cache.get((1, "m", DIMENSIONS), stored.fetch)
    assert stored.asked == [0, 0]


def test_many_threads_read_a_growing_group_without_tearing_it() -> None:
    cache, stored = VectorCache(), Stored(0)
    torn: list[object] = []

    def read() -> None:
        for _ in range(200):
            stored.rows += 1
            keys, matrix = cache.get((1, "m", DIMENSIONS), stored.fetch)
            if keys.tolist() != matrix[:, 0].tolist() or len(set(keys.tolist())) != len(keys):
                torn.append(keys)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not torn
