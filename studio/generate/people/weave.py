"""Owns the way of made people into a world: homes, work, posts, routines, and who knows whom. What they would be in
files, checked with all that is there; nothing is written.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import networkx as nx

from service.public.files import (
    CHARACTERS,
    MAPS_FILE,
    NPCS,
    SLUG_MAX,
    Content,
    Facility,
    as_yaml,
    newly_wrong,
    read_values,
)
from service.public.words import Language
from studio.exchange.draft import ImportRefused, id_of
from studio.exchange.place import maps_text
from studio.generate.people.asking import MadePerson, WishedPerson
from studio.generate.people.days import PAID, open_posts, routine, work_of, workplace
from studio.generate.people.parts import WORKING_AGE, PersonSlot, Tie, found, parts

_HOME = "home"
_KIN = ("partner", "parent", "child", "sibling")
_WEIGHT = 6
"""How much an experience matters."""
_ALLOWANCE = 10
"""So many times of what others begin with, who earns nothing has of what is only spent."""


@dataclass(frozen=True, kw_only=True)
class Woven:
    """Texts by the names of their files, and everybody's id by the number of its slot."""

    files: Mapping[str, str]
    ids: Mapping[int, str]


def weave(
    world: Content, people: Sequence[tuple[PersonSlot, MadePerson]], language: Language, there: Mapping[int, str]
) -> Woven:
    """What the people would be in the world's files. `there`: ids of people of the same plan who are in the world
    already. Who is in neither is tied to nobody.

    Raises:
        ImportRefused: `kataribe check` would find something wrong that was not before.
    """
    weaving = _Weaving(world, people, language, there)
    values = weaving.files()
    texts = {name: maps_text(one) if name == MAPS_FILE else as_yaml(one) for name, one in values.items()}
    if wrong := newly_wrong(world.directory, texts):
        raise ImportRefused(wrong)
    return Woven(files=texts, ids=weaving.ids)


