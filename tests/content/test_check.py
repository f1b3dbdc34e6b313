"""Every kind of content error: its file, its key path, its sentence, and no other error beside it."""

import copy
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.content.check import examine
from service.content.fields import ContentProblem
from service.content.files import MOST_FILES
from service.content.load import load_content
from tests.content.village import Village

Spoil = Callable[[Village], object]


def where(problems: list[ContentProblem]) -> list[tuple[str, str]]:
    return [(p.file, p.key_path) for p in problems]


def test_a_valid_village_has_no_problems(tmp_path: Path) -> None:
    assert examine(Village().write(tmp_path)).problems == []


def _set_hours(hours: object, village: Village) -> None:
    village.village["facilities"][1]["hours"] = [hours]


# fmt: off
SHAPES: list[tuple[str, Spoil, str, str, str]] = [
    ("a wrong type", lambda v: v.village.update(name=5), "maps.json", "maps[0].name", "found the number 5"),
    ("a list expected", lambda v: v.baker.update(facts="x"), "npcs/baker.yaml", "facts", "expected a list"),
    ("a secret that nobody may be told", lambda v: v.baker.update(facts=[{"en": "x", "secret": True}]),
     "npcs/baker.yaml", "facts[0]", 'expected "tellFrom" beside "secret"'),
    ("a secret of whom nothing says who may be told",
     lambda v: v.baker.update(facts=["y", {"en": "x", "secret": True, "tellFrom": {}}]), "npcs/baker.yaml",
     "facts[1].tellFrom", 'expected "affinity", "person" or both'),
    ("who may be told what is no secret", lambda v: v.baker.update(facts=[{"en": "x", "tellFrom": {"affinity": 1}}]),
     "npcs/baker.yaml", "facts[0]", 'expected "secret": true'),
    ("a secret without words", lambda v: v.sora.update(facts=[{"secret": True, "tellFrom": {"affinity": 1}}]),
     "characters/sora.yaml", "facts[0]", "expected a text"),
    ("a misspelt condition", lambda v: v.sora.update(facts=[{"en": "x", "secret": True, "tellFrom": {"afinity": 1}}]),
     "characters/sora.yaml", "facts[0].tellFrom.afinity", 'did you mean "affinity"?'),
    ("more affinity than there is",
     lambda v: v.sora.update(facts=[{"en": "x", "secret": True, "tellFrom": {"affinity": 101}}]),
     "characters/sora.yaml", "facts[0].tellFrom.affinity", "expected 100 or less"),
    ("a portrait that is not there", lambda v: v.baker.update(portrait="pictures/hana.png"), "npcs/baker.yaml",
     "portrait", 'unknown picture "pictures/hana.png"'),
    ("a portrait outside its folder", lambda v: v.sora.update(portrait="../maps.json"), "characters/sora.yaml",
     "portrait", "expected a file of pictures/"),
    ("a background that is not there",
     lambda v: v.village.update(background={"file": "pictures/x.svg", "width": 9, "height": 9}), "maps.json",
     "maps[0].background.file", "unknown picture"),
    ("a background without a size", lambda v: v.village.update(background={"file": "pictures/x.svg", "width": 9}),
     "maps.json", "maps[0].background.height", 'expected "height" here'),
    ("a portrait that is no picture",
     lambda v: (v.raw.update({"pictures/x.js": b""}), v.baker.update(portrait="pictures/x.js")), "npcs/baker.yaml",
     "portrait", "unknown picture"),
    ("nothing for a list", lambda v: v.baker.update(facts=None), "npcs/baker.yaml", "facts", "found nothing (null)"),
    ("a line with a colon", lambda v: v.baker.update(lines=[{"He said": "hello"}]), "npcs/baker.yaml", "lines[0]",
     "expected a text in quotes"),
    ("an unknown key", lambda v: v.baker.update(customPromt="x"), "npcs/baker.yaml", "customPromt",
     'did you mean "customPrompt"?'),
    ("an unknown key deep down", lambda v: v.village["edges"][1].update(miles=3), "maps.json", "maps[0].edges[1].miles",
     "expected one of from, to, minutes"),
    ("a missing key", lambda v: v.sora.pop("home"), "characters/sora.yaml", "home", 'expected "home" here'),
    ("a missing key deep down", lambda v: v.village["edges"][0].pop("minutes"), "maps.json", "maps[0].edges[0].minutes",
     "the key is missing"),
    ("a misspelt required key", lambda v: v.village["edges"][0].update(minute=v.village["edges"][0].pop("minutes")),
     "maps.json", "maps[0].edges[0].minute", 'did you mean "minutes"?'),
    ("a misspelt node id key", lambda v: v.village["nodes"][2].update(ide=v.village["nodes"][2].pop("id")), "maps.json",
     "maps[0].nodes[2].ide", 'did you mean "id"?'),
    ("a misspelt list of posts", lambda v: v.village.update(npc=v.village.pop("npcs")), "maps.json", "maps[0].npc",
     'did you mean "npcs"?'),
    ("an exit to no node", lambda v: v.village["exits"][0].pop("to"), "maps.json", "maps[0].exits[0].to", "missing"),
    ("a post of nobody", lambda v: v.forest["npcs"][0].update(npcId=3), "maps.json", "maps[1].npcs[0].npcId", "text"),
    ("edges left out", lambda v: v.village.pop("edges"), "maps.json", "maps[0].edges", "the key is missing"),
    ("an id that is no slug", lambda v: v.village.update(id="a--b"), "maps.json", "maps[0].id", 'found "a--b"'),
    ("an id too long", lambda v: v.village.update(id="a" * 65), "maps.json", "maps[0].id", "at most 64"),
    ("an id with a newline", lambda v: v.village.update(id="a\n"), "maps.json", "maps[0].id", "expected an id"),
    ("an id that is a number", lambda v: v.village.update(id=7), "maps.json", "maps[0].id", "found the number 7"),
    ("a tag that is no slug", lambda v: v.village["facilities"][0]["tags"].append("a b"), "maps.json",
     "maps[0].facilities[0].tags[2]", 'found "a b"'),
    ("no minutes", lambda v: v.village["edges"][0].update(minutes=0), "maps.json", "maps[0].edges[0].minutes", "1 or"),
    ("a bool for minutes", lambda v: v.village["edges"][0].update(minutes=True), "maps.json",
     "maps[0].edges[0].minutes", "found the truth value true; expected a whole number"),
    ("a fraction for minutes", lambda v: v.village["exits"][0].update(minutes=1.5), "maps.json",
     "maps[0].exits[0].minutes", "found the number 1.5; expected a whole number"),
    ("minutes in quotes", lambda v: v.village["exits"][0].update(minutes="3"), "maps.json", "maps[0].exits[0].minutes",
     'found "3"'),
    ("minutes beyond a year", lambda v: v.village["exits"][0].update(minutes=10**30), "maps.json",
     "maps[0].exits[0].minutes", "or less"),
    ("NaN", lambda v: v.village["nodes"][0].update(x=float("nan")), "maps.json", "maps[0].nodes[0].x",
     "found the number NaN; expected a finite number"),
    ("Infinity", lambda v: v.village["nodes"][0].update(y=float("-inf")), "maps.json", "maps[0].nodes[0].y",
     "found the number -Infinity"),
    ("a bool for x", lambda v: v.village["nodes"][0].update(x=False), "maps.json", "maps[0].nodes[0].x", "a number"),
    ("an unknown language", lambda v: v.maps.update(language="fr"), "maps.json", "language", '"en" or "ja"'),
    ("a bad start", lambda v: v.maps.update(startTime="tomorrow"), "maps.json", "startTime", "2026-04-01T07:00"),
    ("a time zone", lambda v: v.maps.update(startTime="2026-04-01T07:00Z"), "maps.json", "startTime", "time zone"),
    ("no maps", lambda v: v.maps.update(maps=[]), "maps.json", "maps", "at least 1"),
    ("a map without nodes", lambda v: v.forest.update(nodes=[]), "maps.json", "maps[1].nodes", "at least 1"),
    ("a facility without nodes", lambda v: v.village["facilities"][1].update(nodes=[]), "maps.json",
     "maps[0].facilities[1].nodes", "at least 1"),
    *(
        (
            f"hours {hours}",
            partial(_set_hours, hours),
            "maps.json",
            "maps[0].facilities[1].hours[0]",
            "expected opening hours",
        )
        for hours in ("6:00-7:00", "06:00", "06:00-24:01", "24:00-06:00", "06:60-07:00", "08:00-08:00", 5, None)
    ),
    ("hours without any", lambda v: v.village["facilities"][1].update(hours=[]), "maps.json",
     "maps[0].facilities[1].hours", "at least 1"),
    ("an empty text", lambda v: v.baker.update(name=" \n"), "npcs/baker.yaml", "name", "not empty"),
    ("an empty text of one language", lambda v: v.baker["facts"][0].update(ja=""), "npcs/baker.yaml", "facts[0].ja",
     "not empty"),
    ("a text in no language", lambda v: v.baker.update(name={}), "npcs/baker.yaml", "name", '"en" or "ja"'),
    ("a text in another", lambda v: v.baker["name"].update(fr="x"), "npcs/baker.yaml", "name.fr", "one of en, ja"),
    ("no half text", lambda v: v.village.update(name="\ud800"), "maps.json", "maps[0].name", "surrogate"),
    ("an unknown mood", lambda v: v.baker.update(mood="grumpy"), "npcs/baker.yaml", "mood", '"happy", "neutral",'),
    ("an unknown importance", lambda v: v.sora["goals"][0].update(importance="big"), "characters/sora.yaml",
     "goals[0].importance", '"low", "medium", "high" or a whole number from 1 to 10'),
    ("an importance of eleven", lambda v: v.baker.update(experiences=[{"event": "The flood.", "importance": 11}]),
     "npcs/baker.yaml", "experiences[0].importance", "a whole number from 1 to 10"),
    ("an age in words", lambda v: v.baker.update(age="forty"), "npcs/baker.yaml", "age", "a whole number such as 3"),
    ("an occupation without a title", lambda v: v.baker.update(occupation={"organization": "The mill"}),
     "npcs/baker.yaml", "occupation.title", 'expected "title" here'),
    ("a degree of openness that is none", lambda v: v.baker.update(bigFive={"openness": "very"}), "npcs/baker.yaml",
     "bigFive.openness", '"low", "medium" or "high"'),
    ("a relationship with nobody",
     lambda v: v.baker.update(relationships=[{"person": "sorra", "description": "His niece."}]), "npcs/baker.yaml",
     "relationships[0].person", '(did you mean "sora"?)'),
    ("a mood of a character", lambda v: v.sora.update(mood="happy"), "characters/sora.yaml", "mood", "unknown key"),
    ("a time read as a number", lambda v: v.sora["routine"][1].update(starts=1110), "characters/sora.yaml",
     "routine[1].starts", "put it in quotes"),
    ("a time after midnight", lambda v: v.sora["routine"][1].update(starts="24:00"), "characters/sora.yaml",
     "routine[1].starts", '"00:00" to "23:59"'),
]
# fmt: on

