"""Owns what a person remembers as lines of JSON, from which the same memory is made again (seeding.py)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from service.memory.authoring import memory_id
from service.memory.record import Episode, Fact, HeardTurn, Insight, Item
from service.store.tables import SeedRow
from world.time import WorldTime, iso


def past_lines(items: Iterable[Item], given: Mapping[str, SeedRow]) -> Iterator[dict[str, Any]]:
    """A line for each, oldest first, a talk's turns in their order. `given`: the lines some came of, by `memory_id`:
    those keep the caller's ids, the others are called as they are here.
    """
    items = sorted(items, key=_order)
    talks = {item.conversation_id: row.conversation for item in items if (row := given.get(memory_id(item)))}
    for item in items:
        name = memory_id(item)
        line = {
            "id": given[name].id if name in given else name,
            "conversation": talks.get(item.conversation_id) or item.conversation_id,
            "partner": item.partner_id,
            **_said(item),
        }
        yield {key: value for key, value in line.items() if value not in (None, "", [])}


def _order(item: Item) -> tuple[WorldTime, str]:
    return item.created_at if isinstance(item, Fact) else item.at, memory_id(item)


def _said(item: Item) -> dict[str, Any]:
    if isinstance(item, Episode):
        return {"summary": item.summary, "topics": list(item.topics), "at": iso(item.at)}
    if isinstance(item, Insight):
        told = {"insight": item.text, "importance": item.importance, "evidence": list(item.evidence)}
        return {**told, "at": iso(item.at)}
    if isinstance(item, HeardTurn):
        speaker = item.speaker_id or item.speaker_name
        return {"speaker": speaker, "text": item.text, "turn": item.turn, "at": iso(item.at)}
    return {
        "statement": item.statement,
        "words": "" if item.words == item.statement else item.words,
        "stated": item.held,
        "mode": item.mode,
        "importance": item.importance,
        "tellings": item.tellings,
        "chain": list(item.chain),
        "subject": item.subject,
        "relation": item.relation,
        "object": item.object,
        "turn": item.turn,
        "at": iso(item.created_at),
        "valid_from": iso(item.valid_at),
        "valid_to": None if item.invalid_at is None else iso(item.invalid_at),
        "ended_at": None if item.expired_at is None else iso(item.expired_at),
    }
