"""Holds the finding of near duplicates to what comparing everything with everything finds."""

import random

from service.memory.lexical import grams, jaccard
from studio.generate.near import GRAM, LIKE, Distinct

WORDS = "boat bell bread harbour letter winter garden photograph lantern ferry".split()


def varied(rng: random.Random, text: str) -> str:
    """The text with some of its words changed."""
    changes = rng.choice((0, 1, 2, 4, 8))
    words = text.split()
    for _ in range(changes):
        words[rng.randrange(len(words))] = rng.choice(WORDS) + str(rng.randrange(9))
    return " ".join(words)


def test_a_text_is_dropped_where_one_before_it_is_nearly_the_same_and_nowhere_else() -> None:
    rng = random.Random(3)
    first = [" ".join(f"{rng.choice(WORDS)}{rng.randrange(99)}" for _ in range(40)) for _ in range(30)]
    texts = [varied(rng, rng.choice(first)) for _ in range(120)]
    distinct = Distinct(texts.__getitem__)
    found = [distinct.add(number, text) for number, text in enumerate(texts)]
    kept: list[int] = []
    wanted: list[int | None] = []
    for number, text in enumerate(texts):
        like = next((one for one in kept if jaccard(grams(text, GRAM), grams(texts[one], GRAM)) >= LIKE), None)
        wanted.append(like)
        kept += [number] if like is None else []
    assert found == wanted
    assert 40 < len(kept) < 110
