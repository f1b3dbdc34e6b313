"""Owns a promise as decisions and prompts know it: when it is to be kept, until when it is open, and which place is
meant by a name. Pure.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, time
from enum import StrEnum

from world.places import WorldMap
from world.setting import Setting
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR, WorldTime, iso, parse_time

EARLY_MINUTES = LATE_MINUTES = 15
"""Minutes around the hour within which a meeting keeps the promise."""
PATIENCE_MINUTES = 120
"""How long a person waits for the other where only a part of the day was said, in minutes."""
LAPSE_MINUTES = 14 * MINUTES_PER_DAY
"""How long a promise without a time is open."""
MOST_DAYS = 400
"""So far ahead a promise can lie."""


class DayPart(StrEnum):
    """A part of a day for which something may be promised."""

    MORNING = "morning"
    AFTERNOON = "afternoon"
    EVENING = "evening"
    NIGHT = "night"

    @property
    def hours(self) -> tuple[int, int]:
        """From which hour until which; a night goes on into the next day."""
        return {"morning": (5, 12), "afternoon": (12, 17), "evening": (17, 22), "night": (20, 29)}[self.value]

    @classmethod
    def begun_at(cls, t: WorldTime) -> "DayPart":
        """The part that begins in that hour."""
        return next(part for part in cls if part.hours[0] == t % MINUTES_PER_DAY // MINUTES_PER_HOUR)


class BadDue(ValueError):
    """There is no such date or time, or it does not lie ahead."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """When a promise is to be kept: at the moment `at`, or from `since` until `at`, the end of a part of a day. Of a
    day alone `since` is None and `at` its end.
    """

    at: WorldTime
    since: WorldTime | None = None
    has_hour: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Promised:
    """What somebody promises to whom. `place` is as it was said ("": none was), `node_id` where that is on the map;
    `due` None: no time was said.
    """

    by_id: str
    to_id: str
    what: str
    place: str = ""
    node_id: str | None = None
    due: Due | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Commitment(Promised):
    """A promise, as decisions and prompts know it. It is open from `made_at` until before `ends_at`."""

    id: str
    made_at: WorldTime
    ends_at: WorldTime

    @property
    def window(self) -> tuple[WorldTime, WorldTime] | None:
        """From when until before when the two are to meet: around the hour, or in the part of the day, from when they
        have parted on. None: no such time was said.
        """
        due = self.due
        if due is None or (due.since is None and not due.has_hour):
            return None
        if due.since is None:
            return WorldTime(due.at - EARLY_MINUTES), WorldTime(due.at + LATE_MINUTES)
        return max(due.since, WorldTime(min(self.made_at, due.at - 2 * LATE_MINUTES) + LATE_MINUTES)), due.at

    @property
    def appointment(self) -> WorldTime | None:
        """When the two go there; None: it is no appointment."""
        if self.node_id is None or self.due is None or self.window is None:
            return None
        return self.due.at if self.due.has_hour else self.window[0]

    @property
    def waits_until(self) -> WorldTime | None:
        """Until when one waits there for the other; None: it is no appointment."""
        at = self.appointment
        return None if at is None or self.window is None else min(WorldTime(at + PATIENCE_MINUTES), self.window[1])

    def is_open(self, t: WorldTime) -> bool:
        """Whether it is to be kept yet."""
        return self.made_at <= t < self.ends_at

    def other(self, person_id: str) -> str:
        """The other of the two."""
        return self.to_id if person_id == self.by_id else self.by_id


def due_of(day: str, when: str, said_at: WorldTime) -> Due | None:
    """When something is to be kept that was promised at `said_at`: `day` is YYYY-MM-DD ("": that day, or the next where
    the time has passed), `when` HH:MM, a part of the day, or "" (None for both empty).

    Raises:
        BadDue: there is no such date or time; it does not lie ahead, or more than `MOST_DAYS` ahead.
    """
    if not day and not when:
        return None
    try:
        begins = (
            parse_time(date.fromisoformat(day).isoformat()) if day else WorldTime(said_at - said_at % MINUTES_PER_DAY)
        )
        if when in list(DayPart):
            first, last = DayPart(when).hours
            due = Due(
                at=WorldTime(begins + last * MINUTES_PER_HOUR), since=WorldTime(begins + first * MINUTES_PER_HOUR)
            )
        elif when:
            moment = time.fromisoformat(when)
            due = Due(at=WorldTime(begins + moment.hour * MINUTES_PER_HOUR + moment.minute), has_hour=True)
        else:
            due = Due(at=WorldTime(begins + MINUTES_PER_DAY))
    except ValueError as exc:
        raise BadDue(f"{day} {when}") from exc
    if not day and due.at <= said_at:
        return due_of(iso(WorldTime(begins + MINUTES_PER_DAY))[:10], when, said_at)
    if not said_at < due.at <= said_at + MOST_DAYS * MINUTES_PER_DAY:
        raise BadDue(f"{day} {when}")
    return due


def expires_at(made_at: WorldTime, due: Due | None) -> WorldTime:
    """Until when a promise is open, if nothing ends it before."""
    if due is None or due.at <= made_at:
        return WorldTime(made_at + LAPSE_MINUTES)
    return WorldTime(due.at + LATE_MINUTES) if due.has_hour else due.at


def around(setting: Setting, node_id: str) -> frozenset[str]:
    """The nodes from which one can talk with somebody at the place, itself included."""
    places = setting.world_map
    if node_id in places.closed_nodes:
        return frozenset((node_id, *places.beside(node_id)))
    posts = (post for post in places.closed_nodes if places.next_to(post, node_id))
    return frozenset((*setting.distances.in_talk(node_id), *posts))


def node_named(world_map: WorldMap, said: str) -> str | None:
    """The node that is called so, or whose facility is; None: nothing is, or several places are.

    A name that is part of what was said counts, the longest first ("where the Old Pump stands"), and so does the end
    of what was said where it is part of one name only ("the pump").
    """
    wanted = _bare(said)
    if not wanted:
        return None
    names = list(_names(world_map))
    within = {name: node_id for name, node_id in names if len(name) > 1 and name in wanted}
    longest = max(map(len, within), default=0)
    found = {node_id for name, node_id in names if name == wanted}
    found = found or {node_id for name, node_id in within.items() if len(name) == longest}
    words = said.split()
    ends = (_bare("".join(words[first:])) for first in range(len(words)))
    found = found or next(filter(None, ({node for name, node in names if end in name} for end in ends if end)), set())
    return found.pop() if len(found) == 1 else None


def _names(world_map: WorldMap) -> Iterator[tuple[str, str]]:
    """Each place under its name and its id; a facility's place is its first node."""
    for facility in world_map.facilities.values():
        yield from ((_bare(name), facility.node_ids[0]) for name in (facility.name, facility.id))
    facilities = {_bare(facility.name) for facility in world_map.facilities.values()}
    for node in world_map.nodes.values():
        for name in {node.name, node.id} - {""}:
            if _bare(name) not in facilities:
                yield _bare(name), node.id


def _bare(text: str) -> str:
    """Letters and digits in one width and case."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).casefold())
