"""Owns what a person has on its mind (mid-term memories, and what it has told of itself), and what it comes to think of
what it lived through: reflections and insights.

Mid-term memories are only ever added: what is on somebody's mind at a moment is a filter, and what has expired is told
once. A person reflects when it falls asleep, and when what came together since the last time matters enough. The row is
written in that transaction, and the model is asked later: what comes of it is known an hour of world time after.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field
from sqlalchemy import ColumnElement, ScalarSelect, Select, literal, union_all
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, func, select

from service.content.profile import Importance
from service.llm.chat import Prompt, PromptValues, Templates
from service.memory.closing.context import Ref, Sentence, Weight
from service.memory.episodes import episode_of
from service.memory.lexical import normal, share, telling
from service.memory.record import ANYBODY, Episode, Group, Kind, Memory, Mode, Source, memory_of, next_revision, row_of
from service.memory.telling import MemoryKind, one_line, ref, told_of
from service.people.commitments import commitment_line, lasting_commitments
from service.people.worlds import WorldView
from service.store.event_kinds import DroppedInsight, MemoryExpired, Reflected
from service.store.events import schedule_event
from service.store.ids import derived_id
from service.store.jobs import JobKind, enqueue
from service.store.shown import Out, WorldTimeText
from service.store.tables import JobKey, MemoryRow, ReflectionRow, SummaryRow
from world.time import MINUTES_PER_DAY, WorldTime, day_end

_DAYS = {"medium": 2, "high": 3}

SAME_PROMISE = 0.6
"""Share of a promise's telling tokens from which a plan of the same two says the same."""


def expires_at(importance: Importance, created_at: WorldTime, *, day_starts: int = 0) -> WorldTime:
    """When a memory made at `created_at` is gone: low at the end of its world day, medium after 2 days, high after
    3.
    """
    if importance == "low":
        return day_end(created_at, day_starts=day_starts)
    return WorldTime(created_at + _DAYS[importance] * MINUTES_PER_DAY)


@dataclass(frozen=True, kw_only=True, slots=True)
class OnMind:
    """Something that affects a person's next days, as it reads to it; `ref` refers to it (telling.py). `is_seen`: it
    saw it happen. `kept_from` as of a memory.
    """

    ref: str
    content: str
    """what is on the person's mind, with who told it"""
    level: Importance
    since: WorldTime
    expires_at: WorldTime
    """the world time at which it is over"""
    partner_id: str
    others: tuple[str, ...] = ()
    kept_from: tuple[str, ...] = ()
    is_seen: bool = False


class MidTerm(Out, of=OnMind, shows="content expires_at"):
    """Something that affects the person's next days; an open promise, by it or to it, is among that."""

    ref: str | None = Field(
        default=None,
        description="what it is: `memory:` or `promise:` and its id; null: not told",
        examples=["memory:9f0a3c52", "promise:1c77"],
    )
    importance: Importance = Field(
        validation_alias=AliasChoices("importance", "level"), description="how much it matters, and how long it lasts"
    )
    created_at: WorldTimeText | None = Field(
        default=None,
        validation_alias=AliasChoices("created_at", "since"),
        description="the world time it came up at; null: not known",
    )
    partner_id: Annotated[str | None, BeforeValidator(lambda id_: id_ or None)] = Field(
        default=None, description="of whom, or with whom, it came"
    )


