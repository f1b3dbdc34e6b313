"""Owns what fades: what a person was never reminded of and what matters little is forgotten after some world days.

Nothing is written when it happens. What has faded on a world day follows from what the person lived through, and from
what stood in its prompts before that day began (docs/decisions/0018): the same for every replica, after every stop.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Executable, exists, or_
from sqlmodel import Session, col, select

from service.memory.record import Group, Item, Kind, Memory
from service.store.tables import (
    ConversationRow,
    DecisionRow,
    MemoryAuditRow,
    MemoryRow,
    OverheardRow,
    ParticipantRow,
    PromptRow,
    SummaryRow,
    TurnRow,
)
from world.time import MINUTES_PER_DAY, WorldTime, day_of

MATTERS = 7
"""Importance from which a memory never fades."""

WHOLE = -1
"""The day of a memory from which nothing has faded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Faded:
    """What has faded by `now`, the beginning of a world day, and since when: talks, with what was taken from them, and
    insights. Of memories, `recalled` ones fade later than their talk, `kept` ones never.

    No talk since `since` has faded, and of those before all but `still`.
    """

    talks: Mapping[str, WorldTime] = field(default_factory=dict)
    insights: Mapping[str, WorldTime] = field(default_factory=dict)
    recalled: Mapping[str, WorldTime] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    since: int = 0
    still: frozenset[str] = frozenset()
    now: int = 0

    def forgotten_at(self, item: Item) -> WorldTime | None:
        """Since when the item is forgotten; None: it is not."""
        if isinstance(item, Memory) and item.kind is Kind.INSIGHT:
            return self.insights.get(item.id)
        talk = self.talks.get(item.conversation_id)
        if talk is None or not isinstance(item, Memory):
            return talk
        if item.importance >= MATTERS or item.kind is Kind.SELF or item.id in self.kept:
            return None
        faded = max(talk, self.recalled.get(item.id, talk))
        return faded if faded <= self.now else None


NOTHING = Faded()


@dataclass(frozen=True, kw_only=True, slots=True)
class Fading:
    """When memories fade: after so many whole world days without a reminder (0: never). A day begins `day_starts`
    minutes after midnight.
    """

    after_days: int = 0
    day_starts: int = 0

    def day(self, at: WorldTime) -> int:
        """The day whose memory is asked at that time."""
        return day_of(at, day_starts=self.day_starts) if self.after_days else WHOLE

    def faded(self, session: Session, group: Group, day: int, *, ever: bool = False) -> Faded:
        """What of the person's memory has faded by that day. With `ever` the times are exact: all that the person was
        ever reminded of is read for them.
        """
        if day == WHOLE:
            return NOTHING
        now, since = self._begins(day), self._begins(day - self.after_days)
        if not _has_old(session, group, since):
            return Faded(since=since, now=now)
        lived, last = _talks(session, group, since, now)
        thought = _insights(session, group, since)
        reminded = _Reminded(_refs(session, group, 0 if ever else since, now))
        changed = _changed(session, group)
        talks = self._faded(lived, reminded.talks, changed["talk"] | last, since)
        return Faded(
            talks=talks,
            insights=self._faded(thought, reminded.memories, changed["memory"], since),
            recalled={one: self._forgotten_at(last) for one, last in reminded.memories.items()},
            kept=frozenset(changed["memory"]),
            since=since,
            still=frozenset(lived.keys() - talks.keys()),
            now=now,
        )

    def _faded(
        self, known: Mapping[str, int], reminded: Mapping[str, int], stay: Set[str], since: int
    ) -> dict[str, WorldTime]:
        last = {one: max(at, reminded.get(one, at)) for one, at in known.items()}
        return {one: self._forgotten_at(at) for one, at in last.items() if at < since and one not in stay}

    def _forgotten_at(self, last: int) -> WorldTime:
        return self._begins(self.day(WorldTime(last)) + self.after_days + 1)

    def _begins(self, day: int) -> WorldTime:
        return WorldTime(day * MINUTES_PER_DAY + self.day_starts)


NEVER = Fading()


class _Reminded:
    """When the person was last reminded of a talk or a memory, by id; a turn reminds of its talk."""

    def __init__(self, refs: Iterable[tuple[str, int]]) -> None:
        self.talks: dict[str, int] = {}
        self.memories: dict[str, int] = {}
        places = {"talk": self.talks, "turn": self.talks, "memory": self.memories}
        for ref, at in refs:
            kind, _, key = ref.partition(":")
            if kind in places:
                key = key.partition("/")[0]
                places[kind][key] = max(at, places[kind].get(key, at))


