"""Owns the living world: the state of everybody as values, and how a decision, a claim or a turn changes it.

Nothing here waits or asks: somebody outside says who decided what, in an order that `causality` allows. Cost follows
these events, not characters times minutes. Inside minute t activities end, then all who decide read S(t), then effects
apply in the order of ids and are seen from t + 1 on.
"""

from collections.abc import Mapping
from dataclasses import replace

from world.actions import GO, HOLD, TALK, WAIT, WALK, Option, Reason
from world.errors import OutOfTurn
from world.events import Effect, Event, EventKind
from world.interventions import Interventions
from world.life import Activity, Because, LifeState, Person, Segment, TalkState, node_at
from world.needs import Levels
from world.perception import Snapshot, perceive
from world.setting import Setting
from world.time import WorldTime


class Simulation(Interventions):
    """Everybody's lives, and the changes that may happen to them. Restored from the people and talks it last had."""

    def perceive(self, person_id: str, at: WorldTime | None = None) -> Snapshot:
        """S(t) as the character sees it, at its `ready` time or at a remembered time at which it decided."""
        return perceive(self, person_id, at)

    def decide(
        self,
        person_id: str,
        option: Option,
        *,
        wake_at: WorldTime | None = None,
    ) -> Effect:
        """The character does what it decided at its `ready` time: it walks there and does it, or claims it there.

        `wake_at`: it decides anew then, if what it does can be interrupted.

        Raises:
            OutOfTurn: the character is not deciding, or is scripted and speaks to somebody.
            Unreachable, UnknownPlace: no way leads there.
        """
        person = self._expect(person_id, LifeState.DECIDES, "decide")
        if person.is_scripted and option.target_id in self.people:
            raise OutOfTurn(person_id, "sees nobody", f"speak to {option.target_id!r}")
        events = [] if person.last.action_id in (WALK, TALK) else [_ended(person, person.ready)]
        t, last = person.ready, person.last
        events.append(
            Event(time=t, kind=EventKind.DECIDED, person_id=person_id, data=_what(option, node_id=option.node_id))
        )
        path = self.setting.routes.path(last.node_id, option.node_id)
        past, levels, arrival = person.past, last.levels, t
        if path.minutes:
            walk = Segment.walk(path, t)
            arrival = walk.arrival
            levels = self.setting.catalogue.needs.begin(levels, t)
            past = (*past, Activity(action_id=WALK, start=t, end=arrival, segment=walk, levels=levels, decided_at=t))
            events.append(Event(time=t, kind=EventKind.DEPARTED, person_id=person_id, data={"node_id": last.node_id}))
            events.append(
                Event(time=arrival, kind=EventKind.ARRIVED, person_id=person_id, data={"node_id": option.node_id})
            )
        ready, claims = arrival, self._needs_claim(option)
        if not claims and (option.action_id != GO or not path.minutes):
            activity = self._begin(option, arrival, levels, decided_at=t, alarm=wake_at)
            events.append(_started(person_id, activity))
            past, ready = (*past, activity), activity.end
        self.put(
            replace(
                person,
                past=past,
                ready=ready,
                state=LifeState.CLAIMS if claims else LifeState.DECIDES,
                claim=option if claims else None,
                alarm=wake_at,
                decided_at=t,
                version=person.version + 1,
            )
        )
        return Effect(events=tuple(events), touched=(person_id,))

    def claim(self, person_id: str) -> Effect:
        """The character takes what it chose; if that is not to be had, it waits a while.

        Raises:
            OutOfTurn: the character claims nothing.
        """
        person = self._expect(person_id, LifeState.CLAIMS, "claim")
        option = person.claim
        assert option is not None  # noqa: S101  CLAIMS always has one
        if option.action_id == TALK:
            assert option.target_id is not None  # noqa: S101  a talk always has one
            if option.talk_id is not None:
                return self._claim_seat_at_table(person, option, option.target_id, option.talk_id)
            return self._claim_talk(person, option, option.target_id)
        assert option.facility_id is not None  # noqa: S101  seats are in facilities
        action = self.setting.catalogue.action(option.action_id)
        if self.seats_taken(option.facility_id, option.action_id, person.ready) >= (action.seats or 0):
            return self._fail(person, option, Reason.NO_SEAT)
        return self._take_up(person, option)

    def turn(self, talk_id: str, *, last: bool, left: str | None = None) -> Effect:
        """The next turn of an open talk has been spoken; `last`: nothing more will be said. Else `left` may have taken
        leave with it, and goes, while the others go on.

        Raises:
            OutOfTurn: the talk is over, or who left is not in it.
            KeyError: there is no such talk.
        """
        talk = self.talks[talk_id]
        if talk.over:
            raise OutOfTurn(talk_id, "is over", "have another turn")
        t = WorldTime(talk.start + talk.turns)
        data: dict[str, str | int] = {
            "talk_id": talk_id,
            "partner_id": talk.partner_id,
            "index": talk.turns,
            "there": ",".join(talk.hears(talk.turns)),
        }
        events = [Event(time=t, kind=EventKind.TURN, person_id=talk.person_id, data=data)]
        talk = replace(talk, turns=talk.turns + 1, over=last)
        touched: tuple[str, ...] = ()
        if last:
            data = {"talk_id": talk_id, "partner_id": talk.partner_id, "turns": talk.turns}
            events.append(Event(time=talk.end, kind=EventKind.TALK_ENDED, person_id=talk.person_id, data=data))
        elif left is not None:
            touched = (left,) if left in self.people else ()
            events.append(self._leave(talk, left))
            talk = replace(talk, left=(*talk.left, (left, talk.turns)))
        change = self._go_on(talk)
        return replace(change, events=tuple(events), touched=(*change.touched, *touched))

    def extend_talk(self, talk_id: str, t: WorldTime) -> Effect:
        """A clock that does not wait shows `t`, and the next turn, or what is remembered, is still missing: the talk
        goes on in silence, and ends no earlier than `t`.

        Raises:
            OutOfTurn: the talk is closed.
            KeyError: there is no such talk.
        """
        talk = self.talks[talk_id]
        if talk.closed:
            raise OutOfTurn(talk_id, "is closed", "go on")
        return self._go_on(replace(talk, shortest=max(talk.shortest, t - talk.start)))

    def close(self, talk_id: str) -> Effect:
        """The memories of the talk are written: those who talked may go on.

        Raises:
            OutOfTurn: the talk is not over, or closed already.
            KeyError: there is no such talk.
        """
        talk = self.talks[talk_id]
        if not talk.over or talk.closed:
            raise OutOfTurn(talk_id, "is closed" if talk.closed else "is not over", "be closed")
        talk = replace(talk, closed=True)
        self.put_talk(talk)
        touched = talk.characters
        for person_id in touched:
            person = self.people[person_id]
            self.put(replace(person, state=LifeState.DECIDES, version=person.version + 1))
        return Effect(touched=touched)

    def _leave(self, talk: TalkState, person_id: str) -> Event:
        """The member goes no earlier than any talk may end, as everybody has reckoned with."""
        if person_id not in talk.present:
            raise OutOfTurn(person_id, f"is not in {talk.id!r}", "leave it")
        t = talk.leaving(talk.turns)
        if person_id in self.people:
            person = self.people[person_id]
            past = (*person.past[:-1], replace(person.last, end=t))
            self.put(replace(person, past=past, ready=t, state=LifeState.DECIDES, version=person.version + 1))
        return Event(time=t, kind=EventKind.TALK_LEFT, person_id=person_id, data={"talk_id": talk.id})

    def _go_on(self, talk: TalkState) -> Effect:
        """The talk has changed, and those in it are in it for as long as it lasts now."""
        self.put_talk(talk)
        for person_id in talk.characters:
            person = self.people[person_id]
            self.put(
                replace(
                    person,
                    past=(*person.past[:-1], replace(person.last, end=talk.end)),
                    ready=talk.end,
                    state=LifeState.CLOSES if talk.over else LifeState.TALKS,
                    version=person.version + 1,
                )
            )
        return Effect(touched=talk.characters)

    def _claim_talk(self, person: Person, option: Option, target_id: str) -> Effect:
        t = person.ready
        with_npc = target_id in self.setting.world_map.posts
        distances = self.setting.distances
        if with_npc:
            if distances.to_npc(target_id)[distances.node_index(person.node_id)]:
                return self._fail(person, option, Reason.GONE)
            if target_id in self.engaged or self.npc_talk(target_id, t, seen=False):
                return self._fail(person, option, Reason.BUSY)
        else:
            partner = self.people[target_id]
            now = partner.during(t)
            if node_at(now.segment, t) not in distances.in_talk(person.node_id):
                return self._fail(person, option, Reason.GONE)
            if not now.approachable(t):
                return self._fail(person, option, Reason.BUSY)
        talk = TalkState(
            id=f"{t}-{person.id}",
            start=t,
            shortest=self.setting.rules.talk_min,
            person_id=person.id,
            partner_id=target_id,
            with_npc=with_npc,
        )
        self.put_talk(talk)
        data = {"talk_id": talk.id, "partner_id": target_id}
        events = [Event(time=t, kind=EventKind.TALK_STARTED, person_id=person.id, data=data)]
        self._talk_on(person, talk, t, seat=None)
        if not with_npc:
            partner = self.people[target_id]
            cut = replace(partner.last, end=t, because=Because.CUT)
            partner = replace(partner, past=(*partner.past[:-1], cut))
            events.append(_ended(partner, t))
            self._talk_on(replace(partner, decided_at=person.decided_at), talk, t, seat=cut.seat)
        return Effect(events=tuple(events), touched=talk.characters, talk_id=talk.id)

    def _claim_seat_at_table(self, person: Person, option: Option, target_id: str, talk_id: str) -> Effect:
        """The character joins a talk; it hears from the next turn on."""
        t, talk = person.ready, self.talks.get(talk_id)
        if talk is None or talk.over_before(t) or person.id in talk.members:
            return self._fail(person, option, Reason.GONE)
        there = talk.there_before(t)
        if target_id not in there:
            return self._fail(person, option, Reason.GONE)
        node_id = node_at(self.people[target_id].during(t).segment, t)
        if node_id not in self.setting.distances.in_talk(person.node_id):
            return self._fail(person, option, Reason.GONE)
        if len(there) >= self.setting.rules.table:
            return self._fail(person, option, Reason.BUSY)
        if talk.over:  # a clock that does not wait has overtaken the claim
            return self._fail(person, option, Reason.GONE)
        talk = replace(talk, joined=(*talk.joined, (person.id, talk.turns)))
        self.put_talk(talk)
        self._talk_on(person, talk, t, seat=None)
        joined = Event(time=t, kind=EventKind.TALK_JOINED, person_id=person.id, data={"talk_id": talk.id})
        return Effect(events=(joined,), touched=talk.characters)

    def _talk_on(self, person: Person, talk: TalkState, t: WorldTime, *, seat: tuple[str, str] | None) -> None:
        """The person talks from `t` on."""
        catalogue = self.setting.catalogue
        activity = Activity(
            action_id=TALK,
            start=t,
            end=talk.end,
            segment=Segment.stay(node_at(person.last.segment, t), t),
            levels=catalogue.needs.begin(person.last.levels, t, per_hour=catalogue.talk_effects),
            decided_at=person.decided_at,
            seat=seat,
            talk_id=talk.id,
        )
        self.put(
            replace(
                person,
                past=(*person.past, activity),
                ready=talk.end,
                state=LifeState.TALKS,
                claim=None,
                version=person.version + 1,
            )
        )

    def _fail(self, person: Person, option: Option, reason: Reason) -> Effect:
        failed = Event(time=person.ready, kind=EventKind.FAILED, person_id=person.id, data=_what(option, reason=reason))
        wait = Option(action_id=WAIT, node_id=person.node_id, minutes=self.setting.rules.retry)
        step = self._take_up(person, wait)
        return replace(step, events=(failed, *step.events))

    def _take_up(self, person: Person, option: Option) -> Effect:
        """Whoever claimed begins something, where it is and now."""
        activity = self._begin(
            option, person.ready, person.last.levels, decided_at=person.decided_at, alarm=person.alarm
        )
        self.put(
            replace(
                person,
                past=(*person.past, activity),
                ready=activity.end,
                state=LifeState.DECIDES,
                claim=None,
                version=person.version + 1,
            )
        )
        return Effect(events=(_started(person.id, activity),), touched=(person.id,))

    def _begin(
        self, option: Option, t: WorldTime, levels: Levels, *, decided_at: WorldTime, alarm: WorldTime | None
    ) -> Activity:
        """The activity from `t` on; what can be interrupted ends early when a need becomes critical or it is time."""
        catalogue = self.setting.catalogue
        action = None if option.action_id in (WAIT, GO, HOLD) else catalogue.action(option.action_id)
        levels = catalogue.needs.begin(
            levels,
            t,
            cost=action.cost if action else None,
            per_hour=action.per_hour if action else None,
        )
        end, because = WorldTime(t + max(1, option.minutes)), Because.DONE
        interruptible = action.interruptible if action else option.action_id != HOLD
        if interruptible:
            crossing = catalogue.needs.next_critical(levels, end)
            if crossing is not None:
                end, because = crossing[0], Because.NEED
            if alarm is not None and t < alarm < end:
                end, because = alarm, Because.ALARM
        seated = action is not None and action.seats is not None and option.facility_id is not None
        return Activity(
            action_id=WAIT if option.action_id == GO else option.action_id,
            start=t,
            end=end,
            segment=Segment.stay(option.node_id, t),
            levels=levels,
            decided_at=decided_at,
            interruptible=interruptible,
            facility_id=option.facility_id,
            seat=(option.facility_id, option.action_id) if seated and option.facility_id else None,
            because=because,
        )

    def _needs_claim(self, option: Option) -> bool:
        if option.action_id == TALK:
            return True
        if option.action_id in (WAIT, GO, HOLD) or option.facility_id is None:
            return False
        return self.setting.catalogue.action(option.action_id).seats is not None


