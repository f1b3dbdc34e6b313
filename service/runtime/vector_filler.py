"""Owns the vectors that are made after something was written: of a past that was given, of what an author edited."""

import asyncio
import logging
from collections import defaultdict

from service.conversation.dependencies import ConversationDependencies
from service.errors import CassetteMiss, KataribeError
from service.memory.record import Group
from service.memory.revision import have_vectors, vectors_due

_log = logging.getLogger(__name__)

LOOKS_EVERY_SECONDS = 30.0
"""How long a memory whose vectors could not be made rests, in machine time."""


class VectorFiller:
    """Fills one memory at a time in the background; who cannot wait fills its own world's itself.

    Replicas may make the same vectors at once, which does no harm.
    """

    def __init__(self, deps: ConversationDependencies, *, looks_every_seconds: float = LOOKS_EVERY_SECONDS) -> None:
        self._deps = deps
        self._looks_every_seconds = looks_every_seconds
        self._locks: defaultdict[Group, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Go on with what a former process left undone."""
        self._wanted.set()
        self._task = asyncio.create_task(self._again())

    async def stop(self) -> None:
        """Let go; what is missing is made by the next process."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def wake(self) -> None:
        """Something was written that lacks vectors."""
        self._wanted.set()

    async def fill(self, world_id: str | None = None) -> None:
        """Make the vectors that people of a world lack, or all; where the embedder or the store is away, they lack them
        still, and are found by words.
        """
        if not self._deps.memory.embeds:
            return
        for group, due in (await self._deps.database.read(lambda s: vectors_due(s, world_id))).items():
            async with self._locks[group]:
                try:
                    await self._fill_one(group, due)
                except CassetteMiss:
                    raise
                except KataribeError as exc:
                    _log.warning("what %s remembers has no vectors for now: %s", group.id, exc)

    async def _fill_one(self, group: Group, due: int) -> None:
        database, worlds = self._deps.database, self._deps.worlds
        world = await database.read(lambda s: worlds.open(s, group.world_id))
        if not await self._deps.memory.fill_vectors(group, world.now):
            await database.write(lambda s: have_vectors(s, group, due))

    async def _again(self) -> None:
        while True:
            self._wanted.clear()
            try:
                await self.fill()
            except Exception:  # noqa: BLE001 - the store is away, or whatever it was: the next look recovers
                _log.exception("vectors that are missing cannot be made; it is tried again")
            try:
                async with asyncio.timeout(self._looks_every_seconds):
                    await self._wanted.wait()
            except TimeoutError:
                continue
