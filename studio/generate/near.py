"""Owns the finding of near duplicates: MinHash says which texts may be alike, their shingles whether they are. Pure."""

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from service.public.words import grams, jaccard

GRAM = 5
LIKE = 0.8
"""Jaccard similarity of character 5-grams from which one text is a near duplicate of another."""

_HASHES, _BANDS = 128, 32
"""Two texts that are `LIKE` agree in no band once in 20 million times: (1 - 0.8**4)**32."""
_ROWS = _HASHES // _BANDS

Signature = NDArray[np.uint64]


class Distinct:
    """Texts of which none is nearly another one. In memory it has 6 kB of each; the texts themselves it reads again."""

    def __init__(self, text_of: Callable[[int], str]) -> None:
        """`text_of`: the text that was added under that number."""
        self._text_of = text_of
        self._bands: list[defaultdict[bytes, list[int]]] = [defaultdict(list) for _ in range(_BANDS)]

    def add(self, number: int, text: str) -> int | None:
        """Add it, unless it is nearly one that was added before: the number of that one."""
        found = grams(text, GRAM)
        keys = _band_keys(signature(found))
        like = self._find(found, keys)
        if like is None:
            for band, key in zip(self._bands, keys, strict=True):
                band[key].append(number)
        return like

    def like(self, text: str) -> int | None:
        """The number of a text that was added and is nearly this one; None: there is none."""
        found = grams(text, GRAM)
        return self._find(found, _band_keys(signature(found)))

    def _find(self, found: frozenset[str], keys: list[bytes]) -> int | None:
        maybe = {one for band, key in zip(self._bands, keys, strict=True) for one in band.get(key, ())}
        alike = (one for one in sorted(maybe) if jaccard(found, grams(self._text_of(one), GRAM)) >= LIKE)
        return next(alike, None)


def signature(found: frozenset[str]) -> Signature:
    """The least of each hash over all grams: two texts agree in as many as their grams are alike."""
    factors, shifts = _hashes()
    codes = np.fromiter((crc32(gram.encode()) for gram in found or ("",)), np.uint64)
    least: Signature = (codes[None, :] * factors[:, None] + shifts[:, None] >> np.uint64(32)).min(axis=1)
    return least


def _band_keys(of: Signature) -> list[bytes]:
    return [of[start : start + _ROWS].tobytes() for start in range(0, _HASHES, _ROWS)]


@cache
def _hashes() -> tuple[Signature, Signature]:
    rng = np.random.default_rng(1)
    factors, shifts = rng.integers(1, 2**63, (2, _HASHES), dtype=np.uint64)
    return factors | np.uint64(1), shifts
