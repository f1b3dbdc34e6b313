"""Owns the errors that a program raises or tells of as the service does, and what keeps files and tasks in order."""

from service.errors import Conflict, FileUnusable, Invalid, KataribeError, NotFound, usable
from service.runtime.tasks import cancel
from service.store.lock import take

__all__ = [
    "Conflict",
    "FileUnusable",
    "Invalid",
    "KataribeError",
    "NotFound",
    "cancel",
    "take",
    "usable",
]
