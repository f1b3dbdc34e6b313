"""Owns the name under which programs import the Python API: ``import kataribe``. See docs/python.md."""

from service.public import *  # noqa: F403 - it is what service.public says it is
from service.public import __all__ as __all__
