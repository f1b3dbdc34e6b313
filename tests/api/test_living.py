"""Owns the tests of the living world over HTTP: ticks, clients who control somebody, authors who change things."""

import time
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from tests.api.play import problem, reply, say, script_short, settings_for, talk, turn
from tests.decision.desks import decides, plans
from tests.memory.answers import plain
from tests.scripted_model import ScriptedModel

NOW = "2026-04-01T07:00"


def rin(client: TestClient) -> dict[str, Any]:
    """Rin as it stands."""
    told: dict[str, Any] = client.get("/characters/rin").json()
    return told


def level(character: dict[str, Any], need_id: str) -> float:
    """Of one need."""
    return next(float(need["level"]) for need in character["needs"] if need["id"] == need_id)


def standing(client: TestClient, world: str = "main") -> dict[str, Any]:
    """The world as soon as it stands."""
    deadline = time.monotonic() + 30
    while True:
        told: dict[str, Any] = client.get("/world", headers={"X-World-Id": world}).json()
        if not told["moving"]:
            return told
        assert time.monotonic() < deadline, told
        time.sleep(0.05)


def test_everybody_lives_through_a_tick_and_its_events_say_how(client: TestClient) -> None:
    told = client.post("/world/tick", json={"ticks": 600}).json()
    kinds = {event["kind"] for event in told["events"]}
    assert {"decided", "activity_started", "activity_ended"} <= kinds
    assert all(NOW <= event["at"] <= told["now"] for event in told["events"])
    assert {event["data"]["by"] for event in told["events"] if event["kind"] == "decided"} == {"routine"}
    assert told["events"] == client.get("/world/events", params={"limit": 1000}).json()["items"]


def test_two_ticks_tell_the_same_as_one(client: TestClient) -> None:
    halves = [client.post("/world/tick", json={"ticks": 300}).json()["events"] for _ in range(2)]
    whole = client.post("/world/tick", json={"ticks": 600}, headers={"X-World-Id": "other"}).json()["events"]
    told = [(e["at"], e["kind"], e["person_id"], e["data"]) for half in halves for e in half]
    assert told == [(e["at"], e["kind"], e["person_id"], e["data"]) for e in whole]


def test_a_tick_that_tells_too_much_says_where_to_go_on(client: TestClient) -> None:
    first = client.post("/world/tick", params={"limit": 3}, json={"ticks": 300}).json()
    assert len(first["events"]) == 3
    rest = client.get("/world/events", params={"after": first["next"], "limit": 1000}).json()["items"]
    assert [e["id"] for e in first["events"] + rest] == [
        e["id"] for e in client.get("/world/events", params={"limit": 1000}).json()["items"]
    ]


def test_a_tick_need_not_be_waited_for(client: TestClient) -> None:
    answer = client.post("/world/tick", json={"ticks": 300, "wait": False})
    assert answer.status_code == 202
    told = answer.json()
    assert (told["before"], told["until"], told["ticks"], told["events"]) == (NOW, "2026-04-01T12:00", 300, [])
    assert standing(client)["now"] == "2026-04-01T12:00"
    assert client.get("/world/events", params={"after": told["next"]}).json()["items"]


def test_the_same_key_may_first_not_wait_and_then_wait(client: TestClient) -> None:
    key = {"Idempotency-Key": "once"}
    client.post("/world/tick", json={"ticks": 60, "wait": False}, headers=key)
    told = client.post("/world/tick", json={"ticks": 60}, headers=key).json()
    assert (told["before"], told["now"]) == (NOW, "2026-04-01T08:00")
    client.post("/world/tick", json={"ticks": 60})
    assert client.post("/world/tick", json={"ticks": 60}, headers=key).json() == told
    assert client.get("/world").json()["now"] == "2026-04-01T09:00"


def test_who_has_not_lived_yet_is_shown_as_it_would_begin_and_reading_writes_nothing(client: TestClient) -> None:
    one = rin(client)
    assert (one["activity"], one["decision"], one["thought"], one["items"]) == (None, "routine", "", [])
    assert {need["id"] for need in one["needs"]} >= {"energy", "satiety", "sociability", "money"}
    assert all(need["lowest"] <= need["level"] <= need["highest"] for need in one["needs"])
    client.get("/world/people")
    assert client.get("/world/events").json()["items"] == []
    assert rin(client) == one


