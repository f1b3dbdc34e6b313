"""Owns the closing: what each takes away, in the words that were said; and how one stands to another."""

import random
from typing import Any

from service.conversation.interventions import LongTermContext, LongTermDraft, LongTermUpdate
from service.conversation.moderator import AttitudeContext, Questions
from service.locales import sentence
from service.memory.closing.context import (
    AttitudeDraft,
    ClosingAnswer,
    ClosingContext,
    Participant,
    SpokenLine,
    answer_to,
)
from service.memory.closing.verify import Verdicts, VerifyContext
from service.memory.lexical import normal, squeezed
from service.memory.mind import Reflection, ReflectionContext
from service.offline.phrases import Phrases, clip, phrases, quotable, tells
from service.people.attitude import DIMENSIONS, Attitude, bounded_affinity

_MOST_HEARD, _MOST_OWN, _MOST_TOPICS = 6, 2, 5
_MOST, _MOST_SHORT = 16, 8
"""Memories of all who took part; that is all the answer has room for."""
_LAST_TURN = 9999
_LONGEST, _LONGEST_QUOTE, _LONGEST_TOPIC = 300, 140, 80
_IMPORTANCE = 5
_TALKED = 3
"""By how much somebody is liked more for having talked; what it said is not judged."""
_CLOSER = 30
"""Who is liked by so much more is a degree closer; who leads, and what for, is not judged without a model."""


def close(context: ClosingContext, rng: random.Random) -> ClosingAnswer:
    """What each takes away. Nothing is left to chance: `rng` is not drawn from."""
    words, people = phrases(context.language), context.participants
    owners = [one for one in people if not one.is_player]
    most = (_MOST_SHORT if context.is_short else _MOST) // max(1, len(owners))
    drafts = {one.ref: _memories(context, one, words)[:most] for one in owners}
    return answer_to(context).model_validate(
        {
            "people": {one.ref: _entry(context, one, words) for one in people},
            "memories": [draft for of_one in drafts.values() for draft in of_one],
            "promises": [],
            "not_to_quote": [],
            "reached": [],
        }
    )


def verify(context: VerifyContext, rng: random.Random) -> Verdicts:
    """No verdict: all that a closing by rule says was said."""
    return Verdicts(verdicts=[])


def reflect(context: ReflectionContext, rng: random.Random) -> Reflection:
    """No insights: a rule that only repeats what was said draws no conclusions."""
    return Reflection(insights=[])


def propose(context: LongTermContext, rng: random.Random) -> LongTermUpdate:
    """The longest line that somebody else was heard to say, as a memory: in the words that were said."""
    heard = [line for line in context.lines if line.speaker_name != context.name]
    memories = []
    for line in sorted(heard, key=lambda line: -len(line.text))[:1]:
        said = clip(line.text, _LONGEST_QUOTE, phrases(context.language))
        told = sentence(context.language, "remembered.said", name=line.speaker_name, said=said)
        memories.append(LongTermDraft(text=told, importance=_IMPORTANCE, turns=[line.turn]))
    return LongTermUpdate(experiences=[], goals=[], memories=memories)


def judge(context: AttitudeContext, rng: random.Random) -> Questions | AttitudeDraft:
    """As a closing judges it; the questions are those of a closing too."""
    if context.questions is None:
        return Questions(**{name: sentence(context.language, f"people.asks.{name}") for name in DIMENSIONS})
    return _attitude(context.attitude, context.attitude.affinity)


def _entry(context: ClosingContext, owner: Participant, words: Phrases) -> dict[str, Any]:
    """How one participant leaves the talk: with whom it talked, and what was told first."""
    told = [
        text for line in context.shared(owner.person_id).values() for _, text in _told(context, line, words, "said")
    ]
    others = context.others_of(owner)
    there = {owner.ref, *(other.ref for other, _ in others)}
    first, *rest = (one.name for one in context.participants if one.ref in there)
    names = sentence(context.language, "common.comma").join(rest)
    talked = sentence(context.language, "remembered.talked", name=first, partner=names)
    liked = {other.ref: bounded_affinity(stands.affinity + _TALKED) for other, stands in others}
    stance = {
        other.ref: _attitude(stands, liked[other.ref])
        for other, stands in others
        if context.is_judged(stands) and not owner.is_player
    }
    entry = {
        "paragraph": [clip(text, _LONGEST, words) for text in (talked, *told[:1])],
        "topics": [clip(text, _LONGEST_TOPIC, words) for text in told[:_MOST_TOPICS]],
        "mood": owner.mood,
    }
    if context.is_group:
        return {**entry, "towards": liked, **({"attitude": stance} if stance else {})}
    (ref,) = liked
    return {**entry, "affinity": liked[ref], "attitude": stance.get(ref)}


def _attitude(before: Attitude, affinity: int) -> AttitudeDraft:
    closeness = max(-3, min(3, round(affinity / _CLOSER)))
    return AttitudeDraft(power=before.power or 0, intimacy=closeness, task_oriented=before.task_oriented or 0)


def _memories(context: ClosingContext, owner: Participant, words: Phrases) -> list[dict[str, Any]]:
    """What others told it, and what it told of itself that its author has not written."""
    refs = {one.person_id: one.ref for one in context.participants}
    known = "\n".join(normal(one.text) for one in owner.memories)
    more = {} if context.is_short else dict.fromkeys(("heard_from", "slot", "quote", "until", "between"), "")
    heard, own = dict[str, dict[str, Any]](), dict[str, dict[str, Any]]()
    for line in context.shared(owner.person_id).values():
        for is_authored, text in _told(context, line, words, "words"):
            is_own = line.speaker_id == owner.person_id
            if normal(text).rstrip(".。") in known or (is_own and is_authored):
                continue
            ref = refs.get(line.speaker_id, "")
            draft = {
                "owner": owner.ref,
                "text": text,
                "turns": [line.turn],
                "about": ref,
                "teller": ref,
                "mode": "stated",
                "importance": _IMPORTANCE,
                "lasts": "long",
                "replaces": "",
            }
            (own if is_own else heard).setdefault(text, draft | more)
    return [*list(heard.values())[:_MOST_HEARD], *list(own.values())[:_MOST_OWN]]


def _told(context: ClosingContext, line: SpokenLine, words: Phrases, form: str) -> list[tuple[bool, str]]:
    """What a line tells, sentence by sentence as it is remembered, and whether the speaker's author wrote it as a fact:
    then it is told as written, else quoted in that `form`.
    """
    if not 0 <= line.turn <= _LAST_TURN:
        return []
    speaker = next((one for one in context.participants if one.person_id == line.speaker_id), None)
    facts = () if speaker is None else tuple(one.text for one in speaker.facts)
    found = []
    for text in words.told(line.text, is_human=speaker is not None and speaker.is_player):
        written = next((fact for fact in facts if squeezed(fact) in squeezed(text) and not fact[:1].isupper()), None)
        if written is None:
            said = quotable(clip(text, _LONGEST_QUOTE, words))
            quote = sentence(context.language, f"remembered.{form}", name=line.speaker_name[:40], said=said)
            found.append((any(tells(text, fact) for fact in facts), quote))
        else:
            found.append((True, clip(words.fact(line.speaker_name[:40], written), _LONGEST, words)))
    return found