# fmt: off
REFERENCES: list[tuple[str, Spoil, str, str, str]] = [
    ("an unknown post", lambda v: v.village["npcs"][0].update(spawnNodeId="countr"), "maps.json",
     "maps[0].npcs[0].spawnNodeId",
     'unknown node "countr"; expected one of the map\'s node ids (did you mean "counter"?)'),
    ("an unknown end of an edge", lambda v: v.village["edges"][1].update(to="mil"), "maps.json", "maps[0].edges[1].to",
     'unknown node "mil"'),
    ("an edge to another map", lambda v: v.village["edges"].append({"from": "mill", "to": "pond", "minutes": 1}),
     "maps.json", "maps[0].edges[5].to", 'node "pond" is on the map "forest"'),
    ("an exit from another map", lambda v: v.village["exits"].append({"from": "glade", "to": "pond", "minutes": 1}),
     "maps.json", "maps[0].exits[1].from", 'node "glade" is on the map "forest"'),
    ("an exit to the same map", lambda v: v.village["exits"].append({"from": "mill", "to": "square", "minutes": 1}),
     "maps.json", "maps[0].exits[1].to", "expected to lead to another map"),
    ("an exit to nowhere", lambda v: v.village["exits"][0].update(to="glad"), "maps.json", "maps[0].exits[0].to",
     'did you mean "glade"?'),
    ("an edge to itself", lambda v: v.village["edges"].append({"from": "mill", "to": "mill", "minutes": 1}),
     "maps.json", "maps[0].edges[5]", 'from "mill" to itself'),
    ("an unknown node of a facility", lambda v: v.village["facilities"][0]["nodes"].append("roof"), "maps.json",
     "maps[0].facilities[0].nodes[3]", 'unknown node "roof"'),
    ("a node id twice", lambda v: v.forest["nodes"].append({"id": "lane", "x": 1, "y": 1}), "maps.json",
     "maps[1].nodes[3].id", "already taken by maps[0].nodes[1].id"),
    ("a facility id twice", lambda v: v.forest["facilities"].append({"id": "bakery", "name": "x", "nodes": ["pond"]}),
     "maps.json", "maps[1].facilities[0].id", "already taken by maps[0].facilities[0].id"),
    ("a map id twice", lambda v: v.forest.update(id="village"), "maps.json", "maps[1].id",
     "already taken by maps[0].id"),
    ("one id for an NPC and a character", lambda v: v.sora.update(id="baker"), "characters/sora.yaml", "id",
     "already taken by npcs/baker.yaml"),
    ("an NPC id twice", lambda v: v.people.update({"npcs/copy.yaml": dict(v.baker)}), "npcs/copy.yaml", "id",
     "already taken by npcs/baker.yaml"),
    ("an NPC without a post",
     lambda v: v.people.update({"npcs/guard.yaml": {"id": "guard", "name": "x", "personality": "x"}}),
     "npcs/guard.yaml", "id", 'NPC "guard" has no post'),
    ("a post without an NPC",
     lambda v: v.village["npcs"].append({"npcId": "ghost", "spawnNodeId": "yard"}) or v.sora.update(home="square"),
     "maps.json", "maps[0].npcs[1].npcId", 'unknown NPC "ghost"'),
    (
        "a post of a character",
        lambda v: (
            v.village["npcs"].append({"npcId": "sora", "spawnNodeId": "mill"})
            or v.village.update(facilities=[])
            or v.sora.update(routine=[])
            or v.forest["exits"].append({"from": "pond", "to": "square", "minutes": 9})
        ),
        "maps.json",
        "maps[0].npcs[1].npcId",
        '"sora" is a character',
    ),
    ("an NPC posted twice", lambda v: v.forest["npcs"].append({"npcId": "baker", "spawnNodeId": "pond"}), "maps.json",
     "maps[1].npcs[1].npcId", "already has its post at maps[0].npcs[0]"),
    (
        "two NPCs on one node",
        lambda v: (
            v.forest["npcs"].append({"npcId": "guard", "spawnNodeId": "hut"})
            or v.people.update({"npcs/guard.yaml": {"id": "guard", "name": "x", "personality": "x"}})
        ),
        "maps.json",
        "maps[1].npcs[1].spawnNodeId",
        'NPC "hermit" already stands on node "hut"',
    ),
    ("a home on a post", lambda v: v.sora.update(home="counter"), "characters/sora.yaml", "home",
     'closed, for NPC "baker" stands on it'),
    ("an unknown home", lambda v: v.sora.update(home="yarrd"), "characters/sora.yaml", "home", 'did you mean "yard"?'),
    ("an unknown facility", lambda v: v.sora["routine"][1].update(facility="bakry"), "characters/sora.yaml",
     "routine[1].facility", 'unknown facility "bakry"; expected a facility id of maps.json (did you mean "bakery"?)'),
    ("a secret for a person who is not there",
     lambda v: v.sora.update(facts=[{"en": "x", "secret": True, "tellFrom": {"person": "bakre"}}]),
     "characters/sora.yaml", "facts[0].tellFrom.person", 'did you mean "baker"?'),
    ("a secret for its owner",
     lambda v: v.baker.update(facts=[{"en": "x", "secret": True, "tellFrom": {"person": "baker"}}]), "npcs/baker.yaml",
     "facts[0].tellFrom.person", "its own id"),
    ("an unknown acquaintance", lambda v: v.sora.update(knows=["bakre"]), "characters/sora.yaml", "knows[0]",
     'unknown person "bakre"; expected the id of a file in npcs/ or characters/ (did you mean "baker"?)'),
    ("a character among the acquaintances who is not there", lambda v: v.sora.update(knows=["baker", "emi"]),
     "characters/sora.yaml", "knows[1]", 'unknown person "emi"; expected the id of a file in npcs/ or characters/'),
    ("a character that knows itself", lambda v: v.sora.update(knows=["sora"]), "characters/sora.yaml", "knows[0]",
     'found "sora", its own id; expected the ids of others'),
    ("an acquaintance named twice", lambda v: v.sora.update(knows=["baker", "baker"]), "characters/sora.yaml",
     "knows[1]", 'found "baker", as at knows[0]; expected everybody once'),
    ("a routine out of order", lambda v: v.sora["routine"][1].update(starts="06:59"), "characters/sora.yaml",
     "routine[1].starts", 'found "06:59" after "07:00" at routine[0].starts'),
    ("two blocks at one minute", lambda v: v.sora["routine"][1].update(starts="07:00"), "characters/sora.yaml",
     "routine[1].starts", "expected a later time"),
]
# fmt: on