def mid_term_memories(session: Session, world: WorldView, *person_ids: str) -> dict[str, list[OnMind]]:
    """What is on the mind of each of these persons at the moment of `world`, the most urgent last. Open promises, by a
    person and to it, are among it: they are stored once, as commitments, and a plan that says the same of the same
    two does not stand beside them, nor when they are kept.
    """
    row = MemoryRow
    query = select(row).where(
        row.world_id == world.id,
        col(row.person_id).in_(person_ids),
        row.kind == Kind.MID_TERM,
        col(row.deleted).is_(False),
        row.known_from <= world.now,
        col(row.expires_at) > world.now,
        col(row.valid_to).is_(None) | (col(row.valid_to) > world.now),
    )
    found: dict[str, list[OnMind]] = {one: [] for one in person_ids}
    promises = lasting_commitments(session, world, *person_ids)
    promised = [({one.by_id, one.to_id}, telling(one.what)) for one in promises]
    for one in session.exec(query):
        memory = memory_of(one)
        two = {one.person_id, memory.partner_id}
        if memory.mode is Mode.PLANNED and any(
            two == both and share(what, memory.text) >= SAME_PROMISE for both, what in promised
        ):
            continue
        found[one.person_id].append(
            OnMind(
                ref=ref(MemoryKind.MEMORY, memory.id),
                content=told_of(world, memory, one.person_id),
                level=memory.level or "low",
                since=memory.known_from,
                expires_at=memory.expires_at or memory.known_from,
                partner_id=memory.partner_id,
                others=memory.others,
                kept_from=memory.kept_from,
                is_seen=memory.source is Source.OBSERVATION,
            )
        )
    private = world.cast.players if world.settings.player_talks == "private" else ()
    for promise in (one for one in promises if one.is_open(world.now)):
        for person_id in {promise.by_id, promise.to_id} & found.keys():
            found[person_id].append(
                OnMind(
                    ref=ref(MemoryKind.PROMISE, promise.id),
                    content=commitment_line(world, promise, person_id),
                    level="high",
                    since=promise.made_at,
                    expires_at=promise.ends_at,
                    partner_id=promise.other(person_id),
                    kept_from=(ANYBODY,) if promise.other(person_id) in private else (),
                )
            )
    return {one: sorted(all_of, key=lambda each: (-each.expires_at, each.ref)) for one, all_of in found.items()}


def self_told(session: Session, world: WorldView, *person_ids: str) -> dict[str, list[Memory]]:
    """What each of these persons has told, of itself above all, and what of it holds at the moment of `world`; oldest
    first. An author's facts stand before it.
    """
    return _holding(session, world, person_ids, MemoryRow.kind == Kind.SELF)


WEIGHTY = 8
"""From this importance on something stays on the mind for `WEIGHTY_DAYS`, whoever it is talked of with."""
WEIGHTY_DAYS = 3


def weighty(session: Session, world: WorldView, *person_ids: str) -> dict[str, list[Memory]]:
    """What of the last days mattered most to each of these persons and holds at the moment of `world`; oldest first."""
    row, since = MemoryRow, world.now - WEIGHTY_DAYS * MINUTES_PER_DAY
    kinds = col(row.kind).in_((Kind.FACT, Kind.OBSERVED, Kind.INSIGHT))
    return _holding(
        session,
        world,
        person_ids,
        kinds,
        row.importance >= WEIGHTY,
        row.known_from > since,
        row.known_from <= world.now,
    )


def _holding(session: Session, world: WorldView, person_ids: Collection[str], *which: Any) -> dict[str, list[Memory]]:
    row = MemoryRow
    query = select(row).where(
        row.world_id == world.id,
        col(row.person_id).in_(person_ids),
        col(row.deleted).is_(False),
        col(row.valid_to).is_(None) | (col(row.known_until).is_(None) & (col(row.valid_to) > world.now)),
        *which,
    )
    found: dict[str, list[Memory]] = {one: [] for one in person_ids}
    for one in session.exec(query.order_by(col(row.valid_from), col(row.id))):
        found[one.person_id].append(memory_of(one))
    return found


def tell_expired(session: Session, world: WorldView, now: WorldTime) -> None:
    """The clock of `world` goes on to `now`: the log is told what expired on the way; the caller commits."""
    row = MemoryRow
    is_gone = (col(row.expires_at) > world.now, col(row.expires_at) <= now, col(row.deleted).is_(False))
    tell_over(session, session.exec(select(row).where(row.world_id == world.id, *is_gone)), now)


def tell_over(session: Session, rows: Iterable[MemoryRow], now: WorldTime) -> None:
    """Tell the log which of these are over by `now`; the caller commits. A closing may come so late that what it writes
    is over already: the clock has passed its end.
    """
    for row in rows:
        if row.expires_at is not None and row.expires_at <= now:
            told = MemoryExpired(content=row.text, importance=row.level)
            schedule_event(session, row.world_id, WorldTime(row.expires_at), told, row.person_id, key=row.id)


TEMPLATES = Templates(__file__)

