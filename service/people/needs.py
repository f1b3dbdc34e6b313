"""Owns how a character feels at a moment: the levels of its needs, as prompts tell them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from service.people.worlds import WorldView
from world.life import Person
from world.needs import Levels
from world.time import WorldTime


@dataclass(frozen=True, kw_only=True, slots=True)
class FeltNeed:
    """A need as the character feels it. `level` is rounded."""

    need_id: str
    name: str
    level: int
    lowest: int
    highest: int
    is_critical: bool
    can_be_critical: bool


def felt_needs(world: WorldView, levels: Mapping[str, float], critical: Collection[str]) -> tuple[FeltNeed, ...]:
    """Every need of the catalogue at those levels (by need id), in the author's order."""
    return tuple(
        FeltNeed(
            need_id=need.id,
            name=need.name or need.id,
            level=round(levels[need.id]),
            lowest=round(need.lowest),
            highest=round(need.highest),
            is_critical=need.id in critical,
            can_be_critical=need.critical is not None,
        )
        for need in world.setting.catalogue.needs.all
    )


def levels_of(world: WorldView, character_id: str, person: Person | None) -> Levels:
    """The levels that hold at the moment of `world`; of who has not lived yet (`person` None), those it begins with.

    Raises:
        NotFound: there is no such character.
    """
    if person is not None:
        return person.during(world.now).levels
    began = WorldTime(world.now - 1)  # as `world.simulation.newcomer` begins a life
    return world.setting.catalogue.needs.first(began, world.cast.character(character_id).needs)
