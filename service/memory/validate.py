"""Owns what may be learned from a conversation: the rules between what a model extracted and what is stored. Pure.

What is remembered are the words that were said (words.py); what the model made of them is the key by which they are
found, and is shown as a fact only where the strict check holds it (strict.py). So nothing true is lost, and nothing
invented is stated. What the author wrote about anybody there wins.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Generic, TypeVar

from service.content.profile import Importance, Mood
from service.locales import Language, sentence
from service.memory.claim import held, numbers, share
from service.memory.claim import words as telling_words
from service.memory.comparison import are_same, contradict, excludes, is_other_than, jaccard, occurs, squeezed
from service.memory.cues import bears, is_taken_back
from service.memory.extraction import (
    AttitudeDraft,
    Claim,
    ClosingContext,
    ClosingExtraction,
    CommitmentDraft,
    KeptDraft,
    KnownFact,
    MidTermDraft,
    Mode,
    OpenPromise,
    Participant,
    SelfClaim,
    SummarySentence,
)
from service.memory.promise import ValidPromise, judged_promise, promising_turn
from service.memory.promise_kept import is_told_kept
from service.memory.shown import are_shown_alike
from service.memory.sources import came_from, people_in, people_meant
from service.memory.record import DEFAULT_IMPORTANCE
from service.memory.strict import is_held
from service.memory.summary import checked_summary
from service.memory.utterance import sentences
from service.memory.words import Words, best_sentence, one_line, words_of
from service.people.attitude import Attitude, moved_affinity
from service.store.event_kinds import RejectionReason

CARRIED = 0.3
"""Share of a statement's telling words that the words it rests on must hold for it to be of use as their key."""

ELSEWHERE = 0.6
"""Share that another turn must hold of what the cited one does not carry, to be taken for the one that was meant."""

ClaimT = TypeVar("ClaimT", SelfClaim, Claim)
DraftT = TypeVar("DraftT", SelfClaim, Claim, CommitmentDraft, MidTermDraft)
ValidT = TypeVar("ValidT")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejected:
    """A statement that was kept out, and why."""

    statement: str
    turn: int | None
    reason: RejectionReason


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidClaim(Generic[ClaimT]):
    """Something to be remembered, in the `words` it was said in, as they are shown.

    `statement` is the key by which they are found; where `held`, it is a fact by itself. `mode` is how they were meant,
    as the model says or as their form shows. `chain` are the ids of those through whose hands it came, first who began
    it, last who told it. `people` are the ids of those it is about. `replaces` are refs of what is known no longer,
    `retells` is the ref of what is known already and was told again.
    """

    claim: ClaimT
    words: str
    statement: str
    mode: Mode
    held: bool
    chain: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    retells: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidMidTerm:
    """Something that affects a person's next days, in the words it was said in."""

    turn: int
    words: str
    importance: Importance


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidTowards:
    """How a person stands to another one now: `affinity` was `before` when they parted, and moved by a step at most."""

    other_id: str
    before: int
    affinity: int
    attitude: AttitudeDraft | None

    @property
    def moved(self) -> int:
        """By how much it likes the other more."""
        return self.affinity - self.before


@dataclass(frozen=True, kw_only=True)
class ValidSide:
    """What of one person's entry may be stored, and what of the whole it perceived: summary and topics; mood and
    attitudes as the model said. `partners` says of each turn with whom it was, by id ("": nobody heard it).
    """

    participant: Participant
    summary: str
    topics: tuple[str, ...]
    towards: tuple[ValidTowards, ...]
    partners: Mapping[int, str]
    mood: Mood
    self_facts: tuple[ValidClaim[SelfClaim], ...]
    facts: tuple[ValidClaim[Claim], ...]
    mid_term: tuple[ValidMidTerm, ...]
    commitments: tuple[ValidPromise, ...]
    rejected_self_facts: tuple[Rejected, ...]
    rejected: tuple[Rejected, ...]


