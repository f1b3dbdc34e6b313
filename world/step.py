"""Owns the living world: the state of everybody as values, and how a decision, a claim or a turn changes it.

Nothing here waits or asks: somebody outside says who decided what, in an order that `causality` allows. Cost follows
these events, not characters times minutes. Inside minute t activities end, then all who decide read S(t), then effects
apply in the order of ids and are seen from t + 1 on.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from world.actions import GO, TALK, WAIT, WALK
from world.agenda import Agenda
from world.errors import WorldError
from world.events import Event, Kind
from world.life import Activity, Because, Person, State, Talk
from world.people import Position, Segment, node_at
from world.perceive import Seen, SeenNpc, Snapshot
from world.possible import Option, Reason
from world.setting import Setting
from world.time import WorldTime


class OutOfTurn(WorldError):
    """Somebody was made to do what is not its turn: an answer came twice, or to a question nobody asked."""

    def __init__(self, who: str, state: str, wanted: str) -> None:
        super().__init__(f"{who!r} {state}: it cannot {wanted} now")
        self.who = who
        self.state = state
        self.wanted = wanted


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What one change did: events (some of them later than the change itself), whose lives it touched, a talk begun."""

    events: tuple[Event, ...] = ()
    touched: tuple[str, ...] = ()
    talk_id: str | None = None


