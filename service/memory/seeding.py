"""Owns giving a person a past: lines become memories, each once, in one transaction and without a model.

A statement stands by itself, since its author says so, but where the line says who told it. A turn stands in a talk
that the person remembers, and is found as a turn of any talk is. Nothing is written where any line is wrong.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlmodel import Session, col

from service.content.profile import Importance, importance_word
from service.errors import LinesWrong, WrongLine
from service.locales import Phrase
from service.memory.authoring import Author, audit, given_before, memory_id
from service.memory.memory_store import MemoryStore
from service.memory.mind import expires_at
from service.memory.record import (
    VIEWS,
    Episode,
    Group,
    HeardTurn,
    Item,
    Kind,
    Memory,
    Source,
    Support,
    row_of,
    turn_key,
)
from service.memory.seed_lines import GivenLine, Statement, Summary, Turn
from service.memory.telling import MemoryKind, ref, ref_of
from service.people.worlds import WorldView
from service.store.ids import derived_id
from service.store.tables import MemoryRow
from world.errors import BadWorldTime
from world.time import WorldTime, iso, parse_time


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """How many lines became memories, by what they became, and how many had been given before."""

    statements: int
    """how many statements became memories"""
    turns: int
    """how many turns of talks became memories"""
    summaries: int
    """how many summaries of talks became memories"""
    insights: int
    """how many insights became memories"""
    known: int
    """how many lines had been given before, and changed nothing"""


def seed(
    session: Session,
    world: WorldView,
    memory: MemoryStore,
    person_id: str,
    lines: Sequence[GivenLine | WrongLine],
    author: Author,
) -> Seeded:
    """Write what the lines say into the person's memory; the caller commits. A line that was given before is known.

    Raises:
        NotFound: there is no such person.
        LinesWrong: some lines cannot be taken; all of them are named, and nothing is written.
    """
    world.cast.person(person_id)
    group = Group(world_id=world.id, person_id=person_id)
    given = [one for one in lines if isinstance(one, GivenLine)]
    past = _Past(world, group, given)
    named = {key.partition(":")[2] for one in given if isinstance(one.line, Statement) for key in one.line.evidence}
    for row in given_before(session, group, col(MemoryRow.given_id), {one.line.id for one in given} | named):
        past.know(row)
    for row in given_before(
        session, group, col(MemoryRow.given_in), {one.line.conversation or "" for one in given} | named
    ):
        past.note(row)
    for one in lines:
        past.take(one)
    if past.wrong:
        raise LinesWrong(past.wrong)
    count = Counter(row.kind for row in past.rows)
    done = Seeded(
        statements=len(past.rows) - count[Kind.TURN] - count[Kind.SUMMARY] - count[Kind.INSIGHT],
        turns=count[Kind.TURN],
        summaries=count[Kind.SUMMARY],
        insights=count[Kind.INSIGHT],
        known=past.known,
    )
    if past.rows:
        memory.add(session, group, past.rows)
        audit(session, world, person_id, author, "seeded", after=asdict(done))
    return done


class _Wrong(Exception):
    """A line cannot be taken."""

    def __init__(self, name: str, reason: Phrase) -> None:
        self.name, self.reason = name, reason
        super().__init__(name, str(reason))


class _Past:
    """What becomes of lines, before anything is written."""

    def __init__(self, world: WorldView, group: Group, lines: Sequence[GivenLine]) -> None:
        self.rows: list[MemoryRow] = []
        self.wrong: list[WrongLine] = []
        self.known = 0
        self._world = world
        self._group = group
        self._before: dict[tuple[Kind, str], str] = {}
        cast = world.cast.everybody
        self._names = {person.id: person.name for person in cast.values()}
        self._ids = {one.name: one.id for one in cast.values() if one.id not in world.cast.namesakes}
        self._places: defaultdict[str, set[int]] = defaultdict(set)
        self._next: defaultdict[str, int] = defaultdict(int)
        self._told: set[str] = set()
        self._partners: dict[str, str] = {}
        self._facts = {one.line.id for one in lines if isinstance(one.line, Statement)}
        self._talks = {one.line.conversation for one in lines if one.line.conversation}
        for line in (one.line for one in lines):
            speaker = self._person(line.speaker) if isinstance(line, Turn) else ""
            if isinstance(line, Turn) and speaker not in ("", group.person_id):
                self._partners.setdefault(line.conversation, speaker)

    def know(self, row: MemoryRow) -> None:
        """A line that was given before, also where what became of it was deleted."""
        self._before[_sort_of(row.kind), row.given_id] = row.fingerprint

    def note(self, row: MemoryRow) -> None:
        """A line of a talk that was given before: its place is taken, also where it was deleted."""
        self._talks.add(row.given_in)
        if row.kind == Kind.TURN:
            self._occupy(row.given_in, row.turns[0])
        elif row.kind == Kind.SUMMARY:
            self._told.add(row.given_in)

    def take(self, one: GivenLine | WrongLine) -> None:
        """Plan what the line becomes."""
        if isinstance(one, WrongLine):
            self.wrong.append(one)
            return
        key, fingerprint = (_sort_of(one.kind), one.line.id), one.fingerprint
        if self._before.get(key) == fingerprint:
            self.known += 1
            return
        try:
            if key in self._before:
                raise _Wrong("id", Phrase("answers.lines.other_content", id=one.line.id))
            if isinstance(one.line, Statement):
                row = row_of(self._group, self._memory(one.line), 0)
            else:
                row = self._turn(one.line) if isinstance(one.line, Turn) else self._summary(one.line)
        except _Wrong as exc:
            self.wrong.append(WrongLine(where=f"{one.where}.{exc.name}", reason=exc.reason))
            return
        self._before[key] = fingerprint
        row.given_id, row.given_in, row.fingerprint = one.line.id, one.line.conversation or "", fingerprint
        self.rows.append(row)

    def _memory(self, line: Statement) -> Memory:
        known = self._world.started_at if line.at is None else self._past_time("at", line.at)
        valid_from = known if line.valid_from is None else _time("valid_from", line.valid_from)
        ends = None if line.valid_to is None else _time("valid_to", line.valid_to)
        learned = None if line.ended_at is None else self._past_time("ended_at", line.ended_at)
        if ends is not None and ends < valid_from:
            raise _Wrong("valid_to", Phrase("answers.lines.ends_before", begins=iso(valid_from)))
        if learned is None and ends is not None and ends <= self._world.now:
            learned = max(ends, known)
        told_by = self._partner(line.told_by) or None  # None: nobody, its author says so
        if told_by is None and line.kind is Kind.SELF and line.support is None:  # what it told of itself, it has told
            told_by = self._group.person_id
        level, over = self._lasts(line, known)
        return Memory(
            id=derived_id(self._group.person_id, "seed", line.id),
            kind=line.kind,
            text=line.statement,
            about=self._name(line.about or ""),
            subject_id=self._person(line.about or "") or None,
            told_by=told_by,
            via=tuple(map(self._partner, line.via)),
            kept_from=tuple(line.kept_from),
            mode=line.mode,
            quote=line.quote,
            slot=line.slot,
            importance=line.importance,
            support=line.support or (Support.AUTHOR if told_by is None else Support.MODEL),
            source=Source.SEED,
            evidence=tuple(map(self._evidence, line.evidence)),
            partner_id=self._partner(line.partner) or told_by or "",
            conversation_id=self._talk(line.conversation),
            turns=tuple(line.turns) if line.conversation is not None else (),
            valid_from=valid_from,
            valid_to=ends,
            known_from=known,
            known_until=learned,
            level=level,
            expires_at=over,
        )

    def _lasts(self, line: Statement, known: WorldTime) -> tuple[Importance | None, WorldTime | None]:
        """How much a mid-term memory matters, and when it is over; None: the line is no such memory."""
        if line.kind is Kind.MID_TERM:
            level = line.level or importance_word(line.importance)
            if line.expires_at is not None:
                return level, _time("expires_at", line.expires_at)
            return level, expires_at(level, known, day_starts=self._world.settings.day_starts_minutes)
        for name in ("level", "expires_at"):
            if getattr(line, name) is not None:
                raise _Wrong(name, Phrase("answers.invalid_fields.not_of_kind", kind=line.kind))
        return None, None

    def _evidence(self, named: str) -> str:
        """The reference as it is here: a caller names lines, and talks that it gives, by its own ids."""
        kind, _, key = named.partition(":")
        if kind == MemoryKind.TALK and key in self._talks:
            return ref(MemoryKind.TALK, self._talk(key))
        if kind == MemoryKind.MEMORY and (key in self._facts or (Kind.FACT, key) in self._before):
            return ref(MemoryKind.MEMORY, derived_id(self._group.person_id, "seed", key))
        return named

    def _turn(self, line: Turn) -> MemoryRow:
        at = self._past_time("at", line.at)
        number = self._next[line.conversation] if line.turn is None else line.turn
        if number in self._places[line.conversation]:
            raise _Wrong("turn", Phrase("answers.lines.turn_taken", turn=number, conversation=line.conversation))
        self._occupy(line.conversation, number)
        speaker: dict[str, Any] = {"about": self._name(line.speaker), "told_by": self._person(line.speaker) or None}
        key = turn_key(self._talk(line.conversation), number)
        return self._view(line, Kind.TURN, key, line.text, at, turns=[number], **speaker)

    def _summary(self, line: Summary) -> MemoryRow:
        at = self._past_time("at", line.at)
        if line.conversation in self._told:
            raise _Wrong("conversation", Phrase("answers.lines.second_summary", conversation=line.conversation))
        self._told.add(line.conversation)
        return self._view(line, Kind.SUMMARY, self._talk(line.conversation), line.summary, at, topics=line.topics)

    def _view(self, line: Turn | Summary, kind: Kind, key: str, text: str, at: WorldTime, **more: Any) -> MemoryRow:
        return MemoryRow(
            **more,
            **self._group.whose,
            id=key,
            kind=kind,
            text=text,
            support=Support.AUTHOR,
            source=Source.SEED,
            conversation_id=self._talk(line.conversation),
            partner_id=self._partner(line.partner) or self._partners.get(line.conversation, ""),
            valid_from=at,
            known_from=at,
            revision=0,
        )

    def _occupy(self, conversation: str, number: int) -> None:
        self._places[conversation].add(number)
        self._next[conversation] = max(self._next[conversation], number + 1)

    def _talk(self, conversation: str | None) -> str:
        """The id of a talk of the past: that of no talk that was held here, whatever the caller calls it."""
        return "" if conversation is None else derived_id(self._group.person_id, "past", conversation)

    def _past_time(self, name: str, text: str) -> WorldTime:
        at = _time(name, text)
        if at > self._world.now:
            now = iso(self._world.now)
            raise _Wrong(name, Phrase("answers.invalid_fields.not_past", text=text, now=now))
        return at

    def _person(self, named: str) -> str:
        """The id of a person of this world; "" where it is none, or a name that several bear."""
        return named if named in self._names else self._ids.get(named, "")

    def _partner(self, named: str | None) -> str:
        return "" if named is None else self._person(named) or named

    def _name(self, named: str) -> str:
        return self._names.get(named, named)


def _time(name: str, text: str) -> WorldTime:
    try:
        return parse_time(text)
    except BadWorldTime as exc:
        raise _Wrong(name, Phrase("common.no_world_time", text=exc.facts[0])) from exc


def _sort_of(kind: str) -> Kind:
    """Within which the caller's ids are its own: all that a statement may become is one sort."""
    return Kind(kind) if kind in VIEWS else Kind.FACT


