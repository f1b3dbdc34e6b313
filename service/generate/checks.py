"""Owns what no dialogue of a data set may have: an empty turn, a repetition, a voice from outside the story, another
language. Pure.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from service.conversation.repetition import breaks_character, is_repetition
from service.locales import Language

Fault = Literal["empty", "repeats", "out_of_character", "language"]

_ENOUGH = 12
"""Letters from which a text shows its language."""
_FOREIGN = 0.5
"""Share of letters of another script from which a text is in another language."""
_KANA, _HAN = re.compile(r"[ぁ-ゖァ-ヺ]"), re.compile(r"[\u3400-\u9fff]")
_LATIN, _HANGUL = re.compile(r"[A-Za-zÀ-ɏ]"), re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")


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


def is_foreign(text: str, language: Language) -> bool:
    """Whether a text is not in that language, by its letters; one of few letters may be a name."""
    kana, han, latin, hangul = (len(script.findall(text)) for script in (_KANA, _HAN, _LATIN, _HANGUL))
    letters = kana + han + latin + hangul
    if letters < _ENOUGH or language not in ("en", "ja"):
        return False
    if language == "en":
        return kana + han + hangul >= _FOREIGN * letters
    return latin + hangul >= _FOREIGN * letters or (kana == 0 and han >= _FOREIGN * letters)