def _refs(session: Session, group: Group, since: int, until: int) -> Iterator[tuple[str, int]]:
    """What stood in the person's prompts from `since` to before `until`, and when (memory/telling.py)."""
    for query in _prompts(group, since, until):
        for refs, at in session.execute(query):
            yield from ((ref, at) for ref in refs or ())


def _prompts(group: Group, since: int, until: int) -> Iterable[Executable]:
    """Of talks: what was known when they met, and what came to mind; of decisions."""
    talk, own, decided = ConversationRow, ParticipantRow, DecisionRow
    mine = (
        own.world_id == group.world_id,
        own.person_id == group.person_id,
        col(talk.world_id) == own.world_id,
        col(talk.id) == own.conversation_id,
        col(talk.started_at) < until,
    )
    lately = (col(talk.started_at) >= since, *mine)
    yield select(col(PromptRow.knew)["memories"], col(talk.started_at)).where(
        *lately,
        col(PromptRow.world_id) == talk.world_id,
        col(PromptRow.conversation_id) == talk.id,
        col(PromptRow.person_id) == group.person_id,
    )
    yield select(col(TurnRow.reminded), col(TurnRow.at)).where(
        *mine,
        col(talk.ended_at).is_(None) | (col(talk.ended_at) >= since),
        col(TurnRow.world_id) == talk.world_id,
        col(TurnRow.conversation_id) == talk.id,
        col(TurnRow.speaker_id) == group.person_id,
        col(TurnRow.at) >= since,
        col(TurnRow.at) < until,
    )
    yield select(col(decided.basis)["memories"], col(decided.at)).where(
        col(decided.world_id) == group.world_id,
        col(decided.person_id) == group.person_id,
        col(decided.at) >= since,
        col(decided.at) < until,
    )


def _changed(session: Session, group: Group) -> Mapping[str, set[str]]:
    """Ids of the talks and memories that an author has changed: they never fade."""
    row = MemoryAuditRow
    mine = group.owns(row)
    found: defaultdict[str, set[str]] = defaultdict(set)
    changed = select(row.kind, row.memory_id).where(*mine, col(row.action).in_(("edited", "closed")))
    for kind, key in session.exec(changed):
        found["talk" if kind in ("turn", "summary") else "memory"].add((key or "").partition("/")[0])
    return found


def _has_old(session: Session, group: Group, since: int) -> bool:
    """Whether anything is as old as that."""
    talks = exists().where(*group.owns(SummaryRow), col(SummaryRow.at) < since)
    overheard = exists().where(*group.owns(OverheardRow), col(OverheardRow.known_at) < since)
    thought = exists().where(*_thought(group), col(MemoryRow.known_from) < since)
    return session.exec(select(or_(talks, overheard, thought))).one()


def _talks(session: Session, group: Group, since: int, until: int) -> tuple[dict[str, int], set[str]]:
    """Those before `since`, overheard ones too, and when they were; and those of them that are the last before `until`
    with somebody: they are told when the two meet again.
    """
    row, heard = SummaryRow, OverheardRow
    mine = select(row.conversation_id, row.at, row.partner_id, row.others).where(*group.owns(row), row.at < until)
    found = session.exec(mine.order_by(col(row.at), col(row.conversation_id))).all()
    last = {other_id: one for one, _, partner_id, others in found for other_id in (partner_id, *others)}
    overheard = select(heard.conversation_id, heard.known_at).where(*group.owns(heard), heard.known_at < since)
    talks = dict(session.exec(overheard).all()) | {one: at for one, at, *_ in found if at < since}
    return talks, set(last.values()) & talks.keys()


def _insights(session: Session, group: Group, since: int) -> dict[str, int]:
    row = MemoryRow
    query = select(row.id, row.known_from).where(*_thought(group), row.known_from < since, row.importance < MATTERS)
    return dict(session.exec(query).all())


def _thought(group: Group) -> tuple[ColumnElement[bool], ...]:
    """Insights of the person itself, not those that were given."""
    row = MemoryRow
    return (*group.owns(row), col(row.kind) == Kind.INSIGHT, col(row.given_id) == "", col(row.deleted).is_(False))