def past_lines(items: Iterable[Item], given: Mapping[str, MemoryRow]) -> Iterator[dict[str, Any]]:
    """A line for each, oldest first, what was drawn from others behind those, a talk's turns in their order. `given`:
    the lines some came of, by `memory_id`: those keep the caller's ids, the others are called as they are here.
    """
    items = sorted(
        items, key=lambda one: (isinstance(one, Memory) and bool(one.evidence), one.known_from, memory_id(one))
    )
    talks = {item.conversation_id: row.given_in for item in items if (row := given.get(memory_id(item)))}
    ids = {ref_of(one): given[name].given_id if (name := memory_id(one)) in given else name for one in items}
    for item in items:
        line = {
            "id": ids[ref_of(item)],
            "conversation": talks.get(item.conversation_id) or item.conversation_id,
            "partner": item.partner_id,
            **(_remembered(item, ids, talks) if isinstance(item, Memory) else _heard(item)),
        }
        yield {key: value for key, value in line.items() if value not in (None, "", [])}


def _heard(item: HeardTurn | Episode) -> dict[str, Any]:
    if isinstance(item, Episode):
        return {"summary": item.text, "topics": list(item.topics), "at": iso(item.at)}
    return {
        "speaker": item.speaker_id or item.speaker_name,
        "text": item.text,
        "turn": item.turn,
        "at": iso(item.known_from),
    }


