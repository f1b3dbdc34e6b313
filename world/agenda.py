"""Owns who is due when: people sorted by the world time of their next undecided moment, the most lagging first."""

from bisect import bisect_left, insort
from collections.abc import Iterator

from world.time import WorldTime


class Agenda:
    """One time for each id. Moving somebody costs a search and a shift of pointers; reading goes in order of (time,
    id).

    A sorted list, not a heap: the gates of causality read those who lag, in order, far more often than anybody moves.
    """

    def __init__(self) -> None:
        self._sorted: list[tuple[WorldTime, str]] = []
        self._times: dict[str, WorldTime] = {}

    def __len__(self) -> int:
        return len(self._sorted)

    @property
    def ids(self) -> Iterator[str]:
        """Everybody, the most lagging first. Read it before the next `put`."""
        return (person_id for _, person_id in self._sorted)

    def __contains__(self, person_id: object) -> bool:
        return person_id in self._times

    def __getitem__(self, person_id: str) -> WorldTime:
        """Raises: KeyError."""
        return self._times[person_id]

    def put(self, person_id: str, t: WorldTime) -> None:
        """Due at `t` from now on, and at no other time."""
        known = self._times.get(person_id)
        if known == t:
            return
        if known is not None:
            del self._sorted[bisect_left(self._sorted, (known, person_id))]
        insort(self._sorted, (t, person_id))
        self._times[person_id] = t

    def drop(self, person_id: str) -> None:
        """No longer due at all. Raises: KeyError."""
        del self._sorted[bisect_left(self._sorted, (self._times.pop(person_id), person_id))]

    @property
    def first(self) -> WorldTime | None:
        """The earliest time anybody is due; None when nobody is."""
        return self._sorted[0][0] if self._sorted else None

    def behind(self, t: WorldTime) -> Iterator[tuple[WorldTime, str]]:
        """Everybody due before `t` by (time, id), the least lagging first. Read it before the next `put`."""
        return map(self._sorted.__getitem__, range(bisect_left(self._sorted, (t, "")) - 1, -1, -1))

    def due(self, t: WorldTime) -> Iterator[str]:
        """Who is due exactly at `t`, sorted by id. Read it before the next `put`."""
        for i in range(bisect_left(self._sorted, (t, "")), len(self._sorted)):
            when, person_id = self._sorted[i]
            if when != t:
                return
            yield person_id
