"""Owns what a statement may claim: its words and numbers must have been said, and it may not deny a known one. Pure.

These are rules of form, not of meaning: they keep out what was plainly not said, and let paraphrases through that
share words with what was said. docs/decisions/0005-what-may-be-learned.md tells what that costs.
"""

import re
import unicodedata

from service.memory.lexical import tokens

GROUNDED = 0.25
"""Share of a statement's content tokens that the cited words must hold."""

SAME = 0.8
"""Likeness (Jaccard of tokens) from which two statements are one."""

_KANJI = str.maketrans("一二三四五六七八九〇", "1234567890")
_EN = "zero one two three four five six seven eight nine ten eleven twelve".split()
_EN_NUMBERS = {word: str(number) for number, word in enumerate(_EN)}
_COUNTED = re.compile(r"[一二三四五六七八九十〇]+(?=[人年月日歳つ個匹本回時分枚軒艘度冊])")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[a-z]+")
_EN_STOP = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his i in is it its me my not of on or "
    "our she so that the their them they this to was we were what when who will with would you your says said told".split()
)
_NEGATION = re.compile(
    r"\b(?:not|never|no|isn't|aren't|wasn't|weren't|doesn't|don't|didn't|cannot|can't|won't)\b"
    r"|(?:では|じゃ)?(?:ない|ありません|なかった)|ません|ていない|たことがない|せず"
)


def is_grounded(statement: str, heard: str, names: frozenset[str] = frozenset()) -> bool:
    """Whether what was `heard` carries the statement: enough of its words, and every number in it.

    `names` of the people involved prove nothing: a statement about somebody always holds them.
    """
    return numbers(statement) <= numbers(heard) and _overlap(statement, heard, names) >= GROUNDED


def are_same(a: str, b: str) -> bool:
    """Whether two statements say the same in nearly the same words, numbers and polarity included."""
    if numbers(a) != numbers(b) or is_negated(a) != is_negated(b):
        return False
    left, right = frozenset(tokens(a)), frozenset(tokens(b))
    return bool(left | right) and len(left & right) / len(left | right) >= SAME


def contradict(a: str, b: str) -> bool:
    """Whether two statements differ in nothing but a number or a negation."""
    if numbers(a) != numbers(b) and _bare(a) == _bare(b):
        return True
    return is_negated(a) != is_negated(b) and _jaccard(_affirmed(a), _affirmed(b)) >= SAME


def numbers(text: str) -> frozenset[str]:
    """The numbers a text names, in digits: 「子供が二人」, "two children" and "2" name 2."""
    folded = _folded(text)
    found = {str(int(n)) for n in _NUMBER.findall(folded)}
    found |= {_kanji_number(n) for n in _COUNTED.findall(folded)}
    return frozenset(found | {_EN_NUMBERS[w] for w in _WORD.findall(folded) if w in _EN_NUMBERS and w != "one"})


def is_negated(text: str) -> bool:
    """Whether the statement denies something."""
    return _NEGATION.search(_folded(text)) is not None


def _overlap(statement: str, heard: str, names: frozenset[str]) -> float:
    ignored = _EN_STOP | {token for name in names for token in tokens(name)}
    own = {_stem(t) for t in tokens(statement) if t not in ignored and not _is_kana(t)}
    if not own:
        return 1.0
    said = {_stem(t) for t in tokens(heard)}
    return len(own & said) / len(own)


def _stem(token: str) -> str:
    return token[:5] if token.isascii() else token


def _is_kana(token: str) -> bool:
    """Whether the token is hiragana only: particles and endings, which prove nothing."""
    return all("ぁ" <= c <= "ん" for c in token)


def _bare(text: str) -> str:
    folded = _COUNTED.sub("", _NUMBER.sub("", _folded(text)))
    words = [w for w in _WORD.findall(folded) if w not in _EN_NUMBERS]
    return " ".join(words) + "".join(c for c in folded if not c.isascii() and c.isalnum())


def _affirmed(text: str) -> frozenset[str]:
    return frozenset(_stem(t) for t in tokens(_NEGATION.sub("", _folded(text))) if t not in _EN_STOP)


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a and b else 0.0


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _kanji_number(text: str) -> str:
    tens, ten, ones = text.partition("十")
    if not ten:
        return str(int(text.translate(_KANJI)))
    return str((int(tens.translate(_KANJI)) if tens else 1) * 10 + (int(ones.translate(_KANJI)) if ones else 0))
