"""Owns the stand-in for models in virtual time: made-up decisions and talks, lockstep and out-of-order drivers, oracle.

Everything made up is a function of the seed and of what the one asked perceives, so that two runs that perceive the
same tell the same story, and two that do not are told apart.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from hashlib import blake2b
from heapq import heappop, heappush
from time import process_time
from typing import Any, NamedTuple

from world.actions import TALK, Option
from world.causality import Causality
from world.events import Event, canonical
from world.life import LifeState, Position, TalkState, position_at
from world.perception import Snapshot
from world.possible import possible
from world.scheduler import Ask, Call, Scheduler
from world.setting import Setting
from world.simulation import Simulation
from world.time import WorldTime, minute_of_day

Decider = Callable[[Setting, Snapshot], "Chosen"]
Turns = Callable[[TalkState], "Spoken"]
Latency = Callable[[str], float]


class Chosen(NamedTuple):
    """What somebody decided, as `Simulation.decide` takes it."""

    option: Option
    wake_at: WorldTime | None = None


class Spoken(NamedTuple):
    """What came of a turn, as `Simulation.turn` takes it."""

    last: bool
    left: str | None = None


def draw(*parts: object) -> float:
    """A number in 0..1 that is a function of the parts, on every machine."""
    digest = blake2b("|".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


@dataclass(frozen=True, kw_only=True)
class AgentState:
    """Decides by chance, weighed by what it perceives: `social` is how often it talks when it can."""

    seed: int
    social: float = 0.5

    def __call__(self, setting: Setting, snapshot: Snapshot) -> Chosen:
        found = possible(setting, snapshot)
        key = (self.seed, sight(snapshot))
        talks = [option for option in found.options if option.action_id == TALK]
        others = [option for option in found.options if option.action_id != TALK]
        chosen = talks if talks and draw(*key, "social") < self.social else others
        option = chosen[int(draw(*key, "choice") * len(chosen))]
        alarm = WorldTime(snapshot.time + 40) if draw(*key, "alarm") < 0.1 else None
        if option.minutes:
            option = replace(option, minutes=max(1, int(option.minutes * (0.5 + draw(*key, "minutes")))))
        return Chosen(option, alarm)


@dataclass(frozen=True, kw_only=True)
class Day:
    """Lives a plain day: sleep, meals, work at one place, free hours in between; talks when there is somebody to talk
    to, `social` of the times it decides.
    """

    seed: int
    social: float = 0.25

    def __call__(self, setting: Setting, snapshot: Snapshot) -> Chosen:
        found = possible(setting, snapshot)
        key = (self.seed, sight(snapshot))
        here = [o for o in found.options if o.action_id == TALK and o.walk_minutes <= 3]
        hour = minute_of_day(WorldTime(snapshot.time + int(40 * draw(self.seed, snapshot.person_id, "shift")))) // 60
        if here and 7 <= hour < 22 and draw(*key, "social") < self.social:
            return Chosen(here[int(draw(*key, "whom") * len(here))])
        options = {o.action_id: o for o in reversed(found.options) if o.action_id != TALK}
        for action_id in self._wishes(hour, snapshot.levels, draw(*key, "mood")):
            if action_id in options:
                return Chosen(options[action_id])
        return Chosen(found.options[-1])

    def _wishes(self, hour: int, levels: Mapping[str, float], mood: float) -> tuple[str, ...]:
        if hour >= 22 or hour < 5:
            return ("sleep",)
        if hour in (7, 12, 18, 19) and levels["satiety"] < 60:
            return ("eat_out", "eat_at_home") if mood < 0.6 else ("eat_at_home",)
        if 8 <= hour < 12 or 13 <= hour < 17:
            return ("work", "study") if mood < 0.9 else ("shop", "rest")
        return (("spend_time", "play", "drink", "rest", "shop", "study")[int(mood * 6)], "rest")


class SeenNpc(NamedTuple):
    """What may change of an NPC in sight; where it stands is the map's."""

    id: str
    talks_with: tuple[str, ...]