@dataclass(frozen=True, kw_only=True)
class ValidExtraction:
    """What may be stored, for each of those who took part, in their order. `kept` are refs of promises; `rejected` are
    sentences of the summary, and promises of which no words say that they were kept.
    """

    sides: tuple[ValidSide, ...]
    kept: tuple[str, ...] = ()
    rejected: tuple[Rejected, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """What is remembered for long, as it is embedded."""
        told = (text for side in self.sides for text in (side.summary, *(fact.statement for fact in side.facts)))
        return tuple(dict.fromkeys(told))


def validate_extraction(
    extraction: ClosingExtraction, context: ClosingContext, *, affinity_step: int
) -> ValidExtraction:
    """What of the extraction may be stored. It has an entry for everybody who took part."""
    _, left_out = checked_summary(extraction.summary, context.whole)
    promised = _promised(extraction, context)
    kept, not_kept = _kept(extraction.kept, context)
    return ValidExtraction(
        sides=tuple(
            _side(extraction, _View(context, owner), affinity_step, promised) for owner in context.participants
        ),
        kept=kept,
        rejected=(
            *(Rejected(statement=text, turn=None, reason=RejectionReason.NOT_IN_THE_TURN) for text in left_out),
            *not_kept,
        ),
    )


def _kept(drafts: Sequence[KeptDraft], context: ClosingContext) -> tuple[tuple[str, ...], tuple[Rejected, ...]]:
    """The promises of which a turn's words say that they were kept, each once; and the others that the model names."""
    promises = {one.ref: one for one in context.promises}
    kept, rejected = dict[str, None](), list[Rejected]()
    for draft in drafts:
        promise = promises.get(draft.promise)
        if promise is not None and _is_told_kept(context, promise, draft.turn):
            kept[draft.promise] = None
        else:
            statement = promise.words if promise else one_line(draft.promise)
            rejected.append(Rejected(statement=statement, turn=draft.turn, reason=RejectionReason.NOT_TOLD_KEPT))
    return tuple(kept), tuple(rejected)


def _is_told_kept(context: ClosingContext, promise: OpenPromise, turn: int) -> bool:
    """Whether one of the two whose promise it is says so, and the other hears it."""
    both = context.shared(promise.by_id, promise.to_id)
    if turn not in both or both[turn].tried or both[turn].speaker_id not in (promise.by_id, promise.to_id):
        return False
    return is_told_kept(replace(context, lines=tuple(both.values())), promise, turn)


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundFact:
    """A fact that another extraction found in the summary of a conversation: it cites no turn. `key` names it."""

    key: str
    subject: str
    relation: str
    object: str
    statement: str


def validate_found(
    found: Sequence[FoundFact], context: ClosingContext, owner: Participant
) -> dict[str, ValidClaim[Claim]]:
    """What of it the owner may remember, by key: the rules are those of `validate_extraction`.

    Each fact cites the turn that holds most of its words; one that no turn carries is left out.
    """
    view = _View(context, owner)
    valid: dict[str, ValidClaim[Claim]] = {}
    for one in found:
        verdict = _found(view, one, tuple(valid.values()))
        if verdict is not None:
            valid[one.key] = verdict
    return valid


class _View:
    """The conversation as one of those who took part perceived it."""

    def __init__(self, context: ClosingContext, owner: Participant) -> None:
        self.language: Language = context.language
        self.owner = owner
        self.given = context
        self.names = context.names
        self.lines = context.shared(owner.person_id)
        self.context = replace(context, lines=tuple(self.lines.values()))
        self.turns = {line.turn for line in context.lines}
        self._kept_from_it = " ".join(filter(None, (line.kept_from(owner.person_id) for line in context.lines)))
        self._authored = {squeezed(one.name): (*one.authored, *one.persona) for one in context.participants}

    @cached_property
    def everything(self) -> str:
        """All that it perceived."""
        return " ".join(line.text for line in self.lines.values())

    def partner(self, turn: int) -> str:
        """With whom it had to do in a turn, by id: who spoke it; of its own, who answered, or the first who heard it.
        "": nobody did.
        """
        line = self.lines[turn]
        if not self.is_by_owner(turn):
            return line.speaker_id
        heard = [
            other.person_id
            for other, _ in self.context.others_of(self.owner)
            if line.heard_by is None or other.person_id in line.heard_by
        ]
        after = self.lines.get(turn + 1)
        return after.speaker_id if after and after.speaker_id in heard else next(iter(heard), "")

    def knows(self, draft: "SelfClaim | Claim | CommitmentDraft | MidTermDraft") -> bool:
        """Whether it perceived the turn, and all that the draft tells of what was kept from somebody."""
        return draft.turn in self.lines and self.may_know(" ".join(_texts(draft)))

    def may_know(self, text: str) -> bool:
        """Whether no telling word of the text was said only where the owner did not perceive it."""
        if not self._kept_from_it:  # it was there for all of it
            return True
        told = held(telling_words(text, self.names), self._kept_from_it)
        counted = numbers(text) & numbers(self._kept_from_it)
        return told <= held(told, self.everything) and counted <= numbers(self.everything)

    def authored_about(self, subject: str) -> tuple[str, ...]:
        """What the author wrote about that person, where it took part."""
        return self._authored.get(squeezed(subject), ())

    def is_by_owner(self, turn: int) -> bool:
        """Whether the owner spoke it."""
        return self.lines[turn].speaker_id == self.owner.person_id

    def is_put_right(self, turn: int) -> bool:
        """Whether the one who spoke it takes something back later."""
        speaker = self.lines[turn].speaker_id
        return any(is_taken_back(one.text) for at, one in self.lines.items() if at > turn and one.speaker_id == speaker)

    def may_learn(self, subject: str, turn: int) -> bool:
        """Whether the turn may tell it something of that one: of others its own words tell it nothing."""
        return not self.is_by_owner(turn) or squeezed(subject) == squeezed(self.owner.name)

    def words(self, turn: int, statement: str) -> Words:
        """The words of the turn that carry the statement."""
        return words_of(self.lines, turn, statement, self.names)

    def carries(self, turn: int, statement: str) -> float:
        """Which share of the statement's telling words the turn and its question hold; 1 where it has none."""
        wanted = telling_words(statement, self.names)
        return share(wanted, self.words(turn, statement).both) if wanted else 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Way:
    """Through whose hands something came: their ids, first who began it; of what was told of others, their names."""

    chain: tuple[str, ...] = ()
    hands: tuple[str, ...] = ()


_OWN_WORDS = _Way()


def _promised(extraction: ClosingExtraction, context: ClosingContext) -> frozenset[int]:
    """The turns in which anybody there promises something."""
    return frozenset(
        promise.turn
        for view in (_View(context, owner) for owner in context.participants)
        for promise in _sift(view, extraction.side_of(view.owner.ref).commitments, partial(_commitment, view))[0]
    )


def _side(extraction: ClosingExtraction, view: _View, affinity_step: int, promised: frozenset[int]) -> ValidSide:
    """A player keeps nothing but what it promised: what a human feels and believes is its own affair."""
    side, owner = extraction.side_of(view.owner.ref), view.owner
    is_asked = not owner.is_player
    self_facts, no_self_facts = _sift(view, side.self_facts if is_asked else (), partial(_self_fact, view))
    facts, no_facts = _sift(view, side.facts if is_asked else (), partial(_fact, view))
    mid_term, no_mid_term = _sift(view, side.mid_term if is_asked else (), partial(_mid_term, view, promised))
    commitments, no_commitments = _sift(view, side.commitments, partial(_commitment, view))
    return ValidSide(
        participant=owner,
        summary=_summary(extraction.summary, view),
        topics=_topics(extraction.topics, view),
        towards=tuple(
            _towards(extraction, view, other, stood, affinity_step) for other, stood in view.context.others_of(owner)
        ),
        partners={turn: view.partner(turn) for turn in view.lines},
        mood=side.mood if is_asked else owner.mood,
        self_facts=self_facts,
        facts=facts,
        mid_term=mid_term,
        commitments=commitments,
        rejected_self_facts=no_self_facts,
        rejected=(*no_facts, *no_mid_term, *no_commitments),
    )


def _summary(written: Sequence[SummarySentence], view: _View) -> str:
    """The sentences that the owner may know; where none stands, words that it perceived; "": it perceived nothing."""
    known = [
        one
        for one in written
        if all(turn in view.lines or turn not in view.turns for turn in one.turns) and view.may_know(one.text)
    ]
    return checked_summary(known, view.context)[0]


def _towards(
    extraction: ClosingExtraction, view: _View, other: Participant, stood: Attitude, step: int
) -> ValidTowards:
    refs = (view.owner.ref, other.ref)
    judged = view.context.is_judged(stood) and not view.owner.is_player
    liked = stood.affinity if view.owner.is_player else extraction.affinity(*refs)
    return ValidTowards(
        other_id=other.person_id,
        before=stood.affinity,
        affinity=moved_affinity(stood.affinity, liked, step),
        attitude=extraction.attitude(*refs) if judged else None,
    )


def _self_fact(
    view: _View, claim: SelfClaim, kept: Sequence[ValidClaim[SelfClaim]]
) -> ValidClaim[SelfClaim] | RejectionReason:
    claim = _where_it_was_said(view, claim, view.is_by_owner)
    if not view.is_by_owner(claim.turn):
        return RejectionReason.NOT_SAID_BY_ITSELF
    if any(are_same(written, claim.statement, view.names) for written in view.owner.persona):
        return RejectionReason.KNOWN_ALREADY
    return _judged(view, claim, view.owner.name, view.owner.facts, kept)


def _fact(view: _View, claim: Claim, kept: Sequence[ValidClaim[Claim]]) -> ValidClaim[Claim] | RejectionReason:
    claim = _named_whole(view, claim)
    may_tell = partial(view.may_learn, claim.subject)
    claim = _where_it_was_said(view, claim, may_tell)
    if not may_tell(claim.turn):
        return RejectionReason.NOT_HEARD
    verdict = _judged(view, claim, claim.subject, view.owner.memories, kept)
    return verdict if isinstance(verdict, RejectionReason) else replace(verdict, claim=_in_graph(view, verdict))


def _in_graph(view: _View, kept: ValidClaim[Claim]) -> Claim:
    """The claim as it can stand in a graph: "the dog barked" has no object but the dog. What is no fact by itself says
    nothing there: its words stand with the person whom they and the claim name, else with who spoke them.
    """
    claim = kept.claim
    named = people_in(claim.subject, view.context) & people_in(kept.words, view.context)
    subject = claim.subject if kept.held else min(named, default=view.lines[claim.turn].speaker_name)
    instead = {"subject": subject, "relation": sentence(view.language, "remembered.relation"), "object": subject}
    return claim.model_copy(
        update={name: text for name, text in instead.items() if not kept.held or not squeezed(getattr(claim, name))}
    )


def _named_whole(view: _View, claim: Claim) -> Claim:
    """The claim about one who took part under the name it has: not with a title, 「さん」, or a part of the name."""
    bare = squeezed(_TITLE.sub("", claim.subject.strip()))
    meant = [one for one in view.names if bare in {squeezed(one), *map(squeezed, _NAME_PARTS.split(one))}]
    if not bare or len(meant) != 1:
        return claim
    statement = re.sub(rf"{re.escape(meant[0])}{_HONORIFIC}", meant[0], claim.statement)
    return claim.model_copy(update={"subject": meant[0], "statement": statement})


_HONORIFIC = "(?:さん|ちゃん|くん|君|様|さま|殿)"
_TITLE = re.compile(rf"^(?:mr|mrs|ms|miss|dr|sir|lord|lady|captain)\.? +|{_HONORIFIC}$", re.IGNORECASE)
_NAME_PARTS = re.compile(r"[\s・]+")


def _judged(
    view: _View, claim: ClaimT, subject: str, known: Sequence[KnownFact], kept: Sequence[ValidClaim[ClaimT]]
) -> ValidClaim[ClaimT] | RejectionReason:
    words = view.words(claim.turn, claim.statement)
    if _is_no_claim(claim, words, view.names):
        return RejectionReason.NOT_MEANT
    if _is_settled(view, claim, subject):
        return RejectionReason.CONTRADICTS_AUTHOR
    if any(one.authored and are_same(one.statement, claim.statement, view.names) for one in known):
        return RejectionReason.KNOWN_ALREADY
    if any(are_same(one.statement, claim.statement, view.names) for one in kept):
        return RejectionReason.KNOWN_ALREADY
    mode = _meant(claim, words, view.names)
    way = _way(view, claim, words, mode)
    if len(way.chain) > 1 and mode == "asserted":
        mode = "hearsay"
    happened = not view.lines[claim.turn].tried  # what was said with an act that failed is no fact
    stands = happened and not view.is_put_right(claim.turn)
    is_fact = stands and is_held(claim.statement, words, mode, subject=subject)
    if is_fact:  # who says it of itself
        known = [one for one in known if not _is_namesakes(one, way)]
    shown = words.rendered(view.language, mode, way.hands)
    over = _named(claim, subject, known, view.names)
    return ValidClaim(
        claim=claim,
        words=shown,
        statement=claim.statement if view.carries(claim.turn, claim.statement) >= CARRIED else shown,
        mode=mode,
        held=is_fact,
        chain=way.chain,
        people=people_meant(view.context, way.chain, subject, getattr(claim, "object", "")),
        replaces=tuple(one.ref for one in known if is_fact and (one.ref == over or _ends(one, claim, subject))),
        retells=next((one.ref for one in known if _retells(one, claim, way, view.names)), None),
    )


def _is_namesakes(known: KnownFact, way: _Way) -> bool:
    """Whether it is what another of the same name said of itself."""
    return known.held and bool(known.told_by) and bool(way.chain) and known.told_by != way.chain[-1]


def _retells(known: KnownFact, claim: SelfClaim | Claim, way: _Way, names: frozenset[str]) -> bool:
    """Whether it was known already; who hears it from nearer where it began has a memory of that too."""
    return known.hands <= len(way.chain) and are_same(known.statement, claim.statement, names)


def _way(view: _View, claim: SelfClaim | Claim, words: Words, mode: Mode) -> _Way:
    """Through whose hands a claim came. Who told it may have had it from others."""
    if isinstance(claim, SelfClaim) or view.is_by_owner(claim.turn):
        return _OWN_WORDS
    line = view.lines[claim.turn]
    teller = next(one for one in view.context.participants if one.person_id == line.speaker_id)
    known = [one for one in teller.sources if one.at <= line.at and teller.person_id not in one.chain]
    source = came_from(claim, mode, _sentence(claim, words, view.names), words, known, view.context)
    before, names = (source.chain, source.names) if source else ((), ())
    hands = (*names, teller.name) if source or people_in(claim.subject, view.context) - view.names else ()
    return _Way(chain=(*before, teller.person_id), hands=hands)


def _where_it_was_said(view: _View, claim: ClaimT, may_tell: Callable[[int], bool]) -> ClaimT:
    """The claim with the turn that carries it: the cited one, unless it says nothing of it and another of the same
    speaker does, or it cannot have told it and one that can does: the answer to it, or one that says more of it.
    """
    cited, statement = claim.turn, claim.statement
    is_able, carried = may_tell(cited), view.carries(cited, statement)
    if is_able and carried >= CARRIED:
        return claim
    speaker = view.lines[cited].speaker_id
    others = [turn for turn, line in view.lines.items() if (line.speaker_id == speaker if is_able else may_tell(turn))]
    if not others:
        return claim
    best = max(others, key=lambda turn: (view.carries(turn, statement), -abs(turn - cited), turn))
    found, enough = view.carries(best, statement), ELSEWHERE if is_able or abs(best - cited) > 1 else CARRIED
    is_answer = best == cited + 1 and bool(view.words(best, statement).asked)
    is_meant = found >= enough and (found > carried or is_answer)
    return claim.model_copy(update={"turn": best}) if is_meant else claim


def _is_no_claim(claim: ClaimT, words: Words, names: frozenset[str]) -> bool:
    """Whether it was only asked, supposed or said in jest: the model says so, and a sign of form agrees.

    Either alone errs too often: a truth would be lost for it.
    """
    if claim.mode not in ("asked", "joking", "hypothetical"):
        return False
    return bears(claim.mode, words.said if claim.mode == "joking" else _sentence(claim, words, names))


def _meant(claim: ClaimT, words: Words, names: frozenset[str]) -> Mode:
    """How it was meant: as the model says, or as hearsay or a plan where its sentence has the form of one."""
    if claim.mode != "asserted":
        return claim.mode
    said = _sentence(claim, words, names)
    signs: tuple[Mode, ...] = ("hearsay", "planned")
    return next((sign for sign in signs if bears(sign, said)), "asserted")


def _sentence(claim: ClaimT, words: Words, names: frozenset[str]) -> str:
    """The sentence of the words that holds most of the claim."""
    said = sentences(words.said)
    return said[best_sentence(said, claim.statement, names)]


def _is_settled(view: _View, claim: ClaimT, subject: str) -> bool:
    """Whether it denies what an author wrote about the same person."""
    written = view.authored_about(subject)
    return any(contradict(one, claim.statement, view.names) or is_other_than(claim.statement, one) for one in written)


def _named(claim: ClaimT, subject: str, known: Sequence[KnownFact], names: frozenset[str]) -> str:
    """The ref of what the model says that the claim ends, of the same subject; "": of nothing. What was remembered in
    the same words stands in its prompt once: it is the one that is nearest to the claim.
    """
    named = next((one for one in known if one.ref == claim.replaces), None)
    if named is None:
        return ""
    same = [one for one in known if _is_about(one, subject) and are_shown_alike(one, named)]
    wanted = telling_words(claim.statement, names)
    nearest = max(same, key=lambda one: jaccard(telling_words(one.statement, names), wanted), default=None)
    return nearest.ref if nearest else ""


def _ends(known: KnownFact, claim: ClaimT, subject: str) -> bool:
    """Whether the held claim ends what was known of the same subject, by form."""
    return _is_about(known, subject) and known.held and excludes(claim.statement, known.statement)


def _is_about(known: KnownFact, subject: str) -> bool:
    """Whether it was told of that subject, and not written by an author."""
    return not known.authored and squeezed(known.subject) == squeezed(subject)


def _found(view: _View, found: FoundFact, kept: Sequence[ValidClaim[Claim]]) -> ValidClaim[Claim] | None:
    """The fact as the turn that fits best carries it; None: none does, or the fact has not the form of a claim."""
    texts = {name: getattr(found, name) for name in ("subject", "relation", "object", "statement")}
    turns = [turn for turn in view.lines if view.may_learn(found.subject, turn)]
    if not turns:
        return None
    turn = max(turns, key=lambda one: (view.carries(one, found.statement), one))
    meant = {"mode": "asserted", "importance": DEFAULT_IMPORTANCE, "replaces": "", "turn": turn}
    try:
        claim = _clean(Claim.model_validate({**texts, **meant}))
    except ValueError:
        return None
    if not all(map(squeezed, _texts(claim))) or view.carries(turn, claim.statement) < ELSEWHERE:
        return None
    verdict = _fact(view, claim, kept) if view.knows(claim) else RejectionReason.NOT_PERCEIVED
    return None if isinstance(verdict, RejectionReason) else verdict


def _mid_term(
    view: _View, promised: frozenset[int], draft: MidTermDraft, kept: Sequence[ValidMidTerm]
) -> ValidMidTerm | RejectionReason:
    """Whoever said it: the words stand for themselves. What the turn says nothing of is left out, and so is a turn that
    is a promise: that stands on everybody's mind already.
    """
    words = view.words(draft.turn, draft.content)
    if draft.mode in ("joking", "hypothetical") and bears(draft.mode, words.said):
        return RejectionReason.NOT_MEANT
    if view.carries(draft.turn, draft.content) < CARRIED:
        return RejectionReason.NOT_IN_THE_TURN
    shown = words.rendered(view.language, "hearsay" if draft.mode == "hearsay" else "asserted")
    if draft.turn in promised or any(one.words == shown for one in kept):
        return RejectionReason.KNOWN_ALREADY
    return ValidMidTerm(turn=draft.turn, words=shown, importance=draft.importance)


def _commitment(view: _View, draft: CommitmentDraft, kept: Sequence[ValidPromise]) -> ValidPromise | RejectionReason:
    """Who promises says so itself, or says yes to the question; the words of its turn say what. Both remember it: it
    rests on what both perceived.
    """
    if draft.mode not in ("planned", "asserted"):
        return RejectionReason.NOT_MEANT
    turn = promising_turn(view.lines, draft, view.owner.person_id)
    if turn is None:
        return RejectionReason.NOT_SAID_BY_ITSELF
    other = _promised_to(view, draft.to, turn)
    if other is None or not _View(view.given, other).may_know(draft.what):
        return RejectionReason.NOT_PERCEIVED
    both = view.given.shared(view.owner.person_id, other.person_id)
    promise = judged_promise(both, draft.model_copy(update={"to": other.ref}), turn, view.names, view.language)
    if view.carries(turn, draft.what) < CARRIED and not promise.is_firm:
        return RejectionReason.NOT_HEARD
    known = any(are_same(draft.what, one.what, view.names) and one.due_at == promise.due_at for one in kept)
    return RejectionReason.KNOWN_ALREADY if known else promise


def _promised_to(view: _View, ref: str, turn: int) -> Participant | None:
    """To whom something is promised in the turn: the one that is named, or the one it was with; of more than two only
    who heard it. None: nobody.
    """
    others = {other.ref: other for other, _ in view.context.others_of(view.owner)}
    heard = [one for one in others.values() if turn in view.given.shared(view.owner.person_id, one.person_id)]
    named = [one for one in heard if one.ref == ref] or [one for one in heard if one.person_id == view.partner(turn)]
    return next(iter(named), None)


def _sift(
    view: _View,
    drafts: Iterable[DraftT],
    judge: Callable[[DraftT, Sequence[ValidT]], ValidT | RejectionReason],
) -> tuple[tuple[ValidT, ...], tuple[Rejected, ...]]:
    """Judge each draft, in the order of their turns, with what was kept before it."""
    kept: list[ValidT] = []
    rejected: list[Rejected] = []
    for draft in sorted(map(_clean, drafts), key=lambda one: one.turn):
        verdict = _fault(view, draft) or judge(draft, kept)
        if isinstance(verdict, RejectionReason):
            rejected.append(Rejected(statement=_texts(draft)[0], turn=draft.turn, reason=verdict))
        else:
            kept.append(verdict)
    return tuple(kept), tuple(rejected)


def _fault(view: _View, draft: SelfClaim | Claim | CommitmentDraft | MidTermDraft) -> RejectionReason | None:
    """What is wrong with a draft of any kind."""
    if not all(map(squeezed, _texts(draft)[:2])):  # what somebody does may have no object
        return RejectionReason.EMPTY
    if draft.turn not in view.turns:
        return RejectionReason.NO_SUCH_TURN
    return None if view.knows(draft) else RejectionReason.NOT_PERCEIVED


def _texts(draft: SelfClaim | Claim | CommitmentDraft | MidTermDraft) -> tuple[str, ...]:
    """All that it tells; first what it says."""
    if isinstance(draft, CommitmentDraft):
        return (draft.what,)
    if isinstance(draft, MidTermDraft):
        return (draft.content,)
    if isinstance(draft, Claim):
        return (draft.statement, draft.subject, draft.relation, draft.object)
    return (draft.statement,)


def _clean(draft: DraftT) -> DraftT:
    """Every text on one line: what is stored is shown to models again, line by line."""
    return draft.model_copy(update={name: one_line(value) for name, value in draft if isinstance(value, str)})


def _topics(topics: Sequence[str], view: _View) -> tuple[str, ...]:
    """Each once, whatever its width and case; those of which the owner heard nothing are dropped."""
    found: dict[str, str] = {}
    for topic in topics:
        if squeezed(topic) and occurs(topic, view.everything, frozenset()) and view.may_know(topic):
            found.setdefault(squeezed(topic), one_line(topic))
    return tuple(found.values())
