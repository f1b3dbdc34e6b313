"""Owns the tests of a character's whole long-term memory as a graph, as a client reads it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlmodel import Session

from service.app import create_app
from service.llm.choose import ROLES, Models
from service.memory.record import Embedded, Episode, Group, Kind, Memory, Support, derived_memory_id
from service.store.tables import SummaryRow
from tests.api.play import SISTER, SISTER_TOLD, problem, script_sister, settings_for, talk
from tests.scripted_model import ScriptedModel
from tests.store.conversations import conversation_row
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


def remember(client: TestClient, number: int, *facts: tuple[str, str], at: str, **more: Any) -> list[str]:
    """An episode with the baker and its memories (about whom or what, and the text), told by her; their ids."""
    conversation_id, moment = f"talk-{number}", parse_time(at)
    episode = Episode(
        conversation_id=conversation_id, partner_id="baker", text=f"They spoke, {number}.", topics=(), at=moment
    )
    usual = {"told_by": "baker", "partner_id": "baker", "valid_from": moment, "known_from": moment}
    memories = [
        Memory(
            **{
                "id": derived_memory_id("sora", conversation_id, index),
                "kind": Kind.FACT,
                "text": text,
                "about": about,
                "turns": (index,),
                **usual,
                **more,
            }
        )
        for index, (about, text) in enumerate(facts)
    ]
    room = client.app.state.deps.conversation  # type: ignore[attr-defined]

    def work(session: Session) -> None:
        revision = room.memory.remember(session, SORA, memories, Embedded(), episode)
        row: dict[str, Any] = {"node_id": "door", "language": "en", "max_turns": 10, "phase": "closed", "models": {}}
        talk = conversation_row(id=conversation_id, world_id="main", character_id="sora", npc_id="baker", **row)
        talk.started_at = moment
        session.add(talk)
        session.flush()
        session.add(
            SummaryRow(
                **SORA.whose,
                conversation_id=conversation_id,
                partner_id="baker",
                summary=episode.text,
                topics=[],
                at=moment,
                revision=revision,
            )
        )

    room.database.write_now(work)
    return [f"fact.{one.id}" for one in memories]


def texts(told: dict[str, Any]) -> list[str]:
    """Of the facts, in their order."""
    return [fact["text"] for fact in told["facts"]]


def test_after_a_talk_a_memory_is_an_edge_from_who_told_it_to_what_it_is_about(
    client: TestClient, script: ScriptedModel
) -> None:
    script_sister(script)
    held = talk(client)
    told = graph_of(client)
    entities = {entity["name"]: entity for entity in told["entities"]}
    assert {name: (one["person_id"], one["kind"], one["facts"]) for name, one in entities.items()} == {
        "Hanna": ("baker", "npc", 2),
        "Lotte": (None, None, 1),
        "rye": (None, None, 1),
    }
    (edge,) = [fact for fact in told["facts"] if fact["text"] == SISTER_TOLD]
    assert (edge["from_id"], edge["to_id"], edge["holds"]) == (entities["Hanna"]["id"], entities["Lotte"]["id"], True)
    assert (edge["told_by"], edge["conversation_id"], edge["turns"]) == ("baker", held["id"], [1])
    assert edge["line"] == f"(just now) What Hanna has told you: {SISTER_TOLD}"
    (episode,) = told["episodes"]
    assert {key: value for key, value in episode.items() if key not in ("id", "name")} == {
        "summary": SISTER["en"]["people"]["a"]["paragraph"][0],
        "partner_id": "baker",
        "partner_name": "Hanna",
        "conversation_id": held["id"],
        "at": "2026-04-01T07:00",
    }


def test_what_nobody_told_leads_from_the_one_who_remembers_it(client: TestClient) -> None:
    remember(client, 1, ("the mill", "The mill burns."), at=BEFORE, told_by=None, support=Support.PERCEIVED)
    told = graph_of(client)
    names = {one["id"]: one["name"] for one in told["entities"]}
    assert [(names[one["from_id"]], names[one["to_id"]]) for one in told["facts"]] == [("Sora", "the mill")]


def test_a_name_spelled_otherwise_is_the_same_entity(client: TestClient) -> None:
    remember(client, 1, ("Ｌｏｔｔｅ", "Lotte lives in town."), at=BEFORE)
    before = {one["name"]: one["id"] for one in graph_of(client)["entities"]}
    remember(client, 2, ("lotte", "Lotte likes tea."), ("LOTTE", "Lotte knows Sora."), at="2026-03-02T07:00")
    told = graph_of(client)
    (lotte,) = [one for one in told["entities"] if one["id"] == before["Ｌｏｔｔｅ"]]
    assert lotte["facts"] == 3
    assert {(one["name"], one["kind"]) for one in told["entities"] if one["person_id"]} == {("Hanna", "npc")}
    assert len(told["entities"]) == 2


def test_a_replaced_fact_is_there_unless_only_what_holds_is_asked_for(client: TestClient) -> None:
    (old,) = remember(client, 1, ("Lotte", "Lotte lives in town."), at=BEFORE)
    replaces = (old.partition(".")[2],)
    (new,) = remember(client, 2, ("Lotte", "Lotte lives by the sea."), at="2026-03-09T07:00", replaces=replaces)
    told = graph_of(client)
    assert [(fact["id"], fact["holds"]) for fact in told["facts"]] == [(new, True), (old, False)]
    closed = told["facts"][1]
    assert (f"fact.{closed['replaced_by']}", closed["valid_to"], closed["known_until"]) == (
        new,
        *["2026-03-09T07:00"] * 2,
    )
    held = graph_of(client, history=False)
    assert [fact["id"] for fact in held["facts"]] == [new]
    assert held["facts_total"] == 1
    assert len(held["episodes"]) == 2


def test_what_has_yet_to_come_true_is_no_past(client: TestClient) -> None:
    later = parse_time("2026-06-01T00:00")
    remember(client, 1, ("Lotte", "Lotte moves to the harbour."), at=BEFORE, valid_from=later)
    (fact,) = graph_of(client, history=False)["facts"]
    assert fact["holds"] is False


def test_the_newest_facts_come_first_and_the_limit_keeps_those(client: TestClient) -> None:
    for number in range(1, 6):
        remember(client, number, (f"loaf {number}", f"Hanna sold loaf {number}."), at=f"2026-03-0{number}T07:00")
    told = graph_of(client, limit=2)
    assert texts(told) == ["Hanna sold loaf 5.", "Hanna sold loaf 4."]
    assert told["facts_total"] == 5
    assert {one["name"]: one["facts"] for one in told["entities"]} == {"Hanna": 2, "loaf 4": 1, "loaf 5": 1}
    assert [episode["summary"] for episode in told["episodes"]] == ["They spoke, 5.", "They spoke, 4."]
    assert texts(graph_of(client))[-1] == "Hanna sold loaf 1."


@pytest.mark.parametrize("limit", [0, 2001, "many"])
def test_the_limit_is_bounded(client: TestClient, limit: object) -> None:
    problem(client.get("/characters/sora/memory/graph", params={"limit": str(limit)}), 422, "invalid")


def test_nobody_has_no_memory(client: TestClient) -> None:
    problem(client.get("/characters/nobody/memory/graph"), 404, "not-found")
    problem(client.get("/characters/baker/memory/graph"), 404, "not-found")