def _remembered(one: Memory, ids: Mapping[str, str], talks: Mapping[str, str]) -> dict[str, Any]:
    return {
        "statement": one.text,
        "kind": one.kind,
        "at": iso(one.known_from),
        "valid_from": iso(one.valid_from),
        "valid_to": None if one.valid_to is None else iso(one.valid_to),
        "ended_at": None if one.known_until is None else iso(one.known_until),
        "importance": one.importance,
        "support": one.support,
        "evidence": [_evidence(named, ids, talks) for named in one.evidence],
        "about": one.subject_id or one.about,
        "told_by": one.told_by,
        "via": list(one.via),
        "mode": one.mode,
        "kept_from": list(one.kept_from),
        "quote": one.quote,
        "slot": one.slot.rpartition("/")[2],
        "turns": list(one.turns),
        "level": one.level,
        "expires_at": None if one.expires_at is None else iso(one.expires_at),
    }


def _evidence(named: str, ids: Mapping[str, str], talks: Mapping[str, str]) -> str:
    """The reference as the lines call it."""
    kind, _, key = named.partition(":")
    if kind == MemoryKind.TALK:
        return ref(MemoryKind.TALK, talks.get(key) or key)
    return ref(MemoryKind.MEMORY, ids[named]) if kind == MemoryKind.MEMORY and named in ids else named
