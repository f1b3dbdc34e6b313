"""Owns where people of a world work, and the routine of somebody new. Work is at a facility of that name, where such an
action is possible, or at a place of the kind that such works need; further NPCs stand on nodes that nobody has to
cross, and that are nobody's home. A day has work or school while that is open, meals, an hour or two where somebody
likes to be, the night. Pure.
"""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import networkx as nx

from service.public.files import ActionDef, Content, Facility, Where, WorldMap
from service.public.words import MINUTES_PER_DAY, MINUTES_PER_HOUR, Language, clock, languages
from studio.generate.people.parts import WORKING_AGE, Parts, PersonSlot, WorkParts, found, parts

_BUSY = 3
"""A node where so many ways meet is left open."""
_MOST = 0.25
"""The part of the open nodes that may be closed."""
_HOME = "home"


def open_posts(world: Content) -> list[str]:
    """Nodes that may be closed all at once: everybody still gets everywhere. The most remote first."""
    world_map = world.cast(world.default_language).world_map
    graph = world_map.open_graph.copy()
    kept = {one.home for one in world.cast(world.default_language).characters.values()}
    kept |= {node for place in world_map.facilities.values() if _HOME in place.tags for node in place.node_ids}
    most = int(len(graph) * _MOST)
    chosen: list[str] = []
    for node in sorted(graph, key=lambda node: (graph.degree(node), node)):
        if len(chosen) < most and node not in kept and graph.degree(node) < _BUSY and _may_go(graph, node, world_map):
            graph.remove_node(node)
            chosen.append(node)
            kept |= _last_neighbours(world_map, chosen, graph)
    return chosen


def _may_go(graph: "nx.Graph[str]", node: str, world_map: WorldMap) -> bool:
    """Whether the rest stays whole, and every facility has a node."""
    rest = graph.subgraph(set(graph) - {node})
    if not rest or not nx.is_connected(rest) or not any(graph.neighbors(node)):
        return False
    places = [place for place in world_map.facilities.values() if node in place.node_ids]
    return all(any(other in rest for other in place.node_ids) for place in places)


def _last_neighbours(world_map: WorldMap, chosen: list[str], graph: "nx.Graph[str]") -> set[str]:
    """Nodes from which alone somebody at a post can be talked to."""
    closed = [*world_map.closed_nodes, *chosen]
    beside = [[node for node in world_map.graph.neighbors(post) if node in graph] for post in closed]
    return {nodes[0] for nodes in beside if len(nodes) == 1}


PAID = "work"
"""The tag of facilities where people earn something."""


def known_works(world: Content, language: Language) -> list[str]:
    """The works of the parts that this world has a place for, and those that need none, by their names."""
    there = parts(language).works.values()
    return [work.name for work in there if work.anywhere or workplaces(work.name, world)]


def workplaces(work: str, world: Content) -> list[Facility]:
    """Where the work may be done, the best first; nothing: nowhere in particular."""
    wanted = work.strip().casefold()
    named = [place for place in facilities(world) if wanted in {name.casefold() for name in _names(place, world)}]
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
        return [place for place in facilities(world) if place.tags & tags]
    work_id = found("works", work)
    return places_of(parts(world.default_language).works[work_id], world) if work_id else []


def places_of(work: WorkParts, world: Content) -> list[Facility]:
    """Where such works are done: in places that are called so, else in places of that kind."""
    places = [place for place in facilities(world) if _HOME not in place.tags]
    by_name = [place for place in places if any(_says(text, work.places) for text in _names(place, world))]
    return by_name or [place for place in places if not place.tags.isdisjoint(work.tags)]


def facilities(world: Content, language: Language | None = None) -> list[Facility]:
    """All places of the world, by their ids; with their names in that language (None: the game's own)."""
    places = world.cast(language or world.default_language).world_map.facilities
    return [places[place_id] for place_id in sorted(places)]


def _names(place: Facility, world: Content) -> Iterator[str]:
    yield place.id
    yield from (world.cast(language).world_map.facilities[place.id].name for language in languages())


def _says(text: str, words: Iterable[str]) -> bool:
    """Whether one of the words is in the text: a whole one, where it is written with spaces between words."""
    told = text.casefold()
    apart = set(re.split(r"[^a-z]+", told))
    return any(word in apart if word.isascii() else word in told for word in words)


_SCHOOL_AGE, _DRINKING_AGE, _OLD = 6, 20, 75
_STEP = 5
_EARLIEST, _LATEST = 4 * 60, 23 * 60
_LONGEST_SHIFT = 8 * 60
_NIGHT = 8 * 60
_LATE_SHIFT = 14 * 60
"""Who begins later has the day before the work."""
_LONGEST_PLEASURE = 75
_GOES_OUT = 0.4
"""How many go out once more in the evening."""
_WORK, _STUDY, _DRINK = "work", "study", "drink"


