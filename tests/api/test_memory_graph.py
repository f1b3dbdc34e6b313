"""Owns the tests of a character's whole long-term memory as a graph, as a client reads it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlmodel import select

from service.app import create_app
from service.llm.choose import ROLES, Models
from service.llm.scripted import ScriptedModel
from service.locales import Language
from service.memory.record import Episode, FactDraft, Group, fact_id
from service.store.tables import FactRow
from tests.api.play import (
    SISTER,
    SISTER_TOLD,
    problem,
    recollection,
    reply,
    say,
    script_sister,
    settings_for,
    talk,
    turn,
)
from tests.memory.memories import Memory
from world.time import parse_time

SORA = Group(world_id="main", person_id="sora")
BEFORE = "2026-03-01T07:00"


@pytest.fixture
def client(tmp_path: Path, millbrook: Path, script: ScriptedModel) -> Iterator[TestClient]:
    """A client of the app."""
    app = create_app(settings_for(tmp_path, millbrook), models=Models(dict.fromkeys(ROLES, script)))
    with TestClient(app, raise_server_exceptions=False) as http:
        yield http


def graph_of(client: TestClient, who: str = "sora", *, world: str = "main", **query: Any) -> dict[str, Any]:
    """The memory of the character as a graph."""
    answer = client.get(f"/characters/{who}/memory/graph", params=query, headers={"X-World-Id": world})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def remember(client: TestClient, number: int, *facts: tuple[str, str, str], at: str, **more: Any) -> list[str]:
    """An episode with the baker and its facts (subject, relation, object); the ids of the facts."""
    conversation_id = f"talk-{number}"
    episode = Episode(
        conversation_id=conversation_id,
        partner_id="baker",
        summary=f"They spoke, {number}.",
        topics=(),
        at=parse_time(at),
    )
    drafts = [
        FactDraft(
            **{
                "id": fact_id("sora", conversation_id, index),
                "subject": subject,
                "relation": relation,
                "object": thing,
                "statement": f"{subject} {relation} {thing}.",
                "turn": index,
                "valid_at": parse_time(at),
                **more,
            }
        )
        for index, (subject, relation, thing) in enumerate(facts)
    ]
    room = client.app.state.deps.conversation  # type: ignore[attr-defined]
    asyncio.run(Memory(room.memory, room.database).remember(SORA, episode, drafts))
    return [draft.id for draft in drafts]


def statements(told: dict[str, Any]) -> list[str]:
    """Of the facts, in their order."""
    return [fact["statement"] for fact in told["facts"]]


def test_who_has_met_nobody_has_an_empty_graph(client: TestClient) -> None:
    assert graph_of(client) == {
        "character_id": "sora",
        "character_name": "Sora",
        "now": "2026-04-01T07:00",
        "entities": [],
        "facts": [],
        "facts_total": 0,
        "episodes": [],
        "next": None,
    }


MUGI = {"subject": "Hanna", "relation": "has a cat", "object": "Mugi", "statement": "Hanna has a cat named Mugi."}


def test_after_a_talk_what_somebody_stated_of_itself_is_an_edge_between_entities(
    client: TestClient, script: ScriptedModel
) -> None:
    say(script, "character", turn("Do you live alone?"))
    say(script, "npc", reply("I have a cat named Mugi.", ends=True))
    say(script, "closing", recollection(facts=({**MUGI, "turn": 1},)))
    talk(client)
    told = graph_of(client)
    assert [(one["subject"], one["relation"], one["object"], one["stated"]) for one in told["facts"]] == [
        ("Hanna", "has a cat", "Mugi", True)
    ]
    assert {one["name"] for one in told["entities"]} == {"Hanna", "Mugi"}


WON = {
    "subject": "ハンナ",
    "relation": "勝った",
    "object": "宝くじ",
    "statement": "ハンナは宝くじに勝った。",
    "turn": 1,
}


@pytest.mark.parametrize("language", ["ja"])
def test_what_a_model_makes_of_words_that_do_not_state_it_stands_nowhere(
    tmp_path: Path, millbrook: Path, script: ScriptedModel, language: Language
) -> None:
    words = "宝くじに当たったらいいねえ、勝ったことはないけど。"
    app = create_app(settings_for(tmp_path, millbrook, language=language), models=Models(dict.fromkeys(ROLES, script)))
    say(script, "character", turn("何か夢はありますか。"))
    say(script, "npc", reply(words, ends=True))
    say(script, "closing", recollection("二人は話した。", facts=(WON,)))
    with TestClient(app, raise_server_exceptions=False) as client:
        talk(client, goal="話す", success_criteria="話した")
        told = graph_of(client)
        shown = client.get("/people/sora/memory", params={"about": "baker"}).json()["facts"]
        shown += client.get("/people/sora/memories", params={"kinds": "fact"}).json()["items"]
        shown += client.get("/people/sora/memories", params={"kinds": "fact", "about": "宝くじ"}).json()["items"]
        kept = app.state.deps.conversation.database.read_now(lambda s: s.exec(select(FactRow)).all())
    assert {one["name"] for one in told["entities"]} == {"ハンナ"}
    stands = [(one["subject"], one["relation"], one["object"]) for one in (*told["facts"], *shown)]
    stands += [(one.subject, one.relation, one.object) for one in kept]
    assert set(stands) == {("ハンナ", "覚えている", "ハンナ")}
    assert all(words in one["words"] for one in (*told["facts"], *shown)), "the words themselves are remembered"


def test_after_a_talk_its_words_stand_with_who_spoke_them(client: TestClient, script: ScriptedModel) -> None:
    script_sister(script)
    held = talk(client)
    told = graph_of(client)
    entities = {entity["name"]: entity for entity in told["entities"]}
    assert {name: (one["person_id"], one["kind"], one["facts"]) for name, one in entities.items()} == {
        "Hanna": ("baker", "npc", 2)
    }
    edge = next(fact for fact in told["facts"] if fact["words"] == SISTER_TOLD)
    assert {key: value for key, value in edge.items() if key != "id"} == {
        "subject": "Hanna",
        "subject_id": entities["Hanna"]["id"],
        "relation": "remembers",
        "object": "Hanna",
        "object_id": entities["Hanna"]["id"],
        "statement": SISTER_TOLD,
        "words": SISTER_TOLD,
        "stated": False,
        "mode": "asserted",
        "importance": 5,
        "tellings": 1,
        "heard_from": "baker",
        "chain": ["baker"],
        "confidence": 0.8,
        "valid_at": "2026-04-01T07:00",
        "invalid_at": None,
        "learned_at": "2026-04-01T07:00",
        "expired_at": None,
        "replaced_by": None,
        "conversation_id": held["id"],
        "turn": 1,
        "holds": True,
    }
    (episode,) = told["episodes"]
    assert {key: value for key, value in episode.items() if key not in ("id", "name")} == {
        "summary": SISTER["en"]["summary"][0]["text"],
        "partner_id": "baker",
        "partner_name": "Hanna",
        "conversation_id": held["id"],
        "at": "2026-04-01T07:00",
    }


def test_a_name_spelled_otherwise_is_the_same_entity(client: TestClient) -> None:
    remember(client, 1, ("Ｌｏｔｔｅ", "lives in", "town"), at=BEFORE)
    before = {one["facts"]: one["id"] for one in graph_of(client)["entities"] if one["name"] != "town"}
    remember(client, 2, ("lotte", "likes", "tea"), ("Sora", "knows", "LOTTE"), at="2026-03-02T07:00")
    told = graph_of(client)
    first = told["entities"][0]
    assert (first["facts"], first["id"]) == (3, before[1])
    assert {(one["name"], one["kind"]) for one in told["entities"] if one["person_id"]} == {("Sora", "character")}
    assert len(told["entities"]) == 4


def test_a_fact_about_itself_is_counted_once(client: TestClient) -> None:
    remember(client, 1, ("Lotte", "is", "lotte"), at=BEFORE)
    assert [one["facts"] for one in graph_of(client)["entities"]] == [1]


def test_a_replaced_fact_is_there_unless_only_what_holds_is_asked_for(client: TestClient) -> None:
    (old,) = remember(client, 1, ("Lotte", "lives in", "town"), at=BEFORE)
    (new,) = remember(client, 2, ("Lotte", "lives in", "harbour"), at="2026-03-09T07:00", replaces=(old,))
    told = graph_of(client)
    assert [(fact["id"], fact["holds"]) for fact in told["facts"]] == [(new, True), (old, False)]
    closed = told["facts"][1]
    assert (closed["replaced_by"], closed["invalid_at"], closed["expired_at"]) == (new, *["2026-03-09T07:00"] * 2)

    held = graph_of(client, history=False)
    assert [fact["id"] for fact in held["facts"]] == [new]
    assert {one["name"] for one in held["entities"]} == {"Lotte", "harbour"}
    assert held["facts_total"] == 1
    assert len(held["episodes"]) == 2


def test_what_has_yet_to_come_true_is_no_past(client: TestClient) -> None:
    remember(client, 1, ("Lotte", "moves to", "harbour"), at=BEFORE, valid_at=parse_time("2026-06-01T00:00"))
    (fact,) = graph_of(client, history=False)["facts"]
    assert fact["holds"] is False


def test_the_newest_facts_come_first_and_the_limit_keeps_those(client: TestClient) -> None:
    for number in range(1, 6):
        remember(client, number, ("Hanna", "sold", f"loaf {number}"), at=f"2026-03-0{number}T07:00")
    told = graph_of(client, limit=2)
    assert statements(told) == ["Hanna sold loaf 5.", "Hanna sold loaf 4."]
    assert told["facts_total"] == 5
    assert {one["name"]: one["facts"] for one in told["entities"]} == {"Hanna": 2, "loaf 4": 1, "loaf 5": 1}
    assert [episode["summary"] for episode in told["episodes"]] == ["They spoke, 5.", "They spoke, 4."]
    assert statements(graph_of(client))[-1] == "Hanna sold loaf 1."


def test_a_memory_belongs_to_one_character_of_one_world(client: TestClient) -> None:
    remember(client, 1, ("Lotte", "lives in", "town"), at=BEFORE)
    assert graph_of(client, "umi")["facts"] == []
    assert graph_of(client, world="other")["facts"] == []


@pytest.mark.parametrize("limit", [0, 2001, "many"])
def test_the_limit_is_bounded(client: TestClient, limit: object) -> None:
    problem(client.get("/characters/sora/memory/graph", params={"limit": str(limit)}), 422, "invalid")


def test_nobody_has_no_memory(client: TestClient) -> None:
    problem(client.get("/characters/nobody/memory/graph"), 404, "not-found")
    problem(client.get("/characters/baker/memory/graph"), 404, "not-found")
