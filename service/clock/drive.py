"""Owns one run of a living world from its clock to a later time: model calls in flight, bounded, the most lagging first.

What `world.ahead` allows to be asked is asked; answers are taken in any order, written in batches, and told when the
clock has passed them. The story is the same as minute by minute (docs/decisions/0007, 0008).
"""

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush

from service.clock.crew import Crew
from service.clock.living import Living
from service.clock.stretch import BATCH, Stretch
from world.ahead import URGENCY, Ask, Call
from world.causality import Gates
from world.time import WorldTime


class Drive:
    """Drives one world; used for one run. Whoever holds the world's lock may use it."""

    def __init__(self, crew: Crew, living: Living, until: WorldTime, *, gates: Gates | None = None) -> None:
        self.until = until
        self.living = living
        self._crew = crew
        self._stretch = Stretch(crew, living, until, gates=gates)
        self._backlog: list[tuple[WorldTime, int, str, Call]] = []
        self._tasks: dict[asyncio.Task[Callable[[], None]], Call] = {}

    @property
    def in_flight(self) -> int:
        """Model calls asked and not answered."""
        return len(self._tasks)

    @property
    def settled(self) -> WorldTime:
        """All before it has happened and is told."""
        return self._stretch.settled

    async def run(self) -> None:
        """Return when everything before `until` has happened and is written.

        Raises:
            Exception: what a store or a bug raised; the living world is then ahead of the store and must be read anew.
        """
        try:
            while True:
                answered = self._answer_without_models()
                await self._stretch.write()
                self._ask_models()
                if self._tasks and answered < BATCH:
                    done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
                    self._take(done)
                elif not self._tasks and not answered:
                    break
            await self._stretch.write(last=True)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _answer_without_models(self) -> int:
        """Everything that needs no model call; what needs one is put into the backlog. Answers how many decided."""
        answered = 0
        while answered < BATCH and (call := self._stretch.ahead.take()) is not None:
            if self._stretch.answer(call):
                answered += 1
            else:
                heappush(self._backlog, (call.priority, URGENCY[call.ask], call.id, call))
        return answered

    def _ask_models(self) -> None:
        while self._backlog and len(self._tasks) < self._crew.slots:
            call = heappop(self._backlog)[-1]
            self._tasks[asyncio.create_task(self._ask(call))] = call

    async def _ask(self, call: Call) -> Callable[[], None]:
        """Ask, and give back how the answer is to be taken."""
        ahead = self._stretch.ahead
        if call.talk_id is None:
            chosen = await self._crew.decide(self.living, ahead.snapshot(call))
            return lambda: self._stretch.decided(call, chosen)
        conversation_id = self.living.conversations[call.talk_id]
        if call.ask is Ask.TURN:
            at = max(call.time, self._stretch.begins)  # it is late where the clock did not wait for it before
            last = await self._crew.speak(conversation_id, call.index, at)
            return lambda: ahead.turned(call, last=last)
        await self._crew.close(conversation_id)
        return lambda: ahead.closed(call)

    def _take(self, done: set[asyncio.Task[Callable[[], None]]]) -> None:
        for task in done:
            del self._tasks[task]
            task.result()()
