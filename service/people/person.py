"""Owns what the store knows of a person: its row, its life, its needs, and where it is, now and at past times."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter
from sqlmodel import Session, col, func, select

from service.people.worlds import WorldView
from service.store.tables import MovementRow, PersonRow
from world.life import Activity, Person, Position, Segment, TalkState, position_at
from world.needs import Levels, Needs
from world.time import WorldTime


def person_row(session: Session, world_id: str, person_id: str, *, lock: bool = False) -> PersonRow:
    """The person's row; a fresh one where nothing about it has changed yet.

    With `lock` (inside a write) the row is stored, and held until the transaction ends.
    """
    row = session.get(PersonRow, (world_id, person_id), with_for_update=lock or None)
    if row is None:
        row = PersonRow(world_id=world_id, person_id=person_id)
        if lock:
            session.add(row)
            session.flush()
    return row


def person_rows(session: Session, world_id: str, person_ids: Collection[str]) -> dict[str, PersonRow]:
    """The rows of several persons, by their ids; fresh ones where nothing has changed yet."""
    query = select(PersonRow).where(PersonRow.world_id == world_id, col(PersonRow.person_id).in_(person_ids))
    known = {row.person_id: row for row in session.exec(query)}
    return {i: known.get(i) or PersonRow(world_id=world_id, person_id=i) for i in person_ids}


def is_of_another_game(session: Session, world: WorldView) -> bool:
    """Somebody has lived there, and its content knows none of those."""
    lived = select(PersonRow.person_id).where(PersonRow.world_id == world.id, col(PersonRow.life).is_not(None))
    return bool(found := set(session.exec(lived))) and found.isdisjoint(world.cast.characters)


def night_of(world: WorldView, row: PersonRow) -> int:
    """The number of the person's day: a character counts its nights, anybody else the world's days."""
    return row.sleeps if row.person_id in world.cast.characters else world.day


_PERSON = TypeAdapter(Person)
STORED_TALK = TypeAdapter(TalkState)
"""How a talk is stored."""


def person_record(person: Person, needs: Needs) -> dict[str, Any]:
    """As it is stored; `needs` says which level is of which need."""
    return {**_PERSON.dump_python(person, mode="json"), "needs": [need.id for need in needs.all]}


def read_person(record: dict[str, Any], needs: Needs) -> Person:
    """What `person_record` wrote. A need that the author has added since begins where it begins for a newcomer."""
    record = dict(record)
    written: list[str] = record.pop("needs")
    person = _PERSON.validate_python(record)
    if written == [need.id for need in needs.all]:
        return person
    return replace(person, past=tuple(_carried_over(activity, written, needs) for activity in person.past))


def _carried_over(activity: Activity, written: list[str], needs: Needs) -> Activity:
    old = activity.levels
    values, rates = dict(zip(written, old.values, strict=True)), dict(zip(written, old.rates, strict=True))
    levels = Levels(
        since=old.since,
        values=tuple(values.get(need.id, need.start) for need in needs.all),
        rates=tuple(rates.get(need.id, need.drift_per_hour) for need in needs.all),
    )
    return replace(activity, levels=levels)


@dataclass(frozen=True, kw_only=True, slots=True)
class FeltNeed:
    """A need as the character feels it. `level` is rounded."""

    need_id: str
    name: str
    level: int
    lowest: int
    highest: int
    is_critical: bool
    can_be_critical: bool


def felt_needs(world: WorldView, levels: Mapping[str, float], critical: Collection[str]) -> tuple[FeltNeed, ...]:
    """Every need of the catalogue at those levels (by need id), in the author's order."""
    return tuple(
        FeltNeed(
            need_id=need.id,
            name=need.name or need.id,
            level=round(levels[need.id]),
            lowest=round(need.lowest),
            highest=round(need.highest),
            is_critical=need.id in critical,
            can_be_critical=need.critical is not None,
        )
        for need in world.setting.catalogue.needs.all
    )


def levels_of(world: WorldView, character_id: str, person: Person | None) -> Levels:
    """The levels at the moment of `world`; for a character without a life yet (`person` None) those that it begins
    with.

    Raises:
        NotFound: there is no such character.
    """
    if person is not None:
        return person.during(world.now).levels
    began = WorldTime(world.now - 1)  # as `world.simulation.newcomer` begins a life
    return world.setting.catalogue.needs.first(began, world.cast.character(character_id).needs)


