"""Owns how two worlds differ, as two branches of one do: what was said, what is remembered, how people stand to each
other, what is promised. From rows that are only ever added to; each world is looked at as its own clock has it.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Generic, Literal, cast

import sqlalchemy as sa
from pydantic import Field
from sqlalchemy.orm import aliased
from sqlmodel import Session, SQLModel, col, select

from service.conversation.dependencies import ConversationDependencies
from service.errors import existing
from service.memory.record import Kind
from service.people.attitude import STRANGERS, Attitude, attitudes_of
from service.people.worlds import WorldView
from service.store.policy import POLICIES, TABLES
from service.store.session import T, one_picture
from service.store.shown import Out, WorldTimeText
from service.store.tables import (
    AttitudeChangeRow,
    CommitmentRow,
    ConversationRow,
    TurnRow,
    WorldRow,
)
from world.time import WorldTime

TURNS_SHOWN = 10
"""Most turns that are shown of a conversation."""


class ComparedWorld(Out):
    """One of two worlds that are compared."""

    id: str = Field(description="which world it is", examples=["main"])
    now: WorldTimeText = Field(description="its world time: up to there it is compared")


class ComparedTurn(Out, of=TurnRow, shows="speaker_id speaker_name"):
    """What somebody said."""

    text: str = Field(description="what was said")


class TurnDifference(Out):
    """A turn, here and there."""

    turn: int = Field(description="its place in the conversation, from 0")
    here: ComparedTurn | None = Field(description="what was said here; null: the conversation has no such turn here")
    there: ComparedTurn | None = Field(description="the same of the other world")


class ConversationDifference(Out):
    """A conversation that one of the worlds has not had, or that went otherwise there."""

    id: str = Field(description="its id, the same in both worlds")
    people: list[str] = Field(description="names of who take part")
    at: WorldTimeText = Field(description="since when it differs")
    here: int = Field(description="how many turns it has here; 0: it was not held")
    there: int = Field(description="how many turns it has in the other world")
    turns: list[TurnDifference] = Field(description="the first turn that differs and what followed, ten at most")


class OneSidedMemory(Out):
    """What somebody remembers in one of the worlds and not in the other."""

    at: WorldTimeText = Field(description="since when")
    person_id: str = Field(description="id of who remembers it")
    name: str = Field(description="name of who remembers it")
    kind: Kind = Field(description="what it is, as in GET /people/{id}/memories")
    text: str = Field(description="what it says, without who told it")


class ComparedAttitude(Out, of=Attitude, shows="power intimacy task_oriented times_met"):
    """How one person stands to another."""

    affinity: int = Field(description="-100..100")


class AttitudeDifference(Out):
    """How one person stands to another, here and there."""

    person_id: str = Field(description="id of the one who stands so")
    name: str = Field(description="name of that one")
    other_id: str = Field(description="id of the one to whom")
    other_name: str = Field(description="name of the one to whom")
    here: ComparedAttitude = Field(description="in this world")
    there: ComparedAttitude = Field(description="in the other one")


class ComparedPromise(Out, of=CommitmentRow, shows="what due_at"):
    """A promise, and what came of it."""

    state: Literal["open", "kept", "broken", "released", "lapsed"] = Field(description="open, or what became of it")


class PromiseDifference(Out):
    """A promise that was not made in one of the worlds, or of which something else came."""

    id: str = Field(description="id of the promise, the same in both worlds")
    by_name: str = Field(description="name of who promised")
    to_name: str = Field(description="name of the one it was promised to")
    here: ComparedPromise | None = Field(description="in this world; null: it was not made")
    there: ComparedPromise | None = Field(description="in the other one")


class First(Out, Generic[T]):
    """The first of some differences, and how many there are."""

    count: int = Field(description="how many there are, also those that are not shown")
    items: list[T] = Field(description="the first ones")


class Comparison(Out):
    """How two worlds differ: `here` is the one that was asked, `there` the one it is compared with."""

    here: ComparedWorld = Field(description="the world that was asked")
    there: ComparedWorld = Field(description="the one it is compared with")
    parted_at: WorldTimeText | None = Field(
        description="up to then they were one world, as their branches say; null: neither was ever the other"
    )
    conversations: First[ConversationDifference] = Field(
        description="what was said in one only, or in other words, by when they went apart"
    )
    memories_here: First[OneSidedMemory] = Field(description="what is remembered here and not there, by world time")
    memories_there: First[OneSidedMemory] = Field(description="what is remembered there and not here, by world time")
    attitudes: First[AttitudeDifference] = Field(
        description="who stands otherwise to whom: where affinity differs most comes first"
    )
    promises: First[PromiseDifference] = Field(
        description="what was promised in one only, or ended otherwise, by when they were made"
    )


async def compare(deps: ConversationDependencies, here: str, there: str, limit: int) -> Comparison:
    """How two worlds differ: of each kind of difference the first `limit`, and how many there are.

    Raises:
        NotFound: one of them has not begun.
    """

    def work(session: Session) -> Comparison:
        one_picture(session)
        for world_id in (here, there):
            existing(session.get(WorldRow, world_id), "world", world_id)
        one, other = (deps.worlds.open(session, world_id) for world_id in (here, there))
        return Comparison(
            here=one,
            there=other,
            parted_at=_parted_at(session, here, there),
            conversations=_conversations(session, one, other, limit),
            memories_here=_memories(session, one, other, limit),
            memories_there=_memories(session, other, one, limit),
            attitudes=_attitudes(session, one, other, limit),
            promises=_promises(session, one, other, limit),
        )

    return await deps.database.read(work)


def _parted_at(session: Session, here: str, there: str) -> WorldTime | None:
    ours, theirs = _origins(session, here), _origins(session, there)
    common = next((world_id for world_id in ours if world_id in theirs), None)
    return None if common is None else WorldTime(min(ours[common], theirs[common]))


def _origins(session: Session, world_id: str) -> dict[str, int]:
    """The world and those that it was before, each with the world time until which it was that one."""
    found: dict[str, int] = {}
    row = session.get(WorldRow, world_id)
    until = None if row is None else row.now
    while row is not None and until is not None and row.id not in found:
        found[row.id] = until
        until = row.branched_at
        row = None if row.branched_from is None else session.get(WorldRow, row.branched_from)
    return found


def _only(
    table: type[SQLModel], world_id: str, other: str, key: Sequence[str], also: Sequence[str] = ()
) -> tuple[Any, sa.Select[Any]]:
    """A query for the rows of the world of which the other has none with the same `key` and the same `also`; first the
    name that the query has for the table.
    """
    mine, its = cast("Any", aliased(table)), cast("Any", aliased(table))
    same = [getattr(mine, name) == getattr(its, name) for name in key]
    same += [getattr(mine, name).is_not_distinct_from(getattr(its, name)) for name in also]
    query = sa.select(mine).outerjoin(its, sa.and_(its.world_id == other, *same))
    return mine, query.where(mine.world_id == world_id, its.world_id.is_(None))


def _conversations(session: Session, one: WorldView, other: WorldView, limit: int) -> First[ConversationDifference]:
    since: dict[str, int] = {}
    for mine, its in ((one.id, other.id), (other.id, one.id)):
        turn, query = _only(TurnRow, mine, its, ("conversation_id", "turn"), ("speaker_id", "text"))
        found = query.with_only_columns(turn.conversation_id, sa.func.min(turn.at)).group_by(turn.conversation_id)
        for of, at in session.execute(found):
            since[of] = min(at, since.get(of, at))
    first = sorted(since, key=lambda of: (since[of], of))[:limit]
    items = [_conversation(session, one, other, of, since[of]) for of in first]
    return First[ConversationDifference](count=len(since), items=items)


def _conversation(session: Session, one: WorldView, other: WorldView, of: str, at: int) -> ConversationDifference:
    turns = select(TurnRow).where(TurnRow.conversation_id == of).order_by(col(TurnRow.turn))
    here, there = (session.exec(turns.where(TurnRow.world_id == world.id)).all() for world in (one, other))
    both = [*enumerate(zip_longest(here, there))]
    start = next(turn for turn, (ours, theirs) in both if _said(ours) != _said(theirs))
    row = session.get(ConversationRow, (one.id, of)) or session.get_one(ConversationRow, (other.id, of))
    return ConversationDifference(
        id=of,
        people=[_name(part.person_id, one, other) for part in row.participants],
        at=at,
        here=len(here),
        there=len(there),
        turns=[
            TurnDifference(turn=turn, here=ours, there=theirs)
            for turn, (ours, theirs) in both[start : start + TURNS_SHOWN]
        ],
    )


def _name(person_id: str, one: WorldView, other: WorldView) -> str:
    """The person may have been made in one of the worlds only."""
    return (one if one.cast.find(person_id) else other).name_of(person_id)


def _said(turn: TurnRow | None) -> tuple[str, str] | None:
    return None if turn is None else (turn.speaker_id, turn.text)


def _memories(session: Session, one: WorldView, other: WorldView, limit: int) -> First[OneSidedMemory]:
    """What is remembered in the world and not in the other."""
    count, found = 0, list[tuple[int, str, Kind, str]]()
    for name, policy in POLICIES.items():
        if policy.remembered_as is None:
            continue
        key = [column.name for column in SQLModel.metadata.tables[name].primary_key if column.name != "world_id"]
        mine, query = _only(TABLES[name], one.id, other.id, key, (policy.text,))
        at, text = getattr(mine, policy.known or ""), getattr(mine, policy.text)
        named = policy.remembered_as
        kind = sa.literal(named) if named in set(Kind) else getattr(mine, named)
        query = query.where(text != "")
        count += session.scalar(sa.select(sa.func.count()).select_from(query.subquery())) or 0
        first = query.with_only_columns(at, mine.person_id, kind, text).order_by(at, mine.person_id, text)
        found += [(*row,) for row in session.execute(first.limit(limit))]
    return First[OneSidedMemory](
        count=count,
        items=[
            OneSidedMemory(at=at, person_id=person_id, name=_name(person_id, one, other), kind=kind, text=text)
            for at, person_id, kind, text in sorted(found)[:limit]
        ],
    )


def _attitudes(session: Session, one: WorldView, other: WorldView, limit: int) -> First[AttitudeDifference]:
    judged = ("affinity_delta", "met", "power", "intimacy", "task_oriented")
    pairs: set[tuple[str, str]] = set()
    for mine, its in ((one.id, other.id), (other.id, one.id)):
        change, query = _only(AttitudeChangeRow, mine, its, ("owner_id", "other_id", "id"), judged)
        found = session.execute(query.with_only_columns(change.owner_id, change.other_id).distinct())
        pairs.update((owner_id, other_id) for owner_id, other_id in found)
    owners = {owner_id for owner_id, _ in pairs}
    here, there = (attitudes_of(session, world.id, owners, world.now) for world in (one, other))
    differing = [
        (pair, ours, theirs)
        for pair in sorted(pairs)
        if (ours := here[pair[0]].get(pair[1], STRANGERS)) != (theirs := there[pair[0]].get(pair[1], STRANGERS))
    ]
    differing.sort(key=lambda each: -abs(each[1].affinity - each[2].affinity))
    items = [
        AttitudeDifference(
            person_id=owner_id,
            name=_name(owner_id, one, other),
            other_id=other_id,
            other_name=_name(other_id, one, other),
            here=ours,
            there=theirs,
        )
        for (owner_id, other_id), ours, theirs in differing[:limit]
    ]
    return First[AttitudeDifference](count=len(differing), items=items)


def _promises(session: Session, one: WorldView, other: WorldView, limit: int) -> First[PromiseDifference]:
    made: dict[str, CommitmentRow] = {
        row.id: row
        for mine, its in ((one.id, other.id), (other.id, one.id))
        for row in session.scalars(_only(CommitmentRow, mine, its, ("id",), ("what", "state", "due_at"))[1])
    }
    first = sorted(made.values(), key=lambda row: (row.made_at, row.id))[:limit]
    return First[PromiseDifference](
        count=len(made),
        items=[
            PromiseDifference(
                id=row.id,
                by_name=_name(row.by_id, one, other),
                to_name=_name(row.to_id, one, other),
                here=session.get(CommitmentRow, (one.id, row.id)),
                there=session.get(CommitmentRow, (other.id, row.id)),
            )
            for row in first
        ],
    )
