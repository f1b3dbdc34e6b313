"""Worlds that people are made for."""

from functools import cache
from pathlib import Path

from service.content.files import bundled_content, small_content
from service.content.load import Content, load_content
from service.locales import Language
from studio.generate.people.asking import MadePerson
from studio.generate.people.parts import PersonSlot
from studio.generate.people.plan import DemographyFile, PeoplePlan, sampling_plan
from studio.generate.people.rehearsal import person
from studio.generate.people.weave import Woven, weave


@cache
def village() -> Content:
    """The sample village."""
    return load_content(bundled_content())


@cache
def small(language: Language) -> Content:
    """The empty stage."""
    return load_content(small_content(language))


@cache
def plan_of(count: int, seed: int, language: Language) -> PeoplePlan:
    """A plan for the village that leaves everything open."""
    return sampling_plan(DemographyFile(), count, seed, language, village())


def rehearsed(plan: PeoplePlan, language: Language, world: Content) -> list[tuple[PersonSlot, MadePerson]]:
    """Everybody of the plan."""
    names, people = set(world.cast(language).names), []
    for slot in plan.slots:
        made = person(slot, language, names)
        names.add(made.name)
        people.append((slot, made))
    return people


@cache
def woven_village(count: int, seed: int, language: Language) -> Woven:
    """So many people of an open plan in the village."""
    plan = plan_of(count, seed, language)
    return weave(village(), rehearsed(plan, language, village()), language, {})


def written(directory: Path, text: str) -> Path:
    """A demography with that text."""
    file = directory / "demography.yaml"
    file.write_text(text, "utf-8")
    return file
