"""Owns the tests of worlds beside each other: nothing of one is seen in the other; each has a language; one is
forgotten.
"""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.errors import ModelServerError
from tests.api.play import LINES, TALK, problem, recollection, reply, say, script_short, script_sister, talk, turn
from tests.freeze.openapi import description
from tests.scripted_model import ScriptedModel

OTHER = {"X-World-Id": "other"}
READS = (
    "/world",
    "/world/people",
    "/world/events",
    "/conversations",
    "/characters",
    "/npcs",
    "/usage",
    "/characters/sora/memory?npc_id=baker",
)


def all_reads(client: TestClient, world: str) -> dict[str, Any]:
    """Everything a client can read of a world."""
    return {path: client.get(path, headers={"X-World-Id": world}).json() for path in READS}


def test_what_happens_in_one_world_is_not_seen_in_another(client: TestClient, script: ScriptedModel) -> None:
    untouched = all_reads(client, "other")
    script_sister(script)
    held = talk(client)
    client.post("/characters/rin/actions", json={"type": "move", "npc_id": "hermit"})
    client.post("/world/tick", json={"ticks": 2000})
    assert all_reads(client, "other") == untouched
    changed = all_reads(client, "main")
    for path in READS:
        assert changed[path] != untouched[path], path
    for call in ("GET {}", "GET {}/events", "POST {}/end", "POST {}/close"):
        method, path = call.format(f"/conversations/{held['id']}").split()
        problem(client.request(method, path, headers=OTHER), 404, "not-found")
    script_short(script, "We have never met")
    assert talk(client, world="other")["changes"]["affinity"] == {"before": 0, "after": 0}
    assert "Lotte" not in str(script.history[-2].messages)
    after = all_reads(client, "main")
    assert after == changed


@pytest.mark.parametrize("world", ["a--b", "-a", "ünder", "a b", "x" * 65, ""])
def test_a_world_id_that_is_none_is_refused(client: TestClient, world: str) -> None:
    told = problem(client.get("/world", headers=[(b"x-world-id", world.encode())]), 422, "invalid")
    assert [error["field"].lower() for error in told["errors"]] == ["header.x-world-id"]


def test_a_world_may_be_named_in_the_query(client: TestClient, script: ScriptedModel) -> None:
    """Who cannot send a header, as the EventSource of a browser."""
    script_short(script)
    held = talk(client, world="other")
    for path in (*READS, f"/conversations/{held['id']}", f"/conversations/{held['id']}/events"):
        asked = client.get(f"{path}{'&' if '?' in path else '?'}world_id=other")
        assert asked.status_code == 200, path
        assert asked.text == client.get(path, headers=OTHER).text, path
    assert client.get(f"/conversations/{held['id']}").status_code == 404
    assert client.patch("/world?world_id=third", json={"weather": "Rain"}).json()["id"] == "third"
    assert client.get("/world", headers={"X-World-Id": "third"}).json()["weather"] == "Rain"


def test_every_path_that_takes_the_header_takes_the_query() -> None:
    paths = description()["paths"]
    world = next(p for p in paths["/world"]["get"]["parameters"] if p["name"] == "world_id")["schema"]["anyOf"]
    for path, methods in paths.items():
        for method, operation in methods.items():
            taken = {(p["in"], p["name"].lower()): p for p in operation.get("parameters", ())}
            assert (("header", "x-world-id") in taken) == (("query", "world_id") in taken), (method, path)
            if ("query", "world_id") in taken:
                both = (taken["query", "world_id"]["schema"]["anyOf"], taken["header", "x-world-id"]["schema"]["anyOf"])
                assert both == (world, world), (method, path)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "query.world_id: the header X-World-Id names the world other, the query third; name one"),
        (
            "ja",
            "query.world_id: ヘッダー X-World-Id は世界 other を、クエリーは third を指しています。"
            "どちらか1つにしてください",
        ),
    ],
)
def test_a_header_and_a_query_that_disagree_are_a_problem(client: TestClient, language: str, sentence: str) -> None:
    headers = {**OTHER, "Accept-Language": language}
    assert client.get("/world?world_id=other", headers=headers).json()["id"] == "other"
    for path in ("/world", "/conversations/abc/events"):
        told = problem(client.get(path, params={"world_id": "third"}, headers=headers), 422, "invalid")
        assert told["detail"] == sentence
    problem(client.get("/world?world_id=a--b"), 422, "invalid")


def test_links_lead_into_the_world_they_are_of(client: TestClient, script: ScriptedModel) -> None:
    for world, query in (("main", ""), ("other", "?world_id=other")):
        script_short(script)
        held = talk(client, world=world)
        assert held["links"] == {
            "self": f"/conversations/{held['id']}{query}",
            "events": f"/conversations/{held['id']}/events{query}",
        }
        assert client.get(held["links"]["self"]).json() == held
        script_short(script)
        begun = client.post("/conversations/start?wait=true", json=TALK, headers={"X-World-Id": world})
        assert client.get(begun.headers["location"]).json()["id"] == begun.json()["id"]


