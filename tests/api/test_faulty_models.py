"""Owns the tests of what becomes of a talk, or a scene, whose model now and then gives no answer to use."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.errors import ModelRefused
from service.locales import Language
from tests.api.play import (
    LINES,
    SISTER,
    TALK,
    listen,
    recollection,
    reply,
    serve,
    settings_for,
    turn,
)
from tests.api.test_player import begin
from tests.api.test_player import say as say_to_baker
from tests.conversation.scenes import acts, shown
from tests.scripted_model import ScriptedModel
from tests.servers import NO_AUTHORITIES
from tests.servers.fake_openai import FakeOpenAI, Reply

LANGUAGES = pytest.mark.parametrize("language", ["en", "ja"])


def refused() -> ModelRefused:
    return ModelRefused(model="m", reason="I cannot continue with this request.")


MARKS = ("<|im_start|>", "<|eot_id|>", "<｜end▁of▁sentence｜>", "[INST]", "[/INST]", "</s>", "<</SYS>>", "{{user}}")
MARKED = ("<|", "｜>", "INST]", "</s>", "SYS", "{{", "think")
"""Of which nothing may be told or kept."""


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    """A model's server that answers what it is told to."""
    with FakeOpenAI() as running:
        yield running


@pytest.fixture
def served(tmp_path: Path, millbrook: Path, server: FakeOpenAI, language: Language) -> Iterator[httpx.Client]:
    """A client of the service, on that server."""
    llm = {"base_url": server.base_url, "model": "gpt-x", "backoff_seconds": 0}
    app = create_app(settings_for(tmp_path, millbrook, language=language, llm=llm))
    with serve(app) as url, httpx.Client(base_url=url, timeout=20, trust_env=False, verify=NO_AUTHORITIES) as client:
        yield client


def marked(value: Any) -> Any:
    """The value with a mark, or two that stand in each other, at the end of each text."""
    if isinstance(value, str):
        return f"{value} <|im_<|im_start|>end|>"
    if isinstance(value, list):
        return [marked(one) for one in value]
    return {key: marked(one) for key, one in value.items()} if isinstance(value, dict) else value


def spoken(text: str) -> str:
    """The text with marks all over it."""
    parts = zip(MARKS, (text[i : i + 4] for i in range(0, 32, 4)), strict=True)
    return "<think>Whom do I play?</think>" + "".join(mark + part for mark, part in parts) + text[32:]


@LANGUAGES
@pytest.mark.parametrize("piece", [1, 5])
def test_marks_that_a_model_leaves_in_its_words_are_neither_told_nor_remembered(
    served: httpx.Client, server: FakeOpenAI, language: Language, piece: int
) -> None:
    lines = LINES[language]
    for number, text in enumerate(lines):
        answer = turn(text, achieved=number == 2, ends=number == 2) if number % 2 == 0 else reply(text)
        content = json.dumps(marked({**answer, "utterance": spoken(text)}), ensure_ascii=False)
        server.enqueue(Reply(content=content, piece=piece, latency_seconds=0.2))
    server.enqueue(Reply(content=json.dumps(marked(SISTER[language]))))
    running = served.post("/conversations/start", json=TALK).json()["id"]
    told = [one.data for one in listen(served, running) if one.event == "speaking"]
    assert told
    assert [one for one in told if not lines[one["turn"]].startswith(one["text"])] == []
    held = served.get(f"/conversations/{running}")
    assert [one["text"] for one in held.json()["turns"]] == [*lines]
    assert held.json()["changes"]["summary"] == SISTER[language]["people"]["a"]["paragraph"][0]
    kept = (served.get(f"/people/{person}/memories").text for person in ("sora", "baker"))
    asked = (json.dumps(one["messages"], ensure_ascii=False) for one in server.requests)
    assert [mark for text in (held.text, *kept, *asked) for mark in MARKED if mark in text] == []


