"""Owns the tests of what phase may follow what."""

import pytest

from service.conversation.phase import Phase


@pytest.mark.parametrize(
    ("phase", "successors"),
    [
        (Phase.RUNNING, {Phase.CLOSING, Phase.CLOSED}),
        (Phase.CLOSING, {Phase.CLOSED, Phase.CLOSING_FAILED}),
        (Phase.CLOSING_FAILED, {Phase.CLOSING}),
        (Phase.CLOSED, set()),
    ],
)
def test_a_phase_knows_what_may_follow(phase: Phase, successors: set[Phase]) -> None:
    assert phase.successors == successors


def test_every_phase_leads_to_closed_and_none_leads_back_to_running() -> None:
    reached = {Phase.CLOSED}
    while more := {phase for phase in Phase if phase.successors & reached} - reached:
        reached |= more
    assert reached == set(Phase)
    assert all(Phase.RUNNING not in phase.successors for phase in Phase)
