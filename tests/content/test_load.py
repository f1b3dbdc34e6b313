"""Owns the tests of the way from files to a cast."""

from pathlib import Path

import pytest

from service.content.files import bundled_content
from service.content.load import load_content
from service.content.profile import RoutineBlock
from service.errors import ContentErrors
from tests.content.village import Village
from world.actions import ActionDef, Between, Where
from world.needs import Need
from world.places import ALWAYS_OPEN, Edge, Hours


def test_a_cast_speaks_one_language_and_is_kept(tmp_path: Path) -> None:
    content = load_content(Village().write(tmp_path))
    assert content.cast("en").npcs["baker"].name == "Hanna"
    assert content.cast("ja").npcs["baker"].name == "ハンナ"
    assert content.cast("ja") is content.cast("ja")


def test_a_text_falls_back_to_the_other_language(tmp_path: Path) -> None:
    hermit = load_content(Village().write(tmp_path)).cast("en").npcs["hermit"]
    assert (hermit.name, hermit.personality) == ("隠者", "Quiet.")


def test_an_npc_is_read_whole(tmp_path: Path) -> None:
    baker = load_content(Village().write(tmp_path)).cast("en").npcs["baker"]
    assert baker.kind == "npc"
    assert baker.model_dump() == {
        "id": "baker",
        "name": "Hanna",
        "portrait": None,
        "personality": "Warm and loud.",
        "tendencies": ("Hums.",),
        "custom_prompt": "Never gives credit.",
        "identity": (),
        "seen": "",
        "persona": (),
        "goals": (),
        "facts": ("The oven was built in 1950.",),
        "secrets": (),
        "lines": ("Fresh rye!",),
        "deflections": (),
        "mood": "happy",
        "may_leave": False,
        "voice": None,
        "context_tokens": None,
    }


def test_an_npc_that_may_leave_closes_no_node(tmp_path: Path) -> None:
    village = Village()
    stays = load_content(village.write(tmp_path)).cast("en").world_map
    village.baker["mayLeave"] = True
    cast = load_content(village.write(tmp_path)).cast("en")
    assert cast.npcs["baker"].may_leave
    assert cast.world_map.bases == {"baker": stays.posts["baker"]}
    assert stays.closed_nodes - cast.world_map.closed_nodes == {stays.posts["baker"]}
    assert cast.world_map.npc_nodes == stays.npc_nodes


def test_what_others_see_of_a_person_is_its_looks_and_trade_or_else_its_gender_and_about_its_age(
    tmp_path: Path,
) -> None:
    village = Village()
    assert load_content(village.write(tmp_path)).cast("en").npcs["baker"].seen == ""
    village.people["npcs/baker.yaml"] |= {"age": 48, "gender": "woman", "occupation": "baker"}
    assert load_content(village.write(tmp_path)).cast("en").npcs["baker"].seen == "woman, about 50, baker"
    village.people["npcs/baker.yaml"]["appearance"] = "a woman in a floury apron"
    assert load_content(village.write(tmp_path)).cast("en").npcs["baker"].seen == "a woman in a floury apron, baker"


def test_a_character_is_read_whole(tmp_path: Path) -> None:
    sora = load_content(Village().write(tmp_path)).cast("ja").characters["sora"]
    assert sora.kind == "character"
    assert sora.home == "yard"
    assert [(goal.goal, goal.importance) for goal in sora.goals] == [("パンを焼く。", "high")]
    assert sora.routine == (
        RoutineBlock(starts=420, activity="起きる"),
        RoutineBlock(starts=1110, activity="手伝う", facility_id="bakery"),
    )


def test_actions_are_read_whole_in_one_language(tmp_path: Path) -> None:
    content = load_content(Village.with_actions().write(tmp_path))
    en, ja = content.cast("en").catalogue, content.cast("ja").catalogue
    assert en.action("bake") == ActionDef(
        id="bake",
        name="Bake",
        tags=frozenset({"food", "kitchen"}),
        minutes=30,
        seats=2,
        requires=(Between(need_id="energy", at_least=10, at_most=100), Between(need_id="money", at_least=0)),
        cost={"money": 2},
        effects={"energy": -5},
    )
    sleep = ja.action("sleep")
    assert (sleep.name, sleep.where, sleep.hours) == ("眠る", Where.HOME, (Hours(opens=1200, closes=240),))
    assert (sleep.interruptible, sleep.ends_day) == (False, True)
    assert en.needs.all == (
        Need(id="energy", name="Energy", start=90, critical=15, drift_per_hour=-4.5),
        Need(id="money", name="金", lowest=-10, highest=500, start=20),
    )
    assert en.talk_effects == {"energy": -1}


def test_all_maps_become_one_world_map(tmp_path: Path) -> None:
    world = load_content(Village().write(tmp_path)).cast("en").world_map
    assert len(world.nodes) == 9
    assert (world.nodes["square"].name, world.nodes["lane"].x, world.nodes["pond"].map_id) == ("Square", 1.5, "forest")
    assert Edge(a="mill", b="glade", minutes=10) in world.edges
    assert world.posts == {"baker": "counter", "hermit": "hut"}
    assert world.map_names == {"village": "Village", "forest": "Forest"}
    bakery, mill = world.facilities["bakery"], world.facilities["mill-house"]
    assert bakery.node_ids == ("door", "yard")
    assert bakery.tags == {"shop", "food"}
    assert bakery.hours == (Hours(opens=360, closes=720), Hours(opens=1080, closes=120))
    assert mill.hours == ALWAYS_OPEN


def test_content_with_errors_is_refused_with_all_of_them_in_both_languages(tmp_path: Path) -> None:
    village = Village()
    village.sora["home"] = "nowhere"
    village.baker["mood"] = "{hapy}"
    with pytest.raises(ContentErrors) as caught:
        load_content(village.write(tmp_path))
    assert caught.value.facts["count"] == 2
    english, japanese = caught.value.sentence("en").splitlines(), caught.value.sentence("ja").splitlines()
    assert english[0].startswith("2 errors")
    assert english[1].startswith('characters/sora.yaml: home: unknown node "nowhere"')
    assert english[2].startswith('npcs/baker.yaml: mood: found "{hapy}"')
    assert "2 件" in japanese[0]
    assert japanese[1].startswith('characters/sora.yaml: home: ノード "nowhere" はありません')
    assert len(japanese) == 3


def test_bundled_content_of_an_installed_package_lies_within_it(tmp_path: Path) -> None:
    (tmp_path / "service" / "_bundled").mkdir(parents=True)
    assert bundled_content(tmp_path / "service") == tmp_path / "service" / "_bundled"
