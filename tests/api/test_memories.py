"""Owns the tests of a past that is given to a person, and of memories that an author searches and changes."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.llm.choose import ROLES, Models
from service.locales import Language
from tests.api.play import SISTER_TOLD, Answered, Http, problem, script_short, script_sister, settings_for, talk
from tests.scripted_model import ScriptedModel

STATEMENTS: list[dict[str, Any]] = [
    {"id": "s1", "statement": "Hanna's brother Emil drowned in the mill pond.", "about": "baker", "importance": 9},
    {"id": "s2", "statement": "The lamp oil is kept under the stairs.", "at": "2025-11-03T18:30"},
]
NIGHT: dict[str, Any] = {
    "conversation": "festival-night",
    "at": "2025-10-12T20:00",
    "summary": "Old Sato told of a bell under the water.",
    "topics": ["bell"],
    "turns": [
        {"id": "f1", "speaker": "Old Sato", "text": "Did you hear it too?"},
        {"id": "f2", "speaker": "umi", "text": "The bell rang beneath the pond, twice.", "at": "2025-10-12T20:01"},
    ],
}
PAST = {"statements": STATEMENTS, "transcripts": [NIGHT]}

NDJSON = {"Content-Type": "application/x-ndjson"}


def json_lines(lines: Iterable[Mapping[str, Any]]) -> bytes:
    """The lines as a body."""
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


def give(client: Http, past: Mapping[str, Any] = PAST, who: str = "sora", **query: str) -> dict[str, Any]:
    """Give the person a past as one object."""
    answer = client.post(f"/people/{who}/memory", json=past, params=query)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def give_lines(client: Http, lines: Iterable[Mapping[str, Any]], who: str = "sora") -> Answered:
    """Give the person a past as lines."""
    return client.post(f"/people/{who}/memory", content=json_lines(lines), headers=NDJSON)


def search(client: Http, query: str, who: str = "sora", **asked: Any) -> dict[str, Any]:
    """Search the person's memory."""
    answer = client.get(f"/people/{who}/memory/search", params={"query": query, **asked})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def hits(client: Http, query: str, **asked: Any) -> list[str]:
    """The texts of what bears on the query."""
    return [hit["text"] for hit in search(client, query, **asked)["hits"] if hit["bears"]]


def listed(client: Http, who: str = "sora", **asked: Any) -> list[dict[str, Any]]:
    """The person's memories."""
    answer = client.get(f"/people/{who}/memories", params=asked)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


def id_of(client: Http, text: str, who: str = "sora") -> str:
    """What the memory of that text is called."""
    (found,) = [item["id"] for item in listed(client, who) if item["text"] == text]
    return str(found)


def test_a_given_past_is_found_by_its_words_with_the_callers_ids(client: TestClient) -> None:
    assert give(client) == {
        "person_id": "sora",
        "statements": 2,
        "turns": 2,
        "summaries": 1,
        "insights": 0,
        "known": 0,
        "waiting": 0,
        "pending_vectors": 0,
    }
    found = search(client, "Who drowned in the pond?")
    assert (found["found"], found["as_of"]) == (True, "2026-04-01T07:00")
    first = found["hits"][0]
    assert first["score"] == pytest.approx(sum(first["parts"].values()))
    assert set(first["parts"]) == {"words", "around", "cues", "importance"}
    wanted = ("given_id", "kind", "text", "support", "source", "importance", "about", "subject_id", "told_by")
    assert {name: first[name] for name in wanted} == {
        "given_id": "s1",
        "kind": "fact",
        "text": "Hanna's brother Emil drowned in the mill pond.",
        "support": "author",
        "source": "seed",
        "importance": 9,
        "about": "Hanna",
        "subject_id": "baker",
        "told_by": None,
    }
    assert first["line"].endswith(first["text"])
    (bell,) = [hit for hit in search(client, "the bell", kinds="turn")["hits"] if hit["bears"] and hit["turns"] == [1]]
    assert {name: bell[name] for name in ("given_id", "given_conversation", "told_by", "partner_id", "known_from")} == {
        "given_id": "f2",
        "given_conversation": "festival-night",
        "told_by": "umi",
        "partner_id": "umi",
        "known_from": "2025-10-12T20:01",
    }
    (told,) = search(client, "Old Sato's bell", kinds="summary")["hits"]
    assert (told["given_id"], told["topics"]) == ("festival-night", ["bell"])


