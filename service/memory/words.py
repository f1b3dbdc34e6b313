"""Owns the words in which something is remembered: who said it, what was asked before, and what was said. Pure.

Nothing is put in other words here, so nothing can be invented: at worst the words say something else than was meant.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from service.locales import Language, sentence
from service.memory.claim import share, words
from service.memory.extraction import Mode, SpokenLine
from service.memory.utterance import is_question, sentences

LONGEST_TURN = 200
"""A turn of up to so many columns is kept whole (a Japanese letter takes two)."""

LONGEST_QUESTION = 120
"""A question that takes more columns is left out."""


MOST_BETWEEN = 3
"""So many are named through whose hands something came, between who began it and who told it."""

_MARKED: frozenset[Mode] = frozenset({"planned", "hearsay", "hypothetical", "joking"})
"""What was meant so is marked where it is shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """What somebody said in a turn, and the question it answers ("": none was asked)."""

    speaker_name: str
    asked: str
    said: str

    @property
    def both(self) -> str:
        """Question and answer, to be searched for words."""
        return f"{self.asked} {self.said}".strip()

    def rendered(self, language: Language, mode: Mode = "asserted", hands: Sequence[str] = ()) -> str:
        """As they are remembered, on one line, marked if they were not meant as plain fact.

        `hands`, of what was told of others, are the names of those through whose hands it came, first who began it: it
        is said from whom it was heard.
        Quotation marks within are changed into those of a quotation in a quotation: what somebody said cannot end it.
        """
        inner = {name: _inner(text, language) for name, text in (("asked", self.asked), ("said", self.said))}
        key = f"remembered.{'asked_and_' if self.asked else ''}{'heard' if hands else 'said'}"
        name = _from_hand_to_hand(hands, language) if hands else self.speaker_name
        told = sentence(language, key, name=name, **inner)
        is_marked = mode in _MARKED and not (mode == "hearsay" and len(hands) > 1)
        return told + (sentence(language, f"remembered.meant.{mode}") if is_marked else "")


def words_of(lines: Mapping[int, SpokenLine], turn: int, statement: str, names: frozenset[str]) -> Words:
    """The words of a turn that carry the statement, with the question that the turn before ended in, if somebody else
    asked it.

    Raises:
        KeyError: there is no such turn.
    """
    line, before = lines[turn], lines.get(turn - 1)
    asked = ""
    if before is not None and before.speaker_id != line.speaker_id:
        last = sentences(before.text)[-1]
        asked = last if is_question(last) and columns(last) <= LONGEST_QUESTION else ""
    return Words(speaker_name=line.speaker_name, asked=asked, said=_passage(line.text, statement, names))


def quoted_in(shown: str, name: str, language: Language) -> str:
    """What the person of that name said in rendered words, or in a turn that was heard; a statement as it is."""
    for key in ("remembered.asked_and_said", "remembered.said"):
        frame = re.escape(sentence(language, key, name=name, asked="\0", said="\1"))
        found = re.match(frame.replace("\0", ".+?").replace("\1", "(.+)"), shown)
        if found:
            return found[1]
    return shown.removeprefix(f"{name}: ")


def _from_hand_to_hand(hands: Sequence[str], language: Language) -> str:
    """Who told it; who began it; and the last through whose hands it came between them."""
    teller, others = hands[-1], hands[:-1]
    if not others:
        return teller
    between = sentence(language, "common.comma").join(reversed(others[1:][-MOST_BETWEEN:]))
    key = "remembered.had_by_way_of" if between else "remembered.had_from"
    return sentence(language, key, name=teller, source=others[0], between=between)


def one_line(text: str) -> str:
    """The text without line breaks and repeated white space."""
    return " ".join(text.split())


def columns(text: str) -> int:
    """How wide the text is: letters of full width count two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def best_sentence(said: Sequence[str], statement: str, names: frozenset[str]) -> int:
    """Which of the sentences holds most of the statement's telling words; the first of equals."""
    wanted = words(statement, names)
    return max(range(len(said)), key=lambda place: (share(wanted, said[place]), -place))


def _passage(text: str, statement: str, names: frozenset[str]) -> str:
    """The whole turn; of a long one the sentence that fits best, with a neighbour on each side."""
    text = one_line(text)
    said = sentences(text)
    if columns(text) <= LONGEST_TURN or len(said) <= 3:
        return text
    best = best_sentence(said, statement, names)
    first, last = max(0, best - 1), min(len(said), best + 2)
    begin = sum(map(len, said[:first]))  # sentences leave out the spaces between them: not before here
    start = text.find(said[first], begin)
    end = text.find(said[last - 1], start + sum(map(len, said[first : last - 1]))) + len(said[last - 1])
    return f"{'… ' if first else ''}{text[start:end]}{' …' if last < len(said) else ''}"


def _inner(text: str, language: Language) -> str:
    """The text as it stands within quotation marks of that language."""
    for outer, inner in zip(
        sentence(language, "remembered.quotes"), sentence(language, "remembered.inner_quotes"), strict=True
    ):
        text = text.replace(outer, inner)
    return one_line(text)
