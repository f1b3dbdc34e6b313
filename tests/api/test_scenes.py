"""Owns the tests of scenes over HTTP: the example of the document of scenes, with everything that a writer does."""

from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import BaseModel

from service.app import create_app
from service.conversation.prompt import PromptContext
from service.llm.chat import Prompt
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.memory.closing.context import ClosingContext
from tests.api.play import problem, settings_for
from tests.content.classroom import SCENE, classroom
from tests.conversation.scenes import acts, shown
from tests.memory.answers import plain
from tests.memory.whispers import answered_alike
from tests.runtime.hanging import Hanging
from tests.scripted_model import ScriptedModel

TEXTS: dict[Language, dict[str, str]] = {
    "en": {
        "asks": "What is it? You seem low.",
        "denies": "Nothing. I was only thinking.",
        "rain": "It suddenly begins to rain.",
        "event": "The lights go out for a moment.",
        "revelation": "You may be someone inside a simulation.",
        "hears": "C is leaving the school in spring.",
        "goal": "B wants to tell C before spring.",
        "memory": "C is leaving the school.",
    },
    "ja": {
        "asks": "どうしたんだい、元気ないね?",
        "denies": "いや、別に。ちょっと考え事だよ。",
        "rain": "突然雨が降ってきた",
        "event": "一瞬、明かりが消える。",
        "revelation": "あなたはシミュレーション内の存在かもしれない",
        "hears": "Cは春に学校をやめるんだ。",
        "goal": "Cに春までに伝えたい。",
        "memory": "Cは学校をやめる。",
    },
}
INVENTED = "B owns 17 boats."


@pytest.fixture
def app(tmp_path: Path, script: ScriptedModel, language: Language) -> FastAPI:
    """The service, in the classroom of the document."""
    content = classroom(tmp_path / "content", SCENE, {**SCENE, "scene_id": "S002", "previousScene": "S001"})
    settings = settings_for(tmp_path, content, language=language)
    return create_app(settings, models=Models(dict.fromkeys(ROLES, script)))


def begin(client: TestClient, scene_id: str = "S001") -> dict[str, Any]:
    answer = client.post("/scenes", json={"scene_id": scene_id})
    assert answer.status_code == 201, answer.text
    scene: dict[str, Any] = answer.json()
    return scene


def play(client: TestClient, count: int = 1, scene_id: str = "S001", **headers: str) -> dict[str, Any]:
    answer = client.post(f"/scenes/{scene_id}/turns?wait=true", json={"count": count}, headers=headers)
    assert answer.status_code == 200, answer.text
    scene: dict[str, Any] = answer.json()
    return scene


def step_in(client: TestClient, kind: str, scene_id: str = "S001", **body: Any) -> dict[str, Any]:
    answer = client.post(f"/scenes/{scene_id}/interventions", json={"kind": kind, **body})
    assert answer.status_code == 201, answer.text
    done: dict[str, Any] = answer.json()
    return done


def speaker_of(prompt: Prompt[Any]) -> str:
    assert isinstance(prompt.given, PromptContext)
    return prompt.given.speaker.id


def remembers_the_beginning(prompt: Prompt[Any]) -> BaseModel:
    """A closing that tells everybody of the first turn."""
    given = prompt.given
    assert isinstance(given, ClosingContext)
    return answered_alike(prompt, [given.lines[0].text])


