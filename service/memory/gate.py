"""Owns what may be learned from a conversation: the rules between what a model extracted and what is stored. Pure.

An NPC fact must cite a turn the NPC itself spoke, and be carried by what it stated there about itself: not by what it
asked, gave back, or said of its listener. What the author wrote wins; duplicates are merged; a later contradiction of
a learned fact closes the old one. A memory must have been heard, or be about oneself. Two characters are judged from
each one's view by the same rules, and what the author wrote about either of them wins.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TypeVar

from service.content.profile import Mood
from service.memory.grounding import are_same, contradict, is_grounded, occurs, squeezed, states
from service.memory.recollection import (
    ClosingScene,
    KnownFact,
    LearnedFact,
    MemoryFact,
    MidTermDraft,
    PairRecollection,
    PairScene,
    Recollection,
)
from service.memory.utterance import of_itself
from service.people.attitude import moved_affinity

FactT = TypeVar("FactT", LearnedFact, MemoryFact)
KeptT = TypeVar("KeptT")


class Reason(StrEnum):
    """Why something was not stored."""

    NO_SUCH_TURN = "no_such_turn"
    NOT_SAID_BY_NPC = "not_said_by_npc"
    NOT_HEARD = "not_heard"
    NOT_IN_THE_TURN = "not_in_the_turn"
    NOT_OF_ITSELF = "not_of_itself"
    CONTRADICTS_AUTHOR = "contradicts_author"
    KNOWN_ALREADY = "known_already"
    TAKEN_BACK = "taken_back"
    EMPTY = "empty"


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

    @property
    def texts(self) -> tuple[str, ...]:
        """What is remembered for long, as it is embedded."""
        return (self.summary, *(one.fact.statement for one in self.remembered))


def gate(recollection: Recollection, scene: ClosingScene, *, affinity_step: int) -> Kept:
    """What of the recollection may be stored."""
    learned, rejected_learned = _sift(recollection.npc.learned_facts, partial(_learned, scene))
    remembered, rejected_facts = _sift(recollection.character.facts, partial(_remembered, scene))
    mid_term, rejected_mid_term = _mid_term(recollection.character.mid_term, scene)
    return Kept(
        summary=_one_line(recollection.summary),
        topics=_topics(recollection.topics),
        affinity=moved_affinity(scene.affinity, recollection.npc.affinity, affinity_step),
        mood=recollection.npc.mood,
        learned=learned,
        remembered=remembered,
        mid_term=mid_term,
        stance=_one_line(recollection.character.stance),
        rejected=(*rejected_learned, *rejected_facts, *rejected_mid_term),
    )


def gate_pair(recollection: PairRecollection, scene: PairScene, *, affinity_step: int) -> tuple[Kept, Kept]:
    """What the first, and what the second of two characters may keep; `affinity` is how the other likes it."""
    first, second = (
        gate(view, seen, affinity_step=affinity_step)
        for view, seen in zip(recollection.views(), scene.views(), strict=True)
    )
    return first, second


def _learned(scene: ClosingScene, fact: LearnedFact, later: Sequence[Learned]) -> Learned | Reason:
    names = _names(scene)
    speaker = _speaker(scene, fact.turn)
    if speaker is None:
        return Reason.NO_SUCH_TURN
    if speaker != scene.npc_id:
        return Reason.NOT_SAID_BY_NPC
    said, before = _said(scene, fact.turn), _said(scene, fact.turn - 1)
    if not is_grounded(fact.statement, said, names, before=before):
        return Reason.NOT_IN_THE_TURN
    claimed = states(before, fact.statement, names)
    own = of_itself(said, frozenset({scene.character_name}), claimed=claimed)
    if not is_grounded(fact.statement, own, names, before=before):
        return Reason.NOT_OF_ITSELF
    denied = _denied(fact, scene.npc_facts, names)
    if any(known.authored for known in denied):
        return Reason.CONTRADICTS_AUTHOR
    if verdict := _repeats(fact.statement, scene.npc_facts, [other.statement for other in later], names):
        return verdict
    return Learned(statement=fact.statement, turn=fact.turn, replaces=tuple(known.ref for known in denied))


def _remembered(scene: ClosingScene, fact: MemoryFact, later: Sequence[Remembered]) -> Remembered | Reason:
    names = _names(scene)
    speaker = _speaker(scene, fact.turn)
    if speaker is None:
        return Reason.NO_SUCH_TURN
    if speaker != scene.npc_id and squeezed(fact.subject) != squeezed(scene.character_name):
        return Reason.NOT_HEARD
    if not is_grounded(fact.statement, _said(scene, fact.turn), names, before=_said(scene, fact.turn - 1)):
        return Reason.NOT_IN_THE_TURN
    if any(contradict(written, fact.statement, names) for written in scene.settled):
        return Reason.CONTRADICTS_AUTHOR
    if verdict := _repeats(fact.statement, scene.memories, [other.fact.statement for other in later], names):
        return verdict
    denied = _denied(fact, scene.memories, names)
    return Remembered(fact=fact, replaces=tuple(known.ref for known in denied))


def _mid_term(
    drafts: Sequence[MidTermDraft], scene: ClosingScene
) -> tuple[tuple[MidTermDraft, ...], tuple[Rejected, ...]]:
    """Plans are made in questions too, and over many turns: the whole transcript may carry them."""
    everything = " ".join(line.text for line in scene.lines)
    kept: list[MidTermDraft] = []
    rejected: list[Rejected] = []
    for draft in (draft.model_copy(update={"content": _one_line(draft.content)}) for draft in drafts):
        verdict: Reason | None = None
        if not squeezed(draft.content):
            verdict = Reason.EMPTY
        elif not occurs(draft.content, everything, _names(scene)):
            verdict = Reason.NOT_HEARD
        elif any(are_same(draft.content, other.content, _names(scene)) for other in kept):
            verdict = Reason.KNOWN_ALREADY
        if verdict is None:
            kept.append(draft)
        else:
            rejected.append(Rejected(statement=draft.content, turn=None, reason=verdict))
    return tuple(kept), tuple(rejected)


def _sift(
    facts: Sequence[FactT], judge: Callable[[FactT, Sequence[KeptT]], KeptT | Reason]
) -> tuple[tuple[KeptT, ...], tuple[Rejected, ...]]:
    """Judge each fact with what was kept of later turns: who corrects himself within a talk means the last word."""
    kept: list[KeptT] = []
    rejected: list[Rejected] = []
    for fact in sorted((_clean(fact) for fact in facts), key=lambda fact: fact.turn, reverse=True):
        verdict = judge(fact, kept) if _is_whole(fact) else Reason.EMPTY
        if isinstance(verdict, Reason):
            rejected.append(Rejected(statement=fact.statement, turn=fact.turn, reason=verdict))
        else:
            kept.append(verdict)
    return tuple(reversed(kept)), tuple(reversed(rejected))


def _clean(fact: FactT) -> FactT:
    """Every text on one line: what is stored is shown to models again, line by line."""
    texts = {name: _one_line(value) for name, value in fact if isinstance(value, str)}
    return fact.model_copy(update=texts)


def _is_whole(fact: LearnedFact | MemoryFact) -> bool:
    texts = [fact.statement]
    if isinstance(fact, MemoryFact):
        texts += [fact.subject, fact.relation, fact.object]
    return all(squeezed(text) for text in texts)


def _denied(fact: LearnedFact | MemoryFact, known: Sequence[KnownFact], names: frozenset[str]) -> list[KnownFact]:
    """The known facts that are no longer true if this one is: named by the model, or contradicted by form."""
    return [k for k in known if k.ref == fact.replaces or contradict(k.statement, fact.statement, names)]


def _repeats(statement: str, known: Sequence[KnownFact], later: Sequence[str], names: frozenset[str]) -> Reason | None:
    if any(contradict(statement, other, names) for other in later):
        return Reason.TAKEN_BACK
    if any(are_same(statement, other, names) for other in (*(fact.statement for fact in known), *later)):
        return Reason.KNOWN_ALREADY
    return None


def _topics(topics: Sequence[str]) -> tuple[str, ...]:
    """Each once, whatever its width and case; blank ones dropped."""
    found: dict[str, str] = {}
    for topic in topics:
        if squeezed(topic):
            found.setdefault(squeezed(topic), _one_line(topic))
    return tuple(found.values())


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _speaker(scene: ClosingScene, turn: int) -> str | None:
    return next((line.speaker_id for line in scene.lines if line.turn == turn), None)


def _said(scene: ClosingScene, turn: int) -> str:
    return next((line.text for line in scene.lines if line.turn == turn), "")


def _names(scene: ClosingScene) -> frozenset[str]:
    return frozenset({scene.character_name, scene.npc_name})
