"""Owns what may be learned from a conversation: the rules between what a model extracted and what is stored. Pure.

Everybody who took part is judged from its own view, by the same rules. What a person told about itself must cite a turn
of its own, and be carried by what it stated there about itself: not by what it asked, gave back, or said of its
listener. What it knows from others must have been said by them. What the author wrote about anybody there wins;
duplicates are merged; a later contradiction of something known closes it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from service.content.profile import Mood
from service.locales import Language
from service.memory.extraction import (
    AttitudeDraft,
    Claim,
    ClosingContext,
    ClosingExtraction,
    CommitmentDraft,
    KnownFact,
    MidTermDraft,
    Participant,
    SelfClaim,
    SideExtraction,
)
from service.memory.grounding import are_same, contradict, is_grounded, occurs, squeezed, states
from service.memory.store import DEFAULT_IMPORTANCE
from service.memory.utterance import of_itself
from service.people.attitude import moved_affinity
from service.store.event_kinds import RejectionReason

ClaimT = TypeVar("ClaimT", SelfClaim, Claim, CommitmentDraft)
ValidT = TypeVar("ValidT")
DraftT = TypeVar("DraftT", SelfClaim, Claim, CommitmentDraft, MidTermDraft, AttitudeDraft)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejected:
    """A statement that was kept out, and why."""

    statement: str
    turn: int | None
    reason: RejectionReason


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidSelfFact:
    """A fact a person told about itself. `replaces` are refs of such facts that it closes."""

    claim: SelfClaim
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidFact:
    """A fact a person takes away. `replaces` are refs of memories it closes."""

    claim: Claim
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ValidSide:
    """What of one person's entry may be stored; `attitude` and `mood` as the model said, `affinity` by a step at
    most.
    """

    participant: Participant
    affinity: int
    mood: Mood
    attitude: AttitudeDraft
    self_facts: tuple[ValidSelfFact, ...]
    facts: tuple[ValidFact, ...]
    mid_term: tuple[MidTermDraft, ...]
    commitments: tuple[CommitmentDraft, ...]
    rejected_self_facts: tuple[Rejected, ...]
    rejected: tuple[Rejected, ...]

    @property
    def moved(self) -> int:
        """By how much it likes the other more than when they parted."""
        return self.affinity - self.participant.affinity


@dataclass(frozen=True, kw_only=True)
class ValidExtraction:
    """What may be stored, for each of those who took part, in their order."""

    summary: str
    topics: tuple[str, ...]
    sides: tuple[ValidSide, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """What is remembered for long, as it is embedded."""
        return (self.summary, *(fact.claim.statement for side in self.sides for fact in side.facts))


def validate_extraction(extraction: ClosingExtraction, scene: ClosingContext, *, affinity_step: int) -> ValidExtraction:
    """What of the extraction may be stored. It has an entry for everybody who took part."""
    return ValidExtraction(
        summary=summary_text(extraction, scene.language),
        topics=_topics(extraction.topics),
        sides=tuple(
            _side(extraction.side_of(owner.ref), _View(scene, owner), affinity_step) for owner in scene.participants
        ),
    )


def summary_text(extraction: ClosingExtraction, language: Language) -> str:
    """The summary's sentences as one text on one line."""
    sentences = (_one_line(sentence.text) for sentence in extraction.summary)
    return ("" if language == "ja" else " ").join(filter(None, sentences))


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundFact:
    """A fact that another extraction found in the summary of a conversation: it cites no turn. `key` names it."""

    key: str
    subject: str
    relation: str
    object: str
    statement: str


def validate_found(found: Sequence[FoundFact], scene: ClosingContext, owner: Participant) -> dict[str, ValidFact]:
    """What of it the owner may remember, by key: the rules are those of `validate_extraction`.

    Each fact is held against the turns, the last first, and then cites the one that carries it.
    """
    view = _View(scene, owner)
    valid: dict[str, ValidFact] = {}
    for line in reversed(scene.lines):
        for one in found:
            verdict = None if one.key in valid else _found(view, one, line.turn, tuple(valid.values()))
            if verdict is not None:
                valid[one.key] = verdict
    return valid


