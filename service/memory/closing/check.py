"""Owns the second step of a closing: what of the answer may be stored, by its structure alone, in any language. Pure.

Whether something is true is no question of this step. Each item is checked by itself: a bad one drops nothing else.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from service.content.profile import Importance, Mood
from service.locales import sentence
from service.memory.closing.ask import ClosingQuestion
from service.memory.closing.context import (
    SEEN,
    AttitudeDraft,
    ClosingAnswer,
    ClosingContext,
    Participant,
    PromiseDraft,
    ShortMemoryDraft,
    SpokenLine,
)
from service.memory.lexical import normal, says_little, tokens
from service.memory.mind import expires_at
from service.memory.record import ANYBODY, Kind, Memory, Mode, Source, Support, derived_memory_id
from service.memory.telling import plain
from service.people.attitude import moved_affinity
from service.people.commitment import BadDue, due_of
from service.people.commitments import PromiseTold
from service.store.event_kinds import RejectionReason
from service.store.shown import Out
from world.time import WorldTime

_NUMBER, _BETWEEN = re.compile(r"\d+"), re.compile("[,;、，；]")
_DATED = 31
"""Up to so much a number may be a day or an hour that the calendar told, and from `_YEARS` a year."""
_YEARS = range(1000, 3000)
_Lasts = tuple[Importance | None, WorldTime | None, WorldTime | None]


class Rejected(Out, frozen=True):
    """Something the model claimed that was not stored, and why."""

    statement: str = Field(description="what was not kept")
    turn: int | None = Field(description="the turn it is said to have been said in, from 0; null: none was named")
    reason: RejectionReason = Field(description="why it was not kept")
    importance: int = Field(default=0, exclude=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedTowards:
    """How a person stands to another one now: `affinity` was `before` when they parted, and moved by a step at most."""

    other_id: str
    before: int
    affinity: int
    attitude: AttitudeDraft | None

    @property
    def moved(self) -> int:
        """How much more it likes the other than before."""
        return self.affinity - self.before


@dataclass(frozen=True, kw_only=True)
class CheckedSide:
    """What one person takes away. `paragraph` are the sentences of its summary, `support` what they rest on."""

    participant: Participant
    paragraph: tuple[str, ...]
    topics: tuple[str, ...]
    towards: tuple[CheckedTowards, ...]
    mood: Mood
    memories: tuple[Memory, ...]
    rejected: tuple[Rejected, ...] = ()
    support: Support = Support.MODEL

    @property
    def summary(self) -> str:
        """The paragraph as one text."""
        return _joined(self.paragraph)

    @property
    def importance(self) -> int:
        """The sum of that of what it takes away; what was kept out counts too: something was there."""
        return sum(one.importance for one in self.memories) + sum(one.importance for one in self.rejected)


@dataclass(frozen=True, kw_only=True)
class CheckedClosing:
    """What may be stored, for each of those who took part, in their order; what was promised; and which turns no prompt
    may ever show word for word.
    """

    sides: tuple[CheckedSide, ...]
    promises: tuple[PromiseTold, ...] = ()
    not_to_quote: frozenset[int] = frozenset()
    rejected: tuple[Rejected, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """What is remembered for long, as it is embedded."""
        told = (text for side in self.sides for text in (side.summary, *(one.text for one in side.memories)))
        return tuple(dict.fromkeys(told))


def check(answer: ClosingAnswer, question: ClosingQuestion, *, affinity_step: int) -> CheckedClosing:
    """What of the answer may be stored. It has an entry for everybody who took part."""
    context = question.context
    hidden = frozenset(answer.not_to_quote) & {line.turn for line in context.lines}
    owners = {one.ref: _Owner(question, one, hidden) for one in context.participants}
    astray: list[Rejected] = []
    for draft in answer.memories:
        refs = {draft.owner} & owners.keys() or set(draft.owner)
        taking = [owner for ref, owner in owners.items() if ref in refs and not owner.who.is_player]
        if not taking or not refs <= owners.keys():
            astray.append(_rejected(draft, RejectionReason.NO_SUCH_REF))
            taking = []
        for owner in taking:
            owner.take(draft)
    promises, no_promises = _promises(answer.promises, question, {one.who.person_id: one for one in owners.values()})
    return CheckedClosing(
        sides=tuple(_side(answer, context, owner, affinity_step) for owner in owners.values()),
        promises=promises,
        not_to_quote=hidden,
        rejected=(*astray, *no_promises),
    )


def _side(answer: ClosingAnswer, context: ClosingContext, owner: "_Owner", step: int) -> CheckedSide:
    who = owner.who
    entry = answer.entry(who.ref)
    towards = []
    for other, stood in context.others_of(who):
        liked = stood.affinity if who.is_player else answer.affinity(who.ref, other.ref)
        is_judged = context.is_judged(stood) and not who.is_player
        towards.append(
            CheckedTowards(
                other_id=other.person_id,
                before=stood.affinity,
                affinity=moved_affinity(stood.affinity, liked, step),
                attitude=answer.attitude(who.ref, other.ref) if is_judged else None,
            )
        )
    topics = {normal(one): plain(one) for one in entry.topics if plain(one) and owner.may_know(one)}
    return CheckedSide(
        participant=who,
        paragraph=owner.paragraph(entry.paragraph) or (context.talked(who),),
        topics=tuple(topics.values()),
        towards=tuple(towards),
        mood=who.mood if who.is_player else entry.mood,
        memories=(*owner.kept, *owner.reached(answer.reached)),
        rejected=tuple(owner.rejected),
    )


class _Owner:
    """One who took part, and what of the drafts it may remember."""

    def __init__(self, question: ClosingQuestion, who: Participant, hidden: frozenset[int]) -> None:
        self.who = who
        self.kept: list[Memory] = []
        self.rejected: list[Rejected] = []
        self._question = question
        self._context = question.context
        self._heard = self._context.shared(who.person_id)
        self._hidden = hidden
        self._written = {normal(fact.text) for fact in who.facts}
        self._told = set[tuple[str, str | None]]()
        self._known = {(normal(one.text), one.told_by): one for one in question.known.get(who.person_id, ())}
        self._names = {one.person_id: one.name for one in self._context.participants}
        told = " ".join((*(line.text for line in self._heard.values()), *self._names.values()))
        kept_back = tokens(" ".join(line.kept_from(who.person_id) for line in self._context.lines))
        self._kept_back = {one for one in kept_back if not says_little(one)} - {*tokens(told)}

    def paragraph(self, lines: Sequence[str]) -> tuple[str, ...]:
        """The sentences that tell nothing that was kept from it."""
        return tuple(line for line in map(self.named, lines) if line and self.may_know(line))

    def take(self, draft: ShortMemoryDraft) -> None:
        """Keep the draft, or say why not. What the same one has told before is known; where it is on the owner's mind
        for some days, these begin anew.
        """
        text = self.named(draft.text)
        fault = self._fault(draft, text)
        if fault is not None:
            self.rejected.append(_rejected(draft, fault))
            return
        one = self._memory(draft, text)
        said = normal(text), one.told_by
        before = self._known.get(said)
        is_known = before is not None and before.kind is not Kind.MID_TERM
        if said in self._told or said[0] in self._written or is_known:
            return
        self._told.add(said)
        self.kept.append(one if before is None else replace(one, replaces=(*one.replaces, before.id)))

    def reached(self, refs: Collection[str]) -> tuple[Memory, ...]:
        """What it comes to think of those of its goals of life that the talk has fulfilled."""
        talk, since = self._question.conversation_id, self._question.known_from[self.who.person_id]
        return tuple(
            Memory(
                id=derived_memory_id(self.who.person_id, talk, number),
                kind=Kind.INSIGHT,
                text=sentence(self._context.language, "remembered.goal_reached", name=self.who.name, goal=one.text),
                about=one.text,
                importance=8,
                support=Support.PERCEIVED,
                source=Source.GOAL,
                conversation_id=talk,
                valid_from=since,
                known_from=since,
            )
            for number, one in enumerate(self.who.goals, len(self.kept))
            if one.ref in refs
        )

    def named(self, text: str) -> str:
        """The text on one line, without marks, with names in the place of ids."""
        told = plain(text)
        for person_id, name in self._names.items():
            if "_" in person_id:
                told = name.join(re.split(rf"(?<![\w-]){re.escape(person_id)}(?![\w-])", told))
        return told

    def _fault(self, draft: ShortMemoryDraft, text: str) -> RejectionReason | None:
        """What is wrong with the draft."""
        lines = {line.turn for line in self._context.lines}
        if not text:
            return RejectionReason.EMPTY
        if not set(draft.turns) <= lines:
            return RejectionReason.NO_SUCH_TURN
        if not set(draft.turns) <= self._heard.keys() or not self.may_know(text):
            return RejectionReason.NOT_PERCEIVED
        return None if self._counts(draft, text) else RejectionReason.OTHER_NUMBER

    def may_know(self, text: str) -> bool:
        """Whether it holds no word that was said only where the owner did not hear it: a whisper stays one, whatever
        turn is cited.
        """
        return self._kept_back.isdisjoint(tokens(text))

    def _counts(self, draft: ShortMemoryDraft, text: str) -> bool:
        """Whether its numbers stand in the turns, where these have digits at all; a date may come of the calendar."""
        said = _numbers(" ".join(self._heard[turn].text for turn in draft.turns))
        replaced = self._replaced(draft)
        known = said | (_numbers(replaced.text) if replaced else set())
        return not said or all(n in known or n <= _DATED or n in _YEARS for n in _numbers(text))

    def _replaced(self, draft: ShortMemoryDraft) -> Memory | None:
        """The memory it is meant to end; a ref that stands for none of the owner's own is dropped, not the draft."""
        mine = re.search(rf"\b{self.who.ref}m\d+", draft.replaces)
        return self._question.memories.get(mine[0]) if mine else None

    def _memory(self, draft: ShortMemoryDraft, text: str) -> Memory:
        turns = tuple(sorted(set(draft.turns)))
        lines = [self._heard[turn] for turn in turns]
        subject_id = self._person(draft.about)  # None: nobody of this world, or one of several who bear the name
        about = self._names.get(subject_id or "") or plain(draft.about)
        deeds = self._deeds(turns)
        seen = len(deeds) == len(turns) and not any(line.text for line in deeds)
        is_deed = seen or (len(deeds) == len(turns) and draft.teller == SEEN)
        told_by = None if is_deed else self._teller(draft, lines, subject_id)
        known_from = self._question.known_from[self.who.person_id]
        kind = Kind.SELF if told_by == self.who.person_id else Kind.FACT
        if draft.lasts != "long" or is_deed:
            kind = Kind.MID_TERM if draft.lasts != "long" else Kind.OBSERVED
        heard_from = plain(getattr(draft, "heard_from", "")) if told_by else ""
        came_from = self._person(heard_from) or heard_from
        replaced = self._replaced(draft)
        kept_from = self._kept_from(draft)
        said_at = max(line.at for line in lines)
        level, valid_to, over = self._lasts(draft, said_at, known_from)
        return Memory(
            id=derived_memory_id(self.who.person_id, self._question.conversation_id, len(self.kept)),
            kind=kind,
            text=text,
            about=about,
            subject_id=subject_id,
            told_by=told_by,
            via=() if came_from in ("", told_by, self.who.person_id) else (came_from,),
            mode=draft.mode,
            quote=self._quote(getattr(draft, "quote", ""), turns),
            importance=draft.importance,
            slot=plain(getattr(draft, "slot", "")),
            support=Support.PERCEIVED if seen else Support.MODEL,
            conversation_id=self._question.conversation_id,
            turns=turns,
            # Its own, whoever heard it, but for what it confided to one.
            partner_id="" if kind is Kind.SELF and not kept_from else self._partner(turns[0]),
            kept_from=kept_from,
            valid_from=said_at,
            valid_to=valid_to,
            known_from=known_from,
            level=level,
            expires_at=over,
            replaces=() if replaced is None else (replaced.id,),
        )

    def _lasts(self, draft: ShortMemoryDraft, said_at: WorldTime, since: WorldTime) -> _Lasts:
        """How much it matters these days, until when it is true, and when it is over, as what has no end of its own. A
        plan ends with no day: it is asked how it went, so it outlives its day too.
        """
        is_plan = draft.mode is Mode.PLANNED
        try:
            due = due_of("" if is_plan else getattr(draft, "until", "").strip(), "", said_at)
        except BadDue:  # no date, or one that is past: none is known
            due = None
        until = due.at if due else None
        if draft.lasts == "long":
            return None, until, None
        level: Importance = "medium" if is_plan and draft.lasts == "low" else draft.lasts
        over = expires_at(level, since, day_starts=self._question.day_starts)
        return level, None, min(over, until or over)

    def _kept_from(self, draft: ShortMemoryDraft) -> tuple[str, ...]:
        """The ids of those whom it must not reach: anybody, where no name that is known stands there."""
        named = [one.strip() for one in _BETWEEN.split(getattr(draft, "between", "")) if one.strip()]
        ids = {self._person(one) for one in named} - {None, self.who.person_id}
        return tuple(sorted(filter(None, ids))) or (ANYBODY,) * bool(named)

    def _deeds(self, turns: Sequence[int]) -> list[SpokenLine]:
        """The lines in which somebody did something before its eyes; a player's act is what a human says."""
        me, players = self.who.person_id, {one.person_id for one in self._context.participants if one.is_player}
        acted = (one for one in self._context.lines if one.turn in turns and one.act and one.speaker_id not in players)
        return [one for one in acted if one.seen_by is None or me in one.seen_by]

    def _teller(self, draft: ShortMemoryDraft, lines: Sequence[SpokenLine], subject_id: str | None) -> str | None:
        """Who told it: whom the model names, where that one speaks a cited turn; else by who speaks those. One speaker:
        that one; several, and a plan or about the owner: nobody; one who is not the owner: that one; else nobody.
        """
        speakers = {line.speaker_id for line in lines}
        named = next((one.person_id for one in self._context.participants if one.ref == draft.teller), None)
        if named in speakers:
            return named
        if len(speakers) == 1:
            return speakers.pop()
        if draft.mode is Mode.PLANNED or subject_id == self.who.person_id:
            return None
        others = speakers - {self.who.person_id}
        return others.pop() if len(others) == 1 else None

    def _person(self, named: str) -> str | None:
        there = next((one.person_id for one in self._context.participants if one.ref == named), None)
        bearers = self._context.bearers.get(normal(named), frozenset())
        return there or (next(iter(bearers)) if len(bearers) == 1 else None)

    def _quote(self, quote: str, turns: Sequence[int]) -> str:
        """A quote stands only where its turns hold it word for word, and may be shown so."""
        said = normal(" ".join(self._heard[turn].text for turn in turns))
        is_said = normal(quote) in said and not self._hidden.intersection(turns)
        return plain(quote) if is_said else ""

    def _partner(self, turn: int) -> str:
        """With whom it had to do in a turn, by id: who spoke it; of its own, who answered, or the first who heard it.
        "": nobody did.
        """
        line = self._heard[turn]
        if line.speaker_id != self.who.person_id:
            return line.speaker_id
        heard = [
            other.person_id
            for other, _ in self._context.others_of(self.who)
            if line.heard_by is None or other.person_id in line.heard_by
        ]
        after = self._heard.get(turn + 1)
        return after.speaker_id if after and after.speaker_id in heard else next(iter(heard), "")


