"""Why somebody said that, and why something happened, in words and in fields; the prompt only where it is kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlmodel import select

from service.app import create_app
from service.llm.choose import ROLES, Models
from service.store.tables import DecisionRow, PromptRow
from tests.api.play import (
    RYE_TOLD,
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
)
from tests.decision.desks import decides, plans
from tests.memory.answers import memory
from tests.scripted_model import ScriptedModel

PLAN = plans(("08:00", "Rests", 0, ""), ("22:00", "Sleeps", 0, ""))


def _why(client: TestClient, path: str, **asked: Any) -> dict[str, Any]:
    answer = client.get(f"{path}/why", **asked)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def _events(client: TestClient, kind: str, **asked: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/world/events", params={"kind": kind, **asked}).json()["items"]
    return found


@pytest.fixture
def keeping(tmp_path: Path, millbrook: Path, script: ScriptedModel) -> FastAPI:
    """The service, told to keep prompts."""
    settings = settings_for(tmp_path, millbrook, keep_prompts=True)
    return create_app(settings, models=Models(dict.fromkeys(ROLES, script)))


def _second_talk(client: TestClient, script: ScriptedModel) -> dict[str, Any]:
    """Sora has heard of the baker's sister, and comes back two days later."""
    script_sister(script)
    talk(client)
    client.post("/world/tick", json={"ticks": 2 * 1440})
    script_short(script, "Does Lotte write to you?")
    return talk(client)


def test_a_turn_says_what_its_speaker_wanted_remembered_and_felt_and_who_answered(
    client: TestClient, script: ScriptedModel
) -> None:
    held = _second_talk(client, script)
    first = client.get("/conversations").json()["items"][1]["id"]
    told = _why(client, f"/conversations/{held['id']}/turns/0")
    assert (told["speaker_id"], told["text"], told["goal"]) == ("sora", "Does Lotte write to you?", TALK["goal"])
    assert told["towards"] == {
        "partner_id": "baker",
        "affinity": 0,
        "stance": "With Hanna you are close.",
        "times_met": 1,
    }
    assert [(one["kind"], one["conversation_id"], one["turn"]) for one in told["memories"]][:2] == [
        ("talk", first, None),
        ("memory", first, 1),
    ]
    assert SISTER_TOLD in [one["text"] for one in told["memories"]]
    assert told["messages"] is None
    words = "\n".join(told["words"])
    assert "Sora wanted of this talk: Ask after her sister" in words
    assert "affinity 0 (-100 to 100). In its mind: With Hanna you are close. Earlier talks: 1. Mood:" in words
    assert f"(2 days ago; conversation {first}, turn 1) Hanna: {SISTER_TOLD}" in words
    assert f"scripted answered in {told['duration_ms']} ms: {told['prompt_tokens']} prompt tokens" in words
    assert words.endswith("Its whole prompt was not kept (KATARIBE_KEEP_PROMPTS).")


def test_why_is_answered_in_the_language_that_is_asked_for_else_in_the_worlds(
    client: TestClient, script: ScriptedModel
) -> None:
    path = f"/conversations/{_second_talk(client, script)['id']}/turns/0"
    headers = {"Accept-Language": "ja-JP"}
    assert "ソラがこの会話に望んだこと" not in "".join(_why(client, path)["words"])
    for asked in ({"headers": headers}, {"params": {"lang": "ja"}}, {"params": {"lang": "ja"}, "headers": {}}):
        words = "".join(_why(client, path, **asked)["words"])
        assert "この会話に望んだこと:「Ask after her sister」" in words
        assert "ハンナへの好感度は0" in words
    english = _why(client, path, params={"lang": "en"}, headers=headers)["words"]
    assert english == _why(client, path)["words"]
    problem(client.get(f"{path}/why", params={"lang": "xx"}), 422, "invalid")


