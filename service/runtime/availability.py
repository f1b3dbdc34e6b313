"""Owns whether somebody can be made to do something else now: nobody is taken out of a talk."""

from sqlmodel import Session

from service.conversation import start
from service.errors import Busy
from service.runtime.world_session import WorldSession
from world.life import State


def require_free(session: Session, world_session: WorldSession, person_id: str) -> None:
    """Raises: Busy: the person talks now, or is taking leave."""
    start.require_free(session, world_session.world, person_id)
    require_not_talking(world_session, person_id)


def require_not_talking(world_session: WorldSession, person_id: str) -> None:
    """Raises: Busy: the person is in a talk of the living world: its words may be spoken before its time is up."""
    person, now = world_session.core.people.get(person_id), world_session.world.now
    if person is None:
        return
    talk_id = next((a.talk_id for a in person.past if a.talk_id and a.start <= now < a.end), None)
    if talk_id is None and person.state in (State.TALKS, State.CLOSES) and person.last.start <= now:
        talk_id = person.last.talk_id
    if talk_id is None:
        return
    talk = world_session.core.talks[talk_id]
    partner_id = next(one for one in talk.members if one != person_id)
    raise Busy(
        person=world_session.world.name_of(person_id),
        person_id=person_id,
        partner=world_session.world.name_of(partner_id),
        partner_id=partner_id,
        conversation_id=world_session.conversation_id(talk),
    )
