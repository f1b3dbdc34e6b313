"""Owns a promise as decisions and prompts know it: until when it is open, and where it can be kept. Pure."""

from dataclasses import dataclass

from world.setting import Setting
from world.time import MINUTES_PER_DAY, WorldTime

EARLY_MINUTES = LATE_MINUTES = 15
"""Who meets within so many minutes of the time has kept it."""
LAPSE_MINUTES = 3 * MINUTES_PER_DAY
"""How long a promise without a time is open."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Commitment:
    """A promise, as decisions and prompts know it. It is open from `made_at` until before `ends_at`."""

    id: str
    by_id: str
    to_id: str
    what: str
    words: str
    place: str
    node_id: str | None
    due_at: WorldTime | None
    has_hour: bool
    is_firm: bool
    made_at: WorldTime
    ends_at: WorldTime

    @property
    def appointment(self) -> WorldTime | None:
        """When the two are to be there; None: it is no appointment."""
        return self.due_at if self.is_firm and self.has_hour and self.node_id is not None else None

    def is_open(self, t: WorldTime) -> bool:
        """Whether it is to be kept yet."""
        return self.made_at <= t < self.ends_at

    def other(self, person_id: str) -> str:
        """The other of the two."""
        return self.to_id if person_id == self.by_id else self.by_id


def expires_at(made_at: WorldTime, due_at: WorldTime | None, *, is_appointment: bool) -> WorldTime:
    """Until when a promise is open, if nothing ends it before."""
    if due_at is None or due_at <= made_at:
        return WorldTime(made_at + LAPSE_MINUTES)
    return WorldTime(due_at + LATE_MINUTES) if is_appointment else due_at


def around(setting: Setting, node_id: str) -> frozenset[str]:
    """The nodes from which one can talk with somebody at the place, itself included."""
    places = setting.world_map
    if node_id in places.closed_nodes:
        return frozenset((node_id, *places.beside(node_id)))
    posts = (post for post in places.closed_nodes if places.next_to(post, node_id))
    return frozenset((*setting.distances.in_talk(node_id), *posts))
