"""Owns the words of a text for everybody who compares texts: how they are folded, cut and stemmed, which are grammar;
and what shows in a text besides them: that it asks, that it tells a time, which month and whom it names.

Japanese has no spaces: the search sees its character bigrams. What is remembered and what is asked are cut alike. An
English word is stemmed by snowballstemmer, by Porter's rules (An algorithm for suffix stripping, Program 14(3), 1980);
before them, words that only a list can bring together: children and child, went and go.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import NamedTuple

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


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A folded word without its ending: sells, selling and sold are one word, and so are farm's and farms.

    What holds a digit, or a letter that is not English, stays as it is.
    """
    word = word.replace("’", "'").removesuffix("'s").replace("'", "")
    if not (word.isalpha() and word.isascii()):
        return word
    word = _SAME.get(word, word)
    import snowballstemmer  # three megabytes that nobody needs before something is compared

    # A stemmer holds the word it works on, so threads cannot share one.
    return word if len(word) <= 3 else str(snowballstemmer.stemmer("porter").stemWord(word))


MAX_QUERY_TOKENS = 64

FEW = 100
"""Among fewer items no word is common: they are counted as so many."""

HALF_OF_IT = 0.5
ABOUT_A_WORD = 0.8
"""The floor: three neighbouring lines hold half of what the query weighs, or as much as a word nearly as rare as a word
can be. Below it nothing bears on the query.
"""

_MAX_WORD = 64

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_CJK = _HAN + "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uac00-\ud7af"
_PIECE = re.compile(rf"(?P<cjk>[{_CJK}]+)|(?P<word>(?:(?![{_CJK}_])\w)+(?:['’](?:(?![{_CJK}_])\w)+)*)")
_WHOLE = re.compile(rf"(?<![{_HAN}])[{_HAN}](?![{_HAN}])|[{_HAN}]{{3,}}|[ァ-ヺー]{{3,}}")
_BREAK = re.compile(
    r"(?<=[。！？])(?![。！？」』])|(?<=[?!])(?=[\u3041-\u9fff])|(?<=[.!?…][\"”'’])\s+|(?<=[.!?…])\s+|\n+"
)

_HIRAGANA_PAIR = re.compile(r"[ぁ-ゖー]{1,2}")
_FUNCTION_KANA = (
    "です でした ます ました ません ている ていた てある ない なかった なく する した して される された れる られる せる たい たら "  # noqa: E501
    "なら けど けれど から まで より など という といった こと もの ところ どこ だれ なに なん いつ なぜ どう どの どんな これ それ "  # noqa: E501
    "あれ この その あの ここ そこ さん くん ちゃん のか かな だろう でしょう らしい ような ようだ そうだ ため ある いる いた いる "  # noqa: E501
    "だけ しか ばかり くらい ぐらい について って だった だと いう また もう まだ とても よく"
)
_FUNCTION_PAIRS = frozenset(word[i : i + 2] for word in _FUNCTION_KANA.split() for i in range(len(word) - 1))
FUNCTION_WORDS = frozenset(
    "a about am an and any are as at be been but by can could did do does for from had has have he her him his how i "
    "if in into is it its me my no not of on or our out she should so some than that the their them then there these "
    "they this to up us was we were what when where which who whom whose why will with would you your".split()
)
"""English words that say little by themselves."""