def test_the_memory_answer_and_the_prompts_of_a_talk_have_it(client: TestClient, script: ScriptedModel) -> None:
    give(client)
    facts = client.get("/people/sora/memory", params={"about": "baker"}).json()["facts"]
    assert [fact["text"] for fact in facts] == ["Hanna's brother Emil drowned in the mill pond."]
    script_sister(script)
    talk(client, goal="Ask how Emil drowned in the pond", success_criteria="She tells of Emil")
    first = next(prompt for prompt in script.history if prompt.role == "character")
    assert "Emil drowned in the mill pond" in str(first.messages)


def test_what_somebody_is_said_to_have_told_is_told_with_its_teller(client: TestClient, script: ScriptedModel) -> None:
    lie = {"id": "l", "statement": "Hanna is a witch.", "about": "baker", "told_by": "umi", "via": ["hermit"]}
    give(client, {"statements": [lie]})
    (hit,) = search(client, "Who is a witch?")["hits"]
    assert (hit["told_by"], hit["via"], hit["support"], hit["confidence"]) == ("umi", ["hermit"], "model", 0.64)
    assert "What Umi has told you: Hanna is a witch" in hit["line"]
    script_sister(script)
    talk(client)
    (prompt, *_) = [str(one.messages) for one in script.history if one.role == "character"]
    assert "What Umi has told you: Hanna is a witch" in prompt
    assert prompt.count("Hanna is a witch") == 1


def test_a_later_value_of_a_slot_stands_and_the_one_before_is_history(client: TestClient) -> None:
    jar = {"about": "the blue jar", "slot": "place"}
    give(
        client,
        {
            "statements": [
                {"id": "1", "statement": "The blue jar is in the shop.", "at": "2026-01-01", **jar},
                {"id": "2", "statement": "The blue jar is in the loft.", "at": "2026-02-01", **jar},
            ]
        },
    )
    assert hits(client, "blue jar") == ["The blue jar is in the loft."]
    assert hits(client, "blue jar", as_of="2026-01-15") == ["The blue jar is in the shop."]
    ended = {hit["given_id"]: hit for hit in search(client, "blue jar", history="true")["hits"]}
    assert (ended["1"]["valid_to"], ended["1"]["slot"]) == ("2026-02-01T00:00", ended["2"]["slot"])


def test_lines_are_taken_one_by_one_and_once(client: TestClient) -> None:
    turns = [
        {"id": one["id"], "speaker": one["speaker"], "text": one["text"], "conversation": "n", "at": NIGHT["at"]}
        for one in NIGHT["turns"]
    ]
    answer = give_lines(client, [*STATEMENTS, *turns])
    assert (answer.status_code, answer.json()["statements"], answer.json()["turns"]) == (200, 2, 2)
    assert give_lines(client, [*STATEMENTS, *turns]).json()["known"] == 4
    more = {"id": "f3", "speaker": "sora", "text": "I heard a heron cry.", "conversation": "n", "at": NIGHT["at"]}
    again = give_lines(client, [*turns, more]).json()
    assert (again["turns"], again["known"]) == (1, 2)
    (heron,) = [one for one in listed(client) if one["given_id"] == "f3"]
    assert heron["turns"] == [2]
    assert len(listed(client)) == 5


def test_the_same_id_with_another_content_is_refused_by_its_line(client: TestClient) -> None:
    give(client)
    other = {"id": "s1", "statement": "Emil lives."}
    told = problem(give_lines(client, [STATEMENTS[1], other]), 422, "lines-wrong")
    assert [error["field"] for error in told["errors"]] == ["line 2.id"]


