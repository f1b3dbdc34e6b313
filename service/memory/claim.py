"""Owns what a statement claims by its form: its telling words, its numbers, whether it denies, which of two opposites.
Pure.
"""

import re
from functools import lru_cache

from service.memory.lexical import FUNCTION_WORDS, normal
from service.memory.stem import stem

_KANJI_DIGITS = {c: i for i, c in enumerate("〇一二三四五六七八九")}
_KANJI_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_THINGS = "人名つ個匹本枚軒艘冊台杯頭羽通組"
_SPANS = "か月|ヶ月|週間|時間|代目|番目|年|月|日|歳|才|回|時|分|度|割"
_KANJI_NUMBER = r"[一二三四五六七八九十百千〇][一二三四五六七八九十百千万〇]*"
_COUNTED_JA = re.compile(rf"(?P<number>\d+|{_KANJI_NUMBER})(?P<counter>[{_THINGS}]|{_SPANS})")
_NO_COUNT = re.compile(
    r"一番(?!目)|一緒|一度も|一つも|一人も|十分(?=[なにだで])|千代(?!目)|万年|一人前|一日中|一時(?=の)"
)
_KANA_COUNTS = {
    "ひとつ": "1つ",
    "ふたつ": "2つ",
    "みっつ": "3つ",
    "ひとり": "1人",
    "ふたり": "2人",
    "双子の": "2人の",
    "双子": "2人",
}
_HAN = r"[\u3400-\u4dbf\u4e00-\u9fff々]"
_HIRAGANA = re.compile(r"[ぁ-ん]+")
_NOUN_JA = rf"(?:{_HAN}+|[ァ-ヺー]+)"

_ONES = {
    w: i
    for i, w in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
}
_TENS = {w: 10 * i for i, w in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
_TIMES = {"hundred": 100, "thousand": 1000}
_SETS = {"twin": 2, "twins": 2, "triplets": 3, "dozen": 12}
_NO_ONE = re.compile(
    r"\b(?:no|the|this|that|which|any|every|each|old|last|only) one\b|\bone (?:of|day|another|who|that|can|must)\b|\bone's\b"  # noqa: E501
)
_STEM = 6
"""Letters of a stem that must agree: carpenter and carpentry are one."""
_EN_TOKEN = re.compile(r"\d+|[a-z]+(?:'[a-z]+)?")

_NOT_DENIED = re.compile(
    r"(?:かもしれ|に違い|にちがい|仕方|しかた|しか|少|危|切|もったい|とんでも|じゃ(?=ないか))が?(?:ない|ありません|ません|なかった)"
    r"|(?:なければ|ねば|なくては|なきゃ|にゃ)(?:なら(?:ない|ん|ぬ)|なりません|いけない|いかん)"
    r"|じゃないか|ではないか|はず|必ず|まず[、は]|いずれ|みかん"
    r"|\b(?:no doubt|not only|no wonder|no matter|can't help|cannot help|never mind)\b"
)
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|neither|nor|cannot|\w+n't)\b"
    r"|んかった|ない|ません|なかった|なく(?=[てな、])|無い|ず(?=[にと、。]|$)|[からま]ん(?=[。、よじでけぞわのと!]|$)|知らぬ"
)
_DENIAL = re.compile(
    r"^\s*(?:no\b(?= *[,.!;]|$)|nope\b|not at all|いいえ|いや(?=[、。…]|いや)|違い?(?:う|ます)|ちがう|まさか|とんでもない)[、。,.! ]*"  # noqa: E501
)
_ASSENT = re.compile(
    r"^\s*(?:yes|yeah|aye|indeed|of course|that's right|true|right|はい|ええ(?!と)|うん|ああ|そう(?:だ|で|さ|じゃ|なん|、)|おう|左様|もちろん|その通り)(?![a-z])[、。,.! ]*"  # noqa: E501
)

_CLAUSE = re.compile(
    r"[、,;:。.!?！？\n—…]+|\bbut\b|\bthough\b|\band\b(?= (?:i|my|we|the|he|she)\b)|(?<=[るただすい])(?:けど|けれど|が)(?=、)"  # noqa: E501
)

_EN_STOP = FUNCTION_WORDS | frozenset(
    "being here just more never nor off over too very those mine yours say says said tell tells told talk talks "
    "talked met meet speak speaks spoke spoken ask asks asked also always ever still really got get after before "
    "i'm i've i'd i'll it's he's she's that's there's don't doesn't didn't isn't aren't wasn't weren't can't "
    "won't haven't hasn't hadn't cannot nothing none nobody neither yes yeah indeed well oh ah again only now".split()
)
_KIN_JA = {"お子さん": "子供", "子ども": "子供", "父親": "父", "母親": "母", "奥さん": "妻", "女房": "妻", "家内": "妻"}
_FAINT = re.compile(r"自分|[私僕俺儂言話聞尋答思事時今何人小生方彼女達]")

