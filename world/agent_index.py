"""Owns everybody's lives by id: who is where at a moment, and who is due when. It keeps as much of the past as may
still be asked for.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from heapq import heappop, heappush
from types import MappingProxyType

from world.life import Activity, Person, TalkState, node_at
from world.setting import Setting
from world.time import WorldTime


class Agenda:
    """One time for each id. Moving somebody costs a search and a shift of pointers; reading goes in order of (time,
    id).

    A sorted list, not a heap: the gates of causality read those who lag, in order, far more often than anybody moves.
    """

    def __init__(self) -> None:
        self._sorted: list[tuple[WorldTime, str]] = []
        self._times: dict[str, WorldTime] = {}

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


_KEPT = 4
"""Activities of a character kept in any case."""


class AgentIndex:
    """People and talks, held by id and replaced as they change.

    `remember` minutes of everybody's past are kept, counted back from the most lagging character (None: all of it);
    positions and snapshots of remembered times can be asked for. `changed_people` and `changed_talks` collect the ids
    of what changed, for whoever stores the world: take them out when they are written. To restore a world, give it all
    people as they last were, and all talks that are open, unclosed, or ended at the most lagging character's time or
    later.

    `engaged`: the NPCs in a conversation that is not held here, and with whom: nobody can speak to them. Replace it
    only when nobody lags behind the moment it changes at. `now`: the world time that clients see. The index keeps
    everything from then on, and everything since the beginning of talks that end then or later, however far everybody
    has run ahead (None: clients see nothing, and it keeps nothing for them).
    """

    def __init__(
        self,
        setting: Setting,
        people: Iterable[Person],
        talks: Iterable[TalkState] = (),
        *,
        remember: int | None = 0,
        engaged: Mapping[str, str] = MappingProxyType({}),
        now: WorldTime | None = None,
    ) -> None:
        self.setting = setting
        self.engaged = engaged
        self._now = now
        self.people: dict[str, Person] = {}
        self.talks: dict[str, TalkState] = {}
        self.agenda = Agenda()
        self.sighted = Agenda()
        """Of these, those who can speak to a character. A scripted character perceives nobody."""
        self.node_indexes: dict[str, int] = {}
        """Where each is at its `ready` time, as `Distances` numbers the nodes."""
        self.changed_people: set[str] = set()
        self.changed_talks: set[str] = set()
        self.open_talks = Agenda()
        """Talks that are not over, by the earliest time at which they can end."""
        self._turns = Agenda()
        self._held_since = Agenda()
        """Talks that end at `now` or later, by when they began."""
        self._remember: int | None = None
        self._visitors: defaultdict[str, set[str]] = defaultdict(set)
        self._seated: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._npc_talks: dict[str, list[str]] = {}
        self._closed: list[tuple[WorldTime, str]] = []
        for person in people:
            self.put(person)
        for talk in sorted(talks, key=lambda talk: (talk.start, talk.id)):
            self.put_talk(talk)
        # Only when all are here is it known who lags most, and how much may be forgotten.
        self._remember = remember

    @property
    def now(self) -> WorldTime | None:
        """The world time that clients see (see the class)."""
        return self._now

    @now.setter
    def now(self, now: WorldTime | None) -> None:
        self._now = now
        if now is not None:
            for talk_id in [i for i in self._held_since.ids if self.talks[i].closed and self.talks[i].end < now]:
                self._held_since.drop(talk_id)

    @property
    def frontier(self) -> WorldTime | None:
        """Nothing new can happen before this time. None: there are no characters."""
        first, turn = self.agenda.first, self._turns.first
        return first if first is None or turn is None else min(first, turn)

    def near(self, nodes: Collection[str], t: WorldTime) -> Iterator[tuple[Person, Activity, str]]:
        """Everybody who stands on one of the nodes in the snapshot of `t`, with the activity that began last and the
        node; unsorted.
        """
        for person in self.visitors(nodes):
            activity = person.before(t)
            node_id = node_at(activity.segment, t)
            if node_id in nodes:
                yield person, activity, node_id

    def visitors(self, nodes: Collection[str]) -> Iterator[Person]:
        """Everybody who was, is or will be on one of the nodes, in remembered and committed times; in no order."""
        if len(nodes) == 1:
            found: Iterable[str] = self._visitors.get(next(iter(nodes)), ())
        else:
            found = {person_id for node_id in nodes for person_id in self._visitors.get(node_id, ())}
        return (self.people[person_id] for person_id in found)

    def seats_taken(self, facility_id: str, action_id: str, t: WorldTime) -> int:
        """How many hold a seat at `t`, those included who took theirs at `t`."""
        now = (person.during(t) for person in self.seated((facility_id, action_id)))
        return sum(a.seat == (facility_id, action_id) and a.start <= t < a.end for a in now)

    def seated(self, seat: tuple[str, str]) -> Iterator[Person]:
        """Everybody who had, has or will have one of these seats, in remembered and committed times; in no order."""
        return (self.people[person_id] for person_id in self._seated.get(seat, ()))

    def npc_talk(self, npc_id: str, t: WorldTime, *, seen: bool) -> TalkState | None:
        """The talk the NPC is in at `t`; `seen`: as the snapshot of `t` shows it, else after what has begun at `t`."""
        for talk_id in reversed(self._npc_talks.get(npc_id, ())):
            talk = self.talks[talk_id]
            if talk.takes(npc_id, t) and (talk.start < t or not seen):
                return talk
        return None

    def unclosed(self, npc_id: str) -> str | None:
        """The id of the NPC's oldest talk that is not yet remembered, if there is one; it may have left others early:
        these go on without it.
        """
        talks = (self.talks[i] for i in self._npc_talks.get(npc_id, ()))
        return next((talk.id for talk in talks if not talk.closed and npc_id in talk.present), None)

    def put(self, person: Person) -> None:
        """Take in a person who is new or has changed. Its past is the same as before, and at most two activities
        longer.
        """
        for activity in person.past[-2:] if person.id in self.people else person.past:
            for node_id in activity.segment.path:
                self._visitors[node_id].add(person.id)
            if activity.seat is not None:
                self._seated[activity.seat].add(person.id)
        self.agenda.put(person.id, person.ready)
        if not person.is_scripted:
            self.sighted.put(person.id, person.ready)
        elif person.id in self.sighted:
            self.sighted.drop(person.id)
        self.node_indexes[person.id] = self.setting.distances.node_index(person.node_id)
        self.people[person.id] = self._forget(person)
        self.changed_people.add(person.id)

    def take_out(self, person_id: str) -> None:
        """Remove the person and its past. Nobody may lag behind the moment it goes at."""
        person = self.people.pop(person_id)
        self._unlist(person_id, person.past, ())
        self.agenda.drop(person_id)
        if person_id in self.sighted:
            self.sighted.drop(person_id)
        del self.node_indexes[person_id]
        self.changed_people.add(person_id)

    def put_talk(self, talk: TalkState) -> None:
        """A talk, new or changed."""
        if talk.with_npc and talk.id not in self.talks:
            self._npc_talks.setdefault(talk.partner_id, []).append(talk.id)
        if not talk.over:
            self._turns.put(talk.id, WorldTime(talk.start + talk.turns))
            self.open_talks.put(talk.id, talk.end)
        elif talk.id in self._turns:
            self._turns.drop(talk.id)
            self.open_talks.drop(talk.id)
        self.talks[talk.id] = talk
        if self._now is not None and (not talk.closed or talk.end >= self._now):
            self._held_since.put(talk.id, talk.start)
        self.changed_talks.add(talk.id)
        if talk.closed:
            heappush(self._closed, (talk.end, talk.id))
            self._forget_talks()

    def _forget(self, person: Person) -> Person:
        """Drops what nobody can look back to any more."""
        past, oldest = person.past, self._oldest
        # Not at every change: it costs more than a few activities do.
        if oldest is None or len(past) <= _KEPT or past[0].end >= oldest:
            return person
        keep = next((i for i, a in enumerate(past[:-1]) if a.end >= oldest), len(past) - 1)
        self._unlist(person.id, past[:keep], past[keep:])
        return replace(person, past=past[keep:])

    def _unlist(self, person_id: str, gone: Iterable[Activity], kept: Collection[Activity]) -> None:
        """Remove the nodes of activities that are gone from the index of visitors, unless activities that are kept lead
        there too.
        """
        nodes = {node_id for activity in kept for node_id in activity.segment.path}
        seats = {activity.seat for activity in kept}
        for activity in gone:
            if activity.seat is not None and activity.seat not in seats:
                self._seated[activity.seat].discard(person_id)
            for node_id in activity.segment.path:
                if node_id not in nodes:
                    self._visitors[node_id].discard(person_id)

    @property
    def _oldest(self) -> WorldTime | None:
        """The earliest moment to be remembered; None: nothing is to be forgotten."""
        first = self.agenda.first
        if self._remember is None or first is None:
            return None
        if self._now is None:
            return WorldTime(first - self._remember)
        return WorldTime(min(first, self._now, self._held_since.first or first) - self._remember)

    def _forget_talks(self) -> None:
        oldest = self._oldest
        while oldest is not None and self._closed[0][0] < oldest:
            _, talk_id = heappop(self._closed)
            talk = self.talks.pop(talk_id)
            if talk.with_npc:
                self._npc_talks[talk.partner_id].remove(talk_id)
            if not self._closed:
                return
