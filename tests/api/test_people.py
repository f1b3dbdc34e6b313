"""Owns the tests of people over HTTP: characters, NPCs, walking."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.api.play import problem


def test_characters_and_npcs_are_listed_as_each_is_shown(client: TestClient) -> None:
    for kind, ids in (("characters", {"sora", "umi", "rin"}), ("npcs", {"baker", "hermit"})):
        everybody = client.get(f"/{kind}").json()
        assert {person["id"] for person in everybody} == ids
        for person in everybody:
            assert client.get(f"/{kind}/{person['id']}").json() == person


def test_a_character_says_who_is_close_enough_to_talk_to(client: TestClient) -> None:
    assert "baker" in client.get("/characters/sora").json()["beside"]
    assert "baker" not in client.get("/characters/rin").json()["beside"]
    client.post("/characters/rin/actions", json={"type": "move", "npc_id": "baker"})
    client.post("/world/tick", json={"ticks": 1})
    assert "baker" in client.get("/characters/rin").json()["beside"]


def test_a_walk_begins_at_once_and_a_walk_to_where_one_is_is_none(client: TestClient) -> None:
    stays = client.post("/characters/sora/actions", json={"type": "move", "npc_id": "baker"}).json()
    assert (stays["path"], stays["minutes"]) == (["door"], 0)
    goes = client.post("/characters/sora/actions", json={"type": "move", "node_id": "square"}).json()
    assert goes == {
        "type": "move",
        "path": ["door", "square"],
        "times": ["2026-04-01T07:00", "2026-04-01T07:01"],
        "arrives_at": "2026-04-01T07:01",
        "minutes": 1,
    }
    position = client.get("/characters/sora").json()["position"]
    assert (position["node_id"], position["walking_to"]) == ("door", "square")


def test_a_walk_into_a_facility_that_will_be_shut_is_refused_with_its_hours(client: TestClient) -> None:
    assert client.post("/characters/rin/actions", json={"type": "move", "facility_id": "bakery"}).status_code == 200
    client.post("/characters/rin/actions", json={"type": "move", "node_id": "mill"})
    client.post("/world/tick", json={"ticks": 5 * 60 - 2})
    told = problem(
        client.post("/characters/rin/actions", json={"type": "move", "facility_id": "bakery"}), 409, "facility-closed"
    )
    assert told["facts"]["hours"] == "06:00-12:00, 18:00-02:00"
    assert told["facts"]["facility_id"] == "bakery"


def test_no_way_leads_to_where_an_npc_stands(client: TestClient) -> None:
    told = problem(
        client.post("/characters/sora/actions", json={"type": "move", "node_id": "counter"}), 409, "no-way-there"
    )
    assert told["facts"] == {"start": "door", "goal": "counter"}


@pytest.mark.parametrize("place", ["node_id", "facility_id", "npc_id"])
def test_a_walk_to_nowhere_is_not_found(client: TestClient, place: str) -> None:
    told = problem(client.post("/characters/sora/actions", json={"type": "move", place: "atlantis"}), 404, "not-found")
    assert told["facts"]["id"] == "atlantis"


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"type": "dance"},
        {"type": "move"},
        {"type": "move", "node_id": "door", "npc_id": "baker"},
        {"type": "move", "node_id": "a/b"},
        {"type": "sleep", "hours": 8},
    ],
)
def test_an_action_that_is_none_is_refused(client: TestClient, body: Any) -> None:
    problem(client.post("/characters/sora/actions", json=body), 422, "invalid")


@pytest.mark.parametrize("path", ["/characters/nobody", "/npcs/nobody", "/npcs/sora", "/characters/baker"])
def test_nobody_is_not_found_in_the_language_asked_for(client: TestClient, path: str) -> None:
    english = problem(client.get(path), 404, "not-found")
    japanese = problem(client.get(path, headers={"Accept-Language": "ja-JP,en;q=0.5"}), 404, "not-found")
    assert english["facts"] == japanese["facts"]
    assert "There is no" in english["detail"]
    assert "見つかりません" in japanese["detail"]


def test_nobody_acts(client: TestClient) -> None:
    problem(client.post("/characters/nobody/actions", json={"type": "sleep"}), 404, "not-found")