@pytest.mark.parametrize(
    ("spoil", "file", "key", "words"), [pytest.param(*rest, id=name) for name, *rest in SHAPES + REFERENCES]
)
def test_an_error_is_named_by_file_and_key_and_stands_alone(
    tmp_path: Path, spoil: Spoil, file: str, key: str, words: str
) -> None:
    village = Village()
    spoil(village)
    (only,) = examine(village.write(tmp_path)).problems
    assert (only.file, only.key_path) == (file, key)
    assert words in only.line("en")
    assert only.line("ja") != only.line("en")
    assert "\n" not in only.line("en") + only.line("ja")


def test_all_errors_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    village = Village()
    village.village["edges"][0]["minutes"] = 0
    village.village["edges"][1]["minutes"] = True
    village.forest["nodes"].append({"id": "island", "x": 0, "y": "1"})
    village.baker.update(mood="hapy", personalty="x")
    village.sora["routine"].append({"starts": "08:00", "activity": ""})
    village.raw["npcs/broken.yaml"] = b"id: [1\n"
    assert where(examine(village.write(tmp_path)).problems) == [
        ("maps.json", "maps[0].edges[0].minutes"),
        ("maps.json", "maps[0].edges[1].minutes"),
        ("maps.json", "maps[1].nodes[3].y"),
        ("characters/sora.yaml", "routine[2].activity"),
        ("npcs/baker.yaml", "mood"),
        ("npcs/baker.yaml", "personalty"),
        ("npcs/broken.yaml", ""),
    ]


