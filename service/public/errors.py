"""Owns the errors that a program raises or tells of as the service does, and what keeps files and tasks in order."""

from service.errors import Conflict, FileUnusable, Invalid, KataribeError, NotFound, system_reason, usable
from service.runtime.tasks import cancel
from service.store.lock import take
from world.errors import BadWorldTime

__all__ = [
    "BadWorldTime",
    "Conflict",
    "FileUnusable",
    "Invalid",
    "KataribeError",
    "NotFound",
    "cancel",
    "system_reason",
    "take",
    "usable",
]
