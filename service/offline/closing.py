"""Owns the closing: what each takes away, in the words that were said; and how one stands to another."""

import random
from collections.abc import Iterable
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
    SpokenLine,
    answer_to,
)
from service.memory.reflect import Reflection, ReflectionContext
from service.offline.lines import tells
from service.offline.phrases import Phrases, clip, phrases, quotable
from service.people.attitude import DIMENSIONS, Attitude, bounded_affinity

_LAST_TURN = 99
_MOST_FACTS, _MOST_OWN, _MOST_SOON, _MOST_TOPICS = 6, 2, 3, 5
_LONGEST, _LONGEST_TOPIC = 140, 80
_TALKED, _THANKED, _RUDE = 3, 3, -16
"""By how much the other is liked more or less, for what it said."""
_CLOSER = 30
"""Who is liked by so much more is a degree closer; who leads, and what for, is not judged without a model."""


class _Told(NamedTuple):
    """Something that somebody told in a line; `statement` names who."""

    line: SpokenLine
    text: str
    statement: str


def close(context: ClosingContext, rng: random.Random) -> ClosingExtraction:
    """What each takes away. Nothing is left to chance: `rng` is not drawn from."""
    words, lines = phrases(context.language), context.whole.lines
    told = _told(context, lines, words)
    said = next((line.text for line in lines if line.text.strip()), context.participants[0].name)
    summary = [{"text": one.statement, "turns": [one.line.turn]} for one in told[:MOST_SENTENCES]]
    return answer_to(context).model_validate(
        {
            "summary": summary or [{"text": clip(said, _LONGEST, words), "turns": [0]}],
            "topics": [clip(one.text, _LONGEST_TOPIC, words) for one in told[:_MOST_TOPICS]],
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
    lines = list(context.shared(owner.person_id).values())
    told = _told(context, lines, words)
    heard = [one for one in told if one.line.speaker_id != owner.person_id]
    new = [
        one for one in told if one not in heard and not any(tells(one.text, known.statement) for known in owner.facts)
    ]
    liked, stance = {}, {}
    for other, stands in context.others_of(owner):
        said = "\n".join(line.text for line in lines if line.speaker_id == other.person_id)
        gained = _TALKED + _THANKED * words.has("thanks", said) + _RUDE * words.has("rude", said)
        liked[other.ref] = bounded_affinity(stands.affinity + gained)
        if context.is_judged(stands) and not (context.is_group and owner.is_player):
            stance[other.ref] = _attitude(stands, liked[other.ref])
    entry = {
        "mood": _mood(owner, "\n".join(line.text for line in lines if line.speaker_id != owner.person_id), words),
        "self_facts": [_claim(one, statement=one.text) for one in new if words.has("self", one.text)][:_MOST_OWN],
        "facts": [_claim(one, **_about(one, words)) for one in heard[:_MOST_FACTS]],
        "mid_term": [note for one in heard if (note := _soon(one, words))][:_MOST_SOON],
        "commitments": [],
    }
    if context.is_group:
        return {**entry, "towards": liked, **({"attitude": stance} if stance else {})}
    (ref,) = liked
    return {**entry, "affinity": liked[ref], "attitude": stance.get(ref)}


def _attitude(before: Attitude, affinity: int) -> AttitudeDraft:
    closeness = max(-3, min(3, round(affinity / _CLOSER)))
    return AttitudeDraft(power=before.power or 0, intimacy=closeness, task_oriented=before.task_oriented or 0)


def _told(context: ClosingContext, lines: Iterable[SpokenLine], words: Phrases) -> list[_Told]:
    """What is told in the lines, in their order: an authored clause said of somebody, as its author wrote it; else
    quoted.
    """
    found, players = [], {one.person_id for one in context.participants if one.is_player}
    for line in lines:
        is_human, name = line.speaker_id in players, line.speaker_name[:40]
        for text in words.told(line.text, is_human=is_human) if 0 <= line.turn <= _LAST_TURN else ():
            said = clip(text, _LONGEST, words)
            is_clause = said[:1].islower() and not is_human
            quote = words.only("memory.quote", name=name, said=quotable(said))
            found.append(_Told(line, said, f"{name} {said.rstrip('.')}." if is_clause else quote))
    return found


def _claim(one: _Told, **more: Any) -> dict[str, Any]:
    """As the answer has it."""
    told = {"statement": one.statement, "turn": one.line.turn, "mode": "asserted", "importance": 5, "replaces": ""}
    return told | more


def _about(one: _Told, words: Phrases) -> dict[str, str]:
    """What a fact is about, in parts."""
    subject = one.line.speaker_name.strip()[:_LONGEST_TOPIC] or one.line.speaker_id[:_LONGEST_TOPIC]
    topic = clip(one.text, _LONGEST_TOPIC, words)
    return {"subject": subject, "relation": words.only("memory.relation"), "object": topic}


def _soon(one: _Told, words: Phrases) -> dict[str, Any]:
    """As something that affects the next days; empty where it is not about them."""
    soon = [importance for importance in ("high", "medium", "low") if words.has(f"soon_{importance}", one.text)]
    told = {"content": one.statement, "turn": one.line.turn, "mode": "asserted"}
    return {**told, "importance": soon[0]} if soon else {}


def _mood(owner: Participant, heard: str, words: Phrases) -> Mood:
    """How somebody feels after what it heard."""
    if words.has("rude", heard):
        return "angry"
    if words.has("thanks", heard):
        return "neutral" if owner.mood == "angry" else "happy"
    return owner.mood
