"""Owns in which language the command speaks."""

import os

from service.public.words import Language, language_named, sentence


def own_language() -> Language:
    """The user's language, by the locale."""
    named = (os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name))
    return language_named(next(named, None)) or "en"


def say(key: str, /, **facts: object) -> str:
    """The sentence in the user's language."""
    return sentence(own_language(), key, **facts)