def update(**lists: list[dict[str, Any]]) -> dict[str, Any]:
    return {"experiences": [], "goals": [], "memories": [], **lists}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_example_of_the_document_is_played_with_everything_its_writer_may_do(
    client: TestClient, script: ScriptedModel, language: Language
) -> None:
    texts = TEXTS[language]
    scene = begin(client)
    assert (scene["state"], scene["turns"], len(scene["participants"])) == ("stands", [], 2)
    script.enqueue(acts(texts["asks"], think="B is troubled.", act="turns to B"))
    assert play(client)["turns"][0]["seen_by"] == ["chara-b"]
    step_in(client, "scene_situation_update", text=texts["rain"], before_turn=1)
    script.enqueue(acts(texts["denies"], think="I am found out."))
    assert play(client)["situation"] == texts["rain"]
    step_in(client, "revelation", person_id="chara-b", text=texts["revelation"])
    step_in(client, "add_event", text=texts["event"])
    step_in(client, "add_person", person_id="chara-c", spot="by the door")
    script.enqueue(acts(texts["hears"]), acts("..."), acts("!"))
    scene = play(client, 3)
    assert [turn["speaker_id"] for turn in scene["turns"]] == ["chara-a", "chara-b", "chara-c", "chara-a", "chara-b"]
    told = {speaker_of(prompt): shown(prompt) for prompt in script.history}
    assert [texts["revelation"] in told[f"chara-{name}"] for name in "abc"] == [False, True, False]
    assert all(texts["event"] in one for one in told.values())
    assert "B is troubled." not in told["chara-b"]
    script.enqueue(
        update(
            goals=[{"text": texts["goal"], "importance": 8, "turns": [2]}] * 2,
            memories=[
                {"text": texts["memory"], "importance": 6, "turns": [2]},
                {"text": INVENTED, "importance": 6, "turns": [2]},
                {"text": f"{texts['memory']} 2", "importance": 6, "turns": [2, 40]},
            ],
        )
    )
    step_in(client, "long_term_update_request", person_id="chara-b")
    proposals = client.get("/scenes/S001/proposals").json()
    assert [(one["kind"], one["text"], one["evidence"], one["state"], one["refused_for"]) for one in proposals] == [
        ("goal", texts["goal"], [2], "proposed", ""),
        ("goal", texts["goal"], [2], "refused", "known"),
        ("memory", texts["memory"], [2], "proposed", ""),
        ("memory", INVENTED, [2], "proposed", ""),
        ("memory", f"{texts['memory']} 2", [2], "refused", "unseen"),
    ]
    # Whether a turn says it is for no rule to judge: its writer sees the turn beside it.
    client.post(f"/scenes/S001/proposals/{proposals[3]['id']}", json={"state": "refused"}).raise_for_status()
    step_in(client, "remove_person", person_id="chara-a")
    script.enqueue(acts("Goodbye, A."))
    assert play(client)["participants"][0]["left_turn"] == 5
    script.enqueue(remembers_the_beginning)
    ended = client.post("/scenes/S001/end?wait=true")
    assert (ended.status_code, ended.json()["state"], ended.json()["end_reason"]) == (200, "ended", "ended_by_client")
    assert ended.json()["phase"] == "closed"
    held = {name: client.get(f"/people/chara-{name}/memories").text for name in "abc"}
    assert not [name for name, one in held.items() if INVENTED in one]
    assert [texts["asks"] in one for one in held.values()] == [True, True, False], "C had not come in yet"
    assert [texts["hears"] in one for one in held.values()] == [True, True, True]
    assert [one["kind"] for one in ended.json()["interventions"]] == [
        "scene_situation_update",
        "revelation",
        "add_event",
        "add_person",
        "long_term_update_request",
        "remove_person",
        "end_scene",
    ]
    assert client.post("/scenes/S001/end").json() == ended.json(), "what has ended is answered with what came of it"
    problem(client.post("/scenes/S001/turns", json={"count": 1}), 409, "scene-over")
    usage = {one["role"]: one["calls"] for one in client.get("/usage").json()}
    assert usage["long_term"] == 1
    require_taken_away(client, texts)


