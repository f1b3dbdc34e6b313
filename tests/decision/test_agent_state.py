"""What is on a character's mind is written as JSON and reads back as the same value."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from service.content.profile import RoutineBlock
from service.decision.situation import AGENT_STATE, AgentState, LastAsked
from world.actions import Reason, Refusal

_blocks = st.builds(
    RoutineBlock,
    starts=st.integers(0, 1439),
    activity=st.text(max_size=80),
    facility_id=st.none() | st.text(max_size=20),
    action_id=st.none() | st.text(max_size=20),
)
_minds = st.builds(
    AgentState,
    thought=st.text(max_size=200),
    goal=st.none() | st.text(max_size=200),
    success_criteria=st.none() | st.text(max_size=200),
    plan=st.lists(_blocks, max_size=10).map(tuple),
    plan_day=st.none() | st.integers(0, 10**6),
    revisions=st.integers(0, 2),
    failed=st.none()
    | st.builds(Refusal, action_id=st.text(), reason=st.sampled_from(Reason), target_id=st.none() | st.text()),
    decided_at=st.none() | st.integers(0, 10**9),
    last_asked=st.none()
    | st.builds(
        LastAsked,
        action_id=st.text(),
        facility_id=st.none() | st.text(),
        block_since=st.none() | st.integers(0, 10**9),
        seen=st.lists(st.text(), max_size=3).map(tuple),
        news=st.text(),
        continuations=st.integers(0, 3),
    ),
)


def record_of(agent_state: AgentState) -> Any:
    """As the store has it."""
    return AGENT_STATE.dump_python(agent_state, mode="json", exclude_defaults=True)


@given(agent_state=_minds)
def test_a_mind_reads_back_as_the_same_value(agent_state: AgentState) -> None:
    assert AGENT_STATE.validate_python(json.loads(json.dumps(record_of(agent_state)))) == agent_state


def test_an_empty_record_is_an_empty_mind() -> None:
    assert AGENT_STATE.validate_python({}) == AgentState()
    assert record_of(AgentState()) == {}
