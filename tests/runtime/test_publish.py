"""What the core has worked out is told in the log with its payload."""

from sqlmodel import Session

from service.conversation.dependencies import ConversationDependencies
from service.runtime.publish import publish
from service.runtime.world_session import WorldSession
from service.store.event_kinds import ActionFailed
from service.store.events import events_after, payload_in
from tests.runtime.worlds import command
from world.actions import Reason
from world.events import Event, EventKind


def test_what_could_not_be_had_is_told_with_the_reason(room: ConversationDependencies) -> None:
    data = {"action_id": "eat_out", "reason": "no_seat", "facility_id": "tavern"}

    def work(session: Session, world_session: WorldSession) -> None:
        failed = Event(time=world_session.world.now, kind=EventKind.FAILED, person_id="aoi", data=data)
        publish(session, world_session, [failed], {}, at_once=world_session.world.now)

    command(room, work)
    (event,) = room.database.read_now(lambda s: events_after(s, "main", 0, 9))
    assert payload_in(event) == ActionFailed(action_id="eat_out", reason=Reason.NO_SEAT, facility_id="tavern")
    assert (event.person_id, event.data) == ("aoi", data)
