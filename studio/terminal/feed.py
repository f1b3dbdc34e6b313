"""Owns what a run tells: the events since the last look, and how each reads, one line with its time, a conversation
as a block when it is over; at the end what everybody did by world day, how they are, and what it cost.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kataribe import ConversationSummary, WorldView
from service.public.events import (
    ActionFailed,
    ActivityEnded,
    ActivityStarted,
    Arrived,
    ConversationClosed,
    ConversationEnded,
    ConversationJoined,
    ConversationStarted,
    DayBegan,
    Decided,
    Departed,
    FactRejected,
    Payload,
    Planned,
    Reflected,
    StoryEvent,
)
from service.public.files import TALK, WALK, Refusal
from service.public.words import (
    MINUTES_PER_DAY,
    MINUTES_PER_HOUR,
    Because,
    Listed,
    Phrase,
    WorldTime,
    action_name,
    clock_label,
    clock_of,
    date_label,
    day_of,
    failed_line,
    need_name,
    parse_time,
    room,
)
from studio.terminal.cost import Spent, money_of, total
from studio.terminal.show import one_line


class Feed:
    """The feed of a world. `followed`: the persons it tells of; events that are nobody's are always told."""

    def __init__(self, world: WorldView, followed: Collection[str]) -> None:
        self._world = world
        self._followed = frozenset(followed)

    def lines(self, happened: StoryEvent) -> list[str]:
        """The lines that show an event; none where the event before or after it says as much."""
        event, payload = happened.event, happened.payload
        at = WorldTime(event.at)
        if isinstance(payload, DayBegan):
            return ["", self._world.say("run.day_began", label=clock_label(at, self._world.language))]
        partner_id = happened.talk.row.partner_id if happened.talk else None
        if event.person_id is not None and not self._followed.intersection((event.person_id, partner_id)):
            return []
        if isinstance(payload, ConversationEnded):
            lines = self._dialogue(happened, payload)
            return [f"{clock_of(at)}  {line}" if i == 0 else line for i, line in enumerate(lines)]
        text = self._line(happened, payload)
        return [f"{clock_of(at)}  {text}"] if text else []

    def _line(self, happened: StoryEvent, payload: Payload) -> str | None:
        match payload:
            case Decided(by="routine" | "plan" | "client"):
                return None  # what it does then is told
            case ActivityEnded() if payload.because == Because.DONE or payload.action_id == WALK:
                return None
            case Reflected(insights=()):
                return None
            case ConversationClosed() if not self._remembered(happened):
                return None
        kind = payload.kind if payload.kind in room(self._world.language, "run") else "other"
        told: dict[str, object] = {name: one_line(str(value)) for name, value in payload}
        told |= {"kind": payload.kind, "name": self._name(happened.event.person_id), **self._facts(happened, payload)}
        line = self._world.say(f"run.{kind}", **told)
        return line + self._why(payload) if isinstance(payload, Decided) else line

    def _facts(self, happened: StoryEvent, payload: Payload) -> dict[str, object]:
        """What the sentence of an event says otherwise than its payload: who and where somebody is by name."""
        ids = {name.removesuffix("_id"): value for name, value in payload if name.endswith("_id") and value}
        told: dict[str, object] = {name: self._name(ids[name]) for name in ("partner", "to") if name in ids}
        if node_id := ids.get("to_node", ids.get("node")):
            told["place"] = self._place(node_id)
        match payload:
            case Decided() | ActivityStarted() | ActivityEnded():
                told["what"] = self._what(payload)
                told["until"] = getattr(payload, "until", "")[-5:]
                told["because"] = Phrase(f"run.because.{payload.because}") if isinstance(payload, ActivityEnded) else ""
            case Departed():
                told["minutes"] = parse_time(payload.arrives_at) - happened.event.at
            case ActionFailed():
                told["failed"] = failed_line(self._world, Refusal(**payload.model_dump(exclude_none=True)))
            case Planned():
                told["blocks"] = self._row(f"{block.starts} {one_line(block.activity)}" for block in payload.blocks)
            case ConversationJoined() if happened.talk:  # those who began the talk
                told["people"] = Listed(map(self._name, happened.talk.people[:2]))
            case ConversationClosed():
                told["summary"] = self._remembered(happened)
            case FactRejected():
                told["reason"] = Phrase(f"web.reason_{payload.reason}")
            case Reflected():
                told["insights"] = self._row(map(one_line, payload.insights))
        return told

    def _name(self, person_id: str | None) -> str:
        return self._world.say("run.world") if person_id is None else self._world.name_of(person_id)

    def _row(self, told: Iterable[str]) -> str:
        return self._world.say("common.semicolon").join(told)

    def _why(self, decided: Decided) -> str:
        thought = self._world.say("run.thought", thought=one_line(decided.thought)) if decided.thought else ""
        if decided.by == "fallback":
            return thought + self._world.say("run.fallback", failure=decided.failure or "")
        return thought + (self._world.say("run.no_plan", failure=decided.failure) if decided.failure else "")

    def _dialogue(self, happened: StoryEvent, ended: ConversationEnded) -> list[str]:
        say, talk = self._world.say, happened.talk
        goal = say("run.goal", goal=one_line(talk.row.goal)) if talk and talk.row.goal else ""
        others = talk.people[1:] if talk else (ended.partner_id,)
        partner = Listed(map(self._name, others)).of(self._world.language)
        head = say("run.conversation_ended", name=self._name(happened.event.person_id), partner=partner, goal=goal)
        turns = [
            say("run.turn", name=turn.speaker_name, text=one_line(turn.text)) for turn in (talk.turns if talk else ())
        ]
        reason = say(f"ends.{ended.reason}")
        if talk and talk.failure is not None:
            reason = f"{reason}: {one_line(talk.failure)}"
        return [head, *turns, say("run.over", reason=reason)]

    def _remembered(self, happened: StoryEvent) -> str:
        found = {row.person_id: row.summary for row in happened.summaries}
        return one_line(found.get(happened.event.person_id or "", ""))

    def _what(self, done: Decided | ActivityStarted | ActivityEnded) -> str:
        name = action_name(self._world, done.action_id)
        facility = self._world.map.facilities.get(done.facility_id or "")
        target_id = done.target_id if isinstance(done, Decided) else None
        place = self._name(target_id) if target_id else facility.name if facility else ""
        return self._world.say("common.aside", what=name, inside=place) if place else name

    def _place(self, node_id: str) -> str:
        return self._world.map.label(node_id) if node_id in self._world.map.nodes else node_id


