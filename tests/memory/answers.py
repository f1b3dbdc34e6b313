"""Owns what a closing model is said to answer in tests: an entry for each of the two, with only what a test names."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from service.memory.extraction import ClosingExtraction

Fields = Mapping[str, Any]

NOTHING: Fields = MappingProxyType({})


def claim(statement: str, turn: int, **fields: Any) -> dict[str, Any]:
    """A fact somebody is said to know now."""
    about = {"subject": "Taro", "relation": "said", "object": "it", "replaces": ""}
    return {**about, "statement": statement, "turn": turn, "mode": "asserted", "importance": 5, **fields}


def self_claim(statement: str, turn: int, **fields: Any) -> dict[str, Any]:
    """Something somebody is said to have said of itself."""
    return {"statement": statement, "turn": turn, "mode": "asserted", "importance": 5, "replaces": "", **fields}


def commitment(what: str, turn: int, **fields: Any) -> dict[str, Any]:
    """Something somebody is said to have promised."""
    return {"to": "b", "what": what, "where": "", "when": "", "turn": turn, "mode": "planned", **fields}


def side(*, intimacy: int = 0, attitude: Fields | None = NOTHING, **fields: Any) -> dict[str, Any]:
    """One person's entry."""
    soon = [{"turn": 1, "mode": "planned", **draft} for draft in map(dict, fields.pop("mid_term", ()))]
    nothing: dict[str, Any] = {
        "affinity": 0,
        "mood": "neutral",
        "self_facts": [],
        "facts": [],
        "mid_term": soon,
        "commitments": [],
    }
    judged = None if attitude is None else {"power": 0, "intimacy": intimacy, "task_oriented": 0, **attitude}
    return {**nothing, "attitude": judged, **fields}


def extraction(
    summary: str = "They talked.",
    *,
    topics: tuple[str, ...] = (),
    first: Fields = NOTHING,
    second: Fields = NOTHING,
    kept: tuple[tuple[str, int], ...] = (),
) -> ClosingExtraction:
    """The whole answer: `first` is what the one who began takes away, `second` the other; `kept` are refs of promises
    and turns.
    """
    return ClosingExtraction.model_validate(plain(summary, topics=topics, first=first, second=second, kept=kept))


def plain(
    summary: str = "They talked.",
    *,
    topics: tuple[str, ...] = (),
    first: Fields = NOTHING,
    second: Fields = NOTHING,
    kept: tuple[tuple[str, int], ...] = (),
) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "summary": [{"text": summary, "turns": [0, 1, 2, 3]}],
        "topics": list(topics),
        "people": {"a": side(**first), "b": side(**second)},
        "kept": [{"promise": promise, "turn": turn} for promise, turn in kept],
    }
