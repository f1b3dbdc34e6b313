"""Ids of worlds, people, nodes, facilities, needs and actions."""

import re

SLUG = r"^[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*$"
"""Their form. No ``--``: it parts world and character in a memory group's name."""

SLUG_MAX = 64
"""The most letters of an id."""

MAIN_WORLD = "main"
"""The world that is meant where none is named."""


def is_slug(text: str) -> bool:
    """Whether the text can be an id."""
    return len(text) <= SLUG_MAX and re.fullmatch(SLUG, text) is not None