class _View:
    """The conversation as one of those who took part sees it."""

    def __init__(self, scene: ClosingContext, owner: Participant) -> None:
        self.scene = scene
        self.owner = owner
        self.names = scene.names
        self.others = frozenset(one.name for one in scene.participants if one is not owner)
        self.settled = tuple(written for one in scene.participants for written in one.authored)
        self._lines = {line.turn: line for line in scene.lines}

    @property
    def everything(self) -> str:
        """All that was said."""
        return " ".join(line.text for line in self.scene.lines)

    def speaker(self, turn: int) -> str | None:
        """Who spoke the turn; None: there is none."""
        return self._lines[turn].speaker_id if turn in self._lines else None

    def said(self, turn: int) -> str:
        """What was said in the turn."""
        return self._lines[turn].text if turn in self._lines else ""


def _side(side: SideExtraction, view: _View, affinity_step: int) -> ValidSide:
    self_facts, no_self_facts = _sift(side.self_facts, partial(_self_fact, view))
    facts, no_facts = _sift(side.facts, partial(_fact, view))
    commitments, no_commitments = _sift(side.commitments, partial(_commitment, view))
    mid_term, no_mid_term = _mid_term(side.mid_term, view)
    return ValidSide(
        participant=view.owner,
        affinity=moved_affinity(view.owner.affinity, side.affinity, affinity_step),
        mood=side.mood,
        attitude=_clean(side.attitude),
        self_facts=self_facts,
        facts=facts,
        mid_term=mid_term,
        commitments=commitments,
        rejected_self_facts=no_self_facts,
        rejected=(*no_facts, *no_mid_term, *no_commitments),
    )


def _self_fact(view: _View, claim: SelfClaim, later: Sequence[ValidSelfFact]) -> ValidSelfFact | RejectionReason:
    speaker = view.speaker(claim.turn)
    if speaker is None:
        return RejectionReason.NO_SUCH_TURN
    if speaker != view.owner.person_id:
        return RejectionReason.NOT_SAID_BY_ITSELF
    said, before = view.said(claim.turn), view.said(claim.turn - 1)
    if not is_grounded(claim.statement, said, view.names, before=before):
        return RejectionReason.NOT_IN_THE_TURN
    claimed = states(before, claim.statement, view.names)
    own = of_itself(said, view.others, claimed=claimed)
    if not is_grounded(claim.statement, own, view.names, before=before):
        return RejectionReason.NOT_OF_ITSELF
    denied = _denied(claim, view.owner.facts, view.names)
    if any(known.authored for known in denied):
        return RejectionReason.CONTRADICTS_AUTHOR
    if verdict := _repeats(claim.statement, view.owner.facts, [one.claim.statement for one in later], view.names):
        return verdict
    return ValidSelfFact(claim=claim, replaces=tuple(known.ref for known in denied))


def _fact(view: _View, claim: Claim, later: Sequence[ValidFact]) -> ValidFact | RejectionReason:
    speaker = view.speaker(claim.turn)
    if speaker is None:
        return RejectionReason.NO_SUCH_TURN
    if speaker == view.owner.person_id and squeezed(claim.subject) != squeezed(view.owner.name):
        return RejectionReason.NOT_HEARD
    if not is_grounded(claim.statement, view.said(claim.turn), view.names, before=view.said(claim.turn - 1)):
        return RejectionReason.NOT_IN_THE_TURN
    if any(contradict(written, claim.statement, view.names) for written in view.settled):
        return RejectionReason.CONTRADICTS_AUTHOR
    known = view.owner.memories
    if verdict := _repeats(claim.statement, known, [one.claim.statement for one in later], view.names):
        return verdict
    return ValidFact(claim=claim, replaces=tuple(one.ref for one in _denied(claim, known, view.names)))


