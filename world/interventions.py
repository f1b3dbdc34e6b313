"""Owns what reaches into a life from outside: an author's hand, a client's, a clock that does not wait."""

from collections.abc import Mapping
from dataclasses import replace

from world.actions import WAIT
from world.agent_index import AgentIndex
from world.errors import OutOfTurn
from world.events import Change, Event, Kind
from world.life import Activity, Because, Person, Segment, State
from world.needs import Levels
from world.time import WorldTime, iso


class Interventions(AgentIndex):
    """Everybody's lives, which somebody may interrupt."""

    def interrupt(self, person_id: str, t: WorldTime) -> Change:
        """What the character does ends at `t`, and it decides. For a moment when nobody lags behind `t`.

        Raises:
            OutOfTurn: it does nothing that can be interrupted at `t`.
        """
        person = self._expect(person_id, State.DECIDES, "be roused")
        if not person.last.approachable(t):
            raise OutOfTurn(person_id, f"does {person.last.action_id}", "be roused")
        self.put(
            replace(
                person,
                past=(*person.past[:-1], replace(person.last, end=t, because=Because.ROUSED)),
                ready=t,
                version=person.version + 1,
            )
        )
        return Change(touched=(person_id,))

    def stop(self, person_id: str, t: WorldTime, *, lagging: bool = False) -> Change:
        """Whatever the character does ends at `t`, sleep and promises included, and it decides: who walks stands on the
        last node it reached, what would begin at `t` or later does not. For a moment when all before `t` is settled and
        nobody has decided at `t`; `lagging`: others may lag behind `t`, for the clock does not wait.

        Raises:
            OutOfTurn: its talk is not over and remembered by `t`, somebody lags behind `t`, or what it did is
            forgotten.
        """
        self._rewrite(self._stopped(self.people[person_id], t, lagging))
        return Change(touched=(person_id,), since=t)

    def amend(
        self,
        person_id: str,
        t: WorldTime,
        *,
        node_id: str | None = None,
        needs: Mapping[str, float] | None = None,
        lagging: bool = False,
    ) -> Change:
        """An author's hand: the character is stopped at `t` (see `stop`), stands on `node_id`, and its needs are set;
        it decides at `t`. What it did a minute ago is taken for waiting there: whoever stops it again at `t` finds it
        so.

        Raises:
            OutOfTurn: it cannot be stopped.
            UnknownPlace, KeyError: a node or need there is not.
        """
        person = self._stopped(self.people[person_id], t, lagging)
        goal = person.node_id if node_id is None else self.setting.world_map.node(node_id).id
        levels = self.setting.catalogue.needs.put(person.last.levels, t, needs or {})
        before = WorldTime(t - 1)
        stood = replace(
            self._waits(before, t, goal, person.last.levels, decided_at=before),
            levels=self.setting.catalogue.needs.begin(levels, t),
            because=Because.ROUSED,
        )
        self._rewrite(replace(person, past=(*_until(person.past, before), stood)))
        data = {**({"node_id": node_id} if node_id else {}), "needs": ", ".join(sorted(needs or {}))}
        changed = Event(time=t, kind=Kind.CHANGED, person_id=person_id, data=data)
        return Change(events=(changed,), touched=(person_id,), since=t)

    def _stopped(self, person: Person, t: WorldTime, lagging: bool) -> Person:
        if not lagging and (self.agenda.first or t) < t:
            raise OutOfTurn(person.id, "is ahead of others", f"be stopped at {iso(t)}")
        if person.state in (State.TALKS, State.CLOSES) or any(a.talk_id and a.end > t for a in person.past):
            raise OutOfTurn(person.id, "is in a talk", "be stopped")
        person = self._idle(person, t)
        past = _until(person.past, t)
        if not past:
            raise OutOfTurn(person.id, "has no past that is remembered", f"be stopped at {iso(t)}")
        version = person.version + 1
        return replace(person, past=past, ready=t, state=State.DECIDES, claim=None, version=version)

    def _rewrite(self, person: Person) -> None:
        """Replace what is remembered of its past, or what it is committed to."""
        self._unlist(person.id, self.people[person.id].past, person.past)
        self.put(person)

    def _idle(self, person: Person, t: WorldTime) -> Person:
        """It stands where it is from its `ready` time until `t`."""
        if t <= person.ready:
            return person
        last = person.last
        idle = self._waits(person.ready, t, last.node_id, last.levels, decided_at=person.decided_at)
        return replace(person, past=(*person.past, idle), ready=t)

    def _waits(
        self, start: WorldTime, end: WorldTime, node_id: str, levels: Levels, *, decided_at: WorldTime
    ) -> Activity:
        return Activity(
            action_id=WAIT,
            start=start,
            end=end,
            segment=Segment.stay(node_id, start),
            levels=self.setting.catalogue.needs.begin(levels, start),
            decided_at=decided_at,
        )

    def _expect(self, person_id: str, state: State, wanted: str) -> Person:
        person = self.people[person_id]
        if person.state is not state:
            raise OutOfTurn(person_id, person.state, wanted)
        return person


def _until(past: tuple[Activity, ...], t: WorldTime) -> tuple[Activity, ...]:
    """What of it began before `t`, the last cut off there."""
    kept = tuple(activity for activity in past if activity.start < t)
    if kept and kept[-1].end > t:
        cut = replace(kept[-1], end=t, segment=kept[-1].segment.until(t), because=Because.ROUSED)
        kept = (*kept[:-1], cut)
    return kept