MAX_TOKENS = 600
MOST_EPISODES = 8
MOST_MEMORIES = 12
MOST_KNOWN = 6
"""So many episodes and memories are thought over, those that matter most, beside the last insights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """Something the person lived through, under the short `ref` that the model may cite. `source` refers to it
    (``talk:…``, ``memory:…``), `partner_ids` are those with whom it talked then.
    """

    ref: str
    text: str
    source: str
    partner_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ReflectionContext(PromptValues):
    """All that a reflection may draw on. `personality` and `wishes` are what its author wrote of the person, `thoughts`
    what it thinks already.
    """

    person_id: str
    name: str
    now: str
    evidence: tuple[Evidence, ...]
    personality: str = ""
    wishes: tuple[str, ...] = ()
    thoughts: tuple[str, ...] = ()


class InsightDraft(BaseModel, extra="forbid"):
    """Something the person has come to think, and the refs of what it thinks so for."""

    text: Sentence
    evidence: list[Ref] = Field(max_length=4)
    importance: Weight


class Reflection(BaseModel, extra="forbid"):
    """The one structured answer a reflection needs."""

    insights: Annotated[list[InsightDraft], Field(max_length=3)]


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidInsight:
    """An insight that may stand."""

    text: str
    evidence: tuple[Evidence, ...]
    importance: int


def reflection_prompt(context: ReflectionContext, thread: str = "") -> Prompt[Reflection]:
    """The question as it is sent; `thread` says whose reflection it is. The closing's model answers it, and it is
    counted with the closings.
    """
    return TEMPLATES.question("reflection", "closing", context, Reflection, max_tokens=MAX_TOKENS, thread=thread)


def valid_insights(
    drafts: Sequence[InsightDraft], context: ReflectionContext
) -> tuple[tuple[ValidInsight, ...], tuple[DroppedInsight, ...]]:
    """The insights that may stand, and those that may not, with the reason."""
    kept: list[ValidInsight] = []
    dropped: list[DroppedInsight] = []
    for draft in drafts:
        text = one_line(draft.text)
        evidence = tuple(one for one in context.evidence if one.ref in draft.evidence)
        known = {normal(one) for one in (*context.thoughts, *(one.text for one in kept))}
        if not text or not evidence:
            dropped.append(DroppedInsight(text=text, reason="no_evidence"))
        elif normal(text) in known:
            dropped.append(DroppedInsight(text=text, reason="known"))
        else:
            kept.append(ValidInsight(text=text, evidence=evidence, importance=draft.importance))
    return tuple(kept), tuple(dropped)


REFLECTS_AT = 150
"""Sum of the importance of what a person took from its talks since the last time from which it reflects without having
slept, as in Generative Agents (Park et al. 2023).
"""

LEAST_EPISODES = 2
"""Of fewer talks nobody draws a conclusion, and no model is asked."""

KNOWN_AFTER_MINUTES = 60
"""World minutes until the insights are known. More than anybody lives ahead of the clock (world_run.AHEAD_MINUTES), so
that a clock that waits for models can wait for them before anybody has come to that minute.
"""

DUE, DONE = "due", "done"


class ReflectionKey(NamedTuple):
    """Whose reflection it is, and of when; the primary key of its row."""

    world_id: str
    person_id: str
    at: WorldTime

    @property
    def job(self) -> JobKey:
        """The job that makes it."""
        return JobKey(self.world_id, JobKind.REFLECTION, f"{self.person_id}:{self.at}")

    @staticmethod
    def of(job: JobKey) -> "ReflectionKey":
        """The reflection that the job makes."""
        person_id, _, at = job.key.rpartition(":")
        return ReflectionKey(job.world_id, person_id, WorldTime(int(at)))


@dataclass(frozen=True, kw_only=True)
class LivedThrough:
    """What a reflection draws on, of what SQL holds. `since` is exclusive."""

    since: WorldTime
    episodes: tuple[Episode, ...]
    thoughts: tuple[str, ...]


def begin_reflections(
    session: Session, world: WorldView, until: Mapping[str, WorldTime], *, least_importance: int = 0
) -> dict[ReflectionKey, WorldTime]:
    """Let each of these persons think over what it lived through until that time, if that is enough; the caller
    commits. Answers the keys of the rows, and from when on their insights are known.
    """
    if not world.settings.reflection:
        return {}
    begun: dict[ReflectionKey, WorldTime] = {}
    lived = union_all(*(_lived(world.id, person_id, at) for person_id, at in until.items()))
    for person_id, since, episodes, importance in session.execute(lived).all():
        if episodes >= LEAST_EPISODES and importance >= least_importance:
            key = ReflectionKey(world.id, person_id, until[person_id])
            begun[key] = WorldTime(key.at + KNOWN_AFTER_MINUTES)
            session.add(ReflectionRow(**key._asdict(), since=since, known_at=begun[key], phase=DUE))
    session.flush()
    enqueue(session, *(key.job for key in begun))
    return begun


def _lived(world_id: str, person_id: str, at: WorldTime) -> Select[tuple[str, int, int, int]]:
    """Since when the person has not reflected, in how many talks it has taken part since, and how much they matter."""
    mine = (ReflectionRow.world_id == world_id, ReflectionRow.person_id == person_id)
    last = select(func.coalesce(func.max(ReflectionRow.at), -1)).where(*mine).scalar_subquery()
    matters = func.coalesce(func.sum(SummaryRow.importance), 0)
    return sa_select(literal(person_id), last, func.count(), matters).where(*_between(world_id, person_id, last, at))


def due_reflections(session: Session, world_id: str | None = None) -> dict[ReflectionKey, WorldTime]:
    """The reflections that are to be made, of one world or of all, and from when on their insights are known."""
    query = select(ReflectionRow).where(ReflectionRow.phase == DUE)
    if world_id is not None:
        query = query.where(ReflectionRow.world_id == world_id)
    return {
        ReflectionKey(row.world_id, row.person_id, WorldTime(row.at)): WorldTime(row.known_at)
        for row in session.exec(query)
    }


def lived_through(session: Session, key: ReflectionKey) -> LivedThrough | None:
    """What is to be thought over; None: nothing is due any more."""
    row = session.get(ReflectionRow, key)
    if row is None or row.phase != DUE:
        return None
    found = session.exec(select(SummaryRow).where(*_between(key.world_id, key.person_id, row.since, row.at)))
    own = Group(world_id=key.world_id, person_id=key.person_id).owns(MemoryRow)
    thoughts = select(MemoryRow.text).where(
        *own, MemoryRow.kind == Kind.INSIGHT, col(MemoryRow.deleted).is_(False), col(MemoryRow.known_from) <= row.at
    )
    newest = session.exec(thoughts.order_by(col(MemoryRow.known_from).desc(), col(MemoryRow.id)).limit(MOST_KNOWN))
    return LivedThrough(
        since=WorldTime(row.since),
        episodes=tuple(map(episode_of, found)),
        thoughts=tuple(newest),
    )


def settle_reflection(
    session: Session,
    key: ReflectionKey,
    now: WorldTime,
    insights: Sequence[ValidInsight],
    dropped: Sequence[DroppedInsight],
) -> None:
    """Write what the person has come to think, once, when the world's clock shows `now`; the caller commits.

    A clock that did not wait may have passed the moment: then it is known from now on.
    """
    row = session.get(ReflectionRow, key, with_for_update=True)
    if row is None or row.phase != DUE:
        return
    group, at = Group(world_id=key.world_id, person_id=key.person_id), max(WorldTime(row.known_at), now)
    revision = next_revision(session, group)
    for number, one in enumerate(insights):
        partner_ids = sorted({partner_id for evidence in one.evidence for partner_id in evidence.partner_ids})
        thought = Memory(
            id=derived_id(f"{group.id}/{row.at}", key.person_id, "insight", number),
            kind=Kind.INSIGHT,
            text=one.text,
            evidence=tuple(evidence.source for evidence in one.evidence),
            partner_id=partner_ids[0] if len(partner_ids) == 1 else "",
            importance=one.importance,
            source=Source.REFLECTION,
            valid_from=at,
            known_from=at,
        )
        session.add(row_of(group, thought, revision))
    row.phase, row.dropped = DONE, [one.model_dump() for one in dropped]
    if insights or dropped:
        told = Reflected(insights=tuple(one.text for one in insights), dropped=tuple(dropped))
        schedule_event(session, key.world_id, at, told, key.person_id, key=f"{row.at:012}")


def _between(
    world_id: str, person_id: str, since: int | ScalarSelect[int], until: int
) -> tuple[ColumnElement[bool], ...]:
    return (
        col(SummaryRow.world_id) == world_id,
        col(SummaryRow.person_id) == person_id,
        col(SummaryRow.at) > since,
        col(SummaryRow.at) <= until,
    )
