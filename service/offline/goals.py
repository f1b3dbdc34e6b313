"""Owns what an offline speaker wants of a talk: something it wants of life, or news."""

import random
import re

from service.content.profile import CharacterProfile, NpcProfile
from service.conversation.context import Goal
from service.locales import Language
from service.offline.phrases import phrases

_QUEST = 0.6
"""How likely a goal of life is what the talk is about."""
_LONGEST = 120


def set_goal(speaker: CharacterProfile | NpcProfile, partner: str, language: Language, rng: random.Random) -> Goal:
    """A goal small enough for one conversation. Nobody is asked about itself by way of somebody's wish."""
    words, name = phrases(language), partner.strip()[:40]
    wishes = [wish for wish in _wishes(speaker) if len(wish) <= _LONGEST and not (name and name in wish)]
    criteria = words.only("goal.criteria")
    if wishes and rng.random() < _QUEST:
        return Goal(goal=words.only("goal.wish", name=name, wish=rng.choice(wishes)), success_criteria=criteria)
    return Goal(goal=words.only("goal.news", name=name), success_criteria=criteria)


def topic_of(goal: Goal, speaker: CharacterProfile | NpcProfile, partner: str, language: Language) -> str:
    """What the goal is about, in words that fit a question to the partner. "" where it does not say so; also where it
    is a wish of the speaker's own, of which its own lines speak.
    """
    words, bare = phrases(language), goal.goal.strip().rstrip("。.!")
    if any(wish in bare for wish in _wishes(speaker)):
        return ""
    for whose in ("yours", "any"):
        found = re.search(words.only(f"goal.about_{whose}"), bare)
        if found and len(found[1]) <= _LONGEST // 2 and partner not in found[1]:
            return words.only(f"goal.topic_{whose}", topic=found[1].strip())
    return ""


def _wishes(speaker: CharacterProfile | NpcProfile) -> list[str]:
    wishes = (wish.goal.strip().rstrip("。.") for wish in speaker.goals if wish.importance != "low")
    return [wish for wish in wishes if wish]
