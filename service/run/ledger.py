"""Owns what everybody did in a run, by world day: hours by action, talks, and what was taken away from them."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from service.people.worlds import WorldView
from service.run.story_events import StoryEvent
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
from world.time import MINUTES_PER_DAY, WorldTime, day_of


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
