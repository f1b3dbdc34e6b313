"""Owns the tests of the way back over HTTP: a running service keeps worlds, brings them back, and branches them."""

from fastapi.testclient import TestClient

from tests.api.play import problem
from tests.api.test_player import begin, say
from tests.conversation.talks import FAMILY, HELLO, THANKS, replies
from tests.scripted_model import ScriptedModel


def test_a_game_is_saved_and_loaded(client: TestClient, script: ScriptedModel) -> None:
    script.enqueue(replies(FAMILY), replies("Of course."), replies("Of course not."))
    conversation_id = begin(client)
    say(client, conversation_id, HELLO)
    kept = client.post("/world/snapshots", json={"name": "quick"})
    assert (kept.status_code, kept.json()["name"], kept.json()["automatic"]) == (201, "quick", False)
    before = client.get(f"/conversations/{conversation_id}").json()
    assert say(client, conversation_id, THANKS)["answer"]["text"] == "Of course."
    loaded = client.post("/world/restore", json={"name": "quick"})
    assert (loaded.status_code, loaded.json()["now"]) == (200, kept.json()["at"])
    assert client.get(f"/conversations/{conversation_id}").json() == before
    assert say(client, conversation_id, THANKS)["answer"]["text"] == "Of course not."
    assert [one["name"] for one in client.get("/world/snapshots").json()] == ["quick"]
    assert client.delete("/world/snapshots/quick").status_code == 204
    problem(client.post("/world/restore", json={"name": "quick"}), 404, "not-found")


def test_a_branch_goes_on_otherwise_before_a_turn(client: TestClient, script: ScriptedModel) -> None:
    script.enqueue(replies(FAMILY), replies("Of course."))
    conversation_id = begin(client)
    say(client, conversation_id, HELLO)
    say(client, conversation_id, THANKS)
    asked = {"to_world": "what-if", "conversation_id": conversation_id, "turn": 2}
    branched = client.post("/world/branch", json=asked)
    assert (branched.status_code, branched.json()["branched_from"]) == (201, "main")
    there = {"X-World-Id": "what-if"}
    assert len(client.get(f"/conversations/{conversation_id}").json()["turns"]) == 4
    assert len(client.get(f"/conversations/{conversation_id}", headers=there).json()["turns"]) == 2
    script.enqueue(replies("Of course not."))
    otherwise = client.post(f"/conversations/{conversation_id}/say?wait=true", json={"text": HELLO}, headers=there)
    assert otherwise.json()["answer"]["text"] == "Of course not."
    assert {one["id"]: one["branched_from"] for one in client.get("/worlds").json()["items"]} == {
        "main": None,
        "what-if": "main",
    }
    compared = client.get("/world/compare?with=what-if").json()
    assert compared["parted_at"] == branched.json()["branched_at"] == compared["there"]["now"]
    (differing,) = compared["conversations"]["items"]
    assert (differing["id"], differing["here"], differing["there"]) == (conversation_id, 4, 4)
    (first, second) = differing["turns"]
    assert (first["turn"], first["here"]["text"], first["there"]["text"]) == (2, THANKS, HELLO)
    assert (second["here"]["text"], second["there"]["text"]) == ("Of course.", "Of course not.")
    assert "what-if" in problem(client.post("/world/branch", json=asked), 409, "world-exists")["detail"]


def test_what_cannot_be_kept_or_branched_is_refused_with_what_to_do(client: TestClient) -> None:
    assert client.post("/world/snapshots", json={"name": "early"}).status_code == 201, "it begins"
    problem(client.post("/world/snapshots", json={"name": "not a name"}), 422, "invalid")
    problem(client.post("/world/restore", json={"name": "never"}), 404, "not-found")
    for wrong in (
        {"at": "2020-01-01"},
        {"at": "noon"},
        {"turn": 1},
        {"at": "2026-04-01", "conversation_id": "c", "turn": 1},
    ):
        problem(client.post("/world/branch", json={"to_world": "other", **wrong}), 422, "invalid")
    problem(client.post("/world/branch", json={"to_world": "other", "snapshot": "never"}), 404, "not-found")
    problem(
        client.post("/world/branch", json={"to_world": "other", "conversation_id": "c", "turn": 0}), 404, "not-found"
    )
    problem(client.get("/world/compare?with=other"), 404, "not-found")
    problem(client.get("/world/compare"), 422, "invalid")
    assert [one["id"] for one in client.get("/worlds").json()["items"]] == ["main"]