def test_what_people_do_and_need_is_shown_at_the_clock(client: TestClient) -> None:
    before = rin(client)
    client.post("/world/tick", json={"ticks": 127})
    now = client.get("/world").json()["now"]
    for person in client.get("/world/people").json()["people"]:
        if person["kind"] == "npc":
            assert person["activity"] is None
            continue
        one = client.get(f"/characters/{person['id']}").json()
        assert one["activity"] == person["activity"]
        if one["activity"] is not None:
            assert one["activity"]["since"] <= now < one["activity"]["until"]
            assert one["activity"]["name"]
    assert level(rin(client), "energy") != level(before, "energy")
    then = client.get("/world/people", params={"at": NOW}).json()["people"]
    assert {person["activity"] for person in then} == {None}


def test_an_action_is_done_where_it_is_nearest_and_the_character_is_in_the_clients_hands(client: TestClient) -> None:
    done = client.post("/characters/rin/actions", json={"type": "do", "action_id": "eat_at_home"}).json()
    assert (done["type"], done["action_id"], done["facility_id"]) == ("do", "eat_at_home", None)
    assert (done["arrives_at"], done["until"]) == (NOW, "2026-04-01T07:30")
    one = rin(client)
    assert (one["decision"], one["activity"]["action_id"], one["activity"]["until"]) == (
        "client",
        "eat_at_home",
        done["until"],
    )
    hungry = level(one, "satiety")
    client.post("/world/tick", json={"ticks": 300})
    one = rin(client)
    assert (one["activity"]["action_id"], one["activity"]["until"]) == ("hold", None)
    decided = client.get("/world/events", params={"kind": "decided", "person_id": "rin"}).json()["items"]
    assert [event["data"]["by"] for event in decided] == ["client"]
    assert level(one, "satiety") > hungry


def test_a_thought_is_shown_until_a_client_holds_the_character(client: TestClient, script: ScriptedModel) -> None:
    script.enqueue(plans(("08:00", "Rests", 0, ""), ("22:00", "Sleeps", 0, "")), decides(1, thought="The sea is calm."))
    client.patch("/characters/rin", json={"decision": "model"})
    client.post("/world/tick", json={"ticks": 1})
    assert rin(client)["thought"] == "The sea is calm."
    for decision in ("client", None):
        assert client.patch("/characters/rin", json={"decision": decision}).json()["thought"] == ""


def test_a_client_gives_a_character_back(client: TestClient) -> None:
    client.post("/characters/rin/actions", json={"type": "sleep"})
    assert rin(client)["decision"] == "client"
    back = client.patch("/characters/rin", json={"decision": None}).json()
    assert back["decision"] == "routine"
    client.post("/world/tick", json={"ticks": 120})
    decided = client.get("/world/events", params={"kind": "decided", "person_id": "rin"}).json()["items"]
    assert "routine" in {event["data"]["by"] for event in decided}


def test_what_is_not_possible_is_refused_with_its_reason(client: TestClient) -> None:
    client.patch("/characters/rin", json={"needs": {"satiety": 100}})
    client.post("/world/tick", json={"ticks": 2})
    told = problem(
        client.post("/characters/rin/actions", json={"type": "do", "action_id": "eat_at_home"}), 409, "not-possible"
    )
    assert (told["facts"]["reason"], told["facts"]["need_id"]) == ("too_much", "satiety")
    told = problem(client.post("/characters/rin/actions", json={"type": "do", "action_id": "dance"}), 404, "not-found")
    assert told["facts"]["id"] == "dance"


def test_the_possible_actions_are_told_in_the_readers_language_and_change_nothing(client: TestClient) -> None:
    before = rin(client), client.get("/world/events").json()
    english = client.get("/characters/rin/actions", headers={"Accept-Language": "en"}).json()
    japanese = client.get("/characters/rin/actions", headers={"Accept-Language": "ja"}).json()
    assert (rin(client), client.get("/world/events").json()) == before
    assert client.get("/characters/rin/actions").json() == english
    assert [o["action_id"] for o in english["options"]] == [o["action_id"] for o in japanese["options"]]
    talks = {o["target_id"]: o["target_name"] for o in japanese["options"] if o["action_id"] == "talk"}
    assert talks["baker"] == "ハンナ"
    refused = {r["action_id"]: r for r in english["refusals"]}
    assert refused["sleep"]["reason"] == "wrong_time"
    assert "20:00-04:00" in refused["sleep"]["text"]
    for one in (*english["options"], *english["refusals"]):
        assert one["name"]
        assert one["text"]