def _promises(
    drafts: Sequence[PromiseDraft], question: ClosingQuestion, owners: Mapping[str, _Owner]
) -> tuple[tuple[PromiseTold, ...], tuple[Rejected, ...]]:
    """Each promise by itself: both perceived its turn, a date is one that lies ahead, an open one is open."""
    kept: list[PromiseTold] = []
    rejected: list[Rejected] = []
    ids = {one.ref: one.person_id for one in question.context.participants}
    lines = {line.turn: line for line in question.context.lines}
    for draft in drafts:
        verdict = _promise(draft, question, ids, lines)
        if isinstance(verdict, PromiseTold) and not all(
            owners[one].may_know(draft.what) for one in (verdict.by_id, verdict.to_id) if one in owners
        ):
            verdict = RejectionReason.NOT_PERCEIVED
        if isinstance(verdict, PromiseTold):
            if verdict not in kept:
                kept.append(verdict)
        else:
            rejected.append(Rejected(statement=plain(draft.what), turn=draft.turn, reason=verdict))
    return tuple(kept), tuple(rejected)


def _promise(
    draft: PromiseDraft, question: ClosingQuestion, ids: Mapping[str, str], lines: Mapping[int, SpokenLine]
) -> PromiseTold | RejectionReason:
    known = question.promises.get(draft.ref)
    if draft.status != "made" and known is None:
        return RejectionReason.NO_SUCH_REF
    by_id, to_id = (known.by_id, known.to_id) if known else (ids.get(draft.by, ""), ids.get(draft.to, ""))
    if not by_id or not to_id or by_id == to_id:
        return RejectionReason.NO_SUCH_REF
    if draft.turn not in lines:
        return RejectionReason.NO_SUCH_TURN
    if draft.turn not in question.context.shared(by_id, to_id):
        return RejectionReason.NOT_PERCEIVED
    what = plain(draft.what) or (known.what if known else "")
    if not what:
        return RejectionReason.EMPTY
    is_ahead = draft.status in ("made", "moved")  # of one that is over the day it had may be said again
    try:
        due = due_of(draft.day.strip(), draft.time.strip(), lines[draft.turn].at) if is_ahead else None
    except BadDue:
        return RejectionReason.NO_SUCH_DATE
    return PromiseTold(
        by_id=by_id,
        to_id=to_id,
        what=what,
        turn=draft.turn,
        status=draft.status,
        place=plain(draft.place),
        due=due,
        commitment_id=known.id if known else None,
    )


def _joined(sentences: Sequence[str]) -> str:
    """Sentences as one text: with a space between them where a script has any."""
    text = ""
    for one in sentences:
        wide = unicodedata.east_asian_width(text[-1]) in "WF" if text else True
        text += one if wide else f" {one}"
    return text


def _numbers(text: str) -> set[int]:
    """The numbers that stand in digits of any script."""
    return {int(found) for found in _NUMBER.findall(unicodedata.normalize("NFKC", text))}


def _rejected(draft: ShortMemoryDraft, reason: RejectionReason) -> Rejected:
    turn = next(iter(draft.turns), None)
    return Rejected(statement=plain(draft.text), turn=turn, reason=reason, importance=draft.importance)