def test_what_the_last_lines_reminded_a_speaker_of_is_told_with_that_turn(
    client: TestClient, script: ScriptedModel
) -> None:
    script_sister(script)
    first = talk(client)
    client.post("/world/tick", json={"ticks": 2 * 1440})
    say(
        script,
        "character",
        turn("Did Hanna tell you until when there is rye?", ends=True),
        reply("Early, she said.", ends=True),
    )
    say(script, "closing", recollection())
    held = talk(client, character_id="umi", npc_id=None, partner_id="sora", goal="Buy rye", success_criteria="When")
    told = _why(client, f"/conversations/{held['id']}/turns/1")
    assert (told["speaker_id"], told["goal"], told["towards"]["times_met"]) == ("sora", None, 0)
    assert (first["id"], 3, RYE_TOLD) in [(m["conversation_id"], m["turn"], m["text"]) for m in told["reminded"]]
    assert not {m["id"] for m in told["memories"]} & {m["id"] for m in told["reminded"]}
    place = told["words"].index("The last lines reminded Sora of this:")
    assert f"(2 days ago; conversation {first['id']}, turn 3) Hanna: {RYE_TOLD}" in told["words"][place:]


def test_a_running_talk_has_its_prompts_and_a_closed_one_only_where_they_are_kept(
    app: FastAPI, client: TestClient, script: ScriptedModel
) -> None:
    script_sister(script)
    held = talk(client)
    path = f"/conversations/{held['id']}/turns/1"
    problem(client.get(f"{path}/prompt"), 404, "not-found")
    kept = app.state.deps.conversation.database.read_now(lambda s: s.exec(select(PromptRow)).all())
    assert [(row.system, row.context) for row in kept] == [(None, None)] * 2


def test_where_prompts_are_kept_a_turn_has_its_own_letter_by_letter(keeping: FastAPI, script: ScriptedModel) -> None:
    with TestClient(keeping) as client:
        script_sister(script)
        held = talk(client)
        path = f"/conversations/{held['id']}/turns/1"
        told = client.get(f"{path}/prompt").json()
        assert (told["speaker_id"], told["text"]) == ("baker", held["turns"][1]["text"])
        sent = next(prompt for prompt in script.history if prompt.role == "npc").messages
        assert [(one["role"], one["content"]) for one in told["messages"]] == [(m.role, m.content) for m in sent]
        assert _why(client, path)["messages"] == told["messages"]
        for missing in (f"/conversations/{held['id']}/turns/99", "/conversations/nobody/turns/0"):
            problem(client.get(f"{missing}/prompt"), 404, "not-found")
            problem(client.get(f"{missing}/why"), 404, "not-found")


def test_a_decision_says_what_was_offered_what_was_not_possible_and_what_was_chosen(
    app: FastAPI, client: TestClient, script: ScriptedModel
) -> None:
    script.enqueue(PLAN, decides(99), decides(1, thought="The sea is calm."))
    client.patch("/characters/rin", json={"decision": "model"})
    client.post("/world/tick", json={"ticks": 1})
    (decided,) = _events(client, "decided", person_id="rin")
    told = _why(client, f"/events/{decided['id']}")
    asked = told["question"]
    assert (told["event"], told["led_by"], told["source"]) == (decided, None, None)
    assert (asked["call"], asked["model"], asked["calls"], asked["failures"]) == ("decision", "scripted", 2, 1)
    assert [one["number"] for one in asked["offered"]] == list(range(1, len(asked["offered"]) + 1))
    assert [one["action_id"] for one in asked["offered"] if one["chosen"]] == [decided["data"]["action_id"]]
    assert asked["refused"]
    assert asked["messages"] is None
    words = "\n".join(told["words"])
    assert "At 07:00 Rin chose: " in words
    assert "Rin thought: The sea is calm." in words
    assert "Not possible, and why:" in words
    japanese = "".join(_why(client, f"/events/{decided['id']}", params={"lang": "ja"})["words"])
    assert "リンが選んだこと" in japanese
    assert "選べたこと:" in japanese

    rows = app.state.deps.conversation.database.read_now(lambda s: s.exec(select(DecisionRow)).all())
    assert {row.call: row.prompt for row in rows} == {"decision": None, "plan": None}


def test_a_plan_says_what_it_could_name_and_why_it_was_made(client: TestClient, script: ScriptedModel) -> None:
    script.enqueue(PLAN, decides(1))
    client.patch("/characters/rin", json={"decision": "model"})
    client.post("/world/tick", json={"ticks": 1})
    (planned,) = _events(client, "planned", person_id="rin")
    told = _why(client, f"/events/{planned['id']}")
    assert (told["question"]["call"], told["question"]["offered"]) == ("plan", [])
    assert told["question"]["needs"].keys() == {need["id"] for need in client.get("/characters/rin").json()["needs"]}
    assert told["words"][0] == "Rin planned its day at its first decision of it."