def test_who_talks_can_be_told_nothing(client: TestClient, script: ScriptedModel) -> None:
    script.latency_seconds = 5
    say(script, "character", turn("Good morning"))
    started = client.post("/conversations/start", json={"character_id": "sora", "npc_id": "baker"}).json()
    problem(client.get("/characters/sora/actions"), 409, "busy")
    problem(client.post("/characters/sora/actions", json={"type": "do", "action_id": "rest"}), 409, "busy")
    problem(client.patch("/characters/sora", json={"node_id": "mill"}), 409, "busy")
    problem(client.delete("/characters/sora/memory"), 409, "busy")
    sora = client.get("/characters/sora").json()
    assert (sora["activity"]["action_id"], sora["activity"]["talking_in"]) == ("talk", started["id"])
    script.latency_seconds = 0
    client.post(f"/conversations/{started['id']}/end")


def test_an_author_moves_somebody_sets_needs_and_gives_things(client: TestClient) -> None:
    body = {"node_id": "mill", "needs": {"satiety": 5, "money": 700}, "give": ["a key", "a loaf"]}
    told = client.patch("/characters/rin", json=body).json()
    assert (told["position"]["node_id"], level(told, "satiety"), level(told, "money")) == ("mill", 5, 700)
    assert told["items"] == ["a key", "a loaf"]
    assert client.patch("/characters/rin", json={"take": ["a key"]}).json()["items"] == ["a loaf"]
    kinds = [event["kind"] for event in client.get("/world/events").json()["items"]]
    assert kinds.count("carries") == 2
    assert kinds.count("changed") == 1
    told = client.post("/world/tick?person_id=rin&kind=decided", json={"ticks": 5}).json()
    assert told["events"], "it decides anew"


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        ({}, 422, "invalid"),
        ({"needs": {"fame": 3}}, 422, "invalid"),
        ({"needs": {"satiety": "full"}}, 422, "invalid"),
        ({"needs": None}, 422, "invalid"),
        ({"take": ["a crown"]}, 422, "invalid"),
        ({"decision": "dice"}, 422, "invalid"),
        ({"node_id": "counter"}, 422, "invalid"),
        ({"node_id": "atlantis"}, 404, "not-found"),
    ],
)
def test_a_change_of_a_character_that_is_none_is_refused_and_changes_nothing(
    client: TestClient, body: dict[str, Any], status: int, slug: str
) -> None:
    before = rin(client)
    problem(client.patch("/characters/rin", json=body), status, slug)
    assert rin(client) == before
    assert client.get("/world/events").json()["items"] == []


def test_an_author_sets_how_an_npc_feels(client: TestClient) -> None:
    told = client.patch("/npcs/baker", json={"mood": "angry", "affinity": {"sora": -40, "rin": 12}}).json()
    assert (told["mood"], told["affinity"]) == ("angry", {"rin": 12, "sora": -40})
    assert client.get("/npcs/baker").json() == told
    (event,) = client.get("/world/events", params={"kind": "changed"}).json()["items"]
    assert (event["person_id"], event["data"]["mood"]) == ("baker", "angry")
    problem(client.patch("/npcs/baker", json={"affinity": {"nobody": 1}}), 404, "not-found")
    for body in ({}, {"affinity": {"sora": 101}}, {"mood": None}):
        problem(client.patch("/npcs/baker", json=body), 422, "invalid")


def test_weather_and_announcements_are_what_everybody_knows(client: TestClient) -> None:
    told = client.patch("/world", json={"weather": "rain", "announce": {"text": "Market day", "minutes": 60}}).json()
    assert (told["weather"], told["circumstances"]) == ("rain", "Wed 1 Apr, 7:00. rain. Market day")
    assert told["announcements"] == [{"text": "Market day", "at": NOW, "until": "2026-04-01T08:00"}]
    assert told == client.get("/world").json()
    kinds = [event["kind"] for event in client.get("/world/events").json()["items"]]
    assert kinds == ["weather", "announced"]
    client.post("/world/tick", json={"ticks": 60})
    after = client.get("/world").json()
    assert (after["weather"], after["announcements"]) == ("rain", [])


def test_how_a_world_decides_can_be_set_and_taken_back(client: TestClient) -> None:
    assert client.patch("/world", json={"decision": "model"}).json()["decision"] == "model"
    assert rin(client)["decision"] == "model"
    assert client.patch("/characters/rin", json={"decision": "routine"}).json()["decision"] == "routine"
    assert client.patch("/world", json={"decision": None}).json()["decision"] == "routine"


