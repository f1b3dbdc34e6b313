"""Owns what full text search sees of a text: words, and character bigrams of Japanese; the same for facts and queries."""

import re
import unicodedata
from collections.abc import Iterator

MAX_QUERY_TOKENS = 64
_MAX_WORD = 64

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_CJK = _HAN + "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uac00-\ud7af"
_PIECE = re.compile(rf"(?P<cjk>[{_CJK}]+)|(?P<word>(?:(?![{_CJK}_])\w)+(?:['’](?:(?![{_CJK}_])\w)+)*)")
_LONE_HAN = re.compile(rf"(?<![{_HAN}])[{_HAN}](?![{_HAN}])")


def normal(text: str) -> str:
    """A name or text as it is compared: NFKC, case folded, white space collapsed, no half of a surrogate pair."""
    text = text.encode("utf-8", "ignore").decode("utf-8")
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def tokens(text: str, *, limit: int | None = None) -> tuple[str, ...]:
    """The distinct tokens of a text, in order, the first `limit` of them.

    Words are folded, without possessive and plural `s`. A run of Japanese, Chinese or Korean characters becomes its
    bigrams; a kanji that stands alone between kana (妻 in 太郎の妻は) is a token of its own, for a bigram would
    bind it to a particle that the question does not share.
    """
    found: dict[str, None] = {}
    for token in _pieces(normal(text)):
        found[token] = None
        if limit is not None and len(found) >= limit:
            break
    return tuple(found)


def query_tokens(text: str) -> tuple[str, ...]:
    """The tokens of a question: any of them may match. Bounded, so that a pasted novel costs no more than a page."""
    return tokens(text, limit=MAX_QUERY_TOKENS)


def _pieces(text: str) -> Iterator[str]:
    for match in _PIECE.finditer(text):
        run = match["cjk"]
        if run is None:
            yield _stem(match["word"])
        elif len(run) == 1:
            yield run
        else:
            yield from (run[i : i + 2] for i in range(len(run) - 1))
            yield from _LONE_HAN.findall(run)


def _stem(word: str) -> str:
    """Lightly: `farms`, `farm's` and `farm` are one word; `wives` and `wife` are two."""
    word = word.replace("’", "'").removesuffix("'s").replace("'", "")[:_MAX_WORD]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
