"""Owns the tests of scenes in content: what their files hold, and every way in which they can be wrong."""

from pathlib import Path
from typing import Any

import pytest

from service.content.check import examine
from service.content.load import load_content
from service.content.scenes import SceneParticipant
from service.locales import languages
from tests.content.classroom import SCENE, classroom
from world.places import Hours

RAIN: dict[str, Any] = {
    "id": "rain",
    "when": {"turn": 2},
    "do": {"sceneSituationUpdate": {"en": "It suddenly begins to rain.", "ja": "突然雨が降ってきた"}},
}


def test_the_example_of_the_document_is_read_as_it_is_written_there(tmp_path: Path) -> None:
    content = load_content(classroom(tmp_path, SCENE, {**SCENE, "scene_id": "S002"}))
    scene = content.cast("ja").scenes["S001"]
    assert (scene.location.of("ja"), scene.time.of("ja")) == ("学校の教室", "放課後")
    assert scene.participants == tuple(SceneParticipant.model_validate({"id": one}) for one in ("chara-a", "chara-b"))
    assert content.cast("en").scenes["S002"].situation.of("en").startswith("The evening sun")


def test_a_scene_is_called_as_its_file_and_goes_on_from_the_log_of_another(tmp_path: Path) -> None:
    later = {name: value for name, value in SCENE.items() if name != "scene_id"}
    later["previous_scene_log_reference"] = "scene_S001.json"
    scenes = load_content(classroom(tmp_path, SCENE, later)).cast("en").scenes
    assert scenes["S002"].previous_scene == "S001"


def test_what_is_to_happen_is_read_with_all_that_must_be_so_and_kept_as_it_was_written(tmp_path: Path) -> None:
    when = {
        "fromTurn": 2,
        "said": {"words": [{"en": "rain", "ja": "雨"}], "by": "chara-a"},
        "flags": {"open": True},
        "weather": {"en": "fog", "ja": "霧"},
        "hours": "16:00-18:00",
        "need": {"person": "chara-b", "need": "energy", "below": 20},
    }
    reveal = {"person": "chara-b", "content": {"en": "You are simulated.", "ja": "シミュレーション内の存在だ"}}
    told = {"id": "told", "when": when, "do": {"revelation": reveal}, "times": 3}
    scene = load_content(classroom(tmp_path, {**SCENE, "interventions": [RAIN, told]})).cast("ja").scenes["S001"]
    rain, revelation = scene.interventions
    assert (rain.when.turn, rain.do.kind, rain.do.person_id) == (2, "scene_situation_update", None)
    assert rain.do.text.of("ja") == "突然雨が降ってきた"
    assert (revelation.do.kind, revelation.do.person_id) == ("revelation", "chara-b")
    assert revelation.do.text.of("ja") == "シミュレーション内の存在だ"
    asked = revelation.when
    assert asked.said is not None
    assert asked.weather is not None
    assert ([one.of("ja") for one in asked.said.words], asked.said.by) == (["雨"], "chara-a")
    assert (asked.weather.of("ja"), asked.hours) == ("霧", Hours(opens=16 * 60, closes=18 * 60))
    kept = scene.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert type(scene).model_validate(kept) == scene


def intervening(**changed: Any) -> dict[str, Any]:
    return {**SCENE, "interventions": [{**RAIN, **changed}]}


@pytest.mark.parametrize(
    ("scenes", "key", "words"),
    [
        ([{**SCENE, "participants": ["chara-a"]}], "", "key"),
        ([{**SCENE, "participant_character_ids": ["chara-a"]}], "", "2"),
        ([{**SCENE, "participant_character_ids": [f"p{n}" for n in range(9)]}], "", "8"),
        ([{**SCENE, "participant_character_ids": ["chara-a", "chara-x"]}], "participants[1].id", "chara-"),
        ([{**SCENE, "participant_character_ids": ["chara-a", "chara-a"]}], "participants[1].id", "participants[0]"),
        ([{**SCENE, "location": "squara"}], "location", '"square"'),
        ([{**SCENE, "turn_policy": "by_dice"}], "turnPolicy", "in_order"),
        ([{**SCENE, "previousScene": "S01"}], "previousScene", '"S001"'),
        ([SCENE, SCENE], "sceneId", "scenes/S001.yaml"),
        ([{**SCENE, "previousScene": "S002"}, {**SCENE, "scene_id": "S002", "previousScene": "S001"}],
         "previousScene", ""),
        ([intervening(do={"addEven": "rain"})], "interventions[0].do.addEven", '"addEvent"'),
        ([intervening(do={"addEvent": "rain", "endScene": True})], "interventions[0].do", ""),
        ([intervening(do={})], "interventions[0].do", ""),
        ([intervening(do={"endScene": False})], "interventions[0].do.endScene", "True"),
        ([intervening(do={"addPerson": "chara-x"})], "interventions[0].do.addPerson.person", "chara-"),
        ([intervening(do={"removePerson": "chara-c"})], "interventions[0].do.removePerson", "chara-"),
        ([intervening(when={"turn": 25})], "interventions[0].when.turn", "24"),
        ([intervening(when={"turn": 0})], "interventions[0].when.turn", "1"),
        ([intervening(when={"said": {"words": []}})], "interventions[0].when.said.words", "1"),
        ([intervening(when={"need": {"person": "chara-a", "need": "energie", "below": 1}})],
         "interventions[0].when.need.need", '"energy"'),
        ([intervening(when={"need": {"person": "chara-a", "need": "energy"}})], "interventions[0].when.need", "below"),
        ([intervening(times=0)], "interventions[0].times", "1"),
        ([{**SCENE, "interventions": [RAIN, RAIN]}], "interventions[1].id", "interventions[0]"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_scene_is_named_with_its_place(
    tmp_path: Path, scenes: list[dict[str, Any]], key: str, words: str
) -> None:
    found = examine(classroom(tmp_path, *scenes)).problems
    assert {one.file.partition("/")[0] for one in found} == {"scenes"}, found
    assert key in [one.key_path for one in found]
    for language in languages():
        said = next(one for one in found if one.key_path == key).message(language)
        assert said
        assert words.lower() in said.lower() or words == "key", said
