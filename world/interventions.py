"""Owns what reaches into a life from outside: an author's hand, a client's, a clock that does not wait."""

from collections.abc import Mapping
from dataclasses import replace

from world.actions import WAIT
from world.agent_index import AgentIndex
from world.errors import OutOfTurn
from world.events import Effect, Event, EventKind
from world.life import Activity, Because, LifeState, Person, Segment
from world.time import WorldTime, iso


class Interventions(AgentIndex):
    """Everybody's lives, which somebody may interrupt."""

    def interrupt(self, person_id: str, t: WorldTime) -> Effect:
        """What the character does ends at `t`, and it decides. For a moment when nobody lags behind `t`.

        Raises:
            OutOfTurn: it does nothing that can be interrupted at `t`.
        """
        person = self._expect(person_id, LifeState.DECIDES, "be roused")
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
        return Effect(touched=(person_id,))

    def stop(self, person_id: str, t: WorldTime) -> Effect:
        """End whatever the character does at `t`, sleep and promises included; it decides. A walker stands on the last
        node it reached, and what would begin at `t` or later does not. For a moment when all before `t` is settled and
        nobody has decided at `t`.

        Raises:
            OutOfTurn: its talk is not over and remembered by `t`, somebody lags behind `t`, or what it did is
            forgotten.
        """
        self._rewrite(self._stopped(self.people[person_id], t))
        return Effect(touched=(person_id,), since=t)

    def amend(
        self,
        person_id: str,
        t: WorldTime,
        *,
        node_id: str | None = None,
        needs: Mapping[str, float] | None = None,
    ) -> Effect:
        """Edit the character as an author: it is stopped at `t` (see `stop`), stands on `node_id`, and its needs are
        set; it decides at `t`. Its past then says that it waited there a minute ago, so that another stop at `t` finds
        it there.

        Raises:
            OutOfTurn: it cannot be stopped.
            UnknownPlace, KeyError: a node or need there is not.
        """
        person = self._stopped(self.people[person_id], t)
        goal = person.node_id if node_id is None else self.setting.world_map.node(node_id).id
        levels = self.setting.catalogue.needs.put(person.last.levels, t, needs or {})
        before = WorldTime(t - 1)
        stood = Activity(
            action_id=WAIT,
            start=before,
            end=t,
            segment=Segment.stay(goal, before),
            levels=self.setting.catalogue.needs.begin(levels, t),
            decided_at=before,
            because=Because.ROUSED,
        )
        self._rewrite(replace(person, past=(*_until(person.past, before), stood)))
        data = {**({"node_id": node_id} if node_id else {}), "needs": ", ".join(sorted(needs or {}))}
        changed = Event(time=t, kind=EventKind.CHANGED, person_id=person_id, data=data)
        return Effect(events=(changed,), touched=(person_id,), since=t)

    def break_off(self, talk_id: str, t: WorldTime) -> Effect:
        """The open talk goes on where the core does not see it: here it ends at `t`, and those in it decide. For a
        moment when all before `t` is settled and nobody has decided at `t`.

        Raises:
            OutOfTurn: the talk is over, or somebody lags behind `t`.
            KeyError: there is no such talk.
        """
        talk = self.talks[talk_id]
        if talk.over or (self.agenda.first or t) < t:
            raise OutOfTurn(talk_id, "is over, or ahead of others", f"be broken off at {iso(t)}")
        until = max(t, *(talk.leaving(turn) for _, turn in talk.left), t)  # who has left is in it until then
        self.put_talk(replace(talk, shortest=until - talk.start, over=True, closed=True))
        for person_id in talk.characters:
            person = self.people[person_id]
            past, version = _until(person.past, t), person.version + 1
            self._rewrite(replace(person, past=past, ready=t, state=LifeState.DECIDES, version=version))
        return Effect(touched=talk.characters, since=t)

    def _stopped(self, person: Person, t: WorldTime) -> Person:
        if (self.agenda.first or t) < t:
            raise OutOfTurn(person.id, "is ahead of others", f"be stopped at {iso(t)}")
        if person.state in (LifeState.TALKS, LifeState.CLOSES) or any(a.talk_id and a.end > t for a in person.past):
            raise OutOfTurn(person.id, "is in a talk", "be stopped")
        past = _until(person.past, t)
        if not past:
            raise OutOfTurn(person.id, "has no past that is remembered", f"be stopped at {iso(t)}")
        version = person.version + 1
        return replace(person, past=past, ready=t, state=LifeState.DECIDES, claim=None, version=version)

    def _rewrite(self, person: Person) -> None:
        """Replace what is remembered of its past, or what it is committed to."""
        self._unlist(person.id, self.people[person.id].past, person.past)
        self.put(person)

    def _expect(self, person_id: str, state: LifeState, wanted: str) -> Person:
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