def newcomer(
    setting: Setting,
    person_id: str,
    home: str,
    t: WorldTime,
    *,
    node_id: str | None = None,
    needs: Mapping[str, float] | None = None,
    is_scripted: bool = False,
) -> Person:
    """Somebody whose life begins at `t`, at home or on `node_id`: it decides at once.

    Raises:
        UnknownPlace, KeyError: a node or need there is not.
    """
    before = WorldTime(t - 1)
    node = setting.world_map.node(node_id or home).id
    beginning = Activity(
        action_id=WAIT,
        start=before,
        end=t,
        segment=Segment.stay(node, before),
        levels=setting.catalogue.needs.first(before, needs),
        decided_at=before,
    )
    return Person(
        id=person_id,
        home=setting.world_map.node(home).id,
        ready=t,
        past=(beginning,),
        decided_at=before,
        is_scripted=is_scripted,
    )


def _named(**ids: str | int | None) -> dict[str, str | int]:
    """What an event names; what there is not is left out."""
    return {name: value for name, value in ids.items() if value is not None}


def _what(option: Option, **more: str) -> dict[str, str | int]:
    return _named(action_id=option.action_id, **more, facility_id=option.facility_id, target_id=option.target_id)


def _ended(person: Person, t: WorldTime) -> Event:
    last = person.last
    data = _named(action_id=last.action_id, because=last.because, facility_id=last.facility_id)
    return Event(time=t, kind=EventKind.ENDED, person_id=person.id, data=data)


def _started(person_id: str, activity: Activity) -> Event:
    data = _named(
        action_id=activity.action_id,
        node_id=activity.node_id,
        until=activity.end,
        facility_id=activity.facility_id,
    )
    return Event(time=activity.start, kind=EventKind.STARTED, person_id=person_id, data=data)
