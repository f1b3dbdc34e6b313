"""maps.json: its form, and the world's map made of it."""

from collections.abc import Collection
from typing import Annotated

from pydantic import Field

from service.content.fields import (
    UNWRITTEN,
    ContentModel,
    ListOf,
    Minutes,
    Moment,
    NonEmpty,
    OpenHours,
    PictureName,
    Slug,
    Text,
)
from service.locales import Language
from world.places import ALWAYS_OPEN, Edge, Facility, Node, WorldMap, index_nodes

Coordinate = Annotated[float, Field(allow_inf_nan=False)]
PositiveCoordinate = Annotated[float, Field(allow_inf_nan=False, gt=0)]


class NodeEntry(ContentModel):
    """A place to stand on."""

    id: Slug = Field(description="the node's id / ノードのid")
    x: Coordinate = Field(
        default=0,
        description="where it is drawn, to the right; left out of all nodes of a map: the page finds a place / "
        "描く位置(右へ)。マップの全ノードになければページが決める",
    )
    y: Coordinate = Field(default=0, description="where it is drawn, downwards / 描く位置(下へ)")
    name: Text = Field(default=UNWRITTEN, description="what people call it / 呼び名")


class WayEntry(ContentModel):
    """An edge within a map, or an exit to another map; walked both ways."""

    start: str = Field(
        alias="from",
        description="the node at one end; of an exit: of this map / 一方の端のノード(exit ではこのマップのもの)",
    )
    goal: str = Field(
        alias="to",
        description="the node at the other end; of an exit: of another map / "
        "もう一方の端のノード(exit では別のマップのもの)",
    )
    minutes: Minutes = Field(description="world minutes to walk it, either way / 歩くのにかかる分(どちら向きも同じ)")


class FacilityEntry(ContentModel):
    """`hours` left out: always open."""

    id: Slug = Field(description="the facility's id / 施設のid")
    name: Text = Field(description="what people call it / 呼び名")
    nodes: NonEmpty[str] = Field(description="ids of the nodes it stands on / 施設のあるノードのid")
    description: Text = Field(
        default=UNWRITTEN,
        description="what it is and sells, in a few words; told to those who are there / "
        "何の店か、何を売るか。短い言葉で、そこにいる人に伝える",
    )
    tags: ListOf[Slug] = Field(
        default=(), description="what it is for: an action asks for one of its tags / 用途。行動がこのどれかを求める"
    )
    hours: NonEmpty[OpenHours] = Field(
        default=ALWAYS_OPEN, description="when it is open; over midnight too / 開いている時間帯。真夜中をまたいでよい"
    )


class PostEntry(ContentModel):
    """Where an NPC stands."""

    npc_id: str = Field(description="the `id` of a file of npcs/ / npcs/ のファイルの `id`")
    spawn_node_id: str = Field(
        description="the node it stands on; nobody walks over it / 立つノード。ほかの人は通れない"
    )


class BackgroundEntry(ContentModel):
    """A picture that the page draws beneath a map, in the units of its nodes."""

    file: PictureName = Field(description="which, as `pictures/harbour.svg` / どの絵か(`pictures/harbour.svg`)")
    x: Coordinate = Field(default=0, description="its left edge / 左端の位置")
    y: Coordinate = Field(default=0, description="its upper edge / 上端の位置")
    width: PositiveCoordinate = Field(description="how wide it is / 幅")
    height: PositiveCoordinate = Field(description="how high it is / 高さ")


class MapEntry(ContentModel):
    """One map."""

    id: Slug = Field(description="the map's id / マップのid")
    name: Text = Field(description="what people call it / 呼び名")
    nodes: NonEmpty[NodeEntry] = Field(description="places to stand on / 人の立てる場所")
    edges: ListOf[WayEntry] = Field(description="ways between its nodes / マップの中の道")
    exits: ListOf[WayEntry] = Field(default=(), description="ways to other maps / ほかのマップへの道")
    facilities: ListOf[FacilityEntry] = Field(default=(), description="where actions can be done / 行動のできる施設")
    npcs: ListOf[PostEntry] = Field(default=(), description="which NPC stands where / どのNPCがどこに立つか")
    background: BackgroundEntry | None = Field(
        default=None, description="a picture beneath it on the page / ページでマップの下に敷く絵"
    )


class MapsFile(ContentModel):
    """maps.json."""

    name: Text = Field(description="the world's name / 世界の名前")
    language: Language = Field(
        default="en",
        description="the language of a world that is begun without naming one / 言語を決めずに始めた世界の言語",
    )
    start_time: Moment = Field(description="the world time at which a new world begins / 新しい世界の始まる世界時刻")
    maps: NonEmpty[MapEntry] = Field(
        description="all maps; one world, connected / すべてのマップ。互いにつながっている"
    )


def world_map(file: MapsFile, language: Language, leaving: Collection[str] = ()) -> WorldMap:
    """All maps as one, with names in that language. `leaving` are the ids of NPCs that may leave their node.

    Raises:
        UnknownPlace, ValueError: an id in it is of no node, or a way leads back to its start.
    """
    posts = {post.npc_id: post.spawn_node_id for area in file.maps for post in area.npcs}
    return WorldMap(
        nodes=index_nodes(
            Node(map_id=area.id, **dict(node.in_language(language))) for area in file.maps for node in area.nodes
        ),
        edges=tuple(
            Edge(a=way.start, b=way.goal, minutes=way.minutes)
            for area in file.maps
            for way in (*area.edges, *area.exits)
        ),
        facilities={place.id: _facility(place, area, language) for area in file.maps for place in area.facilities},
        posts={npc_id: node_id for npc_id, node_id in posts.items() if npc_id not in leaving},
        bases={npc_id: node_id for npc_id, node_id in posts.items() if npc_id in leaving},
        map_names={area.id: area.name.of(language) for area in file.maps},
    )


def _facility(place: FacilityEntry, area: MapEntry, language: Language) -> Facility:
    return Facility(
        id=place.id,
        map_id=area.id,
        name=place.name.of(language),
        description=place.description.of(language),
        node_ids=tuple(dict.fromkeys(place.nodes)),
        tags=frozenset(place.tags),
        hours=place.hours,
    )
