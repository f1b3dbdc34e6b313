"""Owns which of an author's texts bear on what is talked about: by the rarity of the words they share, as in a memory.
Pure.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

from service.memory.lexical import query_tokens, says_little, tokens
from service.memory.ranking import FEW, floor


def bearing(query: str, texts: Sequence[str], weights: Sequence[float] = ()) -> list[int]:
    """The places of the texts that bear on the query, best first. `weights`, where they are given, are what the shared
    words of each are worth: 1 unless it matters more or less than others.
    """
    if not texts:
        return []
    rarity = _rarity(texts, [token for token in query_tokens(query) if not says_little(token)])
    least = floor(sum(rarity.values()), len(texts))
    scores = [sum(rarity[token] for token in rarity.keys() & _words(text)) for text in texts]
    if weights:
        scores = [score * weight for score, weight in zip(scores, weights, strict=True)]
    places = sorted(range(len(texts)), key=lambda place: -scores[place])
    return [place for place in places if scores[place] and scores[place] >= least]


def _rarity(texts: Sequence[str], wanted: Sequence[str]) -> dict[str, float]:
    total = max(len(texts), FEW)
    holding = {token: sum(token in _words(text) for text in texts) for token in wanted}
    return {token: math.log1p((total - count + 0.5) / (count + 0.5)) for token, count in holding.items()}


@lru_cache(maxsize=10_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(tokens(text))
