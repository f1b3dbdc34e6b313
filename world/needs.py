"""Owns needs: energy, satiety, sociability, money and what an author adds; their level at any time, without
stepping.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from world.time import MINUTES_PER_HOUR, WorldTime


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """Something a character has more or less of: from `lowest` to `highest`, moving by `drift_per_hour` by itself.

    At `critical` or below it is urgent (None: never). A new character has `start` of it.

    Raises:
        ValueError: bounds the wrong way round, or a start or critical level outside of them.
    """

    id: str
    """id of the need in actions.json"""
    name: str = ""
    """its name in the world's language"""
    lowest: float = 0.0
    """the level it cannot fall below"""
    highest: float = 100.0
    """the level it cannot rise above"""
    start: float = 100.0
    critical: float | None = None
    """at this level or below it is urgent; null: it never is"""
    drift_per_hour: float = 0.0

    def __post_init__(self) -> None:
        inside = self.lowest <= self.start <= self.highest
        if not inside or (self.critical is not None and not self.lowest <= self.critical <= self.highest):
            raise ValueError(f"a need starts, and is critical, between its bounds: {self}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Levels:
    """One character's needs: `values` at `since`, moving by `rates` an hour from then on; both as `Needs` orders
    them.
    """

    since: WorldTime
    values: tuple[float, ...]
    rates: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Needs:
    """The needs of a world, in the author's order.

    Raises:
        ValueError: two needs of one id.
    """

    all: tuple[Need, ...]

    def __post_init__(self) -> None:
        if len(self._index) != len(self.all):
            raise ValueError(f"two needs of one id: {[need.id for need in self.all]}")

    @cached_property
    def _index(self) -> Mapping[str, int]:
        return {need.id: i for i, need in enumerate(self.all)}

    @cached_property
    def _drifts(self) -> tuple[float, ...]:
        return tuple(need.drift_per_hour for need in self.all)

    @cached_property
    def _bounds(self) -> tuple[tuple[float, float], ...]:
        return tuple((need.lowest, need.highest) for need in self.all)

    def __contains__(self, need_id: object) -> bool:
        return need_id in self._index

    def first(self, t: WorldTime, values: Mapping[str, float] | None = None) -> Levels:
        """The levels of somebody new at `t`; `values` overrides where a need starts. Raises: KeyError for a need there
        is not.
        """
        fresh = Levels(since=t, values=tuple(need.start for need in self.all), rates=self._drifts)
        return self.put(fresh, t, values or {})

    def put(self, levels: Levels, t: WorldTime, values: Mapping[str, float]) -> Levels:
        """The levels with some of them set at `t` by an author, cut off at the bounds. Raises: KeyError."""
        now = list(self._values(levels, t))
        for need_id, value in values.items():
            i = self._index[need_id]
            now[i] = min(max(value, self.all[i].lowest), self.all[i].highest)
        return Levels(since=t, values=tuple(now), rates=levels.rates)

    def at(self, levels: Levels, t: WorldTime) -> dict[str, float]:
        """Every need's level at `t`, at or after `levels.since`."""
        return dict(zip(self._index, self._values(levels, t), strict=True))

    def begin(
        self,
        levels: Levels,
        t: WorldTime,
        *,
        cost: Mapping[str, float] | None = None,
        per_hour: Mapping[str, float] | None = None,
    ) -> Levels:
        """From `t` on: `cost` is paid at once, and each need moves by its drift plus `per_hour`. Raises: KeyError."""
        values = self._values(levels, t)
        if cost:
            paid = {need_id: values[self._index[need_id]] - amount for need_id, amount in cost.items()}
            values = self.put(levels, t, paid).values
        rates = self._drifts
        if per_hour:
            moved = list(rates)
            for need_id, amount in per_hour.items():
                moved[self._index[need_id]] += amount
            rates = tuple(moved)
        return Levels(since=t, values=values, rates=rates)

    def critical(self, levels: Levels, t: WorldTime) -> tuple[str, ...]:
        """The needs that are critical at `t`, in the author's order."""
        values = self._values(levels, t)
        return tuple(
            need.id
            for need, value in zip(self.all, values, strict=True)
            if need.critical is not None and value <= need.critical
        )

    def next_critical(self, levels: Levels, until: WorldTime) -> tuple[WorldTime, str] | None:
        """When, after `levels.since` and before `until`, a need first becomes critical that was not, and which one."""
        found: tuple[WorldTime, str] | None = None
        for i, need in enumerate(self.all):
            if need.critical is None or levels.rates[i] >= 0 or levels.values[i] <= need.critical:
                continue
            if not self._is_critical(levels, i, until):
                continue  # not so soon, if ever: a need may fall so slowly that no number holds the minutes
            t = self._crossing(levels, i, need.critical)
            if t < until and (found is None or t < found[0]):
                found = (t, need.id)
        return found

    def _crossing(self, levels: Levels, i: int, critical: float) -> WorldTime:
        minutes = max(1, ceil((levels.values[i] - critical) * MINUTES_PER_HOUR / -levels.rates[i]))
        t = WorldTime(levels.since + minutes)
        # The division may round to the minute before the level is really down there.
        return t if self._is_critical(levels, i, t) else WorldTime(t + 1)

    def _is_critical(self, levels: Levels, i: int, t: WorldTime) -> bool:
        critical = self.all[i].critical
        return critical is not None and self._value(levels, i, t) <= critical

    def _values(self, levels: Levels, t: WorldTime) -> tuple[float, ...]:
        if t == levels.since:
            return levels.values
        minutes = t - levels.since
        return tuple(
            _moved(value, rate, minutes, bounds)
            for value, rate, bounds in zip(levels.values, levels.rates, self._bounds, strict=True)
        )

    def _value(self, levels: Levels, i: int, t: WorldTime) -> float:
        return _moved(levels.values[i], levels.rates[i], t - levels.since, self._bounds[i])


def _moved(value: float, rate: float, minutes: int, bounds: tuple[float, float]) -> float:
    moved, (lowest, highest) = value + rate * minutes / MINUTES_PER_HOUR, bounds
    return lowest if moved < lowest else highest if moved > highest else moved
