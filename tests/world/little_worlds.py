"""Owns small worlds to live in: random maps, needs, actions and people from a seed, and one drawn by hand."""

import random

from world.actions import ActionDef, Between, Catalogue, Where
from world.life import Person
from world.needs import Need, Needs
from world.places import Edge, Facility, Hours, Node, WorldMap, index_nodes
from world.setting import Rules, Setting
from world.simulation import Simulation, newcomer
from world.time import WorldTime, parse_time

MORNING = parse_time("2026-04-01T07:00")

NEEDS = Needs(
    all=(
        Need(id="energy", start=70, critical=15, drift_per_hour=-8),
        Need(id="satiety", start=60, critical=20, drift_per_hour=-10),
        Need(id="sociability", start=50, critical=10, drift_per_hour=-6),
        Need(id="money", highest=1000, start=20),
    )
)

CATALOGUE = Catalogue(
    needs=NEEDS,
    actions=(
        ActionDef(
            id="eat",
            tags=frozenset({"eat"}),
            minutes=12,
            seats=1,
            cost={"money": 4},
            effects={"satiety": 50},
        ),
        ActionDef(id="work", tags=frozenset({"work"}), minutes=30, effects={"money": 12, "energy": -10}),
        ActionDef(id="play", tags=frozenset({"play"}), minutes=9, seats=2, effects={"sociability": 9}),
        ActionDef(
            id="sleep",
            where=Where.HOME,
            minutes=45,
            effects={"energy": 60},
            interruptible=False,
            ends_day=True,
            requires=(Between(need_id="energy", at_most=60),),
        ),
        ActionDef(id="rest", where=Where.ANYWHERE, minutes=8, effects={"energy": 5}),
    ),
    talk_effects={"sociability": 60},
)


def random_map(
    rng: random.Random, *, nodes: int, npcs: int, facilities: int, ways: tuple[int, int] = (1, 4)
) -> WorldMap:
    """Connected, with a few ways more than a tree has, each as long as `ways` says (from, to). NPCs stand beside the
    ways, so that all else stays connected; some can be spoken to from nodes far apart.
    """
    shortest, longest = ways
    ids = [f"n{i:03d}" for i in range(nodes)]
    edges = [
        Edge(a=ids[i], b=ids[rng.randrange(max(0, i - 4), i)], minutes=rng.randint(shortest, longest))
        for i in range(1, nodes)
    ]
    for _ in range(nodes // 3):
        a, b = rng.sample(range(nodes), 2)
        if abs(a - b) < 8:
            edges.append(Edge(a=ids[a], b=ids[b], minutes=rng.randint(shortest, longest)))
    posts = {f"npc_{i}": f"post_{i}" for i in range(npcs)}
    for post in posts.values():
        edges += [Edge(a=post, b=beside, minutes=1) for beside in rng.sample(ids, min(nodes, rng.randint(1, 3)))]
    tags = ["eat", "work", "play"]
    places = {
        f"place_{i}": Facility(
            id=f"place_{i}",
            map_id="town",
            name=f"place {i}",
            node_ids=tuple(sorted(rng.sample(ids, rng.randint(1, 2)))),
            tags=frozenset({tags[i % 3]}),
            hours=(Hours(opens=rng.choice([0, 420, 480]), closes=rng.choice([600, 1440])),),
        )
        for i in range(facilities)
    }
    return WorldMap(
        nodes=index_nodes(Node(id=i, map_id="town", x=0, y=0) for i in [*ids, *posts.values()]),
        edges=tuple(edges),
        facilities=places,
        posts=posts,
    )


def random_setting(seed: int) -> Setting:
    """A small map with NPCs and facilities: a hamlet one can see across, a town, or a road of long ways."""
    rng = random.Random(seed)
    nodes, ways = rng.choice([((3, 6), (3, 3)), ((3, 9), (2, 3)), ((4, 40), (1, 2)), ((4, 40), (1, 6))])
    return Setting(
        random_map(rng, nodes=rng.randint(*nodes), npcs=rng.randint(0, 3), facilities=rng.randint(0, 6), ways=ways),
        CATALOGUE,
    )


def people_of(setting: Setting, seed: int, *, count: int, is_scripted: float = 0.0) -> list[Person]:
    """`count` people on random nodes who begin their lives within a few minutes; a share of them is blind."""
    rng = random.Random(f"people {seed}")
    homes = sorted(setting.world_map.open_graph)
    return [
        newcomer(
            setting,
            f"c{i:03d}",
            rng.choice(homes),
            WorldTime(MORNING + rng.randint(0, 3)),
            node_id=rng.choice(homes),
            needs={"energy": rng.randint(20, 90), "satiety": rng.randint(10, 90)},
            is_scripted=rng.random() < is_scripted,
        )
        for i in range(count)
    ]


def random_world(seed: int, *, remember: int | None = None) -> Simulation:
    """A random setting with 2 to 9 people."""
    setting = random_setting(seed)
    rng = random.Random(f"world {seed}")
    people = people_of(setting, seed, count=rng.randint(2, 9), is_scripted=rng.choice([0.0, 0.0, 0.3]))
    return Simulation(setting, people, remember=remember)


def crowded_world(seed: int, *, table: int) -> Simulation:
    """Many people in a small place, up to `table` in a talk: tables fill, and from nearly each somebody leaves."""
    rng = random.Random(f"dense {seed}")
    nodes, ways = rng.choice([((2, 4), (1, 3)), ((3, 9), (1, 3)), ((4, 20), (1, 2))])
    world_map = random_map(
        rng, nodes=max(4, rng.randint(*nodes)), npcs=rng.randint(0, 2), facilities=rng.randint(0, 4), ways=ways
    )
    people = rng.randint(4, 8 + 2 * table), rng.choice([0.0, 0.3])
    setting = Setting(world_map, CATALOGUE, Rules(table=table))
    return Simulation(setting, people_of(setting, seed, count=people[0], is_scripted=people[1]), remember=None)


def grid_setting(catalogue: Catalogue, seed: int, *, columns: int, rows: int, facilities: int, npcs: int) -> Setting:
    """Streets in a grid, a minute or two from corner to corner; facilities and NPCs spread at random."""
    rng = random.Random(f"grid {seed}")
    ids = {(x, y): f"g{x:02d}_{y:02d}" for x in range(columns) for y in range(rows)}
    edges = [
        Edge(a=node_id, b=ids[other], minutes=rng.randint(1, 2))
        for (x, y), node_id in ids.items()
        for other in ((x + 1, y), (x, y + 1))
        if other in ids
    ]
    corners = list(ids.values())
    posts = {f"npc_{i:02d}": f"post_{i:02d}" for i in range(npcs)}
    edges += [
        Edge(a=post, b=corner, minutes=1)
        for post, corner in zip(posts.values(), rng.sample(corners, npcs), strict=True)
    ]
    kinds = [
        ["work"],
        ["eat", "drink", "social"],
        ["work", "shop"],
        ["social", "play"],
        ["work", "study"],
        ["eat", "work"],
    ]
    places = {
        f"place_{i:03d}": Facility(
            id=f"place_{i:03d}", map_id="town", name=f"place {i}", node_ids=(corner,), tags=frozenset(kinds[i % 6])
        )
        for i, corner in enumerate(rng.sample(corners, facilities))
    }
    nodes = index_nodes(Node(id=i, map_id="town", x=0, y=0) for i in [*corners, *posts.values()])
    return Setting(WorldMap(nodes=nodes, edges=tuple(edges), facilities=places, posts=posts), catalogue)