class _Weaving:
    def __init__(
        self,
        world: Content,
        people: Sequence[tuple[PersonSlot, MadePerson]],
        language: Language,
        there: Mapping[int, str],
    ) -> None:
        self._world, self._people, self._language, self._there = world, people, language, there
        self._map = world.cast(language).world_map
        self._slots = {slot.number: slot for slot, _ in people}
        self.ids = dict(self._new_ids())
        self._places = {slot.number: self._workplace(slot, made) for slot, made in people}
        self._posts = self._find_posts()
        self._homes = self._find_homes()

    def files(self) -> dict[str, dict[str, Any]]:
        """What is to be in each."""
        files = {}
        for slot, made in self._people:
            folder = NPCS if slot.number in self._posts else CHARACTERS
            files[f"{folder}/{self.ids[slot.number]}.yaml"] = self._person(slot, made)
        return files | ({MAPS_FILE: self._maps()} if self._posts else {})

    def _new_ids(self) -> Iterator[tuple[int, str]]:
        taken = {*self._world.cast(self._language).everybody, *self._there.values()}
        for slot, made in self._people:
            base = id_of(made.name)[: SLUG_MAX - 6].rstrip("_") or f"p_{slot.number}"
            tries = (base, *(f"{base}_{n}" for n in range(2, len(taken) + 3)))
            yield slot.number, (free := next(one for one in tries if one not in taken and not self._is_file(one)))
            taken.add(free)

    def _is_file(self, person_id: str) -> bool:
        return any(
            os.path.lexists(self._world.directory / folder / f"{person_id}.yaml") for folder in (NPCS, CHARACTERS)
        )

    def _workplace(self, slot: PersonSlot, made: MadePerson) -> Facility | None:
        """Where it works: of a wish that is what the answer names, or nowhere."""
        if not isinstance(made, WishedPerson):
            return workplace(slot, self._world)
        named = made.workplace.casefold()
        return next((one for one in self._map.facilities.values() if one.name.casefold() == named), None)

    def _find_posts(self) -> dict[int, str]:
        """Who stands where: near its work. Whoever finds no room walks."""
        free, posts = open_posts(self._world), dict[int, str]()
        for slot in (one for one in self._slots.values() if one.npc and free):
            place = self._places[slot.number]
            node = min(free, key=lambda one: (self._away(one, place), free.index(one)))
            free.remove(node)
            posts[slot.number] = node
        return posts

    def _away(self, node: str, place: Facility | None) -> float:
        ways: Mapping[str, float] = nx.single_source_dijkstra_path_length(self._map.graph, node, weight="minutes")
        return min((ways.get(one, float("inf")) for one in place.node_ids), default=0) if place else 0

    def _find_homes(self) -> dict[int, str]:
        """A node for each household: with kin who live there already, else where fewest do."""
        characters = self._world.cast(self._language).characters
        lived = Counter(one.home for one in characters.values())
        nodes = self._nodes_for_homes()
        homes = dict[int, str]()
        for slot in self._slots.values():
            if slot.household not in homes:
                kin = [self._there.get(tie.number, "") for tie in slot.ties if tie.kind in _KIN]
                home = next((characters[one].home for one in kin if one in characters), None)
                homes[slot.household] = home or min(nodes, key=lambda node: lived[node])
                lived[homes[slot.household]] += 1
        return homes

    def _nodes_for_homes(self) -> list[str]:
        """Nodes of houses before others, and nothing that is for something else where there are any."""
        closed = {*self._map.closed_nodes, *self._posts.values()}
        nodes = sorted(node for node in self._map.nodes if node not in closed)
        random.Random(_HOME).shuffle(nodes)  # so that people do not all live at one end of the map
        houses = [node for node in nodes if self._house(node)]
        return [*houses, *(node for node in nodes if not self._map.facilities_at(node))] or nodes

    def _house(self, node: str) -> Facility | None:
        return next((place for place in self._map.facilities_at(node) if _HOME in place.tags), None)

    def _person(self, slot: PersonSlot, made: MadePerson) -> dict[str, Any]:
        """The keys of the person's file."""
        person_id, home = self.ids[slot.number], self._homes[slot.household]
        told: dict[str, Any] = {
            "id": person_id,
            "name": made.name,
            "age": slot.age,
            "gender": slot.sex,
            "personality": made.personality,
            "occupation": self._occupation(slot),
            "residence": self._residence(home),
            "bigFive": dict(slot.traits),
            "preferences": {name: texts for name in ("likes", "dislikes") if (texts := [*getattr(made, name)])},
            "beliefs": [*made.beliefs],
            "skills": [*made.skills],
            "behaviors": [*made.behaviours],
            "tendencies": [*made.tendencies],
            "experiences": [{"event": one, "importance": _WEIGHT} for one in made.experiences],
            "facts": [*made.facts],
            "lines": [*made.lines],
            "goals": [{"goal": one.goal, "importance": one.importance} for one in made.goals],
            "relationships": [*self._relationships(slot)],
        }
        if slot.number not in self._posts:
            told |= {
                "routine": routine(slot, self._places[slot.number], self._world, self._language),
                "home": home,
                "knows": [*self._known(slot)],
                "needs": self._needs(slot),
            }
        return {name: value for name, value in told.items() if value}

    def _occupation(self, slot: PersonSlot) -> dict[str, str] | None:
        if slot.age < WORKING_AGE or not slot.work:
            return None
        place = None if work_of(slot, self._language).anywhere else self._places[slot.number]
        name = self._map.facilities[place.id].name if place else ""
        return {"title": slot.work} | ({"organization": name} if name and name != slot.work else {})

    def _residence(self, home: str) -> str:
        house = self._house(home)
        words = parts(self._language).day["residence"][0]
        return house.name if house else words.format(place=self._map.label(home))

    def _ties(self, slot: PersonSlot) -> Iterator[tuple[Tie, str]]:
        """With whoever is there, and its id."""
        ids = {**self._there, **self.ids}
        yield from ((tie, ids[tie.number]) for tie in slot.ties if tie.number in ids)

    def _relationships(self, slot: PersonSlot) -> Iterator[dict[str, str]]:
        words = parts(self._language).ties
        for n, (tie, other_id) in enumerate(self._ties(slot)):
            told = words[_kind(slot, tie, self._slots.get(tie.number))].told
            yield {"person": other_id, "description": told[(slot.number + n) % len(told)]}

    def _known(self, slot: PersonSlot) -> list[str]:
        """Those it is tied to, and who stands where it works."""
        place = self._places[slot.number]
        beside = {node for one in place.node_ids for node in self._map.graph.neighbors(one)} if place else set()
        keepers = [npc for npc, node in self._map.posts.items() if node in beside]
        return [*dict.fromkeys((*(other for _, other in self._ties(slot)), *keepers))]

    def _needs(self, slot: PersonSlot) -> dict[str, float]:
        """Who earns nothing begins with more of what is only spent."""
        place = self._places[slot.number]
        if slot.age >= WORKING_AGE and place is not None and PAID in place.tags:
            return {}
        needs = self._world.cast(self._language).catalogue.needs.all
        kept = [one for one in needs if one.critical is None and one.drift_per_hour == 0 and one.start > 0]
        return {one.id: min(one.highest, one.start * _ALLOWANCE) for one in kept}

    def _maps(self) -> dict[str, Any]:
        """maps.json with the new posts."""
        values = cast("dict[str, Any]", read_values(self._world.directory / MAPS_FILE))
        areas = []
        for area in values["maps"]:
            here = {node["id"] for node in area["nodes"]}
            new = [
                {"npcId": self.ids[number], "spawnNodeId": node} for number, node in self._posts.items() if node in here
            ]
            areas.append({**area, "npcs": [*area.get("npcs", ()), *new]} if new else area)
        return {**values, "maps": areas}


def _kind(slot: PersonSlot, tie: Tie, other: PersonSlot | None) -> str:
    """Under which the parts have words for the tie: by the other's sex where that is known, and who is older."""
    kind: str = tie.kind
    if other is None:
        return kind
    if kind == "sibling" and other.age != slot.age:
        kind = "elder" if other.age > slot.age else "younger"
    by_sex = f"{kind}_{found('sexes', other.sex)}"
    return by_sex if by_sex in parts("en").ties else kind