_OPPOSITES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (
        re.compile(r"\bmarried\b|既婚\w?|結婚(?=し|して)|妻帯|(?:妻|所帯)を持"),
        re.compile(r"\b(?:unmarried|(?:is|am|i'm|still|be) (?:a )?single|bachelor|spinster)\b|独身|独り身|未婚"),
    ),
    (
        re.compile(r"\b(?:alive|living still|still living)\b|生きて|健在|存命"),
        re.compile(r"\b(?:dead|died|deceased|passed away|drowned)\b|死ん|亡くな|他界|亡き"),
    ),
    (re.compile(r"\bright-handed\b|右利き"), re.compile(r"\bleft-handed\b|左利き")),
    (re.compile(r"\b(?:rich|wealthy)\b|金持ち|裕福"), re.compile(r"\b(?:poor|penniless)\b|貧し|貧乏")),
)
_KIN = re.compile(
    r"\b(?:wife|husband|daughters?|sons?|sisters?|brothers?|mother|father|uncle|aunt|child|children|friend)\b"
    r"|妻|夫|娘|息子|姉|妹|兄|弟|母|父|祖父|祖母|叔父|叔母|子供|友"
)

TEXTS_HELD = 4096
"""Texts of which it is held what they claim: a closing holds each of a few hundred against many others."""


@lru_cache(maxsize=TEXTS_HELD)
def folded(text: str) -> str:
    """Width and case removed, apostrophes made straight, white space collapsed."""
    return normal(text).replace("’", "'")


def without_names(text: str, names: frozenset[str]) -> str:
    """The folded text without these names: a statement about somebody holds them whether it is true or not."""
    text = folded(text)
    for name in sorted(map(folded, names), key=len, reverse=True):
        if name:
            edge = r"\b" if name.isascii() else ""
            text = re.sub(rf"{edge}{re.escape(name)}{edge}(?:'s|さん|ちゃん|くん|君|様)?", " ", text)
    return text


@lru_cache(maxsize=TEXTS_HELD)
def words(text: str, names: frozenset[str] = frozenset()) -> frozenset[str]:
    """The telling words: stems of English content words, kanji in pairs (alone when alone), katakana words.

    No numbers, no names, no particles and endings; a text of nothing but hiragana is told by its pairs.
    """
    bare = _COUNTED_JA.sub(" ", _spelled(without_names(text, names)))
    bare = _FAINT.sub(" ", bare)
    for said, meant in _KIN_JA.items():
        bare = bare.replace(said, meant)
    found = {
        stem(w)[:_STEM] for w in _EN_TOKEN.findall(bare) if not w.isdigit() and w not in _EN_STOP and not _is_number(w)
    }
    for run in re.findall(rf"{_HAN}+", bare):
        found.update((run[i : i + 2] for i in range(len(run) - 1)) if len(run) > 1 else (run,))
    found.update(re.findall(r"[ァ-ヺー]{2,}", bare))
    if not found and not numbers(text):
        found.update(run[i : i + 2] for run in re.findall(r"[ぁ-ん]{2,}", bare) for i in range(len(run) - 1))
    return frozenset(found)


def share(wanted: frozenset[str], text: str) -> float:
    """Which share (0..1) of telling words a text holds. A lone kanji, or a pair of kana, may stand anywhere in it."""
    return len(held(wanted, text)) / len(wanted) if wanted else 0.0


def held(wanted: frozenset[str], text: str) -> frozenset[str]:
    """Which of the telling words the text holds."""
    if not wanted:
        return frozenset()
    offered, plain = words(text), folded(text)
    return frozenset(w for w in wanted if w in offered or (not w.isascii() and w in plain))


@lru_cache(maxsize=TEXTS_HELD)
def clauses(text: str) -> tuple[str, ...]:
    """The clauses of a text, cut at punctuation and contrast: small enough to hold one claim, affirmed or denied."""
    opened = re.sub(r"^\s*(?:no|yes|いいえ|いや|はい|ええ)[、,. ]+", "", folded(text))
    return tuple(clause for clause in (part.strip() for part in _CLAUSE.split(opened) if part) if clause)


def numbers(text: str) -> frozenset[str]:
    """The numbers a text names, in digits: 「子供が二人」, "two children", "twins" and "2" name 2; "a couple" does
    not.
    """
    return frozenset(number for number, _ in _counts(text))


