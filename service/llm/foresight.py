"""Owns the questions that a world and its guess have in common: each is put to a model once, by whoever comes to it
first. What the story takes is the answer to its own question, word for word: a wrong guess changes nothing in it.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from service.errors import ModelError
from service.llm.chat import Answer, ChatModel, ModelWrapper, Prompt, T, TextListener
from service.usage import Usage


@dataclass(kw_only=True)
class _Asked:
    """`guess`: the number of the guess that came to it last; 0: none has. `waiting`: so often the story waits for it.
    `is_told`: the story has taken it.
    """

    task: "asyncio.Task[Answer[Any]]"
    guess: int = 0
    waiting: int = 0
    is_told: bool = False


LOSS = 0.15
"""More than this share of the story's questions is not asked in vain for long: the guess draws in."""
NARROWEST = 20
"""World minutes; nearer ahead of the clock the world lives anyway."""


class SharedQuestions:
    """Those of one world, while it is guessed."""

    def __init__(self, minutes: int) -> None:
        """`minutes`: so far ahead of the slowest the guess lives at most."""
        self.guess = 0
        """The number of the guess that is lived."""
        self.is_astray = False
        """The story has asked what this guess did not."""
        self.discarded = Usage()
        """What was asked in vain."""
        self.window = minutes
        """World minutes that it lives ahead, by what was asked in vain so far."""
        self._minutes = minutes
        self._told = 0
        self._asked: dict[object, _Asked] = {}
        self._waits = asyncio.Event()

    async def tell(self, model: ChatModel, prompt: Prompt[T], on_text: TextListener | None) -> Answer[T]:
        """The answer for the story. Raises: ModelError."""
        key = _key(prompt)
        one = self._asked.get(key)
        if one is None or (one.task.done() and one.task.exception() is not None):
            one = self._ask(key, model.complete(prompt, on_text))
            on_text = None
        one.waiting += 1
        try:
            answer: Answer[T] = await asyncio.shield(one.task)
        finally:
            one.waiting -= 1
            if not one.waiting and not one.guess and one.task.cancel():
                del self._asked[key]
        self._told += not one.is_told
        one.is_told = True
        self.is_astray |= one.guess < self.guess
        if on_text is not None and (said := getattr(answer.value, "utterance", "")):
            on_text(said, getattr(answer.value, "emotion", None))
        return answer

    async def foresee(self, model: ChatModel, prompt: Prompt[T]) -> Answer[T]:
        """The answer for the guess. Raises: ModelError."""
        key = _key(prompt)
        one = self._asked.get(key) or self._ask(key, model.complete(prompt))
        one.guess = self.guess
        if not one.task.done():
            self._waits.set()
        answer: Answer[T] = await asyncio.shield(one.task)
        return answer

    async def posed(self, asking: "asyncio.Task[Any]") -> None:
        """Return when what the guess is asking is done, or waits for a model."""
        self._waits.clear()
        waits = asyncio.create_task(self._waits.wait())
        try:
            await asyncio.wait({asking, waits}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waits.cancel()

    def begin(self) -> None:
        """Another guess begins where the story stands: it comes to what the story waits for. What the last one did not
        come to goes.
        """
        self.let_go(done=True)
        self.guess += 1
        self.is_astray = False
        self.window = window(self.window, self._minutes, self._told, self.discarded.calls)
        for one in self._asked.values():
            one.guess = self.guess if one.waiting else one.guess

    def let_go(self, *, done: bool = False) -> None:
        """Cancel what an earlier guess has asked and this one did not; `done`: what is answered goes too."""
        for key, one in list(self._asked.items()):
            if one.guess < self.guess and not one.waiting and (done or not one.task.done()):
                del self._asked[key]
                self._discard(one)

    def close(self) -> None:
        """There is no guess any more."""
        self.guess += 1
        self.let_go(done=True)

    def _ask(self, key: object, asking: "Awaitable[Answer[Any]]") -> _Asked:
        one = self._asked[key] = _Asked(task=asyncio.ensure_future(asking))
        # What it raises is raised where the answer is taken, and nowhere if nobody takes it.
        one.task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return one

    def _discard(self, one: _Asked) -> None:
        if one.task.cancel():
            self.discarded += Usage(calls=1, failures=1, estimated=True)
        elif not one.task.cancelled() and not one.is_told:
            error = one.task.exception()
            spent = error.usage if isinstance(error, ModelError) else Usage()
            self.discarded += one.task.result().usage if error is None else spent


def window(now: int, most: int, told: int, in_vain: int) -> int:
    """How many minutes the next guess lives ahead, after one of `now`."""
    return max(NARROWEST, now // 2) if in_vain > LOSS * told else min(most, now + NARROWEST)


def _world_of(prompt: Prompt[Any]) -> str:
    return prompt.thread.partition("/")[0]


def _key(prompt: Prompt[Any]) -> object:
    """All that an answer depends on; the thread names the world."""
    return prompt.thread, prompt.role, prompt.name, prompt.messages, prompt.max_tokens


Foresight = dict[str, SharedQuestions]
"""The worlds of this process that are guessed, by their ids."""


class Foreseen(ModelWrapper):
    """A ChatModel that the worlds share with their guesses."""

    def __init__(self, inner: ChatModel, foresight: Foresight) -> None:
        super().__init__(inner)
        self._foresight = foresight

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel."""
        shared = self._foresight.get(_world_of(prompt))
        if shared is None:
            return await self._inner.complete(prompt, on_text)
        return await shared.tell(self._inner, prompt, on_text)


class Guessing(Foreseen):
    """The same ChatModel as guesses ask it."""

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel. Nobody listens to a guess."""
        return await self._foresight[_world_of(prompt)].foresee(self._inner, prompt)

    async def aclose(self) -> None:
        """Its connections are the story's."""
