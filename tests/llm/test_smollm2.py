"""Owns the tests against a REAL model: llama.cpp's own server, JSON-schema grammar and streaming."""

import asyncio
import time
from itertools import pairwise
from typing import TypeVar

import pytest
from pydantic import BaseModel

from service.conversation.acting import CharacterTurn, NpcTurn, OpeningTurn
from service.errors import ModelTruncated
from service.llm.chat import Answer, Message, Prompt, TextListener
from service.llm.openai import OpenAIChat

pytestmark = pytest.mark.server

T = TypeVar("T", bound=BaseModel)


def complete(
    base_url: str, answer: type[T], max_tokens: int, on_text: TextListener | None = None
) -> tuple[Answer[T], float]:
    """The answer and the seconds it took."""

    async def run() -> tuple[Answer[T], float]:
        chat = OpenAIChat(base_url=base_url, api_key="none", temperature=0.7, timeout_seconds=240)
        prompt = Prompt(
            name="real",
            role="character",
            language="en",
            messages=(
                Message(role="system", content="You are Mira, a baker. Answer in JSON."),
                Message(role="user", content="Greet the knight Aldo, who asks for bread."),
            ),
            answer=answer,
            max_tokens=max_tokens,
        )
        start = time.perf_counter()
        try:
            return await chat.complete(prompt, on_text), time.perf_counter() - start
        finally:
            await chat.aclose()

    return asyncio.run(run())


@pytest.mark.parametrize("answer", [NpcTurn, OpeningTurn])
def test_a_real_model_speaks_a_turn_that_grows_while_it_is_made(smollm2: str, answer: type[BaseModel]) -> None:
    heard: list[str] = []
    made, seconds = complete(smollm2, answer, 800, lambda text, _: heard.append(text))
    print(f"\n{answer.__name__}: {made.usage.completion_tokens} tokens in {seconds:.1f} s, {len(heard)} texts")
    assert heard[-1] == made.value.model_dump()["utterance"]
    assert all(later.startswith(earlier) for earlier, later in pairwise(heard))
    assert made.usage.calls == 1
    assert not made.usage.estimated
    assert made.model == "openai:SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.mark.parametrize("streamed", [True, False])
def test_a_real_model_that_may_say_only_little_is_truncated(smollm2: str, streamed: bool) -> None:
    with pytest.raises(ModelTruncated) as caught:
        complete(smollm2, CharacterTurn, 5, (lambda *_: None) if streamed else None)
    assert caught.value.usage.completion_tokens == 5
    assert caught.value.facts["max_tokens"] == 5
