"""Owns how long a mid-term memory lasts. Pure."""

from service.cast.profile import Importance
from world.time import MINUTES_PER_DAY, WorldTime, day_end

_DAYS = {"medium": 2, "high": 3}


def expires_at(importance: Importance, created_at: WorldTime, *, day_starts: int = 0) -> WorldTime:
    """When a memory made at `created_at` is gone: low at the end of its world day, medium after 2 days, high after 3."""
    if importance == "low":
        return day_end(created_at, day_starts=day_starts)
    return WorldTime(created_at + _DAYS[importance] * MINUTES_PER_DAY)
