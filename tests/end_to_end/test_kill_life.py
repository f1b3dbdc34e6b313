"""Owns the test of a living world whose process is killed again and again: it tells the story it would have told."""

import random
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.play import write_village
from tests.end_to_end.process import Service

HOURS = 5
REHEARSAL = {
    "KATARIBE_LLM__PROVIDER": "rehearsal",
    "KATARIBE_LLM__REHEARSAL_PACE_SECONDS": "0.005",
    "KATARIBE_WORLD__LANGUAGE": "ja",
    "KATARIBE_MEMORY__ATTITUDE": "per_turn",  # it writes most: before each turn too
}


def lived(client: httpx.Client, until: str, deadline: float) -> bool:
    """Whether the world has come so far."""
    assert time.monotonic() < deadline, client.get("/world").json()
    return bool(client.get("/world").json()["now"] >= until)


def story(client: httpx.Client) -> tuple[list[Any], list[Any]]:
    """The events without their ids, and everything that was said and remembered."""
    events: list[Any] = []
    after = 0
    while True:
        page = client.get("/world/events", params={"after": after, "limit": 1000}).json()
        events += [{name: value for name, value in event.items() if name != "id"} for event in page["items"]]
        if page["next"] is None:
            break
        after = int(page["next"])
    talks = []
    for talk in client.get("/conversations", params={"limit": 200}).json()["items"]:
        told = client.get(f"/conversations/{talk['id']}").json()
        said = [(turn["speaker_id"], turn["text"], turn["at"]) for turn in told["turns"]]
        talks.append((told["id"], told["phase"], told["goal"], said, told["changes"]))
    return events, sorted(talks, key=lambda talk: str(talk[0]))


@pytest.mark.server  # it starts several processes: CI runs it, a desk need not at every run
def test_killed_again_and_again_a_living_world_tells_the_same_story(tmp_path: Path) -> None:
    content = write_village(tmp_path / "content")
    with Service(tmp_path, content, REHEARSAL, data="unharmed") as service:
        told = service.client.post("/world/tick", json={"ticks": HOURS * 60}, timeout=240).json()
        unharmed = story(service.client)
    until, rng, kills = told["now"], random.Random(4), 0
    deadline = time.monotonic() + 300
    asked = False
    while True:
        with Service(tmp_path, content, REHEARSAL, data="killed") as service:
            if not asked:
                answer = service.client.post("/world/tick", json={"ticks": HOURS * 60, "wait": False})
                assert answer.status_code == 202, answer.text
                asked = True
            if kills < 3:
                time.sleep(rng.uniform(0.05, 1.0))
                service.kill()
                kills += 1
                continue
            while not lived(service.client, until, deadline):
                time.sleep(0.1)
            killed = story(service.client)
            break
    assert any(event["kind"] == "conversation_closed" for event in unharmed[0])
    assert killed[0] == unharmed[0]
    assert killed[1] == unharmed[1]
