"""Owns what no turn may be: a repetition of the speaker's earlier ones, a voice from outside the story, no speech at
all, or another language. Pure.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Any

from service.conversation.sentences import cut
from service.locales import Language
from service.memory.lexical import grams, jaccard, squeezed

GRAM = 3
TOO_SHORT = 8
"""Shorter utterances ("はい", "Thank you") may come again; letters and digits count."""
TOO_LIKE = 0.7
"""Jaccard similarity of character trigrams from which an utterance repeats an earlier one."""

_OUT_OF_CHARACTER = re.compile(
    r"\bas an? (?:artificial intelligence|ai\b|(?:large )?language model|chatbot)"
    r"|\bI(?:'|’)?\s?a?m (?:just )?an? (?:artificial intelligence|ai\b|(?:large )?language model|chatbot)"
    r"|\b(?:large )?language model\b|\bmy training data\b|\b(?:OpenAI|ChatGPT)\b"
    r"|(?<![a-z])AI(?:言語モデル|アシスタント|モデル)?(?:として|なので|ですので|ですから|であり)"
    r"|(?:私|僕|俺|わたし|わたくし|あたし|ぼく|おれ)は(?:ただの)?(?:AI|人工知能)(?:アシスタント)?(?:です|だ|であ|なん)"
    r"|(?:大規模)?言語モデル|人工知能(?:として|なので|ですので)|学習データ",
    re.IGNORECASE,
)
_MACHINE = re.compile(
    r"(?<![A-Za-z])AI(?![A-Za-z])"  # in capitals only: Ai is a name
    r"|(?i:artificial intelligence|language model|chatbot|robot|android)"
    r"|人工知能|言語モデル|ロボット|アンドロイド|学習データ"
)
"""What an author writes about a person that is a machine."""


def is_repetition(utterance: str, earlier: Iterable[str]) -> bool:
    """Whether the utterance says nearly what the same speaker said before in this conversation."""
    return likeness(utterance, earlier) >= TOO_LIKE


def likeness(utterance: str, earlier: Iterable[str]) -> float:
    """How like the utterance is to the one of the earlier that it is most like: 0 to 1. A short one is like none."""
    said = grams(utterance, GRAM)
    if len(said) < TOO_SHORT - GRAM + 1:
        return 0.0
    return max((jaccard(said, grams(text, GRAM)) for text in earlier), default=0.0)


def breaks_character(utterance: str, authored: Iterable[str] = ()) -> bool:
    """Whether the speaker steps out of its role ("as a language model", "AIとして").

    Whom its author made a machine (in any of the `authored` texts) may say that it is one.
    """
    if _OUT_OF_CHARACTER.search(unicodedata.normalize("NFKC", utterance)) is None:
        return False
    return not any(_MACHINE.search(unicodedata.normalize("NFKC", own)) for own in authored)


_LOOPS = ((20, 0.25), (40, 0.5))
"""A text of so many letters whose share of different trigrams is smaller goes round in circles."""
_BEAT = 6
"""So many marks without a letter are a silence that somebody may keep ("……", "?!")."""
_BROKEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ue000-\uf8ff\ufffd]")
"""Control characters, lone halves of a pair, those of private use, and what stands for one that was lost."""


def is_nonsense(text: str) -> bool:
    """Whether nobody could say the text: it is broken, has no word, says the same over and over, or is JSON."""
    if _BROKEN.search(text) or text.lstrip().startswith('{"'):
        return True
    return (not squeezed(text) and len(text.strip()) > _BEAT) or loops(text)


def loops(text: str) -> bool:
    """Whether a text says the same over and over."""
    letters = len(squeezed(text))
    different = len(grams(text, GRAM))
    return any(letters >= least and different < share * (letters - GRAM + 1) for least, share in _LOOPS)


_ENOUGH = 12
"""Letters from which a text shows its language by its script."""
_FOREIGN, _WHOLLY = 0.5, 0.9
"""Share of letters of another script from which a text is in another language, or wholly so."""
_KANA, _HAN = re.compile(r"[ぁ-ゖァ-ヺ]"), re.compile(r"[\u3400-\u9fff]")
_LATIN, _HANGUL = re.compile(r"[A-Za-zÀ-ɏ]"), re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")

_SHOWS = 20
"""Letters from which a detector is asked in which language they are."""
_UNLIKELY = 1e-4
"""Probability of a language below which the detector is believed: a dialect, names, or words that somebody made up
leave it in doubt.
"""


def is_foreign(text: str, language: Language, *, wholly: bool = False) -> bool:
    """Whether a text is not in that language: by its script, or where that does not tell, as a detector is sure of it.
    One of few letters may be a name. `wholly`: what is mixed with the language passes.
    """
    kana, han, latin, hangul = (len(script.findall(text)) for script in (_KANA, _HAN, _LATIN, _HANGUL))
    letters = kana + han + latin + hangul
    least = max(_ENOUGH, (_WHOLLY if wholly else _FOREIGN) * letters)
    others = {"en": kana + han + hangul, "ja": latin + hangul + (0 if kana else han)}
    if others.get(language, 0) >= least:
        return True
    return kana == 0 and sum(map(str.isalpha, text)) >= _SHOWS and _is_detected(text, language)


def _is_detected(text: str, language: Language) -> bool:
    """Whether the detector is sure that the text is not in the language, and finds no sentence of it that is."""
    if dict(_detector().rank(text)).get(language, 1.0) >= _UNLIKELY:
        return False
    return all(_detector().classify(one.text)[0] != language for one in cut(text, is_whole=True))


@cache
def _detector() -> Any:
    """Loaded when a text asks for it: it takes half a second, and 80 MB."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
