"""Owns giving a person a past: lines become memories, each once, in one transaction and without a model.

A statement becomes a fact that is held, since its author says so. A turn stands in a talk that the person remembers,
and is found as a turn of any talk is. Nothing is written where any line is wrong.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Mapped
from sqlmodel import Session, SQLModel, col, select

from service.errors import LinesWrong, WrongLine
from service.locales import Phrase
from service.memory.authoring import Author, audit
from service.memory.memory_store import MemoryStore
from service.memory.seed_lines import Given, Line, Statement, Summary, Thought, Turn
from service.memory.record import Episode, Fact, Group, Kind, turn_key
from service.people.worlds import WorldView
from service.store.ids import derived_id
from service.store.tables import InsightRow, PastTurnRow, SeedRow
from world.errors import BadWorldTime
from world.time import WorldTime, iso, parse_time

_AT_ONCE = 500
"""Keys that one query asks for."""


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """How many lines became memories, by what they became, and how many had been given before."""

    statements: int
    turns: int
    summaries: int
    insights: int
    known: int


def seed(
    session: Session,
    world: WorldView,
    memory: MemoryStore,
    person_id: str,
    lines: Sequence[Given | WrongLine],
    author: Author,
) -> Seeded:
    """Write what the lines say into the person's memory; the caller commits. A line that was given before is known.

    Raises:
        NotFound: there is no such person.
        LinesWrong: some lines cannot be taken; all of them are named, and nothing is written.
    """
    world.cast.person(person_id)
    group = Group(world_id=world.id, person_id=person_id)
    given = [one for one in lines if isinstance(one, Given)]
    past = _Past(world, group, given, _given_before(session, group, given))
    for row in _of_talks(session, group, {one.line.conversation for one in given if one.line.conversation}):
        past.note(row)
    for one in lines:
        past.take(one)
    if past.wrong:
        raise LinesWrong(past.wrong)
    done = Seeded(
        statements=len(past.facts),
        turns=len(past.turns),
        summaries=len(past.episodes),
        insights=len(past.insights),
        known=past.known,
    )
    if past.seeds:
        revision = memory.add(session, group, past.facts, past.episodes)
        _insert(session, PastTurnRow, [{**row, "revision": revision} for row in past.turns])
        _insert(session, InsightRow, [{**row, "revision": revision} for row in past.insights])
        _insert(session, SeedRow, past.seeds)
        audit(session, world, person_id, author, "seeded", after=asdict(done))
    return done


def past_conversation(person_id: str, conversation: str) -> str:
    """The id of a talk of a given past: that of no talk that was held here, whatever the caller calls it."""
    return derived_id(person_id, "past", conversation)


class _Wrong(Exception):
    """A line cannot be taken."""

    def __init__(self, name: str, reason: Phrase) -> None:
        self.name, self.reason = name, reason
        super().__init__(name, str(reason))


class _Past:
    """What becomes of lines, before anything is written."""

    def __init__(
        self, world: WorldView, group: Group, lines: Iterable[Given], before: dict[tuple[Kind, str], str]
    ) -> None:
        """`before`: the fingerprints of what was given, by kind and the caller's id."""
        self.facts: list[Fact] = []
        self.episodes: list[Episode] = []
        self.turns: list[dict[str, Any]] = []
        self.insights: list[dict[str, Any]] = []
        self.seeds: list[dict[str, Any]] = []
        self.wrong: list[WrongLine] = []
        self.known = 0
        self._world = world
        self._group = group
        self._before = before
        cast = world.cast.everybody
        self._names = {person.id: person.name for person in cast.values()}
        self._ids = {one.name: one.id for one in cast.values() if one.id not in world.cast.namesakes}
        self._places: defaultdict[str, set[int]] = defaultdict(set)
        self._next: defaultdict[str, int] = defaultdict(int)
        self._told: set[str] = set()
        self._partners: dict[str, str] = {}
        for line in (one.line for one in lines):
            speaker = self._person(line.speaker) if isinstance(line, Turn) else ""
            if isinstance(line, Turn) and speaker not in ("", group.person_id):
                self._partners.setdefault(line.conversation, speaker)

    def note(self, given: SeedRow) -> None:
        """A line of a talk that was given before: its place is taken, also where it was deleted."""
        if given.kind == Kind.TURN:
            self._occupy(given.conversation, int(given.memory_id.rpartition("/")[2]))
        elif given.kind == Kind.SUMMARY:
            self._told.add(given.conversation)

    def take(self, one: Given | WrongLine) -> None:
        """Plan what the line becomes."""
        if isinstance(one, WrongLine):
            self.wrong.append(one)
            return
        key, fingerprint = (one.kind, one.line.id), one.fingerprint
        if self._before.get(key) == fingerprint:
            self.known += 1
            return
        try:
            if key in self._before:
                raise _Wrong("id", Phrase("answers.lines.other_content", id=one.line.id))
            memory_id, partner_id = self._become(one.line)
        except _Wrong as exc:
            self.wrong.append(WrongLine(where=f"{one.where}.{exc.name}", reason=exc.reason))
            return
        self._before[key] = fingerprint
        self.seeds.append(
            {
                **self._group.whose,
                "kind": one.kind.value,
                "id": one.line.id,
                "conversation": one.line.conversation or "",
                "memory_id": memory_id,
                "partner_id": partner_id,
                "fingerprint": fingerprint,
            }
        )

    def _become(self, line: Line) -> tuple[str, str]:
        """Answers the memory's id, and whom it is of."""
        if isinstance(line, Statement):
            self.facts.append(fact := self._fact(line))
            return fact.id, fact.partner_id
        if isinstance(line, Turn):
            self.turns.append(row := self._turn(line))
            return turn_key(row["conversation_id"], row["turn"]), row["partner_id"]
        if isinstance(line, Thought):
            self.insights.append(thought := self._insight(line))
            return thought["id"], ""
        self.episodes.append(episode := self._episode(line))
        return episode.conversation_id, episode.partner_id

    def _fact(self, line: Statement) -> Fact:
        known = self._world.started_at if line.at is None else self._past_time("at", line.at)
        valid_at = known if line.valid_from is None else _time("valid_from", line.valid_from)
        ends = None if line.valid_to is None else _time("valid_to", line.valid_to)
        learned = None if line.ended_at is None else self._past_time("ended_at", line.ended_at)
        if ends is not None and ends < valid_at:
            raise _Wrong("valid_to", Phrase("answers.lines.ends_before", begins=iso(valid_at)))
        if learned is None and ends is not None and ends <= self._world.now:
            learned = max(ends, known)
        subject = line.subject or line.about or self._group.person_id
        return Fact(
            id=derived_id(self._group.person_id, "seed", line.id),
            subject=self._name(subject),
            relation=line.relation or self._world.say("remembered.relation"),
            object=self._name(line.object or subject),
            statement=line.statement,
            valid_at=valid_at,
            invalid_at=ends,
            created_at=known,
            expired_at=learned,
            replaced_by=None,
            partner_id=self._partner(line.partner),
            conversation_id=self._talk(line.conversation),
            turn=None if line.conversation is None else line.turn,
            words=line.words or line.statement,
            held=line.stated,
            mode=line.mode,
            importance=line.importance,
            tellings=line.tellings,
            chain=tuple(line.chain),
            people=tuple(filter(None, map(self._person, dict.fromkeys((subject, line.object or subject))))),
        )

    def _turn(self, line: Turn) -> dict[str, Any]:
        at = self._past_time("at", line.at)
        number = self._next[line.conversation] if line.turn is None else line.turn
        if number in self._places[line.conversation]:
            raise _Wrong("turn", Phrase("answers.lines.turn_taken", turn=number, conversation=line.conversation))
        self._occupy(line.conversation, number)
        return {
            **self._group.whose,
            "conversation_id": self._talk(line.conversation),
            "turn": number,
            "speaker_id": self._person(line.speaker),
            "speaker_name": self._name(line.speaker),
            "text": line.text,
            "partner_id": self._partner(line.partner) or self._partners.get(line.conversation, ""),
            "at": at,
        }

    def _insight(self, line: Thought) -> dict[str, Any]:
        return {
            **self._group.whose,
            "id": derived_id(self._group.person_id, "insight", line.id),
            "text": line.insight,
            "evidence": list(line.evidence),
            "partner_ids": [],
            "importance": line.importance,
            "at": self._past_time("at", line.at),
        }

    def _episode(self, line: Summary) -> Episode:
        at = self._past_time("at", line.at)
        if line.conversation in self._told:
            raise _Wrong("conversation", Phrase("answers.lines.second_summary", conversation=line.conversation))
        self._told.add(line.conversation)
        return Episode(
            conversation_id=self._talk(line.conversation),
            partner_id=self._partner(line.partner) or self._partners.get(line.conversation, ""),
            summary=line.summary,
            topics=tuple(line.topics),
            at=at,
        )

    def _occupy(self, conversation: str, number: int) -> None:
        self._places[conversation].add(number)
        self._next[conversation] = max(self._next[conversation], number + 1)

    def _talk(self, conversation: str | None) -> str:
        return "" if conversation is None else past_conversation(self._group.person_id, conversation)

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
        raise _Wrong(name, Phrase("common.no_world_time", text=exc.text)) from exc


def _given_before(session: Session, group: Group, lines: Iterable[Given]) -> dict[tuple[Kind, str], str]:
    ids = {one.line.id for one in lines}
    return {(Kind(row.kind), row.id): row.fingerprint for row in _seeds(session, group, col(SeedRow.id), ids)}


def _of_talks(session: Session, group: Group, conversations: Collection[str]) -> Iterable[SeedRow]:
    """What was given of these talks, by the caller's ids."""
    return _seeds(session, group, col(SeedRow.conversation), conversations)


def _seeds(session: Session, group: Group, column: Mapped[str], values: Collection[str]) -> Iterator[SeedRow]:
    mine = group.owns(SeedRow)
    asked = list(values)
    for start in range(0, len(asked), _AT_ONCE):
        yield from session.exec(select(SeedRow).where(*mine, column.in_(asked[start : start + _AT_ONCE])))


def _insert(session: Session, table: type[SQLModel], rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        session.execute(insert(SQLModel.metadata.tables[str(table.__tablename__)]), rows)
