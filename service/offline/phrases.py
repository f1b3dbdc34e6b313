"""Owns the words of each language that no author wrote: the small talk, and what is left of a text without it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from service.locales import Language, room
from service.memory.lexical import sentences, squeezed, telling

_SLOT = re.compile(r"\\\{(\w+)\\\}")
_SLOTS = {"fact": r"(?P<fact{n}>[^\n]{{1,200}}?)", "said": r"[^\n]{{1,200}}?"}
_NAME = r"[^\n。．.!?！？「」\"]{{0,80}}?"
"""What fills any other slot: a name, a time, a topic."""


@dataclass(frozen=True, kw_only=True)
class Phrases:
    """The sentences of one language: `offline` in its file of sentences."""

    texts: Mapping[str, tuple[str, ...]]
    small_talk: re.Pattern[str]

    def wordings(self, key: str, /, **slots: str) -> list[str]:
        """All wordings of a key, filled."""
        return [text.format(**slots) for text in self.texts[key]]

    def only(self, key: str, /, **slots: str) -> str:
        """The one wording of a key."""
        return self.wordings(key, **slots)[0]

    def joined(self, parts: Iterable[str]) -> str:
        """Sentences as one text."""
        return self.only("joint", one="", other="").join(filter(None, parts))

    def has(self, mark: str, text: str) -> bool:
        """Whether a text bears a mark: a regular expression of `offline.marks`."""
        return any(re.search(pattern, text, re.IGNORECASE) for pattern in self.texts[f"marks.{mark}"])

    def asks(self, text: str) -> bool:
        """Whether one of its sentences ends as a question does."""
        return any(self.has("question", sentence) for sentence in sentences(text))

    def fact(self, name: str, fact: str) -> str:
        """An authored fact as a sentence that names whose it is."""
        return fact if name in fact else self.only("memory.fact", name=name, fact=fact.rstrip(".。"))

    def told(self, text: str, *, is_human: bool = False) -> list[str]:
        """What a text tells beside the small talk: facts, and an author's words up to where they greet or ask. A human
        goes on after that.
        """
        left = self.small_talk.sub(lambda talk: f"\n{talk[talk.lastgroup] if talk.lastgroup else ''}\n", text)
        told = filter if is_human else takewhile
        parts = (told(self._tells, sentences(part)) for part in left.split("\n"))
        return [passage for passage in map(self.joined, parts) if telling(passage)]

    def _tells(self, sentence: str) -> bool:
        return not any(self.has(mark, sentence) for mark in ("greeting", "farewell", "question"))


@cache
def phrases(language: Language) -> Phrases:
    """The sentences of that language."""
    texts = {key: text if isinstance(text, tuple) else (text,) for key, text in room(language, "offline").items()}
    said = {wording for key, wordings in texts.items() if key.startswith(("polite.", "plain.")) for wording in wordings}
    patterns = (_pattern(wording, n) for n, wording in enumerate(sorted(said, key=lambda one: (-len(one), one))))
    return Phrases(texts=texts, small_talk=re.compile(rf"(?:^|(?<=[\s。.!?！？…」\"]))(?:{'|'.join(patterns)})"))


def _pattern(wording: str, n: int) -> str:
    return _SLOT.sub(lambda slot: _SLOTS.get(slot[1], _NAME).format(n=n), re.escape(wording))


def keys(texts: Iterable[str]) -> frozenset[str]:
    """The sentences of texts in the form in which they are compared; one without a letter or digit is left out."""
    return frozenset(key for text in texts for sentence in sentences(text) if (key := squeezed(sentence)))


def quotable(text: str) -> str:
    """The text as it stands between quotation marks."""
    return text.translate(str.maketrans('「」"', "『』'")).rstrip("。")


def clip(text: str, limit: int, phrases: Phrases) -> str:
    """The text within so many characters: whole sentences where they fit, else cut with an ellipsis."""
    if len(text) <= limit:
        return text
    parts = sentences(text)
    wholes = (phrases.joined(parts[:count]) for count in range(len(parts), 0, -1))
    return next((whole for whole in wholes if len(whole) <= limit), f"{text[: limit - 1]}…")