def test_every_wrong_line_is_named_and_nothing_is_written(client: TestClient) -> None:
    good = {"id": "ok", "statement": "The rye is sown."}
    body = json_lines(
        [
            good,
            {"id": "a", "statement": "She will come.", "at": "2027-01-01T00:00"},
            {"id": "b", "statement": " "},
            {"id": "c", "text": "Hello", "conversation": "n", "speaker": "umi", "at": "yesterday"},
            {"id": "d"},
            {"id": "e", "statement": "x", "colour": "red"},
            {"id": "f", "statement": "It was so.", "valid_from": "2020-01-02", "valid_to": "2020-01-01"},
        ]
    )
    answer = client.post("/people/sora/memory", content=body + b"{no json\n", headers=NDJSON)
    told = problem(answer, 422, "lines-wrong")
    assert told["facts"] == {"count": 7}
    assert [error["field"] for error in told["errors"]] == [
        "line 2.at",
        "line 3.statement",
        "line 4.at",
        "line 5",
        "line 6.colour",
        "line 7.valid_to",
        "line 8",
    ]
    assert told["errors"][0]["message"] == "2027-01-01T00:00 is not past; it is 2026-04-01T07:00"
    assert listed(client) == []
    japanese = client.post("/people/sora/memory", content=body, headers={**NDJSON, "Accept-Language": "ja"})
    assert problem(japanese, 422)["detail"].startswith("受け取れない行が6行")


def test_a_wrong_line_of_an_object_is_named_by_its_place(client: TestClient) -> None:
    wrong = {"statements": [STATEMENTS[0], {"statement": "no id"}], "transcripts": [{**NIGHT, "at": "2099-01-01"}]}
    told = problem(client.post("/people/sora/memory", json=wrong), 422, "lines-wrong")
    assert [error["field"] for error in told["errors"]] == ["statements.1.id"]
    wrong["statements"] = []
    told = problem(client.post("/people/sora/memory", json=wrong), 422, "lines-wrong")
    assert [error["field"] for error in told["errors"]] == ["transcripts.0.turns.0.at", "transcripts.0.at"]


def test_ten_thousand_lines_are_a_call_and_one_more_is_too_many(client: TestClient) -> None:
    lines = [{"id": str(n), "statement": f"Sack {n} is in the barn."} for n in range(10_001)]
    assert problem(give_lines(client, lines), 413, "too-many-lines")["facts"] == {"most": 10_000}
    assert listed(client) == []
    assert give_lines(client, lines[:-1]).json()["statements"] == 10_000
    assert hits(client, "sack 7777", k=1) == ["Sack 7777 is in the barn."]


def test_a_body_that_is_too_long_is_refused_in_pieces_too(client: TestClient) -> None:
    def pieces() -> Iterable[bytes]:
        for number in range(10_000):
            yield json_lines([{"id": str(number), "statement": "x" * 2_000}])

    told = problem(client.post("/people/sora/memory", content=pieces(), headers=NDJSON), 413, "body-too-large")
    assert told["facts"] == {"limit_bytes": 16 * 1024 * 1024}


def test_a_line_without_an_end_is_told_and_not_held(client: TestClient) -> None:
    answer = client.post("/people/sora/memory", content=b"{" * 3_000_000, headers=NDJSON)
    told = problem(answer, 422, "lines-wrong")
    assert [error["field"] for error in told["errors"]] == ["line 1"]


def test_there_must_be_such_a_person(client: TestClient) -> None:
    problem(client.post("/people/nobody/memory", json=PAST), 404, "not-found")
    problem(client.get("/people/nobody/memory/search", params={"query": "x"}), 404, "not-found")
    problem(client.get("/people/nobody/memories"), 404, "not-found")
    problem(client.get("/people/nobody/memory/audit"), 404, "not-found")
    problem(client.delete("/people/sora/memories/fact.none"), 404, "not-found")


