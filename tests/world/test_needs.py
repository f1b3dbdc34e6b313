"""Needs: levels computed from (level, since, drift), and when one becomes critical."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.world.maps import modest
from world.needs import Need, Needs
from world.time import WorldTime

T0 = WorldTime(1_000_000)
ENERGY = Need(id="energy", start=80, critical=20, drift_per_hour=-6)
MONEY = Need(id="money", highest=1000, start=30)
NEEDS = Needs(all=(ENERGY, MONEY))


def at(minutes: int) -> WorldTime:
    return WorldTime(T0 + minutes)


def test_a_level_never_leaves_its_bounds() -> None:
    levels = NEEDS.first(T0)
    assert NEEDS.at(levels, at(60 * 24))["energy"] == 0.0
    assert NEEDS.at(NEEDS.begin(levels, T0, per_hour={"energy": 600}), at(60))["energy"] == 100.0


def test_a_cost_is_paid_at_once_and_an_effect_comes_evenly() -> None:
    levels = NEEDS.begin(NEEDS.first(T0), at(10), cost={"money": 12}, per_hour={"energy": 36})
    assert NEEDS.at(levels, at(10))["money"] == 18.0
    assert NEEDS.at(levels, at(10))["energy"] == 79.0
    assert NEEDS.at(levels, at(40))["energy"] == 94.0


def test_an_effect_ends_when_the_next_thing_begins() -> None:
    eating = NEEDS.begin(NEEDS.first(T0), T0, per_hour={"energy": 12})
    resting = NEEDS.begin(eating, at(60))
    assert NEEDS.at(resting, at(120))["energy"] == 80 + 12 - 6 - 6


def test_an_author_can_set_a_level_within_its_bounds() -> None:
    levels = NEEDS.put(NEEDS.first(T0), at(5), {"money": 5000})
    assert NEEDS.at(levels, at(5))["money"] == 1000.0
    with pytest.raises(KeyError):
        NEEDS.put(levels, at(5), {"luck": 1})


@modest
@given(start=st.floats(0, 100), critical=st.floats(0, 100), drift=st.floats(-200, 50))
@example(start=1.0, critical=0.0, drift=-2.2e-311)
def test_the_computed_minute_is_the_first_critical_one(start: float, critical: float, drift: float) -> None:
    needs = Needs(all=(Need(id="n", start=start, critical=critical, drift_per_hour=drift),))
    levels = needs.first(T0)
    until = at(24 * 60)
    stepped = next((t for t in range(T0 + 1, until) if needs.critical(levels, WorldTime(t))), None)
    found = needs.next_critical(levels, until)
    if needs.critical(levels, T0):
        assert found is None
    else:
        assert (found and found[0]) == stepped


def test_a_need_must_start_within_its_bounds() -> None:
    with pytest.raises(ValueError, match="between its bounds"):
        Need(id="energy", start=120)
    with pytest.raises(ValueError, match="two needs"):
        Needs(all=(ENERGY, ENERGY))