def test_what_the_readable_files_say_of_each_other_is_checked_beside_those_that_have_no_form(tmp_path: Path) -> None:
    village = Village()
    village.village["edges"][1]["to"] = "mil"
    village.village["npcs"][0]["spawnNodeId"] = "v99"
    village.baker["mood"] = "hapy"
    village.sora["home"] = "nowhere"
    village.sora["routine"].append({"starts": "08:00", "activity": "x", "facility": "bakry"})
    assert where(examine(village.write(tmp_path)).problems) == [
        ("maps.json", "maps[0].edges[1].to"),
        ("maps.json", "maps[0].npcs[0].spawnNodeId"),
        ("characters/sora.yaml", "routine[2].starts"),
        ("characters/sora.yaml", "routine[2].facility"),
        ("characters/sora.yaml", "home"),
        ("npcs/baker.yaml", "mood"),
    ]


def test_an_unreadable_npc_file_does_not_make_its_post_an_error_too(tmp_path: Path) -> None:
    village = Village(raw={"npcs/baker.yaml": b"id: [\n"})
    assert where(examine(village.write(tmp_path)).problems) == [("npcs/baker.yaml", "")]


def test_an_unreadable_npc_file_may_hold_any_npc(tmp_path: Path) -> None:
    village = Village(raw={"npcs/bread.yaml": b"id: [\n"})
    del village.people["npcs/baker.yaml"]
    assert where(examine(village.write(tmp_path)).problems) == [("npcs/bread.yaml", "")]


