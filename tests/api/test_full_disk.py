"""Owns the tests of a disk that is full: what cannot be written is refused or undone whole, and goes on with room."""

import random
import time

from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.api.play import TALK, problem, recollection, reply, turn
from tests.api.play import say as enqueue
from tests.api.test_player import begin
from tests.api.test_stop import full_disk, settled_rows
from tests.conversation.talks import replies
from tests.memory.answers import memory
from tests.scripted_model import ScriptedModel

LONG = "遠くの灰色の海に、赤い帆の小舟が一そう浮かんでいて、誰のものかは誰も知らなかった。" * 45
"""More than fits on a page of the database."""
WORDS = (
    "the boat went out at dawn with nets and bread and a lamp while gulls cried over grey water near our pier where "
    "my father sold rope hooks tar candles and salt to men from every village along this coast before storms took half "
    "of them one winter nobody here speaks about though all still count their names on stone by church door each spring"
).split()
"""Of them an answer is made that repeats nothing."""


def test_what_cannot_be_restored_or_branched_leaves_all_as_it_was(app: FastAPI, client: TestClient) -> None:
    rng, other = random.Random(1), {"X-World-Id": "other"}
    past = [{"id": f"{n}", "statement": rng.randbytes(300).hex(), "at": "2020-01-01"} for n in range(40)]
    client.post("/people/sora/memory", json={"statements": past}).raise_for_status()
    client.post("/world/snapshots", json={"name": "small"}, headers=other)
    client.post("/people/sora/memory", json={"statements": past}, headers=other).raise_for_status()
    client.post("/world/snapshots", json={"name": "large"}, headers=other)
    client.post("/world/restore", json={"name": "small"}, headers=other).raise_for_status()
    orders: tuple[tuple[str, dict[str, str], dict[str, str]], ...] = (
        ("/world/restore", {"name": "large"}, other),
        ("/world/branch", {"to_world": "what-if"}, {}),
    )
    with full_disk(app):
        before = settled_rows(app)
        for path, body, world in orders:
            for language, word in (("en", "Make room"), ("ja", "空きを作るか")):
                answer = client.post(path, json=body, headers=world | {"Accept-Language": language})
                assert word in problem(answer, 503, "store-full")["detail"]
        assert settled_rows(app) == before
    for path, body, world in orders:
        assert client.post(path, json=body, headers=world).is_success


def test_a_turn_that_finds_no_room_is_not_said_and_is_said_with_room(
    app: FastAPI, client: TestClient, script: ScriptedModel
) -> None:
    conversation_id = begin(client)
    asked = f"/conversations/{conversation_id}/say?wait=true"
    script.enqueue(
        *(replies(f"{number}: {' '.join(random.Random(number).sample(WORDS, 60))}.") for number in range(50))
    )
    with full_disk(app):
        problem(client.post(asked, json={"text": LONG}), 503, "store-full")
        assert client.get(f"/conversations/{conversation_id}").json()["turns"] == []
        for number in range(20):
            answer = client.post(asked, json={"text": f"{number}?", "message_id": f"m{number}"})
            if not answer.is_success:
                break
        problem(answer, 503, "store-full")
        said = client.get(f"/conversations/{conversation_id}").json()["turns"]
        assert (len(said), said[-1]["text"]) == (2 * number + 1, f"{number}?"), "the answer is what found no room"
    again = client.post(asked, json={"text": f"{number}?", "message_id": f"m{number}"}).json()
    assert (again["turn"]["turn"], again["answer"]["turn"]) == (2 * number, 2 * number + 1)


def test_a_closing_that_finds_no_room_is_done_with_room(
    app: FastAPI, client: TestClient, script: ScriptedModel
) -> None:
    minds = [memory(f"{LONG[:150]} {number}", 0, lasts="low") for number in range(3)]
    enqueue(script, "character", turn("Hello.", ends=True))
    enqueue(script, "npc", reply("Bye."))
    enqueue(script, "closing", *[recollection(LONG[:190], memories=minds)] * 20)
    with full_disk(app):
        problem(client.post("/conversations/start?wait=true", json=TALK), 503, "store-full")
        (row,) = client.get("/conversations").json()["items"]
        assert row["phase"] == "closing"
    deadline = time.monotonic() + 20
    while (told := client.get(f"/conversations/{row['id']}").json())["phase"] != "closed":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert told["changes"]["summary"] == LONG[:190]