class World:
    """Everybody's state, held by id and replaced change by change.

    `remember` minutes of everybody's past are kept, counted back from the most lagging character (None: all of it);
    positions and snapshots of remembered times can be asked for. `changed_people` and `changed_talks` collect the ids
    of what changed, for whoever stores the world: take them out when they are written.
    """

    def __init__(
        self, setting: Setting, people: Iterable[Person], talks: Iterable[Talk] = (), *, remember: int | None = 0
    ) -> None:
        self.setting = setting
        self.people: dict[str, Person] = {}
        self.talks: dict[str, Talk] = {}
        self.agenda = Agenda()
        self.spots: dict[str, int] = {}
        """Where each is at its `ready` time, as `Distances` numbers the nodes."""
        self.changed_people: set[str] = set()
        self.changed_talks: set[str] = set()
        self._remember = remember
        self._visitors: dict[str, set[str]] = {}
        self._npc_talks: dict[str, list[str]] = {}
        self._closed: list[Talk] = []
        for person in people:
            self._enter(person)
        for talk in talks:
            self._keep_talk(talk)

    # Reading

    @property
    def frontier(self) -> WorldTime | None:
        """All that happens before it is settled: no event earlier than this can come any more. None: nobody lives."""
        first = self.agenda.first
        turns = [WorldTime(talk.start + talk.turns) for talk in self.talks.values() if not talk.over]
        return min([first, *turns]) if first is not None else None

    def perceive(self, person_id: str, at: WorldTime | None = None) -> Snapshot:
        """S(t) as the character sees it, at its `ready` time or at a remembered time at which it decided."""
        person = self.people[person_id]
        t = person.ready if at is None else at
        ended = person.before(t)
        node_id = ended.node_id
        needs = self.setting.catalogue.needs
        sight = self.setting.distances.in_sight(node_id) if not person.blind else {}
        return Snapshot(
            person_id=person_id,
            time=t,
            home=person.home,
            node_id=node_id,
            ended=ended.action_id,
            because=ended.because,
            levels=needs.at(ended.levels, t),
            critical=needs.critical(ended.levels, t),
            people=tuple(sorted(self._look(person_id, sight, t), key=lambda seen: seen.id)),
            npcs=tuple(self._look_at_npcs(node_id, t)) if not person.blind else (),
            free_seats=self._free_seats(node_id, t) if not person.blind else {},
        )

    def position(self, person_id: str, t: WorldTime) -> Position:
        """Where the character is at a remembered time, or at one it is committed to. Raises: KeyError."""
        return self.people[person_id].position_at(t)

    def levels(self, person_id: str, t: WorldTime) -> dict[str, float]:
        """The character's needs at a remembered time. Raises: KeyError."""
        return self.setting.catalogue.needs.at(self.people[person_id].during(t).levels, t)

    def near(self, nodes: Collection[str], t: WorldTime) -> Iterator[tuple[Person, Activity, str]]:
        """Everybody whom the snapshot of `t` has on one of the nodes, with what began last and where; in no order."""
        for person in self.visitors(nodes):
            activity = person.before(t)
            node_id = node_at(activity.segment, t)
            if node_id in nodes:
                yield person, activity, node_id

    def visitors(self, nodes: Iterable[str]) -> Collection[Person]:
        """Everybody who is, was or will be on one of the nodes, in remembered and committed times; in no order."""
        found: dict[str, Person] = {}
        for node_id in nodes:
            stale = []
            for person_id in self._visitors.get(node_id, ()):
                person = self.people[person_id]
                if any(node_id in activity.segment.path for activity in person.past):
                    found[person_id] = person
                else:
                    stale.append(person_id)
            if stale:
                self._visitors[node_id].difference_update(stale)
        return found.values()

    def npc_talk(self, npc_id: str, t: WorldTime, *, seen: bool) -> Talk | None:
        """The talk the NPC is in at `t`; `seen`: as the snapshot of `t` shows it, else after what has begun at `t`."""
        for talk_id in reversed(self._npc_talks.get(npc_id, ())):
            talk = self.talks[talk_id]
            if talk.takes(t) and (talk.start < t or not seen):
                return talk
        return None

    def unclosed(self, npc_id: str) -> str | None:
        """The id of the NPC's oldest talk that is not yet remembered, if there is one."""
        return next((i for i in self._npc_talks.get(npc_id, ()) if not self.talks[i].closed), None)

    # Changing

    def decide(self, person_id: str, option: Option, *, wake_at: WorldTime | None = None) -> Step:
        """The character does what it decided at its `ready` time: it walks there and does it, or claims it there.

        `wake_at`: it decides anew then, if what it does can be interrupted.

        Raises:
            OutOfTurn: the character is not deciding.
            Unreachable, UnknownPlace: no way leads there.
        """
        person = self._expect(person_id, State.DECIDES, "decide")
        t, last = person.ready, person.last
        events = [] if last.action_id in (WALK, TALK) else [_ended(person, t)]
        events.append(Event(time=t, kind=Kind.DECIDED, person_id=person_id, data=_what(option, node_id=option.node_id)))
        path = self.setting.routes.path(last.node_id, option.node_id)
        past = person.past
        levels = last.levels
        arrival = t
        if path.minutes:
            walk = Segment.walk(path, t)
            arrival = walk.arrival
            levels = self.setting.catalogue.needs.begin(levels, t)
            past = (
                *past,
                Activity(action_id=WALK, start=t, end=arrival, segment=walk, levels=levels, decided_at=t),
            )
            events.append(Event(time=t, kind=Kind.DEPARTED, person_id=person_id, data={"node_id": last.node_id}))
            events.append(Event(time=arrival, kind=Kind.ARRIVED, person_id=person_id, data={"node_id": option.node_id}))
        person = replace(person, past=past, ready=arrival, alarm=wake_at, decided_at=t, version=person.version + 1)
        if option.action_id == GO and path.minutes:
            self._put(person)
        elif self._needs_claim(option):
            self._put(replace(person, state=State.CLAIMS, claim=option))
        else:
            activity = self._begin(person, option, arrival)
            events.append(_started(person_id, activity))
            self._put(replace(person, past=(*past, activity), ready=activity.end))
        return Step(events=tuple(events), touched=(person_id,))

    def claim(self, person_id: str) -> Step:
        """The character takes what it chose; if that is not to be had, it waits a while.

        Raises:
            OutOfTurn: the character claims nothing.
        """
        person = self._expect(person_id, State.CLAIMS, "claim")
        option = person.claim
        assert option is not None  # noqa: S101  CLAIMS always has one
        if option.action_id == TALK:
            assert option.target_id is not None  # noqa: S101  a talk always has one
            return self._claim_talk(person, option, option.target_id)
        assert option.facility_id is not None  # noqa: S101  seats are in facilities
        action = self.setting.catalogue.action(option.action_id)
        if self.seats_taken(option.facility_id, option.action_id, person.ready) >= (action.seats or 0):
            return self._fail(person, option, Reason.NO_SEAT)
        activity = self._begin(person, option, person.ready)
        self._put(
            replace(
                person,
                past=(*person.past, activity),
                ready=activity.end,
                state=State.DECIDES,
                claim=None,
                version=person.version + 1,
            )
        )
        return Step(events=(_started(person_id, activity),), touched=(person_id,))

    def turn(self, talk_id: str, *, last: bool) -> Step:
        """The next turn of an open talk has been spoken; `last`: nothing more will be said.

        Raises:
            OutOfTurn: the talk is over.
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
            "speaker_id": talk.speaker_id,
        }
        events = [Event(time=t, kind=Kind.TURN, person_id=talk.person_id, data=data)]
        talk = replace(talk, turns=talk.turns + 1, over=last)
        if last:
            data = {"talk_id": talk_id, "partner_id": talk.partner_id, "turns": talk.turns}
            events.append(Event(time=talk.end, kind=Kind.TALK_ENDED, person_id=talk.person_id, data=data))
        self._keep_talk(talk)
        touched = _characters(talk)
        for person_id in touched:
            person = self.people[person_id]
            self._put(
                replace(
                    person,
                    past=(*person.past[:-1], replace(person.last, end=talk.end)),
                    ready=talk.end,
                    state=State.CLOSES if last else State.TALKS,
                    version=person.version + 1,
                )
            )
        return Step(events=tuple(events), touched=touched)

    def close(self, talk_id: str) -> Step:
        """What is remembered of the talk has been written: those who talked may go on.

        Raises:
            OutOfTurn: the talk is not over, or closed already.
            KeyError: there is no such talk.
        """
        talk = self.talks[talk_id]
        if not talk.over or talk.closed:
            raise OutOfTurn(talk_id, "is closed" if talk.closed else "is not over", "be closed")
        talk = replace(talk, closed=True)
        self._keep_talk(talk)
        self._closed.append(talk)
        touched = _characters(talk)
        for person_id in touched:
            person = self.people[person_id]
            self._put(replace(person, state=State.DECIDES, version=person.version + 1))
        self._forget_talks()
        return Step(touched=touched)

    def rouse(self, person_id: str, t: WorldTime) -> Step:
        """What the character does ends at `t`, and it decides. For a moment when nobody lags behind `t`.

        Raises:
            OutOfTurn: it does nothing that can be interrupted at `t`.
        """
        person = self._expect(person_id, State.DECIDES, "be roused")
        if not person.last.approachable(t):
            raise OutOfTurn(person_id, f"does {person.last.action_id}", "be roused")
        self._put(
            replace(
                person,
                past=(*person.past[:-1], replace(person.last, end=t, because=Because.ROUSED)),
                ready=t,
                version=person.version + 1,
            )
        )
        return Step(touched=(person_id,))

    def amend(
        self, person_id: str, t: WorldTime, *, node_id: str | None = None, needs: Mapping[str, float] | None = None
    ) -> Step:
        """An author's hand at `t`: the character stands on `node_id`, its needs are set; it decides a minute later.

        For a moment when nobody lags behind `t`.

        Raises:
            OutOfTurn: it is in a talk, or somebody lags behind `t`.
            UnknownPlace, KeyError: a node or need there is not.
        """
        person = self.people[person_id]
        if person.state in (State.TALKS, State.CLOSES) or (self.frontier or t) < t:
            raise OutOfTurn(person_id, person.state, "be amended")
        now = person.during(t)
        stay = Segment.stay(self.setting.world_map.node(node_id or node_at(now.segment, t)).id, t)
        levels = self.setting.catalogue.needs.put(now.levels, t, needs or {})
        past = tuple(activity for activity in person.past if activity.start < t)
        if past and past[-1].end > t:
            past = (*past[:-1], replace(past[-1], end=t, because=Because.ROUSED))
        end = WorldTime(t + 1)
        activity = Activity(
            action_id=WAIT,
            start=t,
            end=end,
            segment=stay,
            levels=self.setting.catalogue.needs.begin(levels, t),
            decided_at=t,
        )
        self._put(
            replace(
                person,
                past=(*past, activity),
                ready=end,
                state=State.DECIDES,
                claim=None,
                version=person.version + 1,
            )
        )
        data = {**({"node_id": node_id} if node_id else {}), "needs": ", ".join(sorted(needs or {}))}
        return Step(events=(Event(time=t, kind=Kind.CHANGED, person_id=person_id, data=data),), touched=(person_id,))

    def seats_taken(self, facility_id: str, action_id: str, t: WorldTime) -> int:
        """How many hold a seat at `t`, those included who took theirs at `t`."""
        seat = (facility_id, action_id)
        held = [person.during(t) for person in self.visitors(self.setting.world_map.facility(facility_id).node_ids)]
        return sum(activity.seat == seat and activity.start <= t < activity.end for activity in held)

    # How it is done

    def _claim_talk(self, person: Person, option: Option, target_id: str) -> Step:
        t = person.ready
        with_npc = target_id in self.setting.world_map.posts
        distances = self.setting.distances
        if with_npc:
            if distances.to_npc(target_id)[distances.spot(person.node_id)]:
                return self._fail(person, option, Reason.GONE)
            if self.npc_talk(target_id, t, seen=False):
                return self._fail(person, option, Reason.BUSY)
        else:
            partner = self.people[target_id]
            now = partner.during(t)
            if node_at(now.segment, t) not in distances.in_talk(person.node_id):
                return self._fail(person, option, Reason.GONE)
            if not now.approachable(t):
                return self._fail(person, option, Reason.BUSY)
        talk = Talk(
            id=f"{t}-{person.id}",
            start=t,
            shortest=self.setting.rules.talk_min,
            person_id=person.id,
            partner_id=target_id,
            with_npc=with_npc,
        )
        self._keep_talk(talk)
        data = {"talk_id": talk.id, "partner_id": target_id}
        events = [Event(time=t, kind=Kind.TALK_STARTED, person_id=person.id, data=data)]
        self._talk_on(person, talk, seat=None)
        if not with_npc:
            partner = self.people[target_id]
            cut = replace(partner.last, end=t, because=Because.CUT)
            partner = replace(partner, past=(*partner.past[:-1], cut))
            events.append(_ended(partner, t))
            self._talk_on(replace(partner, decided_at=person.decided_at), talk, seat=cut.seat)
        return Step(events=tuple(events), touched=_characters(talk), talk_id=talk.id)

    def _talk_on(self, person: Person, talk: Talk, *, seat: tuple[str, str] | None) -> None:
        catalogue = self.setting.catalogue
        activity = Activity(
            action_id=TALK,
            start=talk.start,
            end=talk.end,
            segment=Segment.stay(node_at(person.last.segment, talk.start), talk.start),
            levels=catalogue.needs.begin(person.last.levels, talk.start, per_hour=catalogue.talk_effects),
            decided_at=person.decided_at,
            seat=seat,
            talk_id=talk.id,
        )
        self._put(
            replace(
                person,
                past=(*person.past, activity),
                ready=talk.end,
                state=State.TALKS,
                claim=None,
                version=person.version + 1,
            )
        )

    def _fail(self, person: Person, option: Option, reason: Reason) -> Step:
        t = person.ready
        wait = Option(action_id=WAIT, node_id=person.node_id, minutes=self.setting.rules.retry)
        activity = self._begin(person, wait, t)
        self._put(
            replace(
                person,
                past=(*person.past, activity),
                ready=activity.end,
                state=State.DECIDES,
                claim=None,
                version=person.version + 1,
            )
        )
        failed = Event(time=t, kind=Kind.FAILED, person_id=person.id, data=_what(option, reason=reason))
        return Step(events=(failed, _started(person.id, activity)), touched=(person.id,))

    def _begin(self, person: Person, option: Option, t: WorldTime) -> Activity:
        """The activity from `t` on; what can be interrupted ends early when a need becomes critical or it is time."""
        catalogue = self.setting.catalogue
        action = None if option.action_id in (WAIT, GO) else catalogue.action(option.action_id)
        levels = catalogue.needs.begin(
            person.last.levels,
            t,
            cost=action.cost if action else None,
            per_hour=action.per_hour if action else None,
        )
        end, because = WorldTime(t + max(1, option.minutes)), Because.DONE
        interruptible = action is None or action.interruptible
        if interruptible:
            crossing = catalogue.needs.next_critical(levels, end)
            if crossing is not None:
                end, because = crossing[0], Because.NEED
            if person.alarm is not None and t < person.alarm < end:
                end, because = person.alarm, Because.ALARM
        seated = action is not None and action.seats is not None and option.facility_id is not None
        return Activity(
            action_id=option.action_id if action else WAIT,
            start=t,
            end=end,
            segment=Segment.stay(option.node_id, t),
            levels=levels,
            decided_at=person.decided_at,
            interruptible=interruptible,
            facility_id=option.facility_id,
            seat=(option.facility_id, option.action_id) if seated and option.facility_id else None,
            because=because,
        )

    def _needs_claim(self, option: Option) -> bool:
        if option.action_id == TALK:
            return True
        if option.action_id in (WAIT, GO) or option.facility_id is None:
            return False
        return self.setting.catalogue.action(option.action_id).seats is not None

    def _look(self, person_id: str, sight: Mapping[str, int], t: WorldTime) -> Iterator[Seen]:
        for person, activity, node_id in self.near(sight, t):
            if person.id == person_id:
                continue
            seen = activity.seen_at(t)
            talk = self.talks[activity.talk_id] if seen and activity.talk_id else None
            yield Seen(
                id=person.id,
                node_id=node_id,
                minutes=sight[node_id],
                doing=activity.action_id if seen else None,
                approachable=activity.approachable(t)
                or (seen and activity.because is Because.CUT and activity.end == t),
                talks_with=_other(talk, person.id) if talk else None,
            )

    def _look_at_npcs(self, node_id: str, t: WorldTime) -> Iterator[SeenNpc]:
        for npc_id in self.setting.distances.npcs_in_sight(node_id):
            talk = self.npc_talk(npc_id, t, seen=True)
            yield SeenNpc(id=npc_id, talks_with=talk.person_id if talk else None)

    def _free_seats(self, node_id: str, t: WorldTime) -> dict[tuple[str, str], int]:
        free: dict[tuple[str, str], int] = {}
        for facility in self.setting.world_map.facilities_at(node_id):
            for action in self.setting.seated[facility.id]:
                free[facility.id, action.id] = action.seats or 0
            if not self.setting.seated[facility.id]:
                continue
            for _, activity, _ in self.near(facility.node_ids, t):
                if activity.seat in free and activity.seen_at(t):
                    free[activity.seat] -= 1
        return free

    def _expect(self, person_id: str, state: State, wanted: str) -> Person:
        person = self.people[person_id]
        if person.state is not state:
            raise OutOfTurn(person_id, person.state, wanted)
        return person

    def _enter(self, person: Person) -> None:
        for activity in person.past:
            self._visit(person.id, activity)
        self.people[person.id] = person
        self.spots[person.id] = self.setting.distances.spot(person.node_id)
        self.agenda.put(person.id, person.ready)

    def _put(self, person: Person) -> None:
        for activity in person.past[-2:]:
            self._visit(person.id, activity)
        self.agenda.put(person.id, person.ready)
        self.spots[person.id] = self.setting.distances.spot(person.node_id)
        self.people[person.id] = self._forget(person)
        self.changed_people.add(person.id)

    def _visit(self, person_id: str, activity: Activity) -> None:
        for node_id in activity.segment.path:
            self._visitors.setdefault(node_id, set()).add(person_id)

    def _forget(self, person: Person) -> Person:
        if self._remember is None or len(person.past) < 4:
            return person
        first = self.agenda.first
        assert first is not None  # noqa: S101  the person itself is on the agenda
        past = person.past
        keep = next((i for i, a in enumerate(past[:-1]) if a.end >= first - self._remember), len(past) - 1)
        return replace(person, past=past[keep:]) if keep else person

    def _keep_talk(self, talk: Talk) -> None:
        if talk.with_npc and talk.id not in self.talks:
            self._npc_talks.setdefault(talk.partner_id, []).append(talk.id)
        self.talks[talk.id] = talk
        self.changed_talks.add(talk.id)

    def _forget_talks(self) -> None:
        first = self.agenda.first
        if self._remember is None or first is None:
            return
        while self._closed and self._closed[0].end < first - self._remember:
            talk = self._closed.pop(0)
            del self.talks[talk.id]
            if talk.with_npc:
                self._npc_talks[talk.partner_id].remove(talk.id)


def newcomer(
    setting: Setting,
    person_id: str,
    home: str,
    t: WorldTime,
    *,
    node_id: str | None = None,
    needs: Mapping[str, float] | None = None,
    blind: bool = False,
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
        blind=blind,
    )


def _characters(talk: Talk) -> tuple[str, ...]:
    return (talk.person_id,) if talk.with_npc else (talk.person_id, talk.partner_id)


def _other(talk: Talk, person_id: str) -> str:
    return talk.partner_id if person_id == talk.person_id else talk.person_id


def _what(option: Option, **more: str) -> dict[str, str | int]:
    data: dict[str, str | int] = {"action_id": option.action_id, **more}
    if option.facility_id:
        data["facility_id"] = option.facility_id
    if option.target_id:
        data["target_id"] = option.target_id
    return data


def _ended(person: Person, t: WorldTime) -> Event:
    last = person.last
    data: dict[str, str | int] = {"action_id": last.action_id, "because": last.because}
    if last.facility_id:
        data["facility_id"] = last.facility_id
    return Event(time=t, kind=Kind.ENDED, person_id=person.id, data=data)


def _started(person_id: str, activity: Activity) -> Event:
    data: dict[str, str | int] = {
        "action_id": activity.action_id,
        "node_id": activity.node_id,
        "until": activity.end,
    }
    if activity.facility_id:
        data["facility_id"] = activity.facility_id
    return Event(time=activity.start, kind=Kind.STARTED, person_id=person_id, data=data)
