"""Owns an author's hand on single memories: one is edited, closed or deleted, and it is written down who did it and
why.

Only what the person remembers is changed. The record of a conversation that was held here keeps what was said in it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from sqlmodel import Session, col, select

from service.errors import Invalid, NotFound
from service.locales import Phrase
from service.memory.index import key_of
from service.memory.lexical import is_named
from service.memory.memory_store import MemoryStore
from service.memory.revision import next_epoch, state_of
from service.memory.record import Episode, Fact, Group, HeardTurn, Insight, Item, Kind
from service.people.worlds import WorldRepository, WorldView
from service.store.ids import new_id
from service.store.session import Database
from service.store.tables import CorrectionRow, InsightRow, MemoryAuditRow, PastTurnRow, SeedRow, SummaryRow
from world.time import WorldTime, iso

Action = Literal["seeded", "edited", "closed", "deleted"]


@dataclass(frozen=True, kw_only=True)
class Author:
    """Who changes a memory, as the caller names it, and why; "" where it does not say."""

    name: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Change:
    """What an author makes of a memory; None: that stays as it was.

    `text` is what it says: the statement of a fact, which is then held and needs no words; what was said in a turn; a
    summary. `ends`: the fact is true until before `valid_to` (None: it holds again).
    """

    text: str | None = None
    importance: int | None = None
    ends: bool = False
    valid_to: WorldTime | None = None

    @property
    def action(self) -> Action:
        """What it is called in the audit."""
        return "closed" if self.ends and self.valid_to is not None else "edited"


class _Moved(Exception):
    """The memory was written into since it was read."""


def memory_id(item: Item) -> str:
    """What an item is called towards clients: its kind and its id, ``turn.<conversation>.0003``."""
    kind, key = key_of(item)
    return f"{kind.value}.{key.replace('/', '.')}"


def find(items: Iterable[Item], wanted: str) -> Item:
    """The item that is called so.

    Raises:
        NotFound.
    """
    for item in items:
        if memory_id(item) == wanted:
            return item
    raise NotFound(kind="memory", id=wanted)


async def change_memory(
    database: Database,
    worlds: WorldRepository,
    memory: MemoryStore,
    group: Group,
    wanted: str,
    change: Change | None,
    author: Author,
) -> Item | None:
    """Change one memory of a person, or delete it (`change` None); answers what it is then.

    A turn and the facts that were taken from it say the same: with a turn its facts are deleted, and with a fact the
    turn it was heard in.

    Raises:
        NotFound: there is no such memory.
        Invalid: it cannot be changed so.
        GraphUnavailable.
    """
    while True:
        try:
            return await _change_once(database, worlds, memory, group, wanted, change, author)
        except _Moved:
            continue  # it is read anew, so that nothing is overwritten


async def _change_once(
    database: Database,
    worlds: WorldRepository,
    memory: MemoryStore,
    group: Group,
    wanted: str,
    change: Change | None,
    author: Author,
) -> Item | None:
    """Raises: _Moved: something was learned or changed meanwhile."""
    state, world = await database.read(lambda s: (state_of(s, group), worlds.open(s, group.world_id)))
    items = await memory.items(group, world.now, forgotten=True)
    item = find(items, wanted)

    def work(session: Session) -> Item | None:
        revision = next_epoch(session, group)  # it locks the memory
        if state is None or revision != state.revision + 1:
            raise _Moved
        if change is None:
            for one in _together(item, items):
                _delete(session, memory, group, one)
                audit(session, world, group.person_id, author, "deleted", one)
            return None
        after = _changed(item, change, world.now)
        _write(session, memory, group, after)
        audit(session, world, group.person_id, author, change.action, item, after=shown(after))
        return after

    return await database.write(work)


def audit(
    session: Session,
    world: WorldView,
    person_id: str,
    author: Author,
    action: Action,
    item: Item | None = None,
    *,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Write down what was done to the person's memory; the caller commits."""
    session.add(
        MemoryAuditRow(
            world_id=world.id,
            person_id=person_id,
            id=new_id(),
            action=action,
            kind=None if item is None else key_of(item)[0].value,
            memory_id=None if item is None else memory_id(item),
            before=None if item is None else shown(item),
            after=None if after is None else dict(after),
            author=author.name,
            reason=author.reason,
            at=world.now,
            written_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
    )


def audit_rows(session: Session, group: Group) -> list[MemoryAuditRow]:
    """All that was done to the person's memory by hand, the latest first."""
    query = select(MemoryAuditRow).where(*group.owns(MemoryAuditRow))
    return list(session.exec(query.order_by(col(MemoryAuditRow.id).desc())))


def seeds_of(session: Session, group: Group, items: Iterable[Item]) -> dict[str, SeedRow]:
    """Of items that were given: the line each came of, by `memory_id`."""
    names = {(key_of(item)[0].value, key_of(item)[1]): memory_id(item) for item in items}
    keys = list({key for _, key in names})
    found: dict[str, SeedRow] = {}
    mine = group.owns(SeedRow)
    for start in range(0, len(keys), 500):
        for row in session.exec(select(SeedRow).where(*mine, col(SeedRow.memory_id).in_(keys[start : start + 500]))):
            if (row.kind, row.memory_id) in names:
                found[names[row.kind, row.memory_id]] = row
    return found


def shown(item: Item) -> dict[str, Any]:
    """What an item says, as the audit keeps it."""
    if isinstance(item, Fact):
        return {
            "statement": item.statement,
            "words": item.words,
            "stated": item.held,
            "importance": item.importance,
            "valid_from": iso(item.valid_at),
            "valid_to": None if item.invalid_at is None else iso(item.invalid_at),
        }
    if isinstance(item, HeardTurn):
        return {"speaker": item.speaker_name, "text": item.text, "at": iso(item.at)}
    if isinstance(item, Insight):
        return {"text": item.text, "importance": item.importance, "at": iso(item.at)}
    return {"summary": item.summary, "topics": list(item.topics), "at": iso(item.at)}


def _together(item: Item, items: Iterable[Item]) -> list[Item]:
    """What is deleted with an item, itself first."""
    if isinstance(item, Episode | Insight) or item.turn is None:
        return [item]
    place = (item.conversation_id, item.turn)
    other = HeardTurn if isinstance(item, Fact) else Fact
    return [item, *(one for one in items if isinstance(one, other) and (one.conversation_id, one.turn) == place)]


def _changed(item: Item, change: Change, now: WorldTime) -> Item:
    """Raises: Invalid: only facts end, only they and insights are more or less important; nothing ends before it
    begins.
    """
    if isinstance(item, Fact):
        return _changed_fact(item, change, now)
    if change.ends:
        raise Invalid(field="valid_to", reason=Phrase("answers.invalid_fields.only_of_facts"))
    if isinstance(item, Insight):
        return replace(item, text=change.text or item.text, importance=change.importance or item.importance)
    if change.importance is not None:
        raise Invalid(field="importance", reason=Phrase("answers.invalid_fields.only_of_facts_and_insights"))
    if change.text is None:
        return item
    if isinstance(item, Episode):
        return replace(item, summary=change.text)
    return replace(item, text=change.text)


def _changed_fact(fact: Fact, change: Change, now: WorldTime) -> Fact:
    if change.text is not None:
        fact = replace(fact, statement=change.text, words=change.text, held=True, mode="asserted")
    if change.importance is not None:
        fact = replace(fact, importance=change.importance)
    if not change.ends:
        return fact
    ends = change.valid_to
    if ends is not None and ends < fact.valid_at:
        begins = iso(fact.valid_at)
        raise Invalid(field="valid_to", reason=Phrase("answers.lines.ends_before", begins=begins))
    learned = max(now, fact.created_at) if ends is not None and ends <= now else None
    return replace(fact, invalid_at=ends, expired_at=learned, replaced_by=None)


def _write(session: Session, memory: MemoryStore, group: Group, item: Item) -> None:
    if isinstance(item, HeardTurn):
        _write_turn(session, group, item)
        return
    if isinstance(item, Insight):
        row = session.get_one(InsightRow, group.key(item.id))
        row.text, row.importance = item.text, item.importance
        return
    if isinstance(item, Episode):
        talk = session.get(SummaryRow, group.key(item.conversation_id))
        if talk is not None:
            talk.summary = item.summary
    memory.replace(session, group, item)


def _write_turn(session: Session, group: Group, turn: HeardTurn) -> None:
    row = session.get(PastTurnRow, group.key(turn.conversation_id, turn.turn))
    if row is not None:
        row.text = turn.text
    else:
        session.merge(_correction(group, Kind.TURN, turn.key, turn.text))


def naming(world: WorldView, person_id: str) -> Callable[[str], bool]:
    """Whether a text names the person; where others bear its name, no text says of whom it tells."""
    name = world.own_name(person_id)
    return lambda text: name is not None and is_named(name, text)


def telling_of(items: Iterable[Item], person_id: str, names: Callable[[str], bool]) -> list[Item]:
    """Those that tell of the person, or come from it, and are of a talk with somebody else. `names`: see `naming`."""
    return [one for one in items if one.partner_id != person_id and _tells_of(one, person_id, names)]


def _tells_of(item: Item, person_id: str, names: Callable[[str], bool]) -> bool:
    if isinstance(item, Fact):
        return person_id in (*item.chain, *item.people) or any(
            map(names, (item.subject, item.object, item.statement, item.words))
        )
    if isinstance(item, HeardTurn):
        return item.speaker_id == person_id or names(item.text)
    return names(item.summary if isinstance(item, Episode) else item.text)


def delete_memories(session: Session, memory: MemoryStore, group: Group, items: Iterable[Item]) -> None:
    """Let the person forget these for good; the caller commits."""
    next_epoch(session, group)
    for item in items:
        _delete(session, memory, group, item)


def _delete(session: Session, memory: MemoryStore, group: Group, item: Item) -> None:
    """What is deleted is barred besides: a store outside our database may be given it once more, or still have it."""
    kind, key = key_of(item)
    session.merge(_correction(group, kind, key, None))
    if isinstance(item, HeardTurn):
        row = session.get(PastTurnRow, group.key(item.conversation_id, item.turn))
        if row is not None:
            session.delete(row)
        return
    if isinstance(item, Insight):
        session.delete(session.get_one(InsightRow, group.key(key)))
        return
    if isinstance(item, Episode):
        summary = session.get(SummaryRow, group.key(key))
        if summary is not None:
            summary.summary, summary.topics, summary.delivered = "", [], False
    memory.remove(session, group, kind, key)


def _correction(group: Group, kind: Kind, key: str, text: str | None) -> CorrectionRow:
    return CorrectionRow(**group.whose, kind=kind.value, memory_id=key, text=text)
