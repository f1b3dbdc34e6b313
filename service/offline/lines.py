"""Owns what an author gave a person to say: what kind of line each is, what of it fits, and what a talk is about."""

import random
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from service.content.profile import CharacterProfile, NpcProfile
from service.conversation.prompt import Goal
from service.locales import Language
from service.memory.lexical import share, telling
from service.offline.phrases import Phrases, clip, phrases

Kind = Literal["greeting", "farewell", "reply", "question", "statement"]
"""What a line is for; a reply takes up what was just said."""

_COVERED = 0.6
"""Share of a fact's words in a line from which the line tells it."""
_LONGEST, _LONGEST_WISH = 180, 120
_QUEST = 0.6
"""How likely something it wants of life is what the talk is about."""


def lines_of(profile: CharacterProfile | NpcProfile, kind: Kind, phrases: Phrases) -> list[str]:
    """The person's lines of a kind, each short enough for a part of an utterance. Who walks takes up what it hears."""
    marked = ("greeting", "farewell", *(["reply"] if profile.kind == "character" else []))

    def kind_of(line: str) -> str:
        other = "question" if phrases.asks(line) else "statement"
        return next((mark for mark in marked if phrases.has(mark, line)), other)

    lines = filter(None, map(str.strip, profile.lines))
    return [clip(line, _LONGEST, phrases) for line in lines if kind_of(line) == kind]


def facts_of(profile: CharacterProfile | NpcProfile, secrets: Iterable[str], phrases: Phrases) -> list[str]:
    """Facts that no line of the person tells."""
    lines, facts = lines_of(profile, "statement", phrases), (fact.strip() for fact in (*profile.facts, *secrets))
    return [clip(fact, _LONGEST, phrases) for fact in facts if fact and not any(tells(line, fact) for line in lines)]


def is_polite(profile: CharacterProfile | NpcProfile, phrases: Phrases) -> bool:
    """How the person speaks: politely, if most of its lines do; a character without lines does too."""
    polite = [phrases.has("polite", line) for line in profile.lines] or [profile.kind == "character"]
    return sum(polite) * 2 >= len(polite)


@lru_cache(maxsize=16_384)
def tells(line: str, fact: str) -> bool:
    """Whether a line tells a fact, in words of its own."""
    return share(telling(fact), line) >= _COVERED


def set_goal(speaker: CharacterProfile | NpcProfile, partner: str, language: Language, rng: random.Random) -> Goal:
    """A goal small enough for one conversation. Nobody is asked about itself by way of somebody's wish."""
    told, name = phrases(language), partner.strip()[:40]
    wishes = [wish for wish in _wishes(speaker) if len(wish) <= _LONGEST_WISH and not (name and name in wish)]
    wants = told.only("goal.news", name=name)
    if wishes and rng.random() < _QUEST:
        wants = told.only("goal.wish", name=name, wish=rng.choice(wishes))
    return Goal(goal=wants, success_criteria=told.only("goal.criteria"))


def topic_of(goal: Goal, speaker: CharacterProfile | NpcProfile, partner: str, language: Language) -> str:
    """What the goal is about, in words that fit a question to the partner. "" where it does not say so; also where it
    is a wish of the speaker's own, of which its own lines speak.
    """
    told, bare = phrases(language), goal.goal.strip().rstrip("。.!")
    if any(wish in bare for wish in _wishes(speaker)):
        return ""
    for whose in ("yours", "any"):
        found = re.search(told.only(f"goal.about_{whose}"), bare)
        if found and len(found[1]) <= _LONGEST_WISH // 2 and partner not in found[1]:
            return told.only(f"goal.topic_{whose}", topic=found[1].strip())
    return ""


def _wishes(speaker: CharacterProfile | NpcProfile) -> list[str]:
    return [bare for wish in speaker.wishes if (bare := wish.strip().rstrip("。."))]
