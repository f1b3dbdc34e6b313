"""Owns the name under which programs import the Python API: ``import kataribe``. See docs/python.md."""

from typing import TYPE_CHECKING

from service.public import __all__ as __all__

if TYPE_CHECKING:
    from service.public import *  # noqa: F403 - it is what service.public says it is
else:
    from service.public import __getattr__ as __getattr__
