"""Owns the closing: what each takes away, in the words that were said; and how one stands to another."""

import random
import re
from dataclasses import dataclass, replace
from typing import Any

from service.content.profile import Mood
from service.conversation.attitude import AttitudeContext, Questions
from service.conversation.long_term import LongTermContext, LongTermDraft, LongTermUpdate
from service.locales import sentence
from service.memory.extraction import (
    MOST_SENTENCES,
    AttitudeDraft,
    Claim,
    ClosingContext,
    ClosingExtraction,
    MidTermDraft,
    Participant,
    SelfClaim,
    SummarySentence,
    answer_to,
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
    everything = context.whole
    by = [_told(everything, person, words) for person in context.participants]
    told = [item for of in (*(of[:2] for of in by[1:]), by[0][:1]) for item in of]
    summary = [
        SummarySentence(text=_ended(item.statement, words), turns=[item.turn])
        for item in sorted(told, key=lambda item: item.turn)[:MOST_SENTENCES]
    ]
    if not summary:
        first = next((line.text for line in everything.lines if line.text.strip()), context.participants[0].name)
        summary = [SummarySentence(text=clip(first, _LONGEST, words), turns=[0])]
    return answer_to(context).model_validate(
        {
            "summary": summary,
            "topics": [clip(item.passage.text, 80, words) for of in (*by[1:], by[0]) for item in of][:_MOST_TOPICS],
            "people": {one.ref: _side(context, one, words) for one in context.participants},
        }
    )


def reflect(context: ReflectionContext, rng: random.Random) -> Reflection:
    """Nothing: who only repeats what was said draws no conclusion from it."""
    return Reflection(insights=[])


def propose(context: LongTermContext, rng: random.Random) -> LongTermUpdate:
    """The longest line that somebody else was heard to say, as a memory: in the words that were said."""
    heard = [line for line in context.lines if line.speaker_name != context.name]
    if not heard:
        return LongTermUpdate(experiences=[], goals=[], memories=[])
    longest = max(heard, key=lambda line: len(line.text))
    told = sentence(
        context.language,
        "remembered.said",
        name=longest.speaker_name,
        said=clip(longest.text, _LONGEST, phrases(context.language)),
    )
    return LongTermUpdate(
        experiences=[], goals=[], memories=[LongTermDraft(text=told, importance=5, turns=[longest.turn])]
    )


def judge(context: AttitudeContext, rng: random.Random) -> Questions | AttitudeDraft:
    """As a closing judges it; the questions are those of a closing too."""
    if context.questions is None:
        return Questions(**{name: sentence(context.language, f"people.asks.{name}") for name in DIMENSIONS})
    return _attitude(context.attitude, context.attitude.affinity)


def _side(context: ClosingContext, owner: Participant, words: Phrases) -> dict[str, Any]:
    """The entry of one who took part, from what it perceived."""
    perceived = replace(context, lines=tuple(context.shared(owner.person_id).values()))
    others = perceived.others_of(owner)
    told = {other.ref: _told(perceived, other, words) for other, _ in others}
    said = {other.ref: _words_of(perceived, other) for other, _ in others}
    heard = sorted((item for of in told.values() for item in of), key=lambda item: item.turn)
    liked = {other.ref: _liked(stands.affinity, said[other.ref], words) for other, stands in others}
    stance = {other.ref: _attitude(stands, liked[other.ref]) for other, stands in others}
    entry = {
        "mood": _mood(
            owner.mood,
            thanked=any(words.has("thanks", text) for text in said.values()),
            rude=any(words.has("rude", text) for text in said.values()),
        ),
        "self_facts": _of_itself(owner, _told(perceived, owner, words), words),
        "facts": [claim for other, _ in others for claim in _facts(other, told[other.ref], words)][:_MOST_FACTS],
        "mid_term": _soon(heard, words),
        "commitments": [],
    }
    if not context.is_group:
        ref = context.partner_of(owner).ref
        return {**entry, "affinity": liked[ref], "attitude": stance[ref]}
    judged = {} if owner.is_player else {o.ref: stance[o.ref] for o, stands in others if context.is_judged(stands)}
    return {**entry, "towards": liked, **({"attitude": judged} if judged else {})}


def _words_of(context: ClosingContext, other: Participant) -> str:
    return "\n".join(line.text for line in context.lines if line.speaker_id == other.person_id)


def _liked(before: int, said: str, words: Phrases) -> int:
    """How much somebody who said that is liked now."""
    thanked, rude = words.has("thanks", said), words.has("rude", said)
    return max(-100, min(100, before + _TALKED + _THANKED * thanked + _RUDE * rude))


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
