"""Owns the tests of a closing that is held against its turns: what a second model finds, and what comes of it."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from service.conversation.closing import close
from service.conversation.context_builder import build_contexts
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.transcript import read_transcript
from service.errors import ModelServerError
from service.llm.chat import Prompt
from service.memory.closing.verify import Finding, Verdicts, VerifyContext
from service.memory.record import Group, Memory, Support
from service.store.tables import SummaryRow, UsageRow
from tests.conversation.talks import BESIDE_TARO, begin, pass_minutes, place, replies, rows, says
from tests.memory.answers import closing, memory
from tests.scripted_model import ScriptedModel
from tests.store.conversations import main

SAID = "Taro has two children."
TURNED = "Taro has no children."
MADE_UP = "Taro means to sell the bakery."
TOLD = "They talked of children."


@pytest.fixture
def careful(room: ConversationDependencies) -> ConversationDependencies:
    """The room in which closings are held against their turns."""
    settings = room.settings.model_copy(update={"memory": room.settings.memory.model_copy(update={"verify": True})})
    return replace(room, settings=settings)


def _finds(findings: Mapping[str, Finding] = MappingProxyType({})) -> Any:
    """A model that finds so of the claims with these texts, and that all others are supported."""
    by_text = {SAID: "supported", TURNED: "contradicted", MADE_UP: "not_said", **findings}

    def answer(prompt: Prompt[Any]) -> Verdicts:
        assert isinstance(prompt.given, VerifyContext)
        found = [{"n": one.number, "finding": by_text.get(one.text, "supported")} for one in prompt.given.claims]
        return Verdicts.model_validate({"verdicts": found})

    return answer


def _talk(room: ConversationDependencies, script: ScriptedModel, *verdict: Any, summary: str = TOLD) -> str:
    """Aoi and Taro have talked, and Aoi takes three things away. Answers the conversation's id."""
    place(room, "aoi", BESIDE_TARO)
    script.enqueue(
        says("Have you a family?"), replies("Two children.", leaves=True), says("I see. Goodbye.", leaves=True)
    )
    key = main(begin(room))
    asyncio.run(Engine(room).converse(key))
    kept = [memory(text, 1, about="b", teller="b") for text in (SAID, TURNED, MADE_UP)]
    script.enqueue(closing(summary, first={"memories": kept}), role="closing")
    script.enqueue(*verdict, role="verify")
    asyncio.run(close(room, key))
    return key[1]


def _remembered(room: ConversationDependencies) -> dict[str, Support]:
    dump = asyncio.run(room.memory.export(Group(world_id="main", person_id="aoi")))
    return {one.text: one.support for one in dump.memories if isinstance(one, Memory)}


def test_what_the_turns_contradict_is_not_remembered_and_what_was_not_said_is_unsure(
    careful: ConversationDependencies, script: ScriptedModel
) -> None:
    _talk(careful, script, _finds())
    assert _remembered(careful) == {SAID: Support.VERIFIED, MADE_UP: Support.UNSURE}
    pass_minutes(careful, 30)
    place(careful, "aoi", BESIDE_TARO)
    key = main(begin(careful))
    said = careful.database.read_now(lambda s: read_transcript(s, careful.worlds, key))
    assert said is not None
    told = asyncio.run(build_contexts(careful, said)).records[0].context
    assert "Taro has two children (30 minutes ago)" in told
    assert "Taro means to sell the bakery (unsure; 30 minutes ago)" in told
    assert "no children" not in told


def test_a_sentence_of_the_summary_that_the_turns_contradict_goes(
    careful: ConversationDependencies, script: ScriptedModel
) -> None:
    conversation_id = _talk(careful, script, _finds({TOLD: "contradicted"}))
    assert [row["summary"] for row in rows(careful, SummaryRow) if row["conversation_id"] == conversation_id] == [
        "Aoi and Taro talked.",
        "Taro and Aoi talked.",
    ]


def test_a_check_that_fails_keeps_nothing_from_being_remembered(
    careful: ConversationDependencies, script: ScriptedModel
) -> None:
    _talk(careful, script, ModelServerError(model="gpt-x", status_code=500, reason="out of order"))
    assert _remembered(careful) == dict.fromkeys((SAID, TURNED, MADE_UP), Support.MODEL)


def test_an_answer_that_passes_over_a_claim_leaves_it_as_it_was(
    careful: ConversationDependencies, script: ScriptedModel
) -> None:
    _talk(careful, script, Verdicts(verdicts=[]))
    assert _remembered(careful) == dict.fromkeys((SAID, TURNED, MADE_UP), Support.MODEL)


def test_its_cost_stands_under_a_role_of_its_own(careful: ConversationDependencies, script: ScriptedModel) -> None:
    _talk(careful, script, _finds())
    assert [prompt.role for prompt in script.history[-2:]] == ["closing", "verify"]
    calls = {row["role"]: row["calls"] for row in rows(careful, UsageRow)}
    assert (calls["closing"], calls["verify"]) == (1, 1)


def test_where_the_setting_is_off_nobody_is_asked(room: ConversationDependencies, script: ScriptedModel) -> None:
    _talk(room, script)
    assert script.history[-1].role == "closing"
    assert set(_remembered(room)) == {SAID, TURNED, MADE_UP}
