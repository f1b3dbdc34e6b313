"""Promises over HTTP: the agenda of both, and what a client says became of a promise."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.llm.scripted import ScriptedModel
from tests.api.play import problem, say, talk, turn
from tests.memory.answers import commitment, plain

BREAD = "I will bring you bread tomorrow."
MEET = "I will meet you here at the bakery today at eleven."


@pytest.fixture
def promised(client: TestClient, script: ScriptedModel) -> TestClient:
    """Sora has promised the baker bread for tomorrow, and to be at the bakery at eleven."""
    say(script, "character", turn(f"{BREAD} {MEET}", ends=True))
    drafts = [
        commitment("bring bread", 0, to="b", when="2026-04-02"),
        commitment("meet at the bakery", 0, to="b", where="the bakery", when="2026-04-01T11:00"),
    ]
    say(script, "closing", plain("Sora will bring bread.", first={"commitments": drafts}))
    talk(client)
    return client


def agenda(client: TestClient, person_id: str, **query: Any) -> list[dict[str, Any]]:
    """What the person promised and was promised."""
    answer = client.get(f"/people/{person_id}/agenda", params=query)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def test_a_promise_stands_in_the_agenda_of_both_in_the_words_it_was_made_in(promised: TestClient) -> None:
    meeting, bread = agenda(promised, "sora")
    assert agenda(promised, "baker") == [meeting, bread]
    assert (meeting["place"], meeting["node_id"], meeting["due_at"]) == ("the bakery", "door", "2026-04-01T11:00")
    assert (meeting["moves"], bread["moves"]) == (True, False)
    assert (bread["place"], bread["due_at"], bread["has_hour"]) == ("", "2026-04-03T00:00", False)
    assert BREAD in bread["words"]
    assert {one["state"] for one in (meeting, bread)} == {"open"}


def test_an_agenda_is_paged(promised: TestClient) -> None:
    first = promised.get("/people/sora/agenda", params={"limit": 1}).json()
    second = promised.get("/people/sora/agenda", params={"after": first["next"]}).json()
    assert [*first["items"], *second["items"]] == agenda(promised, "sora")
    assert second["next"] is None
    problem(promised.get("/people/nobody/agenda"), 404, "not-found")


def test_a_promise_is_on_the_mind_of_both_once_until_it_is_over(promised: TestClient) -> None:
    for person_id in ("sora", "baker"):
        mind = promised.get(f"/people/{person_id}/memory").json()["mid_term"]
        assert sorted((one["kind"], one["expires_at"]) for one in mind) == [
            ("commitment", "2026-04-01T11:15"),
            ("commitment", "2026-04-03T00:00"),
        ]


def test_making_a_promise_is_told(promised: TestClient) -> None:
    made = promised.get("/world/events", params={"kind": "commitment_made"}).json()["items"]
    assert {event["data"]["commitment_id"] for event in made} == {one["id"] for one in agenda(promised, "sora")}
    assert all(event["person_id"] == "sora" and event["data"]["to_id"] == "baker" for event in made)


@pytest.mark.parametrize(("state", "moved"), [("kept", 5), ("broken", -8), ("released", 0)])
def test_a_client_says_what_became_of_a_promise(promised: TestClient, state: str, moved: int) -> None:
    bread = agenda(promised, "sora")[1]
    before = promised.get("/npcs/baker").json()["affinity"]["sora"]
    said = promised.post(f"/commitments/{bread['id']}", json={"state": state}).json()
    assert (said["state"], said["ended_at"]) == (state, "2026-04-01T07:00")
    assert promised.get("/npcs/baker").json()["affinity"]["sora"] == before + moved
    told = promised.get("/world/events").json()["items"]
    assert [e["kind"] for e in told if e["kind"] in ("commitment_kept", "commitment_broken")] == (
        [f"commitment_{state}"] if moved else []
    )
    remembered = [
        one
        for person_id in ("sora", "baker")
        for one in promised.get(f"/people/{person_id}/memory").json()["mid_term"]
        if one["expires_at"] == "2026-04-04T07:00"
    ]
    assert len(remembered) == (2 if moved else 0)
    problem(promised.post(f"/commitments/{bread['id']}", json={"state": "kept"}), 409, "commitment-over")


def test_a_promise_that_is_not_there_is_a_problem(promised: TestClient) -> None:
    problem(promised.post("/commitments/none", json={"state": "kept"}), 404, "not-found")
    problem(promised.post("/commitments/none", json={"state": "open"}), 422)


def test_a_clock_that_passes_a_promise_says_what_became_of_it(promised: TestClient) -> None:
    """Sora stands beside the baker, in a client's hands; of the bread nobody says anything."""
    promised.patch("/characters/sora", json={"decision": "client"}).raise_for_status()
    day = promised.post("/world/tick", json={"ticks": 1440}).json()["events"]
    told = [(event["at"], event["kind"]) for event in day if event["kind"].startswith("commitment")]
    assert told == [("2026-04-01T11:00", "commitment_due"), ("2026-04-01T11:15", "commitment_kept")]
    promised.post("/world/tick", json={"ticks": 1440}).raise_for_status()
    assert {one["state"] for one in agenda(promised, "sora")} == {"kept", "lapsed"}