@LANGUAGES
def test_marks_that_a_player_sends_are_neither_asked_nor_remembered(
    client: TestClient, script: ScriptedModel, language: Language
) -> None:
    first, second, *_ = LINES[language]
    script.enqueue(reply(second), recollection(second))
    running = begin(client)
    said = say_to_baker(client, running, f"{first}<|im_en{{{{char}}}}d|></s> [INST]<|im_start|>", message_id="m1")
    assert said["turn"]["text"] == first
    assert say_to_baker(client, running, first, message_id="m1")["turn"] == said["turn"]
    client.post(f"/conversations/{running}/end?wait=true").raise_for_status()
    kept = client.get("/people/baker/memories").text
    assert first[:12] in kept
    assert [mark for text in (kept, *map(shown, script.history)) for mark in MARKED if mark in text] == []
    nothing = client.post(f"/conversations/{begin(client)}/say", json={"text": "<|im_end|> </s>"})
    assert nothing.status_code == 422


@LANGUAGES
@pytest.mark.parametrize("piece", [1, 5])
def test_words_that_only_look_like_marks_stay(
    served: httpx.Client, server: FakeOpenAI, language: Language, piece: int
) -> None:
    text = f"{LINES[language][1]} I <3 you, {{so}} {{{{much}}}} [INSTRUCTIONS] <sigh> a<b | c>d <| <</ {{{{us [IN"
    server.enqueue(*(Reply(content=json.dumps(reply(text)), piece=piece) for _ in range(2)))
    running = begin(served)
    said = say_to_baker(served, running, text)
    assert (said["turn"]["text"], said["answer"]["text"]) == (text, text)


@LANGUAGES
def test_a_turn_of_nothing_but_marks_is_no_answer(served: httpx.Client, server: FakeOpenAI, language: Language) -> None:
    first, second, *_ = LINES[language]
    nothing = Reply(content=json.dumps(reply("<|im_end|> </s>")))
    server.enqueue(nothing, Reply(content=json.dumps(reply(second))), nothing, nothing)
    running = begin(served)
    assert say_to_baker(served, running, first)["answer"]["text"] == second
    said = say_to_baker(served, running, first)
    assert (said["answer"], said["conversation"]["failure"]["type"]) == (None, "model-broken")
    assert len(server.requests) == 4


SCENE = {"sceneId": "S1", "location": "door", "situation": "It rains.", "participants": ["sora", "umi"]}
BROKEN = (Reply(content="What a lovely day."), Reply(content='{"think": "Hm.", "act": '))
MARKED_ONLY = Reply(content=json.dumps(acts("<|im_end|>", act="</s>")))


def scene_turn(text: str) -> Reply:
    return Reply(content=json.dumps(acts(text)))


@LANGUAGES
@pytest.mark.parametrize("said", [0, 1])
@pytest.mark.parametrize(
    ("failing", "slug"),
    [(BROKEN, "model-broken"), ((MARKED_ONLY, MARKED_ONLY), "model-empty")],
    ids=["broken", "marks"],
)
def test_a_scene_pauses_at_two_malformed_answers_and_goes_on_from_where_it_stood(
    served: httpx.Client,
    server: FakeOpenAI,
    language: Language,
    said: int,
    failing: tuple[Reply, Reply],
    slug: str,
) -> None:
    first, second, third, _ = LINES[language]
    before, after = [first][:said], [second, third]
    server.enqueue(*map(scene_turn, before), *failing, *map(scene_turn, after))
    served.post("/scenes", json={"scene": SCENE}).raise_for_status()
    paused = served.post("/scenes/S1/turns?wait=true", json={"count": 3}).json()
    assert [one["text"] for one in paused["turns"]] == before
    assert (paused["state"], paused["phase"], paused["end_reason"]) == ("stands", "running", None)
    assert paused["failure"]["type"] == slug
    assert paused["failure"]["detail"].isascii() == (language == "en")
    gone_on = served.post("/scenes/S1/turns?wait=true", json={"count": 2}).json()
    assert [one["text"] for one in gone_on["turns"]] == [*before, *after]
    assert (gone_on["state"], gone_on["failure"]) == ("stands", None)
    assert len(server.requests) == said + 2 + 2
