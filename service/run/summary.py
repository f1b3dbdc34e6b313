"""Owns what a run came to: what everybody did by world day, how they are at its end, and what it cost."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from service.decision.descriptions import action_name, clock_of, need_name
from service.locales import Listed, Phrase
from service.locales.time import clock_label, date_label
from service.people.worlds import WorldView
from service.run.cost import Prices, Spent, total
from service.run.feed import StoryEvent
from service.run.show import one_line
from service.store.event_kinds import (
    ActivityEnded,
    ActivityStarted,
    Arrived,
    ConversationClosed,
    ConversationEnded,
    ConversationStarted,
    Departed,
)
from world.actions import TALK, WALK
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR, WorldTime, day_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Talked:
    """A talk that was remembered, as one of the two remembers it."""

    at: WorldTime
    partner_id: str
    summary: str


@dataclass(kw_only=True, slots=True)
class Day:
    """A person's world day. `minutes` by action id."""

    minutes: Counter[str] = field(default_factory=Counter)
    talks: list[Talked] = field(default_factory=list)
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
                for person_id in self._characters(event.person_id, partner_id):
                    turn(person_id, TALK, at)
            case ConversationClosed():
                self._remember(happened)

    def finish(self, now: WorldTime) -> None:
        """Count what is still going on when the run ends, at `now`."""
        for person_id, (action_id, _) in list(self._doing.items()):
            self._end(person_id, action_id, now)

    def _characters(self, *people: str | None) -> Iterable[str]:
        return (person_id for person_id in people if person_id is not None and person_id in self._world.cast.characters)

    def _begin(self, person_id: str, action_id: str, at: int) -> None:
        if person_id in self._doing:
            self._end(person_id, self._doing[person_id][0], at)
        self._known.add(person_id)
        self._doing[person_id] = (action_id, at)

    def _end(self, person_id: str, action_id: str, at: int) -> None:
        if person_id in self._doing:
            action_id, since = self._doing.pop(person_id)
        elif person_id not in self._known:
            since = self._begun
        else:
            return
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
            day.talks.append(
                Talked(at=WorldTime(talk.started_at), partner_id=summary.partner_id, summary=summary.summary)
            )
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
    what = action_name(world, action_id)
    if minutes < LEAST_IN_HOURS:
        return world.say("run.minutes", what=what, minutes=minutes)
    return world.say("run.hours", what=what, hours=f"{minutes / MINUTES_PER_HOUR:.1f}")


def _day(world: WorldView, number: int, day: Day) -> Iterator[str]:
    began = WorldTime(number * MINUTES_PER_DAY + world.settings.day_starts_minutes)
    yield f"  {date_label(began, world.language)}"
    did = [_spent(world, action_id, minutes) for action_id, minutes in day.minutes.most_common() if minutes]
    if did:
        yield world.say("run.did", value=Listed(did))
    for talk in day.talks:
        told = {"at": clock_of(talk.at), "partner": world.name_of(talk.partner_id)}
        yield world.say("run.talked", **told, summary=one_line(talk.summary))
    for key, found in (("run.learned", day.learned), ("run.mid_term", day.mid_term)):
        for statement in dict.fromkeys(found):
            yield world.say(key, value=one_line(statement))
