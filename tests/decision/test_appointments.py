"""What keeping an appointment takes: somebody wakes in time to walk there, and is offered to, in both languages."""

import pytest

from service.conversation.dependencies import ConversationDependencies
from service.decision.context import DecisionContext
from service.decision.options import offered
from service.decision.routine import MARGIN_MINUTES, in_time, wake_for
from service.decision.situation import AgentState, Situation
from service.locales import Language
from service.people.commitment import Commitment
from service.people.commitments import as_commitment
from service.people.worlds import WorldView
from tests.decision.desks import NINE, snapshot_of, world_of
from tests.runtime.promised import appointment
from world.actions import WAIT, Option
from world.perception import Snapshot
from world.time import WorldTime

FROM, PLACE = "inn_hall", "cedar_old"
MADE = WorldTime(NINE - 60)


def promised(due_at: int, *, by_id: str = "aoi", to_id: str = "isao", node_id: str = PLACE) -> Commitment:
    """To meet at the old cedar."""
    return as_commitment(appointment(by_id, to_id, node_id, WorldTime(due_at), MADE))


def walk_of(room: ConversationDependencies) -> int:
    """Minutes from the inn to the old cedar."""
    return world_of(room).setting.routes.minutes(FROM, PLACE)


def waiting(minutes: int) -> Option:
    """Waiting on the spot."""
    return Option(action_id=WAIT, node_id=FROM, minutes=minutes)


def test_it_wakes_in_time_to_walk_there(room: ConversationDependencies) -> None:
    setting, walk = world_of(room).setting, walk_of(room)
    snapshot, due = snapshot_of(world_of(room), node_id=FROM), NINE + 240
    assert wake_for(setting, snapshot, waiting(300), [promised(due)]) == due - walk - MARGIN_MINUTES
    far = Option(action_id=WAIT, node_id=PLACE, walk_minutes=240, minutes=5)
    assert wake_for(setting, snapshot, far, [promised(due)]) == due + 1
    assert wake_for(setting, snapshot, waiting(300), [promised(NINE + walk)]) is None


def test_what_cannot_be_interrupted_ends_in_time(room: ConversationDependencies) -> None:
    setting = world_of(room).setting
    snapshot = snapshot_of(world_of(room), node_id=FROM)
    sleep = next(action for action in setting.catalogue.actions if action.ends_day)
    night = Option(action_id=sleep.id, node_id=FROM, minutes=480)
    assert in_time(setting, snapshot, night, WorldTime(NINE + 200)).minutes == 200
    assert in_time(setting, snapshot, waiting(480), WorldTime(NINE + 200)).minutes == 480


@pytest.mark.parametrize(
    ("language", "own", "others"),
    [
        ("en", "Keep the promise: meet {name} at Thousand-Year Cedar, {at}", "{name} promised to meet you"),
        ("ja", "約束を守る: {at}に千年杉で{name}と会う", "{name}との約束: {at}に千年杉で会う"),
    ],
)
def test_the_offer_and_the_promise_are_told(
    room: ConversationDependencies, language: Language, own: str, others: str
) -> None:
    world = world_of(room, language)
    due = NINE + world.setting.routes.minutes(FROM, PLACE) + MARGIN_MINUTES
    at = f"{due % 1440 // 60:02d}:{due % 60:02d}"
    snapshot = snapshot_of(world, node_id=FROM)
    for one, text in ((promised(due), own), (promised(due, by_id="isao", to_id="aoi"), others)):
        context = _context(world, snapshot, one)
        assert context.offers[0].text.startswith(text.format(name=world.name_of("isao"), at=at))
        assert [offer.keeps for offer in context.offers if offer.keeps] == [one.id]
        assert [offer.number for offer in context.offers] == list(range(1, len(context.offers) + 1))
        (line,) = context.mid_term
        assert one.what.rstrip(".。") in line
        assert at.removeprefix("0") in line


def _context(world: WorldView, snapshot: Snapshot, one: Commitment) -> DecisionContext:
    situation = Situation(
        world=world.at(snapshot.time),
        snapshot=snapshot,
        agent_state=AgentState(),
        promised=(one,),
    )
    return situation.decision(offered(world, snapshot, situation.slot, (one,)), ())
