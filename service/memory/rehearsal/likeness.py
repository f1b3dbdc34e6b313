"""Owns likeness of texts without a model: what they are about, whether one holds another, what to quote of them.

Japanese by character bigrams, other languages by the beginnings of words; a text may mix both.
"""

import math
import re
import unicodedata

from service.memory.lexical import FUNCTION_WORDS, stem
from service.memory.utterance import is_question

_CJK = re.compile(r"[぀-ヿ㐀-鿿々ー]+")
_WORD = re.compile(r"[^\W\d_][\w'’-]*|\d+")
_HIRAGANA = re.compile(r"[぀-ゟー]+")
_FAINT = re.compile(r"[何言話聞思知存私僕俺今日人一事方時上中前後来行見出]")
"""Kanji found in any talk; as good as kana."""
_BREAK = re.compile(
    r"(?<=[!?])(?=[\u3041-\u9fff])(?![」』])|(?<=[。！？])(?![」』。！？])|(?<=[.!?][\"”’])\s+|(?<=[.!?])\s+|\n+"
)
STOP_WORDS = FUNCTION_WORDS | frozenset(
    "across after again against all along also always among anyone anywhere around ask back because before behind "
    "beside better between both came don't down during else enough even ever every everything found get given go goes "
    "good having hear heard here hers i'll i'm i've inside isn't it's just know last let like little long longer made "
    "make many may more most much must near never new next nobody now off often older once one only other outside "
    "over own past say says see since somewhere still such take talk tell that's there's thing things those though "
    "through time today told tomorrow tonight too toward towards two under until very way well while within without "
    "year years yes yesterday you're you've yours".split()
)
_DETERMINERS = frozenset("a an the my our his her their this that these those your every each".split())
_DULL = frozenset(
    "first second kindness favour favor burnt name names same word words kind place time times boy girl half whole others rest side sort".split()
)
_NO_NOUN = re.compile(r"(?:ed|ing|ly)$")
_VERBS = frozenset(
    "bakes bring brings buys comes costs fell find finds gave gets gives grew grows hear hears help helps keep keeps "
    "knows left lives look looks lost makes means need needs opens owes ran run runs saw sells sings sleep sleeps "
    "smells starts stands takes tastes tell tells thinks took turns wants went work works won goes says feel feels wrote "
    "told asked kept came sat saw heard broke built died sold".split()
)
_PLAIN_KEYS = frozenset(
    "今日 昨日 明日 最近 本当 一番 何か 自分 毎日 毎朝 毎晩 今年 去年 時間 一人 二人 全部 大丈夫 先日 今朝 今夜 "
    "今度 以来 近況 様子 年間 変 目標 挨拶 元気 以上 理由".split()
)
_NOUN_JA = r"[㐀-鿿々ァ-ヺー]+(?:[りみきい](?=[はがをのもに]))?"
_KEY_JA = re.compile(
    rf"(?<![0-9０-９㐀-鿿々ァ-ヺー])({_NOUN_JA}(?:の{_NOUN_JA})?)(?=[はがをにでもへや、。]|から|まで|$)"
)
_SMALL_TALK = re.compile(
    r"おはよう|こんにちは|こんばんは|はじめまして|初めまして|ありがと|さようなら|さよなら|いらっしゃい|ようこそ|久しぶり|ぶりだ|"
    r"ぶりです|また(?:来|ね|な|どうぞ|いつでも|今度|会|お|話|寄)|では、また|気をつけ|お元気で|失礼|お邪魔|ください|ませんか|よろしく|"
    r"どういたしまして|話すほど|思いつか|忙し|ほうこそ|話しかけ|知らな|のほうは|そちらは|来てくれ|行ってらっしゃい|"
    r"\b(?:hello|hi|good (?:morning|day|evening|afternoon|night)|welcome|thank|thanks|goodbye|farewell|see you|"
    r"take care|nice to|pleased to|come (?:back|again|by)|how (?:are|have)|what about you|and you|until next time|"
    r"safe travels|comes to mind|worth telling|busy|say about that|back so soon|been here|it has been|"
    r"good to see|yours to ask|not in the mood)\b",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"^.{0,12}(?:ご丁寧に、?.{0,12}|歓迎で?[すだ]よ|手短に.{2,6}|うれし(?:いです|いよ|かったです|かったよ)|うれしいことを.{5,9}|"
    r"お礼なんて、いいんで?[すだ]よ|ことは、とくに.{2,6}|覚えていてくれた.{1,4}|覚えていてくれました.{1,3}|思いつきません|楽しかった(?:です|よ)|"
    r"(?:今日は|いい).{0,3}(?:日|天気).{0,5}|待って(?:い?ますよ|るよ)、?.{0,12}|仕事に戻らないと|このへんで)。?$|"
    r"\b(?:(?:nice|fine|lovely) (?:day|weather)|two days running|let me think|think nothing of it|here is something|this to few people|fancy you remembering|"
    r"somebody else about that|told you this before|nothing to say just now|door is open to you|does not do itself)\b",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"さようなら|さよなら|それでは、?また|では、?また|じゃあ、?また|またね|またな|また今度|また来(?:ます|る[よねわ]|てね|てくださ)|また会(?:い|お)|またいつでも|またどうぞ|"
    r"またおいで|また(?:寄らせ|伺い|うかがい|お邪魔し)|失礼(?:する|します|いたします)|お邪魔しました|お元気で|気をつけて|行きますね|もう行|"
    r"\b(?:goodbye|good-bye|bye|farewell|(?<!to )see you|take care|until next time|i must be (?:off|going)|"
    r"i should (?:go|be going)|safe travels|come (?:back|again) (?:soon|any time|anytime))\b",
    re.IGNORECASE,
)


