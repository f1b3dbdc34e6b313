"""Holds an event graph to what it must be: in the span, causes before effects, linked; asked for twice at most."""

import asyncio
from datetime import date
from typing import Any

import pytest

from service.content.profile import CharacterProfile
from service.locales import Language, languages
from studio.generate.dataset import Dropped
from studio.generate.sessions.dialogue import EventDraft, EventGraphContext, event_graph, faults_of
from tests.scripted_model import ScriptedModel

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


def event(on: str, *causes: int) -> dict[str, Any]:
    return {"date": on, "event": f"broke the bowl of {on}.", "caused_by": list(causes)}


FINE = [event("2026-05-02"), event("2026-05-09", 1), event("2026-04-03")]


@pytest.mark.parametrize(
    ("events", "faults"),
    [
        (FINE, []),
        ([*FINE, event("2026-07-01")], ["date"]),
        ([*FINE, event("2026-02-30")], ["date"]),
        ([*FINE, event("2026-06-01", 9)], ["cause_later"]),
        ([*FINE, event("2026-05-01", 1)], ["cause_later"]),
        ([*FINE, event("2026-05-01", 4)], ["cause_later"]),
        ([event("2026-05-02", 2), event("2026-05-02", 1)], ["cause_later"]),
        ([event("2026-05-02")], ["few", "unlinked"]),
    ],
)
def test_a_graph_is_refused_for_what_it_must_not_be(events: list[dict[str, Any]], faults: list[str]) -> None:
    found = faults_of([EventDraft(**one) for one in events], context())
    assert [one.key.removeprefix("generate.faults.") for one in found] == faults


def test_a_graph_that_cannot_be_is_asked_for_once_more_with_what_is_wrong() -> None:
    model = ScriptedModel({"events": FINE[:1]}, {"events": [*FINE, event("2026-06-01"), event("2026-06-02", 4)]})
    found = asyncio.run(event_graph(model, context(), "a"))
    assert [(one.id, one.on.isoformat(), one.text, one.causes) for one in found] == [
        ("a1", "2026-04-03", "broke the bowl of 2026-04-03", ()),
        ("a2", "2026-05-02", "broke the bowl of 2026-05-02", ()),
        ("a3", "2026-05-09", "broke the bowl of 2026-05-09", ("a2",)),
        ("a4", "2026-06-01", "broke the bowl of 2026-06-01", ()),
    ]
    assert "1 events are too few" not in model.history[0].messages[1].content
    assert "1 events are too few; 4 were asked for" in model.history[1].messages[1].content


def test_a_second_graph_that_cannot_be_drops_the_item() -> None:
    model = ScriptedModel(*({"events": FINE[:1]} for _ in range(2)))
    with pytest.raises(Dropped, match="event_graph"):
        asyncio.run(event_graph(model, context(), "a"))


@pytest.mark.parametrize("language", languages())
def test_the_model_is_told_who_it_is_and_when(language: Language) -> None:
    model = ScriptedModel({"events": FINE})
    asyncio.run(event_graph(model, context(language), "a"))
    (prompt,) = model.history
    for words in ("Mei", "A potter.", "sells bowls", "Ren", "2026-04-01", "2026-06-30", "work", "health", " 4 "):
        assert words.strip() in prompt.messages[1].content
