"""Owns what a character perceives at a moment: who is near and does what, which NPC is free, what seats are left."""

from collections.abc import Mapping
from dataclasses import dataclass

from world.time import WorldTime


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """A character in sight, `minutes` away. `doing` is an action id; None: it has just ended something."""

    id: str
    node_id: str
    minutes: int
    doing: str | None
    approachable: bool
    talks_with: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenNpc:
    """An NPC in sight, and who talks with it (None: it is free)."""

    id: str
    talks_with: str | None


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What one character knows when it decides at `time`: S(t), before any effect of `time`.

    `because` and `ended` say what it has just ended and why. `people` and `npcs` are sorted by id. `free_seats`:
    (facility id, action id) of the facilities it stands in. A blind character sees neither people, NPCs nor seats.
    """

    person_id: str
    time: WorldTime
    home: str
    node_id: str
    ended: str
    because: str
    levels: Mapping[str, float]
    critical: tuple[str, ...]
    people: tuple[Seen, ...] = ()
    npcs: tuple[SeenNpc, ...] = ()
    free_seats: Mapping[tuple[str, str], int]