def counted(text: str) -> dict[str, frozenset[str]]:
    """What the text counts: a thing (or a measure of time) and the numbers given for it."""
    found: dict[str, set[str]] = {}
    for number, noun in _counts(text):
        if noun:
            found.setdefault(noun, set()).add(number)
    return {noun: frozenset(given) for noun, given in found.items()}


@lru_cache(maxsize=TEXTS_HELD)
def is_negated(text: str) -> bool:
    """Whether the statement denies something. An answer's opening "no" is not part of what it goes on to state."""
    return _NEGATION.search(_NOT_DENIED.sub(" ", _DENIAL.sub("", folded(text)))) is not None


def is_denial(text: str) -> bool:
    """Whether an answer opens with a no."""
    return _DENIAL.search(folded(text)) is not None


def is_assent(text: str) -> bool:
    """Whether an answer opens with a yes."""
    return _ASSENT.search(folded(text)) is not None


def are_opposite(a: str, b: str, names: frozenset[str] = frozenset()) -> bool:
    """Whether one says of the same people what excludes the other: married and single, alive and dead. A short list."""
    return any(_opposed(a, b, pair, names) for pair in _OPPOSITES)


def _opposed(a: str, b: str, pair: tuple[re.Pattern[str], re.Pattern[str]], names: frozenset[str]) -> bool:
    left, right = _side(a, pair), _side(b, pair)
    if left is None or right is None or left == right:
        return False
    rests = [pair[0].sub(" ", pair[1].sub(" ", folded(text))) for text in (a, b)]
    if set(_KIN.findall(rests[0])) != set(_KIN.findall(rests[1])):
        return False
    told = [{word for word in words(rest, names) if not _HIRAGANA.fullmatch(word)} for rest in rests]
    smaller, larger = sorted(told, key=len)
    return smaller <= larger


def _side(text: str, pair: tuple[re.Pattern[str], re.Pattern[str]]) -> int | None:
    """Which of the two a text says of its subject, a denial being the other; None when neither or both."""
    said = {1 - i if is_negated(clause) else i for clause in clauses(text) for i in (0, 1) if pair[i].search(clause)}
    return said.pop() if len(said) == 1 else None


def _spelled(text: str) -> str:
    for kana, digits in _KANA_COUNTS.items():
        text = text.replace(kana, digits)
    return re.sub(r"(?<=\d),(?=\d{3})", "", text)


@lru_cache(maxsize=TEXTS_HELD)
def _counts(text: str) -> tuple[tuple[str, str], ...]:
    """(number, what is counted or "") in the order of the text."""
    plain = _spelled(folded(text))
    japanese = _NO_COUNT.sub(" ", plain)
    found = [(str(value_of(m["number"])), _counted_thing(japanese, m)) for m in _COUNTED_JA.finditer(japanese)]
    return (*found, *_english_counts(_COUNTED_JA.sub(" ", _NO_ONE.sub(" ", plain))))


def _counted_thing(text: str, match: re.Match[str]) -> str:
    if match["counter"] not in _THINGS:
        return match["counter"]  # a measure of time: 四十年
    after = re.match(rf"の({_NOUN_JA})", text[match.end() :])
    if after:
        return after[1]
    before = re.search(rf"({_NOUN_JA})[がはをもにと、]?(?:[はも、])?$", text[: match.start()])
    return before[1] if before else ""


def _english_counts(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    value: int | None = None
    for token in [*_EN_TOKEN.findall(text), ""]:
        if token in _TIMES and value is not None:
            value *= _TIMES[token]
        elif _is_number(token) and token not in _TIMES:
            plus = _SETS.get(token, _ONES.get(token, _TENS.get(token, 0))) if not token.isdigit() else int(token)
            joins = value is not None and not token.isdigit() and value % 10 == 0 and plus < max(10, value)
            if value is not None and not joins:
                found.append((str(value), ""))
            value = value + plus if joins and value is not None else plus
            if token in ("twins", "triplets"):
                found.append((str(value), ""))
                value = None
        elif value is not None:
            found.append((str(value), "" if token in _EN_STOP else stem(token)[:_STEM]))
            value = None
    return found


def _is_number(token: str) -> bool:
    return token.isdigit() or token in _ONES or token in _TENS or token in _TIMES or token in _SETS


def value_of(number: str) -> int:
    """Of digits or kanji."""
    if number.isdigit():
        return int(number)
    total = section = digit = 0
    for c in number:
        if c in _KANJI_DIGITS:
            digit = digit * 10 + _KANJI_DIGITS[c]
        elif c == "万":
            total, section, digit = total + (section + digit or 1) * 10_000, 0, 0
        else:
            section, digit = section + (digit or 1) * _KANJI_UNITS[c], 0
    return total + section + digit
