"""Owns what a client makes a character do: walk somewhere, or sleep."""

from dataclasses import dataclass

from sqlalchemy import delete
from sqlmodel import Session, col

from service.cast.stage import Stage, World
from service.cast.whereabouts import move, segment_of
from service.conversation.start import require_free
from service.errors import Closed, Invalid, NotFound, NoWayThere
from service.store.events import note
from service.store.tables import CharacterRow, DailyConversationRow
from world.errors import Unreachable
from world.people import Segment, node_at, walking_at
from world.places import Facility
from world.routes import Path
from world.time import WorldTime, iso


@dataclass(frozen=True, kw_only=True, slots=True)
class Destination:
    """Where to walk: exactly one of a node, a facility or a person (an NPC is walked up to, beside its post)."""

    node_id: str | None = None
    facility_id: str | None = None
    npc_id: str | None = None

    def __post_init__(self) -> None:
        if sum(value is not None for value in (self.node_id, self.facility_id, self.npc_id)) != 1:
            raise Invalid(field="to", reason="give exactly one of node_id, facility_id, npc_id")


def walk(session: Session, stage: Stage, world_id: str, character_id: str, to: Destination) -> Segment:
    """Send the character on its way from now on; the caller commits. Who is there already stays.

    A walker is turned round at the last node it reached.

    Raises:
        NotFound: no such character, node, facility or NPC.
        Busy: the character talks.
        NoWayThere: no open way.
        Closed: the facility is shut when the character would arrive.
    """
    world = stage.open(session, world_id, lock=True)
    world.character(character_id)
    require_free(session, world, character_id)
    segment = segment_of(session, world, character_id)
    path = _path(world, node_at(segment, world.now), to)
    walked = Segment.walk(path, world.now)
    if len(path.nodes) > 1 or walking_at(segment, world.now):
        move(session, world, character_id, walked)
        note(
            session,
            world.id,
            world.now,
            "departed",
            character_id,
            from_node_id=path.nodes[0],
            to_node_id=path.nodes[-1],
            arrives_at=iso(walked.arrival),
        )
    return walked


def sleep(session: Session, stage: Stage, world_id: str, character_id: str) -> int:
    """Let the character sleep: the day's conversations are cleared, nothing else. Answers how many; the caller commits.

    Who is on the way lies down at the last node reached.

    Raises:
        NotFound: no such character.
        Busy: the character talks.
    """
    world = stage.open(session, world_id, lock=True)
    world.character(character_id)
    require_free(session, world, character_id)
    segment = segment_of(session, world, character_id)
    if walking_at(segment, world.now):
        move(session, world, character_id, segment.cut(world.now))
    row = session.get(CharacterRow, (world.id, character_id), with_for_update=True)
    if row is None:
        row = CharacterRow(world_id=world.id, character_id=character_id)
        session.add(row)
    row.sleeps += 1
    cleared = session.execute(
        delete(DailyConversationRow)
        .where(
            col(DailyConversationRow.world_id) == world.id,
            col(DailyConversationRow.character_id) == character_id,
        )
        .returning(col(DailyConversationRow.conversation_id))
    ).all()
    note(session, world.id, world.now, "slept", character_id, cleared=len(cleared))
    return len(cleared)


def _path(world: World, start: str, to: Destination) -> Path:
    try:
        if to.facility_id is not None:
            return _path_into(world, start, _facility(world, to.facility_id))
        if to.npc_id is not None:
            world.npc(to.npc_id)
            return world.routes.path_beside(start, world.map.posts[to.npc_id])
        if to.node_id is None or to.node_id not in world.map.nodes:
            raise NotFound(kind="node", id=to.node_id)
        return world.routes.path(start, to.node_id)
    except Unreachable as exc:
        raise NoWayThere(start=exc.start, goal=exc.goal) from exc


def _path_into(world: World, start: str, facility: Facility) -> Path:
    path = world.routes.path_to_any(start, facility.node_ids)
    arrival = WorldTime(world.now + path.minutes)
    if not facility.open_at(arrival):
        hours = ", ".join(open_hours.label for open_hours in facility.hours)
        raise Closed(facility=facility.name, facility_id=facility.id, at=iso(arrival), hours=hours)
    return path


def _facility(world: World, facility_id: str) -> Facility:
    found = world.map.facilities.get(facility_id)
    if found is None:
        raise NotFound(kind="facility", id=facility_id)
    return found
