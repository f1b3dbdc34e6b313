"""What keeping an appointment takes: somebody wakes in time to walk there, and is offered to, in both languages."""

import pytest

from service.conversation.dependencies import ConversationDependencies
from service.decision.context import DecisionContext
from service.decision.options import offered
from service.decision.routine import MARGIN_MINUTES, by_routine, in_time, keeping, wake_for
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


def test_it_is_offered_when_it_is_time_to_go(room: ConversationDependencies) -> None:
    setting, walk = world_of(room).setting, walk_of(room)
    snapshot = snapshot_of(world_of(room), node_id=FROM)
    assert keeping(setting, snapshot, [promised(NINE + walk + 60)]) == ()
    (found,) = keeping(setting, snapshot, [promised(NINE + walk + MARGIN_MINUTES)])
    assert found.option == Option(action_id=WAIT, node_id=PLACE, walk_minutes=walk, minutes=MARGIN_MINUTES)
    (late,) = keeping(setting, snapshot, [promised(NINE + walk - 10)])
    assert late.option.minutes == 5
    assert keeping(setting, snapshot, [promised(NINE + walk - 16)]) == ()


def test_who_is_there_with_the_other_at_the_time_has_nothing_to_keep(room: ConversationDependencies) -> None:
    world, soon, now = world_of(room), promised(NINE + 5), promised(NINE)
    alone = snapshot_of(world, node_id=PLACE)
    together = snapshot_of(world, node_id=PLACE, others={"isao": PLACE})
    assert [one.option.minutes for one in keeping(world.setting, alone, [soon])] == [5]
    assert [one.option.minutes for one in keeping(world.setting, together, [soon])] == [5]
    assert [one.option.minutes for one in keeping(world.setting, alone, [now])] == [15]
    assert keeping(world.setting, together, [now]) == ()


def test_who_goes_to_keep_it_is_not_woken_for_it(room: ConversationDependencies) -> None:
    setting, walk = world_of(room).setting, walk_of(room)
    snapshot, one = snapshot_of(world_of(room), node_id=FROM), promised(NINE + walk + 10)
    (found,) = keeping(setting, snapshot, [one])
    assert wake_for(setting, snapshot, found.option, [one]) is None


def test_with_an_npc_one_meets_beside_it(room: ConversationDependencies) -> None:
    world = world_of(room)
    snapshot = snapshot_of(world, node_id=FROM)
    post = world.map.posts["npc_genzo"]
    walk = world.setting.routes.path_beside(FROM, post).minutes
    (found,) = keeping(world.setting, snapshot, [promised(NINE + walk, to_id="npc_genzo", node_id=post)])
    assert world.map.next_to(found.option.node_id, post)


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


def test_a_routine_keeps_it_before_all_else(room: ConversationDependencies) -> None:
    world, walk = world_of(room), walk_of(room)
    snapshot = snapshot_of(world, node_id=FROM, needs={"energy": 1})
    option, _ = by_routine(
        world.setting, world.cast.character("aoi"), snapshot, promised=(promised(NINE + walk + MARGIN_MINUTES),)
    )
    assert option.node_id == PLACE


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