@dataclass(kw_only=True, slots=True)
class Day:
    """A person's world day. `minutes` by action id; `talks` as it remembers them, each with when it began."""

    minutes: Counter[str] = field(default_factory=Counter)
    talks: list[tuple[WorldTime, ConversationSummary]] = field(default_factory=list)
    learned: list[str] = field(default_factory=list)
    mid_term: list[str] = field(default_factory=list)


class Ledger:
    """Takes the events of a run in order; `begun` is when it began: what was going on then counts from that minute."""

    def __init__(self, world: WorldView, begun: WorldTime) -> None:
        self._world = world
        self._begun = begun
        self._doing: dict[str, tuple[str, int]] = {}
        self._known: set[str] = set()
        self.days: defaultdict[str, defaultdict[int, Day]] = defaultdict(lambda: defaultdict(Day))

    def take(self, happened: StoryEvent) -> None:
        """Count an event."""
        event, at = happened.event, happened.event.at
        match happened.payload:
            case ActivityStarted() | Departed() as begun:
                self._begin(event.person_id or "", getattr(begun, "action_id", WALK), at)
            case ActivityEnded() | Arrived() as ended:
                self._end(event.person_id or "", getattr(ended, "action_id", WALK), at)
            case ConversationStarted(partner_id=partner_id) | ConversationEnded(partner_id=partner_id) as talk:
                turn = self._begin if isinstance(talk, ConversationStarted) else self._end
                for person_id in self._world.cast.characters.keys() & {event.person_id, partner_id}:
                    turn(person_id, TALK, at)
            case ConversationClosed():
                self._remember(happened)

    def finish(self, now: WorldTime) -> None:
        """Count what is still going on when the run ends, at `now`."""
        for person_id in list(self._doing):
            self._end(person_id, "", now)

    def _begin(self, person_id: str, action_id: str, at: int) -> None:
        if person_id in self._doing:
            self._end(person_id, "", at)
        self._known.add(person_id)
        self._doing[person_id] = (action_id, at)

    def _end(self, person_id: str, action_id: str, at: int) -> None:
        unseen = at if person_id in self._known else self._begun
        action_id, since = self._doing.pop(person_id, (action_id, unseen))
        self._known.add(person_id)
        while since < at:
            day = self._day(since)
            until = min(at, (day + 1) * MINUTES_PER_DAY + self._world.settings.day_starts_minutes)
            self.days[person_id][day].minutes[action_id] += until - since
            since = until

    def _remember(self, happened: StoryEvent) -> None:
        if happened.talk is None:
            return
        talk = happened.talk.row
        changes = talk.changes or {}
        for summary in happened.summaries:
            day = self.days[summary.person_id][self._day(summary.at)]
            day.talks.append((WorldTime(talk.started_at), summary))
            taken = changes if summary.person_id == talk.opener_id else changes.get("partner", {})
            day.learned += [fact["statement"] for fact in taken.get("facts", ())]
            day.mid_term += [memory["content"] for memory in taken.get("mid_term", ())]

    def _day(self, at: int) -> int:
        return day_of(WorldTime(at), day_starts=self._world.settings.day_starts_minutes)


