"""Owns what no dialogue of a data set may have: an empty turn, a repetition, a voice from outside the story, another
language. Pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from service.conversation.repetition import breaks_character, is_repetition
from service.locales import Language
from service.quality.language import is_foreign

Fault = Literal["empty", "repeats", "out_of_character", "language"]


class Said(NamedTuple):
    """A turn of a dialogue."""

    speaker: str
    text: str


def fault(turns: Sequence[Said], language: Language, authored: Iterable[str] = ()) -> Fault | None:
    """The first thing that is wrong with a dialogue. `authored`: what is written of its people, their names too."""
    own = tuple(authored)
    earlier: defaultdict[str, list[str]] = defaultdict(list)
    if len(turns) < 2:
        return "empty"
    for speaker, text in turns:
        if not text.strip():
            return "empty"
        if is_repetition(text, earlier[speaker]):
            return "repeats"
        if breaks_character(text, own):
            return "out_of_character"
        if is_foreign(text, language):
            return "language"
        earlier[speaker].append(text)
    return None
