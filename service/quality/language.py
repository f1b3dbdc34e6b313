"""Owns whether a text is in the language it should be in, by its letters. Pure."""

import re

from service.locales import Language

_ENOUGH = 12
"""Letters from which a text shows its language."""
_FOREIGN = 0.5
"""Share of letters of another script from which a text is in another language."""
_KANA, _HAN = re.compile(r"[ぁ-ゖァ-ヺ]"), re.compile(r"[\u3400-\u9fff]")
_LATIN, _HANGUL = re.compile(r"[A-Za-zÀ-ɏ]"), re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")


def is_foreign(text: str, language: Language) -> bool:
    """Whether a text is not in that language, by its letters; one of few letters may be a name."""
    kana, han, latin, hangul = (len(script.findall(text)) for script in (_KANA, _HAN, _LATIN, _HANGUL))
    letters = kana + han + latin + hangul
    if letters < _ENOUGH or language not in ("en", "ja"):
        return False
    if language == "en":
        return kana + han + hangul >= _FOREIGN * letters
    return latin + hangul >= _FOREIGN * letters or (kana == 0 and han >= _FOREIGN * letters)
