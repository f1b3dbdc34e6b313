"""Holds an event graph to what it must be: in the span, causes before effects, linked; asked for twice at most."""

import asyncio
from datetime import date
from typing import Any

import pytest

from service.content.profile import CharacterProfile
from service.generate.problem import Dropped
from service.generate.sessions.event_graph import EventDraft, EventGraphContext, event_graph, faults_of
from service.llm.scripted import ScriptedModel
from service.locales import Language, languages

MEI = CharacterProfile(id="mei", name="Mei", personality="A potter.", home="here", facts=("sells bowls",))


def context(language: Language = "en") -> EventGraphContext:
    return EventGraphContext(
        language=language,
        person=MEI,
        partner_name="Ren",
        first=date(2026, 4, 1),
        last=date(2026, 6, 30),
        count=4,
        themes=("work", "health"),
    )


def event(name: str, on: str, *causes: str) -> dict[str, Any]:
    return {"id": name, "date": on, "event": f"broke bowl number {name}.", "caused_by": list(causes)}


FINE = [event("e1", "2026-05-02"), event("e2", "2026-05-09", "e1"), event("e3", "2026-04-03")]


@pytest.mark.parametrize(
    ("events", "faults"),
    [
        (FINE, []),
        ([*FINE, event("e1", "2026-05-20")], ["twice"]),
        ([*FINE, event("e4", "2026-07-01")], ["date"]),
        ([*FINE, event("e4", "2026-02-30")], ["date"]),
        ([*FINE, event("e4", "2026-05-01", "e9")], ["unknown_cause"]),
        ([*FINE, event("e4", "2026-05-01", "e1")], ["cause_later"]),
        ([*FINE, event("e4", "2026-05-01", "e4")], ["cause_later"]),
        ([event("e1", "2026-05-02", "e2"), event("e2", "2026-05-02", "e1")], ["cause_later"]),
        ([event("e1", "2026-05-02")], ["few", "unlinked"]),
    ],
)
def test_a_graph_is_refused_for_what_it_must_not_be(events: list[dict[str, Any]], faults: list[str]) -> None:
    found = faults_of([EventDraft(**one) for one in events], context())
    assert [one.key.removeprefix("generate.faults.") for one in found] == faults


def test_a_graph_that_cannot_be_is_asked_for_once_more_with_what_is_wrong() -> None:
    model = ScriptedModel({"events": [event("e1", "2026-05-02")]}, {"events": [*FINE, event("e4", "2026-06-01")]})
    found = asyncio.run(event_graph(model, context(), "a"))
    assert [(one.id, one.on.isoformat(), one.text, one.causes) for one in found] == [
        ("a1", "2026-04-03", "broke bowl number e3", ()),
        ("a2", "2026-05-02", "broke bowl number e1", ()),
        ("a3", "2026-05-09", "broke bowl number e2", ("a2",)),
        ("a4", "2026-06-01", "broke bowl number e4", ()),
    ]
    assert "1 events are too few" not in model.history[0].messages[1].content
    assert "1 events are too few; 4 were asked for" in model.history[1].messages[1].content


def test_a_second_graph_that_cannot_be_drops_the_item() -> None:
    model = ScriptedModel(*({"events": [event("e1", "2026-05-02")]} for _ in range(2)))
    with pytest.raises(Dropped, match="event_graph"):
        asyncio.run(event_graph(model, context(), "a"))


@pytest.mark.parametrize("language", languages())
def test_the_model_is_told_who_it_is_and_when(language: Language) -> None:
    model = ScriptedModel({"events": FINE})
    asyncio.run(event_graph(model, context(language), "a"))
    (prompt,) = model.history
    for words in ("Mei", "A potter.", "sells bowls", "Ren", "2026-04-01", "2026-06-30", "work", "health", " 4 "):
        assert words.strip() in prompt.messages[1].content