def test_a_statement_is_known_since_its_time_and_true_as_long_as_it_says(client: TestClient) -> None:
    give(
        client,
        {
            "statements": [
                {"id": "m", "statement": "Emil is the miller.", "at": "2020-01-01", "valid_to": "2024-05-01"},
                {"id": "n", "statement": "Gerda is the miller.", "at": "2024-05-01"},
                {"id": "p", "statement": "Otto is the miller.", "at": "2026-03-01", "valid_from": "2027-01-01"},
            ]
        },
    )
    assert hits(client, "the miller") == ["Gerda is the miller."]
    assert hits(client, "the miller", as_of="2022-01-01") == ["Emil is the miller."]
    assert hits(client, "the miller", as_of="2019-01-01") == []
    ended = search(client, "the miller", history="true")["hits"]
    assert {hit["given_id"]: hit["valid_to"] for hit in ended} == {"m": "2024-05-01T00:00", "n": None}
    assert [one["given_id"] for one in listed(client)] == ["p", "n", "m"]


def test_memories_are_paged_and_chosen(client: TestClient) -> None:
    give(client)
    page = client.get("/people/sora/memories", params={"limit": 2}).json()
    rest = client.get("/people/sora/memories", params={"limit": 10, "after": page["next"]}).json()
    assert (page["total"], rest["next"], page["pending_vectors"], page["waiting"]) == (5, None, 0, 0)
    every = listed(client)
    assert [*page["items"], *rest["items"]] == every
    assert [one["known_from"] for one in every] == sorted((one["known_from"] for one in every), reverse=True)
    assert [one["given_id"] for one in listed(client, kinds="turn")] == ["f2", "f1"]
    assert [one["given_id"] for one in listed(client, about="baker")] == ["s1"]
    assert {one["given_id"] for one in listed(client, about="umi")} == {"f1", "f2", "festival-night"}
    problem(client.get("/people/sora/memories", params={"after": "fact.none"}), 422)
    one = client.get(f"/people/sora/memories/{every[0]['id']}").json()
    assert one == every[0]


def test_an_edited_memory_is_found_by_its_new_words_and_not_by_its_old(client: TestClient) -> None:
    give(client)
    place = f"/people/sora/memories/{id_of(client, 'The lamp oil is kept under the stairs.')}"
    changed = client.patch(
        place, params={"by": "mika", "reason": "moved"}, json={"text": "The oil stands in the cellar.", "importance": 7}
    ).json()
    assert (changed["text"], changed["support"], changed["importance"]) == (
        "The oil stands in the cellar.",
        "author",
        7,
    )
    assert hits(client, "stairs") == []
    assert hits(client, "cellar") == ["The oil stands in the cellar."]
    bell = id_of(client, "The bell rang beneath the pond, twice.")
    client.patch(f"/people/sora/memories/{bell}", json={"text": "The gong rang beneath the pond."})
    assert hits(client, "bell twice", kinds="turn") == []
    assert "The gong rang beneath the pond." in hits(client, "gong", kinds="turn")
    told = id_of(client, NIGHT["summary"])
    client.patch(f"/people/sora/memories/{told}", json={"text": "A ferryman told of a gong."})
    assert hits(client, "ferryman", kinds="summary") == ["A ferryman told of a gong."]
    assert give(client)["known"] == 5, "what was given stays given, whatever an author has made of it"
    (entry,) = [e for e in client.get("/people/sora/memory/audit").json()["items"] if e["by"]]
    assert entry["written_at"].endswith("Z")
    assert entry["memory_id"] == place.rpartition("/")[2]
    assert {key: entry[key] for key in ("action", "kind", "by", "reason", "at")} == {
        "action": "edited",
        "kind": "fact",
        "by": "mika",
        "reason": "moved",
        "at": "2026-04-01T07:00",
    }
    assert (entry["before"]["text"], entry["after"]["text"], entry["before"]["importance"]) == (
        "The lamp oil is kept under the stairs.",
        "The oil stands in the cellar.",
        5,
    )