def test_a_ninth_person_who_comes_in_after_another_left_remembers_the_scene_as_all_others_do(
    client: TestClient, script: ScriptedModel
) -> None:
    whole = {**SCENE, "scene_id": "S008", "participant_character_ids": [f"chara-{name}" for name in "abcdefgh"]}
    client.post("/scenes", json={"scene": whole}).raise_for_status()
    script.enqueue(acts("The old bell rang tonight."))
    play(client, 1, "S008")
    step_in(client, "remove_person", "S008", person_id="chara-h")
    step_in(client, "add_person", "S008", person_id="chara-i")
    script.enqueue(acts("The ferry leaves at dawn."), acts("So it does."))
    play(client, 2, "S008")
    script.enqueue(remembers_the_beginning)
    ended = client.post("/scenes/S008/end?wait=true").json()
    assert (ended["phase"], len(ended["participants"])) == ("closed", 9)
    held = {name: client.get(f"/people/chara-{name}/memories").text for name in "abhi"}
    assert [("The old bell" in one, "The ferry" in one) for one in held.values()] == [
        (True, True),
        (True, True),
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize("name", ["ガルド隊長", "エルフの王", "キャラA"])
def test_a_true_summary_stands_whatever_scripts_the_name_in_it_is_written_in(
    tmp_path: Path, script: ScriptedModel, name: str
) -> None:
    content = classroom(tmp_path / "content")
    person = content / "characters" / "a.yaml"
    person.write_text(person.read_text("utf-8").replace("キャラA", name), encoding="utf-8")
    app = create_app(settings_for(tmp_path, content, language="ja"), models=Models(dict.fromkeys(ROLES, script)))
    summary = f"{name}は昨日、港で黒い船を見た。"
    with TestClient(app) as client:
        begin(client)
        script.enqueue(acts("昨日、港で黒い船を見たんだ。"), acts("そうなんだ。"), plain(summary))
        play(client, 2)
        client.post("/scenes/S001/end?wait=true").raise_for_status()
        told = client.get("/people/chara-b/memory", params={"about": "chara-a"}).json()
    assert told["last_meeting"]["summary"] == summary


def require_taken_away(client: TestClient, texts: dict[str, str]) -> None:
    """Its log in every form, as one of them saw it, and the report on it."""
    log = client.get("/scenes/S001/log").json()
    assert [turn["talk"] for turn in log["turns"][:3]] == [texts["asks"], texts["denies"], texts["hears"]]
    assert log["interventions_in_scene"][1]["applied_before_turn_number"] == 3
    seen = client.get("/scenes/S001/log?view=chara-a").text
    assert "I am found out." not in seen
    assert texts["revelation"] not in seen
    for form, kind in (("yaml", "application/yaml"), ("script", "text/markdown"), ("text", "text/plain")):
        answer = client.get(f"/scenes/S001/log?as={form}")
        assert answer.headers["content-type"].startswith(kind)
        assert texts["asks"] in answer.text
    problem(client.get("/scenes/S001/log?view=chara-z"), 404, "not-found")
    problem(client.get("/scenes/S009/log"), 404, "not-found")
    feelings = client.get("/scenes/S001/report").json()["feelings"]
    assert {one["character_id"] for one in feelings} == {"chara-a", "chara-b", "chara-c"}


def test_a_scene_goes_back_to_a_turn_and_on_otherwise_while_a_branch_keeps_the_first(
    client: TestClient, script: ScriptedModel
) -> None:
    begin(client)
    script.enqueue(*(acts(f"Line {number}.") for number in range(6)))
    play(client, 3)
    step_in(client, "add_event", text="A bell rings.")
    play(client, 3)
    branched = client.post("/scenes/S001/rewind", json={"turn": 5, "to_world": "as-it-was"}).json()
    assert (branched["world_id"], branched["snapshot"], branched["scene"]["turns_said"]) == ("as-it-was", None, 5)
    back = client.post("/scenes/S001/rewind", json={"turn": 3})
    assert back.status_code == 200, back.text
    scene = back.json()["scene"]
    assert (scene["state"], scene["turns_said"], scene["interventions"]) == ("stands", 3, [])
    script.enqueue(acts("Otherwise."))
    assert [turn["text"] for turn in play(client)["turns"]] == ["Line 0.", "Line 1.", "Line 2.", "Otherwise."]
    there = client.get("/scenes/S001", headers={"X-World-Id": "as-it-was"}).json()
    assert [turn["text"] for turn in there["turns"]] == [f"Line {number}." for number in range(5)]
    assert [one["text"] for one in there["interventions"]] == ["A bell rings."]
    client.post("/world/restore", json={"name": back.json()["snapshot"]}).raise_for_status()
    assert client.get("/scenes/S001").json()["turns_said"] == 6
    problem(client.post("/scenes/S001/rewind", json={"turn": 9}), 404, "not-found")


def test_a_scene_that_says_when_it_plays_is_told_no_other_time(client: TestClient, script: ScriptedModel) -> None:
    for scene_id, time in (("S101", {"time": "After supper"}), ("S102", {})):
        scene = {"sceneId": scene_id, "location": "square", **time, "participants": ["chara-a", "chara-b"]}
        client.post("/scenes", json={"scene": scene | {"situation": "They sit."}}).raise_for_status()
        script.enqueue(acts("Hello."))
        play(client, 1, scene_id)
        assert ("Now:" in shown(script.history[-1])) is not bool(time)


def test_a_whole_scene_is_begun_from_the_body_and_what_is_wrong_with_it_is_named(client: TestClient) -> None:
    whole = {**SCENE, "scene_id": "S009", "turnPolicy": "urgency"}
    begun = client.post("/scenes", json={"scene": whole})
    assert (begun.status_code, begun.json()["id"], begun.json()["turn_policy"]) == (201, "S009", "urgency")
    assert client.post("/scenes", json={"scene": whole}).json()["id"] == "S009.2"
    listed = client.get("/scenes").json()
    assert [one["id"] for one in listed["items"]] == ["S009.2", "S009"]
    assert [one["id"] for one in listed["authored"]] == ["S001", "S002"]
    for wrong, field in (
        ({"participant_character_ids": ["chara-a", "chara-x"]}, "body.scene.participants[1].id"),
        ({"participant_character_ids": [f"chara-{name}" for name in "abcdefghi"]}, "body.scene"),
        ({"situation": ""}, "body.scene.situation"),
        ({"previousScene": "S00"}, "body.scene.previousScene"),
        ({"time": "\u0007"}, "body.scene.time"),
    ):
        told = problem(client.post("/scenes", json={"scene": {**whole, **wrong}}), 422, "scene-wrong")
        assert [one["field"] for one in told["errors"]] == [field]
    problem(client.post("/scenes", json={}), 422, "invalid")
    problem(client.post("/scenes", json={"scene_id": "S003"}), 404, "not-found")


def test_what_cannot_be_done_to_a_scene_is_refused_with_what_to_do(client: TestClient, script: ScriptedModel) -> None:
    begin(client)
    script.enqueue(acts("Hello."))
    play(client)
    for body, status, slug in (
        ({"kind": "add_event", "text": "Rain.", "before_turn": 0}, 409, "turn-passed"),
        ({"kind": "add_event", "text": "Rain.", "before_turn": 4}, 422, "invalid"),
        ({"kind": "add_event"}, 422, "invalid"),
        ({"kind": "add_event", "text": "Rain.", "person_id": "chara-a"}, 422, "invalid"),
        ({"kind": "add_person", "person_id": "nobody"}, 404, "not-found"),
        ({"kind": "revelation", "person_id": "chara-c", "text": "Now."}, 422, "invalid"),
        ({"kind": "rain"}, 422, "invalid"),
    ):
        problem(client.post("/scenes/S001/interventions", json=body), status, slug)
    problem(client.post("/scenes/S007/turns", json={}), 404, "not-found")
    problem(client.post("/scenes/S001/proposals/p1", json={"state": "accepted"}), 404, "not-found")


def test_a_scene_goes_on_from_the_one_before_with_what_its_writer_let_stay(
    client: TestClient, script: ScriptedModel
) -> None:
    begin(client)
    asked, answered = "Where did you put the red umbrella?", "The red umbrella is under the stairs."
    lasting = update(
        experiences=[{"text": "A asked for the red umbrella.", "importance": 4, "turns": [0]}],
        goals=[{"text": "A wants the red umbrella.", "importance": 7, "turns": [0, 1]}],
        memories=[{"text": "The red umbrella is under the stairs.", "importance": 6, "turns": [1]}],
    )
    script.enqueue(acts(asked), acts(answered), plain(answered), lasting)
    play(client, 2)
    assert client.post("/scenes/S001/end?wait=true").json()["phase"] == "closed"
    step_in(client, "long_term_update_request", person_id="chara-a")
    experience, goal, memory = (one["id"] for one in client.get("/scenes/S001/proposals").json())

    def judge(proposal: str, **body: Any) -> dict[str, Any]:
        answer = client.post(f"/scenes/S001/proposals/{proposal}", json=body)
        assert answer.status_code == 200, answer.text
        judged: dict[str, Any] = answer.json()
        return judged

    judge(experience, state="refused")
    told = judge(goal, state="accepted", text="Find the red umbrella again.", importance=9)
    assert (told["state"], told["text"], told["importance"]) == ("accepted", "Find the red umbrella again.", 9)
    judge(memory, state="accepted")
    held = client.get("/people/chara-a/memories", params={"kinds": "fact"}).json()["items"]
    assert f"fact.{memory}" in [one["id"] for one in held]

    scene = begin(client, "S002")
    assert (scene["previous_scene"], scene["carried"]) == ("S001", answered)
    script.enqueue(acts("Good evening."), acts("Good evening."))
    play(client, 2, "S002")
    of_a, of_b = (shown(prompt) for prompt in script.history[-2:])
    assert [one.count(answered) for one in (of_a, of_b)] == [1, 1]  # as their last meeting
    assert ["Find the red umbrella again." in one for one in (of_a, of_b)] == [True, False]
    assert "A asked for the red umbrella." not in of_a
    judge(goal, state="refused")
    judge(memory, state="refused")
    again = client.get("/people/chara-a/memories", params={"kinds": "fact"}).json()["items"]
    assert f"fact.{memory}" not in [one["id"] for one in again]
    script.enqueue(plain("Good evening."))
    assert client.post("/scenes/S002/end?wait=true").json()["phase"] == "closed"
    assert begin(client, "S002")["id"] == "S002.2"
    script.enqueue(acts("Hello."))
    play(client, 1, "S002.2")
    assert "Find the red umbrella again." not in shown(script.history[-1])
    assert f"The scene before this one: {answered}" in shown(script.history[-1])
    played = client.get("/scenes/S002").json()
    back = client.post("/scenes/S001/rewind", json={"turn": 1}).json()
    assert (back["followed_by"], back["scene"]["turns_said"]) == (["S002.2", "S002"], 1)
    assert client.get("/scenes/S002").json() == played, "it stays as it was played"
    assert answered not in client.get("/people/chara-a/memories?about=chara-b").text


def test_a_turn_that_is_being_spoken_is_spoken_anew_when_its_writer_steps_in(tmp_path: Path) -> None:
    script = ScriptedModel(acts("Dry."), acts("Wet."))
    slow = Hanging(script, answers=0)
    settings = settings_for(tmp_path, classroom(tmp_path / "content"), language="en")
    with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, slow)))) as client:
        begin(client)
        assert client.post("/scenes/S001/turns", json={"count": 2}).json()["state"] == "speaks"
        portal = client.portal
        assert portal is not None
        portal.call(slow.hangs)
        step_in(client, "add_event", text="It begins to rain.")
        portal.call(slow.release)
        assert play(client)["turns"][0]["text"] == "Dry."
    assert all("It begins to rain." in shown(prompt) for prompt in script.history)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_one_of_a_given_past_who_is_there_besides_the_partner_is_no_stranger(
    client: TestClient, script: ScriptedModel, language: Language
) -> None:
    told = {"id": "1", "statement": "C likes rain.", "partner": "chara-c"}
    assert client.post("/people/chara-a/memory", json={"statements": [told]}).status_code == 200
    scene = {**SCENE, "scene_id": "S003", "participant_character_ids": ["chara-a", "chara-b", "chara-c"]}
    assert client.post("/scenes", json={"scene": scene}).status_code == 201
    script.enqueue(acts("Hm."), acts("Hm?"))
    play(client, 2, "S003")
    first, second = (shown(prompt) for prompt in script.history)
    strangers = {"en": "meet for the first time", "ja": "初対面"}[language]
    knows = {"en": "Also there: C. You know each other.", "ja": "ほかにいる人: キャラC。前からの知り合い。"}[language]
    assert knows in first
    assert knows not in second
    assert strangers in second
