"""Owns how changed content files come into a service that runs. Each process reads them by itself."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

from service.content.fields import ContentProblem
from service.content.files import CONTENT_NAMES, PROMPTS
from service.content.load import Content, ContentRefused
from service.errors import WorldMoves
from service.runtime.tasks import cancel, repeat
from service.runtime.world_runner import WorldRunner

EVERY_SECONDS = 1.0

Stamp = dict[str, tuple[int, int]]
"""When each file was changed last, and its size."""

_log = logging.getLogger(__name__)


class ContentReload:
    """Looks again and again whether a file was changed. Content without errors takes the place of what was in force;
    with errors it does not, and `problems` are all of them.
    """

    def __init__(
        self, world_runner: WorldRunner, read: Callable[[], Content], directory: Path, *, from_start: bool
    ) -> None:
        """`from_start`: it looks from the start of the service on, else from the first time that a page has written."""
        self.problems: tuple[ContentProblem, ...] = ()
        self._from_start = from_start
        self._runner = world_runner
        self._read = read
        self._directory = directory
        self._seen: Stamp = {}  # what was changed since the service read it is found by the first look
        self._looking = asyncio.Lock()
        self._watcher: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to look, if it is to from the start."""
        if self._from_start:
            self.watch()

    def watch(self) -> None:
        """Look from now on."""
        if self._watcher is None:
            self._watcher = asyncio.create_task(repeat(self.look, EVERY_SECONDS))

    async def stop(self) -> None:
        """Look no more."""
        if self._watcher is not None:
            await cancel([self._watcher])

    async def look(self) -> None:
        """Take in what has changed. Worlds that do not come to stand soon are waited for at the next look."""
        async with self._looking:
            found = await asyncio.to_thread(stamp, self._directory)
            if found != self._seen and await self._take_in():
                self._seen = found

    async def _take_in(self) -> bool:
        """False: it is to be tried again."""
        try:
            content = await asyncio.to_thread(self._read)
            await self._runner.renew(partial(self._runner.deps.conversation.worlds.play, content))
        except ContentRefused as exc:
            self.problems = tuple(exc.problems)
            lines = "\n".join(problem.line("en") for problem in exc.problems)
            _log.warning("the content of before stays in force, for there are errors:\n%s", lines)
        except WorldMoves as exc:
            _log.info("changed content waits: %s", exc)
            return False
        else:
            self.problems = ()
            _log.info("changed content of %s is in force", self._directory)
        return True


def stamp(directory: Path) -> Stamp:
    """Of every content file that is there."""
    paths = [directory / name for name in (*CONTENT_NAMES, PROMPTS)]
    files = [file for path in paths for file in (path, *sorted(path.rglob("*"))) if file.is_file()]
    return {str(file): (status.st_mtime_ns, status.st_size) for file in files if (status := file.stat())}
