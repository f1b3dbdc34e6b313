"""Owns the whole conversation with a REAL model through HTTP: llama.cpp and SmolLM2, whose judgement is worthless.

So these tests look at form only: that it goes to an end and is closed, that every token is counted, that nothing is
kept that cites no turn. What it says is noise.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from service.app import create_app
from tests.api.play import listen, serve, settings_for, write_village
from tests.servers import NO_AUTHORITIES

pytestmark = pytest.mark.server

MODEL = "openai:SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture
def client(smollm2: str, tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of the service that speaks through the real model."""
    llm = {"base_url": smollm2, "temperature": 0, "timeout_seconds": 180, "context_tokens": 1000}
    content = write_village(tmp_path / "millbrook")  # there is less to read of it than of the sample
    with (
        serve(create_app(settings_for(tmp_path, content, llm=llm))) as url,
        httpx.Client(base_url=url, timeout=600, trust_env=False, verify=NO_AUTHORITIES) as http,
    ):
        yield http


def test_a_real_model_holds_a_conversation_through_http_and_it_is_closed(client: httpx.Client) -> None:
    begun = time.monotonic()
    started = client.post(
        "/conversations/start",
        json={
            "character_id": "sora",
            "npc_id": "baker",
            "goal": "Hear three rumours of the village, one after the other",
            "success_criteria": "Everything is told",
            "max_turns": 2,
        },
    )
    assert started.status_code == 202
    heard = list(listen(client, started.json()["id"]))
    told = client.get(started.json()["links"]["self"]).json()
    print(f"\n{len(told['turns'])} turns, {told['phase']} ({told['end_reason']}), {time.monotonic() - begun:.0f} s")
    print("\n".join(f"{t['speaker_name']}: {t['text'][:100]}" for t in told["turns"]), told["failure"], told["changes"])

    # How it ends is the model's affair (it may repeat itself, or leave its role); that it ends well is ours.
    assert told["end_reason"] in {"turn_limit", "goal_achieved", "wants_to_end", "stalled", "model_failure"}
    assert told["phase"] == "closed", told["failure"]
    # Which model the server has is asked of it with the first call, so the row may say "auto"; the turns never do.
    assert all(name in (MODEL, "openai:auto") for name in told["models"].values())
    assert told["rehearsal"] is False

    assert 1 <= len(told["turns"]) <= 2
    speakers = [t["speaker_id"] for t in told["turns"]]
    assert speakers == ["sora", "baker"][: len(speakers)]
    assert all(t["text"].strip() and t["model"] == MODEL for t in told["turns"])
    assert all(t["prompt_tokens"] > 100 and t["completion_tokens"] > 5 for t in told["turns"])

    assert [one.data for one in heard if one.event == "turn"] == told["turns"]
    for number, turn in enumerate(told["turns"]):
        pieces = [one.data["text"] for one in heard if one.event == "speaking" and one.data["turn"] == number]
        assert pieces
        assert pieces[-1].strip() == turn["text"]
    assert [one.event for one in heard][-2:] == ["ended", "closed"]

    rows = client.get("/usage").json()
    assert {row["role"] for row in rows} >= {"character", "closing"}
    assert not any(row["estimated"] for row in rows)
    assert sum(row["calls"] for row in rows) == told["cost"]["calls"]
    assert sum(row["completion_tokens"] for row in rows) == told["cost"]["completion_tokens"] > 0

    changes = told["changes"]
    said = {t["turn"]: t for t in told["turns"]}
    assert changes["summary"].strip()
    assert all(said[fact["turn"]]["speaker_id"] == "baker" for fact in changes["learned_facts"])
    assert all(fact["turn"] in said for fact in changes["facts"])
    assert abs(changes["affinity"]["after"]) <= 20
    memory = client.get("/characters/sora/memory?npc_id=baker&limit=100").json()
    assert {fact["id"] for fact in memory["facts"]} == {fact["id"] for fact in changes["facts"]}
    assert {fact["conversation_id"] for fact in memory["facts"]} <= {told["id"]}
    assert memory["last_meeting"]["summary"] == changes["summary"]
