"""Owns what a person remembers when it speaks or is asked: what is recent, and of what lasts that which answers."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Select, String, case, cast, or_
from sqlmodel import Session, col, select

from service.errors import GraphUnavailable
from service.llm.chat import estimate_tokens
from service.memory.episodes import episode_of
from service.memory.lexical import asks_of
from service.memory.memory_store import MemoryStore
from service.memory.mind import OnMind, mid_term_memories
from service.memory.record import FACTS, Group, HeardTurn, Kind, Memory, Recalled
from service.memory.telling import MemoryKind, Told, episode_told, ref, said_of
from service.people.attitude import STRANGERS, Attitude, attitudes_among
from service.people.person import night_of, person_rows
from service.people.worlds import WorldView
from service.store.perception import LATER_MINUTES, perceives
from service.store.phase import ClockPolicy
from service.store.session import Database, T
from service.store.tables import (
    ConversationRow,
    ParticipantRow,
    PersonRow,
    SummaryRow,
    TurnRow,
    said_in,
    shared_alias,
)
from world.time import WorldTime

_log = logging.getLogger(__name__)


# Made once: each costs as much as a query.
_ONE, _OTHER, _LAST = shared_alias(ParticipantRow), shared_alias(ParticipantRow), shared_alias(SummaryRow)

MOST_TURNS = 10
"""How many turns answer beside facts."""

MOST_INSIGHTS = 10
"""The same of insights."""

MEETINGS_TOLD = 3
"""So many of the last meetings of two are told whole."""

UNSETTLED_LINES = 6
"""How many last lines of a talk that is not yet remembered a speaker is reminded of."""


@dataclass(frozen=True, kw_only=True)
class RecentMemory:
    """What SQL holds of a person, and of it and a partner.

    `person` is its row. `attitude` is how it stands to the partner, `partners` how the partner stands to it.
    `meetings` are the summaries of the last talks of the two, oldest first. `unsettled`: last lines of the two that no
    closing has remembered yet, oldest first. Without a partner there is none of these four.
    """

    person: PersonRow
    attitude: Attitude
    partners: Attitude
    meetings: tuple[SummaryRow, ...]
    mid_term: tuple[OnMind, ...]
    today: tuple[SummaryRow, ...]
    unsettled: tuple[TurnRow, ...]

    @property
    def last_summary(self) -> SummaryRow | None:
        """The summary of the last meeting of the two; None: they have not met, or nothing was written of it."""
        return self.meetings[-1] if self.meetings else None


@dataclass(frozen=True, kw_only=True)
class PersonMemory:
    """What a person remembers about a partner, or about anything.

    `found`: something of it bears on what was asked: anything, where that names only the partner. `turns` were said and
    bear on it, and no fact tells them; `insights` are what it has come to think of it.
    `unavailable`: the store could not be asked, so there are none of these.
    """

    recent: RecentMemory
    facts: tuple[Recalled, ...]
    turns: tuple[Recalled, ...] = ()
    insights: tuple[Memory, ...] = ()
    found: bool = True
    unavailable: GraphUnavailable | None = None


async def recall(
    database: Database,
    memory: MemoryStore,
    world: WorldView,
    person_id: str,
    partner_id: str | None,
    *,
    query: str,
    limit: int,
    history: bool = False,
    at: WorldTime | None = None,
) -> PersonMemory:
    """What the person remembers at the moment of `world`: about its partner; without one, about `query`.

    The facts are ordered by how well they answer `query`, and so are turns; `at` asks for them as of another moment.
    """
    recent = await database.read(lambda session: recent_memory(session, world, person_id, partner_id))

    async def ask(kinds: Collection[Kind], limit: int) -> tuple[Recalled, ...]:
        found = await memory.recall(
            Group(world_id=world.id, person_id=person_id),
            query,
            at=world.now if at is None else at,
            kinds=kinds,
            about=None if partner_id is None else world.own_name(partner_id),
            partner_id=partner_id,
            limit=limit,
            history=history,
            now=world.now,
        )
        return tuple(found)

    try:
        facts, heard, thought = await asyncio.gather(
            ask(FACTS, limit),
            ask({*FACTS, Kind.TURN}, MOST_TURNS if query.strip() else 0),
            ask({Kind.INSIGHT}, MOST_INSIGHTS),
        )
    except GraphUnavailable as exc:
        return PersonMemory(recent=recent, facts=(), found=False, unavailable=exc)
    of_it = partner_id is not None and (not query.strip() or asks_of(query, world.name_of(partner_id)))
    bears = any(one.bears or of_it for one in (*facts, *heard))
    turns = tuple(one for one in heard if isinstance(one.item, HeardTurn) and bears)
    insights = tuple(one.item for one in thought if one.bears and isinstance(one.item, Memory))
    answers = any(one.answers or of_it for one in (*facts, *heard))
    found = answers or (of_it and recent.last_summary is not None)
    return PersonMemory(recent=recent, facts=facts, turns=turns, insights=insights, found=found)


_AMONG = 4
"""What matters most is chosen among so many times as many as are told."""


async def remembered(
    memory: MemoryStore,
    world: WorldView,
    person_id: str,
    query: str,
    *,
    limit: int,
    partner_id: str | None = None,
    kinds: Collection[Kind] = FACTS,
    at_hand: bool = False,
) -> list[Recalled]:
    """What about the partner (None: about anybody) answers `query` best at the moment of `world`; nothing while the
    store is away, which keeps nobody from speaking.

    Of a partner facts are told even where none bears on the query, those that matter most first; what was said and
    summaries only where something does. Of anybody all is told that the ranking finds: an answer need not share a word
    with its question.
    """
    if not limit:
        return []
    group = Group(world_id=world.id, person_id=person_id)
    try:
        found = await memory.recall(
            group,
            query,
            at=world.now,
            about=None if partner_id is None else world.own_name(partner_id),
            partner_id=partner_id,
            limit=limit if partner_id is None else _AMONG * limit,
            kinds=kinds,
            at_hand=at_hand,
        )
    except GraphUnavailable as exc:
        _log.warning("asked without long-term memory: %s", exc)
        return []
    if partner_id is None:
        return found
    counts = any(one.bears for one in found)
    told = [one for one in found if counts or isinstance(one.item, Memory)]
    is_asked = bool(query.strip())  # where nothing is, everything bears

    def weight(one: Recalled) -> tuple[bool, int]:
        """What bears on the query in the order in which it does, then what mattered most, the newest of it first."""
        bears = one.bears and is_asked
        return bears, 0 if bears or not isinstance(one.item, Memory) else one.item.importance

    return sorted(told, key=weight, reverse=True)[:limit]


def recent_memory(session: Session, world: WorldView, person_id: str, partner_id: str | None) -> RecentMemory:
    """The SQL part of `recall`."""
    return recent_memories(session, world, {person_id: partner_id})[person_id]


def recent_memories(
    session: Session, world: WorldView, partners: Mapping[str, str | None], *, besides: str = ""
) -> dict[str, RecentMemory]:
    """The SQL part of `recall` for several persons, each with the partner that `partners` names. The conversation
    `besides` is left out.
    """
    people = person_rows(session, world.id, partners)
    pairs = {frozenset((one, other)) for one, other in partners.items() if other not in (None, one)}
    attitudes = attitudes_among(session, world.id, set().union(*pairs), world.now) if pairs else {}
    unsettled = {pair: tuple(_unsettled(session, world, *pair, besides=besides)) for pair in pairs}
    summaries = _summaries(session, world, people.values(), partners)
    on_mind, nights = (
        mid_term_memories(session, world, *partners),
        {one: night_of(world, people[one]) for one in people},
    )
    return {
        one: RecentMemory(
            person=people[one],
            attitude=attitudes.get((one, str(other)), STRANGERS),
            partners=attitudes.get((str(other), one), STRANGERS),
            meetings=tuple(row for row in summaries if row.person_id == one and other in (row.partner_id, *row.others))[
                -MEETINGS_TOLD:
            ],
            mid_term=tuple(on_mind[one]),
            today=tuple(row for row in summaries if row.person_id == one and row.night == nights[one]),
            unsettled=unsettled.get(frozenset((one, str(other))), ()),
        )
        for one, other in partners.items()
    }


def todays_summaries(session: Session, world: WorldView, person_id: str) -> list[SummaryRow]:
    """The conversations of the day the person lives at the moment of `world`, since it last slept; oldest first."""
    return _summaries(session, world, person_rows(session, world.id, [person_id]).values(), {})


class PromptLine(NamedTuple):
    """A line of a prompt, and the reference to what it tells of (telling.py; "": to nothing)."""

    text: str
    ref: str = ""


def on_mind_line(world: WorldView, one: OnMind) -> PromptLine:
    """How it stands in a prompt: since when, which a promise says itself, and what."""
    return PromptLine(one.content if is_promise(one) else f"({world.ago(one.since)}) {one.content}", one.ref)


def is_promise(one: OnMind) -> bool:
    """Whether it is a promise."""
    return one.ref.startswith(f"{MemoryKind.PROMISE}:")


def talk_line(world: WorldView, row: SummaryRow) -> PromptLine:
    """How a talk of the day stands in a prompt."""
    told = episode_told(world, episode_of(row))
    named = f"{world.name_of(row.partner_id)}: {told}" if told == row.summary else told
    return PromptLine(named, ref(MemoryKind.TALK, row.conversation_id))


def fitting(lines: Iterable[PromptLine], tokens: int) -> Told:
    """The first lines that together take no more than so many tokens; what does not fit is passed over, and what stands
    in a line before.
    """
    known, kept = list[str](), list[PromptLine]()
    for one in lines:
        said, taken = said_of(one.text), estimate_tokens(one.text)
        if taken <= tokens and not any(said in text for text in known):
            tokens -= taken
            known.append(said)
            kept.append(one)
    return Told(lines=tuple(one.text for one in kept), refs=tuple(one.ref for one in kept if one.ref))


def within(told: Iterable[T], tokens: int, text_of: Callable[[T], str] = str) -> tuple[T, ...]:
    """The first lines that together take no more than so many tokens; what does not fit is passed over."""
    kept: list[T] = []
    for line in told:
        taken = estimate_tokens(text_of(line))
        if taken <= tokens:
            kept.append(line)
            tokens -= taken
    return tuple(kept)


def newest_within(told: Sequence[str], tokens: int) -> tuple[str, ...]:
    """The last lines that together take no more than so many tokens; what does not fit is passed over."""
    return tuple(reversed(within(reversed(told), tokens)))


def _summaries(
    session: Session, world: WorldView, people: Iterable[PersonRow], partners: Mapping[str, str | None]
) -> list[SummaryRow]:
    """Summaries of the day each person lives, and its last ones with its partner; oldest first."""
    wanted = [
        (col(SummaryRow.person_id) == row.person_id)
        & (
            (col(SummaryRow.night) == night_of(world, row))
            | (col(SummaryRow.conversation_id).in_(_last_with(world, row.person_id, partners.get(row.person_id))))
        )
        for row in people
    ]
    query = select(SummaryRow).where(
        SummaryRow.world_id == world.id, SummaryRow.at <= world.now, SummaryRow.summary != "", or_(*wanted)
    )
    return list(session.exec(query.order_by(col(SummaryRow.at), col(SummaryRow.conversation_id))))


def _last_with(world: WorldView, person_id: str, partner_id: str | None) -> Select[str]:
    query = select(_LAST.conversation_id).where(
        _LAST.world_id == world.id,
        _LAST.person_id == person_id,
        (col(_LAST.partner_id) == partner_id)
        | cast(col(_LAST.others), String).contains(f'"{partner_id}"', autoescape=True),
        _LAST.at <= world.now,
        _LAST.summary != "",
    )
    return query.order_by(col(_LAST.at).desc(), col(_LAST.conversation_id).desc()).limit(MEETINGS_TOLD)


def _unsettled(session: Session, world: WorldView, one_id: str, other_id: str, *, besides: str) -> list[TurnRow]:
    """The last lines of the last talk of the two that is over for them and not remembered yet: those that both heard.
    Who left before the end remembers it late: until then these lines are all it has of it. A line that is not to be
    quoted is none of them.
    """
    has_left = col(_ONE.left_turn).is_not(None) | col(_OTHER.left_turn).is_not(None)
    is_late = has_left & (col(ConversationRow.clock_policy) == ClockPolicy.MINUTE)
    known_at = col(ConversationRow.ended_at) + case((is_late, LATER_MINUTES), else_=0)
    is_to_be_known = is_late & (col(ConversationRow.ended_at).is_(None) | (known_at > world.now))
    is_being_closed = col(ConversationRow.phase).in_(("closing", "closing_failed")) & (known_at <= world.now)
    last = (
        select(ConversationRow)
        .where(
            *(table.world_id == world.id for table in (ConversationRow, _ONE, _OTHER)),
            _ONE.conversation_id == ConversationRow.id,
            _ONE.person_id == one_id,
            _OTHER.conversation_id == ConversationRow.id,
            _OTHER.person_id == other_id,
            ConversationRow.id != besides,
            ConversationRow.started_at <= world.now,
            is_to_be_known | is_being_closed,
        )
        .order_by(col(ConversationRow.started_at).desc(), col(ConversationRow.id).desc())
        .limit(1)
    )
    talk = session.exec(last).unique().first()
    if talk is None:
        return []
    both = [talk.participants[talk.seat_of(person_id)] for person_id in (one_id, other_id)]
    said = (*said_in(talk.key), col(TurnRow.not_to_quote).is_(False))
    turns = session.exec(select(TurnRow).where(*said).order_by(col(TurnRow.turn)))
    heard = [t for t in turns if t.text and all(perceives(one, t.turn, t.speaker_id, t.heard_by) for one in both)]
    return heard[-UNSETTLED_LINES:]
