"""Owns the text of an utterance: its sentences, ready for speech while it is still being spoken, and what no utterance
may be: a repetition of earlier ones, a voice from outside the story, no speech at all, or another language. Pure.

A sentence is told as soon as nothing that may follow can change it. Positions count Unicode code points of the
utterance. Stage directions, in *asterisks*, (parentheses) or （their full-width kin）, at the edge of a sentence are no
speech: they are its gesture.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from service.locales import Language
from service.memory.lexical import grams, jaccard, squeezed

_STOPS = "。．！？!?."
_ELLIPSIS = "…‥"
_CLOSERS = "」』】）〉》\"'”’)]"
_DIRECTION = r"\*[^*\n]+\*|\([^()\n]*\)|（[^（）\n]*）"
_CLOSED_BY = {"*": "*", "(": ")", "（": "）"}
_LONGEST_DIRECTION = 120
"""What opens and is not closed within so many characters is no stage direction."""

_ATOM = re.compile(_DIRECTION)
_LEADING = re.compile(rf"\s*({_DIRECTION})\s*")
_TRAILING = re.compile(rf"\s*({_DIRECTION})\s*([{re.escape(_STOPS + _ELLIPSIS + _CLOSERS)}]*)$")
_EMPHASIS = re.compile(r"\*[A-Z][^*\s]*\*\s*[a-z]")
"""A first word that is stressed: its asterisks are no stage direction's."""
_STRESSED = re.compile(r"\*([^*\n]+)\*")
_TITLES = re.compile(r"\b(?:Mr|Mrs|Ms|Mx|Dr|St|Mt|Prof|Rev|Hon|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Rep|Messrs|[A-Z])\.$")
_ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|vs|cf|approx|viz)\.$", re.IGNORECASE)
_NUMBER = re.compile(r"\bNo\.$")
_STILL_QUOTING = "とっ、，,"
"""After a closed quotation the sentence goes on with these."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """`text` is what is to be spoken, empty where there is a gesture only; the whole of it stands from `start` to
    before `end`. `is_final`: the utterance ends with it.
    """

    index: int
    text: str
    start: int
    end: int
    gesture: str | None
    is_final: bool


def cut(utterance: str, *, is_whole: bool) -> list[Sentence]:
    """The sentences that are certain; all of them where the utterance `is_whole`. More of an utterance never changes
    what was certain.
    """
    spans = list(_spans(utterance, is_whole=is_whole))
    return [
        _sentence(index, utterance, start, end, is_final=is_whole and index == len(spans) - 1)
        for index, (start, end) in enumerate(spans)
    ]


def within(text: str, most: int, *, is_whole: bool) -> str:
    """As much of a text as is kept where it is longer than `most` characters: to the end of a sentence in their last
    quarter, if one ends there. Of one that goes on, only what is kept whatever follows.
    """
    least = most if is_whole else most * 3 // 4
    if len(text) <= least:
        return text
    ends = (one.end for one in cut(text[:most], is_whole=False) if one.end > most * 3 // 4)
    return text[: max(ends, default=least)]


def strength(text: str) -> float:
    """How strongly a sentence is said, from its marks: 0.3 where it trails off, 0.5, 0.8 with an exclamation mark, 1
    with several.
    """
    cries = sum(text.count(mark) for mark in "!！")
    if cries:
        return 1.0 if cries > 1 else 0.8
    return 0.3 if any(mark in text for mark in _ELLIPSIS) or ".." in text else 0.5


def _spans(text: str, *, is_whole: bool) -> Iterator[tuple[int, int]]:
    """Where sentences begin and end, without the blanks around them."""
    begin = at = _skip_blank(text, 0)
    while at < len(text):
        letter = text[at]
        if letter in _CLOSED_BY:
            passed = _past_direction(text, at, is_whole=is_whole)
            if passed is None:
                break
            at = passed
            continue
        if letter == "\n":
            ends, follows = len(text[:at].rstrip()), _skip_blank(text, at)
        elif letter in _STOPS or letter in _ELLIPSIS or letter in "」』":
            ends = _past_marks(text, at)
            follows = _skip_blank(text, ends)
        else:
            at += 1
            continue
        if follows == len(text):  # what follows decides
            break
        if _is_end(text, begin, at, ends, follows):
            yield begin, ends
            begin = at = follows
        else:
            at = max(ends, at + 1)
    if is_whole and text[begin:].strip():
        yield begin, len(text.rstrip())


def _skip_blank(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _past_direction(text: str, at: int, *, is_whole: bool) -> int | None:
    """Behind what may be a stage direction; None: it is not known yet where that ends."""
    found = _ATOM.match(text, at, at + _LONGEST_DIRECTION)
    if found is not None:
        return found.end()
    rest = text[at + 1 : at + _LONGEST_DIRECTION]
    is_open = len(rest) == len(text) - at - 1 and not {"\n", _CLOSED_BY[text[at]]} & set(rest)
    return None if is_open and not is_whole else at + 1


def _past_marks(text: str, at: int) -> int:
    """Behind the stops and the closing quotation marks that stand together."""
    while at < len(text) and (text[at] in _STOPS or text[at] in _ELLIPSIS or text[at] in _CLOSERS):
        at += 1
    return at


def _is_end(text: str, begin: int, at: int, ends: int, follows: int) -> bool:
    """Whether the sentence that began at `begin` ends with the marks from `at` to before `ends`."""
    marks, after, is_apart = text[at:ends], text[follows], follows > ends
    if text[at] == "\n" or "\n" in text[ends:follows]:
        return True
    if not any(mark in _STOPS for mark in marks):
        if marks[0] in _ELLIPSIS:
            return is_apart and not after.islower()
        return after in "「『"
    if marks[-1] in _CLOSERS and after in _STILL_QUOTING:
        return False
    if any(mark in "。！？" for mark in marks):
        return True
    if "．" in marks and not is_apart:
        return not after.isdigit()
    if after.islower():
        return False
    if not is_apart:  # ASCII marks: of 3.5, of a name, or of Japanese written with them
        return not after.isascii() and not after.isspace()
    if marks.startswith(".") and set(marks) <= set("."):
        return len(marks) == 1 and not _abbreviates(text[begin : at + 1], after)
    return True


def _abbreviates(said: str, after: str) -> bool:
    if _NUMBER.search(said):
        return after.isdigit()
    return bool(_ABBREVIATIONS.search(said) or (_TITLES.search(said) and not said.endswith(" I.")))


def _sentence(index: int, utterance: str, start: int, end: int, *, is_final: bool) -> Sentence:
    spoken, gestures = utterance[start:end], []
    while (found := _LEADING.match(spoken)) and not _EMPHASIS.match(spoken, found.start(1)):
        gestures.append(_inside(found[1]))
        spoken = spoken[found.end() :]
    trailing: list[str] = []
    while spoken and (found := _TRAILING.search(spoken)):
        trailing.insert(0, _inside(found[1]))
        spoken = spoken[: found.start()] + found[2]
    gesture = " ".join(filter(None, [*gestures, *trailing])) or None
    text = _STRESSED.sub(r"\1", spoken).strip()
    if gesture is not None and not any(letter.isalnum() for letter in text):
        text = ""
    return Sentence(index=index, text=text, start=start, end=end, gesture=gesture, is_final=is_final)


def _inside(direction: str) -> str:
    return direction[1:-1].strip()


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
    steps_out = _OUT_OF_CHARACTER.search(unicodedata.normalize("NFKC", utterance)) is not None
    return steps_out and not any(_MACHINE.search(unicodedata.normalize("NFKC", own)) for own in authored)


_LOOPS = ((20, 0.25), (40, 0.5))
"""A text of so many letters whose share of different trigrams is smaller goes round in circles."""
_BEAT = 6
"""So many marks without a letter are a silence that somebody may keep ("……", "?!")."""
_BROKEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ue000-\uf8ff\ufffd]")
"""Control characters, lone halves of a pair, those of private use, and what stands for one that was lost."""


def is_nonsense(text: str) -> bool:
    """Whether nobody could say the text: it is broken, has no word, says the same over and over, or is JSON."""
    is_broken = _BROKEN.search(text) is not None or text.lstrip().startswith('{"')
    return is_broken or (not squeezed(text) and len(text.strip()) > _BEAT) or loops(text)


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
    may_be_asked = kana == 0 and sum(map(str.isalpha, text)) >= _SHOWS
    return others.get(language, 0) >= least or (may_be_asked and _is_detected(text, language))


def _is_detected(text: str, language: Language) -> bool:
    """Whether the detector is sure that the text is not in the language, and finds no sentence of it that is."""
    is_unlikely = dict(_detector().rank(text)).get(language, 1.0) < _UNLIKELY
    return is_unlikely and all(_detector().classify(one.text)[0] != language for one in cut(text, is_whole=True))


def _detector() -> Any:
    """One for all threads."""
    with _LOADING:
        return _loaded()


_LOADING = Lock()


@cache
def _loaded() -> Any:
    """Loaded when a text asks for it: it takes half a second, and 80 MB."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