def sight(snapshot: Snapshot) -> str:
    """All that a snapshot says, as text. The seeds of the tests were chosen by it."""
    npcs: Any = tuple(SeenNpc(npc.id, npc.talks_with) for npc in snapshot.npcs)
    return repr(replace(snapshot, npcs=npcs))


def turns_of(seed: int, longest: int = 10) -> Turns:
    """A talk has 1 to `longest` turns, and one more for each who joined; who is at a table of three or more may leave.
    All depends on who hears the turn.
    """

    def spoken(talk: TalkState) -> Spoken:
        there = talk.hears(talk.turns)
        if talk.turns + 1 >= 1 + int(draw(seed, "turns", talk.id) * longest) + len(talk.joined):
            return Spoken(last=True)
        key = (seed, "leaves", talk.id, talk.turns, there)
        leaves = len(there) > 2 and draw(*key) < 0.3
        return Spoken(last=False, left=there[int(draw(*key, "who") * len(there))] if leaves else None)

    return spoken


def lognormal(seed: int, *, mean: float = 1.0, sigma: float = 0.6) -> Latency:
    """Seconds a call takes: lognormal, and the same for the same question in every run."""
    mu = -sigma * sigma / 2

    def seconds(call_id: str) -> float:
        return mean * random.Random(f"{seed}|{call_id}").lognormvariate(mu, sigma)

    return seconds


@dataclass(kw_only=True)
class Run:
    """What one run did. `seconds` are virtual; `snapshots`: what each decision read, by (person, time)."""

    world: Simulation
    log: tuple[Event, ...] = ()
    seconds: float = 0.0
    work: float = 0.0
    calls: int = 0
    decisions: int = 0
    cpu: float = 0.0
    """Real seconds spent in the core, the made-up minds not counted."""
    snapshots: dict[tuple[str, WorldTime], str] = field(default_factory=dict)
    causes: dict[tuple[str, WorldTime], tuple[tuple[str, WorldTime, str | None], ...]] = field(default_factory=dict)
    """For each decision whom it saw: the id, the decision that put it there, and the talk it was in."""
    talks: dict[str, TalkState] = field(default_factory=dict)


def run_out_of_order(
    world: Simulation,
    *,
    until: WorldTime,
    decide: Decider,
    turns: Turns,
    latency: Latency,
    concurrency: int,
    causality: Causality | None = None,
    keep_snapshots: bool = True,
    batches: Iterable[WorldTime] = (),
) -> Run:
    """Ask what may be asked, at most `concurrency` at once; answers come when their latency is over.

    `batches`: earlier times at which the world stops, as between two ticks, before it goes on.
    """
    run = Run(world=world)
    stops = [*batches, until]
    events: list[Event] = []
    started = process_time()
    thinking = 0.0
    for stop in stops:
        ahead = Scheduler(world, until=stop, causality=causality)
        flying: list[tuple[float, str, Call, Chosen | None]] = []
        while True:
            while len(flying) < concurrency and (call := ahead.take()) is not None:
                chosen: Chosen | None = None
                is_scripted = False
                if call.ask is Ask.DECISION:
                    snapshot = ahead.snapshot(call)
                    before = process_time()
                    _note(run, snapshot, keep_snapshots)
                    chosen = decide(world.setting, snapshot)
                    is_scripted = world.people[call.person_id].is_scripted
                    thinking += process_time() - before
                seconds = 0.0 if is_scripted else latency(call.id)
                run.work += seconds
                run.calls += not is_scripted
                heappush(flying, (run.seconds + seconds, call.id, call, chosen))
            if not flying:
                break
            run.seconds, _, call, chosen = heappop(flying)
            answer(ahead, call, chosen, turns)
            if call.talk_id is not None and call.talk_id in world.talks:
                run.talks[call.talk_id] = world.talks[call.talk_id]
        events.extend(ahead.unsettled())
    run.log = canonical(event for event in events if event.time < until)
    run.cpu = process_time() - started - thinking
    return run


