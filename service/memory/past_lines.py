"""Owns what a person remembers as lines of JSON, from which the same memory is made again (seeding.py)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from service.memory.authoring import memory_id
from service.memory.record import Episode, HeardTurn, Item, Kind, Memory, known_since
from service.memory.telling import MemoryKind, ref, ref_of
from service.store.tables import MemoryRow
from world.time import WorldTime, iso


def past_lines(items: Iterable[Item], given: Mapping[str, MemoryRow]) -> Iterator[dict[str, Any]]:
    """A line for each, oldest first, what was drawn from others behind those, a talk's turns in their order. `given`:
    the lines some came of, by `memory_id`: those keep the caller's ids, the others are called as they are here.
    """
    items = sorted(items, key=_order)
    talks = {item.conversation_id: row.given_in for item in items if (row := given.get(memory_id(item)))}
    ids = {ref_of(one): given[name].given_id if (name := memory_id(one)) in given else name for one in items}
    for item in items:
        line = {
            "id": ids[ref_of(item)],
            "conversation": talks.get(item.conversation_id) or item.conversation_id,
            "partner": item.partner_id,
            **(_remembered(item, ids, talks) if isinstance(item, Memory) else _heard(item)),
        }
        yield {key: value for key, value in line.items() if value not in (None, "", [])}


def _order(item: Item) -> tuple[bool, WorldTime, str]:
    return isinstance(item, Memory) and bool(item.evidence), known_since(item), memory_id(item)


def _heard(item: HeardTurn | Episode) -> dict[str, Any]:
    if isinstance(item, Episode):
        return {"summary": item.summary, "topics": list(item.topics), "at": iso(item.at)}
    return {
        "speaker": item.speaker_id or item.speaker_name,
        "text": item.text,
        "turn": item.turn,
        "at": iso(item.known_since),
    }


def _remembered(one: Memory, ids: Mapping[str, str], talks: Mapping[str, str]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "at": iso(one.known_from),
        "valid_to": None if one.valid_to is None else iso(one.valid_to),
        "ended_at": None if one.known_until is None else iso(one.known_until),
        "importance": one.importance,
        "support": one.support,
        "evidence": [_evidence(named, ids, talks) for named in one.evidence],
    }
    if one.kind is Kind.INSIGHT:
        return {"insight": one.text, **told, "conversation": None}
    return {
        "statement": one.text,
        **told,
        "kind": one.kind,
        "about": one.subject_id or one.about,
        "told_by": one.told_by,
        "via": list(one.via),
        "mode": one.mode,
        "quote": one.quote,
        "slot": one.slot.rpartition("/")[2],
        "valid_from": iso(one.valid_from),
        "turns": list(one.turns),
        "level": one.level,
        "expires_at": None if one.expires_at is None else iso(one.expires_at),
    }


def _evidence(named: str, ids: Mapping[str, str], talks: Mapping[str, str]) -> str:
    """The reference as the lines call it."""
    kind, _, key = named.partition(":")
    if kind == MemoryKind.TALK:
        return ref(MemoryKind.TALK, talks.get(key) or key)
    return ref(MemoryKind.MEMORY, ids[named]) if kind == MemoryKind.MEMORY and named in ids else named
