"""Owns the small talk: its sentences, and what is left of a text without them."""

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from service.locales import Language, room
from service.memory.comparison import squeezed

Register = Literal["polite", "plain"]

_BREAK = re.compile(
    r"(?<=[。！？])(?![。！？」』])|(?<=[?!])(?=[\u3041-\u9fff])|(?<=[.!?…][\"”'’])\s+|(?<=[.!?…])\s+|\n+"
)
_SLOT = re.compile(r"\\\{(\w+)\\\}")
_SLOTS = {"fact": r"(?P<fact{n}>[^\n]{{1,200}}?)", "said": r"[^\n]{{1,200}}?"}
_NAME = r"[^\n。．.!?！？「」\"]{{0,80}}?"
"""What fills any other slot: a name, a time, a topic."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """Something told, without the small talk around it: an author's words, or a fact, which is spoken in a frame."""

    text: str
    is_fact: bool = False


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

    def pick(self, key: str, rng: random.Random, /, **slots: str) -> str:
        """Any wording of a key."""
        return rng.choice(self.wordings(key, **slots))

    def beside(self, one: str, other: str) -> str:
        """Two texts as one, the first of which may be empty."""
        return self.only("joint", one=one, other=other) if one else other

    def has(self, mark: str, text: str) -> bool:
        """Whether a text bears a mark: a regular expression of `offline.marks`."""
        return any(re.search(pattern, text, re.IGNORECASE) for pattern in self.texts[f"marks.{mark}"])

    def passages(self, text: str) -> list[Passage]:
        """What a text tells beside the small talk, in its order."""
        found: list[tuple[str, bool]] = []
        at = 0
        for talk in self.small_talk.finditer(text):
            fact = next(filter(None, talk.groupdict().values()), "")
            found += [(text[at : talk.start()], False), (fact, True)]
            at = talk.end()
        found.append((text[at:], False))
        return [Passage(text=words.strip(), is_fact=is_fact) for words, is_fact in found if squeezed(words)]


@cache
def phrases(language: Language) -> Phrases:
    """The sentences of that language."""
    texts = {key: text if isinstance(text, tuple) else (text,) for key, text in room(language, "offline").items()}
    said = {wording for key, wordings in texts.items() if key.startswith(("polite.", "plain.")) for wording in wordings}
    patterns = (_pattern(wording, n) for n, wording in enumerate(sorted(said, key=lambda one: (-len(one), one))))
    return Phrases(texts=texts, small_talk=re.compile(rf"(?:^|(?<=[\s。.!?！？…」\"]))(?:{'|'.join(patterns)})"))


def _pattern(wording: str, n: int) -> str:
    return _SLOT.sub(lambda slot: _SLOTS.get(slot[1], _NAME).format(n=n), re.escape(wording))


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped; never an empty one."""
    return [part.strip() for part in _BREAK.split(text) if part.strip()]


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
    kept = ""
    for sentence in sentences(text):
        longer = phrases.beside(kept, sentence)
        if len(longer) > limit:
            break
        kept = longer
    return kept or f"{text[: limit - 1]}…"
