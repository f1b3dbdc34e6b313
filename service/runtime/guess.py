"""Owns guesses: while a world's clock waits for models, a copy of it lives on as if nobody who is out of sight came by,
and so asks early what the world will ask. The copy has a store of its own, and nothing of it comes back but answers to
equal questions (docs/decisions/0007).
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial

from sqlmodel import Session

from service.conversation.dependencies import ConversationDependencies
from service.llm.foresight import Foresight, SharedQuestions
from service.runtime.pace import ExactRun
from service.runtime.snapshots import restore
from service.runtime.tasks import cancel
from service.runtime.world_runner import WorldRunner
from service.steady_time import steady_time
from service.store.session import one_picture
from service.store.tables import WorldRow
from service.store.usage import count
from service.store.world_rows import Rows, name_of, read_rows

_log = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
"""How often is looked whether the guess still holds."""
HOLDS_SECONDS = 3.0
"""A guess is made anew after so long: what the story has come to since may have changed it. Sooner, if it went astray.
"""
REST = 4
"""Times as long as a copy takes, until it is made anew at the earliest."""


class Guesses:
    """The guesses of a process."""

    def __init__(
        self,
        deps: ConversationDependencies,
        foresight: Foresight,
        apart: Callable[[], AbstractAsyncContextManager[WorldRunner]],
        minutes: int,
    ) -> None:
        """`apart`: what moves the copies, which may live so many `minutes` ahead of the slowest; 0: none is made."""
        self._deps = deps
        self._foresight = foresight
        self._apart = apart
        self._minutes = minutes
        self._runner: WorldRunner | None = None
        self._guessing: dict[str, asyncio.Task[None]] = {}
        self._ending = AsyncExitStack()

    async def start(self) -> None:
        """Open the store of the copies."""
        if self._minutes:
            self._runner = await self._ending.enter_async_context(self._apart())

    async def stop(self) -> None:
        """Throw it away, when the guesses of runs that are over have ended."""
        if self._guessing:
            await asyncio.wait(self._guessing.values())
        await self._ending.aclose()

    @asynccontextmanager
    async def beside(self, run: ExactRun) -> AsyncIterator[None]:
        """Guess while the run runs, unless that is too short to be worth a copy."""
        world_id = run.world_session.world.id
        if self._runner is None or run.until - run.settled <= self._minutes:
            yield
            return
        if world_id in self._guessing:  # that of the run before ends
            await asyncio.wait([self._guessing[world_id]])
        shared = self._foresight[world_id] = SharedQuestions(self._minutes)
        guessing = self._guessing[world_id] = asyncio.create_task(self._guess(self._runner, run, shared))
        guessing.add_done_callback(partial(self._over, world_id))
        try:
            yield
        finally:
            guessing.cancel()

    def _over(self, world_id: str, guessing: "asyncio.Task[None]") -> None:
        """The story needs no guess: it goes on where one has failed."""
        del self._foresight[world_id], self._guessing[world_id]
        if not guessing.cancelled() and (error := guessing.exception()) is not None:
            _log.error("the guess of world %s failed", world_id, exc_info=error)

    async def _guess(self, runner: WorldRunner, run: ExactRun, shared: SharedQuestions) -> None:
        world_id = run.world_session.world.id
        copied = runner.world(world_id)
        try:
            while True:
                begun = time.monotonic()
                shared.begin()
                rows = await self._deps.database.read(partial(_picture, world_id=world_id))
                rows[name_of(WorldRow)][0] |= {"target": run.until, "clock_mode": "manual"}
                await runner.rewrite(world_id, partial(self._copy, world_id=world_id, rows=rows))
                living = asyncio.create_task(copied.live())
                try:
                    await asyncio.sleep(REST * (time.monotonic() - begun))
                    while not shared.is_astray and time.monotonic() < begun + HOLDS_SECONDS:
                        shared.let_go()
                        await asyncio.sleep(LOOK_SECONDS)
                finally:
                    await cancel([living])
                if not living.cancelled() and (error := living.exception()) is not None:
                    # In a guess two may do what cannot both be: it says nothing of the story.
                    _log.info("a guess of world %s contradicts itself, and is made anew", world_id, exc_info=error)
        finally:
            await copied.stop()
            shared.close()
            if (spent := shared.discarded).calls:
                day = run.world_session.world.day
                await self._deps.database.write(lambda s: count(s, world_id, day, "guess", spent))

    def _copy(self, session: Session, world_id: str, rows: Rows) -> None:
        self._deps.worlds.open(session, world_id, lock=True)
        restore(session, world_id, rows, steady_time())


def _picture(session: Session, world_id: str) -> Rows:
    one_picture(session)
    return read_rows(session, world_id)