def answer(ahead: Scheduler, call: Call, chosen: Chosen | None, turns: Turns) -> None:
    """Take the answer to the question."""
    if call.ask is Ask.CLOSING:
        ahead.closed(call)
    elif call.talk_id is not None:
        spoken = turns(ahead.world.talks[call.talk_id])
        ahead.turned(call, last=spoken.last, left=spoken.left)
    else:
        assert chosen is not None
        ahead.decided(call, chosen.option, wake_at=chosen.wake_at)


def run_lockstep(
    world: Simulation,
    *,
    until: WorldTime,
    decide: Decider,
    turns: Turns,
    latency: Latency,
    concurrency: int,
    keep_snapshots: bool = True,
) -> Run:
    """Minute by minute, straight from the world's semantics and without the rule: all of a minute is answered before
    the next one begins; each open talk has one turn in each minute.
    """
    run = Run(world=world)
    events: list[Event] = []
    while (t := _next_minute(world)) is not None and t < until:
        due = list(world.agenda.due(t))
        chosen: dict[str, Chosen] = {}
        ids: list[str] = []
        for person_id in due:
            if world.people[person_id].state is LifeState.DECIDES:
                snapshot = world.perceive(person_id)
                _note(run, snapshot, keep_snapshots)
                chosen[person_id] = decide(world.setting, snapshot)
                if not world.people[person_id].is_scripted:
                    ids.append(f"{Ask.DECISION}:{person_id}:{t}")
        speaking = [talk for talk in world.talks.values() if not talk.over and talk.start + talk.turns == t]
        ids += [f"{Ask.TURN}:{talk.id}:{talk.turns}" for talk in speaking]
        _pass(run, ids, latency, concurrency)
        opened: list[str] = []
        for person_id in due:
            if person_id in chosen:
                option, alarm = chosen[person_id]
                events.extend(world.decide(person_id, option, wake_at=alarm).events)
            person = world.people[person_id]
            if person.state is LifeState.CLAIMS and person.ready == t:
                step = world.claim(person_id)
                events.extend(step.events)
                opened += [step.talk_id] if step.talk_id else []
        over = [talk.id for talk in speaking if _speak(world, talk.id, turns, events)]
        _pass(run, [f"{Ask.TURN}:{i}:0" for i in opened] + _closings(world, over), latency, concurrency)
        over_at_once = [i for i in opened if _speak(world, i, turns, events)]
        _pass(run, _closings(world, over_at_once), latency, concurrency)
        for talk_id in (*over, *over_at_once):
            world.close(talk_id)
            run.talks[talk_id] = world.talks[talk_id]
    run.log = canonical(event for event in events if event.time < until)
    return run


def _next_minute(world: Simulation) -> WorldTime | None:
    silent = [person.ready for person in world.people.values() if person.state is not LifeState.TALKS]
    speaking = [WorldTime(talk.start + talk.turns) for talk in world.talks.values() if not talk.over]
    return min([*silent, *speaking], default=None)


def _speak(world: Simulation, talk_id: str, turns: Turns, events: list[Event]) -> bool:
    spoken = turns(world.talks[talk_id])
    events.extend(world.turn(talk_id, last=spoken.last, left=spoken.left).events)
    return spoken.last


def _closings(world: Simulation, talk_ids: Iterable[str]) -> list[str]:
    return [f"{Ask.CLOSING}:{talk_id}:{world.talks[talk_id].turns}" for talk_id in talk_ids]


def _pass(run: Run, ids: list[str], latency: Latency, concurrency: int) -> None:
    """The virtual time it takes to answer all, `concurrency` at once, in the order given."""
    slots: list[float] = []
    for call_id in ids:
        seconds = latency(call_id)
        run.work += seconds
        run.calls += 1
        begins = heappop(slots) if len(slots) >= concurrency else 0.0
        heappush(slots, begins + seconds)
    run.seconds += max(slots, default=0.0)


