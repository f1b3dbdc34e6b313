"""maps.json: its form, and the world's map made of it."""

from typing import Annotated

from pydantic import Field

from service.content.fields import UNWRITTEN, ContentModel, ListOf, Minutes, Moment, NonEmpty, OpenHours, Slug, Text
from service.locales import Language
from world.places import ALWAYS_OPEN, Edge, Facility, Node, WorldMap, index_nodes

Coordinate = Annotated[float, Field(allow_inf_nan=False)]


class NodeEntry(ContentModel):
    """A place to stand on."""

    id: Slug
    x: Coordinate
    y: Coordinate
    name: Text = UNWRITTEN


class WayEntry(ContentModel):
    """An edge within a map, or an exit to another map; walked both ways."""

    start: str = Field(alias="from")
    goal: str = Field(alias="to")
    minutes: Minutes


class FacilityEntry(ContentModel):
    """`hours` left out: always open."""

    id: Slug
    name: Text
    nodes: NonEmpty[str]
    tags: ListOf[Slug] = ()
    hours: NonEmpty[OpenHours] = ALWAYS_OPEN


class PostEntry(ContentModel):
    """Where an NPC stands."""

    npc_id: str
    spawn_node_id: str


class MapEntry(ContentModel):
    """One map."""

    id: Slug
    name: Text
    nodes: NonEmpty[NodeEntry]
    edges: ListOf[WayEntry]
    exits: ListOf[WayEntry] = ()
    facilities: ListOf[FacilityEntry] = ()
    npcs: ListOf[PostEntry] = ()


class MapsFile(ContentModel):
    """maps.json."""

    name: Text
    language: Language = "en"
    start_time: Moment
    maps: NonEmpty[MapEntry]


def world_map(file: MapsFile, language: Language) -> WorldMap:
    """All maps as one, with names in that language.

    Raises:
        UnknownPlace, ValueError: an id in it is of no node, or a way leads back to its start.
    """
    return WorldMap(
        nodes=index_nodes(
            Node(map_id=area.id, **node.in_language(language)) for area in file.maps for node in area.nodes
        ),
        edges=tuple(
            Edge(a=way.start, b=way.goal, minutes=way.minutes)
            for area in file.maps
            for way in (*area.edges, *area.exits)
        ),
        facilities={place.id: _facility(place, area, language) for area in file.maps for place in area.facilities},
        posts={post.npc_id: post.spawn_node_id for area in file.maps for post in area.npcs},
        map_names={area.id: area.name.of(language) for area in file.maps},
    )


def _facility(place: FacilityEntry, area: MapEntry, language: Language) -> Facility:
    return Facility(
        id=place.id,
        map_id=area.id,
        name=place.name.of(language),
        node_ids=tuple(dict.fromkeys(place.nodes)),
        tags=frozenset(place.tags),
        hours=place.hours,
    )
