"""Holds questions to their evidence: what is kept is borne by the turns it names, as a second call finds."""

import asyncio
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest

from studio.generate.sessions.dialogue import DialogueTurn, HeldSession, LifeEvent
from studio.generate.sessions.questions import TalkContext, questions
from tests.scripted_model import ScriptedModel
from world.time import parse_time

TURNS = (
    DialogueTurn(id="D1:1", speaker="Mei", text="I lost the key to the kiln, 3 days ago."),
    DialogueTurn(id="D1:2", speaker="Ren", text="I have sold two boats to a man from Osaka."),
    DialogueTurn(id="D1:3", speaker="Mei", text="The kiln is cold now, so I paint fans with my sister Hana."),
    DialogueTurn(id="D1:4", speaker="Ren", text="My hands smell of tar and of the sea."),
)
EVENTS = {
    "Mei": [
        LifeEvent(id="a1", on=date(2026, 4, 17), text="lost the key to the kiln", causes=()),
        LifeEvent(id="a2", on=date(2026, 4, 25), text="painted fans with her sister Hana", causes=("a1",)),
        LifeEvent(id="a3", on=date(2026, 4, 19), text="began to paint fans with Hana", causes=("a1",)),
    ],
    "Ren": [LifeEvent(id="b1", on=date(2026, 4, 2), text="sold two boats to a man from Osaka", causes=())],
}
TALK = TalkContext(
    language="en",
    names=("Mei", "Ren"),
    events=EVENTS,
    sessions=[HeldSession(at=parse_time("2026-04-20T15:00"), turns=TURNS, summary="", observations=())],
    count=5,
)


def ask(category: str, question: str, answer: str, *evidence: str, event: str = "") -> dict[str, Any]:
    told = {"category": category, "question": question, "answer": answer, "event": event}
    return {**told, "evidence": list(evidence)}


KEY = ask("single_hop", "What did Mei lose?", "the key to the kiln", "D1:1")
FANS = ask("multi_hop", "What does Mei do since the kiln key is lost?", "paint fans", "D1:1", "D1:3")
WHEN = ask("temporal", "When did Mei lose the key?", "in May", "D1:1", event="a1")
SOLD = ask("temporal", "When did Ren sell the boats?", "", "D1:2", event="b1")
OPEN = ask("open_domain", "What does Ren work with, to smell of tar?", "ships", "D1:4")


TRAP = ask("adversarial", "What did Ren lose?", "the key to the kiln", "D1:1")


def answered(
    *drafts: dict[str, Any], borne: Sequence[int] | None = None
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    asking = ScriptedModel({"questions": list(drafts)})
    verifying = ScriptedModel({"borne": list(range(1, len(drafts) + 1) if borne is None else borne)})
    found, refused = asyncio.run(questions(asking, verifying, TALK))
    return [one.stored() for one in found], dict(refused)


def test_what_is_borne_is_kept_with_how_it_was_checked() -> None:
    found, refused = answered(KEY, FANS, WHEN, SOLD, OPEN, TRAP)
    assert refused == {}
    assert [(one["category"], one["answer"], one["checked"]) for one in found] == [
        ("single_hop", "the key to the kiln", "model"),
        ("multi_hop", "paint fans", "model"),
        ("temporal", "17 Apr 2026", "event"),
        ("temporal", "2 Apr 2026", "event"),
        ("open_domain", "ships", "model"),
        ("adversarial", None, "model"),
    ]
    assert found[-1] == {
        "question": "What did Ren lose?",
        "answer": None,
        "category": "adversarial",
        "adversarial_answer": "the key to the kiln",
        "evidence": ["D1:1"],
        "checked": "model",
    }


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        ({**KEY, "evidence": ["D9:1"]}, "no_such_turn"),
        ({**KEY, "evidence": []}, "too_little_evidence"),
        ({**FANS, "evidence": ["D1:1", "D1:1"]}, "too_little_evidence"),
        ({**KEY, "answer": " "}, "not_in_evidence"),
        ({**WHEN, "event": "a9"}, "no_such_event"),
        (ask("temporal", "When did Mei paint?", "", "D1:3", event="a2"), "before_it_happened"),
    ],
)
def test_what_has_not_the_form_is_left_out_and_counted(draft: dict[str, Any], reason: str) -> None:
    assert answered(draft) == ([], {reason: 1})


def test_what_the_second_call_does_not_find_borne_is_left_out_in_any_language() -> None:
    other = ask("single_hop", "Was hat Ren verkauft?", "drei Boote", "D1:2")
    found, refused = answered(KEY, other, borne=[1])
    assert ([one["question"] for one in found], refused) == ([KEY["question"]], {"not_in_evidence": 1})


def test_a_question_stands_once() -> None:
    found, refused = answered(SOLD, {**SOLD, "question": "When did Ren sell the boats"})
    assert (len(found), refused) == (1, {"twice": 1})
