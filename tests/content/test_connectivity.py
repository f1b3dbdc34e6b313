"""Who can get where."""

from pathlib import Path

from service.content.check import examine
from tests.content.village import Village, enclose_the_mill


def lines(village: Village, directory: Path) -> list[str]:
    return [p.line("en") for p in examine(village.write(directory)).problems]


def test_a_node_walled_in_by_npcs_is_named_with_their_posts(tmp_path: Path) -> None:
    village = Village()
    village.village["nodes"].append({"id": "loft", "x": 5, "y": 5})
    village.village["edges"].append({"from": "counter", "to": "loft", "minutes": 1})
    assert lines(village, tmp_path) == [
        'maps.json: maps[0].nodes[6]: "loft" cannot be reached: enclosed by the posts "counter" of the NPCs "baker"; '
        "expected a way that no NPC stands on"
    ]


def test_the_smaller_side_of_a_cut_is_reported_as_one_region(tmp_path: Path) -> None:
    village = Village()
    enclose_the_mill(village)
    problems = examine(village.write(tmp_path)).problems
    assert [p.key_path for p in problems] == ["maps[0].nodes[2]", "maps[0].facilities[1].nodes"]
    assert '"mill", "glade", "pond"' in problems[0].message("en")
    assert 'enclosed by the posts "lane", "hut" of the NPCs "guard", "hermit"' in problems[0].message("en")
    assert 'NPC "guard", "hermit" の立ち位置 "lane", "hut"' in problems[0].message("ja")


def test_maps_without_a_way_between_them_are_an_error(tmp_path: Path) -> None:
    village = Village()
    village.village["exits"].clear()
    (only,) = examine(village.write(tmp_path)).problems
    assert only.key_path == "maps[1].nodes[0]"
    assert 'no edge or exit leads from "glade", "hut", "pond" to the rest' in only.message("en")


def test_an_npc_without_an_open_neighbour_is_an_error(tmp_path: Path) -> None:
    village = Village()
    village.forest["edges"][0].update({"from": "shed", "to": "hut"})
    village.forest["nodes"].append({"id": "shed", "x": 9, "y": 9})
    village.forest["edges"].append({"from": "shed", "to": "glade", "minutes": 1})
    village.forest["npcs"].append({"npcId": "guard", "spawnNodeId": "shed"})
    village.people["npcs/guard.yaml"] = {"id": "guard", "name": "Guard", "personality": "Stern."}
    (only,) = examine(village.write(tmp_path)).problems
    assert only.key_path == "maps[1].npcs[0].spawnNodeId"
    assert 'nobody could talk to NPC "hermit": node "hut" has no open neighbour' in only.message("en")


def test_a_facility_with_only_closed_nodes_is_an_error(tmp_path: Path) -> None:
    village = Village()
    village.village["facilities"][0]["nodes"] = ["counter"]
    assert lines(village, tmp_path) == [
        'maps.json: maps[0].facilities[0].nodes: nobody can enter "bakery": "counter" closed or cut off by NPCs; '
        "expected at least one node walkers can reach"
    ]


def test_a_way_that_leads_nowhere_known_is_not_also_reported_as_a_cut(tmp_path: Path) -> None:
    village = Village()
    village.village["edges"][2]["to"] = "dor"
    assert [p.key_path for p in examine(village.write(tmp_path)).problems] == ["maps[0].edges[2].to"]


def test_an_npc_on_an_unconnected_node_is_reported_once(tmp_path: Path) -> None:
    village = Village()
    village.forest["edges"].pop(0)
    assert [p.key_path for p in examine(village.write(tmp_path)).problems] == ["maps[1].nodes[1]"]


def test_a_long_region_is_not_listed_to_its_end(tmp_path: Path) -> None:
    village = Village()
    village.forest["nodes"] += [{"id": f"f{i}", "x": i, "y": 0} for i in range(30)]
    village.forest["edges"] += [{"from": "glade", "to": f"f{i}", "minutes": 1} for i in range(30)]
    village.village["exits"].clear()
    (only,) = examine(village.write(tmp_path)).problems
    assert only.key_path == "maps[0].nodes[0]"
    village.forest["nodes"][0:0] = []
    assert "(6)" not in only.message("en")
    village.village["nodes"] += [{"id": f"v{i}", "x": i, "y": 0} for i in range(20)]
    village.village["edges"] += [{"from": "square", "to": f"v{i}", "minutes": 1} for i in range(20)]
    (only,) = examine(village.write(tmp_path)).problems
    assert "… (26)" in only.message("en")