def segment_of(session: Session, world: WorldView, character_id: str) -> Segment:
    """The segment that holds the character at the moment of `world`. It begins at home."""
    query = (
        select(MovementRow)
        .where(
            MovementRow.world_id == world.id,
            MovementRow.character_id == character_id,
            MovementRow.starts_at <= world.now,
        )
        .order_by(col(MovementRow.starts_at).desc())
        .limit(1)
    )
    row = session.exec(query).first()
    if row is None:
        return Segment.stay(world.home(character_id), world.started_at)
    return Segment(path=tuple(row.path), times=tuple(WorldTime(t) for t in row.times))


def segments_between(
    session: Session, world: WorldView, character_id: str, since: WorldTime, until: WorldTime
) -> list[Segment]:
    """The segments that hold the character from `since` to `until`, both included, in order."""
    query = select(MovementRow).where(
        MovementRow.world_id == world.id,
        MovementRow.character_id == character_id,
        MovementRow.starts_at > since,
        MovementRow.starts_at <= until,
    )
    rows = session.exec(query.order_by(col(MovementRow.starts_at)))
    later = [Segment(path=tuple(row.path), times=tuple(WorldTime(t) for t in row.times)) for row in rows]
    return [segment_of(session, world.at(since), character_id), *later]


def positions(session: Session, world: WorldView) -> dict[str, Position]:
    """Everybody's position at the moment of `world`, NPCs included."""
    stand = {**world.map.posts, **standing_players(session, world)}
    walk = {i: position_at(segment_of(session, world, i), world.now) for i in world.cast.homes}
    return {i: Position(node_id=node_id) for i, node_id in stand.items()} | walk


def standing_players(session: Session, world: WorldView, *, only: Collection[str] | None = None) -> dict[str, str]:
    """The node on which each player (or `only` these) stands at the moment of `world`; players that are nowhere are
    left out.
    """
    players = world.cast.players if only is None else only
    if not players:
        return {}
    mine = (MovementRow.world_id == world.id, col(MovementRow.character_id).in_(players))
    last = select(MovementRow.character_id, func.max(MovementRow.starts_at).label("last")).where(
        *mine, MovementRow.starts_at <= world.now
    )
    newest = last.group_by(col(MovementRow.character_id)).subquery()
    rows = session.exec(
        select(MovementRow).where(
            *mine, MovementRow.character_id == newest.c.character_id, MovementRow.starts_at == newest.c.last
        )
    )
    return {row.character_id: row.path[0] for row in rows if row.path and row.path[0] in world.map.nodes}


def player_between(
    session: Session, world: WorldView, player_id: str, since: WorldTime, until: WorldTime
) -> dict[int, str]:
    """The node on which the player stands in each minute from `since` to before `until`; none where it is nowhere."""
    first = standing_players(session, world.at(since), only=[player_id]).get(player_id)
    moves = select(MovementRow).where(
        MovementRow.world_id == world.id,
        MovementRow.character_id == player_id,
        MovementRow.starts_at > since,
        MovementRow.starts_at < until,
    )
    rows = session.exec(moves.order_by(col(MovementRow.starts_at))).all()
    stood = dict.fromkeys(range(since, until), first)
    for row in rows:
        stood |= dict.fromkeys(range(row.starts_at, until), row.path[0] if row.path else None)
    return {t: node_id for t, node_id in stood.items() if node_id is not None}


def put_player(session: Session, world: WorldView, player_id: str, node_id: str | None) -> None:
    """From now on the player stands there; None: nowhere."""
    path: list[str] = [] if node_id is None else [node_id]
    times: list[int] = [world.now for _ in path]
    session.merge(MovementRow(world_id=world.id, character_id=player_id, starts_at=world.now, path=path, times=times))


def move(session: Session, world: WorldView, character_id: str, segment: Segment) -> None:
    """Let the character follow the segment from its start on, instead of one that begins in the same minute."""
    session.merge(
        MovementRow(
            world_id=world.id,
            character_id=character_id,
            starts_at=segment.start,
            path=list(segment.path),
            times=list(segment.times),
        )
    )
