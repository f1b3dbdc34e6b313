"""Owns what may be learned from a conversation: the rules between what a model extracted and what is stored. Pure.

An NPC fact must cite a turn the NPC itself spoke and be carried by it; what the author wrote wins; duplicates are
merged; a later contradiction of a learned fact closes the old one. A memory must have been heard, or be about oneself.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TypeVar

from service.cast.profile import Mood
from service.cast.relation import moved_affinity
from service.memory.grounding import are_same, contradict, is_grounded
from service.memory.recollection import (
    ClosingScene,
    KnownFact,
    LearnedFact,
    MemoryFact,
    MidTermDraft,
    Recollection,
)

FactT = TypeVar("FactT", LearnedFact, MemoryFact)
KeptT = TypeVar("KeptT")


class Reason(StrEnum):
    """Why something was not stored."""

    NO_SUCH_TURN = "no_such_turn"
    NOT_SAID_BY_NPC = "not_said_by_npc"
    NOT_HEARD = "not_heard"
    NOT_IN_THE_TURN = "not_in_the_turn"
    CONTRADICTS_AUTHOR = "contradicts_author"
    KNOWN_ALREADY = "known_already"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejected:
    """A statement that was kept out, and why."""

    statement: str
    turn: int | None
    reason: Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Learned:
    """A fact the NPC told about itself. `replaces` are refs of learned facts it closes."""

    statement: str
    turn: int
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Remembered:
    """A fact the character takes away. `replaces` are refs of memories it closes."""

    fact: MemoryFact
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What passed."""

    summary: str
    topics: tuple[str, ...]
    affinity: int
    mood: Mood
    learned: tuple[Learned, ...]
    remembered: tuple[Remembered, ...]
    mid_term: tuple[MidTermDraft, ...]
    stance: str
    rejected: tuple[Rejected, ...]


def gate(recollection: Recollection, scene: ClosingScene, *, affinity_step: int) -> Kept:
    """What of the recollection may be stored."""
    learned, rejected_learned = _sift(recollection.npc.learned_facts, partial(_learned, scene))
    remembered, rejected_facts = _sift(recollection.character.facts, partial(_remembered, scene))
    everything = " ".join(line.text for line in scene.lines)
    mid_term = tuple(m for m in recollection.character.mid_term if is_grounded(m.content, everything, _names(scene)))
    dropped = tuple(
        Rejected(statement=m.content, turn=None, reason=Reason.NOT_HEARD)
        for m in recollection.character.mid_term
        if m not in mid_term
    )
    return Kept(
        summary=recollection.summary,
        topics=tuple(dict.fromkeys(recollection.topics)),
        affinity=moved_affinity(scene.affinity, recollection.npc.affinity, affinity_step),
        mood=recollection.npc.mood,
        learned=tuple(learned),
        remembered=tuple(remembered),
        mid_term=mid_term,
        stance=recollection.character.stance,
        rejected=(*rejected_learned, *rejected_facts, *dropped),
    )


def _learned(scene: ClosingScene, fact: LearnedFact, kept: Sequence[Learned]) -> Learned | Reason:
    speaker = _speaker(scene, fact.turn)
    if speaker is None:
        return Reason.NO_SUCH_TURN
    if speaker != scene.npc_id:
        return Reason.NOT_SAID_BY_NPC
    if not is_grounded(fact.statement, _heard(scene, fact.turn), _names(scene)):
        return Reason.NOT_IN_THE_TURN
    denied = [
        known for known in scene.npc_facts if known.ref == fact.replaces or contradict(known.statement, fact.statement)
    ]
    if any(known.authored for known in denied):
        return Reason.CONTRADICTS_AUTHOR
    if _is_known(fact.statement, scene.npc_facts) or any(are_same(fact.statement, other.statement) for other in kept):
        return Reason.KNOWN_ALREADY
    return Learned(statement=fact.statement, turn=fact.turn, replaces=tuple(known.ref for known in denied))


def _remembered(scene: ClosingScene, fact: MemoryFact, kept: Sequence[Remembered]) -> Remembered | Reason:
    speaker = _speaker(scene, fact.turn)
    if speaker is None:
        return Reason.NO_SUCH_TURN
    if speaker != scene.npc_id and fact.subject != scene.character_name:
        return Reason.NOT_HEARD
    if not is_grounded(fact.statement, _heard(scene, fact.turn), _names(scene)):
        return Reason.NOT_IN_THE_TURN
    if _is_known(fact.statement, scene.memories) or any(
        are_same(fact.statement, other.fact.statement) for other in kept
    ):
        return Reason.KNOWN_ALREADY
    denied = (m.ref for m in scene.memories if m.ref == fact.replaces or contradict(m.statement, fact.statement))
    return Remembered(fact=fact, replaces=tuple(denied))


def _sift(
    facts: Sequence[FactT], judge: Callable[[FactT, Sequence[KeptT]], KeptT | Reason]
) -> tuple[list[KeptT], list[Rejected]]:
    """Judge each fact with what was kept before it."""
    kept: list[KeptT] = []
    rejected: list[Rejected] = []
    for fact in facts:
        verdict = judge(fact, kept)
        if isinstance(verdict, Reason):
            rejected.append(Rejected(statement=fact.statement, turn=fact.turn, reason=verdict))
        else:
            kept.append(verdict)
    return kept, rejected


def _is_known(statement: str, known: Iterable[KnownFact]) -> bool:
    return any(are_same(statement, fact.statement) for fact in known)


def _speaker(scene: ClosingScene, turn: int) -> str | None:
    return next((line.speaker_id for line in scene.lines if line.turn == turn), None)


def _heard(scene: ClosingScene, turn: int) -> str:
    """The cited turn with the one before it: an answer is often only complete with its question."""
    return " ".join(line.text for line in scene.lines if turn - 1 <= line.turn <= turn)


def _names(scene: ClosingScene) -> frozenset[str]:
    return frozenset({scene.character_name, scene.npc_name})
