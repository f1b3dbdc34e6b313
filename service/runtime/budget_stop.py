"""Owns the stop of a running clock by the service itself: no model may be asked any more, and somebody would ask
one.
"""

from sqlmodel import Session, select

from service.people.worlds import WorldRepository
from service.runtime.world_session import how_of
from service.store.event_kinds import ClockStopped, Stopped
from service.store.events import note
from service.store.tables import PersonRow, WorldRow


def asks_models(session: Session, worlds: WorldRepository, world_id: str) -> bool:
    """Whether anybody in the world decides by model. A world of routines costs nothing."""
    world = worlds.open(session, world_id)
    people = session.exec(select(PersonRow).where(PersonRow.world_id == world_id))
    said = {person.person_id: person.decision for person in people}
    return any(how_of(world, i, said.get(i), models_missing=False) == "model" for i in world.cast.characters)


def stop_for_budget(session: Session, worlds: WorldRepository, world_id: str) -> None:
    """Set the world's running clock to manual, and tell why; the caller commits."""
    world = worlds.open(session, world_id, lock=True)
    row = session.get_one(WorldRow, world_id)
    if row.clock_mode != "running":
        return  # a client has stopped it in the same moment
    reason: Stopped = "budget_exhausted"
    row.clock_mode, row.clock_stopped, row.target = "manual", reason, None
    note(session, world_id, world.now, ClockStopped(reason=reason))