def test_unreadable_maps_do_not_make_everything_else_an_error_too(tmp_path: Path) -> None:
    village = Village(raw={"maps.json": b"{"})
    assert where(examine(village.write(tmp_path)).problems) == [("maps.json", "")]


def test_a_missing_directory_is_one_problem(tmp_path: Path) -> None:
    (only,) = examine(tmp_path / "nowhere").problems
    assert only.line("en") == f"{tmp_path / 'nowhere'}: there is no such directory"


def test_every_missing_file_and_folder_that_a_game_needs_is_named(tmp_path: Path) -> None:
    assert where(examine(tmp_path).problems) == [("maps.json", ""), ("npcs/", "")]


def test_a_game_without_characters_needs_no_folder_for_them(tmp_path: Path) -> None:
    directory = Village().write(tmp_path)
    shutil.rmtree(directory / "characters")
    assert where(examine(directory).problems) == []
    assert load_content(directory).cast("en").characters == {}


def test_a_game_without_npcs_needs_no_folder_for_them(tmp_path: Path) -> None:
    village = Village()
    for area in village.maps["maps"]:
        area["npcs"] = []
    directory = village.write(tmp_path)
    shutil.rmtree(directory / "npcs")
    assert where(examine(directory).problems) == []
    assert load_content(directory).cast("en").npcs == {}


