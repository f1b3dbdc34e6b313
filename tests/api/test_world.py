"""Owns the tests of the world over HTTP: clock, map, who is where, events and usage."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.llm.choose import ROLES
from tests.api.play import problem, script_short, script_sister, settings_for, talk
from tests.scripted_model import ScriptedModel


def test_a_new_world_is_at_its_beginning(client: TestClient) -> None:
    told = client.get("/world").json()
    assert told == {
        "id": "main",
        "name": "Millbrook",
        "language": "en",
        "started_at": "2026-04-01T07:00",
        "now": "2026-04-01T07:00",
        "label": "Wed 1 Apr, 7:00",
        "tick_minutes": 1,
        "models": dict.fromkeys(ROLES, "scripted"),
        "rehearsal": False,
        "memory": "sql",
        "characters": 3,
        "npcs": 2,
        "conversations_running": 0,
        "memories_waiting": 0,
        "until": "2026-04-01T07:00",
        "moving": False,
        "calls_in_flight": 0,
        "clock": {"mode": "manual", "speed": 1.0, "pace": "exact", "stopped": None},
        "decision": "routine",
        "weather": "",
        "announcements": [],
        "circumstances": "Wed 1 Apr, 7:00",
        "context_tokens": None,
    }


def test_a_tick_moves_the_clock_and_tells_who_arrived_and_which_day_began(client: TestClient) -> None:
    walk = client.post("/characters/rin/actions", json={"type": "move", "npc_id": "hermit"}).json()
    assert walk["path"] == ["yard", "door", "square", "lane", "mill", "glade"]
    assert walk["minutes"] == 17
    assert (walk["times"][-1], walk["arrives_at"]) == ("2026-04-01T07:17", "2026-04-01T07:17")
    first = client.post("/world/tick?person_id=rin", json={"ticks": 16}).json()
    assert first == {
        "before": "2026-04-01T07:00",
        "now": "2026-04-01T07:16",
        "until": "2026-04-01T07:16",
        "ticks": 16,
        "events": [],
        "next": None,
    }
    second = client.post("/world/tick?person_id=rin", json={}).json()
    assert second["ticks"] == 1
    assert [(e["kind"], e["person_id"], e["at"], e["data"]) for e in second["events"]] == [
        ("arrived", "rin", "2026-04-01T07:17", {"node_id": "glade"})
    ]
    third = client.post("/world/tick?kind=day_began", json={"ticks": 1440}).json()
    assert [(e["kind"], e["at"], e["data"]) for e in third["events"]] == [
        ("day_began", "2026-04-02T00:00", {"day": "2026-04-02"})
    ]


def test_a_walker_is_shown_on_its_way_and_later_where_it_was(client: TestClient) -> None:
    client.post("/characters/rin/actions", json={"type": "move", "npc_id": "hermit"})
    client.post("/world/tick", json={"ticks": 3})
    people = {person["id"]: person for person in client.get("/world/people").json()["people"]}
    assert people["rin"]["position"] == {
        "node_id": "square",
        "place": people["rin"]["position"]["place"],
        "toward": "lane",
        "progress": 0.5,
        "walking_to": "glade",
        "arrives_at": "2026-04-01T07:17",
    }
    assert people["rin"]["position"]["place"]
    assert (people["baker"]["kind"], people["baker"]["position"]["node_id"]) == ("npc", "counter")
    then = client.get("/world/people", params={"at": "2026-04-01T07:00"}).json()
    assert then["at"] == "2026-04-01T07:00"
    assert {p["id"]: p["position"]["node_id"] for p in then["people"]}["rin"] == "yard"


@pytest.mark.parametrize("at", ["2026-04-01T07:01", "tomorrow", "2026-02-30T00:00"])
def test_where_everybody_will_be_is_not_answered(client: TestClient, at: str) -> None:
    assert "query.at" in problem(client.get("/world/people", params={"at": at}), 422, "invalid")["detail"]


@pytest.mark.parametrize(
    "body",
    [{"ticks": 0}, {"ticks": -1}, {"ticks": 1.5}, {"ticks": True}, {"ticks": "3"}, {"ticks": None}, {"ticks": 10**30}],
)
def test_a_tick_that_is_none_is_refused(client: TestClient, body: dict[str, Any]) -> None:
    told = problem(client.post("/world/tick", json=body), 422, "invalid")
    assert [error["field"] for error in told["errors"]] == ["body.ticks"]
    assert client.get("/world").json()["now"] == "2026-04-01T07:00"


def test_the_calendar_has_an_end_and_says_so(tmp_path: Path, millbrook: Path) -> None:
    late = settings_for(tmp_path, millbrook, llm={"provider": "rehearsal"}, world={"start": "9999-12-31T23:00"})
    with TestClient(create_app(late)) as client:
        assert client.post("/world/tick", json={"ticks": 59}).json()["now"] == "9999-12-31T23:59"
        told = problem(client.post("/world/tick", json={"ticks": 1}), 422, "invalid")
        assert "9999-12-31T23:59" in told["detail"]
        assert client.get("/world").json()["now"] == "9999-12-31T23:59"


def test_the_map_has_every_node_way_facility_and_post(client: TestClient) -> None:
    told = client.get("/world/map").json()
    assert told["maps"] == {"village": "Village", "forest": "Forest"}
    assert {node["id"] for node in told["nodes"] if node["closed"]} == {"counter", "hut"}
    assert len(told["nodes"]) == 9
    assert {"a": "mill", "b": "glade", "minutes": 10} in told["edges"]
    assert told["posts"] == {"baker": "counter", "hermit": "hut"}
    bakery = next(f for f in told["facilities"] if f["id"] == "bakery")
    assert (bakery["open_now"], bakery["hours"]) == (True, ["06:00-12:00", "18:00-02:00"])
    client.post("/world/tick", json={"ticks": 6 * 60})
    bakery = next(f for f in client.get("/world/map").json()["facilities"] if f["id"] == "bakery")
    assert bakery["open_now"] is False


def test_events_are_paged_oldest_first_and_filtered(client: TestClient, script: ScriptedModel) -> None:
    script_short(script)
    talk(client, character_id="umi")
    client.post("/characters/rin/actions", json={"type": "move", "npc_id": "baker"})
    client.post("/world/tick", json={"ticks": 5})
    whole = client.get("/world/events").json()
    assert whole["next"] is None
    ids = [event["id"] for event in whole["items"]]
    assert ids == sorted(ids)
    assert paged(client, order="asc") == ids
    assert paged(client, order="desc") == ids[::-1]
    kinds = [event["kind"] for event in whole["items"] if event["person_id"] == "rin"]
    assert [kind for kind in kinds if kind in ("departed", "arrived")] == ["departed", "arrived"]
    assert len(client.get("/world/events", params={"kind": "arrived", "person_id": "rin"}).json()["items"]) == 1
    of_baker = client.get("/world/events", params={"involving": "baker"}).json()["items"]
    assert [(event["person_id"], event["data"]["partner_id"]) for event in of_baker] == [("umi", "baker")] * 3
    of_umi = client.get("/world/events", params={"person_id": "umi"}).json()["items"]
    assert {event["person_id"] for event in of_umi} == {"umi"}
    assert [e["kind"] for e in of_umi if e["kind"].startswith("conversation")] == [
        "conversation_started",
        "conversation_ended",
        "conversation_closed",
    ]
    problem(client.get("/world/events", params={"kind": "DROP TABLE events"}), 422, "invalid")


def paged(client: TestClient, **params: str) -> list[int]:
    """The ids of all events, five at a time."""
    found: list[int] = []
    here: dict[str, str] = {}
    while True:
        page = client.get("/world/events", params={"limit": 5, **params, **here}).json()
        assert len(page["items"]) <= 5
        found += [event["id"] for event in page["items"]]
        if page["next"] is None:
            return found
        here = {"after": page["next"]}


def test_events_can_be_asked_for_by_world_time(client: TestClient) -> None:
    client.post("/world/tick", json={"ticks": 600})
    span = {"since": "2026-04-01T09:00", "until": "2026-04-01T10:00", "limit": "1000"}
    found = client.get("/world/events", params=span).json()["items"]
    assert found
    assert all("2026-04-01T09:00" <= event["at"] <= "2026-04-01T10:00" for event in found)
    for field in ("since", "until"):
        told = problem(client.get("/world/events", params={field: "yesterday"}), 422, "invalid")
        assert f"query.{field}" in told["detail"]


def test_usage_counts_calls_and_tokens_by_day_and_role(client: TestClient, script: ScriptedModel) -> None:
    assert client.get("/usage").json() == []
    script_sister(script)
    held = talk(client)
    client.post("/world/tick", json={"ticks": 1440})
    script_short(script)
    talk(client)
    rows = client.get("/usage").json()
    assert {(row["day"], row["role"]): row["calls"] for row in rows} == {
        ("2026-04-01", "character"): 2,
        ("2026-04-01", "npc"): 2,
        ("2026-04-01", "closing"): 1,
        ("2026-04-02", "character"): 1,
        ("2026-04-02", "npc"): 1,
        ("2026-04-02", "closing"): 1,
    }
    first_day = [row for row in rows if row["day"] == "2026-04-01"]
    assert sum(row["prompt_tokens"] for row in first_day) == held["cost"]["prompt_tokens"]
    assert sum(row["completion_tokens"] for row in first_day) == held["cost"]["completion_tokens"]
    assert all(row["estimated"] and row["failures"] == 0 for row in rows)


@pytest.mark.parametrize(("ticks", "status"), [(5.0, 200), (5, 200), (5.5, 422), ("5", 422), (True, 422)])
def test_a_whole_number_may_be_written_as_engines_do_whose_numbers_are_floats(
    client: TestClient, ticks: object, status: int
) -> None:
    assert client.post("/world/tick", json={"ticks": ticks}).status_code == status
