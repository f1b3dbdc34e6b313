"""Owns the tests of what a game is asked over HTTP, and what it answers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.llm.choose import ROLES, Models
from tests.api.play import problem, settings_for
from tests.api.test_player import START, say
from tests.content.village import Village
from tests.conversation.talks import FAMILY, HELLO, THANKS
from tests.memory.answers import closing
from tests.scripted_model import ScriptedModel
from tests.servers.sqlite import put_migrated

BUN = {"id": "give_item", "args": {"item": "bun", "count": 2}}


@pytest.fixture
def client(tmp_path: Path, script: ScriptedModel) -> Iterator[TestClient]:
    """A client of a village in which the baker may give something."""
    village = Village.with_actions()
    village.game_actions[0]["awaitResult"] = True
    settings = settings_for(tmp_path, village.write(tmp_path / "content"))
    put_migrated(settings.data_dir / "kataribe.db")
    with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, script)))) as http:
        http.put("/people/ken", json={"kind": "player", "name": "Ken"})
        yield http


def _turn(action: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"utterance": FAMILY, "emotion": "happy", "wants_to_end": False, "action": action}


def test_a_game_is_asked_and_says_what_became_of_it_once(client: TestClient, script: ScriptedModel) -> None:
    script.enqueue(_turn(BUN), _turn(), closing("Ken asked the baker of the family."))
    path = f"/conversations/{client.post('/conversations/start', json=START).json()['id']}"
    asked = say(client, path.rsplit("/", 1)[1], HELLO)["action"]
    assert (asked["action_id"], asked["args"], asked["state"], asked["person_id"], asked["turn"], asked["awaited"]) == (
        "give_item",
        BUN["args"],
        "requested",
        "baker",
        1,
        True,
    )
    assert asked["words"] == "hand over something you carry (item: bun, count: 2)"
    result = f"{path}/actions/{asked['id']}/result"
    for body in ({}, {"ok": "yes"}, {"ok": True, "message": "x" * 301}, {"ok": True, "done": 1}):
        problem(client.post(result, json=body), 422, "invalid")
    problem(client.post(f"{path}/actions/nothing/result", json={"ok": True}), 404, "not-found")
    client.post(f"{path}/say", json={"text": THANKS})
    done = client.post(result, json={"ok": True, "message": "Ken has two buns."})
    assert (done.status_code, done.json()["state"], done.json()["message"]) == (200, "done", "Ken has two buns.")
    twice = problem(client.post(result, json={"ok": False}), 409, "action-over")
    assert "is done already" in twice["detail"]
    client.post(f"{path}/end")
    assert client.get(path).json()["actions"][0]["state"] == "done"


def test_a_client_says_what_may_be_asked(client: TestClient, script: ScriptedModel) -> None:
    wrong = problem(client.post("/conversations/start", json=START | {"actions": ["giv_item"]}), 422, "invalid")
    assert "give_item" in wrong["detail"]
    script.enqueue({key: value for key, value in _turn().items() if key != "action"})
    begun = client.post("/conversations/start", json=START | {"actions": []}).json()
    assert say(client, begun["id"], HELLO)["answer"]["text"] == FAMILY
    assert "give_item" not in script.history[-1].messages[0].content


def test_what_was_asked_with_words_that_are_cut_short_afterwards_is_asked_all_the_same(
    client: TestClient, script: ScriptedModel
) -> None:
    script.enqueue(_turn(BUN))
    path = f"/conversations/{client.post('/conversations/start', json=START).json()['id']}"
    asked = say(client, path.rsplit("/", 1)[1], HELLO)["action"]
    told = client.get(f"{path}/updates?wait=0").json()["items"]
    uttered = [event["data"]["utterance_id"] for event in told if event["kind"] == "utterance.completed"][-1]
    cut = client.post(f"{path}/interrupt", json={"utterance_id": uttered, "heard_chars": 5}).json()
    assert (len(cut["turns"][-1]["text"]), cut["actions"][0]["state"]) == (5, "requested")
    assert client.post(f"{path}/actions/{asked['id']}/result", json={"ok": True}).json()["state"] == "done"


def test_what_must_be_carried_is_given_to_an_npc_and_taken_from_it(tmp_path: Path, script: ScriptedModel) -> None:
    village = Village.with_actions()
    village.game_actions[0]["requires"] = {"item": "bun"}
    settings = settings_for(tmp_path, village.write(tmp_path / "content"))
    script.enqueue(_turn(BUN), _turn(BUN))
    with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, script)))) as client:
        client.put("/people/ken", json={"kind": "player", "name": "Ken"})
        conversation_id = client.post("/conversations/start", json=START).json()["id"]
        assert say(client, conversation_id, HELLO)["action"]["reason"] == "not_offered"
        assert client.patch("/npcs/baker", json={"give": ["bun"]}).json()["items"] == ["bun"]
        assert say(client, conversation_id, THANKS)["action"]["state"] == "requested"
        problem(client.patch("/npcs/baker", json={"take": ["sword"]}), 422, "invalid")
        assert client.patch("/npcs/baker", json={"take": ["bun"]}).json()["items"] == []
