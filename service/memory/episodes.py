"""Owns a person's conversations in SQL, for every store: what each was about, what was said in it, and what fades of
it: what a person was never reminded of and what matters little is forgotten after some world days.

What a person perceived can be found once the conversation is closed for it: then it has a summary, whose revision says
since when. Until then the last lines are told as they were said (recall.py). What it overheard has a row of its own.
Talks of a past that was given to it are rows of its memories (seeding.py), and so is a turn that an author has
corrected (authoring.py).

Nothing is written when something fades. What has faded on a world day follows from what the person lived through, and
from what stood in its prompts before that day began (docs/decisions/0018): the same for every replica.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from sqlalchemy import ColumnElement, Executable, Row, Select, exists, or_
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from service.memory.record import Episode, Group, HeardTurn, Item, Kind, Memory, Source, Support, next_revision
from service.people.worlds import WorldView
from service.store.perception import perceives, told_of_turn
from service.store.tables import (
    ConversationKey,
    ConversationRow,
    DecisionRow,
    MemoryAuditRow,
    MemoryRow,
    OverheardRow,
    ParticipantRow,
    PromptRow,
    SummaryRow,
    TurnRow,
    shared_alias,
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

    Talks since `since` have not faded. Of earlier talks only those in `still` have not.
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
        thought = select(MemoryRow.id, MemoryRow.known_from).where(
            *_thought(group), MemoryRow.known_from < since, MemoryRow.importance < MATTERS
        )
        by_talk, by_memory = _reminded(session, group, 0 if ever else since, now)
        changed = _changed(session, group)
        talks = self._faded(lived, by_talk, changed["talk"] | last, since)
        return Faded(
            talks=talks,
            insights=self._faded(dict(session.exec(thought).all()), by_memory, changed["memory"], since),
            recalled={one: self._forgotten_at(last) for one, last in by_memory.items()},
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


def _reminded(session: Session, group: Group, since: int, until: int) -> tuple[dict[str, int], dict[str, int]]:
    """When the person's prompts last held a talk, and a memory, by id, from `since` to before `until`; a turn reminds
    of its talk.
    """
    talks, memories = dict[str, int](), dict[str, int]()
    places = {"talk": talks, "turn": talks, "memory": memories}
    told = (row for query in _prompts(group, since, until) for row in session.execute(query))
    for ref, at in ((ref, at) for refs, at in told for ref in refs or ()):
        kind, _, key = ref.partition(":")
        if kind in places:
            key = key.partition("/")[0]
            places[kind][key] = max(at, places[kind].get(key, at))
    return talks, memories


def _prompts(group: Group, since: int, until: int) -> Iterable[Executable]:
    """Queries for what prompts held: when a talk began, before each of its turns, and at a decision."""
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
    found: defaultdict[str, set[str]] = defaultdict(set)
    changed = select(row.kind, row.memory_id).where(*group.owns(row), col(row.action).in_(("edited", "closed")))
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
    """Talks before `since`, overheard ones too, and when they were; and which of them are the last before `until`
    with somebody: they are told when the two meet again.
    """
    row, heard = SummaryRow, OverheardRow
    mine = select(row.conversation_id, row.at, row.partner_id, row.others).where(*group.owns(row), row.at < until)
    found = session.exec(mine.order_by(col(row.at), col(row.conversation_id))).all()
    last = {other_id: one for one, _, partner_id, others in found for other_id in (partner_id, *others)}
    overheard = select(heard.conversation_id, heard.known_at).where(*group.owns(heard), heard.known_at < since)
    talks = dict(session.exec(overheard).all()) | {one: at for one, at, *_ in found if at < since}
    return talks, set(last.values()) & talks.keys()


def _thought(group: Group) -> tuple[ColumnElement[bool], ...]:
    """Insights of the person itself, not those that were given."""
    row = MemoryRow
    return (*group.owns(row), col(row.kind) == Kind.INSIGHT, col(row.given_id) == "", col(row.deleted).is_(False))


def read_episodes(session: Session, group: Group, *, after: int = -1) -> list[Episode]:
    """Episodes written after that revision, oldest first. A summary that an author has deleted is empty: its row tells
    that the talk was closed.
    """
    own = sa_select(SummaryRow).where(*_mine(SummaryRow, group, after), col(SummaryRow.summary) != "")
    found = [
        *map(episode_of, session.scalars(own)),
        *(
            Episode(
                conversation_id=given.id,
                partner_id=given.partner_id,
                text=given.text,
                topics=tuple(given.topics),
                at=WorldTime(given.known_from),
                support=Support.AUTHOR,
            )
            for given in _views(session, group, Kind.SUMMARY, col(MemoryRow.revision) > after)
        ),
    ]
    return sorted(found, key=lambda one: (one.at, one.conversation_id))


def episode_of(row: SummaryRow) -> Episode:
    """The episode that a summary tells of."""
    return Episode(
        conversation_id=row.conversation_id,
        partner_id=row.partner_id,
        text=row.summary,
        topics=tuple(row.topics),
        at=WorldTime(row.at),
        others=tuple(row.others),
        support=Support(row.support),
        kept_from=tuple(row.kept_from),
    )


def read_turns(session: Session, group: Group, faded: Faded, *, after: int = -1) -> list[HeardTurn]:
    """What the person perceived in the conversations that it remembers since after that revision, and what it overheard
    since, but for faded ones and for turns that are not to be quoted.
    """
    new, corrected = col(MemoryRow.revision) > after, col(MemoryRow.source) == Source.AUTHOR
    rows = _views(session, group, Kind.TURN, or_(new, corrected))
    given = {
        row.id: HeardTurn(
            conversation_id=row.conversation_id,
            turn=row.turns[0],
            speaker_id=row.told_by or "",
            speaker_name=row.about,
            text=row.text,
            at=WorldTime(row.known_from),
            partner_id=row.partner_id,
            given=True,
        )
        for row in rows
    }
    heard = _perceived(session, group, faded, after)
    took_part = {one.id for one in heard}
    heard += [one for one in _overheard(session, group, faded, after) if one.id not in took_part]
    heard = [replace(one, text=given.pop(one.id).text) if one.id in given else one for one in heard]
    return heard + [given[row.id] for row in rows if row.source != Source.AUTHOR]


def _views(session: Session, group: Group, kind: Kind, written: ColumnElement[bool]) -> Sequence[Row[Any]]:
    """The columns of rows that stand for turns or summaries: those given, and corrections by an author."""
    which = (*group.owns(MemoryRow), written, col(MemoryRow.kind) == kind, col(MemoryRow.deleted).is_(False))
    return session.execute(sa_select(MemoryRow.metadata.tables[str(MemoryRow.__tablename__)]).where(*which)).all()


def overhear(
    session: Session, world: WorldView, key: ConversationKey, person_id: str, turns: Iterable[int], known_at: WorldTime
) -> None:
    """Let the person remember, from `known_at` on, these turns of a conversation that it takes no part in, and that
    have been said; the caller commits.
    """
    group = Group(world_id=world.id, person_id=person_id)
    session.add(
        OverheardRow(
            **group.whose,
            conversation_id=key.conversation_id,
            turns=sorted(turns),
            known_at=known_at,
            revision=next_revision(session, group),
        )
    )


def deleted(session: Session, group: Group) -> frozenset[tuple[Kind, str]]:
    """What authors have deleted, by kind and id."""
    row = MemoryRow
    query = sa_select(col(row.kind), col(row.id)).where(*group.owns(row), col(row.deleted).is_(True))
    return frozenset((Kind(kind), key) for kind, key in session.execute(query))


def acquainted(session: Session, world: WorldView, person_ids: Collection[str]) -> set[frozenset[str]]:
    """Which two of them knew each other before they first talked here: by an author's word, or from the past that was
    given to one of them.
    """
    one, other = col(MemoryRow.person_id), col(MemoryRow.partner_id)
    here = (col(MemoryRow.world_id) == world.id, one.in_(person_ids), other.in_(person_ids))
    given = sa_select(one, other).where(*here, col(MemoryRow.given_id) != "")
    authored = (pair for pair in combinations(person_ids, 2) if world.cast.are_acquainted(*pair))
    return {frozenset(pair) for pair in (*session.execute(given.distinct()), *authored)}


_OF_TURN = ("conversation_id", "turn", "speaker_id", "speaker_name", "text", "at", "kept_from")
_TURN = tuple(col(getattr(TurnRow, name)) for name in (*_OF_TURN, "act", "heard_by", "seen_by"))


def _heard(turn: Sequence[Any], partner_id: str, **more: Any) -> HeardTurn:
    columns = dict(zip(_OF_TURN, turn, strict=True)) | more
    return HeardTurn(**columns | {"kept_from": tuple(columns["kept_from"])}, partner_id=partner_id)


def _turns_of(row: type[SummaryRow | OverheardRow], *columns: Any) -> Select[Any]:
    """A query for the turns of the conversations that `row` names."""
    both = (col(row.world_id) == col(TurnRow.world_id)) & (col(row.conversation_id) == col(TurnRow.conversation_id))
    return sa_select(*_TURN, *columns).join(row, both).where(col(TurnRow.not_to_quote).is_(False))


def _perceived(session: Session, group: Group, faded: Faded, after: int) -> list[HeardTurn]:
    row = SummaryRow
    there = (col(row.at) >= faded.since) | col(row.conversation_id).in_(faded.still)
    kept = sa_select(col(MemoryRow.conversation_id)).where(
        *group.owns(MemoryRow), col(MemoryRow.source) == Source.CONVERSATION, col(MemoryRow.deleted).is_(False)
    )
    is_retold = col(row.conversation_id).in_(kept)
    query = _turns_of(row, col(row.partner_id), col(row.others), col(row.at), is_retold)
    rows = session.execute(query.where(*_mine(row, group, after), there)).all()
    people = _companies(session, group, after) if rows else {}
    one_of_two = ParticipantRow(**group.whose, conversation_id="", seat=0)
    heard = []
    for *turn, act, heard_by, seen_by, partner_id, others, known_at, retold in rows:
        key, number, speaker_id, _, text, *_ = turn
        everybody = (partner_id, *others)
        company = people.get(key, ())
        own = next((one for one in company if one.person_id == group.person_id), one_of_two)
        hears, sees = (perceives(own, number, speaker_id, only) for only in (heard_by, seen_by))
        said = told_of_turn(act if sees else "", text if hears else "")
        if company:
            with_it = (
                one.person_id for one in company if one is not own and perceives(one, number, speaker_id, heard_by)
            )
            partner_id = speaker_id if speaker_id != group.person_id else next(with_it, "")
        if said:
            more = everybody if company else ()
            late = None if own.left_turn is None else WorldTime(known_at)
            heard.append(_heard(turn, partner_id, text=said, others=more, later=late, retold=retold))
    return heard


def _overheard(session: Session, group: Group, faded: Faded, after: int) -> list[HeardTurn]:
    row = OverheardRow
    there = (col(row.known_at) >= faded.since) | col(row.conversation_id).in_(faded.still)
    query = _turns_of(row, col(row.turns), col(row.known_at)).where(*_mine(row, group, after), there)
    return [
        _heard(turn, turn[2], later=WorldTime(known_at), overheard=True)
        for *turn, _, _, _, turns, known_at in session.execute(query)
        if turn[1] in turns
    ]


def _companies(session: Session, group: Group, after: int) -> Mapping[str, list[ParticipantRow]]:
    """Who took part in those of the person's conversations, written after that revision, that had more than two, in the
    order of their seats.
    """
    row, third = ParticipantRow, shared_alias(ParticipantRow)
    mine = sa_select(col(SummaryRow.conversation_id)).where(*_mine(SummaryRow, group, after))
    more = sa_select(third).where(
        col(third.world_id) == col(row.world_id),
        col(third.conversation_id) == col(row.conversation_id),
        col(third.seat) > 1,
    )
    query = sa_select(row).where(col(row.world_id) == group.world_id, col(row.conversation_id).in_(mine), more.exists())
    found: dict[str, list[ParticipantRow]] = {}
    for one in session.scalars(query.order_by(col(row.conversation_id), col(row.seat))):
        found.setdefault(one.conversation_id, []).append(one)
    return found


def _mine(
    row: type[SummaryRow | MemoryRow | OverheardRow], group: Group, after: int
) -> tuple[ColumnElement[bool], ...]:
    return *group.owns(row), col(row.revision) > after
