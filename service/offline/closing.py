"""Owns the closing: what each takes away, in the words that were said; and how one stands to another."""

import random
import re
from dataclasses import dataclass

from service.content.profile import Mood
from service.conversation.attitude import AttitudeContext, Questions
from service.locales import sentence
from service.memory.extraction import (
    AttitudeDraft,
    Claim,
    ClosingContext,
    ClosingExtraction,
    MidTermDraft,
    Participant,
    SelfClaim,
    SideExtraction,
    Sides,
    SummarySentence,
)
from service.memory.reflect import Reflection, ReflectionContext
from service.offline.lines import tells, told
from service.offline.phrases import Passage, Phrases, clip, phrases, quotable
from service.people.attitude import DIMENSIONS, Attitude

_LAST_TURN = 99
_MOST_FACTS, _MOST_OWN, _MOST_SOON, _MOST_TOPICS = 6, 2, 3, 5
_LONGEST = 140
_TALKED, _THANKED, _RUDE = 3, 3, -16
"""By how much the other is liked more or less, for what it said."""
_CLOSENESS: tuple[tuple[int, int], ...] = ((60, 3), (25, 2), (8, 1), (-7, 0), (-24, -1), (-59, -2), (-100, -3))
"""How close somebody is by how much it likes the other; who leads, and what for, is not judged without a model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Told:
    """Something that somebody told in a turn; `statement` names who."""

    turn: int
    passage: Passage
    statement: str


def close(context: ClosingContext, rng: random.Random) -> ClosingExtraction:
    """What each takes away. Nothing is left to chance: `rng` is not drawn from."""
    words = phrases(context.language)
    one, other = context.participants
    by_one, by_other = (_told(context, person, words) for person in (one, other))
    summary = [
        SummarySentence(text=_ended(item.statement, words), turns=[item.turn])
        for item in sorted([*by_other[:2], *by_one[:1]], key=lambda item: item.turn)
    ]
    if not summary:
        first = next((line.text for line in context.lines if line.text.strip()), one.name)
        summary = [SummarySentence(text=clip(first, _LONGEST, words), turns=[0])]
    return ClosingExtraction(
        summary=summary,
        topics=[clip(item.passage.text, 80, words) for item in (*by_other, *by_one)][:_MOST_TOPICS],
        people=Sides(a=_side(context, one, other, by_one, by_other), b=_side(context, other, one, by_other, by_one)),
    )


def reflect(context: ReflectionContext, rng: random.Random) -> Reflection:
    """Nothing: who only repeats what was said draws no conclusion from it."""
    return Reflection(insights=[])


def judge(context: AttitudeContext, rng: random.Random) -> Questions | AttitudeDraft:
    """As a closing judges it; the questions are those of a closing too."""
    if context.questions is None:
        return Questions(**{name: sentence(context.language, f"people.asks.{name}") for name in DIMENSIONS})
    return _attitude(context.attitude, context.attitude.affinity)


def _side(
    context: ClosingContext, owner: Participant, other: Participant, own: list[_Told], heard: list[_Told]
) -> SideExtraction:
    words = phrases(context.language)
    said = "\n".join(line.text for line in context.lines if line.speaker_id == other.person_id)
    thanked, rude = words.has("thanks", said), words.has("rude", said)
    affinity = max(-100, min(100, owner.affinity + _TALKED + _THANKED * thanked + _RUDE * rude))
    return SideExtraction(
        affinity=affinity,
        mood=_mood(owner.mood, thanked=thanked, rude=rude),
        self_facts=_of_itself(owner, own, words),
        facts=_facts(other, heard, words),
        mid_term=_soon(heard, words),
        commitments=[],
        attitude=_attitude(owner.attitude, affinity),
    )


def _attitude(before: Attitude, affinity: int) -> AttitudeDraft:
    return AttitudeDraft(
        power=before.power or 0,
        intimacy=next(degree for least, degree in _CLOSENESS if affinity >= least),
        task_oriented=before.task_oriented or 0,
    )


def _told(context: ClosingContext, teller: Participant, words: Phrases) -> list[_Told]:
    """What that person told, in its order."""
    return [
        _Told(turn=line.turn, passage=passage, statement=_statement(teller.name[:40], passage, words))
        for line in context.lines
        if line.speaker_id == teller.person_id and 0 <= line.turn <= _LAST_TURN
        for passage in told(line.text, words, is_human=teller.is_player)
    ]


def _statement(name: str, passage: Passage, words: Phrases) -> str:
    """One sentence that names who told it: an authored fact as its author wrote it, else what was said, quoted."""
    text = clip(passage.text, _LONGEST, words)
    if passage.is_fact:
        return words.only("memory.fact", name=name, fact=text)
    return words.only("memory.quote", name=name, words=quotable(text))


def _ended(statement: str, words: Phrases) -> str:
    return statement if re.search(r"[.!?…][\"']?$", statement) else f"{statement}{words.only('memory.stop')}"


def _facts(teller: Participant, heard: list[_Told], words: Phrases) -> list[Claim]:
    subject = teller.name.strip()[:80] or teller.person_id[:80]
    return [
        Claim(
            subject=subject,
            relation=words.only("memory.relation"),
            object=clip(item.passage.text, 80, words),
            statement=item.statement,
            turn=item.turn,
            mode="asserted",
            importance=5,
            replaces="",
        )
        for item in heard[:_MOST_FACTS]
    ]


def _of_itself(owner: Participant, own: list[_Told], words: Phrases) -> list[SelfClaim]:
    """What it said of itself beside what its author wrote, or it told before."""
    new = [item for item in own if not any(tells(item.passage.text, known.statement) for known in owner.facts)]
    fresh = [item for item in new if not item.passage.is_fact and words.has("self", item.passage.text)]
    return [
        SelfClaim(
            statement=clip(item.passage.text, _LONGEST, words),
            turn=item.turn,
            mode="asserted",
            importance=5,
            replaces="",
        )
        for item in fresh[:_MOST_OWN]
    ]


def _soon(heard: list[_Told], words: Phrases) -> list[MidTermDraft]:
    """What of it is about the next days."""
    drafts = [
        MidTermDraft(content=item.statement, turn=item.turn, mode="asserted", importance=importance)
        for item in heard
        for importance in ("high", "medium", "low")
        if words.has(f"soon_{importance}", item.passage.text)
    ]
    return list({draft.content: draft for draft in reversed(drafts)}.values())[:_MOST_SOON]


def _mood(mood: Mood, *, thanked: bool, rude: bool) -> Mood:
    """How somebody feels after what it heard."""
    if rude:
        return "angry"
    if thanked:
        return "neutral" if mood == "angry" else "happy"
    return mood