def _note(run: Run, snapshot: Snapshot, keep: bool) -> None:
    run.decisions += 1
    if keep:
        run.snapshots[snapshot.person_id, snapshot.time] = sight(snapshot)
    seen = [(other.id, run.world.people[other.id].before(snapshot.time)) for other in snapshot.people]
    run.causes[snapshot.person_id, snapshot.time] = tuple((i, doing.decided_at, doing.talk_id) for i, doing in seen)


def oracle(run: Run, latency: Latency, concurrency: int) -> float:
    """The least virtual time in which any schedule could have told the story: the longest chain of questions each of
    which really needed the answers before it, or all the work spread over all slots, whichever is longer.

    A decision needs its character's question before, and those that put each character it saw where it was seen. A turn
    needs the turn before it, and the decisions of those who begin the talk or join it then.
    """
    world = run.world
    done: dict[str, float] = {}
    talk_done: dict[str, list[float]] = {}
    """When each talk began, and when each of its turns was done."""
    for t, moment, key in _chronicle(run):
        if moment is Moment.DECISION:
            needs = [done.get(key, 0.0)]
            for other_id, decided_at, talk_id in run.causes[key, t]:
                if talk_id is not None and talk_id in talk_done:
                    known = t - run.talks[talk_id].start
                    turn_needed = known if known >= run.talks[talk_id].shortest else 0
                    needs.append(talk_done[talk_id][min(len(talk_done[talk_id]) - 1, turn_needed)])
                else:
                    needs.append(done.get(f"{other_id}@{decided_at}", 0.0))
            person = world.people[key]
            finish = max(needs) + (0.0 if person.is_scripted else latency(f"{Ask.DECISION}:{key}:{t}"))
            done[key] = done[f"{key}@{t}"] = finish
        elif moment is Moment.TALK:
            talk = run.talks[key]
            talk_done[key] = [max(done.get(talk.person_id, 0.0), done.get(talk.partner_id, 0.0))]
        else:
            talk = run.talks[key]
            index = t - talk.start
            come = [done.get(i, 0.0) for i, turn in talk.joined if turn == index]
            at = max([talk_done[key][-1], *come]) + latency(f"{Ask.TURN}:{key}:{index}")
            talk_done[key].append(at)
            done |= {i: at for i, turn in talk.left if turn == index + 1}
            if index + 1 == talk.turns:
                at += latency(f"{Ask.CLOSING}:{key}:{talk.turns}") if talk.closed else 0.0
                done |= dict.fromkeys(talk.present, at)
    return max(max(done.values(), default=0.0), run.work / concurrency)


class Moment(IntEnum):
    """What happens within a minute, in order."""

    DECISION = 0
    TALK = 1
    """It begins."""
    TURN = 2


def _chronicle(run: Run) -> list[tuple[WorldTime, Moment, str]]:
    decisions = [(t, Moment.DECISION, person_id) for person_id, t in run.causes]
    talks = [(talk.start, Moment.TALK, talk.id) for talk in run.talks.values()]
    turns = [
        (WorldTime(talk.start + index), Moment.TURN, talk.id)
        for talk in run.talks.values()
        for index in range(talk.turns)
    ]
    return sorted([*decisions, *talks, *turns])


def levels_at(world: Simulation, person_id: str, t: WorldTime) -> dict[str, float]:
    """The character's needs at a remembered time."""
    return world.setting.catalogue.needs.at(world.people[person_id].during(t).levels, t)


def position(world: Simulation, person_id: str, t: WorldTime) -> Position:
    """Where the character is at a remembered time, or at one it is committed to."""
    return position_at(world.people[person_id].during(t).segment, t)


def reread(run: Run) -> list[str]:
    """The decisions that read something which later turned out differently: the gates let them go too early."""
    return [
        f"{person_id} at {t}"
        for (person_id, t), read in run.snapshots.items()
        if sight(run.world.perceive(person_id, t)) != read
    ]
