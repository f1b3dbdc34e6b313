"""Owns an author's hand on single memories: one is edited, closed or deleted, and it is written down who did it and
why.

Only what the person remembers is changed. The record of a conversation that was held here keeps what was said in it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy.orm import Mapped
from sqlmodel import Session, col, select

from service.errors import NotFound, refuse
from service.locales import Phrase
from service.memory.lexical import is_named
from service.memory.memory_store import MemoryStore
from service.memory.record import (
    Episode,
    Group,
    HeardTurn,
    Item,
    Kind,
    Memory,
    Mode,
    Source,
    Support,
    next_epoch,
    next_revision,
    state_of,
)
from service.memory.telling import ref_of, turns_of
from service.people.worlds import WorldRepository, WorldView
from service.store.idempotency import Once, write_once
from service.store.ids import new_id
from service.store.session import Database
from service.store.tables import MemoryAuditRow, MemoryRow
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

    `text` is what it says: its author says so from then on. `ends`: the memory is true until before `valid_to` (None:
    it holds again).
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
    """What an item is called towards clients."""
    return called(item.kind, item.id)


def called(kind: str, key: str) -> str:
    """What is known by these here is called so towards clients: ``turn.<conversation>.0003``."""
    return f"{kind}.{key.replace('/', '.')}"


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
    request: Once | None = None,
) -> Item | None:
    """Change one memory of a person, or delete it (`change` None); answers what it is then.

    A turn and the memories that were taken from it say the same: with a turn those are deleted, and with a memory the
    turns it was heard in. What the person came to think of any of them goes with it.

    Raises:
        NotFound: there is no such memory.
        Invalid: it cannot be changed so.
        GraphUnavailable.
        Replayed, KeyReused: as `once`.
    """
    while True:
        with suppress(_Moved):  # it is read anew, so that nothing is overwritten
            return await _change_once(database, worlds, memory, group, wanted, change, author, request)


async def _change_once(
    database: Database,
    worlds: WorldRepository,
    memory: MemoryStore,
    group: Group,
    wanted: str,
    change: Change | None,
    author: Author,
    request: Once | None,
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
                delete_memories(session, memory, group, [one])
                audit(session, world, group.person_id, author, "deleted", one)
            return None
        after = _changed(item, change, world.now)
        if isinstance(after, HeardTurn):
            _write_turn(session, group, after)
        else:
            memory.replace(session, group, after)
        audit(session, world, group.person_id, author, change.action, item, after=shown(after))
        return after

    return await write_once(database, request, work)


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
            kind=None if item is None else item.kind.value,
            memory_id=None if item is None else item.id,
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


def seeds_of(session: Session, group: Group, items: Iterable[Item]) -> dict[str, MemoryRow]:
    """Rows of the items that were given, by `memory_id`: each names the line that gave it."""
    rows = given_before(session, group, col(MemoryRow.id), {item.id for item in items})
    return {called(row.kind, row.id): row for row in rows}


_AT_ONCE = 10_000
"""Keys that one query asks for."""


def given_before(session: Session, group: Group, column: Mapped[str], values: Collection[str]) -> Iterator[MemoryRow]:
    """Rows that were given, and have one of the values there."""
    asked = [value for value in values if value]
    for start in range(0, len(asked), _AT_ONCE):
        which = column.in_(asked[start : start + _AT_ONCE])
        yield from session.exec(select(MemoryRow).where(*group.owns(MemoryRow), which, MemoryRow.given_id != ""))


def shown(item: Item) -> dict[str, Any]:
    """What an item says, as the audit keeps it."""
    if isinstance(item, HeardTurn):
        return {"speaker": item.speaker_name, "text": item.text, "at": iso(item.at)}
    if isinstance(item, Episode):
        return {"summary": item.text, "topics": list(item.topics), "at": iso(item.at)}
    return {
        "text": item.text,
        "told_by": item.told_by,
        "support": item.support.value,
        "importance": item.importance,
        "valid_from": iso(item.valid_from),
        "valid_to": None if item.valid_to is None else iso(item.valid_to),
    }


def _together(item: Item, items: Sequence[Item]) -> list[Item]:
    """What is deleted with an item, itself first: with a turn what was taken from it, with a memory its turns."""
    other = Memory if isinstance(item, HeardTurn) else HeardTurn
    same = [one for one in items if isinstance(one, other) and turns_of(one) & turns_of(item)]
    return with_thoughts([item, *same], items)


def with_thoughts(gone: Sequence[Item], items: Iterable[Item]) -> list[Item]:
    """These, and what the person has come to think of any of them."""
    refs = set(map(ref_of, gone))
    thoughts = [one for one in items if isinstance(one, Memory) and refs & set(one.evidence)]
    return [*gone, *(one for one in thoughts if ref_of(one) not in refs)]


def _changed(item: Item, change: Change, now: WorldTime) -> Item:
    """Raises: Invalid: turns and summaries do not end, and are not more or less important; nothing ends before it
    begins.
    """
    if isinstance(item, Memory):
        return _changed_memory(item, change, now)
    refuse(
        (change.ends, "valid_to", "answers.invalid_fields.not_of_views"),
        (change.importance is not None, "importance", "answers.invalid_fields.not_of_views"),
    )
    if change.text is None:
        return item
    if isinstance(item, Episode):
        return replace(item, text=change.text, support=Support.AUTHOR)
    return replace(item, text=change.text)


def _changed_memory(one: Memory, change: Change, now: WorldTime) -> Memory:
    if change.text is not None:  # its author says so, whoever told it before
        one = replace(one, text=change.text, support=Support.AUTHOR, mode=Mode.STATED, via=(), quote="")
    if change.importance is not None:
        one = replace(one, importance=change.importance)
    if not change.ends:
        return one
    ends = change.valid_to
    ends_before = Phrase("answers.lines.ends_before", begins=iso(one.valid_from))
    refuse((ends is not None and ends < one.valid_from, "valid_to", ends_before))
    learned = max(now, one.known_from) if ends is not None and ends <= now else None
    return replace(one, valid_to=ends, known_until=learned, replaced_by=None)


def _write_turn(session: Session, group: Group, turn: HeardTurn) -> None:
    """A turn of a talk that was held here gets a row of its own, for the talk keeps what was said."""
    row = session.get(MemoryRow, group.key(turn.id)) or MemoryRow(
        **group.whose,
        id=turn.id,
        kind=Kind.TURN,
        text=turn.text,
        about=turn.speaker_name,
        told_by=turn.speaker_id or None,
        support=Support.AUTHOR,
        source=Source.AUTHOR,
        conversation_id=turn.conversation_id,
        turns=[turn.turn],
        partner_id=turn.partner_id,
        valid_from=turn.at,
        known_from=turn.known_from,
        revision=0,
    )
    row.text, row.revision = turn.text, next_revision(session, group)
    session.add(row)


def naming(world: WorldView, person_id: str) -> Callable[[str], bool]:
    """Whether a text names the person; where others bear its name, no text says of whom it tells."""
    name = world.own_name(person_id)
    return lambda text: name is not None and is_named(name, text)


def telling_of(items: Sequence[Item], person_id: str, names: Callable[[str], bool]) -> list[Item]:
    """What others than the person have told of it: that its words name it (see `naming`), or that it tells of it or
    came from it; and what was thought of that. Turns and summaries of its own talks are not among it.
    """
    found = [one for one in items if person_id in (one.partner_id, *one.others) or any(map(names, _words(one)))]
    return [
        one
        for one in with_thoughts(found, items)
        if isinstance(one, Memory) or person_id not in (one.partner_id, *one.others)
    ]


def _words(item: Item) -> tuple[str, ...]:
    if isinstance(item, Memory):
        return item.text, item.quote, item.about
    if isinstance(item, HeardTurn):
        return item.text, item.speaker_name
    return item.text, *item.topics


def delete_memories(session: Session, memory: MemoryStore, group: Group, items: Iterable[Item]) -> None:
    """Let the person forget these for good; the caller commits."""
    for item in items:
        memory.remove(session, group, item.kind, item.id)
