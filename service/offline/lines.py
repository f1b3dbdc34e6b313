"""Owns what an author gave a person to say: what kind of line each is, what fits, and what a text tells of them."""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from service.content.profile import CharacterProfile, NpcProfile
from service.memory.claim import share, words
from service.memory.utterance import is_question
from service.offline.phrases import Passage, Phrases, Register, clip, quotable, sentences

Kind = Literal["greeting", "thanks", "farewell", "reply", "question", "statement"]
"""What a line is for; a reply takes up what was just said."""

_COURTESIES: tuple[Kind, ...] = ("greeting", "thanks", "farewell")
_COVERED = 0.6
"""Share of a fact's words in a line from which the line tells it."""
_LONGEST = 180


def lines_of(profile: CharacterProfile | NpcProfile, kind: Kind, phrases: Phrases) -> list[str]:
    """The person's lines of a kind, each short enough for a part of an utterance."""
    walks = profile.kind == "character"
    lines = (line.strip() for line in profile.lines)
    return [clip(line, _LONGEST, phrases) for line in lines if line and _kind_of(line, phrases, walks=walks) == kind]


def sayings(
    profile: CharacterProfile | NpcProfile, secrets: Iterable[str], phrases: Phrases, partner: str
) -> list[Passage]:
    """What the person can tell the partner: statements, and facts that no line tells. Nothing about the partner."""
    lines = lines_of(profile, "statement", phrases)
    known = (*profile.facts, *secrets)
    facts = [fact.strip() for fact in known if not any(tells(line, fact) for line in lines)]
    found = [*(Passage(text=line) for line in lines), *(_as_said(clip(fact, _LONGEST, phrases)) for fact in facts)]
    return [one for one in found if one.text and not (partner and partner in one.text)]


def register_of(profile: CharacterProfile | NpcProfile, phrases: Phrases) -> Register:
    """How the person speaks: politely, if most of its lines do; a character without lines does too."""
    polite = [phrases.has("polite", line) for line in profile.lines]
    is_polite = sum(polite) * 2 >= len(polite) if polite else profile.kind == "character"
    return "polite" if is_polite else "plain"


_words = lru_cache(maxsize=4096)(words)


def fit(query: str, text: str) -> float:
    """How well a text fits a query, 0..1: the cosine of their telling words."""
    wanted, offered = _words(query), _words(text)
    return len(wanted & offered) / math.sqrt(len(wanted) * len(offered)) if wanted and offered else 0.0


@lru_cache(maxsize=16_384)
def tells(line: str, fact: str) -> bool:
    """Whether a line tells a fact, in words of its own."""
    return share(words(fact), line) >= _COVERED


def told(text: str, phrases: Phrases, *, is_human: bool = False) -> list[Passage]:
    """What a turn tells: facts, and an author's words up to where they ask; no greeting, thanks or goodbye. A human
    goes on after a greeting.
    """
    found = (
        one if one.is_fact else Passage(text=_stated(one.text, phrases, is_human=is_human))
        for one in phrases.passages(text)
    )
    return [passage for passage in found if words(passage.text)]


def _kind_of(line: str, phrases: Phrases, *, walks: bool) -> Kind:
    """A character's line that asks anything is a question. An NPC often answers itself: its last sentence counts."""
    for kind in _COURTESIES:
        if phrases.has(kind, line):
            return kind
    if walks and phrases.has("reply", line):
        return "reply"
    asked = sentences(line) if walks else sentences(line)[-1:]
    return "question" if any(map(is_question, asked)) else "statement"


def _stated(text: str, phrases: Phrases, *, is_human: bool) -> str:
    kept = ""
    for sentence in sentences(text):
        is_courtesy = any(phrases.has(kind, sentence) for kind in _COURTESIES)
        if is_courtesy and is_human and not kept:
            continue
        if is_courtesy or is_question(sentence) or phrases.has("request", sentence):
            break
        kept = phrases.beside(kept, sentence)
    return kept


def _as_said(fact: str) -> Passage:
    """A fact that is a clause is spoken in a frame; one that begins with a capital is a sentence of its own."""
    return Passage(text=fact) if fact[:1].isupper() else Passage(text=quotable(fact.rstrip(".")), is_fact=True)
