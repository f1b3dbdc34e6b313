"""Owns where people are: NPCs at their posts, characters and NPCs that may leave along the segments of their way,
players where clients have put them; now and at past times.
"""

from collections.abc import Collection

from sqlmodel import Session, col, func, select

from service.people.worlds import WorldView
from service.store.tables import MovementRow
from world.movement import Position, Segment, position_at
from world.time import WorldTime


def segment_of(session: Session, world: WorldView, character_id: str, at: WorldTime | None = None) -> Segment:
    """The segment that holds the character at world time `at` (None: now). It begins at home."""
    moment = world.now if at is None else at
    query = (
        select(MovementRow)
        .where(
            MovementRow.world_id == world.id,
            MovementRow.character_id == character_id,
            MovementRow.starts_at <= moment,
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
    return [segment_of(session, world, character_id, since), *later]


def positions(session: Session, world: WorldView, at: WorldTime | None = None) -> dict[str, Position]:
    """Everybody's position at `at` (None: now), NPCs included."""
    moment = world.now if at is None else at
    here = {npc_id: Position(node_id=node_id) for npc_id, node_id in world.map.posts.items()}
    for character_id in world.cast.homes:
        here[character_id] = position_at(segment_of(session, world, character_id, moment), moment)
    return here | {i: Position(node_id=node_id) for i, node_id in standing_players(session, world, moment).items()}


def standing_players(
    session: Session, world: WorldView, at: WorldTime | None = None, *, only: Collection[str] | None = None
) -> dict[str, str]:
    """The node on which each player (or `only` these) stands at `at` (None: now); who is nowhere is left out."""
    players = world.cast.players if only is None else only
    if not players:
        return {}
    mine = (MovementRow.world_id == world.id, col(MovementRow.character_id).in_(players))
    last = select(MovementRow.character_id, func.max(MovementRow.starts_at).label("last")).where(
        *mine, MovementRow.starts_at <= (world.now if at is None else at)
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
    first = standing_players(session, world, since, only=[player_id]).get(player_id)
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
