"""Owns the errors that a program raises or tells of as the service does, and what keeps files and tasks in order."""

from typing import TYPE_CHECKING

from service.public.by_name import by_name

if TYPE_CHECKING:
    from service.errors import (
        Conflict,
        FileUnusable,
        Invalid,
        KataribeError,
        LinesWrong,
        NotFound,
        ReplayDiffers,
        existing,
        usable,
    )
    from service.runtime.tasks import cancel
    from service.store.session import take
    from world.errors import BadWorldTime
else:
    __getattr__ = by_name(__name__)

__all__ = [
    "BadWorldTime",
    "Conflict",
    "FileUnusable",
    "Invalid",
    "KataribeError",
    "LinesWrong",
    "NotFound",
    "ReplayDiffers",
    "cancel",
    "existing",
    "take",
    "usable",
]
