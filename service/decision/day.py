"""Owns the day's blocks, planned or routine: which one a moment lies in, and when the next one begins. Each lasts until
the next one, the last one past midnight.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

from service.content.profile import CharacterProfile, RoutineBlock
from world.setting import Setting
from world.time import MINUTES_PER_DAY, WorldTime, minute_of_day


@dataclass(frozen=True, kw_only=True, slots=True)
class DaySlot:
    """The block a moment lies in: number `index` of its day, from `since` until before `until`."""

    index: int
    block: RoutineBlock
    since: WorldTime
    until: WorldTime


def day_blocks(setting: Setting, profile: CharacterProfile, plan: tuple[RoutineBlock, ...]) -> tuple[RoutineBlock, ...]:
    """The plan, else the routine, in order; blocks whose facility the map does not have are passed over."""
    blocks = plan or profile.routine
    facilities = setting.world_map.facilities
    return tuple(
        sorted((b for b in blocks if b.facility_id is None or b.facility_id in facilities), key=attrgetter("starts"))
    )


def slot_at(blocks: tuple[RoutineBlock, ...], t: WorldTime) -> DaySlot | None:
    """The slot that holds `t`; None when the day has no blocks. `blocks` are in order."""
    if not blocks:
        return None
    minute = minute_of_day(t)
    index = sum(block.starts <= minute for block in blocks) - 1
    block, following = blocks[index], blocks[(index + 1) % len(blocks)]
    since = t - (minute - block.starts) % MINUTES_PER_DAY
    until = t + ((following.starts - minute) % MINUTES_PER_DAY or MINUTES_PER_DAY)
    return DaySlot(index=index % len(blocks), block=block, since=WorldTime(since), until=WorldTime(until))


def starts_between(blocks: Iterable[RoutineBlock], after: WorldTime, until: WorldTime) -> int:
    """How many blocks begin after `after` and at `until` or before."""
    return sum(
        (until - block.starts) // MINUTES_PER_DAY - (after - block.starts) // MINUTES_PER_DAY for block in blocks
    )


def at_home(setting: Setting, block: RoutineBlock, home: str) -> bool:
    """Whether the block is spent at home: nowhere else, or in the facility the home lies in."""
    return block.facility_id is None or home in setting.world_map.facilities[block.facility_id].node_ids
