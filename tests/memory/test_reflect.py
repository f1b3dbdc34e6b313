"""What a person draws from its day, and what of it may stand: tests of service/memory/reflect.py."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from service.llm.scripted import ScriptedModel
from service.memory.reflect import (
    MOST_EPISODES,
    MOST_FACTS,
    Evidence,
    InsightDraft,
    ReflectionContext,
    gather_evidence,
    reflect,
    reflection_prompt,
    valid_insights,
)
from service.memory.record import Episode, Fact
from world.time import WorldTime

EVIDENCE = (
    Evidence(
        ref="e1",
        text="Taro told Aoi of his boat; since Edda died he goes out alone.",
        source="talk:a",
        partner_ids=("npc_taro",),
    ),
    Evidence(ref="e2", text='Taro said: "I do not sell my two nets."', source="fact:f", partner_ids=("npc_taro",)),
)
CONTEXT = ReflectionContext(
    language="en",
    person_id="aoi",
    name="Aoi",
    now="Wednesday, 22:10",
    evidence=EVIDENCE,
    thoughts=("Taro is fond of his boat.",),
    names=frozenset({"Aoi", "Taro"}),
)


def draft(text: str, *evidence: str, importance: int = 6) -> InsightDraft:
    return InsightDraft(text=text, evidence=list(evidence), importance=importance)


def told(*drafts: InsightDraft) -> tuple[list[str], list[tuple[str, str]]]:
    kept, dropped = valid_insights(drafts, CONTEXT)
    return [one.text for one in kept], [(one.text, one.reason) for one in dropped]


@pytest.mark.parametrize(
    "text", ["Taro is lonelier than he says.", "Taro has been lonely since Edda died.", "Taro will not sell his nets."]
)
def test_a_conclusion_from_what_was_lived_through_stands(text: str) -> None:
    assert told(draft(text, "e1", "e2")) == ([text], [])


@pytest.mark.parametrize(
    ("text", "evidence", "reason"),
    [
        ("Taro is lonely.", (), "no_evidence"),
        ("Taro is lonely.", ("e9",), "no_evidence"),
        ("   ", ("e1",), "no_evidence"),
        ("Taro has three boats to care for.", ("e1", "e2"), "not_in_evidence"),
        ("Taro misses his brother Jiro.", ("e1",), "not_in_evidence"),
        ("Taro never trusted Aoi.", ("e1",), "not_in_evidence"),
        ("Taro would sell his nets.", ("e2",), "not_in_evidence"),
        ("Taro has been lonely since Edda died.", ("e2",), "not_in_evidence"),
        ("Taro is fond of his boat!", ("e1",), "known"),
    ],
)
def test_what_its_evidence_does_not_carry_is_dropped_with_the_reason(
    text: str, evidence: tuple[str, ...], reason: str
) -> None:
    kept, dropped = told(draft(text, *evidence))
    assert kept == []
    assert [why for _, why in dropped] == [reason]


def test_the_same_thought_is_kept_once() -> None:
    kept, dropped = told(draft("Taro is lonely.", "e1"), draft("Taro is lonely!", "e2"))
    assert (kept, dropped) == (["Taro is lonely."], [("Taro is lonely!", "known")])


def test_an_insight_keeps_its_evidence_and_its_importance() -> None:
    (kept,), _ = valid_insights([draft("Taro is lonely.", "e2", "e1", importance=8)], CONTEXT)
    assert [one.source for one in kept.evidence] == ["talk:a", "fact:f"]
    assert kept.importance == 8


def fact(number: int, importance: int) -> Fact:
    told: dict[str, Any] = {"subject": "Taro", "relation": "said", "object": "it", "partner_id": "npc_taro"}
    at = WorldTime(number)
    return Fact(
        id=f"f{number}",
        statement=f"fact {number}",
        valid_at=at,
        invalid_at=None,
        created_at=at,
        expired_at=None,
        replaced_by=None,
        conversation_id="a",
        turn=0,
        importance=importance,
        **told,
    )


def test_what_matters_most_is_thought_over_in_the_order_it_was_lived() -> None:
    episodes = [
        Episode(conversation_id=f"c{n:02}", partner_id="npc_taro", summary=f"talk {n}", topics=(), at=WorldTime(n))
        for n in range(MOST_EPISODES + 3)
    ]
    facts = [fact(number, importance=1 + number % 10) for number in range(40)]
    found = gather_evidence(episodes, facts)
    assert [one.source for one in found[:MOST_EPISODES]] == [f"talk:c{n:02}" for n in range(3, MOST_EPISODES + 3)]
    chosen = [one.source for one in found[MOST_EPISODES:]]
    assert len(chosen) == MOST_FACTS
    assert {"fact:f9", "fact:f19", "fact:f29", "fact:f39"} <= set(chosen)
    assert chosen == sorted(chosen, key=lambda source: int(source.removeprefix("fact:f")))
    assert [one.ref for one in found] == [f"e{n}" for n in range(1, len(found) + 1)]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_prompt_shows_the_evidence_with_its_refs_and_what_is_thought_already(language: str) -> None:
    system, user = reflection_prompt(replace(CONTEXT, language=language)).messages
    assert "Aoi" in system.content
    for one in EVIDENCE:
        assert f"[{one.ref}] {one.text}" in user.content
    assert "- Taro is fond of his boat." in user.content


def test_one_call_is_made_by_the_closings_model() -> None:
    script = ScriptedModel({"insights": []})
    asyncio.run(reflect(script, CONTEXT, "main/aoi"))
    (asked,) = script.history
    assert (asked.name, asked.role, asked.thread) == ("reflection", "closing", "main/aoi")