def test_a_closed_memory_holds_no_longer_but_did(client: TestClient) -> None:
    give(client)
    place = f"/people/sora/memories/{id_of(client, 'The lamp oil is kept under the stairs.')}"
    closed = client.patch(place, json={"valid_to": "2026-02-01T00:00"}).json()
    assert (closed["valid_to"], closed["known_until"]) == ("2026-02-01T00:00", "2026-04-01T07:00")
    assert hits(client, "lamp oil") == []
    assert hits(client, "lamp oil", as_of="2026-03-01") == ["The lamp oil is kept under the stairs."]
    problem(client.patch(place, json={"valid_to": "2020-01-01"}), 422, "invalid")
    assert client.patch(place, json={"valid_to": None}).json()["known_until"] is None
    assert hits(client, "lamp oil") == ["The lamp oil is kept under the stairs."]
    actions = [entry["action"] for entry in client.get("/people/sora/memory/audit").json()["items"]]
    assert actions == ["edited", "closed", "seeded"]
    turn = id_of(client, "Did you hear it too?")
    problem(client.patch(f"/people/sora/memories/{turn}", json={"importance": 3}), 422, "invalid")
    problem(client.patch(f"/people/sora/memories/{turn}", json={}), 422)


def test_a_deleted_memory_is_never_found_again(client: TestClient) -> None:
    give(client)
    for text in ("The lamp oil is kept under the stairs.", "The bell rang beneath the pond, twice.", NIGHT["summary"]):
        place = f"/people/sora/memories/{id_of(client, text)}"
        assert client.delete(place, params={"by": "mika"}).status_code == 204
        problem(client.get(place), 404, "not-found")
        problem(client.delete(place), 404, "not-found")
    assert hits(client, "lamp oil stairs") == []
    assert hits(client, "bell") == []
    assert give(client)["known"] == 5, "the same line again brings nothing back"
    assert {one["given_id"] for one in listed(client)} == {"s1", "f1"}
    entries = client.get("/people/sora/memory/audit", params={"limit": 2}).json()
    assert [(e["action"], e["kind"], e["after"]) for e in entries["items"]] == [
        ("deleted", "summary", None),
        ("deleted", "turn", None),
    ]
    assert entries["items"][1]["before"]["text"] == "The bell rang beneath the pond, twice."
    assert len(client.get("/people/sora/memory/audit", params={"after": entries["next"]}).json()["items"]) == 2
    give(client, {"statements": [{"id": "s9", "statement": "The lamp oil is kept under the stairs."}]})
    assert hits(client, "lamp oil") == ["The lamp oil is kept under the stairs."], "it may be told anew"


def test_what_a_talk_left_is_deleted_with_the_turn_it_was_heard_in(client: TestClient, script: ScriptedModel) -> None:
    script_sister(script)
    held = talk(client)
    (told_her,) = [item["id"] for item in listed(client, kinds="fact") if item["text"] == SISTER_TOLD]
    client.delete(f"/people/sora/memories/{told_her}")
    left = hits(client, "sister Lotte harbour", kinds=["fact", "turn"])
    assert [text for text in left if "harbour town" in text] == [], "nor the turn it was heard in"
    summary = held["changes"]["summary"]
    client.delete(f"/people/sora/memories/{id_of(client, summary)}")
    told = client.get("/people/sora/memory", params={"about": "baker"}).json()
    assert (told["last_meeting"], told["today"], told["relation"]["conversation_count"]) == (None, [], 1)
    assert len(client.get(f"/conversations/{held['id']}").json()["turns"]) == 4, "the record keeps what was said"
    turn = id_of(client, "Good morning, Hanna. What do you hear from your sister?")
    client.patch(f"/people/sora/memories/{turn}", json={"text": "Good morning. How is the miller?"})
    assert "Good morning. How is the miller?" in hits(client, "miller", kinds="turn")
    assert [one["text"] for one in listed(client, who="baker") if "your sister?" in one["text"]], (
        "the other's is its own"
    )