def test_the_worlds_that_have_begun_are_listed(client: TestClient, script: ScriptedModel) -> None:
    assert client.get("/worlds").json() == {"items": [], "next": None}
    client.get("/world", headers=OTHER)  # to look at a world does not begin it
    script_short(script)
    talk(client)
    client.post("/world/tick", json={"ticks": 5})
    client.patch("/world", json={"language": "ja"}, headers=OTHER)
    client.put("/world/clock", json={"mode": "running", "speed": 0.001}, headers={"X-World-Id": "third"})
    told = client.get("/worlds").json()
    assert told["next"] is None
    assert [(one["id"], one["name"], one["language"], one["state"]) for one in told["items"]] == [
        ("main", "Millbrook", "en", "standing"),
        ("other", "水車村", "ja", "standing"),
        ("third", "Millbrook", "en", "running"),
    ]
    first = told["items"][0]
    assert first["now"] == "2026-04-01T07:05"
    counts = {name: first[name] for name in ("characters", "npcs", "conversations", "conversations_running")}
    assert counts == {"characters": 3, "npcs": 2, "conversations": 1, "conversations_running": 0}
    client.delete("/world", headers=OTHER)
    assert [one["id"] for one in client.get("/worlds").json()["items"]] == ["main", "third"]


def test_changing_the_language_changes_texts_prompts_and_what_is_said(
    client: TestClient, script: ScriptedModel
) -> None:
    assert client.get("/world").json()["language"] == "en"
    changed = client.patch("/world", json={"language": "ja"})
    assert changed.status_code == 200
    assert changed.json()["language"] == "ja"
    assert changed.json() == client.get("/world").json()
    assert changed.json()["name"] == "水車村"
    assert client.get("/npcs/baker").json()["name"] == "ハンナ"
    script_sister(script, "ja")
    held = talk(client, goal="妹のことを聞く", success_criteria="近況を聞けたら達成")
    assert [t["text"] for t in held["turns"]] == list(LINES["ja"])
    assert held["turns"][1]["speaker_name"] == "ハンナ"
    assert {prompt.language for prompt in script.history} == {"ja"}
    assert "水車村" in str([prompt.messages for prompt in script.history]) or "ハンナ" in str(
        script.history[0].messages
    )
    client.patch("/world", json={"language": "en"})
    client.post("/world/tick", json={"ticks": 2880})
    assert (
        client.get("/characters/sora/memory", params={"npc_id": "baker"}).json()["last_meeting"]["ago"] == "2 days ago"
    )
    assert client.get("/world", headers=OTHER).json()["language"] == "en"


@pytest.mark.parametrize("body", [{}, {"language": "fr"}, {"language": None}, {"language": "ja", "now": "2026-01-01"}])
def test_a_change_of_the_world_that_is_none_is_refused(client: TestClient, body: dict[str, Any]) -> None:
    problem(client.patch("/world", json=body), 422, "invalid")


def test_a_failure_is_told_in_the_language_of_the_world(client: TestClient, script: ScriptedModel) -> None:
    say(script, "character", turn("Good morning, Hanna.", ends=True))
    say(script, "npc", reply("Bye."))
    script.enqueue(ModelServerError(model="scripted", status_code=500, reason="out of order"), role="closing")
    failed = talk(client)
    client.patch("/world", json={"language": "ja"})
    told = client.get(f"/conversations/{failed['id']}").json()["failure"]["detail"]
    assert told.startswith("モデルサーバー")
    say(script, "closing", recollection())
    client.post(f"/conversations/{failed['id']}/close?wait=true")


def test_a_world_is_forgotten_wholly_and_only_that_one(client: TestClient, script: ScriptedModel) -> None:
    beginning = all_reads(client, "main")
    for world in ("main", "other"):
        script_sister(script)
        talk(client, world=world)
        client.post("/world/tick", json={"ticks": 10}, headers={"X-World-Id": world, "Idempotency-Key": "k"})
    kept = all_reads(client, "other")
    assert kept["/characters/sora/memory?npc_id=baker"]["facts"]
    gone = client.delete("/world")
    assert (gone.status_code, gone.content) == (204, b"")
    assert all_reads(client, "main") == beginning
    assert all_reads(client, "other") == kept
    # Neither the key nor the memory graph remembers: the world begins anew, and its people have never met.
    ticked = client.post("/world/tick", json={"ticks": 10}, headers={"Idempotency-Key": "k"}).json()
    assert ticked["before"] == "2026-04-01T07:00"
    script_short(script, "Have we met?")
    talk(client)
    memory = client.get("/characters/sora/memory", params={"npc_id": "baker", "history": True, "query": "Lotte"}).json()
    assert (memory["relation"]["conversation_count"], memory["facts"]) == (1, [])


def test_forgetting_a_world_nobody_has_entered_is_nothing(client: TestClient) -> None:
    assert client.delete("/world", headers=OTHER).status_code == 204
