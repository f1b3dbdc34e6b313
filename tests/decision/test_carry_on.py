"""Going on without a question while nothing is new; each thing that is new makes the character's model be asked."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlmodel import Session

from service.content.profile import RoutineBlock
from service.conversation.dependencies import ConversationDependencies
from service.decision.choose import MAX_REVISIONS, MOST, Chosen
from service.decision.options import LONGEST_WAIT
from service.decision.situation import LastAsked
from service.errors import ModelUnreachable
from service.people.worlds import Notice, WorldView
from service.store.tables import PersonRow
from tests.conversation.talks import remember_talk
from tests.decision.desks import NINE, PLANNED, Sitting, decides, sitting, snapshot_of, world_of
from tests.scripted_model import ScriptedModel
from world.actions import WAIT, WALK, Reason, Refusal
from world.perception import Seen, Snapshot
from world.time import WorldTime, parse_time

AWAY = ModelUnreachable(model="m", base_url="http://x", reason="refused")
TEN = WorldTime(NINE + 60)
FREE = Seen(id="mio", node_id="inn_hall", minutes=0, doing="work", approachable=True)
FAR = Seen(id="mio", node_id="inn_front", minutes=2, doing="work", approachable=True)


def _meets(room: ConversationDependencies, partner_id: str) -> None:
    room.database.write_now(
        lambda s: remember_talk(s, "aoi", partner_id, "Tea.", NINE - 60, conversation_id=partner_id)
    )


def _asked(room: ConversationDependencies, script: ScriptedModel, first: Snapshot | None = None) -> Sitting:
    """Aoi, who has talked with Fumi, chose at nine to work at the inn, as her day wants until half past eleven."""
    _meets(room, "npc_fumi")
    sits = sitting(room, agent_state=replace(PLANNED, revisions=MAX_REVISIONS))
    script.enqueue(decides(1))
    chosen = sits.choose(first or snapshot_of(sits.world))
    assert (chosen.by, chosen.option.action_id, chosen.option.facility_id) == ("model", "work", "inn")
    return sits


def _then(world: WorldView, at: WorldTime = TEN, *, needs: dict[str, float] | None = None) -> Snapshot:
    return replace(snapshot_of(world, at=at, needs=needs), ended="work", because="done")


def _again(sits: Sitting, script: ScriptedModel, snapshot: Snapshot) -> Chosen:
    """The next decision, with an answer at hand if the model is asked."""
    script.enqueue(decides(99), decides(99))
    return sits.choose(snapshot)


def test_who_works_on_as_its_day_wants_is_not_asked(room: ConversationDependencies, script: ScriptedModel) -> None:
    sits = _asked(room, script)
    before = len(script.history)
    chosen = _again(sits, script, _then(sits.world))
    assert (chosen.by, chosen.option.action_id, chosen.option.facility_id) == ("plan", "work", "inn")
    assert (len(script.history) - before, chosen.usage.calls, chosen.usage.failures, chosen.planned) == (0, 0, 0, False)
    assert (chosen.agent_state.thought, chosen.agent_state.decided_at) == ("", TEN)
    assert chosen.option.walk_minutes == 0


def test_it_goes_on_so_only_a_few_times(room: ConversationDependencies, script: ScriptedModel) -> None:
    sits = _asked(room, script)
    by = [_again(sits, script, _then(sits.world, WorldTime(NINE + 10 * i))).by for i in range(1, MOST + 2)]
    assert by == ["plan"] * MOST + ["fallback"]


def test_after_a_new_answer_it_may_go_on_again(room: ConversationDependencies, script: ScriptedModel) -> None:
    sits = _asked(room, script)
    assert sits.agent_state.last_asked is not None
    sits.agent_state = replace(sits.agent_state, last_asked=replace(sits.agent_state.last_asked, continuations=MOST))
    script.enqueue(decides(1))
    assert sits.choose(_then(sits.world)).by == "model"
    assert sits.choose(_then(sits.world, WorldTime(NINE + 90))).by == "plan"


def _npc(npc_id: str, minutes: int, *talks_with: str) -> Seen:
    """An NPC in sight, free where nobody talks with it."""
    return Seen(
        id=npc_id, node_id="its_post", minutes=minutes, doing=None, approachable=not talks_with, talks_with=talks_with
    )


CHANGES: dict[str, Callable[[Snapshot], Snapshot]] = {
    "its alarm rang": lambda s: replace(s, because="alarm"),
    "somebody stopped it": lambda s: replace(s, because="roused"),
    "it was spoken to": lambda s: replace(s, ended="talk"),
    "a need is critical": lambda s: replace(s, critical=("satiety",)),
    "somebody is new in sight, though busy": lambda s: replace(s, people=(replace(FREE, approachable=False),)),
    "somebody is new in sight, though far": lambda s: replace(s, people=(FAR,)),
    "an NPC is new in sight": lambda s: replace(s, npcs=(*s.npcs, _npc("npc_taro", 2, "ren"))),
    "its day's next block has begun": lambda s: replace(s, time=parse_time("2026-04-01T11:35")),
    "the block wants something else": lambda s: replace(s, levels={**s.levels, "energy": 24}),
    "it stands elsewhere": lambda s: replace(s, node_id="nagaya_one", npcs=(), people=()),
}


@pytest.mark.parametrize("what", CHANGES)
def test_its_model_is_asked_when(room: ConversationDependencies, script: ScriptedModel, what: str) -> None:
    sits = _asked(room, script)
    before = len(script.history)
    assert _again(sits, script, CHANGES[what](_then(sits.world))).by == "fallback"
    assert len(script.history) > before


def test_it_is_asked_when_what_it_chose_was_in_vain(room: ConversationDependencies, script: ScriptedModel) -> None:
    sits = _asked(room, script)
    sits.agent_state = replace(sits.agent_state, failed=Refusal(action_id="bath", reason=Reason.NO_SEAT))
    assert _again(sits, script, _then(sits.world)).by == "fallback"


def test_it_is_asked_when_a_need_is_critical_that_nothing_helps(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    sits = _asked(room, script)
    poor = _then(sits.world, needs={"money": 0})
    assert _again(sits, script, replace(poor, critical=("satiety",))).by == "fallback"


def test_it_is_asked_when_another_block_begins_that_wants_the_same(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    sits = _asked(room, script)
    assert sits.agent_state.last_asked is not None
    sits.agent_state = replace(sits.agent_state, last_asked=replace(sits.agent_state.last_asked, block_since=NINE - 90))
    assert _again(sits, script, _then(sits.world)).by == "fallback"


def test_it_is_asked_when_the_weather_has_turned_or_something_is_announced(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    sits = _asked(room, script)
    agent_state, world = sits.agent_state, sits.world
    notice = Notice(at=TEN, until=WorldTime(TEN + 60), text="The festival is today")
    for changed in (replace(world, weather="Rain"), replace(world, notices=(notice,))):
        sits.agent_state, sits.world = agent_state, changed
        assert _again(sits, script, _then(sits.world)).by == "fallback"
    later = replace(notice, at=WorldTime(TEN + 1))
    sits.agent_state, sits.world = agent_state, replace(world, notices=(later,))
    assert _again(sits, script, _then(sits.world)).by == "plan"


def test_it_is_asked_when_it_was_given_something(room: ConversationDependencies, script: ScriptedModel) -> None:
    sits = _asked(room, script)

    def give(session: Session) -> None:
        session.add(PersonRow(world_id="main", person_id="aoi", items=["a letter"]))

    room.database.write_now(give)
    assert _again(sits, script, _then(sits.world)).by == "fallback"


def _seeing(snapshot: Snapshot, *people: Seen) -> Snapshot:
    return replace(snapshot, people=people)


@pytest.mark.parametrize(
    ("seen", "by"),
    [
        (FREE, "fallback"),
        (replace(FREE, approachable=False), "plan"),
        (replace(FREE, doing=WALK, approachable=False), "plan"),
        (FAR, "plan"),
    ],
)
def test_it_is_asked_while_somebody_is_at_hand_whom_it_has_not_met_today(
    room: ConversationDependencies, script: ScriptedModel, seen: Seen, by: str
) -> None:
    sits = _asked(room, script, _seeing(snapshot_of(world_of(room)), FREE))
    assert _again(sits, script, _seeing(_then(sits.world), seen)).by == by


def test_who_was_met_today_is_not_a_reason_to_ask(room: ConversationDependencies, script: ScriptedModel) -> None:
    sits = _asked(room, script, _seeing(snapshot_of(world_of(room)), FREE))
    _meets(room, "mio")
    assert _again(sits, script, _seeing(_then(sits.world), FREE)).by == "plan"
    assert _again(sits, script, _seeing(_then(sits.world, WorldTime(NINE + 90)))).by == "plan", "who leaves is no news"


@pytest.mark.parametrize(
    ("node_id", "talks_with", "by"),
    [("inn_hall", (), "fallback"), ("inn_hall", ("ren",), "plan"), ("inn_bath", (), "plan")],
)
def test_an_npc_beside_it_that_is_free_and_not_met_today_is_a_reason_to_ask(
    room: ConversationDependencies, script: ScriptedModel, node_id: str, talks_with: tuple[str, ...], by: str
) -> None:
    sits = sitting(room)
    script.enqueue(decides(1))
    sits.choose(snapshot_of(sits.world, node_id=node_id))
    distances = sits.world.setting.distances
    seen = (_npc("npc_fumi", distances.to_npc("npc_fumi")[distances.node_index(node_id)], *talks_with),)
    assert _again(sits, script, replace(_then(sits.world), node_id=node_id, npcs=seen)).by == by


def test_a_model_that_failed_is_asked_again(room: ConversationDependencies, script: ScriptedModel) -> None:
    _meets(room, "npc_fumi")
    sits = sitting(room)
    script.enqueue(AWAY, decides(1))
    failed = sits.choose(snapshot_of(sits.world))
    assert (failed.by, failed.agent_state.last_asked) == ("fallback", None)
    assert sits.choose(_then(sits.world)).by == "model"


@pytest.mark.parametrize(
    ("ended", "by"),
    [("rest", "plan"), (WAIT, "plan"), ("read_and_write", "plan"), ("cook", "fallback"), ("work", "fallback")],
)
def test_who_does_nothing_much_at_home_may_go_on_so(
    room: ConversationDependencies, script: ScriptedModel, ended: str, by: str
) -> None:
    noon = parse_time("2026-04-01T12:00")
    plan = (RoutineBlock(starts=12 * 60, activity="Takes it slowly"), RoutineBlock(starts=22 * 60, activity="Sleeps"))
    last = LastAsked(action_id=ended, block_since=noon)
    sits = sitting(room, agent_state=replace(PLANNED, plan=plan, last_asked=last))
    snapshot = snapshot_of(sits.world, node_id="nagaya_one", at=WorldTime(noon + 60), needs={"satiety": 90})
    chosen = _again(sits, script, replace(snapshot, npcs=(), ended=ended, because="done"))
    assert chosen.by == by
    if by == "plan":
        assert (chosen.option.action_id, chosen.option.minutes) == (WAIT, LONGEST_WAIT)
        assert chosen.agent_state.last_asked == replace(last, action_id=WAIT, continuations=1)


def test_who_waits_for_a_place_to_open_does_not_do_nothing_much_instead(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    noon = parse_time("2026-04-01T12:00")
    plan = (
        RoutineBlock(starts=12 * 60, activity="Waits for it to open", facility_id="tavern"),
        RoutineBlock(starts=22 * 60, activity="Sleeps"),
    )
    last = LastAsked(action_id="rest", block_since=noon)
    sits = sitting(room, agent_state=replace(PLANNED, plan=plan, revisions=MAX_REVISIONS, last_asked=last))
    node_id = sits.world.map.facility("tavern").node_ids[0]
    snapshot = snapshot_of(sits.world, node_id=node_id, at=WorldTime(noon + 60))
    rested = replace(snapshot, npcs=(), ended="rest", because="done")
    assert _again(sits, script, rested).by == "fallback"


def test_its_home_is_no_place_to_go_on_while_the_day_is_elsewhere(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    last = LastAsked(action_id="rest", block_since=NINE - 30, seen=("npc_fumi",))
    _meets(room, "npc_fumi")
    sits = sitting(room, agent_state=replace(PLANNED, last_asked=last))
    rested = replace(snapshot_of(sits.world), ended="rest", because="done")
    assert _again(sits, script, rested).by == "fallback"