def test_who_forgets_everything_forgets_its_past_and_may_be_given_it_anew(client: TestClient) -> None:
    give(client)
    client.delete(f"/people/sora/memories/{id_of(client, NIGHT['summary'])}")
    assert client.delete("/characters/sora/memory").status_code == 204
    assert listed(client) == []
    assert client.get("/people/sora/memory/audit").json()["items"] == []
    assert give(client)["known"] == 0
    assert len(listed(client)) == 5


def test_an_npc_forgets_the_past_with_a_character_that_is_let_forget(client: TestClient) -> None:
    give(
        client,
        {"transcripts": [{**NIGHT, "turns": [{"id": "u", "speaker": "umi", "text": "I have a canoe."}]}]},
        "baker",
    )
    give(client, {"statements": [{"id": "k", "statement": "The kiln is new."}]}, "baker")
    client.delete("/characters/umi/memory")
    assert [one["given_id"] for one in listed(client, "baker")] == ["k"]


def test_a_given_past_is_part_of_the_memory_graph(client: TestClient) -> None:
    give(client)
    graph = client.get("/characters/sora/memory/graph").json()
    assert {fact["text"] for fact in graph["facts"]} == {one["statement"] for one in STATEMENTS}
    assert [episode["summary"] for episode in graph["episodes"]] == [NIGHT["summary"]]


def test_an_insight_is_given_shown_with_its_evidence_changed_and_falls_with_what_it_was_drawn_from(
    client: TestClient,
) -> None:
    drawn = ["memory:s1", "talk:festival-night"]
    thought = {
        "id": "i1",
        "statement": "The baker hides her grief for Emil.",
        "kind": "insight",
        "at": "2026-01-01",
        "evidence": drawn,
    }
    assert give(client, {**PAST, "statements": [*PAST["statements"], thought]}, by="mika")["insights"] == 1
    assert give_lines(client, [thought]).json()["known"] == 1
    refused = problem(give_lines(client, [{**thought, "id": "i2", "at": "2099-01-01"}]), 422)
    assert [wrong["field"] for wrong in refused["errors"]] == ["line 1.at"]
    (shown,) = client.get("/people/sora/memory", params={"query": "grief"}).json()["insights"]
    (emil,) = [item["id"] for item in listed(client) if item["given_id"] == "s1"]
    assert (shown["text"], shown["importance"]) == (thought["statement"], 5)
    assert shown["evidence"][0] == f"memory:{emil.partition('.')[2]}", "as it is called here"
    assert shown["evidence"][1].startswith("talk:")
    assert client.get("/people/sora/memory", params={"query": "lamp oil"}).json()["insights"] == []
    assert [one["text"] for one in client.get("/people/sora/memory").json()["insights"]] == [thought["statement"]]
    (item,) = listed(client, kinds="insight")
    assert (item["given_id"], item["evidence"]) == ("i1", shown["evidence"])
    path = f"/people/sora/memories/{item['id']}"
    changed = client.patch(path, json={"text": "The baker mourns Emil.", "importance": 8}).json()
    assert (changed["text"], changed["importance"]) == ("The baker mourns Emil.", 8)
    assert hits(client, "mourns", kinds="insight") == ["The baker mourns Emil."]
    assert client.patch(path, json={"valid_to": "2026-02-01"}).json()["valid_to"] == "2026-02-01T00:00"
    client.patch(path, json={"valid_to": None}).raise_for_status()
    turn = id_of(client, NIGHT["turns"][1]["text"])
    unfit = problem(client.patch(f"/people/sora/memories/{turn}", json={"importance": 3}), 422)
    assert "turns and summaries" in unfit["detail"]
    client.delete(f"/people/sora/memories/{emil}").raise_for_status()
    assert (listed(client, kinds="insight"), hits(client, "mourns", kinds="insight")) == ([], [])
    assert [one["action"] for one in client.get("/people/sora/memory/audit").json()["items"]] == [
        "deleted",
        "deleted",
        "edited",
        "closed",
        "edited",
        "seeded",
    ]


