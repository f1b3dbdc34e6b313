"""Owns what a rehearsed character wants of a talk: a small goal, in the words that a rehearsed speaker understands."""

import random
from dataclasses import dataclass

from service.decision.scene import DecisionScene
from service.memory.rehearsal.likeness import clip, key_phrase
from service.memory.rehearsal.retell import wished

_LONGEST = 200
_QUEST = 0.5
"""How likely a goal of life is what the talk is about."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Errand:
    """A goal within the guidelines, and how the character knows that it is reached."""

    goal: str
    success_criteria: str


def errand(scene: DecisionScene, partner: str, rng: random.Random) -> Errand:
    """In this order: what was noted for these days about the partner, a goal of life, news."""
    ja, name = scene.language == "ja", partner.strip()[:40]
    noted = next((note for note in scene.mid_term if name and name in note), "")
    key = key_phrase(noted, (scene.speaker.name, name)) if noted else ""
    if key:
        return _errand(f"{name}に、{key}のことを聞く" if ja else f"Ask {name} about the {key}", ja)
    wishes = [wish.goal.strip().rstrip("。.") for wish in scene.speaker.goals if wish.importance != "low"]
    wishes = [w for w in wishes if len(w) <= 80 and wished(w, scene.language) and (not name or name not in w)]
    if wishes and rng.random() < _QUEST:
        wish = rng.choice(wishes)
        goal = (
            f"{name}に、{wish}手がかりを聞く" if ja else f"Ask {name} what might help to {wish[:1].lower()}{wish[1:]}"
        )
        return _errand(goal, ja)
    return _errand(f"{name}に挨拶して、近況を聞く" if ja else f"Greet {name} and ask how things are", ja)


def _errand(goal: str, ja: bool) -> Errand:
    criteria = "話を1つ以上聞けたら達成" if ja else "Achieved when at least one piece of news was told"
    return Errand(goal=clip(goal, _LONGEST), success_criteria=criteria)