def normal(text: str) -> str:
    """A name or text as it is compared: NFKC, case folded, white space collapsed, no half of a surrogate pair."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.encode("utf-8", "ignore").decode("utf-8"))
    return " ".join(text.casefold().split())


def tokens(text: str) -> list[str]:
    """The tokens of a text, in order, each as often as it occurs.

    Words are folded and stemmed. A run of Japanese, Chinese or Korean characters becomes its
    bigrams; a kanji that stands alone between kana (妻 in 太郎の妻は) is a token of its own, for a bigram would
    bind it to a particle that the question does not share, and so is a longer word of kanji or katakana alone.
    """
    return list(_pieces(normal(text)))


def query_tokens(text: str) -> tuple[str, ...]:
    """The distinct tokens of a question: any of them may match. Bounded: a pasted novel costs no more than a page."""
    return tuple(islice(dict.fromkeys(_pieces(normal(text))), MAX_QUERY_TOKENS))


@lru_cache(maxsize=16_384)
def telling(text: str) -> frozenset[str]:
    """The tokens of a text that are no grammar."""
    return frozenset(token for token in tokens(text) if not says_little(token))


def share(wanted: frozenset[str], text: str) -> float:
    """Which share (0..1) of these tokens the text has; 0 of none."""
    return len(wanted & telling(text)) / len(wanted) if wanted else 0.0


def likeness(a: str, b: str) -> float:
    """How like two texts are in their telling tokens, 0..1 (Jaccard). It ranks, or finds doubles; it says nothing of
    what is meant.
    """
    return jaccard(telling(a), telling(b))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """How much of both is in both, 0..1; 0 where one is empty."""
    return len(a & b) / len(a | b) if a and b else 0.0


def squeezed(text: str) -> str:
    """Letters and digits only, in one width and case."""
    return re.sub(r"[\W_]+", "", normal(text))


@lru_cache(maxsize=1000)
def grams(text: str, size: int) -> frozenset[str]:
    """The runs of so many letters and digits that a text has; a shorter text is one itself."""
    letters = squeezed(text)
    return frozenset(letters[start : start + size] for start in range(max(1, len(letters) - size + 1)))


def sentences(text: str) -> list[str]:
    """The sentences of a text by their marks, stripped; never an empty one."""
    return [part.strip() for part in _BREAK.split(text) if part.strip()]


def is_named(name: str, text: str) -> bool:
    """Whether the text holds the name as a word of its own: Bo is not in a boathouse, nor 葵 in 葵祭."""
    if (name := normal(name)) not in (text := normal(text)):
        return False
    before, after = (next((on[end] for on in _GOES_ON if re.match(on[end], name[end:])), "(?!)") for end in (0, -1))
    return re.search(f"(?<!{before}){re.escape(name)}(?!{after})", text) is not None


_GOES_ON = (
    (rf"(?![{_CJK}])[^\W_]",) * 2,
    ("[ァ-ヺー]",) * 2,
    (rf"(?![日朝夜晩週月年時])[{_HAN}]", rf"(?![様君殿氏達以自本])[{_HAN}]"),
)
"""What goes on with a word before and after, by the script it begins or ends in; words of hiragana are not parted. A
name of kanji may stand right behind a time (昨日), and before a title or oneself (自身).
"""


@cache
def _function_stems() -> frozenset[str]:
    return frozenset(map(stem, FUNCTION_WORDS))


def says_little(token: str) -> bool:
    """Whether a token is grammar (the, ている): it helps to order what else was found, but finds nothing."""
    if _HIRAGANA_PAIR.fullmatch(token):
        return len(token) == 1 or token in _FUNCTION_PAIRS or token[0] == "を" or token[1] in "はがをにのともでへ"
    return token in _function_stems()


def tokens_a_word(found: Sequence[str]) -> float:
    """How many of these tokens make a word: one where words are written apart, two and more where pairs of characters
    stand for them.
    """
    return 1 + 1.2 * sum(not token.isascii() for token in found) / max(len(found), 1)


def _pieces(text: str) -> Iterator[str]:
    for match in _PIECE.finditer(text):
        run = match["cjk"]
        if run is None:
            yield stem(match["word"])[:_MAX_WORD]
        elif len(run) == 1:
            yield run
        else:
            yield from (run[i : i + 2] for i in range(len(run) - 1))
            yield from (word[:_MAX_WORD] for word in _WHOLE.findall(run))


_MONTHS = "january february march april may june july august september october november december".split()
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred".split()
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_TIMES = (
    "yesterday today tonight tomorrow morning evening night day week month year spring summer autumn fall winter "
    "christmas easter last next ago since"
).split()
_JA_TIMES = (
    "昨日 今日 明日 昨夜 今夜 おととい あさって 先週 今週 来週 先月 今月 来月 去年 今年 来年 年末 曜 "
    "春 夏 秋 冬 朝 晩 夜"
)
_TIME = re.compile(
    rf"\d|[〇一二三四五六七八九十百千][年月日時分週回歳人つ円か]|{'|'.join(_JA_TIMES.split())}"
    rf"|\b(?:{'|'.join((*_MONTHS, *_NUMBERS, *_DAYS, *_TIMES))})s?\b"
)
_WHEN = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:day|date|month|year|time)\b|\bhow (?:long|old)\b|いつ|何[年月日時曜歳]|どのくらい前"
)
_MONTH = re.compile(
    rf"\b({'|'.join(name for name in _MONTHS if name not in ('march', 'may'))})\b"
    r"|\b(?:in|of|by|since|until|during|early|late|mid|this|last|next|\d+(?:st|nd|rd|th)?) (march|may)\b"
    r"|\b(march|may) \d|(?<!\d)(1[0-2]|[1-9]) ?月"
)
_OF_ANYBODY = re.compile(
    r"\b(?:remember|recall|know|tell|hear|heard|think|met|meet)(?:s|ed|ing)?\b"
    r"|\b(?:any|every|some)(?:thing|body|one)\b|\b(?:all|before|else|ever|still|please|kind|person|memor(?:y|ies))\b|['’]s\b"
    r"|(?:覚え|おぼえ|思い出|知っ|知り|知る|教え|話し|話を|聞い|聞か|会っ|記憶)[ぁ-ん]*|下さい|の?(?:こと|事)"
    r"|さん|ちゃん|くん|[様君殿氏]|[何誰人]か?|だれ|なに|どんな|どう思[ぁ-ん]*"
)
_YEAR = re.compile(r"(?<!\d)(1\d\d\d|2\d\d\d)(?!\d)(?: ?年)?")


class Named(NamedTuple):
    """Months (1 to 12) and years that a text names."""

    months: tuple[int, ...]
    years: tuple[int, ...]


def asks(text: str) -> bool:
    """Whether it is a question."""
    return "?" in normal(text)


def tells_a_time(text: str) -> bool:
    """Whether it holds a number, or a word for a time."""
    return _TIME.search(normal(text)) is not None


def asks_when(query: str) -> bool:
    """Whether it asks for a time."""
    return _WHEN.search(normal(query)) is not None


def dates_named(query: str) -> Named:
    """The months and years it names. May and March count where they can be no other word."""
    folded = normal(query)
    found = ("".join(groups) for groups in _MONTH.findall(folded))
    months = [int(name) if name.isdecimal() else _MONTHS.index(name) + 1 for name in found]
    return Named(months=tuple(months), years=tuple(map(int, _YEAR.findall(folded))))


def asks_of(query: str, name: str) -> bool:
    """Whether it names that one and asks for nothing of it but what is remembered: "What do you know of Ken?"."""
    rest, named = names_in(query, [name])
    return bool(named) and all(map(says_little, tokens(_OF_ANYBODY.sub(" ", normal(rest)))))


def names_in(query: str, names: Iterable[str]) -> tuple[str, frozenset[str]]:
    """The query without the names that it holds, and which of them it holds.

    A name of several words is also known by one of them, written as it is in the name.
    """
    held = set()
    for name in sorted(names, key=len, reverse=True):
        for part, flags in ((name, re.IGNORECASE), *((part, re.NOFLAG) for part in name.split() if len(part) > 1)):
            if part.casefold() not in query.casefold():
                continue
            bound = r"\b" if part.isascii() else ""
            left = re.sub(rf"{bound}{re.escape(part)}{bound}(?:['’]s\b)?", " ", query, flags=flags)
            if left != query:
                held.add(name)
                query = left
    return query, frozenset(held)


def floor(asked: float, among: int) -> float:
    """How much of a query some three lines must hold for anything to bear on it among so many items."""
    return min(HALF_OF_IT * asked, ABOUT_A_WORD * math.log1p(max(among, FEW)))
