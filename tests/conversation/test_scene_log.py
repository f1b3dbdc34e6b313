"""A scene's log has Project Anima's shape; a view of it holds what one person perceived and thought, and no more."""

import json
from typing import Any

import pytest
import yaml

from service.conversation.scene_log import SceneLog, as_json, as_script, as_yaml, scene_log, scene_report, view_of
from service.locales import Language
from service.store.tables import ConversationRow, InterventionRow, ParticipantRow, SceneRow, TurnRow

NAMES = {"aoi": "Aoi", "taro": "Taro", "mio": "Mio"}
ROW = ConversationRow(world_id="main", id="c", node_id="", language="en", max_turns=9, phase="closed", started_at=0)
ROW.participants = [
    ParticipantRow(world_id="main", conversation_id="c", person_id="aoi", seat=0),
    ParticipantRow(world_id="main", conversation_id="c", person_id="taro", seat=1),
    ParticipantRow(world_id="main", conversation_id="c", person_id="mio", seat=2, joined_turn=2),
]
SCENE = SceneRow(
    world_id="main",
    id="S001",
    conversation_id="c",
    definition={
        "location": "A classroom",
        "time": "After school",
        "situation": "The evening sun falls in.",
        "participants": ["aoi", "taro"],
    },
    at=0,
)


def turn(number: int, who: str, **said: Any) -> TurnRow:
    of: dict[str, Any] = {
        "model": "m",
        "calls": 1,
        "prompt_tokens": 1,
        "completion_tokens": 1,
        "duration_ms": 1,
        "at": 0,
    }
    said = {"text": "", "emotion": "calm", **said}
    return TurnRow(
        world_id="main", conversation_id="c", turn=number, speaker_id=who, speaker_name=NAMES[who], **of, **said
    )


TURNS = [
    turn(0, "aoi", think="He hides something.", act="turns to Taro", text="What is it?"),
    turn(1, "taro", think="She has seen it.", text="Nothing.", emotion="worried"),
    turn(
        2, "aoi", text="I took it.", loudness="whisper", addressed=["taro"], heard_by=["taro"], seen_by=["taro", "mio"]
    ),
    turn(3, "mio", act="sits down", emotion="happy"),
    turn(4, "taro", text="You?", emotion="angry", shifts=[("aoi", -3), ("mio", 1)]),
]
DONE = [
    InterventionRow(
        world_id="main",
        conversation_id="c",
        number=number,
        before_turn=before,
        kind=kind,
        target_id=target,
        details=details,
        at=0,
    )
    for number, before, kind, target, details in (
        (0, 1, "scene_situation_update", None, {"situation": "It begins to rain."}),
        (1, 2, "add_person", "mio", {}),
        (2, 3, "revelation", "mio", {"content": "You may be simulated."}),
    )
]


@pytest.fixture
def log() -> SceneLog:
    return scene_log(SCENE, ROW, TURNS, DONE, "A classroom")


def test_a_log_has_the_shape_of_project_anima_as_json_and_as_yaml(log: SceneLog) -> None:
    told = json.loads(as_json(log))
    assert told == yaml.safe_load(as_yaml(log))
    assert told["scene_info"] == {
        "scene_id": "S001",
        "location": "A classroom",
        "time": "After school",
        "situation": "The evening sun falls in.",
        "participant_character_ids": ["aoi", "taro", "mio"],
    }
    first, _, revelation = told["interventions_in_scene"]
    assert first == {
        "applied_before_turn_number": 2,
        "intervention_type": "SCENE_SITUATION_UPDATE",
        "target_character_id": None,
        "details": {"situation": "It begins to rain."},
    }
    assert (revelation["intervention_type"], revelation["target_character_id"]) == ("REVELATION", "mio")
    spoken = told["turns"][1]
    assert (spoken["turn_number"], spoken["character_id"], spoken["character_name"]) == (2, "taro", "Taro")
    assert (spoken["think"], spoken["act"], spoken["talk"]) == ("She has seen it.", None, "Nothing.")
    assert told["turns"][2]["heard_by"] == ["taro"]


def test_a_view_holds_what_one_perceived_and_thought_and_nothing_else(log: SceneLog) -> None:
    aoi, mio = view_of(log, ROW, "aoi"), view_of(log, ROW, "mio")
    assert [one.think for one in aoi.turns] == ["He hides something.", None, None, None, None]
    assert [one.turn_number for one in mio.turns] == [4, 5]  # a whisper without an act is nothing to her
    assert [one.intervention_type for one in mio.interventions_in_scene] == ["REVELATION"]
    assert [one.intervention_type for one in aoi.interventions_in_scene] == ["SCENE_SITUATION_UPDATE"]
    for unknown in ("hides", "seen it", "I took it", "rain"):
        assert unknown not in as_json(mio).replace("The evening sun falls in.", "")
    with pytest.raises(ValueError, match="not in"):
        view_of(log, ROW, "harue")


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "**Aoi** (whispers): I took it."), ("ja", "**Aoi**(ささやく)「I took it.」")],
)
def test_a_script_reads_in_order_with_what_happens_in_place(log: SceneLog, language: Language, said: str) -> None:
    script, text = (as_script(log, form, language) for form in ("script", "text"))
    parts = [
        "# S001 A classroom",
        "*The evening sun falls in.*",
        "What is it?",
        "*It begins to rain.*",
        "Nothing.",
        said,
    ]
    places = [script.index(part) for part in parts]
    assert places == sorted(places)
    assert "hides" not in script
    assert "simulated" not in script
    assert "*" not in text
    assert "#" not in text
    assert "He hides something." in as_script(log, "text", language, thoughts=True)


def test_a_report_tells_emotions_liking_and_the_lines_that_turned_it() -> None:
    report = scene_report("S001", ROW, TURNS, NAMES, {("taro", "aoi"): 10}, {("taro", "aoi"): 5})
    assert [one.emotion for one in report.feelings[1].emotions] == ["worried", "angry"]
    (relation,) = (one for one in report.relations if (one.owner_id, one.other_id) == ("taro", "aoi"))
    assert [(one.turn_number, one.affinity) for one in relation.affinity] == [(0, 10), (5, 7)]
    assert relation.remembered == 5
    (point,) = report.turning_points
    assert (point.turn_number, point.line, point.owner_id, point.other_id) == (3, "I took it.", "taro", "aoi")
    assert (point.by, point.emotion) == (-3, "angry")
