"""Owns the vectors held in memory: one growing matrix a group, the least recently used dropped at a bound in bytes."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import numpy.typing as npt

from service.memory.embedding.embedder import Vectors

Keys = npt.NDArray[np.int64]
CacheKey = tuple[int, str, int]
"""Group, model and dimensions: vectors of different ones never meet."""

DEFAULT_BYTES = 256 * 1024 * 1024

Fetched = tuple[int, Keys, Vectors]
"""Rows read since the last time: the greatest row id among them, their fact keys, their vectors."""


@dataclass
class _Held:
    """`last_row` is the newest stored row read so far; the first `size` rows of the arrays are filled."""

    keys: Keys
    matrix: Vectors
    last_row: int = 0
    size: int = 0
    lock: Lock = field(default_factory=Lock)

    def append(self, keys: Keys, vectors: Vectors) -> None:
        needed = self.size + len(keys)
        if needed > len(self.keys):
            # Grown into new arrays by half: a reader may still hold views of the old ones.
            room = max(needed, len(self.keys) * 3 // 2)
            self.keys = np.concatenate([self.keys[: self.size], np.empty(room - self.size, np.int64)])
            fresh = np.empty((room - self.size, vectors.shape[1]), np.float32)
            self.matrix = np.concatenate([self.matrix[: self.size], fresh])
        self.keys[self.size : needed] = keys
        self.matrix[self.size : needed] = vectors
        self.size = needed

    @property
    def bytes(self) -> int:
        return self.keys.nbytes + self.matrix.nbytes


class VectorCache:
    """Keeps matrices up to date by reading only the rows stored since. Used from many threads."""

    def __init__(self, max_bytes: int = DEFAULT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._held: OrderedDict[CacheKey, _Held] = OrderedDict()
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        """Bytes held now."""
        with self._lock:
            return sum(held.bytes for held in self._held.values())

    def get(self, key: CacheKey, fetch: Callable[[int], Fetched]) -> tuple[Keys, Vectors]:
        """Fact keys and their vectors. `fetch` reads the rows with an id greater than the one it is given.

        A group greater than the bound is answered and not kept.
        """
        with self._lock:
            held = self._held.pop(key, None) or _Held(np.empty(0, np.int64), np.empty((0, key[2]), np.float32))
            self._held[key] = held
        with held.lock:
            last_row, keys, vectors = fetch(held.last_row)
            if len(keys):
                held.append(keys, vectors)
                held.last_row = last_row
            found = held.keys[: held.size], held.matrix[: held.size]
        self._shrink()
        return found

    def drop(self, group_key: int) -> None:
        """Let go of a group."""
        with self._lock:
            for key in [k for k in self._held if k[0] == group_key]:
                del self._held[key]

    def _shrink(self) -> None:
        with self._lock:
            while self._held and sum(held.bytes for held in self._held.values()) > self._max_bytes:
                self._held.popitem(last=False)