def _found(view: _View, found: FoundFact, turn: int, later: Sequence[ValidFact]) -> ValidFact | None:
    """The fact as that turn carries it; None: it does not, or the fact has not the form of a claim."""
    texts = {name: getattr(found, name) for name in ("subject", "relation", "object", "statement")}
    meant = {"mode": "asserted", "importance": DEFAULT_IMPORTANCE, "valid_on": "", "replaces": ""}
    try:
        claim = _clean(Claim.model_validate({**texts, **meant, "turn": turn}))
    except ValueError:
        return None
    verdict = _fact(view, claim, later) if all(map(squeezed, _texts(claim))) else RejectionReason.EMPTY
    return None if isinstance(verdict, RejectionReason) else verdict


def _commitment(
    view: _View, draft: CommitmentDraft, later: Sequence[CommitmentDraft]
) -> CommitmentDraft | RejectionReason:
    """Who promises says so itself; what it promises may have been said over many turns."""
    speaker = view.speaker(draft.turn)
    if speaker is None:
        return RejectionReason.NO_SUCH_TURN
    if speaker != view.owner.person_id:
        return RejectionReason.NOT_SAID_BY_ITSELF
    if not occurs(draft.what, view.everything, view.names):
        return RejectionReason.NOT_HEARD
    return RejectionReason.KNOWN_ALREADY if any(are_same(draft.what, one.what, view.names) for one in later) else draft


def _mid_term(drafts: Sequence[MidTermDraft], view: _View) -> tuple[tuple[MidTermDraft, ...], tuple[Rejected, ...]]:
    """Plans are made in questions too, and over many turns: the whole transcript may carry them."""
    kept: list[MidTermDraft] = []
    rejected: list[Rejected] = []
    for draft in map(_clean, drafts):
        verdict: RejectionReason | None = None
        if not squeezed(draft.content):
            verdict = RejectionReason.EMPTY
        elif not occurs(draft.content, view.everything, view.names):
            verdict = RejectionReason.NOT_HEARD
        elif any(are_same(draft.content, other.content, view.names) for other in kept):
            verdict = RejectionReason.KNOWN_ALREADY
        if verdict is None:
            kept.append(draft)
        else:
            rejected.append(Rejected(statement=draft.content, turn=None, reason=verdict))
    return tuple(kept), tuple(rejected)


def _sift(
    claims: Sequence[ClaimT], judge: Callable[[ClaimT, Sequence[ValidT]], ValidT | RejectionReason]
) -> tuple[tuple[ValidT, ...], tuple[Rejected, ...]]:
    """Judge each claim with what was kept of later turns: who corrects himself within a talk means the last word."""
    kept: list[ValidT] = []
    rejected: list[Rejected] = []
    for claim in sorted(map(_clean, claims), key=lambda one: one.turn, reverse=True):
        verdict = judge(claim, kept) if all(map(squeezed, _texts(claim))) else RejectionReason.EMPTY
        if isinstance(verdict, RejectionReason):
            rejected.append(Rejected(statement=_texts(claim)[0], turn=claim.turn, reason=verdict))
        else:
            kept.append(verdict)
    return tuple(reversed(kept)), tuple(reversed(rejected))


def _texts(claim: SelfClaim | Claim | CommitmentDraft) -> tuple[str, ...]:
    """What must not be blank in it; first what it says."""
    if isinstance(claim, CommitmentDraft):
        return (claim.what,)
    if isinstance(claim, Claim):
        return (claim.statement, claim.subject, claim.relation, claim.object)
    return (claim.statement,)


def _clean(draft: DraftT) -> DraftT:
    """Every text on one line: what is stored is shown to models again, line by line."""
    return draft.model_copy(update={name: _one_line(value) for name, value in draft if isinstance(value, str)})


def _denied(claim: SelfClaim | Claim, known: Sequence[KnownFact], names: frozenset[str]) -> list[KnownFact]:
    """The known facts that are no longer true if this one is: named by the model, or contradicted by form."""
    return [k for k in known if k.ref == claim.replaces or contradict(k.statement, claim.statement, names)]


def _repeats(
    statement: str, known: Sequence[KnownFact], later: Sequence[str], names: frozenset[str]
) -> RejectionReason | None:
    if any(contradict(statement, other, names) for other in later):
        return RejectionReason.TAKEN_BACK
    if any(are_same(statement, other, names) for other in (*(fact.statement for fact in known), *later)):
        return RejectionReason.KNOWN_ALREADY
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
