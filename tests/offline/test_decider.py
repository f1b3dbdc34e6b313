"""An offline day of the village, decided by rule: believable, whole, and the same every time."""

import asyncio
from collections import Counter

import pytest
from sqlmodel import Session, delete

from service.conversation.dependencies import ConversationDependencies
from service.decision.choose import Chosen as Decided
from service.decision.choose import choose
from service.decision.situation import AgentState, DecisionDependencies
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.offline.model import OfflineModel
from service.people.worlds import WorldView as Stood
from service.store.tables import ConversationRow
from tests.conversation.talks import remember_talk
from tests.decision.desks import world_of
from tests.world.simulation import Chosen, lognormal, run_out_of_order, turns_of
from world.actions import TALK, WAIT
from world.perception import Snapshot
from world.setting import Setting
from world.simulation import Simulation, newcomer
from world.time import MINUTES_PER_DAY, WorldTime

Told = tuple[tuple[Snapshot, Decided], ...]


def _live(room: ConversationDependencies, language: Language, *, minutes: int = MINUTES_PER_DAY) -> Told:
    """A day of everybody; whom somebody has talked to is remembered for the day."""
    model = OfflineModel()
    desk = DecisionDependencies(
        settings=room.settings,
        database=room.database,
        memory=room.memory,
        models=Models(dict.fromkeys(ROLES, model)),
    )
    world = world_of(room, language)
    people = world.cast.characters
    core = Simulation(world.setting, [newcomer(world.setting, i, p.home, world.now) for i, p in people.items()])
    agent_states = dict.fromkeys(people, AgentState())
    told: list[tuple[Snapshot, Decided]] = []

    def decide(setting: Setting, snapshot: Snapshot) -> Chosen:
        agent_state = agent_states[snapshot.person_id]
        decided = asyncio.run(choose(desk, world.at(snapshot.time), snapshot, agent_state))
        agent_states[snapshot.person_id] = decided.agent_state
        told.append((snapshot, decided))
        if decided.option.target_id is not None:
            _note(room, snapshot, decided.option.target_id)
        return Chosen(decided.option, decided.wake_at)

    run_out_of_order(
        core,
        until=WorldTime(world.now + minutes),
        decide=decide,
        turns=turns_of(1),
        latency=lognormal(1),
        concurrency=1,
        keep_snapshots=False,
    )
    return tuple(told)


def _note(room: ConversationDependencies, snapshot: Snapshot, partner_id: str) -> None:
    name = f"{snapshot.person_id}-{snapshot.time}"
    room.database.write_now(
        lambda s: remember_talk(s, snapshot.person_id, partner_id, "They talked.", snapshot.time, conversation_id=name)
    )


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_day_by_rule_is_believable(room: ConversationDependencies, language: Language) -> None:
    told = _live(room, language)
    assert {decided.by for _, decided in told} == {"model", "plan"}
    assert [decided.failure for _, decided in told if decided.failure] == []
    for person_id in world_of(room).cast.characters:
        mine = [(snapshot, decided) for snapshot, decided in told if snapshot.person_id == person_id]
        did = Counter(decided.option.action_id for _, decided in mine)
        assert did["sleep"] == 1, "one night, one sleep"
        assert sum(d.option.minutes for _, d in mine if d.option.action_id == WAIT) <= 180
        assert did["eat_out"] + did["eat_at_home"] + did["cook"] >= 1, did
        assert did[TALK] >= 2, did
        assert any(decided.option.facility_id for _, decided in mine), did
        partners = [decided.option.target_id for _, decided in mine if decided.option.target_id]
        assert len(partners) == len(set(partners)), "it talks with nobody twice a day"
        assert 1 <= sum(decided.planned for _, decided in mine) <= 4
    _assert_goals(world_of(room, language), [decided for _, decided in told if decided.option.action_id == TALK])


def _assert_goals(world: Stood, talks: list[Decided]) -> None:
    """Each names its partner, and they are not all the same."""
    for decided in talks:
        assert decided.agent_state.goal
        assert decided.agent_state.success_criteria
        assert world.name_of(decided.option.target_id or "") in decided.agent_state.goal
    assert len({decided.agent_state.goal for decided in talks}) > len(talks) // 3


def _forget(session: Session) -> None:
    session.connection().execute(delete(ConversationRow))
