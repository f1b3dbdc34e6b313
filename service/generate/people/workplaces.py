"""Owns where in a world a work is done: at a facility of that name, where such an action is possible, or at a place of
the kind that such works need. Pure.
"""

import re
from collections.abc import Iterable, Iterator

from service.content.load import Content
from service.generate.people.parts import Work, found, parts
from service.locales import Language, languages
from world.actions import Where
from world.places import Facility

_HOME = "home"
PAID = "work"
"""The tag of facilities where people earn something."""


def known_works(world: Content, language: Language) -> list[str]:
    """The works of the parts that this world has a place for, and those that need none, by their names."""
    there = parts(language).works.values()
    return [work.name for work in there if work.anywhere or workplaces(work.name, world)]


def workplaces(work: str, world: Content) -> list[Facility]:
    """Where the work may be done, the best first; nothing: nowhere in particular."""
    wanted = work.strip().casefold()
    named = [place for place in _facilities(world) if wanted in {name.casefold() for name in _names(place, world)}]
    if named or not work:
        return named
    actions = [one for language in languages() for one in world.cast(language).catalogue.actions]
    tags = {
        tag
        for action in actions
        if action.where is Where.FACILITY and wanted in (action.id.casefold(), action.name.casefold())
        for tag in action.tags
    }
    if tags:
        return [place for place in _facilities(world) if place.tags & tags]
    work_id = found("works", work)
    return places_of(parts(world.default_language).works[work_id], world) if work_id else []


def places_of(work: Work, world: Content) -> list[Facility]:
    """Where such works are done: in places that are called so, else in places of that kind."""
    places = [place for place in _facilities(world) if _HOME not in place.tags]
    by_name = [place for place in places if any(_says(text, work.places) for text in _names(place, world))]
    return by_name or [place for place in places if not place.tags.isdisjoint(work.tags)]


def paid_places(world: Content) -> list[Facility]:
    """Where anybody may earn something."""
    return [place for place in _facilities(world) if PAID in place.tags]


def _facilities(world: Content) -> list[Facility]:
    places = world.cast(world.default_language).world_map.facilities
    return [places[place_id] for place_id in sorted(places)]


def _names(place: Facility, world: Content) -> Iterator[str]:
    yield place.id
    yield from (world.cast(language).world_map.facilities[place.id].name for language in languages())


def _says(text: str, words: Iterable[str]) -> bool:
    """Whether one of the words is in the text: a whole one, where it is written with spaces between words."""
    told = text.casefold()
    apart = set(re.split(r"[^a-z]+", told))
    return any(word in apart if word.isascii() else word in told for word in words)
