"""Owns the closing: what each takes away, in the words that were said; and how one stands to another."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from service.content.profile import Mood
from service.conversation.attitude import AttitudeContext, Questions
from service.conversation.long_term import LongTermContext, LongTermDraft, LongTermUpdate
from service.locales import sentence
from service.memory.extraction import (
    MOST_SENTENCES,
    AttitudeDraft,
    ClosingContext,
    ClosingExtraction,
    Participant,
    answer_to,
)
from service.memory.reflect import Reflection, ReflectionContext
from service.offline.lines import tells
from service.offline.phrases import Phrases, clip, phrases, quotable
from service.people.attitude import DIMENSIONS, Attitude, bounded_affinity

_LAST_TURN = 99
_MOST_FACTS, _MOST_OWN, _MOST_SOON, _MOST_TOPICS = 6, 2, 3, 5
_LONGEST = 140
_TALKED, _THANKED, _RUDE = 3, 3, -16
"""By how much the other is liked more or less, for what it said."""
_CLOSER = 30
"""Who is liked by so much more is a degree closer; who leads, and what for, is not judged without a model."""


class _Told(NamedTuple):
    """Something that somebody told in a turn; `statement` names who."""

    turn: int
    text: str
    statement: str

    @property
    def claim(self) -> dict[str, Any]:
        """As the answer has it."""
        return {"statement": self.statement, "turn": self.turn, "mode": "asserted", "importance": 5, "replaces": ""}


def close(context: ClosingContext, rng: random.Random) -> ClosingExtraction:
    """What each takes away. Nothing is left to chance: `rng` is not drawn from."""
    words = phrases(context.language)
    everything = context.whole
    opener, *others = [_told(everything, person, words) for person in context.participants]
    said = [line.text for line in everything.lines if line.text.strip()] or [context.participants[0].name]
    told = sorted([*(item for of in others for item in of[:2]), *opener[:1]])
    summary = [{"text": item.statement, "turns": [item.turn]} for item in told[:MOST_SENTENCES]]
    topics = [clip(item.text, 80, words) for of in (*others, opener) for item in of]
    return answer_to(context).model_validate(
        {
            "summary": summary or [{"text": clip(said[0], _LONGEST, words), "turns": [0]}],
            "topics": topics[:_MOST_TOPICS],
            "people": {one.ref: _side(context, one, words) for one in context.participants},
        }
    )


def reflect(context: ReflectionContext, rng: random.Random) -> Reflection:
    """Nothing: who only repeats what was said draws no conclusion from it."""
    return Reflection(insights=[])


def propose(context: LongTermContext, rng: random.Random) -> LongTermUpdate:
    """The longest line that somebody else was heard to say, as a memory: in the words that were said."""
    heard = [line for line in context.lines if line.speaker_name != context.name]
    memories = []
    for line in sorted(heard, key=lambda line: -len(line.text))[:1]:
        said = clip(line.text, _LONGEST, phrases(context.language))
        told = sentence(context.language, "remembered.said", name=line.speaker_name, said=said)
        memories.append(LongTermDraft(text=told, importance=5, turns=[line.turn]))
    return LongTermUpdate(experiences=[], goals=[], memories=memories)


def judge(context: AttitudeContext, rng: random.Random) -> Questions | AttitudeDraft:
    """As a closing judges it; the questions are those of a closing too."""
    if context.questions is None:
        return Questions(**{name: sentence(context.language, f"people.asks.{name}") for name in DIMENSIONS})
    return _attitude(context.attitude, context.attitude.affinity)


def _side(context: ClosingContext, owner: Participant, words: Phrases) -> dict[str, Any]:
    """The entry of one who took part, from what it perceived."""
    perceived = replace(context, lines=tuple(context.shared(owner.person_id).values()))
    heard: list[_Told] = []
    facts, liked, stance = [], {}, {}
    for other, stands in perceived.others_of(owner):
        told = _told(perceived, other, words)
        subject = other.name.strip()[:80] or other.person_id[:80]
        about = {"subject": subject, "relation": words.only("memory.relation")}
        facts += [one.claim | about | {"object": clip(one.text, 80, words)} for one in told[:_MOST_FACTS]]
        heard += told
        said = "\n".join(line.text for line in perceived.lines if line.speaker_id == other.person_id)
        gained = _TALKED + _THANKED * words.has("thanks", said) + _RUDE * words.has("rude", said)
        liked[other.ref] = bounded_affinity(stands.affinity + gained)
        if context.is_judged(stands) and not (context.is_group and owner.is_player):
            stance[other.ref] = _attitude(stands, liked[other.ref])
    entry = {
        "mood": _mood(owner, perceived, words),
        "self_facts": _of_itself(owner, _told(perceived, owner, words), words),
        "facts": facts[:_MOST_FACTS],
        "mid_term": _soon(sorted(heard), words),
        "commitments": [],
    }
    if context.is_group:
        return {**entry, "towards": liked, **({"attitude": stance} if stance else {})}
    (ref,) = liked
    return {**entry, "affinity": liked[ref], "attitude": stance.get(ref)}


def _attitude(before: Attitude, affinity: int) -> AttitudeDraft:
    closeness = max(-3, min(3, round(affinity / _CLOSER)))
    return AttitudeDraft(power=before.power or 0, intimacy=closeness, task_oriented=before.task_oriented or 0)


def _told(context: ClosingContext, teller: Participant, words: Phrases) -> list[_Told]:
    """What that person told, in its order: an authored clause said of it, as its author wrote it; else quoted."""
    found, name = [], teller.name[:40]
    for line in context.lines:
        if line.speaker_id == teller.person_id and 0 <= line.turn <= _LAST_TURN:
            for text in words.told(line.text, is_human=teller.is_player):
                said = clip(text, _LONGEST, words)
                is_clause = said[:1].islower() and not teller.is_player
                quote = words.only("memory.quote", name=name, said=quotable(said))
                found.append(_Told(line.turn, text, f"{name} {said.rstrip('.')}." if is_clause else quote))
    return found


def _of_itself(owner: Participant, own: Sequence[_Told], words: Phrases) -> list[dict[str, Any]]:
    """What it said of itself beside what its author wrote, or it told before."""
    new = [one for one in own if not any(tells(one.text, known.statement) for known in owner.facts)]
    found = [one.claim | {"statement": clip(one.text, _LONGEST, words)} for one in new if words.has("self", one.text)]
    return found[:_MOST_OWN]


def _soon(heard: Sequence[_Told], words: Phrases) -> list[dict[str, Any]]:
    """What of it is about the next days."""
    drafts = {
        one.statement: {"content": one.statement, "turn": one.turn, "mode": "asserted", "importance": importance}
        for one in heard
        for importance in ("low", "medium", "high")
        if words.has(f"soon_{importance}", one.text)
    }
    return list(drafts.values())[:_MOST_SOON]


def _mood(owner: Participant, perceived: ClosingContext, words: Phrases) -> Mood:
    """How somebody feels after what it heard."""
    heard = "\n".join(line.text for line in perceived.lines if line.speaker_id != owner.person_id)
    if words.has("rude", heard):
        return "angry"
    if words.has("thanks", heard):
        return "neutral" if owner.mood == "angry" else "happy"
    return owner.mood