def test_what_has_faded_is_shown_where_it_is_asked_for_and_remembered_again_when_an_author_changes_it(
    tmp_path: Path, millbrook: Path, script: ScriptedModel
) -> None:
    settings = settings_for(tmp_path, millbrook, memory={"fade_after_days": 1})
    models = Models(dict.fromkeys(ROLES, script))
    with TestClient(create_app(settings, models=models), raise_server_exceptions=False) as client:
        give(client)
        script_sister(script)
        talk(client)
        script_short(script)
        talk(client)
        before = client.get("/world").json()["now"]
        assert SISTER_TOLD in hits(client, "sister Lotte harbour")
        for _ in range(3):
            client.post("/world/tick", json={"ticks": 1440}).raise_for_status()
        assert hits(client, "sister Lotte harbour") == []
        assert SISTER_TOLD in hits(client, "sister Lotte harbour", as_of=before)
        (found, *_) = search(client, "sister Lotte harbour", forgotten=True)["hits"]
        assert (found["text"], found["forgotten_at"]) == (SISTER_TOLD, "2026-04-03T00:00")
        told = {item["text"]: item["forgotten_at"] for item in listed(client, forgotten=True)}
        assert told[SISTER_TOLD] == "2026-04-03T00:00"
        assert (told[STATEMENTS[1]["statement"]], told["Good day to you"]) == (None, None)
        assert {item["text"] for item in listed(client)} == {text for text, at in told.items() if at is None}
        path = f"/people/sora/memories/{found['id']}"
        assert client.get(path).json() == {name: found[name] for name in client.get(path).json()}
        changed = client.patch(path, json={"importance": 3}).json()
        assert changed["forgotten_at"] is None
        assert hits(client, "sister Lotte harbour") == [SISTER_TOLD]


MET: dict[Language, tuple[str, str, str, str]] = {
    "en": (
        "for the first time",
        "You and {} know each other already.",
        "What do you remember about Hanna?",
        "Good day.",
    ),
    "ja": ("初対面", "{}とは前からの知り合い。", "ハンナについて", "こんにちは、いい天気ですね。"),
}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_two_who_have_talked_in_a_given_past_do_not_meet_for_the_first_time(
    client: TestClient, script: ScriptedModel, language: Language
) -> None:
    first, known, asks, greets = MET[language]
    names = [client.get(f"/people/{one}").json()["name"] for one in ("sora", "baker")]
    spoke = {
        "conversation": "old",
        "at": NIGHT["at"],
        "turns": [{"id": "1", "speaker": "baker", "text": "Rye is dear."}],
    }
    heard_of = {"id": "2", "statement": "The hermit counts herons.", "about": "hermit", "told_by": "umi"}
    give(client, {"transcripts": [spoke], "statements": [heard_of]})
    answer = client.get("/characters/sora/memory", params={"npc_id": "baker", "query": asks}).json()
    assert (answer["found"], [turn["text"] for turn in answer["turns"]]) == (True, ["Rye is dear."])
    script_sister(script, language)
    talk(client)
    prompts = [str(prompt.messages[1].content) for prompt in script.history if prompt.role in ("character", "npc")]
    assert not any(first in prompt for prompt in prompts)
    assert known.format(names[1]) in prompts[0]
    assert known.format(names[0]) in prompts[1], "and it knows her as well"
    script.history.clear()
    client.patch("/characters/sora", json={"node_id": "glade"})
    script_short(script, greets)
    talk(client, npc_id="hermit")
    assert first in script.history[0].messages[1].content, "who was only told of has not been met"