def _comes_back(client: TestClient, script: ScriptedModel, said: str) -> dict[str, Any]:
    """Sora comes back the day after and says that; the model names each open promise as kept."""
    client.post("/world/tick", json={"ticks": 1440})
    say(script, "character", turn(said, ends=True))
    met = {"affinity": 5}
    say(script, "closing", plain(said, second=met, kept=(("p1", 0),)))
    return talk(client)


def _kept(client: TestClient, promise: dict[str, Any]) -> list[dict[str, Any]]:
    told = client.get("/world/events", params={"kind": "commitment_kept"}).json()["items"]
    return [event for event in told if event["data"]["commitment_id"] == promise["id"]]


def test_words_of_a_later_talk_that_say_so_keep_a_promise(promised: TestClient, script: ScriptedModel) -> None:
    before = promised.get("/npcs/baker").json()["affinity"]["sora"]
    held = _comes_back(promised, script, "Here is the bread I promised you.")
    bread = next(one for one in agenda(promised, "baker") if not one["moves"])
    assert (bread["state"], bread["ended_at"]) == ("kept", "2026-04-02T07:00")
    assert agenda(promised, "sora") == agenda(promised, "baker")
    (kept,) = _kept(promised, bread)
    assert (kept["person_id"], kept["at"]) == ("sora", "2026-04-02T07:00")
    met, brought = 5, 5
    assert promised.get("/npcs/baker").json()["affinity"]["sora"] == before + met + brought
    for person_id in ("sora", "baker"):
        mind = promised.get(f"/people/{person_id}/memory").json()["mid_term"]
        assert [BREAD in one["content"] for one in mind if one["conversation_id"] == held["id"]] == [True]
    words = promised.get(f"/events/{kept['id']}/why").json()["words"]
    assert words[-1] == f"It was said so in conversation {held['id']}."


def test_a_careless_model_keeps_no_promise_that_no_words_keep(promised: TestClient, script: ScriptedModel) -> None:
    held = _comes_back(promised, script, "I will bring you the bread tomorrow.")
    bread = next(one for one in agenda(promised, "baker") if not one["moves"])
    assert bread["state"] == "open"
    assert _kept(promised, bread) == []
    dropped = held["changes"]["rejected"]
    assert [(one["statement"], one["turn"]) for one in dropped if one["reason"] == "not_told_kept"] == [
        (bread["words"], 0)
    ]
    promised.post("/world/tick", json={"ticks": 1440})
    bread = next(one for one in agenda(promised, "baker") if not one["moves"])
    assert bread["state"] == "lapsed"
