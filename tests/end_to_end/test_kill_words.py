"""A game that follows a conversation with a human loses nothing, and is told nothing twice, when the service is killed
while somebody speaks.
"""

from pathlib import Path

import pytest

from tests.api.followers import WAYS, Event, Follower, kinds, of
from tests.api.play import write_village
from tests.end_to_end.process import Service

SETTINGS = {
    "KATARIBE_LLM__PROVIDER": "rehearsal",
    "KATARIBE_LLM__REHEARSAL_PACE_SECONDS": "0.3",
    "KATARIBE_WORLD__LANGUAGE": "en",
}
KEN = "/people/ken"


def committed(events: list[Event]) -> list[Event]:
    """What is numbered, as it travels."""
    return [{**event, "position": None} for event in events if event["seq"] is not None]


@pytest.mark.server  # it starts two processes
def test_killed_in_the_middle_of_an_utterance_games_go_on_with_the_next_attempt(tmp_path: Path) -> None:
    content = write_village(tmp_path / "content")
    speaks = lambda event: event["kind"] == "utterance.delta"  # noqa: E731
    with Service(tmp_path, content, SETTINGS) as first:
        url = f"http://127.0.0.1:{first.port}"
        first.client.put(KEN, json={"kind": "player", "name": "Ken"})
        start = {"mode": "player", "player_id": "ken", "partner_id": "baker"}
        conversation_id = first.client.post("/conversations/start", json=start).json()["id"]
        before = {way: Follower(follow(url, KEN, "0"), speaks) for way, follow in WAYS.items()}
        for follower in before.values():
            follower.wait_for(lambda events: events)
        first.client.post(f"/conversations/{conversation_id}/say", json={"text": "Good morning. How is the bread?"})
        had = {way: follower.join() for way, follower in before.items()}
        first.kill()
    with Service(tmp_path, content, SETTINGS) as second:
        url = f"http://127.0.0.1:{second.port}"
        after = {}
        for way, follow in WAYS.items():
            last = max(event["seq"] or 0 for event in had[way])
            after[way] = Follower(follow(url, KEN, str(last)), lambda event: event["kind"] == "memory.changed")
        after["stream"].wait_for(lambda events: of(events, "utterance.completed"))
        second.client.post(f"/conversations/{conversation_id}/end")
        told = {way: [*had[way], *follower.join(60)] for way, follower in after.items()}
        replay = second.client.get(f"{KEN}/updates?after=0&wait=0").json()["items"]
    for way, events in told.items():
        assert committed(events) == committed(replay), way
    assert [event["seq"] for event in committed(replay)] == list(range(1, len(committed(replay)) + 1))
    assert kinds(replay)[:7] == [
        "conversation.started",
        "utterance.completed",
        "npc.thinking",
        "utterance.started",
        "utterance.discarded",
        "utterance.started",
        "utterance.completed",
    ]
    first_try, second_try = (one["utterance_id"] for one in of(replay, "utterance.started"))
    assert (first_try, second_try) == (f"{conversation_id}.1.0", f"{conversation_id}.1.1")
    assert of(replay, "utterance.discarded") == [{"utterance_id": first_try, "spoken_sentences": None}]
    assert of(replay, "utterance.completed")[1]["utterance_id"] == second_try