def work_of(slot: PersonSlot, language: Language) -> WorkParts:
    """The parts of what it does."""
    there = parts(language)
    if slot.age < WORKING_AGE:
        return there.pupil if slot.age >= _SCHOOL_AGE else there.infant
    work_id = found("works", slot.work) if slot.work else None
    if work_id is not None:
        return there.works[work_id]
    return there.any_work if slot.work else there.no_work


def workplace(slot: PersonSlot, world: Content) -> Facility | None:
    """Where it works or learns: a place for such work, else one where anybody may earn something; by its number, so
    that not all are at one. None: at home.
    """
    if slot.age < WORKING_AGE:
        school = parts(world.default_language).pupil
        places = places_of(school, world) if slot.age >= _SCHOOL_AGE else []
    else:
        places, work = workplaces(slot.work, world), work_of(slot, world.default_language)
        if work.anywhere:
            places = [place for place in places if any(hours.contain(12 * 60) for hours in place.hours)]
        elif slot.work:
            places = places or [place for place in facilities(world) if PAID in place.tags]
    return places[slot.number % len(places)] if places else None


@dataclass(kw_only=True)
class _Day:
    """A day in the making."""

    world: Content
    language: Language
    slot: PersonSlot
    rng: random.Random
    starts: list[int] = field(default_factory=list)
    """Of its blocks, in minutes of the day."""
    blocks: list[dict[str, str]] = field(default_factory=list)
    """As a character's file has them; without a facility at home."""

    @property
    def parts(self) -> Parts:
        return parts(self.language)

    @property
    def actions(self) -> Sequence[ActionDef]:
        return self.world.cast(self.language).catalogue.actions

    @property
    def until(self) -> int:
        """When the last block begins."""
        return self.starts[-1] if self.starts else 0

    def add(self, starts: int, activity: str, place: Facility | None = None, action: ActionDef | None = None) -> None:
        """A block, later than those before."""
        starts = max(starts, self.until + _STEP if self.blocks else 0)
        if starts < MINUTES_PER_DAY:
            self.starts.append(starts)
            told = {"starts": clock(starts), "activity": activity}
            where = {"facility": place.id} if place else {}
            self.blocks.append({**told, **where, **({"action": action.id} if action else {})})

    def some(self, least: int, most: int) -> int:
        """A few minutes more or less."""
        return self.rng.randrange(least, most + 1, _STEP)

    def say(self, key: str, place: Facility | None = None) -> str:
        """What is done, in words."""
        name = self.world.cast(self.language).world_map.facilities[place.id].name if place else ""
        return self.rng.choice(self.parts.day[key]).format(place=name, work=self.slot.work)

    def meal(self) -> ActionDef | None:
        """What is eaten at home."""
        hunger = min(self.world.cast(self.language).catalogue.needs.all, key=lambda n: n.drift_per_hour, default=None)
        able = [
            one
            for one in self.actions
            if one.where is Where.HOME and not one.ends_day and hunger and one.effects.get(hunger.id, 0) > 0
        ]
        return min(able, key=lambda one: one.minutes, default=None)

    def leisure(self, starts: int, after: str = "") -> None:
        """A while at a place that is open then, and home again; without one at home. `after`: what it does there."""
        able = [
            (place, action)
            for place in facilities(self.world, self.language)
            for action in self.actions
            if _is_pleasure(action) and action.tags & place.tags and self._may(place, action, starts)
        ]
        if able:
            place, action = self.rng.choice(able)
            tag = next((tag for tag in sorted(action.tags) if f"tag_{tag}" in self.parts.day), "")
            self.add(starts, self.say(f"tag_{tag}" if tag else "visit", place), place, action)
            starts = self.until + _span(action)
        self.add(starts, after or self.say("home"))

    def _may(self, place: Facility, action: ActionDef, starts: int) -> bool:
        done = {(one.get("facility"), one.get("action")) for one in self.blocks}
        if (place.id, action.id) in done or (_DRINK in place.tags and self.slot.age < _DRINKING_AGE):
            return False
        ends = starts + _span(action)
        return all(_is_open(place, action, minute) for minute in (starts, (starts + ends) // 2, ends))


def routine(slot: PersonSlot, place: Facility | None, world: Content, language: Language) -> list[dict[str, str]]:
    """The blocks of its day. `place`: where it works or learns (None: at home)."""
    day = _Day(world=world, language=language, slot=slot, rng=random.Random(f"{slot.seed}:day"))
    action = _work_at(place, day.actions, learns=slot.age < WORKING_AGE) if place else None
    shift = _shift(place, action, day) if place else None
    if place is not None and shift is not None:
        _working(day, shift, place, action)
    else:
        _at_leisure(day)
    _evening(day, ends=shift[1] if shift else 17 * 60)
    return day.blocks


def _working(day: _Day, shift: tuple[int, int], place: Facility, action: ActionDef | None) -> None:
    begins, ends = shift
    name = day.world.cast(day.language).world_map.facilities[place.id].name
    first, *_, last = _tasks(day, name)
    if begins > _LATE_SHIFT:
        _at_leisure(day)
        day.add(begins - 45, day.say("dinner"), None, day.meal())
    else:
        day.add(max(begins - day.some(50, 90), 3 * 60 + 30), day.say("breakfast"), None, day.meal())
    day.add(begins, first, place, action)
    noon = 12 * 60 + day.some(0, 50)
    if begins <= noon - 90 and noon + 90 <= ends:
        day.add(noon, day.say("lunch"), None, day.meal())
        day.add(noon + 50, last, place, action)
    if begins > _LATE_SHIFT:
        day.add(ends + _STEP, day.say("home"))
    else:
        day.leisure(ends + _STEP)
        if ends < 12 * 60:
            _noon(day, day.say("home"))


def _at_leisure(day: _Day) -> None:
    first, *_, last = _tasks(day, day.say("here"))
    day.add((6 if day.slot.age >= _OLD else 7) * 60 + day.some(0, 50), day.say("breakfast"), None, day.meal())
    day.leisure(9 * 60 + day.some(0, 50), first)
    _noon(day, last)


def _noon(day: _Day, after: str) -> None:
    day.add(12 * 60 + day.some(0, 40), day.say("lunch"), None, day.meal())
    day.leisure(14 * 60 + day.some(0, 50), after)


def _tasks(day: _Day, place: str) -> list[str]:
    """What it does at its work, in words: two or more."""
    texts = [text.format(place=place, work=day.slot.work) for text in work_of(day.slot, day.language).acts]
    return day.rng.sample(texts, len(texts))


def _evening(day: _Day, *, ends: int) -> None:
    age, first = day.slot.age, day.starts[0]
    if ends < 21 * 60:
        day.add(max(18 * 60 + day.some(0, 40), ends + 15), day.say("dinner"), None, day.meal())
    bed = max(20 * 60, min(_LATEST, first + MINUTES_PER_DAY - _NIGHT))
    bed = min(bed, 20 * 60 + day.some(0, 30)) if age < WORKING_AGE else min(bed, 21 * 60 + day.some(15, 90))
    if age >= WORKING_AGE and day.until + 40 <= bed - 80 and day.rng.random() < _GOES_OUT:
        day.leisure(day.until + 40)
    sleep = next((one for one in day.actions if one.ends_day), None)
    day.add(min(max(bed, day.until + 40), MINUTES_PER_DAY - 10), day.say("night"), None, sleep)


def _work_at(place: Facility, actions: Sequence[ActionDef], *, learns: bool) -> ActionDef | None:
    """What is work there, or what is learned; else what can be done there for longest and costs nothing."""
    able = [one for one in actions if one.where is Where.FACILITY and one.tags & place.tags]
    return min(
        able,
        key=lambda one: (
            (_WORK in one.tags) is learns,
            (_STUDY in one.tags) is not learns,
            one.cost != {},
            -one.minutes,
        ),
        default=None,
    )


def _shift(place: Facility, action: ActionDef | None, day: _Day) -> tuple[int, int] | None:
    """From when to when it is there; None: never."""
    if action is None:
        return None
    learns = day.slot.age < WORKING_AGE
    begins, ends = max(_spans(place, action), key=lambda span: span[1] - span[0], default=(0, 0))
    if ends - begins < MINUTES_PER_HOUR:
        return None
    usual = 8 * 60 + (15 if learns else day.some(0, 90))
    starts = max(begins + day.some(0, 20), min(usual, ends - _LONGEST_SHIFT // 2))
    return starts, min(ends - _STEP, starts + (6 * 60 if learns else _LONGEST_SHIFT))


def _spans(place: Facility, action: ActionDef) -> Iterator[tuple[int, int]]:
    """When the action may be done there, between the first and the last hour of a day."""
    minutes = range(_EARLIEST, _LATEST, _STEP)
    for is_open, together in groupby(minutes, lambda minute: _is_open(place, action, minute)):
        span = list(together)
        if is_open:
            yield span[0], span[-1] + _STEP


def _is_open(place: Facility, action: ActionDef, minute: int) -> bool:
    at = minute % MINUTES_PER_DAY
    return all(any(hours.contain(at) for hours in kinds) for kinds in (place.hours, action.hours))


def _span(action: ActionDef) -> int:
    """Minutes that somebody has for it, with the way there."""
    return min(_LONGEST_PLEASURE, action.minutes + 15)


def _is_pleasure(action: ActionDef) -> bool:
    """Whether people go somewhere for it, without being in need."""
    needy = any(bound.at_most < float("inf") for bound in action.requires)
    return action.where is Where.FACILITY and _WORK not in action.tags and not needy
