"""Owns what no line of a person may be, by rule: a secret told, a forbidden word, a repetition, another language, too
long, a voice that is not its own, something that its author wrote otherwise. Pure.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from service.content.profile import CharacterProfile, NpcProfile
from service.conversation.repetition import breaks_character, is_repetition
from service.locales import Language
from service.memory.claim import clauses, share, words
from service.memory.comparison import contradict, is_other_than, squeezed
from service.memory.secrets import Discretion
from service.memory.utterance import is_question, sentences
from service.quality.language import is_foreign

Check = Literal[
    "empty",
    "secret",
    "forbidden",
    "repetition",
    "language",
    "length",
    "out_of_character",
    "first_person",
    "contradiction",
]

_GRAM, _LOOP = 3, 40
_DISTINCT = 0.5
"""A line of at least `_LOOP` letters with a smaller share of different trigrams goes round in circles."""

_TELLING, _GIVEN_AWAY = 3, 0.6
"""A clause of a secret with so many telling words is told by this share of them."""

_QUOTED = re.compile(r"「[^「」]*」|『[^『』]*』|“[^“”]*”|\"[^\"]*\"")
_ASSISTANT = re.compile(
    r"\bas an assistant\b|\b(?:feel free to|don't hesitate to) (?:ask|reach out|contact|let me know)\b"
    r"|\bi(?:'m| am) (?:here )?(?:happy|glad|here) to (?:assist|help you with)\b|\bi hope this helps\b"
    r"|\bis there anything else i can (?:help|assist)\b|\bi (?:cannot|can't|am unable to) (?:assist|comply|fulfil)"
    r"|\b(?:this|your) (?:prompt|query|request) (?:violates|goes against)\b"
    r"|\b(?:virtual|fictional|non-player) character\b|\brole-?playing game\b"
    r"|(?:架空|ゲーム(?:の中)?)の(?:人物|キャラクター)|ロールプレイ"
    r"|(?:ご質問|ご不明な点|お困りのこと)(?:が|など)[^。]{0,12}(?:お気軽|遠慮なく)|お役に立て(?:れば|たら|て)(?:幸い|嬉し|何より)"
    r"|(?:他|ほか)に(?:何か)?お手伝い(?:できる|でき)|そのご?(?:要望|リクエスト)には(?:お応え|対応)"
    r"|^\s*(?:#{1,4} |[-*] \*\*|```)|\*\*[^*\n]+\*\*|```",
    re.IGNORECASE | re.MULTILINE,
)
"""What a chat assistant says, and how it writes."""

_PRONOUNS: tuple[str, ...] = (
    "わたし|わたくし|私",
    "あたし",
    "俺|おれ|オレ",
    "僕|ぼく|ボク",
    "わし|儂",
    "小生",
    "おいら",
)
"""Japanese words for "I", by kin."""
_BEFORE, _AFTER = r"(?<![ぁ-んァ-ヶー一-龠々])", r"(?=たち|ら|[はがのもをにとへ、で])"
_SELVES = tuple(re.compile(f"{_BEFORE}(?:{kin}){_AFTER}") for kin in _PRONOUNS)
_NAMED_SELF = re.compile(r"一人称は[「『]([^」』]+)[」』]")
_OWN = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|me|we|we've|our)\b")


class Exchange(NamedTuple):
    """What a person was told, and what it answered."""

    said: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class Standard:
    """What a person's lines are held to. `names` are of everybody; `never` are words that it may not say; `longest` is
    in characters.
    """

    speaker: CharacterProfile | NpcProfile
    language: Language
    discretion: Discretion
    names: frozenset[str]
    never: tuple[str, ...] = ()
    longest: int = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """What is wrong with the answer of that number, from 0; `about` is the word, or the author's sentence, it is wrong
    by ("": by itself).
    """

    check: Check
    number: int
    quote: str
    about: str = ""


def faults(talk: Sequence[Exchange], standard: Standard) -> list[Fault]:
    """Everything that is wrong with the answers, in their order."""
    return [
        Fault(check=check, number=number, quote=one.answer, about=about)
        for number, one in enumerate(talk)
        for check, about in wrong(one, talk[:number], standard)
    ]


def comparable(one: Exchange, before: Sequence[Exchange]) -> list[str]:
    """The answers that it should not be like. Who is asked the same again may answer the same again."""
    return [earlier.answer for earlier in before if not is_repetition(one.said, [earlier.said])]


def folded_in(word: str, text: str) -> bool:
    """Whether the text holds the word, whatever their width and case; an English word as a whole."""
    word, text = (unicodedata.normalize("NFKC", one).casefold() for one in (word, text))
    if word.isascii():
        return re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", text) is not None
    return word in text


def wrong(one: Exchange, before: Sequence[Exchange], standard: Standard) -> Iterator[tuple[Check, str]]:
    """What is wrong with the answer, after those `before`, and by what (see `Fault.about`)."""
    text, speaker = one.answer, standard.speaker
    if not text.strip():
        yield "empty", ""
        return
    if (
        secret := next((fact for fact in standard.discretion.kept if not _keeps(text, fact, speaker)), None)
    ) is not None:
        yield "secret", secret
    yield from (("forbidden", word) for word in standard.never if folded_in(word, text))
    if _loops(text) or is_repetition(text, comparable(one, before)):
        yield "repetition", ""
    if is_foreign(text, standard.language):
        yield "language", ""
    if len(text) > standard.longest:
        yield "length", str(standard.longest)
    if breaks_character(text, _authored(speaker)) or _assists(text, speaker.lines):
        yield "out_of_character", ""
    if other := _other_self(text, speaker):
        yield "first_person", other
    if fact := _contradicted(text, standard):
        yield "contradiction", fact


def _keeps(text: str, secret: str, speaker: CharacterProfile | NpcProfile) -> bool:
    """Whether a text gives nothing of a secret away: not half of it, and no clause that says something by itself, in
    words that no open fact has.
    """
    if not Discretion(kept=(secret,)).lets(text):
        return False
    known = words("\n".join(speaker.settled))
    parts = (words(clause) - known for clause in clauses(secret))
    return not any(len(part) >= _TELLING and share(part, text) >= _GIVEN_AWAY for part in parts)


def _authored(speaker: CharacterProfile | NpcProfile) -> Iterable[str]:
    return (speaker.name, speaker.personality, speaker.custom_prompt, *speaker.settled, *speaker.lines)


def _loops(text: str) -> bool:
    letters = squeezed(text)
    grams = [letters[i : i + _GRAM] for i in range(len(letters) - _GRAM + 1)]
    return len(letters) >= _LOOP and len(set(grams)) < _DISTINCT * len(grams)


def _assists(text: str, lines: Iterable[str]) -> bool:
    return _ASSISTANT.search(text) is not None and not any(_ASSISTANT.search(line) for line in lines)


def _other_self(text: str, speaker: CharacterProfile | NpcProfile) -> str:
    """The word by which it calls itself, where its author has it say another."""
    written = (*speaker.lines, *_NAMED_SELF.findall(f"{speaker.personality}{speaker.custom_prompt}"))
    own = [any(one.search(f"{line}は") for line in written) for one in _SELVES]
    if not any(own):
        return ""
    plain = _QUOTED.sub(" ", text)
    found = (match[0] for one, is_own in zip(_SELVES, own, strict=True) if not is_own and (match := one.search(plain)))
    return next(found, "")


def _contradicted(text: str, standard: Standard) -> str:
    """What its author wrote of it that a sentence of its own contradicts."""
    own = [one for one in sentences(_QUOTED.sub(" ", text)) if _is_of_itself(one, standard)]
    written = standard.speaker.settled
    found = (
        fact
        for one in own
        for fact in written
        if (contradict(fact, one, standard.names) and _same_matter(fact, one, standard.names))
        or is_other_than(one, fact)
    )
    return next(found, "")


def _same_matter(fact: str, text: str, names: frozenset[str]) -> bool:
    """Whether they have more in common than one kanji, which stands in many words."""
    shared = words(fact, names) & words(text, names)
    return len(shared) > 1 or any(len(word) > 1 for word in shared)


def _is_of_itself(text: str, standard: Standard) -> bool:
    """Whether a sentence states something of its speaker: not a question, and nobody else's doing."""
    if is_question(text):
        return False
    if standard.language != "ja":
        return _OWN.search(text.lower().replace("’", "'")) is not None
    others = standard.names - {standard.speaker.name}
    return not any(re.search(rf"{re.escape(name)}(?:さん|先生|くん|ちゃん|様)?[はがも]", text) for name in others)
