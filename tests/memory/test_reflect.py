"""What a person draws from its day, and what of it may stand: tests of service/memory/mind.py."""

from dataclasses import replace

import pytest

from service.memory.mind import (
    Evidence,
    InsightDraft,
    ReflectionContext,
    reflection_prompt,
    valid_insights,
)

EVIDENCE = (
    Evidence(
        ref="e1",
        text="Taro told Aoi of his boat; since Edda died he goes out alone.",
        source="talk:a",
        partner_ids=("npc_taro",),
    ),
    Evidence(ref="e2", text="Taro does not sell his two nets.", source="memory:f", partner_ids=("npc_taro",)),
)
CONTEXT = ReflectionContext(
    language="en",
    person_id="aoi",
    name="Aoi",
    now="Wednesday, 22:10",
    evidence=EVIDENCE,
    thoughts=("Taro is fond of his boat.",),
    personality="Curious and quick",
    wishes=("See the sea from above",),
)


def draft(text: str, *evidence: str, importance: int = 6) -> InsightDraft:
    return InsightDraft(text=text, evidence=list(evidence), importance=importance)


def told(*drafts: InsightDraft) -> tuple[list[str], list[tuple[str, str]]]:
    kept, dropped = valid_insights(drafts, CONTEXT)
    return [one.text for one in kept], [(one.text, one.reason) for one in dropped]


@pytest.mark.parametrize(
    "text", ["Taro is lonelier than he says.", "Taro est seul depuis la mort d'Edda.", "太郎は網を手放さない。"]
)
def test_a_conclusion_from_what_was_lived_through_stands(text: str) -> None:
    assert told(draft(text, "e1", "e2")) == ([text], [])


@pytest.mark.parametrize(
    ("text", "evidence", "reason"),
    [
        ("Taro is lonely.", (), "no_evidence"),
        ("Taro is lonely.", ("e9",), "no_evidence"),
        ("   ", ("e1",), "no_evidence"),
        ("Taro is fond of  his boat.", ("e1",), "known"),
    ],
)
def test_what_rests_on_nothing_or_is_thought_already_is_dropped_with_the_reason(
    text: str, evidence: tuple[str, ...], reason: str
) -> None:
    kept, dropped = told(draft(text, *evidence))
    assert kept == []
    assert [why for _, why in dropped] == [reason]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_prompt_begins_with_who_thinks_and_shows_the_evidence_with_its_refs_and_what_is_thought_already(
    language: str,
) -> None:
    system, user = reflection_prompt(replace(CONTEXT, language=language)).messages
    first, *_ = system.content.splitlines()
    assert "Aoi" in first
    assert "Curious and quick" in system.content
    assert "See the sea from above" in system.content
    assert "itself" not in system.content
    for one in EVIDENCE:
        assert f"[{one.ref}] {one.text}" in user.content
    assert "- Taro is fond of his boat." in user.content
