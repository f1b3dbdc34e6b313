"""Owns what can be wrong with an export or an import."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service.errors import Conflict, Invalid, KataribeError, NotFound, system_reason
from service.locales import Language, sentence


class NoSuchWorld(NotFound):
    """Facts: `id`, `place`."""


class BadWorldName(Invalid):
    """Facts: `value`."""


class NoSuchTime(Invalid):
    """Facts: `option`, `value`."""


class NothingThen(Invalid):
    """Facts: `since`, `until`, `begun`, `now`."""


class WorldHasLived(Conflict):
    """Facts: `world_id`."""


class ReplayDiffers(Conflict):
    """Facts: `line` (its number in the log), `reason` (an error, or the words of an answer). What was done before it
    stays.
    """

    def sentence(self, language: Language) -> str:
        """See KataribeError; the reason is said in that language."""
        reason = self.facts["reason"]
        said = reason.sentence(language) if isinstance(reason, KataribeError) else reason
        return sentence(language, f"errors.{self.slug}", **self.facts | {"reason": said})


class FileUnusable(Invalid):
    """Facts: `file`, `reason`."""


@contextmanager
def usable(file: Path) -> Iterator[None]:
    """Whatever the system refuses of the file is told. Raises: FileUnusable."""
    try:
        yield
    except OSError as exc:
        raise FileUnusable(file=str(file), reason=system_reason(exc)) from exc


class BadLine(Invalid):
    """Facts: `file`, `line` (from 1), `reason`. Nothing of the file was kept."""
