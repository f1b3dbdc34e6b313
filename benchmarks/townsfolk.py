"""Owns the casts that the benchmarks of the whole service are played with: the generated maps with people who have
words.

The people are the bundled village's, each several times, with a name, a home and places of their own.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmarks.crowd import MIDNIGHT, SEED, catalogue, large, routine_profiles, town
from service.content.files import bundled_content
from service.content.load import Cast, Content, load_content
from service.content.profile import CharacterProfile, NpcProfile, RoutineBlock
from world.places import Facility, Node, WorldMap
from world.setting import Setting

_NAMES = (
    *("Ann", "Ben", "Cora", "Dan", "Ella", "Finn", "Greta", "Hugo", "Ida", "Jon", "Kim", "Leo", "Mara"),
    *("Nils", "Olga", "Paul", "Rosa", "Sam", "Tess", "Uma", "Vito", "Wim", "Xenia", "Yuri", "Zoe"),
)


def town_content(count: int) -> Content:
    """At most 25 characters with goals, a routine and a voice, and twelve NPCs, in the generated town."""
    setting, village = town(), _village()
    rng = random.Random(f"townsfolk {SEED}")
    return _content(setting, _characters(setting, village, count, rng))


def routine_content(count: int) -> Content:
    """A crowd on the large map that lives by routine."""
    setting = large()
    return _content(setting, routine_profiles(setting, count))


def _village() -> Cast:
    return load_content(bundled_content()).cast("en")


def _content(setting: Setting, characters: Mapping[str, CharacterProfile]) -> Content:
    cast = Cast(
        world_name="the generated town",
        world_map=_named(setting.world_map),
        catalogue=catalogue(),
        npcs=_npcs(list(_village().npcs.values()), sorted(setting.world_map.posts)),
        characters=characters,
    )
    return Content(directory=bundled_content(), default_language="en", start=MIDNIGHT, casts={"en": cast, "ja": cast})


def _named(bare: WorldMap) -> WorldMap:
    """The map with names as an author gives them."""
    return replace(
        bare,
        nodes={node_id: _named_node(node) for node_id, node in bare.nodes.items()},
        facilities={place_id: _named_place(place) for place_id, place in bare.facilities.items()},
        map_names={"town": "Gridtown"},
    )


def _named_node(node: Node) -> Node:
    return replace(node, name=f"Corner {node.id[1:].replace('_', '-')}") if node.id.startswith("g") else node


def _named_place(place: Facility) -> Facility:
    kind = " and ".join(sorted(place.tags)).title()
    return replace(place, name=f"{kind} House {int(place.id.rsplit('_', 1)[-1]) + 1}")


def _npcs(bundled: Sequence[NpcProfile], ids: Sequence[str]) -> dict[str, NpcProfile]:
    return {
        npc_id: bundled[i % len(bundled)].model_copy(
            update={"id": npc_id, "name": f"{bundled[i % len(bundled)].name}{_nth(i // len(bundled))}"}
        )
        for i, npc_id in enumerate(ids)
    }


def _nth(i: int) -> str:
    return f" {i + 1}" if i else ""


def _characters(setting: Setting, village: Cast, count: int, rng: random.Random) -> dict[str, CharacterProfile]:
    bundled, homes = list(village.characters.values()), sorted(setting.world_map.open_graph)
    people = (
        bundled[i % len(bundled)].model_copy(
            update={
                "id": f"c{i:02d}",
                "name": name,
                "home": rng.choice(homes),
                "knows": (),
                "routine": _moved(bundled[i % len(bundled)].routine, village.world_map, setting, rng),
            }
        )
        for i, name in enumerate(_NAMES[:count])
    )
    return {person.id: person for person in people}


def _moved(
    routine: Sequence[RoutineBlock], village: WorldMap, setting: Setting, rng: random.Random
) -> tuple[RoutineBlock, ...]:
    """The same day in the other place, up to half an hour later: what was at the village's bakery is at some shop."""
    shift = rng.randrange(0, 35, 5)
    places: dict[str | None, str | None] = {None: None}
    for place_id in dict.fromkeys(block.facility_id for block in routine if block.facility_id is not None):
        places[place_id] = _like(village.facility(place_id), setting, rng)
    return tuple(
        block.model_copy(update={"starts": min(block.starts + shift, 1439), "facility_id": places[block.facility_id]})
        for block in routine
    )


def _like(place: Facility, setting: Setting, rng: random.Random) -> str:
    """A facility that has most of the tags the village's has."""
    found = setting.world_map.facilities
    most = max(len(other.tags & place.tags) for other in found.values())
    return rng.choice([other_id for other_id, other in found.items() if len(other.tags & place.tags) == most])
