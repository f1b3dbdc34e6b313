"""Promises over HTTP: those of both, and what a client, the clock or a later talk says became of one."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.api.play import problem, reply, say, talk, turn
from tests.memory.answers import memory, plain, promise
from tests.scripted_model import ScriptedModel

BREAD, MEET = "bring the baker bread", "meet the baker at the bakery"


def draft(what: str, **fields: Any) -> dict[str, Any]:
    """What Sora, who began, promises the baker in the first turn."""
    return promise(what, 0, by="a", to="b", **fields)


@pytest.fixture
def promised(client: TestClient, script: ScriptedModel) -> TestClient:
    """Sora, beside the baker in a client's hands, has promised it bread for tomorrow, and to be there at eleven."""
    client.patch("/characters/sora", json={"decision": "client"}).raise_for_status()
    _talk(
        client,
        script,
        draft(BREAD, day="2026-04-02"),
        draft(MEET, place="the bakery", day="2026-04-01", time="11:00"),
    )
    return client


def _talk(client: TestClient, script: ScriptedModel, *drafts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The two talk, and the model says that of promises."""
    say(script, "character", turn("Let us see.", ends=True))
    say(script, "npc", reply("Bye."))
    say(script, "closing", plain("They spoke of bread.", promises=drafts, **fields))
    return talk(client)


def commitments(client: TestClient, person_id: str, **query: Any) -> list[dict[str, Any]]:
    """What the person promised and was promised."""
    answer = client.get(f"/people/{person_id}/commitments", params=query)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def one_of(client: TestClient, what: str, **fields: Any) -> dict[str, Any]:
    """The one promise of Sora to do that; of several, the one with those fields."""
    (found,) = (one for one in commitments(client, "sora") if one["what"] == what and fields.items() <= one.items())
    return found


def told(client: TestClient, kind: str) -> list[dict[str, Any]]:
    """The events of that kind."""
    items: list[dict[str, Any]] = client.get("/world/events", params={"kind": kind}).json()["items"]
    return items


def test_a_promise_is_known_to_both_by_who_what_where_and_when(promised: TestClient) -> None:
    meeting, bread = commitments(promised, "sora")
    assert commitments(promised, "baker") == [meeting, bread]
    assert (meeting["place"], meeting["node_id"], meeting["due_at"]) == ("the bakery", "door", "2026-04-01T11:00")
    assert (meeting["moves"], bread["moves"]) == (True, False)
    assert (bread["what"], bread["place"], bread["due_at"], bread["has_hour"]) == (BREAD, "", "2026-04-03T00:00", False)
    assert {one["state"] for one in (meeting, bread)} == {"open"}


def test_a_promise_is_on_the_mind_of_both_once_until_it_is_over(promised: TestClient) -> None:
    for person_id in ("sora", "baker"):
        mind = promised.get(f"/people/{person_id}/memory").json()["mid_term"]
        assert sorted(one["expires_at"] for one in mind) == ["2026-04-01T11:15", "2026-04-03T00:00"]
        assert all(any(what in one["content"] for one in mind) for what in (BREAD, MEET))


def test_a_promise_without_a_time_is_on_the_mind_of_both_for_a_fortnight(
    client: TestClient, script: ScriptedModel
) -> None:
    _talk(client, script, draft(BREAD))
    for person_id in ("sora", "baker"):
        (mind,) = client.get(f"/people/{person_id}/memory").json()["mid_term"]
        assert mind["expires_at"] == "2026-04-15T07:00"


def test_a_plan_that_says_what_is_promised_stands_in_no_mind_beside_it_nor_after(
    client: TestClient, script: ScriptedModel
) -> None:
    client.patch("/characters/sora", json={"decision": "client"}).raise_for_status()
    plans = ("Sora will bring the baker bread tomorrow.", "Sora will close the shutters.")
    first = {"memories": [memory(plan, 0, teller="a", mode="planned", lasts="high") for plan in plans]}
    _talk(client, script, draft(BREAD, day="2026-04-02"), first=first)

    def of_sora() -> list[str]:
        return sorted(one["content"] for one in client.get("/people/sora/memory").json()["mid_term"])

    shutters, bread = of_sora()
    assert "shutters" in shutters
    assert bread.startswith("You promised")
    client.post(f"/commitments/{one_of(client, BREAD)['id']}", json={"state": "released"}).raise_for_status()
    assert of_sora() == [shutters]


def test_making_a_promise_is_told(promised: TestClient) -> None:
    made = told(promised, "commitment_made")
    assert {event["data"]["commitment_id"] for event in made} == {one["id"] for one in commitments(promised, "sora")}
    assert all(event["person_id"] == "sora" and event["data"]["to_id"] == "baker" for event in made)


def _remembered(client: TestClient, section: str) -> list[str]:
    """What the two know of the bread by now, as it stands in that section of their memories."""
    told = (client.get(f"/people/{person_id}/memory").json()[section] for person_id in ("sora", "baker"))
    return [text for items in told for one in items if BREAD in (text := one.get("content") or one.get("text"))]


@pytest.mark.parametrize(
    ("state", "moved", "sections"), [("kept", 5, (0, 2)), ("broken", -8, (2, 0)), ("released", 0, (0, 0))]
)
def test_a_client_says_what_became_of_a_promise_and_both_remember_one_that_was_kept_for_long(
    promised: TestClient, state: str, moved: int, sections: tuple[int, int]
) -> None:
    bread = one_of(promised, BREAD)
    before = promised.get("/npcs/baker").json()["affinity"]["sora"]
    said = promised.post(f"/commitments/{bread['id']}", json={"state": state}).json()
    assert (said["state"], said["ended_at"], said["ended_in"]) == (state, "2026-04-01T07:00", None)
    assert promised.get("/npcs/baker").json()["affinity"]["sora"] == before + moved
    assert [event["data"]["what"] for event in told(promised, f"commitment_{state}")] == [BREAD]
    assert tuple(len(_remembered(promised, section)) for section in ("mid_term", "facts")) == sections
    problem(promised.post(f"/commitments/{bread['id']}", json={"state": "kept"}), 409, "commitment-over")


def test_a_promise_that_is_not_there_is_a_problem(promised: TestClient) -> None:
    problem(promised.post("/commitments/none", json={"state": "kept"}), 404, "not-found")
    problem(promised.post("/commitments/none", json={"state": "open"}), 422)


def _lets_pass(client: TestClient, minutes: int) -> list[tuple[str, str]]:
    """The clock goes on; what it tells of promises."""
    events = client.post("/world/tick", json={"ticks": minutes}).json()["events"]
    return [(event["at"], event["kind"]) for event in events if event["kind"].startswith("commitment")]


def test_a_clock_that_passes_a_promise_says_what_became_of_it(promised: TestClient) -> None:
    """Of the bread nobody says anything."""
    assert _lets_pass(promised, 1440) == [
        ("2026-04-01T11:00", "commitment_due"),
        ("2026-04-01T11:15", "commitment_kept"),
    ]
    promised.post("/world/tick", json={"ticks": 1440}).raise_for_status()
    assert {one["state"] for one in commitments(promised, "sora")} == {"kept", "lapsed"}


def test_a_later_talk_keeps_a_promise_where_its_closing_says_so(promised: TestClient, script: ScriptedModel) -> None:
    before = promised.get("/npcs/baker").json()["affinity"]["sora"]
    promised.post("/world/tick", json={"ticks": 1440})
    held = _talk(promised, script, draft(BREAD, status="kept", ref="p1"), second={"affinity": 5})
    bread = one_of(promised, BREAD)
    assert (bread["state"], bread["ended_at"], bread["ended_in"]) == ("kept", "2026-04-02T07:00", held["id"])
    (kept,) = (event for event in told(promised, "commitment_kept") if event["data"]["what"] == BREAD)
    assert (kept["person_id"], kept["at"]) == ("sora", "2026-04-02T07:00")
    met, brought = 5, 5
    assert promised.get("/npcs/baker").json()["affinity"]["sora"] == before + met + brought
    assert (len(_remembered(promised, "mid_term")), len(_remembered(promised, "facts"))) == (0, 2)
    words = promised.get(f"/events/{kept['id']}/why").json()["words"]
    assert words[-1] == f"It was said so in conversation {held['id']}."


def test_friday_instead_ends_the_old_appointment_and_nobody_feels_it_broken(
    promised: TestClient, script: ScriptedModel
) -> None:
    before = promised.get("/npcs/baker").json()["affinity"]["sora"]
    held = _talk(promised, script, draft("meet", status="moved", ref="p1", day="2026-04-03", time="11:00"))
    old, new = one_of(promised, MEET, state="moved"), one_of(promised, "meet")
    assert (old["moved_to"], old["ended_in"], old["due_at"]) == (new["id"], held["id"], "2026-04-01T11:00")
    assert (new["due_at"], new["node_id"], new["moves"]) == ("2026-04-03T11:00", "door", True)
    assert [event["data"]["moved_to"] for event in told(promised, "commitment_moved")] == [new["id"]]
    assert _lets_pass(promised, 600) == []
    assert promised.get("/npcs/baker").json()["affinity"]["sora"] == before
    assert _lets_pass(promised, 2 * 1440)[-1] == ("2026-04-03T11:15", "commitment_kept")


def test_what_is_called_off_is_not_felt(promised: TestClient, script: ScriptedModel) -> None:
    before = promised.get("/npcs/baker").json()["affinity"]["sora"]
    _talk(promised, script, draft(MEET, status="released", ref="p1"))
    assert one_of(promised, MEET)["state"] == "released"
    assert len(told(promised, "commitment_released")) == 1
    assert _lets_pass(promised, 600) == []
    assert promised.get("/npcs/baker").json()["affinity"]["sora"] == before


def test_an_appointment_is_not_kept_by_words_before_its_time(promised: TestClient, script: ScriptedModel) -> None:
    _talk(promised, script, draft(MEET, status="kept", ref="p1"))
    assert one_of(promised, MEET)["state"] == "open"


@pytest.mark.parametrize(
    ("place", "node_id", "comes", "state"),
    [
        ("the bakery", "door", True, "kept"),
        ("the bakery", "door", False, "broken"),
        ("", None, True, "kept"),
        ("", None, False, "lapsed"),
    ],
    ids=["comes to the place", "stays away from it", "talks", "may have kept it alone"],
)
def test_a_part_of_a_day_is_its_time(
    client: TestClient, script: ScriptedModel, place: str, node_id: str | None, comes: bool, state: str
) -> None:
    """Sora promises, at seven, to come in the afternoon; she is in a client's hands."""
    client.patch("/characters/sora", json={"decision": "client"}).raise_for_status()
    _talk(client, script, draft("come by", place=place, day="2026-04-01", time="afternoon"))
    promise = one_of(client, "come by")
    assert (promise["since_at"], promise["due_at"], promise["has_hour"]) == (
        "2026-04-01T12:00",
        "2026-04-01T17:00",
        False,
    )
    assert (promise["node_id"], promise["moves"]) == (node_id, node_id is not None)
    if not comes:
        client.post("/characters/sora/actions", json={"type": "move", "node_id": "mill"}).raise_for_status()
    began = _lets_pass(client, 420)
    if comes and not place:
        _talk(client, script)
    due = ("2026-04-01T12:00", "commitment_due")
    judged = [] if state == "lapsed" else [("2026-04-01T17:00", f"commitment_{state}")]
    assert [*began, *_lets_pass(client, 240)] == [due, *judged]
    assert one_of(client, "come by")["state"] == state


def test_a_promise_for_now_is_not_kept_by_standing_there_still(client: TestClient, script: ScriptedModel) -> None:
    """What was promised in the morning for this morning is kept after the two have parted."""
    client.patch("/characters/sora", json={"decision": "client"}).raise_for_status()
    _talk(client, script, draft("come back", place="the bakery", day="2026-04-01", time="morning"))
    client.post("/characters/sora/actions", json={"type": "move", "node_id": "mill"}).raise_for_status()
    assert _lets_pass(client, 360) == [("2026-04-01T12:00", "commitment_broken")]
