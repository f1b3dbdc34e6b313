"""Owns the tests of conversations over HTTP: start, read, list, end, close again, and two at the same moment."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update
from sqlmodel import Session

from service.api.schemas import TurnOut
from service.app import create_app
from service.conversation.acting import NpcTurn
from service.errors import ModelServerError
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.store.jobs import change_job, job_of
from service.store.phase import Loudness
from service.store.tables import ConversationKey, ConversationRow, TurnRow
from tests.api.conftest import Connect
from tests.api.play import (
    LINES,
    SISTER,
    SISTER_TOLD,
    TALK,
    problem,
    recollection,
    reply,
    say,
    script_short,
    script_sister,
    settings_for,
    talk,
    turn,
    until,
)
from tests.memory.answers import memory, plain
from tests.scripted_model import ScriptedModel


def test_a_start_answers_at_once_and_says_where_to_look(client: TestClient, script: ScriptedModel) -> None:
    script_sister(script)
    answer = client.post("/conversations/start", json=TALK)
    assert answer.status_code == 202
    told = answer.json()
    assert told["phase"] in ("running", "closing", "closed")
    assert answer.headers["location"] == told["links"]["self"] == f"/conversations/{told['id']}"
    closed = until(client, told["id"], "closed")
    assert [turn["text"] for turn in closed["turns"]] == list(LINES["en"])


def test_a_start_that_waits_answers_the_closed_conversation(client: TestClient, script: ScriptedModel) -> None:
    script_sister(script)
    answer = client.post("/conversations/start?wait=true", json=TALK)
    assert answer.status_code == 200
    told = answer.json()
    assert answer.headers["location"] == told["links"]["self"]
    assert told == client.get(told["links"]["self"]).json()
    assert told["phase"] == "closed"
    assert told["end_reason"] == "goal_achieved"
    assert told["goal_achieved"] is True
    assert told["goal"] == {"goal": TALK["goal"], "success_criteria": TALK["success_criteria"], "given": True}
    assert [(t["turn"], t["speaker_id"], t["text"]) for t in told["turns"]] == [
        (index, ("sora", "baker")[index % 2], text) for index, text in enumerate(LINES["en"])
    ]
    assert told["changes"]["affinity"] == {"before": 0, "after": 8}
    assert told["changes"]["summary"] == SISTER["en"]["people"]["a"]["paragraph"][0]
    assert [(f["statement"], f["turn"]) for f in told["changes"]["learned_facts"]] == [(SISTER_TOLD, 1)]
    assert len(told["changes"]["facts"]) == 2
    assert told["cost"]["calls"] == 5
    assert told["models"] == dict.fromkeys(ROLES, "scripted")
    assert (told["partner_kind"], told["living"]) == ("npc", False)
    assert told["rehearsal"] is False


@pytest.mark.parametrize("world_language", ["en", "ja"])
@pytest.mark.parametrize(
    ("more", "slug", "status"),
    [
        ({"character_id": "nobody"}, "not-found", 404),
        ({"npc_id": "nobody"}, "not-found", 404),
        ({"npc_id": "hermit"}, "not-beside", 409),
    ],
)
def test_a_start_that_cannot_be_says_why_in_the_language_asked_for(
    client: TestClient, more: dict[str, Any], slug: str, status: int, world_language: Language
) -> None:
    answer = client.post("/conversations/start", json={**TALK, **more}, headers={"Accept-Language": world_language})
    told = problem(answer, status, slug)
    assert bool(re.search(r"[ぁ-ん]", told["detail"])) == (world_language == "ja")


def test_who_does_not_stand_beside_is_told_both_places_and_the_walk(client: TestClient) -> None:
    told = problem(client.post("/conversations/start", json={**TALK, "npc_id": "hermit"}), 409, "not-beside")
    assert told["facts"] == {
        "character": "Sora",
        "character_node": "Bakery",
        "character_node_id": "door",
        "partner": "隠者",
        "partner_node": "Forest",
        "partner_node_id": "hut",
        "walk_minutes": 16,
    }
    assert "16 min" in told["detail"]


def test_a_walker_does_not_talk(client: TestClient) -> None:
    client.post("/characters/rin/actions", json={"type": "move", "npc_id": "baker"})
    told = problem(client.post("/conversations/start", json={**TALK, "character_id": "rin"}), 409, "walking")
    assert told["facts"]["node_id"] == "door"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**TALK, "npc_id": "../etc"}, "body.npc_id"),
        ({**TALK, "npc_id": "パン屋"}, "body.npc_id"),
        ({**TALK, "goal": ""}, "body.goal"),
        ({**TALK, "goal": "  "}, "body.goal"),
        ({**TALK, "goal": "x" * 201}, "body.goal"),
        ({**TALK, "max_turns": 0}, "body.max_turns"),
        ({**TALK, "max_turns": 51}, "body.max_turns"),
        ({**TALK, "max_turns": "3"}, "body.max_turns"),
        ({**TALK, "max_turn": 3}, "body.max_turn"),
    ],
)
def test_a_start_with_a_wrong_field_names_it(client: TestClient, body: dict[str, Any], field: str) -> None:
    told = problem(client.post("/conversations/start", json=body), 422, "invalid")
    assert [error["field"] for error in told["errors"]] == [field]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"npc_id": "baker"}, "body.character_id"),
        ({"mode": "player", "npc_id": "baker"}, "body.player_id"),
        ({**TALK, "mode": "player", "character_id": "ken"}, "body.goal"),
        ({**TALK, "player_id": "ken"}, "body.character_id"),
    ],
)
def test_who_begins_is_said_as_the_mode_wants(client: TestClient, body: dict[str, Any], field: str) -> None:
    assert field in problem(client.post("/conversations/start", json=body), 422, "invalid")["detail"]


@pytest.mark.parametrize("missing", ["goal", "success_criteria"])
def test_a_goal_and_its_criteria_go_together(client: TestClient, missing: str) -> None:
    body = {name: value for name, value in TALK.items() if name != missing}
    told = problem(client.post("/conversations/start", json=body), 422, "invalid")
    assert f"body.{missing}" in told["detail"]


def test_somebody_who_talks_is_busy_and_the_problem_says_with_whom(connect: Connect, script: ScriptedModel) -> None:
    client = connect()
    script.latency_seconds = 0.5
    script_sister(script)
    running = client.post("/conversations/start", json=TALK).json()["id"]
    told = problem(client.post("/conversations/start", json={**TALK, "character_id": "umi"}), 409, "busy")
    assert told["facts"] == {
        "person": "Hanna",
        "person_id": "baker",
        "partner": "Sora",
        "partner_id": "sora",
        "conversation_id": running,
    }
    assert "Hanna" in told["detail"]
    assert "Sora" in told["detail"]
    told = problem(client.post("/characters/sora/actions", json={"type": "sleep"}), 409, "busy")
    assert told["facts"]["conversation_id"] == running
    problem(client.delete("/world"), 409, "world-in-use")
    assert client.get("/npcs/baker").json()["talking_in"] == running
    assert client.get("/characters/sora").json()["talking_in"] == running
    script.latency_seconds = 0
    until(client, running, "closed")
    assert client.get("/npcs/baker").json()["talking_in"] is None
    script_short(script)
    assert talk(client, character_id="umi")["phase"] == "closed"


def test_two_starts_for_one_npc_at_the_same_moment_give_one_conversation(
    connect: Connect, script: ScriptedModel
) -> None:
    script.latency_seconds = 0.3
    script_short(script)
    clients = {who: connect() for who in ("sora", "umi")}
    for http in clients.values():
        http.get("/healthz")  # connected: both requests leave at the same moment
    together = threading.Barrier(2)

    def begin(who: str) -> Any:
        together.wait()
        return clients[who].post("/conversations/start", json={**TALK, "character_id": who})

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(begin, clients))
    won, lost = sorted(answers, key=lambda answer: int(answer.status_code))
    assert won.status_code == 202
    told = problem(lost, 409, "busy")
    assert told["facts"]["conversation_id"] == won.json()["id"]
    assert {told["facts"]["person"], told["facts"]["partner"]} == {"Hanna", won.json()["character_name"]}
    assert len(clients["sora"].get("/conversations").json()["items"]) == 1


def test_ending_while_the_model_speaks_drops_the_utterance_and_closes(connect: Connect, script: ScriptedModel) -> None:
    client = connect()
    speaks = threading.Event()

    def slowly(_: object) -> NpcTurn:
        script.latency_seconds = 30
        speaks.set()
        return NpcTurn.model_validate(reply("This is never heard to its end."))

    say(script, "character", turn("Good morning, Hanna."))
    script.enqueue(slowly, role="npc")
    say(script, "closing", recollection("They met."))
    running = client.post("/conversations/start", json=TALK).json()["id"]
    assert speaks.wait(10)
    script.latency_seconds = 0
    ended = client.post(f"/conversations/{running}/end")
    assert ended.status_code == 200
    assert ended.json()["end_reason"] == "ended_by_client"
    closed = until(client, running, "closed")
    assert [t["text"] for t in closed["turns"]] == ["Good morning, Hanna."]
    assert closed["changes"]["summary"] == "They met."
    assert client.post(f"/conversations/{running}/end").json()["changes"] == closed["changes"]
    assert client.get("/npcs/baker").json()["talking_in"] is None


def test_a_failed_closing_keeps_the_transcript_and_can_be_closed_again(
    client: TestClient, script: ScriptedModel
) -> None:
    say(script, "character", turn("Good morning, Hanna.", ends=True))
    say(script, "npc", reply("Bye."))
    script.enqueue(ModelServerError(model="scripted", status_code=500, reason="out of order"), role="closing")
    failed = talk(client)
    assert failed["phase"] == "closing_failed"
    assert failed["failure"]["type"] == "model-server-error"
    assert failed["failure"]["role"] == "closing"
    assert "out of order" in failed["failure"]["detail"]
    assert [t["text"] for t in failed["turns"]] == ["Good morning, Hanna.", "Bye."]
    assert client.get("/characters/sora").json()["talking_in"] is None
    say(script, "closing", recollection("They talked again."))
    answer = client.post(f"/conversations/{failed['id']}/close?wait=true")
    assert answer.status_code == 200
    assert answer.headers["location"] == f"/conversations/{failed['id']}"
    told = answer.json()
    assert (told["phase"], told["failure"], told["changes"]["summary"]) == ("closed", None, "They talked again.")
    assert told["cost"]["calls"] == 4
    problem(client.post(f"/conversations/{failed['id']}/close"), 409, "wrong-phase")


def waits_until(told: dict[str, Any]) -> datetime:
    """When a failed closing is tried again."""
    return datetime.fromisoformat(told["failure"]["next_try_at"])


def let_wait_be_over(client: TestClient, conversation_id: str) -> None:
    """The time at which its closing is tried again has come."""

    def work(session: Session) -> None:
        change_job(session, job_of(ConversationKey("main", conversation_id)), due_at=0.0)

    client.app.state.deps.conversation.database.write_now(work)  # type: ignore[attr-defined]


def failed_talk(client: TestClient, script: ScriptedModel, reason: str = "out of order") -> dict[str, Any]:
    """A talk whose closing has failed."""
    say(script, "character", turn("Good morning, Hanna.", ends=True))
    say(script, "npc", reply("Bye."))
    script.enqueue(ModelServerError(model="scripted", status_code=500, reason=reason), role="closing")
    held = talk(client)
    assert held["phase"] == "closing_failed"
    return held


def test_a_failed_closing_is_tried_again_by_itself_after_longer_and_longer_waits_until_it_succeeds(
    client: TestClient, script: ScriptedModel
) -> None:
    begun = datetime.now(UTC)
    failed = failed_talk(client, script)
    first = waits_until(failed) - begun
    assert timedelta(seconds=20) < first < timedelta(seconds=60)
    assert client.post("/world/tick", json={"ticks": 5}).json()["now"] == "2026-04-01T07:05", "the clock goes on"
    script_short(script, "Meanwhile another talk")
    assert talk(client, character_id="umi")["phase"] == "closed"

    script.enqueue(ModelServerError(model="scripted", status_code=500, reason="still out of order"), role="closing")
    let_wait_be_over(client, failed["id"])
    tried = datetime.now(UTC)
    await_failure(client, failed["id"], "still out of order")
    again = client.get(f"/conversations/{failed['id']}").json()
    assert waits_until(again) - tried > 1.5 * first

    say(script, "closing", recollection("They met."))
    let_wait_be_over(client, failed["id"])
    closed = until(client, failed["id"], "closed")
    assert (closed["failure"], closed["changes"]["summary"]) == (None, "They met.")
    assert [len(client.get(f"/people/{who}/memories").json()["items"]) > 0 for who in ("sora", "baker")] == [True, True]


def await_failure(client: TestClient, conversation_id: str, reason: str) -> None:
    """Return when the last try has failed for that reason."""
    deadline = time.monotonic() + 20
    while reason not in ((client.get(f"/conversations/{conversation_id}").json()["failure"] or {}).get("detail", "")):
        assert time.monotonic() < deadline
        time.sleep(0.03)


def test_the_longest_wait_is_an_hour(client: TestClient, script: ScriptedModel) -> None:
    def often(_: object) -> None:
        deps = client.app.state.deps.conversation  # type: ignore[attr-defined]
        deps.database.write_now(lambda s: s.execute(update(ConversationRow).values(attempts=5000)))
        raise ModelServerError(model="scripted", status_code=500, reason="out of order")

    say(script, "character", turn("Good morning, Hanna.", ends=True))
    say(script, "npc", reply("Bye."))
    script.enqueue(often, role="closing")  # type: ignore[arg-type]
    wait = waits_until(talk(client)) - datetime.now(UTC)
    assert timedelta(minutes=59) < wait <= timedelta(hours=1)


def test_a_failed_closing_that_somebody_gives_up_is_not_tried_again_until_somebody_asks_for_it(
    client: TestClient, script: ScriptedModel
) -> None:
    given_up, waiting = (failed_talk(client, script) for _ in range(2))
    answer = client.post(f"/conversations/{given_up['id']}/close?give_up=true")
    told = answer.json()
    assert (answer.status_code, told["phase"], told["failure"]["next_try_at"]) == (202, "closing_failed", None)
    assert "out of order" in told["failure"]["detail"]
    say(script, "closing", recollection("They met."))
    let_wait_be_over(client, waiting["id"])
    assert until(client, waiting["id"], "closed")["changes"]["summary"] == "They met."
    assert client.get(f"/conversations/{given_up['id']}").json() == told
    say(script, "closing", recollection("They talked again."))
    closed = client.post(f"/conversations/{given_up['id']}/close?wait=true").json()
    assert (closed["phase"], closed["changes"]["summary"]) == ("closed", "They talked again.")
    problem(client.post(f"/conversations/{given_up['id']}/close?give_up=true"), 409, "wrong-phase")


def test_a_failed_closing_waits_on_over_a_restart_and_is_then_tried_again(
    tmp_path: Path, millbrook: Path, script: ScriptedModel
) -> None:
    def service() -> TestClient:
        models = Models(dict.fromkeys(ROLES, script))
        return TestClient(create_app(settings_for(tmp_path, millbrook), models=models))

    with service() as client:
        failed = failed_talk(client, script)
    with service() as client:
        assert client.get(f"/conversations/{failed['id']}").json()["failure"] == failed["failure"]
        say(script, "closing", recollection("They met."))
        let_wait_be_over(client, failed["id"])
        assert until(client, failed["id"], "closed")["changes"]["summary"] == "They met."


def test_a_claim_that_names_what_an_author_wrote_loses_the_name_and_not_the_truth(
    client: TestClient, script: ScriptedModel
) -> None:
    say(script, "character", turn("Do you live alone?"))
    say(script, "npc", reply("I have a cat named Mugi.", ends=True))
    say(script, "character", turn("Then you are two. Good night.", ends=True))
    learned = memory("Hanna has a cat named Mugi.", 1, about="b", teller="b", replaces="b1")
    say(script, "closing", plain(second={"memories": [learned]}))
    held = talk(client)
    assert [fact["statement"] for fact in held["changes"]["learned_facts"]] == ["Hanna has a cat named Mugi."]
    assert held["changes"]["rejected"] == []


def test_a_model_that_fails_ends_the_conversation_and_never_speaks(client: TestClient, script: ScriptedModel) -> None:
    say(script, "character", turn("Good morning, Hanna."))
    script.enqueue(ModelServerError(model="scripted", status_code=500, reason="out of order"), role="npc")
    say(script, "closing", recollection())
    told = talk(client)
    assert (told["phase"], told["end_reason"], len(told["turns"])) == ("closed", "model_failure", 1)
    assert told["failure"]["role"] == "npc"
    usage = {row["role"]: row for row in client.get("/usage").json()}
    assert (usage["npc"]["calls"], usage["npc"]["failures"]) == (1, 1)


@pytest.mark.parametrize("call", ["GET {}", "GET {}/events", "POST {}/end", "POST {}/close"])
def test_an_unknown_conversation_is_not_found(client: TestClient, call: str) -> None:
    method, path = call.format("/conversations/abc").split()
    assert problem(client.request(method, path), 404, "not-found")["facts"] == {"kind": "conversation", "id": "abc"}


def test_conversations_are_paged_newest_first_and_filtered(client: TestClient, script: ScriptedModel) -> None:
    for who in ("sora", "umi", "sora", "umi", "sora"):
        script_short(script)
        talk(client, character_id=who)
    everything = [item["id"] for item in client.get("/conversations").json()["items"]]
    assert len(everything) == 5
    assert everything == sorted(everything, reverse=True)
    pages: list[list[str]] = []
    cursor: dict[str, str] = {}
    while True:
        page = client.get("/conversations", params={"limit": 2, **cursor}).json()
        pages.append([item["id"] for item in page["items"]])
        if page["next"] is None:
            break
        cursor = {"after": page["next"]}
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [*chain(*pages)] == everything
    of_umi = client.get("/conversations", params={"character_id": "umi", "limit": 2}).json()
    assert [item["character_id"] for item in of_umi["items"]] == ["umi", "umi"]
    assert of_umi["next"] is None
    assert client.get("/conversations", params={"phase": "running"}).json() == {"next": None, "items": []}
    assert len(client.get("/conversations", params={"phase": "closed", "partner_id": "baker"}).json()["items"]) == 5
    problem(client.get("/conversations", params={"after": "x"}), 422)
    problem(client.get("/conversations", params={"limit": 0}), 422)


def test_whom_one_talks_to_is_the_partner_and_the_older_name_still_holds(
    client: TestClient, script: ScriptedModel
) -> None:
    script_short(script)
    walk_up = {key: value for key, value in TALK.items() if key != "npc_id"}
    for body in (walk_up, {**walk_up, "partner_id": "baker", "npc_id": "somebody"}):
        told = problem(client.post("/conversations/start", json=body), 422, "invalid")
        assert "partner_id" in told["detail"]
    held = talk(client, partner_id="baker")
    assert (held["partner_id"], held["npc_id"]) == ("baker", "baker")
    assert held["partner_name"] == held["npc_name"]
    found = client.get("/conversations", params={"partner_id": "baker"}).json()["items"]
    assert [one["id"] for one in found] == [held["id"]]
    assert client.get("/conversations", params={"partner_id": "nobody"}).json()["items"] == []


def test_a_turn_tells_what_it_has_of_a_scene_and_nothing_where_it_has_nothing() -> None:
    spent: dict[str, Any] = {"calls": 1, "prompt_tokens": 9, "completion_tokens": 9, "duration_ms": 9}
    turn = TurnRow(
        world_id="main",
        conversation_id="c",
        turn=0,
        speaker_id="aoi",
        speaker_name="Aoi",
        text="Hush.",
        emotion="neutral",
        at=0,
        model="m",
        **spent,
    )
    plain = TurnOut.model_validate(turn).model_dump(mode="json")
    assert not plain.keys() & {"think", "act", "addressed", "loudness", "seen_by", "heard_by"}
    turn.think, turn.addressed, turn.loudness, turn.heard_by = "She knows.", ["mio"], Loudness.WHISPER, []
    told = TurnOut.model_validate(turn).model_dump(mode="json")
    assert {key: told[key] for key in told.keys() - plain.keys()} == {
        "think": "She knows.",
        "addressed": ["mio"],
        "loudness": "whisper",
        "heard_by": [],
    }
