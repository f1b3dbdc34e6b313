"""Errors in actions.json, and of needs and actions in characters' files: each named, and standing alone."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.content.check import examine
from service.content.load import load_content
from tests.content.test_check import VALUES, _spots, where
from tests.content.village import Village

Spoil = Callable[[Village], object]
A, S = "actions.json", "characters/sora.yaml"

# fmt: off
SHAPES: list[tuple[str, Spoil, str, str, str]] = [
    ("an unknown key", lambda v: v.needs[0].update(drift=1), A, "needs[0].drift", "unknown key"),
    ("a misspelt key that has a default", lambda v: v.needs[1].update(highst=v.needs[1].pop("highest"), start=400), A,
     "needs[1].highst", 'did you mean "highest"?'),
    ("a misspelt place", lambda v: v.action_entries[0].update(wher=v.action_entries[0].pop("where")), A,
     "actions[0].wher", "where"),
    ("a misspelt tag list", lambda v: v.action_entries[1].update(tag=v.action_entries[1].pop("tags")), A,
     "actions[1].tag", "tags"),
    ("an unknown key of a precondition", lambda v: v.action_entries[1]["requires"]["energy"].update(atLest=1), A,
     "actions[1].requires.energy.atLest", 'expected one of atLeast, atMost (did you mean "atLeast"?)'),
    ("a precondition of nothing", lambda v: v.action_entries[1]["requires"].update(energy={}), A,
     "actions[1].requires.energy", "both"),
    ("null for a bound", lambda v: v.action_entries[1]["requires"]["energy"].update(atLeast=None), A,
     "actions[1].requires.energy.atLeast", "expected a number"),
    ("no name", lambda v: v.action_entries[2].pop("name"), A, "actions[2].name", "the key is missing"),
    ("an empty name", lambda v: v.action_entries[2]["name"].update(ja=" "), A, "actions[2].name.ja", "not empty"),
    ("no start", lambda v: v.needs[0].pop("start"), A, "needs[0].start", "the key is missing"),
    ("a start in quotes", lambda v: v.needs[0].update(start="90"), A, "needs[0].start",
     'found "90"; expected a number'),
    ("a truth value for a number", lambda v: v.needs[0].update(start=True), A, "needs[0].start", "expected a number"),
    ("NaN", lambda v: v.action_entries[1]["effects"].update(energy=float("nan")), A, "actions[1].effects.energy",
     "NaN"),
    ("a number too large", lambda v: v.needs[1].update(highest=10**400), A, "needs[1].highest", "expected a number"),
    ("no minutes", lambda v: v.action_entries[2].update(minutes=0), A, "actions[2].minutes", "1 or more"),
    ("half a minute", lambda v: v.action_entries[2].update(minutes=0.5), A, "actions[2].minutes", "whole number"),
    ("no seats", lambda v: v.action_entries[1].update(seats=0), A, "actions[1].seats", "1 or more"),
    ("a price below nothing", lambda v: v.action_entries[1].update(cost={"money": -1}), A, "actions[1].cost.money",
     "0 or more"),
    ("bad hours", lambda v: v.action_entries[0].update(hours=["8-9"]), A, "actions[0].hours[0]", "06:00-22:00"),
    ("hours without any", lambda v: v.action_entries[0].update(hours=[]), A, "actions[0].hours", "at least 1"),
    ("a word for a switch", lambda v: v.action_entries[0].update(endsDay="yes"), A, "actions[0].endsDay",
     "true or false"),
    ("nowhere", lambda v: v.action_entries[2].update(where="nowhere"), A, "actions[2].where",
     '"facility", "home" or "anywhere"'),
    ("a tag that is no slug", lambda v: v.action_entries[1].update(tags=["food", "a b"]), A, "actions[1].tags[1]",
     'found "a b"'),
    ("no actions", lambda v: plain(v, actions=[]), A, "actions", "at least 1"),
    ("a mapping for actions", lambda v: plain(v, actions={}), A, "actions", "expected a list"),
    *(
        (
            f"the built-in {name}",
            lambda v, name=name: plain(v, actions=[v.action_entries[0], {**v.action_entries[2], "id": name}]),
            A,
            "actions[1].id",
            "built in",
        )
        for name in ("go", "talk", "wait", "walk", "hold")
    ),
    ("an unknown way to decide", lambda v: v.sora.update(decision="dice"), S, "decision", '"sketch" or "routine"'),
    ("a list of needs", lambda v: v.sora.update(needs=[1]), S, "needs", "expected a mapping"),
    ("a need that is no text", lambda v: v.sora.update(needs={5: 5}), S, "needs.5", "a text in quotes"),
    ("a level in words", lambda v: v.sora["needs"].update(energy="low"), S, "needs.energy",
     'found "low"; expected a number'),
    ("an action that is no text", lambda v: v.sora["routine"][0].update(action=3), S, "routine[0].action", "a text"),
]
# fmt: on

# fmt: off
MEANINGS: list[tuple[str, Spoil, str, str, str]] = [
    ("a need id twice", lambda v: v.needs.append(dict(v.needs[0])), A, "needs[2].id", "already taken by needs[0].id"),
    ("an action id twice", lambda v: v.action_entries.append(dict(v.action_entries[0])), A, "actions[3].id",
     "already taken by actions[0].id"),
    ("bounds the wrong way round", lambda v: v.needs[0].update(lowest=200), A, "needs[0].highest", "above the lowest"),
    ("a start out of bounds", lambda v: v.needs[0].update(start=101), A, "needs[0].start",
     "from lowest 0 to highest 100"),
    ("a critical level out of bounds", lambda v: v.needs[1].update(critical=-10.5), A, "needs[1].critical",
     "found -10.5"),
    ("an effect on an unknown need", lambda v: v.action_entries[1]["effects"].update(enrgy=1), A,
     "actions[1].effects.enrgy", 'unknown need "enrgy"; expected a need id of actions.json (did you mean "energy"?)'),
    ("a cost of an unknown need", lambda v: v.action_entries[1]["cost"].update(luck=1), A, "actions[1].cost.luck",
     '"luck"'),
    ("a precondition on an unknown need", lambda v: v.action_entries[1]["requires"].update(luck={"atLeast": 1}), A,
     "actions[1].requires.luck", '"luck"'),
    (
        "a talk about an unknown need",
        lambda v: v.actions["talk"]["effectsPerHour"].update(luck=1),  # type: ignore[index]
        A,
        "talk.effectsPerHour.luck",
        '"luck"',
    ),
    ("a price nobody can ever pay", lambda v: v.action_entries[1].update(cost={"money": 501}), A,
     "actions[1].cost.money", 'the need "money" goes from -10 to 500'),
    ("preconditions that cross", lambda v: v.action_entries[1]["requires"].update(energy={"atLeast": 60, "atMost": 50}),
     A, "actions[1].requires.energy", "nobody could ever do this"),
    ("a level nobody ever reaches", lambda v: v.action_entries[1]["requires"].update(energy={"atLeast": 101}), A,
     "actions[1].requires.energy", "nobody could ever do this"),
    ("tags that no facility has",
     lambda v: v.action_entries.append({"id": "swim", "name": "Swim", "minutes": 9, "tags": ["bathe", "fod"]}), A,
     "actions[3].tags", 'no facility of maps.json has a tag "bathe", "fod"; expected one of "food", "shop"'),
    ("no tags in a facility", lambda v: v.action_entries.append({"id": "swim", "name": "Swim", "minutes": 9}), A,
     "actions[3].tags", 'or "where": "home" or "anywhere"'),
    ("tags at home", lambda v: v.action_entries[0].update(tags=["food"]), A, "actions[0].tags", '"where" is "home"'),
    ("seats anywhere", lambda v: v.action_entries[2].update(seats=3), A, "actions[2].seats", '"where" is "anywhere"'),
    ("a critical need that nothing restores", lambda v: v.action_entries[0].update(effects={}), A, "needs[0].critical",
     'nothing restores the need "energy"'),
    ("no night's sleep", lambda v: v.action_entries[0].pop("endsDay"), A, "actions", '"endsDay": true'),
    ("a game action declared twice", lambda v: v.game_actions.append(v.game_actions[0]), A, "gameActions[1].id",
     "already taken by gameActions[0].id"),
    ("an unknown person who may ask the game", lambda v: v.game_actions[0].update(who=["npc", "bakr"]), A,
     "gameActions[0].who[1]", 'unknown person "bakr"'),
    ("an unknown node where the game may be asked", lambda v: v.game_actions[0].update(scope={"nodes": ["squar"]}), A,
     "gameActions[0].scope.nodes[0]", 'did you mean "square"?'),
    ("an unknown map where the game may be asked", lambda v: v.game_actions[0].update(scope={"maps": ["vilage"]}), A,
     "gameActions[0].scope.maps[0]", 'unknown map "vilage"'),
    ("a required argument that is none", lambda v: v.game_actions[0]["arguments"].update(required=["itm"]), A,
     "gameActions[0].arguments.required[0]", 'unknown argument "itm"'),
    ("an argument of no known type", lambda v: v.game_actions[0]["arguments"]["properties"]["item"].update(type="list"),
     A, "gameActions[0].arguments.properties.item.type", "string"),
    ("numbers that are enumerated", lambda v: v.game_actions[0]["arguments"]["properties"]["count"].update(enum=["1"]),
     A, "gameActions[0].arguments.properties.count.enum", '"minimum"'),
    ("a number that nothing fits", lambda v: v.game_actions[0]["arguments"]["properties"]["count"].update(minimum=9), A,
     "gameActions[0].arguments.properties.count.maximum", "between minimum 9 and maximum 5"),
    ("a word that is waited for and not asked", lambda v: v.game_actions[0].update(confirm=False, awaitResult=True), A,
     "gameActions[0].awaitResult", '"confirm"'),
    ("an unknown need of a character", lambda v: v.sora["needs"].update(mony=3), S, "needs.mony",
     'unknown need "mony"; expected a need id of actions.json (did you mean "money"?)'),
    ("a level out of bounds", lambda v: v.sora["needs"].update(energy=100.5), S, "needs.energy",
     'found 100.5; expected a number from lowest 0 to highest 100 of the need "energy"'),
    ("an unknown action", lambda v: v.sora["routine"][1].update(action="bakee"), S, "routine[1].action",
     'unknown action "bakee"; expected an action id of actions.json (did you mean "bake"?)'),
    ("an action in the wrong facility", lambda v: v.sora["routine"][1].update(facility="mill-house"), S,
     "routine[1].action", '"bake" cannot be done in "mill-house"; possible there: "rest"'),
    ("what belongs to a home done where nobody lives", lambda v: v.sora["routine"][2].update(facility="mill-house"), S,
     "routine[2].action", '"sleep" cannot be done in "mill-house"; possible there: "rest"'),
    ("what needs a facility done at home", lambda v: v.sora["routine"][1].pop("facility"), S, "routine[1].action",
     '"bake" cannot be done at home; possible there: "sleep", "rest"'),
]
# fmt: on


def plain(village: Village, actions: object) -> None:
    """Those actions; and nobody plans or has anything of actions.json."""
    assert village.actions is not None
    village.actions["actions"] = actions
    village.sora.pop("needs")
    for block in village.sora["routine"]:
        block.pop("action")


def test_a_village_with_actions_has_no_problems(tmp_path: Path) -> None:
    assert examine(Village.with_actions().write(tmp_path)).problems == []


@pytest.mark.parametrize(
    ("spoil", "file", "key", "words"), [pytest.param(*rest, id=name) for name, *rest in SHAPES + MEANINGS]
)
def test_an_error_is_named_by_file_and_key_and_stands_alone(
    tmp_path: Path, spoil: Spoil, file: str, key: str, words: str
) -> None:
    village = Village.with_actions()
    spoil(village)
    (only,) = examine(village.write(tmp_path)).problems
    assert (only.file, only.key_path) == (file, key)
    assert words in only.line("en")
    assert only.line("ja") != only.line("en")
    assert "\n" not in only.line("en") + only.line("ja")


def test_game_actions_are_told_in_each_language_with_the_form_of_their_arguments(tmp_path: Path) -> None:
    village = Village.with_actions()
    village.game_actions[0]["requires"] = {"affinity": -5, "item": {"en": "bread", "ja": "パン"}}
    content = load_content(village.write(tmp_path))
    give, ja = (content.cast(language).game_actions["give_item"] for language in ("en", "ja"))
    assert (give.told, ja.told) == ("give_item: hand over something you carry", "give_item: 持っているものを渡す")
    assert (give.requires.affinity, give.requires.item, ja.requires.item, *give.who) == (-5, "bread", "パン", "npc")
    told = give.form.model_json_schema()
    assert set(told["properties"]) == {"item", "count"}
    assert told["properties"]["item"]["enum"] == ["rye bread", "bun"]
    assert ja.form.model_json_schema()["properties"]["item"]["description"] == "何を"
    assert give.form.model_validate({"item": "bun", "count": 2}).model_dump(by_alias=True) == {
        "item": "bun",
        "count": 2,
    }


def test_all_errors_are_reported_at_once_after_those_of_the_maps(tmp_path: Path) -> None:
    village = Village.with_actions()
    village.village["edges"][0]["to"] = "nowhere"
    village.needs[0]["start"] = 300
    village.action_entries[1].update(tags=["oven"], effects={"luck": 1})
    village.sora["needs"]["energy"] = -1
    village.sora["routine"][0]["action"] = "dance"
    assert where(examine(village.write(tmp_path)).problems) == [
        ("maps.json", "maps[0].edges[0].to"),
        (A, "actions[1].effects.luck"),
        (A, "needs[0].start"),
        (A, "actions[1].tags"),
        (S, "routine[0].action"),
        (S, "needs.energy"),
        (S, "routine[1].action"),
    ]


def test_unreadable_actions_do_not_make_everything_else_an_error_too(tmp_path: Path) -> None:
    village = Village.with_actions()
    village.raw["actions.json"] = b"{"
    assert where(examine(village.write(tmp_path)).problems) == [(A, "")]


def test_unreadable_maps_do_not_make_every_tag_an_error_too(tmp_path: Path) -> None:
    village = Village.with_actions()
    village.raw["maps.json"] = b"{"
    assert where(examine(village.write(tmp_path)).problems) == [("maps.json", "")]


def test_a_home_may_be_named_as_the_facility_it_is(tmp_path: Path) -> None:
    village = Village.with_actions()
    village.sora["routine"][2]["facility"] = "bakery"  # sora lives in its yard
    assert examine(village.write(tmp_path)).problems == []


def test_without_actions_of_its_own_a_directory_has_the_bundled_ones_whatever_its_tags(tmp_path: Path) -> None:
    village = Village()
    village.sora.update(needs={"satiety": 12})
    village.sora["routine"][0]["action"] = "eat_at_home"
    cast = load_content(village.write(tmp_path)).cast("en")
    assert cast.catalogue.action("sleep").ends_day
    assert cast.character("sora").routine[0].action_id == "eat_at_home"


def test_what_characters_plan_is_checked_against_the_bundled_actions_too(tmp_path: Path) -> None:
    village = Village()
    village.sora.update(needs={"satietyy": 12})
    village.sora["routine"][0]["action"] = "eat_at_hom"
    assert where(examine(village.write(tmp_path)).problems) == [(S, "routine[0].action"), (S, "needs.satietyy")]


def test_actions_that_cannot_be_opened_are_an_error_not_the_bundled_ones(tmp_path: Path) -> None:
    (tmp_path / "actions.json").mkdir()
    (only,) = examine(Village().write(tmp_path)).problems
    assert (only.file, only.key_path) == (A, "")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_actions_that_pass_the_check_are_read_in_both_languages(data: st.DataObject, tmp_path: Path) -> None:
    village = Village.with_actions()
    odd = VALUES | st.sampled_from(
        ["energy", "home", "anywhere", 0, 1, 100, 0.5, -10, {}, {"energy": 1}, {"atLeast": 1}]
    )
    for _ in range(data.draw(st.integers(1, 3))):
        target: Any = data.draw(st.sampled_from([village.actions, village.actions, village.sora]))
        spots = _spots(target)
        if not spots:
            continue
        holder, key = data.draw(st.sampled_from(spots))
        change = data.draw(st.sampled_from(["delete", "replace", "swap", "rename"]))
        if change == "delete":
            del holder[key]
        elif change == "replace":
            holder[key] = data.draw(odd)
        elif change == "swap":
            other, other_key = data.draw(st.sampled_from(spots))
            holder[key], other[other_key] = copy.deepcopy(other[other_key]), copy.deepcopy(holder[key])
        elif isinstance(holder, dict):
            holder[data.draw(st.sampled_from(["money", "luck", "tags", "x", "[key]"]))] = holder.pop(key)
    directory = village.write(tmp_path)
    problems = examine(directory).problems
    for problem in problems:
        assert problem.line("en").isprintable()
        assert problem.line("ja").isprintable()
    if not problems:
        content = load_content(directory)
        en, ja = content.cast("en").catalogue, content.cast("ja").catalogue
        assert [a.id for a in en.actions] == [a.id for a in ja.actions]
        assert all([*(a.name for a in (*en.actions, *ja.actions)), *(n.name for n in (*en.needs.all, *ja.needs.all))])
        for character in content.cast("en").characters.values():
            assert en.needs.first(content.start, character.needs).values
