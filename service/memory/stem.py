"""Owns the stem of an English word, by Porter's rules (An algorithm for suffix stripping, Program 14(3), 1980).

Before them, words that only a list can bring together: children and child, went and go.
"""

import re
from functools import lru_cache

_SAME = {
    "children": "child", "wives": "wife", "lives": "live", "men": "man", "women": "woman", "went": "go", "gone": "go",
    "bought": "buy", "sold": "sell", "kept": "keep", "lost": "lose", "left": "leave", "taught": "teach", "made": "make",
    "built": "build", "wrote": "write", "written": "write", "grew": "grow", "grown": "grow", "found": "find",
    "caught": "catch", "sang": "sing", "sung": "sing", "died": "die", "dying": "die", "dead": "die", "broke": "break",
    "broken": "break", "stole": "steal", "stolen": "steal", "slept": "sleep", "knew": "know", "came": "come",
    "began": "begin", "fell": "fall", "gave": "give", "took": "take", "saw": "see", "ran": "run", "drew": "draw",
    "bred": "breed", "fed": "feed", "paid": "pay", "married": "marry", "carried": "carry", "wept": "weep", "ate": "eat",
    "kid": "child", "kids": "child", "dad": "father", "mum": "mother", "mom": "mother",
}  # fmt: skip

# Each step tries its endings, the longest first, and stops at the first that fits.
_STEP_2 = (
    "ational:ate ization:ize iveness:ive fulness:ful ousness:ous tional:tion biliti:ble entli:ent ousli:ous ation:ate "
    "alism:al aliti:al iviti:ive enci:ence anci:ance izer:ize abli:able alli:al ator:ate eli:e"
)
_STEP_3 = "icate:ic ative: alize:al iciti:ic ical:ic ness: ful:"
_STEP_4 = "ement ance ence able ible ment ant ent ism ate iti ous ive ize sion tion al er ic ou"
_PAIRS = tuple(tuple(tuple(pair.split(":")) for pair in step.split()) for step in (_STEP_2, _STEP_3))
_VOWELS = re.compile("(?:[aeiou]|(?<![aeiou])(?<!^)y)+")
_SHORT = re.compile(".*[^aeiou][aeiouy][^aeiouwxy]")
_ENDS_DOUBLE = re.compile(r".*([^aeioulsz])\1")


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A folded word without its ending: sells, selling and sold are one word, and so are farm's and farms.

    What holds a digit, or a letter that is not English, stays as it is.
    """
    word = word.replace("’", "'").removesuffix("'s").replace("'", "")
    if not (word.isalpha() and word.isascii()):
        return word
    word = _SAME.get(word, word)
    return word if len(word) <= 3 else _last_step(_suffix_steps(_first_step(word)))


def _first_step(word: str) -> str:
    """Plurals and past: ponies, agreed, hopping."""
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        word = word[:-1] if _measure(word[:-3]) else word
    else:
        for ending in ("ed", "ing"):
            bare = word.removesuffix(ending)
            if bare != word and _VOWELS.search(bare):
                word = _mended(bare)
                break
    return f"{word[:-1]}i" if word.endswith("y") and _VOWELS.search(word[:-1]) else word


def _mended(bare: str) -> str:
    if bare.endswith(("at", "bl", "iz")) or (_measure(bare) == 1 and _SHORT.fullmatch(bare)):
        return f"{bare}e"
    return bare[:-1] if _ENDS_DOUBLE.fullmatch(bare) else bare


def _suffix_steps(word: str) -> str:
    for step in _PAIRS:
        for ending, instead in step:
            if word.endswith(ending):
                bare = word.removesuffix(ending)
                word = bare + instead if _measure(bare) else word
                break
    for ending in _STEP_4.split():
        if word.endswith(ending):
            bare = word.removesuffix("ion" if ending in ("sion", "tion") else ending)
            return bare if _measure(bare) > 1 else word
    return word


def _last_step(word: str) -> str:
    bare = word.removesuffix("e")
    if bare != word and (_measure(bare) > 1 or (_measure(bare) == 1 and not _SHORT.fullmatch(bare))):
        word = bare
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _measure(word: str) -> int:
    """How often consonants follow vowels in it."""
    runs = list(_VOWELS.finditer(word))
    return len(runs) - (bool(runs) and runs[-1].end() == len(word))
