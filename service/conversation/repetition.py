"""Owns what no turn may be: a repetition of the speaker's earlier ones, or a voice from outside the story. Pure."""

import re
import unicodedata
from collections.abc import Iterable

from service.memory.lexical import grams, jaccard

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
