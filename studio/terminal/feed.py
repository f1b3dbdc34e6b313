"""Owns what a run tells: the events since the last look, and how each reads, one line with its time, a conversation
as a block when it is over; at the end what everybody did by world day, how they are, and what it cost.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlmodel import Session, select

from service.conversation.transcript import turns_of
from service.decision.options import action_name, clock_of, failed_line, need_name
from service.locales import Listed, Phrase, clock_label, date_label, room
from service.people.worlds import WorldView
from service.store.event_kinds import (
    ActionFailed,
    ActivityEnded,
    ActivityStarted,
    Arrived,
    ClosingFailed,
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
)
from service.store.events import events_after, payload_in
from service.store.tables import ConversationKey, ConversationRow, EventRow, SummaryRow, TurnRow
from studio.terminal.cost import Prices, Spent, total
from studio.terminal.show import one_line
from world.actions import TALK, WALK, Refusal
from world.life import Because
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR, WorldTime, day_of, parse_time

PAGE = 300
_Talk = ConversationStarted | ConversationJoined | ConversationEnded | ConversationClosed | ClosingFailed


@dataclass(frozen=True, kw_only=True)
class StoryEvent:
    """An event. Of a conversation that ended: its turns; of one that is closed: what each character remembers of it."""

    event: EventRow
    conversation: ConversationRow | None = None
    turns: tuple[TurnRow, ...] = ()
    summaries: tuple[SummaryRow, ...] = ()

    @property
    def payload(self) -> Payload:
        """What the event tells."""
        return payload_in(self.event)

    @property
    def partner_id(self) -> str | None:
        """Whom the person talks to."""
        return self.conversation.partner_id if self.conversation else None


def story_events_after(session: Session, world_id: str, after: int) -> list[StoryEvent]:
    """A page of what happened, oldest first."""
    return [_with_conversation(session, event) for event in events_after(session, world_id, after, PAGE)]


def _with_conversation(session: Session, event: EventRow) -> StoryEvent:
    payload = payload_in(event)
    key = ConversationKey(event.world_id, payload.conversation_id) if isinstance(payload, _Talk) else None
    talk = session.get(ConversationRow, key) if key else None
    if key is None or talk is None:  # the author has made its character forget
        return StoryEvent(event=event)
    of_it = select(SummaryRow).where(SummaryRow.world_id == talk.world_id, SummaryRow.conversation_id == talk.id)
    return StoryEvent(
        event=event,
        conversation=talk,
        turns=tuple(turns_of(session, key)) if isinstance(payload, ConversationEnded) else (),
        summaries=tuple(session.exec(of_it)) if isinstance(payload, ConversationClosed) else (),
    )


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
        if event.person_id is not None and not self._followed.intersection((event.person_id, happened.partner_id)):
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
            case ConversationJoined() if happened.conversation:  # those who began the talk
                told["people"] = Listed(map(self._name, happened.conversation.person_ids[:2]))
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
        say, talk = self._world.say, happened.conversation
        goal = say("run.goal", goal=one_line(talk.goal)) if talk is not None and talk.goal else ""
        others = talk.person_ids[1:] if talk is not None else (ended.partner_id,)
        partner = Listed(map(self._name, others)).of(self._world.language)
        head = say("run.conversation_ended", name=self._name(happened.event.person_id), partner=partner, goal=goal)
        turns = [say("run.turn", name=turn.speaker_name, text=one_line(turn.text)) for turn in happened.turns]
        reason = say(f"ends.{ended.reason}")
        if talk is not None and talk.failure is not None:
            reason = f"{reason}: {one_line(str(talk.failure.get(self._world.language, talk.failure['en'])))}"
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
    talks: list[tuple[WorldTime, SummaryRow]] = field(default_factory=list)
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
        talk = happened.conversation
        if talk is None:
            return
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
class Outcome:
    """What a run came to. `deciding` decided by model; `needs` are levels at the end by person and need id."""

    world: WorldView
    since: WorldTime
    ledger: Ledger
    deciding: Collection[str]
    needs: Mapping[str, Mapping[str, float]]
    spent: Mapping[str, Spent]
    prices: Prices | None
    seconds: float

    @property
    def days(self) -> float:
        """World days that were lived."""
        return (self.world.now - self.since) / MINUTES_PER_DAY


def summary(outcome: Outcome) -> Iterator[str]:
    """The summary's lines: everybody's days, then the cost."""
    world, language = outcome.world, outcome.world.language
    yield ""
    yield world.say("run.summary", since=clock_label(outcome.since, language), until=world.label)
    for person_id in world.cast.characters:
        how = world.say("run.by_model" if person_id in outcome.deciding else "run.by_routine")
        yield world.say("run.person", name=world.name_of(person_id), how=how)
        for number, day in sorted(outcome.ledger.days.get(person_id, {}).items()):
            yield from _day(world, number, day)
        levels = outcome.needs.get(person_id, {})
        told = (f"{need_name(world, need_id)} {round(level)}" for need_id, level in levels.items())
        yield world.say("run.needs", value=Listed(told))
    yield ""
    yield from cost(outcome)


def cost(outcome: Outcome) -> Iterator[str]:
    """Calls, tokens, money, machine time."""
    world, shares = outcome.world, len(outcome.deciding) * outcome.days
    yield world.say("run.cost")
    all_of_it = total(outcome.spent)
    for role, spent in (*sorted(outcome.spent.items()), ("total", all_of_it)):
        if spent["calls"] or role == "total":
            yield _role(world, Phrase(f"run.roles.{role}"), spent, shares)
    if all_of_it["estimated"]:
        yield world.say("run.estimated")
    if outcome.prices is not None:
        yield world.say("run.paid", money=outcome.prices.of(all_of_it))
    yield world.say(
        "run.seconds", seconds=f"{outcome.seconds:.1f}", days=Phrase("counts.days", count=f"{outcome.days:g}")
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
        for statement in dict.fromkeys(found):
            yield world.say(key, value=one_line(statement))
