"""Deciding with a model: checked, repaired once, else by routine; the day planned once, and revised when it breaks."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import Session

from service.content.profile import RoutineBlock
from service.conversation.dependencies import ConversationDependencies
from service.decision.choose import choose
from service.decision.options import MAX_OPTIONS, MAX_PARTNERS, offered
from service.decision.routine import by_routine
from service.decision.situation import AgentState
from service.errors import GraphUnavailable, ModelBroken, ModelTruncated, ModelUnreachable
from service.locales import Language
from service.memory.memory_store import MemoryStore
from service.memory.record import Episode, Group, Kind, Memory, Recalled
from service.store.tables import MemoryRow, PersonRow
from tests.conversation.talks import remember_talk
from tests.decision.desks import (
    NINE,
    PLAN,
    PLANNED,
    decides,
    decision_context,
    desk_of,
    plan_context,
    plans,
    sitting,
    snapshot_of,
    world_of,
)
from tests.memory.memories import Store
from tests.scripted_model import ScriptedModel
from world.actions import TALK, WAIT, Reason, Refusal
from world.possible import possible
from world.simulation import Simulation as Core
from world.simulation import newcomer
from world.time import WorldTime, iso, parse_time

AWAY = ModelUnreachable(model="m", base_url="http://x", reason="refused")
MEMORY_AWAY = GraphUnavailable(backend="sql", reason="gone", setting="KATARIBE_DATA_DIR")
FUMI = {"target": "Fumi", "goal": "Ask Fumi how the spring is", "success_criteria": "She tells of it"}


def _number(room: ConversationDependencies, script: ScriptedModel, *, talk: bool) -> int:
    """The number of the talk with Fumi, or of what the day wants, where Aoi stands at nine."""
    script.enqueue(decides(99), decides(99))
    sitting(room).choose(snapshot_of(world_of(room)))
    context = decision_context(script.history[-1])
    script.history.clear()
    return next(o.number for o in context.offers if (o.option.target_id == "npc_fumi") == talk and o.is_planned != talk)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_number_is_the_option_it_stands_for(
    room: ConversationDependencies, script: ScriptedModel, language: Language
) -> None:
    world = world_of(room, language)
    snapshot = snapshot_of(world, others={"mio": "inn_hall", "nagi": "inn_bath"})
    sits = sitting(room, language)
    script.enqueue(decides(99), decides(99))
    sits.choose(snapshot)
    context = decision_context(script.history[-1])
    assert [offer.number for offer in context.offers] == list(range(1, len(context.offers) + 1))
    allowed = {replace(option, minutes=0) for option in possible(world.setting, snapshot, nearest=None).options}
    for offer in context.offers:
        sits.agent_state = PLANNED
        asked = FUMI | {"target": ""} if offer.option.action_id == TALK else {}
        script.enqueue(decides(offer.number, **asked))
        chosen = sits.choose(snapshot)
        assert (chosen.by, chosen.option) == ("model", offer.option)
        assert replace(chosen.option, minutes=0) in allowed
        core = Core(world.setting, [newcomer(world.setting, "aoi", "nagaya_one", NINE, node_id="inn_hall")])
        core.decide("aoi", chosen.option, wake_at=chosen.wake_at)


def test_in_a_crowd_few_are_offered_and_waiting_always(room: ConversationDependencies) -> None:
    world = world_of(room)
    crowd = {f"somebody_{i:02d}": "inn_hall" for i in range(40)}
    options = offered(world, snapshot_of(world, at=NINE, others=crowd), None).options
    assert len(options) <= MAX_OPTIONS
    assert options[-1].action_id == WAIT
    assert 1 <= sum(option.action_id == TALK for option in options) <= MAX_PARTNERS


def test_a_decision_says_what_is_done_until_when_and_what_was_thought(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    number = _number(room, script, talk=False)
    script.enqueue(decides(number, thought="On with it.", goal="stray", success_criteria="stray"))
    chosen = sitting(room).choose(snapshot_of(world_of(room)))
    assert (chosen.by, chosen.option.facility_id, chosen.failure, chosen.planned) == ("model", "inn", None, False)
    assert chosen.wake_at is not None
    assert iso(chosen.wake_at) == "2026-04-01T11:30"
    assert (chosen.agent_state.thought, chosen.agent_state.goal, chosen.agent_state.decided_at) == (
        "On with it.",
        None,
        NINE,
    )
    assert (chosen.usage.calls, chosen.usage.failures) == (1, 0)


def test_a_talk_brings_its_goal_in_the_same_call(room: ConversationDependencies, script: ScriptedModel) -> None:
    number = _number(room, script, talk=True)
    for target in ("Fumi", "npc_fumi", "the landlady, Fumi", ""):
        script.enqueue(decides(number, **FUMI | {"target": target}))
        chosen = sitting(room).choose(snapshot_of(world_of(room)))
        assert (chosen.option.action_id, chosen.option.target_id) == (TALK, "npc_fumi")
        assert (chosen.agent_state.goal, chosen.agent_state.success_criteria) == (
            FUMI["goal"],
            FUMI["success_criteria"],
        )
    assert script.unused == 0


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"choice": 99}, "there is no option 99"),
        (FUMI | {"goal": " "}, "a talk needs its goal"),
        (FUMI | {"success_criteria": ""}, "a talk needs its goal"),
        (FUMI | {"target": "Taro"}, "is a talk with Fumi, not with Taro"),
    ],
)
def test_a_wrong_answer_is_asked_again_once_with_the_reason(
    room: ConversationDependencies, script: ScriptedModel, wrong: dict[str, Any], reason: str
) -> None:
    number = _number(room, script, talk=True)
    script.enqueue(decides(**{"choice": number, **wrong}), decides(number, **FUMI))
    chosen = sitting(room).choose(snapshot_of(world_of(room)))
    assert (chosen.by, chosen.usage.calls, chosen.usage.failures) == ("model", 2, 1)
    first, second = script.history
    assert second.messages[: len(first.messages)] == first.messages
    assert [message.role for message in second.messages[-2:]] == ["assistant", "user"]
    assert reason in second.messages[-1].content


def test_who_answers_wrongly_twice_falls_back_to_the_routine(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(decides(99), decides(98))
    world, snapshot = world_of(room), snapshot_of(world_of(room))
    chosen = sitting(room).choose(snapshot)
    assert (chosen.by, chosen.usage.calls, chosen.usage.failures) == ("fallback", 2, 2)
    assert isinstance(chosen.failure, ModelBroken)
    assert "98" in chosen.failure.sentence("en")
    assert (chosen.option, chosen.wake_at) == by_routine(world.setting, world.cast.character("aoi"), snapshot)


def test_a_model_that_fails_makes_it_fall_back_and_is_told(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(AWAY)
    agent_state = replace(PLANNED, thought="old", goal="old", failed=Refusal(action_id="work", reason=Reason.CLOSED))
    chosen = sitting(room, agent_state=agent_state).choose(snapshot_of(world_of(room)))
    assert (chosen.by, chosen.failure, chosen.usage.failures) == ("fallback", AWAY, 1)
    assert chosen.failed_call == "decision"
    assert chosen.usage.calls == AWAY.usage.calls
    assert chosen.agent_state == replace(PLANNED, decided_at=NINE)


def test_the_day_is_planned_once(room: ConversationDependencies, script: ScriptedModel) -> None:
    sits = sitting(room, agent_state=AgentState())
    script.enqueue(PLAN, decides(1), decides(1))
    chosen = sits.choose(snapshot_of(sits.world))
    assert [prompt.name for prompt in script.history] == ["plan", "decide"]
    assert (chosen.planned, chosen.usage.calls, chosen.agent_state.plan_day) == (True, 2, NINE // 1440)
    assert chosen.agent_state.plan == (
        RoutineBlock(starts=510, activity="Works at the inn", facility_id="inn", action_id="work"),
        RoutineBlock(starts=1320, activity="Sleeps"),
    )
    assert (chosen.option.action_id, chosen.option.facility_id) == ("work", "inn")
    again = sits.choose(snapshot_of(sits.world, at=WorldTime(NINE + 60)))
    assert [prompt.name for prompt in script.history] == ["plan", "decide", "decide"]
    assert not again.planned


def test_a_new_day_is_planned_from_the_usual_one(room: ConversationDependencies, script: ScriptedModel) -> None:
    yesterday = AgentState(
        plan=(RoutineBlock(starts=0, activity="Yesterday's"),), plan_day=NINE // 1440 - 1, revisions=2
    )
    script.enqueue(PLAN, decides(1))
    chosen = sitting(room, agent_state=yesterday).choose(snapshot_of(world_of(room)))
    assert "Yesterday's" not in script.history[0].messages[-1].content
    assert (chosen.planned, chosen.agent_state.revisions) == (True, 0)


def test_who_is_up_after_midnight_does_not_plan_before_it_sleeps(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    sits = sitting(room)
    script.enqueue(decides(1))
    sits.choose(snapshot_of(sits.world, at=parse_time("2026-04-02T01:30")))
    assert [prompt.name for prompt in script.history] == ["decide"]
    script.enqueue(
        PLAN | {"blocks": [b | {"starts": s} for b, s in zip(PLAN["blocks"], ("06:00", "22:00"), strict=True)]}
    )
    script.enqueue(decides(1))
    sits.choose(snapshot_of(sits.world, at=parse_time("2026-04-02T06:00")))
    assert [prompt.name for prompt in script.history] == ["decide", "plan", "decide"]


@pytest.mark.parametrize(
    ("blocks", "reason"),
    [
        ((("10:00", "a", 0, ""), ("09:30", "b", 0, "")), "not in order"),
        ((("10:00", "a", 99, ""), ("11:00", "b", 0, "")), "there is no place 99"),
        ((("10:00", "a", 0, "work"), ("11:00", "b", 0, "")), "'work' cannot be done at home"),
        ((("10:00", "a", 0, "sleep"), ("11:00", "b", 0, "")), "Sleep until morning is open"),
        ((("10:00", "a", 0, ""), ("20:00", "b", 1, "")), "Bakery is open 06:00-15:00 only, not at 20:00"),
    ],
)
def test_a_plan_that_cannot_be_is_asked_again_once(
    room: ConversationDependencies, script: ScriptedModel, blocks: tuple[tuple[str, str, int, str], ...], reason: str
) -> None:
    script.enqueue(plans(*blocks), PLAN, decides(1))
    chosen = sitting(room, agent_state=AgentState()).choose(snapshot_of(world_of(room)))
    assert reason in script.history[1].messages[-1].content
    assert (chosen.planned, chosen.usage.calls, chosen.usage.failures) == (True, 3, 1)


def test_who_lives_where_there_is_work_may_plan_to_work_there(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    script.enqueue(PLAN, decides(1))
    lives_there = replace(snapshot_of(world_of(room)), home="inn_hall")
    chosen = sitting(room, agent_state=AgentState()).choose(lives_there)
    assert [one.facility_id for one in plan_context(script.history[0]).places][1] == "inn"
    assert (chosen.planned, chosen.failure) == (True, None)


def test_a_plan_may_run_past_midnight_and_begin_later(room: ConversationDependencies, script: ScriptedModel) -> None:
    script.enqueue(plans(("12:00", "Eats", 0, ""), ("00:30", "Sleeps", 0, "")), decides(1))
    chosen = sitting(room, agent_state=AgentState()).choose(snapshot_of(world_of(room)))
    assert [(b.starts, b.activity) for b in chosen.agent_state.plan] == [(540, "Free"), (720, "Eats"), (30, "Sleeps")]
    assert chosen.wake_at is not None
    assert iso(chosen.wake_at) == "2026-04-01T12:00"


@pytest.mark.parametrize(
    "failing",
    [(plans(("10:00", "a", 99, ""), ("11:00", "b", 99, "")),) * 2, (ModelTruncated(model="m", max_tokens=9),)],
)
def test_without_a_plan_that_holds_the_routine_is_the_plan(
    room: ConversationDependencies, script: ScriptedModel, failing: tuple[object, ...]
) -> None:
    script.enqueue(*failing, decides(1), decides(1))  # type: ignore[arg-type]
    sits = sitting(room, agent_state=AgentState())
    chosen = sits.choose(snapshot_of(sits.world))
    assert (chosen.by, chosen.planned, chosen.agent_state.plan) == ("model", False, ())
    assert chosen.failure is not None
    assert chosen.failed_call == "plan"
    sits.choose(snapshot_of(sits.world, at=WorldTime(NINE + 10)))
    assert script.unused == 0


def test_with_the_model_away_the_plan_stays_due(room: ConversationDependencies, script: ScriptedModel) -> None:
    script.enqueue(AWAY)
    chosen = sitting(room, agent_state=AgentState()).choose(snapshot_of(world_of(room)))
    assert (chosen.by, chosen.failure, chosen.usage.calls, chosen.agent_state.plan_day) == ("fallback", AWAY, 1, None)
    assert chosen.failed_call == "plan"


def test_a_broken_plan_is_made_anew_twice_a_day_at_most(room: ConversationDependencies, script: ScriptedModel) -> None:
    at_bakery = RoutineBlock(starts=0, activity="Buys bread", facility_id="bakery", action_id="shop")
    sits = sitting(room, agent_state=replace(PLANNED, plan=(at_bakery,)))
    late = parse_time("2026-04-01T16:00")
    for revision in (1, 2):
        broken = plans(("16:00", "Rests", 0, ""), ("22:00", "Sleeps", 0, ""))
        script.enqueue(broken, decides(1))
        chosen = sits.choose(snapshot_of(sits.world, at=late))
        assert "Mugiho Bakery: closed (open 06:00-15:00)" in plan_context(script.history[-2]).broken
        assert (chosen.planned, chosen.agent_state.revisions) == (True, revision)
        sits.agent_state = replace(chosen.agent_state, plan=(at_bakery,))
    script.enqueue(decides(1))
    chosen = sits.choose(snapshot_of(sits.world, at=late))
    assert not chosen.planned
    assert script.unused == 0


def test_what_failed_just_now_breaks_the_plan_and_is_said_once(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    failed = Refusal(action_id="work", facility_id="inn", reason=Reason.NO_SEAT)
    script.enqueue(PLAN, decides(1))
    sits = sitting(room, agent_state=replace(PLANNED, failed=failed))
    chosen = sits.choose(snapshot_of(sits.world))
    assert "Work: Shionoyu Inn: in vain, no seat is free." in plan_context(script.history[0]).broken
    assert "in vain, no seat is free" in decision_context(script.history[1]).ended
    assert chosen.planned
    assert chosen.agent_state.failed is None


def test_who_slept_through_its_blocks_plans_anew(room: ConversationDependencies, script: ScriptedModel) -> None:
    sits = sitting(room, agent_state=replace(PLANNED, decided_at=parse_time("2026-04-01T07:00")))
    script.enqueue(PLAN, decides(1))
    snapshot = replace(snapshot_of(sits.world, node_id="nagaya_one"), ended="nap")
    assert sits.choose(snapshot).planned
    sits.agent_state = replace(PLANNED, decided_at=NINE - 20)
    script.enqueue(decides(1))
    assert not sits.choose(snapshot).planned


def test_a_decision_knows_the_day_what_is_carried_and_what_lasts(
    room: ConversationDependencies, script: ScriptedModel
) -> None:
    world = world_of(room)

    def remember(session: Session) -> None:
        session.add(PersonRow(world_id="main", person_id="aoi", items=["a letter"]))
        remember_talk(session, "aoi", "npc_fumi", "of tea", NINE, conversation_id="c")
        remember_talk(session, "aoi", "npc_fumi", "of yesterday", NINE - 900, conversation_id="b", night=-1)
        for i, (content, expires_at) in enumerate((("Bring the knife back", NINE + 1), ("Long past", NINE))):
            session.add(
                MemoryRow(
                    id=str(i),
                    world_id="main",
                    person_id="aoi",
                    kind="mid_term",
                    text=content,
                    support="author",
                    source="seed",
                    level="low",
                    valid_from=NINE - 60,
                    known_from=NINE - 60,
                    expires_at=expires_at,
                    revision=0,
                )
            )

    room.database.write_now(remember)
    then = WorldTime(NINE - 60)
    fact = Memory(
        id="f",
        kind=Kind.FACT,
        text="Fumi runs the inn.",
        about="Fumi",
        told_by="npc_fumi",
        conversation_id="b",
        turns=(0,),
        partner_id="npc_fumi",
        valid_from=then,
        known_from=then,
    )
    told_today = replace(fact, id="g", text="Fumi drinks tea at the inn.", conversation_id="c")
    group = Group(world_id="main", person_id="aoi")
    for conversation_id, one in (("b", fact), ("c", told_today)):
        episode = Episode(
            conversation_id=conversation_id, partner_id="npc_fumi", text="b", topics=(), at=WorldTime(NINE - 60)
        )
        asyncio.run(Store(room.memory, room.database).remember(group, episode, [one]))
    script.enqueue(decides(1))
    sitting(room).choose(snapshot_of(world))
    asked = script.history[0].messages[-1].content
    for told in (
        "You carry: a letter",
        "Fumi: of tea",
        "Bring the knife back",
        "What Fumi has told you: Fumi runs the inn",
    ):
        assert told in asked
    assert "Long past" not in asked
    assert "Fumi drinks tea" not in asked, "what was talked of today is told once, as that talk's summary"


class _NoMemory(MemoryStore):
    async def recall(self, group: Group, query: str, **_: Any) -> list[Recalled]:
        raise MEMORY_AWAY


def test_the_memory_being_away_keeps_nobody_from_deciding(
    room: ConversationDependencies, script: ScriptedModel, caplog: pytest.LogCaptureFixture
) -> None:
    desk = replace(desk_of(room), memory=_NoMemory(room.database))
    world = world_of(room)
    script.enqueue(decides(1))
    chosen = asyncio.run(choose(desk, world.at(NINE), snapshot_of(world), PLANNED))
    assert chosen.by == "model"
    assert "without long-term memory" in caplog.text
