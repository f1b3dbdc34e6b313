"""Owns the tests of the tests' model."""

import asyncio
import time

import pytest
from pydantic import ValidationError

from service.conversation.acting import CharacterTurn, NpcTurn
from service.errors import ModelRefused
from service.llm.chat import Answer, Prompt
from tests.llm.prompts import TURN, ask
from tests.scripted_model import Scripted, ScriptedModel, ScriptError


def play(*script: Scripted) -> Answer[CharacterTurn]:
    return asyncio.run(ScriptedModel(*script).complete(ask()))


def test_answers_come_in_order_and_prompts_are_kept() -> None:
    model = ScriptedModel(TURN, CharacterTurn(**{**TURN, "utterance": "second"}))
    prompts = [ask(max_tokens=1), ask(max_tokens=2)]
    answers = [asyncio.run(model.complete(prompt)) for prompt in prompts]
    assert [a.value.utterance for a in answers] == [TURN["utterance"], "second"]
    assert model.history == prompts
    assert model.unused == 0


def test_a_function_answers_from_the_prompt() -> None:
    def echo(prompt: Prompt[CharacterTurn]) -> CharacterTurn:
        return CharacterTurn(**{**TURN, "utterance": prompt.messages[-1].content})

    assert play(echo).value.utterance == "Speak."


def test_an_error_of_the_script_is_raised() -> None:
    with pytest.raises(ModelRefused):
        play(ModelRefused(model="m", reason="no"))


def test_an_empty_queue_names_the_prompt() -> None:
    with pytest.raises(ScriptError, match=r"no answer left for prompt 'turn' of role 'character' \(prompt number 1\)"):
        play()


def test_an_answer_of_another_type_is_the_scripts_fault() -> None:
    with pytest.raises(ScriptError, match="wants CharacterTurn, the script has NpcTurn"):
        play(NpcTurn(utterance="a", emotion="sad", wants_to_end=False))


def test_fields_that_do_not_fit_are_not_answered() -> None:
    with pytest.raises(ValidationError):
        play({**TURN, "emotion": "hungry"})


def test_a_roles_own_answers_come_before_those_for_everybody() -> None:
    model = ScriptedModel({**TURN, "utterance": "anybody"})
    model.enqueue({**TURN, "utterance": "npc"}, role="npc")
    said = [asyncio.run(model.complete(ask(role=role))).value.utterance for role in ("character", "npc")]
    assert said == ["anybody", "npc"]


@pytest.mark.parametrize(
    ("utterance", "count"), [("Good day, Ren.", 3), ("やあ、今日はいい天気", 5), ("Hi レン!", 3), (" x", 2)]
)
def test_the_utterance_is_spoken_piece_by_piece_up_to_its_end(utterance: str, count: int) -> None:
    heard: list[str] = []
    asyncio.run(ScriptedModel({**TURN, "utterance": utterance}).complete(ask(), lambda text, _: heard.append(text)))
    assert heard[-1] == utterance
    assert len(heard) == count
    assert all(utterance.startswith(text) for text in heard)


def test_the_latency_passes_before_the_answer() -> None:
    start = time.perf_counter()
    asyncio.run(ScriptedModel(TURN, latency_seconds=0.05).complete(ask()))
    assert time.perf_counter() - start >= 0.05


def test_the_cost_is_estimated_from_the_texts() -> None:
    usage = play(TURN).usage
    assert usage.calls == 1
    assert usage.estimated
    assert usage.prompt_tokens > 8
    assert usage.completion_tokens > 10
