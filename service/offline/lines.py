"""Owns what an author gave a person to say: what kind of line each is, what fits, and what a text tells of them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from service.content.profile import CharacterProfile, NpcProfile
from service.memory.claim import share, words
from service.memory.utterance import is_question
from service.offline.phrases import Passage, Phrases, Register, sentences

Kind = Literal["greeting", "thanks", "farewell", "reply", "question", "statement"]
"""What a line is for; a reply takes up what was just said."""

_COVERED = 0.6
"""Share of a fact's words in a line from which the line tells it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Saying:
    """A line of the author's, or a fact, which is spoken in a frame."""

    text: str
    is_fact: bool = False


def kind_of(line: str, phrases: Phrases, *, walks: bool) -> Kind:
    """What a line is for. Who walks up to people asks in many a line; who is asked at its post mostly answers
    itself.
    """
    for kind in ("greeting", "thanks", "farewell", "reply") if walks else ("greeting", "thanks", "farewell"):
        if phrases.has(kind, line):
            return kind
    asked = sentences(line) if walks else sentences(line)[-1:]
    return "question" if any(map(is_question, asked)) else "statement"


def lines_of(profile: CharacterProfile | NpcProfile, kind: Kind, phrases: Phrases) -> list[str]:
    """The person's lines of a kind."""
    walks = profile.kind == "character"
    lines = (line.strip() for line in profile.lines)
    return [line for line in lines if line and kind_of(line, phrases, walks=walks) == kind]


def sayings(profile: CharacterProfile | NpcProfile, phrases: Phrases, partner: str) -> list[Saying]:
    """What the person can tell the partner: statements, and facts that no line tells. Nothing about the partner."""
    lines = lines_of(profile, "statement", phrases)
    facts = [fact.strip() for fact in profile.facts if not any(tells(line, fact) for line in lines)]
    found = [*(Saying(text=line) for line in lines), *(_as_said(fact) for fact in facts if fact)]
    return [one for one in found if not (partner and partner in one.text)]


def register_of(profile: CharacterProfile | NpcProfile, phrases: Phrases) -> Register:
    """How the person speaks: politely, if most of its lines do; a character without lines does too."""
    polite = [phrases.has("polite", line) for line in profile.lines]
    is_polite = sum(polite) * 2 >= len(polite) if polite else profile.kind == "character"
    return "polite" if is_polite else "plain"


def fit(query: str, text: str) -> float:
    """How well a text fits a query, 0..1: the cosine of their telling words."""
    wanted, offered = words(query), words(text)
    return len(wanted & offered) / math.sqrt(len(wanted) * len(offered)) if wanted and offered else 0.0


def told(text: str, phrases: Phrases) -> list[Passage]:
    """What a turn tells: facts, and an author's words up to where they ask; no greeting, thanks or goodbye."""
    found = []
    for passage in phrases.passages(text):
        stated = passage.text if passage.is_fact else _stated(passage.text, phrases)
        if words(stated):
            found.append(Passage(text=stated, is_fact=passage.is_fact))
    return found


def _stated(text: str, phrases: Phrases) -> str:
    kept: list[str] = []
    for sentence in sentences(text):
        if is_question(sentence) or any(phrases.has(kind, sentence) for kind in ("greeting", "thanks", "farewell")):
            break
        kept.append(sentence)
    return reduce(phrases.beside, kept, "")


def _as_said(fact: str) -> Saying:
    """A clause needs a frame; what begins like a sentence is one."""
    return Saying(text=fact) if fact[:1].isupper() else Saying(text=quotable(fact.rstrip(".")), is_fact=True)


def tells(line: str, fact: str) -> bool:
    """Whether a line tells a fact, in words of its own."""
    return share(words(fact), line) >= _COVERED


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


def joined(parts: Iterable[str], limit: int, phrases: Phrases) -> str:
    """The parts that are not empty as one text, as many of the first as fit."""
    text = ""
    for part in filter(None, map(str.strip, parts)):
        longer = phrases.beside(text, part)
        if len(longer) > limit:
            break
        text = longer
    return text
