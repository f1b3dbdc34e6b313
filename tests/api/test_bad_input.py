"""What cannot be meant is said in a clear sentence and loses nothing else: languages that change within a talk, people
who were not there, refs of another world, and more than one call may give.
"""

from typing import Any

from fastapi.testclient import TestClient

from tests.api.play import SISTER_TOLD, problem, reply, say, script_sister, talk, turn
from tests.api.test_commitments import commitments
from tests.api.test_memories import give, listed, search
from tests.memory.answers import memory, plain, promise
from tests.scripted_model import ScriptedModel

SIDE = {"X-World-Id": "side"}
TONGUES = (
    "Le frère de Hanna répare le toit du moulin.",
    "汉娜的面包九点就卖完了。",
    "リンは粉屋の犬を預かっている。",
    "Hanna keeps the spare key under the stone.",
)


def test_languages_may_change_within_a_talk(client: TestClient, script: ScriptedModel) -> None:
    say(script, "character", turn("Bonjour ! Et votre frère ? 面包还有吗?"))
    say(script, "npc", reply("Il répare le toit. 九点就卖完了。リンは犬を預かっている。The key is under the stone."))
    say(script, "character", turn("Merci, 再见!", ends=True))
    say(script, "npc", reply("Bye."))
    kept = [memory(text, 1, about="b", teller="b") for text in TONGUES]
    say(script, "closing", plain("Hanna et Sora ont parlé, 也说了面包。", first={"memories": kept}))
    held = talk(client)
    assert held["changes"]["rejected"] == []
    assert {one["text"] for one in listed(client, kinds="fact")} == {*TONGUES}
    for text in TONGUES:
        assert search(client, text[: len(text) // 2], kinds="fact")["hits"][0]["text"] == text


def test_who_was_not_there_takes_nothing_away_and_whom_nobody_knows_tells_nothing(
    client: TestClient, script: ScriptedModel
) -> None:
    """Umi is somebody of this world; z and Nobody are nobody's."""
    say(script, "character", turn("Hello, Hanna."))
    say(script, "npc", reply("Lotte has left."))
    say(script, "character", turn("Oh.", ends=True))
    say(script, "npc", reply("Bye."))
    drafts = [
        memory("Lotte has gone.", 1),
        memory("Lotte went by ship.", 1, teller="z", about="Nobody", replaces="zm9"),
    ]
    first = {"memories": [*drafts, *({**memory(f"{who} knows.", 1), "owner": who} for who in ("umi", "z"))]}
    promises = [promise("bring bread", 1, by="z"), promise("bring a letter", 1, status="kept", ref="p7")]
    say(script, "closing", plain("They talked of Lotte.", first=first, promises=promises))
    held = talk(client)
    told = {one["statement"]: one["reason"] for one in held["changes"]["rejected"]}
    assert told == dict.fromkeys(("umi knows.", "z knows.", "bring bread", "bring a letter"), "no_such_ref")
    facts = {one["text"]: one["told_by"] for one in listed(client, kinds="fact")}
    assert facts == {"Lotte has gone.": "baker", "Lotte went by ship.": "baker"}
    assert listed(client, "umi") == []
    assert commitments(client, "sora") == []


def test_a_ref_of_another_world_is_not_found_and_changes_neither(client: TestClient, script: ScriptedModel) -> None:
    script_sister(script)
    held = talk(client, world="side")
    there = client.get("/people/sora/memories", headers=SIDE).json()["items"]
    (ref,) = [one["id"] for one in there if one["text"] == SISTER_TOLD]
    path = f"/people/sora/memories/{ref}"
    for answer in (
        client.get(path),
        client.patch(path, json={"text": "Lotte stayed."}),
        client.delete(path),
        client.get(f"/conversations/{held['id']}"),
        client.post(f"/conversations/{held['id']}/end"),
    ):
        told = problem(answer, 404, "not-found")
        assert told["facts"]["id"] in (ref, held["id"])
        assert told["facts"]["id"] in told["detail"]
    say(script, "character", turn("Hello.", ends=True))
    say(script, "npc", reply("Bye."))
    replaced = memory("Lotte stayed.", 0, replaces=ref[:12], teller="a")
    say(script, "closing", plain("They talked.", first={"memories": [replaced]}))
    talk(client)
    assert "Lotte stayed." in [one["text"] for one in listed(client)]
    assert client.get("/people/sora/memories", headers=SIDE).json()["items"] == there


def test_a_past_cannot_rest_on_what_another_world_holds(client: TestClient) -> None:
    statement = {"id": "s1", "statement": "The mill burned.", "at": "2025-11-03"}
    client.post("/people/sora/memory", json={"statements": [statement]}, headers=SIDE).raise_for_status()
    ref = client.get("/people/sora/memories", headers=SIDE).json()["items"][0]["id"]
    body: dict[str, Any] = {"statements": [{"id": "s2", "statement": "The miller is poor.", "evidence": [ref]}]}
    give(client, body)
    assert client.delete(f"/people/sora/memories/{ref}", headers=SIDE).status_code == 204
    assert [one["text"] for one in listed(client)] == ["The miller is poor."]


def test_ten_thousand_memories_are_read_of_one_call_and_more_are_refused_whole(client: TestClient) -> None:
    """An object of statements, as lines are: what is read is stored alike (tests/api/test_memories.py)."""
    sacks = [{"id": str(n), "statement": f"Sack {n} is in the barn."} for n in range(10_001)]

    def wrong(statements: list[dict[str, str]]) -> Any:
        return problem(client.post("/people/sora/memory", json={"statements": statements}), 422, "lines-wrong")

    assert wrong(sacks)["errors"] == [{"field": "statements", "message": "expected at most 10000 of them"}]
    assert [one["field"] for one in wrong([*sacks[:9999], {"id": "9999"}])["errors"]] == ["statements.9999.statement"]
    assert listed(client) == []
