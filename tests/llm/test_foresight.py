"""A question that a world and its guess have in common is put to a model once; what was asked in vain is counted."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from typing import Any

import pytest
from pydantic import BaseModel

from service.errors import ModelBroken
from service.llm.chat import Answer, ChatModel, Message, Prompt, T, TextListener
from service.llm.foresight import Foreseen, Foresight, Guessing, SharedQuestions, window
from service.usage import Usage

pytestmark = pytest.mark.anyio


class Said(BaseModel):
    """What it answers."""

    utterance: str
    emotion: str = "glad"


class Slow:
    """Answers when it is let go on; fails so often first."""

    name = "slow"

    def __init__(self, fails: int = 0) -> None:
        self.asked: list[str] = []
        self.go_on = asyncio.Event()
        self._fails = fails

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        self.asked.append(prompt.messages[0].content)
        await self.go_on.wait()
        if self._fails:
            self._fails -= 1
            raise ModelBroken(model=self.name, reason="torn", usage=Usage(calls=1, failures=1))
        value = prompt.answer.model_validate({"utterance": prompt.messages[0].content})
        if on_text is not None:
            on_text(prompt.messages[0].content, None)
        return Answer(value=value, usage=Usage(calls=1, prompt_tokens=9), model=self.name)

    async def aclose(self) -> None:
        raise AssertionError("the story's model is not the guess's to close")


def ask(text: str, world: str = "main") -> Prompt[Said]:
    return Prompt(
        name="speaker",
        role="npc",
        language="en",
        messages=(Message(role="user", content=text),),
        answer=Said,
        thread=f"{world}/talk",
    )


Guessed = tuple[Slow, SharedQuestions, ChatModel, ChatModel]


@pytest.fixture
async def guessed() -> AsyncIterator[Guessed]:
    """A world that is guessed: its model, what it shares, and how story and guess ask."""
    model, shared = Slow(), SharedQuestions(60)
    foresight: Foresight = {"main": shared}
    shared.begin()
    yield model, shared, Foreseen(model, foresight), Guessing(model, foresight)
    shared.close()


async def begun(asking: Coroutine[Any, Any, Answer[Said]]) -> asyncio.Task[Answer[Said]]:
    task = asyncio.create_task(asking)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def test_whoever_comes_first_asks_and_both_have_the_answer(guessed: Guessed) -> None:
    model, shared, story, guess = guessed
    first, second = await begun(guess.complete(ask("a"))), await begun(story.complete(ask("a")))
    third, fourth = await begun(story.complete(ask("b"))), await begun(guess.complete(ask("b")))
    model.go_on.set()
    assert {(await one).value.utterance for one in (first, second)} == {"a"}
    assert {(await one).value.utterance for one in (third, fourth)} == {"b"}
    assert model.asked == ["a", "b"]
    assert not shared.is_astray
    heard: list[tuple[str, str | None]] = []
    await story.complete(ask("a"), lambda text, emotion: heard.append((text, emotion)))
    assert heard == [("a", "glad")]
    shared.close()
    assert shared.discarded == Usage()
    await guess.aclose()


async def test_a_guess_went_astray_where_the_story_alone_has_asked(guessed: Guessed) -> None:
    model, shared, story, guess = guessed
    model.go_on.set()
    await guess.complete(ask("what is not asked in the end"))
    assert not shared.is_astray
    await story.complete(ask("what is"))
    assert shared.is_astray
    shared.begin()
    assert not shared.is_astray
    shared.begin()
    assert shared.discarded == Usage(calls=1, prompt_tokens=9)


async def test_what_a_new_guess_does_not_come_to_is_cancelled_unless_the_story_waits(guessed: Guessed) -> None:
    model, shared, story, guess = guessed
    dead, waited = await begun(guess.complete(ask("dead"))), await begun(story.complete(ask("waited for")))
    again = await begun(guess.complete(ask("again")))
    for one in (dead, again):
        one.cancel()
    shared.begin()
    again = await begun(guess.complete(ask("again")))
    shared.let_go()
    assert shared.discarded == Usage(calls=1, failures=1, estimated=True)
    model.go_on.set()
    assert [(await one).value.utterance for one in (again, waited)] == ["again", "waited for"]
    assert not shared.is_astray
    assert model.asked == ["dead", "waited for", "again"]


async def test_the_story_asks_anew_where_a_guess_was_refused() -> None:
    model, shared = Slow(fails=1), SharedQuestions(60)
    foresight: Foresight = {"main": shared}
    shared.begin()
    model.go_on.set()
    with pytest.raises(ModelBroken):
        await Guessing(model, foresight).complete(ask("a"))
    assert (await Foreseen(model, foresight).complete(ask("a"))).value.utterance == "a"
    assert model.asked == ["a", "a"]


async def test_the_story_lets_go_of_what_it_alone_has_asked(guessed: Guessed) -> None:
    model, shared, story, _ = guessed
    asking = await begun(story.complete(ask("a")))
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking
    model.go_on.set()
    assert (await story.complete(ask("a"))).value.utterance == "a"
    assert model.asked == ["a", "a"]
    assert shared.is_astray


async def test_a_world_that_is_not_guessed_shares_nothing(guessed: Guessed) -> None:
    model, _, story, _ = guessed
    model.go_on.set()
    for _ in range(2):
        await story.complete(ask("a", world="other"))
    assert model.asked == ["a", "a"]


def test_a_guess_that_asks_much_in_vain_lives_less_far_ahead() -> None:
    assert window(60, 120, told=100, in_vain=15) == 80
    assert window(110, 120, told=100, in_vain=0) == 120
    assert window(60, 120, told=100, in_vain=16) == 30
    assert window(30, 120, told=100, in_vain=16) == 20