def test_where_prompts_are_kept_a_decision_has_its_own(keeping: FastAPI, script: ScriptedModel) -> None:
    with TestClient(keeping) as client:
        script.enqueue(PLAN, decides(1))
        client.patch("/characters/rin", json={"decision": "model"})
        client.post("/world/tick", json={"ticks": 1})
        for kind, sent in (("planned", script.history[0]), ("decided", script.history[1])):
            (event,) = _events(client, kind, person_id="rin")
            told = _why(client, f"/events/{event['id']}")["question"]["messages"]
            assert [(one["role"], one["content"]) for one in told] == [(m.role, m.content) for m in sent.messages]


def test_what_somebody_does_follows_from_what_it_decided(client: TestClient) -> None:
    client.post("/world/tick", json={"ticks": 600})
    decided = {event["id"]: event for event in _events(client, "decided", limit=1000)}
    for kind in ("departed", "arrived", "activity_started", "activity_ended"):
        for event in _events(client, kind, limit=5):
            told = _why(client, f"/events/{event['id']}")
            before = [
                one for one in decided.values() if one["person_id"] == event["person_id"] and one["id"] < event["id"]
            ]
            if not before:  # what it did when its life began
                assert told["led_by"] is None
                continue
            led = decided[told["led_by"]]
            assert led == before[-1]
            assert any(f"(event {led['id']})" in sentence for sentence in told["words"])
            assert "No model was asked: it lives by its routine." in told["words"]


def _talked(client: TestClient, script: ScriptedModel) -> dict[str, Any]:
    script_sister(script)
    return talk(client)


def _is_said_by_a_client(told: dict[str, Any], _: dict[str, Any]) -> bool:
    return "A client began it." in told["words"] and f"Sora wanted: {TALK['goal']}" in told["words"]


def _says_how_it_ended(told: dict[str, Any], _: dict[str, Any]) -> bool:
    return "The goal was achieved." in told["words"]


def _says_of_whom(told: dict[str, Any], held: dict[str, Any]) -> bool:
    return f"It comes of conversation {held['id']} of Sora and Hanna." in told["words"]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("conversation_started", _is_said_by_a_client),
        ("conversation_ended", _says_how_it_ended),
        ("conversation_closed", _says_of_whom),
    ],
)
def test_what_comes_of_a_conversation_says_which(
    client: TestClient, script: ScriptedModel, kind: str, says: Callable[[dict[str, Any], dict[str, Any]], bool]
) -> None:
    held = _talked(client, script)
    (event,) = _events(client, kind)
    told = _why(client, f"/events/{event['id']}")
    assert told["source"] == {"conversation_id": held["id"], "turn": None, "text": None}
    assert says(told, held)


def test_a_statement_that_was_kept_out_says_why_with_its_turn(client: TestClient, script: ScriptedModel) -> None:
    say(script, "character", turn("Good day to you, I live by mill 7.", ends=True))
    say(script, "npc", reply("Bye."))
    say(script, "closing", recollection(memories=[memory("Sora lives 40 steps from mill 7.", 0)]))
    talk(client)
    (event,) = _events(client, "fact_rejected")
    told = _why(client, f"/events/{event['id']}")
    assert (told["source"]["turn"], told["source"]["text"]) == (0, "Good day to you, I live by mill 7.")
    assert told["words"][-1] == "It was kept out because it has a number that the turns do not have."


def test_what_nobody_decided_says_so_and_an_author_is_named(client: TestClient) -> None:
    client.patch("/world", json={"weather": "hail"})
    client.post("/world/tick", json={"ticks": 1440})
    for kind, words in (("weather", "An author did it."), ("day_began", "The clock came to it: nobody decided it.")):
        event = _events(client, kind)[0]
        assert _why(client, f"/events/{event['id']}")["words"] == [words]


def test_an_event_that_is_not_there_is_not_found(client: TestClient) -> None:
    problem(client.get("/events/99999/why"), 404, "not-found")
    problem(client.get("/events/0/why"), 422, "invalid")