def test_a_clock_that_runs_moves_the_world_by_itself(client: TestClient) -> None:
    told = client.put("/world/clock", json={"mode": "running", "speed": 6000}).json()
    assert told["clock"] == {"mode": "running", "speed": 6000, "pace": "exact", "stopped": None}
    deadline = time.monotonic() + 30
    while client.get("/world").json()["now"] == NOW:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    stopped = client.put("/world/clock", json={"mode": "manual"}).json()
    assert stopped["clock"] == {"mode": "manual", "speed": 6000, "pace": "exact", "stopped": None}
    assert standing(client)["now"] > NOW
    for body in ({"speed": 0}, {"speed": 100_001}, {"mode": "backwards"}, {"pace": None}):
        problem(client.put("/world/clock", json=body), 422, "invalid")


def test_two_characters_talk_and_both_remember(client: TestClient, script: ScriptedModel) -> None:
    say(script, "character", turn("Good morning, Umi.", ends=True), reply("Good morning, Sora. Off I go.", ends=True))
    side = {"affinity": 3, "intimacy": 2}
    say(script, "closing", plain("They greeted.", topics=("morning",), first=side, second=side))
    told = talk(client, npc_id="umi")
    assert (told["partner_kind"], told["npc_name"], told["living"]) == ("character", "Umi", False)
    assert [t["speaker_id"] for t in told["turns"]][:1] == ["sora"]
    assert told["phase"] == "closed", told["failure"]
    assert told["changes"]["partner"]["summary"]
    for one, other in (("sora", "umi"), ("umi", "sora")):
        memory = client.get(f"/characters/{one}/memory", params={"npc_id": other}).json()
        assert memory["last_meeting"]["conversation_id"] == told["id"]
    client.delete("/characters/sora/memory").raise_for_status()
    assert client.get("/characters/sora/memory", params={"npc_id": "umi"}).json()["last_meeting"] is None
    assert client.get("/characters/umi/memory", params={"npc_id": "sora"}).json()["last_meeting"] is not None
    assert client.get(f"/conversations/{told['id']}").status_code == 200
    client.delete("/characters/umi/memory").raise_for_status()
    problem(client.get(f"/conversations/{told['id']}"), 404, "not-found")


def test_nobody_talks_to_itself_or_remembers_nobody(client: TestClient) -> None:
    problem(client.post("/conversations/start", json={"character_id": "sora", "npc_id": "sora"}), 422, "invalid")
    problem(client.get("/characters/sora/memory", params={"npc_id": "nobody"}), 404, "not-found")


def test_conversations_are_listed_by_world_time_newest_first(client: TestClient, script: ScriptedModel) -> None:
    ids = []
    for character_id in ("sora", "umi", "sora"):
        script_short(script)
        ids.append(talk(client, character_id=character_id)["id"])
        client.post("/world/tick", json={"ticks": 1})
    found: list[str] = []
    following: dict[str, str] = {}
    while True:
        page = client.get("/conversations", params={"limit": 2, **following}).json()
        found += [one["id"] for one in page["items"]]
        if page["next"] is None:
            break
        following = {"after": page["next"]}
    assert found == ids[::-1]
    problem(client.get("/conversations", params={"after": "0" * 28}), 422, "invalid")


def test_a_world_that_lives_is_forgotten_with_its_lives(client: TestClient) -> None:
    beginning = client.get("/characters").json(), client.get("/world").json()
    client.patch("/world", json={"weather": "rain", "announce": {"text": "Market day", "minutes": 6000}})
    client.put("/world/clock", json={"mode": "running", "speed": 60})
    client.put("/world/clock", json={"mode": "manual"})
    client.post("/world/tick", json={"ticks": 200})
    assert client.delete("/world").status_code == 204
    assert (client.get("/characters").json(), client.get("/world").json()) == beginning


def test_living_people_talk_by_themselves_and_say_so(tmp_path: Path, millbrook: Path) -> None:
    settings = settings_for(tmp_path, millbrook, llm={"provider": "rehearsal"}, world={"language": "en"})
    with TestClient(create_app(settings)) as client:
        client.post("/world/tick", json={"ticks": 720}).raise_for_status()
        talks = client.get("/conversations").json()["items"]
        assert talks
        assert all(one["living"] and one["phase"] in ("closed", "running") for one in talks)
        assert {row["role"] for row in client.get("/usage").json()} == {"character", "npc", "closing", "decision"}
        decided = client.get("/world/events", params={"kind": "decided", "limit": 1000}).json()["items"]
        assert [event for event in decided if event["data"]["by"] == "rehearsal" and event["data"]["thought"]]
        last = next(event for event in reversed(decided) if event["person_id"] == "sora")
        assert client.get("/characters/sora").json()["thought"] == last["data"]["thought"]
        assert client.delete("/world").status_code == 204
