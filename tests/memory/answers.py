"""Owns what a closing's model is said to answer in tests: an entry for each of the two, with only what a test names."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from service.memory.closing.context import ClosingAnswer

Fields = Mapping[str, Any]

NOTHING: Fields = MappingProxyType({})


def memory(text: str, *turns: int, **fields: Any) -> dict[str, Any]:
    """Something that somebody is said to take away, from turn 1 unless told otherwise."""
    usual = {"about": "", "teller": "", "mode": "stated", "importance": 5, "lasts": "long", "replaces": ""}
    more = {"heard_from": "", "slot": "", "quote": "", "until": "", "between": ""}
    return {**usual, **more, "text": text, "turns": list(turns or (1,)), **fields}


def promise(what: str, turn: int, **fields: Any) -> dict[str, Any]:
    """Something that the second is said to have promised the first."""
    usual = {"status": "made", "by": "b", "to": "a", "place": "", "day": "", "time": "", "ref": ""}
    return {**usual, "what": what, "turn": turn, **fields}


def side(
    summary: str = "They talked.", *, intimacy: int = 0, attitude: Fields | None = NOTHING, **fields: Any
) -> dict[str, Any]:
    """One person's entry, without its memories."""
    judged = None if attitude is None else {"power": 0, "intimacy": intimacy, "task_oriented": 0, **attitude}
    usual = {"paragraph": [summary], "topics": [], "mood": "neutral", "affinity": 0, "attitude": judged}
    return {**usual, **{name: value for name, value in fields.items() if name != "memories"}}


def plain(
    summary: str = "They talked.",
    *,
    topics: tuple[str, ...] = (),
    first: Fields = NOTHING,
    second: Fields = NOTHING,
    promises: Sequence[Fields] = (),
    not_to_quote: Sequence[int] = (),
    reached: Sequence[str] = (),
) -> dict[str, Any]:
    """The whole answer as JSON: `first` is what the one who began takes away, with its `memories`, `second` the
    other.
    """
    both = {"a": first, "b": second}
    return {
        "people": {ref: side(summary, **{"topics": list(topics), **one}) for ref, one in both.items()},
        "memories": [{"owner": ref, **each} for ref, one in both.items() for each in one.get("memories", ())],
        "promises": list(promises),
        "not_to_quote": list(not_to_quote),
        "reached": list(reached),
    }


def closing(summary: str = "They talked.", **given: Any) -> ClosingAnswer:
    """The same as a value."""
    return ClosingAnswer.model_validate(plain(summary, **given))
