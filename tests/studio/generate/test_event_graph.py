"""Holds an event graph to what it must be: in the span, causes before effects, linked; asked for twice at most."""

from datetime import date
from typing import Any

import pytest

from service.content.profile import CharacterProfile
from service.locales import Language
from studio.generate.sessions.dialogue import EventDraft, EventGraphContext, faults_of

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