def test_a_missing_npcs_folder_does_not_make_every_post_an_error_too(tmp_path: Path) -> None:
    directory = Village().write(tmp_path)
    (directory / "npcs").rename(directory / "people")
    assert where(examine(directory).problems) == [("npcs/", "")]


def test_a_folder_with_more_files_than_any_game_is_named_and_none_of_them_is_read(tmp_path: Path) -> None:
    directory = Village().write(tmp_path)
    for number in range(MOST_FILES + 1):
        (directory / f"npcs/x{number}.yaml").touch()
    problems = examine(directory).problems
    assert where(problems) == [("npcs/", "")]
    assert problems[0].message("en") == "there are more than 10000 files in this folder, the most that is read"
    assert problems[0].message("ja") == "このフォルダのファイルが多すぎます。読み込めるのは 10000 個までです"


def test_what_is_no_file_beside_the_people_is_named_and_the_rest_is_checked(tmp_path: Path) -> None:
    directory = Village().write(tmp_path)
    os.mkfifo(directory / "npcs" / "ghost.yaml")
    (directory / "characters" / "endless.yml").symlink_to("/dev/zero")
    (directory / "characters" / "sora.yaml").write_text("id: 5\n", encoding="utf-8")
    found = examine(directory).problems
    assert [p.file for p in found if "no file" in p.message("en")] == ["characters/endless.yml", "npcs/ghost.yaml"]
    assert ("characters/sora.yaml", "id") in where(found)


def test_hidden_and_other_files_beside_the_people_are_left_alone(tmp_path: Path) -> None:
    village = Village(raw={"npcs/.gitkeep": b"", "npcs/._baker.yaml": b"\0", "characters/notes.txt": b"\xff"})
    assert examine(village.write(tmp_path)).problems == []


def test_a_world_written_in_one_language_only_is_fine(tmp_path: Path) -> None:
    def only_english(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: only_english(v) for k, v in value.items() if k != "ja" or len(value) == 1}
        return [only_english(v) for v in value] if isinstance(value, list) else value

    village = Village()
    english = Village(maps=only_english(village.maps), people=only_english(village.people))
    assert examine(english.write(tmp_path)).problems == []


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["square", "lane", "counter", "baker", "sora", "bakery", "07:00", "glade", "a--b", "\ud800"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["id", "en", "from", "x"]), st.text(max_size=3), max_size=2),
)


def _spots(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) below a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [spot for key, child in items for spot in ((value, key), *_spots(child))]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_change_to_valid_content_makes_the_check_stumble(data: st.DataObject, tmp_path: Path) -> None:
    village = Village()
    for _ in range(data.draw(st.integers(1, 3))):
        target: Any = data.draw(st.sampled_from([village.maps, *village.people.values()]))
        spots = _spots(target)
        if not spots:
            continue
        holder, key = data.draw(st.sampled_from(spots))
        change = data.draw(st.sampled_from(["delete", "replace", "swap", "repeat", "rename"]))
        if change == "delete":
            del holder[key]
        elif change == "replace":
            holder[key] = data.draw(VALUES)
        elif change == "swap":
            other, other_key = data.draw(st.sampled_from(spots))
            holder[key], other[other_key] = copy.deepcopy(other[other_key]), copy.deepcopy(holder[key])
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            holder[data.draw(st.text(max_size=6))] = holder.pop(key)
    directory = village.write(tmp_path)
    problems = examine(directory).problems
    for problem in problems:
        assert problem.line("en").isprintable()
        assert problem.line("ja").isprintable()
    if not problems:
        content = load_content(directory)
        assert content.cast("en").world_map.open_graph
        assert content.cast("ja").characters.keys() == content.cast("en").characters.keys()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary(max_size=40) | st.text("[]{}:,-?&*!|>'\"#%@` \n\t~ab01.<=", max_size=40).map(str.encode))
def test_no_bytes_in_a_file_make_the_check_stumble(raw: bytes, tmp_path: Path) -> None:
    village = Village(raw={"npcs/baker.yaml": raw, "maps.json": raw})
    assert examine(village.write(tmp_path)).problems