LEAST_IN_HOURS = 6
"""Fewer minutes than that are told as minutes: as hours they would be 0.0 or 0.1."""


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What a run came to. `deciding` decided by model; `needs` are levels at the end by person and need id."""

    world: WorldView
    since: WorldTime
    ledger: Ledger
    deciding: Collection[str]
    needs: Mapping[str, Mapping[str, float]]
    spent: Mapping[str, Spent]
    seconds: float

    @property
    def days(self) -> float:
        """World days that were lived."""
        return (self.world.now - self.since) / MINUTES_PER_DAY


def summary(result: RunResult) -> Iterator[str]:
    """The summary's lines: everybody's days, then the cost."""
    world, language = result.world, result.world.language
    yield ""
    yield world.say("run.summary", since=clock_label(result.since, language), until=world.label)
    for person_id in world.cast.characters:
        how = world.say("run.by_model" if person_id in result.deciding else "run.by_routine")
        yield world.say("run.person", name=world.name_of(person_id), how=how)
        for number, day in sorted(result.ledger.days.get(person_id, {}).items()):
            yield from _day(world, number, day)
        levels = result.needs.get(person_id, {})
        told = (f"{need_name(world, need_id)} {round(level)}" for need_id, level in levels.items())
        yield world.say("run.needs", value=Listed(told))
    yield ""
    yield from cost(result)


def cost(result: RunResult) -> Iterator[str]:
    """Calls, tokens, money, machine time."""
    world, shares = result.world, len(result.deciding) * result.days
    yield world.say("run.cost")
    all_of_it = total(result.spent)
    for role, spent in (*sorted(result.spent.items()), ("total", all_of_it)):
        if spent["calls"] or role == "total":
            yield _role(world, Phrase(f"run.roles.{role}"), spent, shares)
    if all_of_it["estimated"]:
        yield world.say("run.estimated")
    if money := money_of(all_of_it):
        yield world.say("run.paid", money=money)
    yield world.say(
        "run.seconds", seconds=f"{result.seconds:.1f}", days=Phrase("counts.days", count=f"{result.days:g}")
    )


def _role(world: WorldView, name: Phrase, spent: Spent, shares: float) -> str:
    line = world.say(
        "run.role",
        role=name,
        calls=f"{spent['calls']:,}",
        prompt=f"{spent['prompt_tokens']:,}",
        completion=f"{spent['completion_tokens']:,}",
        calls_each=f"{spent['calls'] / shares:.1f}" if shares else "-",
        prompt_each=f"{spent['prompt_tokens'] / shares:,.0f}" if shares else "-",
    )
    return line + (world.say("run.failures", failures=spent["failures"]) if spent["failures"] else "")


def _spent(world: WorldView, action_id: str, minutes: int) -> str:
    key = "run.minutes" if minutes < LEAST_IN_HOURS else "run.hours"
    return world.say(
        key, what=action_name(world, action_id), minutes=minutes, hours=f"{minutes / MINUTES_PER_HOUR:.1f}"
    )


def _day(world: WorldView, number: int, day: Day) -> Iterator[str]:
    began = WorldTime(number * MINUTES_PER_DAY + world.settings.day_starts_minutes)
    yield f"  {date_label(began, world.language)}"
    did = [_spent(world, action_id, minutes) for action_id, minutes in day.minutes.most_common() if minutes]
    if did:
        yield world.say("run.did", value=Listed(did))
    for at, talk in day.talks:
        told = {"at": clock_of(at), "partner": world.name_of(talk.partner_id)}
        yield world.say("run.talked", **told, summary=one_line(talk.summary))
    for key, found in (("run.learned", day.learned), ("run.mid_term", day.mid_term)):
        yield from (world.say(key, value=one_line(statement)) for statement in dict.fromkeys(found))
