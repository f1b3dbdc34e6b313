"""Owns the causality rule: who may decide or claim at its own time although others lag behind, and whom it waits for.

A character may run ahead of the rest as long as nobody who lags behind can still change what it perceives, or take what
it claims. The rule and its proof: AI Metropolis (MLSys 2025, arXiv 2411.03519), over walking minutes instead of cells.
It holds because a talk lasts at least as long as the longest walk between two who can talk (asserted by `Setting`):
whoever is freed by a talk comes no sooner than who spoke to it would have come itself.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import takewhile

from world.actions import TALK, Option
from world.distance import FAR, WalkRow
from world.life import Activity, Person, TalkState, node_at
from world.simulation import Simulation
from world.time import WorldTime


class Causality:
    """Decides who must wait for whom. `to_decide` and `to_claim` answer the id of somebody to wait for (None: go
    ahead). Of several it is the one that lags least: it moves last, so the waiter is woken seldom. Waiting always leads
    to an earlier (time, id) or to an open talk, so nobody waits in a circle.
    """

    def __init__(self, world: Simulation) -> None:
        self.world = world

    def to_decide(self, person: Person) -> str | None:
        """Gate 1: whether the snapshot of its `ready` time is final."""
        if person.is_scripted:
            return self._may_be_cut(person)
        t, node_id = person.ready, person.node_id
        present, npcs = self.sight_row(node_id), self.npcs_row(node_id)
        node_indexes = self.world.node_indexes
        for since, other in self.world.agenda.behind(t):
            gap, node_index = t - since, node_indexes[other]
            if present[node_index] <= gap or npcs[node_index] < gap:
                return other
        blocker = self._blocks_targets(self.targets(person, t), t)
        return blocker or self.open_talk_in_sight(person)

    def to_claim(self, person: Person) -> str | None:
        """Gate 2: whether what it claims at its `ready` time is its to take, or is already taken."""
        claim = person.claim
        if claim is None:
            raise ValueError(f"{person.id!r} claims nothing")
        if claim.action_id != TALK or claim.target_id is None:
            return self._to_sit(person, claim.facility_id or "", claim.action_id)
        if claim.talk_id is not None:
            return self._to_join(person, claim.target_id, claim.talk_id)
        if claim.target_id in self.world.setting.world_map.posts:
            return self._to_speak_to_npc(person, claim.target_id)
        return self._to_speak(person, claim.target_id)

    def to_turn(self, talk: TalkState) -> str | None:
        """Gate 3: whether it is known who hears the next turn of a talk; a person that joins at that minute does.
        Nobody joins in the minute in which it begins, for nobody has seen it before.
        """
        rules = self.world.setting.rules
        if not talk.turns or len(talk.present) >= rules.table or talk.shortest > rules.talk_min:
            return None  # there is no room either, or a clock that does not wait has overtaken it
        t = WorldTime(talk.start + talk.turns)
        rows = self._table_rows(talk)
        for since, other in self.world.sighted.behind(WorldTime(t + 1)):
            node_index, gap = self.world.node_indexes[other], t - since
            near = any(row[node_index] <= gap for row in rows)
            if near and self._may_join(other, talk, t):
                return other
        return None

    def _may_join(self, person_id: str, talk: TalkState, t: WorldTime) -> bool:
        """Whether a person that can be there by `t` may claim a seat at the table at `t`: not if it is known to claim
        something else then. One that left the talk never comes back, but may speak to somebody who would come, and is
        free after a talk.
        """
        person = self.world.people[person_id]
        if person_id in talk.members:
            return t - person.ready >= self.world.setting.rules.talk_min
        return person.ready < t or person.claim is None or person.claim.talk_id == talk.id

    def still_blocks(self, blocker: str, person: Person) -> bool:
        """Whether a blocker that has changed since certainly still blocks the decision. False: it may or may not."""
        gap = person.ready - self.world.agenda[blocker]
        if gap <= 0:
            return False
        node_index = self.world.node_indexes[blocker]
        if person.is_scripted:
            return False
        return self.sight_row(person.node_id)[node_index] <= gap or self.npcs_row(person.node_id)[node_index] < gap

    # What the rule reads; the tests loosen these one by one, and must notice

    def near(self, row: WalkRow) -> WalkRow:
        """From where somebody who lags behind counts, and in how many minutes."""
        return row

    def sight_row(self, node_id: str) -> WalkRow:
        """R1: from where somebody comes into sight of the node, and in how many minutes."""
        return self.near(self.world.setting.distances.to_sight(node_id))

    def npcs_row(self, node_id: str) -> WalkRow:
        """R2: from where somebody can speak to an NPC in sight of the node, and in how many minutes."""
        return self.near(self.world.setting.distances.to_npcs_in_sight(node_id))

    def talk_row(self, node_id: str) -> WalkRow:
        """R2: from where somebody can speak to a character on the node, and in how many minutes."""
        return self.near(self.world.setting.distances.to_talk(node_id))

    def targets(self, person: Person, t: WorldTime) -> Sequence[tuple[str, WalkRow]]:
        """R2: the characters it perceives at `t` whom somebody could have spoken to before, and those in the talks that
        it perceives through whom somebody could have joined before; with the way to each.
        """
        sight = self.world.setting.distances.in_sight(person.node_id)
        found: list[tuple[str, WalkRow]] = []
        talks = dict[str, TalkState]()
        for other, activity, node_id in self.world.near(sight, t):
            if activity.talk_id is not None:
                talks[activity.talk_id] = self.world.talks[activity.talk_id]
            elif other.id != person.id and _could_be_cut(activity, t):
                found.append((other.id, self.talk_row(node_id)))
        for npc_id in self.world.setting.distances.npcs_in_sight(person.node_id):
            talk = self.world.npc_talk(npc_id, t, seen=True)
            if talk is not None:
                talks[talk.id] = talk
        for talk in talks.values():
            # Of minutes that are spoken gate 3 has made sure that nobody joins any more.
            if not talk.over and talk.start + talk.turns < t:
                found.extend(zip(talk.characters, self._table_rows(talk), strict=True))
        return found

    def open_talk_in_sight(self, person: Person) -> str | None:
        """R3: somebody whose talk may be over by now, when it or its NPC is in sight."""
        distances = self.world.setting.distances
        sight = distances.in_sight(person.node_id)
        npc_ids = distances.npcs_in_sight(person.node_id)
        for other, npc_id in self._talks_that_may_end(person.ready):
            if other.node_id in sight or npc_id in npc_ids:
                return other.id
        return None

    # Gate 2

    def _to_speak(self, person: Person, target_id: str) -> str | None:
        t, target = person.ready, self.world.people[target_id]
        if target.ready < t:
            return target_id
        row = self.talk_row(node_at(target.during(t).segment, t))
        return self._lagging([row], t) or self._before_me(person, [row], target_id)

    def _to_join(self, person: Person, target_id: str, talk_id: str) -> str | None:
        t, talk = person.ready, self.world.talks.get(talk_id)
        if talk is None or talk.over or talk.start + talk.turns > t:
            return None  # it came too late, or there was no room, whatever the others do
        if self._is_behind(talk, t):
            return talk.characters[0]
        rows = self._table_rows(talk)
        return self._lagging(rows, t) or self._before_me(person, rows, target_id)

    def _table_rows(self, talk: TalkState) -> list[WalkRow]:
        """The minutes to where the talk can be joined, a row for each member that may be addressed."""
        return [self.talk_row(self.world.people[i].node_id) for i in talk.characters]

    def _is_behind(self, talk: TalkState, t: WorldTime) -> bool:
        """Whether turns of an open talk are still to be spoken that come before `t`: it may be over then. Of one that a
        clock that does not wait has overtaken nobody can tell.
        """
        return talk.start + talk.turns < t and talk.shortest <= self.world.setting.rules.talk_min

    def _to_speak_to_npc(self, person: Person, npc_id: str) -> str | None:
        t = person.ready
        row = self.near(self.world.setting.distances.to_npc(npc_id))
        for other, busy_id in self._talks_that_may_end(t):
            if busy_id == npc_id:
                return other.id
        return self._lagging([row], t) or self._before_me(person, [row], npc_id)

    def _to_sit(self, person: Person, facility_id: str, action_id: str) -> str | None:
        t, seat = person.ready, (facility_id, action_id)
        row = self.near(self.world.setting.distances.to_facility(facility_id))
        for other, _ in self._talks_that_may_end(t):
            if other.last.seat == seat:
                return other.id
        blocker = self._lagging([row], t)
        if blocker is not None:
            return blocker
        seated: list[tuple[str, WalkRow]] = []
        for other in self.world.seated(seat):
            activity = other.before(t)
            if activity.seat == seat and _could_be_cut(activity, t):
                seated.append((other.id, self.talk_row(activity.node_id)))
        if seated:
            blocker = self._blocks_targets(seated, t)
        return blocker or self._before_me(person, [row], None)

    def _lagging(self, rows: Sequence[WalkRow], t: WorldTime) -> str | None:
        """Somebody behind `t` who can be there by `t`, whatever its id."""
        node_indexes = self.world.node_indexes
        for since, other in self.world.agenda.behind(t):
            if any(row[node_indexes[other]] <= t - since for row in rows):
                return other
        return None

    def _before_me(self, person: Person, rows: Sequence[WalkRow], target_id: str | None) -> str | None:
        """Somebody of a lower id who is there at the same minute, and may still claim the same."""
        mine = person.claim
        assert mine is not None  # noqa: S101  only asked about somebody who claims
        before = list(takewhile(lambda i: i < person.id, self.world.agenda.due(person.ready)))
        for other_id in reversed(before):
            if other_id == target_id or all(row[self.world.node_indexes[other_id]] for row in rows):
                continue
            theirs = self.world.people[other_id].claim
            if theirs is None or _same(mine, theirs):
                return other_id
        return None

    # Shared

    def _may_be_cut(self, person: Person) -> str | None:
        """A scripted character perceives nobody; only somebody who speaks to it before its time can change what it
        does.
        """
        if not _could_be_cut(person.last, person.ready):
            return None
        if self.world.sighted.first is None:
            return None
        row = self.talk_row(person.node_id)
        for node_index, gap, other in self._speakers(person.ready):
            if row[node_index] < gap:
                return other
        return None

    def _blocks_targets(self, targets: Sequence[tuple[str, WalkRow]], t: WorldTime) -> str | None:
        lagging = list(self._speakers(t)) if targets else []
        for target_id, row in targets:
            for node_index, gap, other in lagging:
                if row[node_index] < gap and other != target_id:
                    return other
        return None

    def _speakers(self, t: WorldTime) -> Iterator[tuple[int, int, str]]:
        """(node index, minutes it lags behind `t`, id) of who may yet speak to a character, the least lagging first."""
        for since, other in self.world.sighted.behind(t):
            yield self.world.node_indexes[other], t - since, other

    def _talks_that_may_end(self, t: WorldTime) -> Iterator[tuple[Person, str | None]]:
        """The characters in open talks that may end at `t`, or have ended before, each with the NPC of that talk. One
        that joined an NPC's talk may stand too far from the NPC to be counted among those who lag behind there.
        """
        for _, talk_id in self.world.open_talks.behind(WorldTime(t + 1)):
            talk = self.world.talks[talk_id]
            npc_id = talk.partner_id if talk.with_npc and talk.partner_id in talk.present else None
            for person_id in talk.characters:
                yield self.world.people[person_id], npc_id


class Guess(Causality):
    """Takes it that nobody who is out of sight comes by: what then happens is likely, and not certain."""

    def __init__(self, world: Simulation) -> None:
        super().__init__(world)
        self._near: dict[int, tuple[WalkRow, WalkRow]] = {}

    def near(self, row: WalkRow) -> WalkRow:
        """Only who is there already."""
        if id(row) not in self._near:
            self._near[id(row)] = row, array("i", (minutes and FAR for minutes in row))
        return self._near[id(row)][1]


def _could_be_cut(activity: Activity, t: WorldTime) -> bool:
    """Whether a speaker could interrupt the activity before `t`, so that it shows at `t`."""
    return activity.interruptible and activity.start < t <= activity.end


def _same(mine: Option, theirs: Option) -> bool:
    """Whether only one of two claims may succeed."""
    if mine.action_id == TALK or theirs.action_id == TALK:
        return mine.target_id == theirs.target_id or (mine.talk_id is not None and mine.talk_id == theirs.talk_id)
    return (mine.facility_id, mine.action_id) == (theirs.facility_id, theirs.action_id)
