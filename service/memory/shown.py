"""Owns which of what is known a closing's model is shown: what bears on the talk, best first, within a budget. Pure.

Its answer is held against all that is known (validate.py), shown or not.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from service.llm.chat import estimate_tokens
from service.memory.claim import folded, held, words

SHOWN_TOKENS = 60
"""What a closing's prompt has room for, of the facts of each, and of what each remembered."""


class Known(Protocol):
    """A fact or a memory."""

    @property
    def subject(self) -> str:
        """Whom it is about."""

    @property
    def words(self) -> str:
        """Those it was told in."""

    @property
    def held(self) -> bool:
        """Whether it is shown as a statement, and not in these words."""

    @property
    def shown(self) -> str:
        """What may be said of it."""


KnownT = TypeVar("KnownT", bound=Known)


def facts_shown(facts: Sequence[KnownT], said: str, names: frozenset[str]) -> tuple[KnownT, ...]:
    """Of somebody's facts those that bear on what was said, best first. `names` are those of who took part."""
    return tuple(facts[place] for place in _best(facts, said, names))


def memories_shown(memories: Sequence[KnownT], said: str, names: frozenset[str]) -> tuple[KnownT, ...]:
    """Of what somebody remembers that which bears on what was said, best first, the same words once.

    Only what is about one of those who took part: nothing else can be over by what they say (see `is_held`).
    """
    about = {folded(name) for name in names}
    own = tuple(_once([one for one in memories if folded(one.subject) in about]))
    return tuple(own[place] for place in _best(own, said, names))


def are_shown_alike(one: Known, other: Known) -> bool:
    """Whether both are shown in the same words, whatever is marked behind these."""
    if one.shown == other.shown:
        return True
    are_words = bool(one.words and other.words) and not (one.held or other.held)
    return are_words and (one.words.startswith(other.words) or other.words.startswith(one.words))


def _once(known: Sequence[KnownT]) -> Iterator[KnownT]:
    for place, one in enumerate(known):
        if not any(are_shown_alike(one, before) for before in known[:place]):
            yield one


def _best(known: Sequence[Known], said: str, names: frozenset[str]) -> list[int]:
    """The places of those that share telling words with what was said, best first; one that takes too much is left
    out, but not the very best.
    """
    telling = [words(one.shown, names) for one in known]
    shared = [len(held(each, said)) / math.sqrt(len(each) or 1) for each in telling]
    kept, room = list[int](), SHOWN_TOKENS
    for place in sorted((place for place, much in enumerate(shared) if much), key=lambda place: -shared[place]):
        takes = estimate_tokens(known[place].shown)
        if takes <= room or not kept:
            kept.append(place)
            room -= takes
    return kept