def grams(text: str) -> frozenset[str]:
    """What a text is about: kanji, katakana and their bigrams; the first five letters of the stem of each telling word."""
    plain = _FAINT.sub("あ", unicodedata.normalize("NFKC", text).lower())
    found = {stem(word)[:5] for word in _WORD.findall(_CJK.sub(" ", plain)) if word not in STOP_WORDS}
    for run in _CJK.findall(plain):
        found.update(c for c in run if not _HIRAGANA.fullmatch(c))
        pairs = (run[i : i + 2] for i in range(len(run) - 1))
        found.update(pair for pair in pairs if not _HIRAGANA.fullmatch(pair))
    return frozenset(found)


def fit(query: str, text: str) -> float:
    """How well a text fits a query, 0..1: the cosine of their grams."""
    wanted, offered = grams(query), grams(text)
    if not wanted or not offered:
        return 0.0
    return len(wanted & offered) / math.sqrt(len(wanted) * len(offered))


def holds(text: str, part: str) -> float:
    """Which share of what `part` is about `text` holds too, 0..1; a part about nothing is held when it is in the text."""
    wanted = grams(part)
    if not wanted:
        return float(part in text)
    return len(wanted & grams(text)) / len(wanted)


def sameness(a: str, b: str) -> float:
    """How far two texts are the same words, 0..1: twice the shared character bigrams over all of them."""
    left, right = _bigrams(a), _bigrams(b)
    if not left or not right:
        return float(a == b)
    return 2 * len(left & right) / (len(left) + len(right))


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped; never an empty one."""
    return [part.strip() for part in _BREAK.split(text) if part.strip()]


def is_farewell(text: str) -> bool:
    """Whether it takes leave."""
    return bool(_FAREWELL.search(text))


def tells_something(sentence: str) -> bool:
    """Whether it says something worth keeping: no greeting, thanks, farewell or question, and about something."""
    if is_question(sentence) or _SMALL_TALK.search(sentence) or _COURTESY.search(sentence):
        return False
    return len(grams(sentence)) >= (3 if _CJK.search(sentence) else 2)


def key_phrase(text: str, avoid: tuple[str, ...] = ()) -> str:
    """A short phrase to quote, or "": the longest noun-like one that is not in the texts to avoid."""
    avoided = " ".join(avoid).lower()
    found = _keys_ja(text) if _CJK.search(text) else _keys_en(text)
    fresh = [
        key for key in found if key.lower() not in avoided and not any(a and a.lower() in key.lower() for a in avoid)
    ]
    return max(fresh, key=lambda key: min(len(key), 8) if _CJK.search(key) else len(key.split()), default="")


def clip(text: str, limit: int) -> str:
    """The text within `limit` characters: whole sentences where they fit, else cut with an ellipsis."""
    if len(text) <= limit:
        return text
    kept = ""
    for sentence in sentences(text):
        longer = f"{kept} {sentence}".strip() if sentence.isascii() else kept + sentence
        if len(longer) > limit:
            break
        kept = longer
    return kept or text[: limit - 1] + "…"


def _bigrams(text: str) -> set[str]:
    plain = "".join(c for c in unicodedata.normalize("NFKC", text).lower() if c.isalnum())
    return {plain[i : i + 2] for i in range(len(plain) - 1)}


def _keys_ja(text: str) -> list[str]:
    found = (key for key in _KEY_JA.findall(text) if 2 <= len(key) <= 12)
    return [
        key
        for key in found
        if not any(plain in key for plain in _PLAIN_KEYS) and key[0] not in "ー一二三四五六七八九十百千数半"
    ]


def _keys_en(text: str) -> list[str]:
    found: list[str] = []
    for part in re.split(r"[^\w'’ -]+", text):
        words = part.split()
        for start, word in enumerate(words):
            if word.lower() in _DETERMINERS and (key := _noun_phrase(words[start + 1 :])):
                found.append(key)
    return found


def _noun_phrase(words: list[str]) -> str:
    """The words up to the next function word or verb; "" when that is not within three words."""
    phrase: list[str] = []
    for word in words:
        low = word.lower()
        if len(phrase) > 1 and low in _DETERMINERS:
            phrase.pop()  # "the children beat the drums": what stands before an article is a verb
        if low in STOP_WORDS or low in _VERBS or (phrase and _NO_NOUN.search(low)):
            break
        phrase.append(word)
        if len(phrase) > 3:
            return ""
    return " ".join(phrase) if any(len(w) > 3 and w not in _DULL for w in phrase) else ""
