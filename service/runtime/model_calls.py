"""Owns model calls that go on when the run that asked them has ended: for a command, or because the world's clock does
not wait.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from service.conversation.engine import Outcome
from service.decision.choose import Chosen
from service.runtime.tasks import cancel
from world.perception import Snapshot
from world.time import WorldTime

T = TypeVar("T")


@dataclass(kw_only=True)
class Thought:
    """A character that has stood and thought since `since`. `snapshot` is what its model was asked with, or will be.
    `version` is the character's, as long as nothing happens to it. `task` None: its model is not asked yet.
    """

    since: WorldTime
    snapshot: Snapshot
    version: int
    task: asyncio.Task[Chosen] | None = None


@dataclass(kw_only=True)
class Calls:
    """The open calls of one world: thoughts by character id, and talks by the id of the question
    (`world.scheduler.Call.id`). A talk's answer is its outcome (None: of a closing); `tables` has the members of that
    talk when it was asked.
    """

    thoughts: dict[str, Thought] = field(default_factory=dict)
    talks: dict[str, asyncio.Task[Outcome | None]] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Nothing is asked, and no answer waits to be taken."""
        return not self.thoughts and not self.talks

    @property
    def in_flight(self) -> int:
        """Calls asked and not answered."""
        return sum(not task.done() for task in self._tasks())

    async def drop(self) -> None:
        """Let go of all of them."""
        tasks = self._tasks()
        self.thoughts.clear()
        self.talks.clear()
        self.tables.clear()
        await cancel(tasks)

    def _tasks(self) -> list[asyncio.Task[Any]]:
        return [*(t.task for t in self.thoughts.values() if t.task is not None), *self.talks.values()]


class Decisions:
    """The decisions of one world that models think over. They go on while the world stands for a command: a character
    that is asked the same afterwards gets that answer, and nobody pays twice.
    """

    def __init__(self) -> None:
        self._asked: dict[str, tuple[object, asyncio.Task[Chosen]]] = {}

    @property
    def is_empty(self) -> bool:
        """Nothing is asked."""
        return not self._asked

    async def ask(self, call_id: str, question: object, asking: Callable[[], Coroutine[Any, Any, Chosen]]) -> Chosen:
        """The answer: of a call that is out already, if it has the same question (all that the answer depends on), else
        of one that `asking` makes. A caller that is cancelled here does not cancel the call.
        """
        known = self._asked.get(call_id)
        if known is None or known[0] != question:
            if known is not None:
                known[1].cancel()
            known = self._asked[call_id] = question, out(asking())
        try:
            return await asyncio.shield(known[1])
        finally:
            if known[1].done():
                self._asked.pop(call_id, None)

    async def keep(self, call_ids: Collection[str]) -> None:
        """Let go of all but these."""
        await cancel([self._asked.pop(call_id)[1] for call_id in self._asked.keys() - set(call_ids)])

    async def drop(self) -> None:
        """Let go of all of them."""
        await self.keep(())


def out(asking: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Ask in the background. What it raises is raised where the answer is taken, and nowhere if nobody takes it."""
    task = asyncio.create_task(asking)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task
