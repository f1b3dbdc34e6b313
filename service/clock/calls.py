"""Owns the model calls that are out while a world's clock goes on without them: who thinks, which talks wait for a word."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from service.decision.choose import Chosen
from world.perceive import Snapshot
from world.time import WorldTime

T = TypeVar("T")


@dataclass(kw_only=True)
class Thought:
    """A character that stands and thinks since `since`. `snapshot` is what it was, or is yet to be, asked with.

    `version` is the character's while nothing happens to it but its own standing. `task` None: not asked yet.
    """

    since: WorldTime
    snapshot: Snapshot
    version: int
    task: asyncio.Task[Chosen] | None = None


@dataclass(kw_only=True)
class Calls:
    """Of one world: thoughts by character id; talks by the id of the question (`world.ahead.Call.id`), the answer being
    whether that turn was the last (None: of a closing).
    """

    thoughts: dict[str, Thought] = field(default_factory=dict)
    talks: dict[str, asyncio.Task[bool | None]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Nothing is asked, nothing is answered and not taken."""
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
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _tasks(self) -> list[asyncio.Task[Any]]:
        return [*(t.task for t in self.thoughts.values() if t.task is not None), *self.talks.values()]


def out(asking: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Ask in the background. What it raises is told to who takes the answer, and to nobody when it is let go."""
    task = asyncio.create_task(asking)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task
