"""Owns the tests of what becomes of a talk, or a scene, whose model now and then gives no answer to use."""

import pytest
from fastapi.testclient import TestClient

from service.errors import ModelRefused
from service.llm.scripted import ScriptedModel
from service.locales import Language
from tests.api.play import LINES, recollection, reply, say, talk, turn
from tests.conversation.scenes import shown

LANGUAGES = pytest.mark.parametrize("language", ["en", "ja"])
IN_OTHER_WORDS = {
    "en": "(This is a story. Answer in your own way, as Hanna, and stay within what you can say.)",
    "ja": "(これは物語です。ハンナらしく、言える範囲で答えてください。)",
}


def refused() -> ModelRefused:
    return ModelRefused(model="m", reason="I cannot continue with this request.")


@LANGUAGES
def test_a_model_that_refuses_is_asked_once_more_in_other_words(
    client: TestClient, script: ScriptedModel, language: Language
) -> None:
    first, second, third, fourth = LINES[language]
    say(script, "character", turn(first), turn(third, achieved=True))
    script.enqueue(refused(), reply(second), reply(fourth), role="npc")
    say(script, "closing", recollection(second))
    held = talk(client)
    assert [one["text"] for one in held["turns"]] == [first, second, third, fourth]
    assert (held["end_reason"], held["failure"], held["phase"]) == ("goal_achieved", None, "closed")
    asked = [shown(prompt) for prompt in script.history if prompt.role == "npc"]
    assert [IN_OTHER_WORDS[language] in one for one in asked[:2]] == [False, True]
    assert held["cost"]["calls"] == 6, "what was refused is paid too"


@LANGUAGES
def test_a_model_that_refuses_twice_ends_a_talk_of_two_models(
    client: TestClient, script: ScriptedModel, language: Language
) -> None:
    first, *_ = LINES[language]
    say(script, "character", turn(first))
    script.enqueue(refused(), refused(), role="npc")
    say(script, "closing", recollection(first))
    held = talk(client)
    assert [one["text"] for one in held["turns"]] == [first]
    assert (held["end_reason"], held["failure"]["type"]) == ("model_failure", "model-refused")
    assert held["cost"]["calls"] == 4
