"""Owns forgetting: a whole world, all that one person lived through, or a person by everybody.

Whose rows a table holds, and what in them names somebody, is said by its policy (store/policy.py).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, String, cast, delete, exists, null, or_, update
from sqlmodel import Session, col, select

from service.errors import WorldInUse
from service.memory.authoring import delete_memories, naming, telling_of
from service.memory.lexical import is_named
from service.memory.memory_store import MemoryStore
from service.memory.projection import held_by_graph
from service.memory.record import Group, Item, Kind, next_epoch, read_anew
from service.people.worlds import WorldView, count_people_revision
from service.store.event_kinds import Observed
from service.store.events import Asked, last_event, told_to
from service.store.phase import Audience, ClockPolicy
from service.store.policy import GoesWith, going_with, names
from service.store.tables import (
    ConversationRow,
    DecisionRow,
    EventRow,
    IdempotencyRow,
    InterventionRow,
    OverheardRow,
    PendingEventRow,
    SummaryRow,
    TurnRow,
    WorldRow,
    takes_part,
)
from service.store.world_rows import delete_rows

_DUE = ("running", "closing")


def forget_world(session: Session, world_id: str) -> None:
    """Remove every row of a world that stands; the caller commits. Whom the memory graph holds stays as a row until it
    has let go of it.

    Raises:
        WorldInUse: conversations that clients started run or are being closed.
    """
    session.get(WorldRow, world_id, with_for_update=True)
    _require_quiet(session, world_id, ConversationRow.clock_policy == ClockPolicy.NONE)
    held = held_by_graph(session, world_id)
    delete_rows(session, [world_id], everything=True)
    # The request that forgets it is not answered yet: its key stays, so that a late repeat forgets no later world.
    answered = (col(IdempotencyRow.world_id) == world_id, col(IdempotencyRow.answer).is_not(null()))
    session.execute(delete(IdempotencyRow).where(*answered))
    session.expire_all()
    for group in held:
        next_epoch(session, group)


def forget_life(session: Session, memory: MemoryStore, world: WorldView, character_id: str) -> None:
    """Remove all that the character lived through, and that NPCs met it: they do not know it any more. What NPCs told
    about themselves stays, and so does what other characters remember of their talks with it. The caller commits.

    Raises:
        WorldInUse: a talk of it is being closed.
    """
    _require_quiet(session, world.id, takes_part(character_id))
    npcs = list(world.cast.npcs)
    _forget_own(session, memory, world.id, character_id)
    _let_forget(session, memory, world.id, character_id, npcs)
    _forget_words(session, world.id, npcs, partial(is_named, world.name_of(character_id)), shown=True)


def forget_person(session: Session, memory: MemoryStore, world: WorldView, person_id: str) -> None:
    """Remove all that the person lived through; what others remember of it is theirs. The caller commits.

    Raises:
        WorldInUse: a talk of it is being closed.
    """
    _require_quiet(session, world.id, takes_part(person_id))
    _forget_own(session, memory, world.id, person_id)
    _let_forget(session, memory, world.id, person_id, [])
    _take(session, world.id, person_id, GoesWith.PERSON)


def forget_everywhere(
    session: Session,
    memory: MemoryStore,
    world: WorldView,
    person_id: str,
    told: Mapping[Group, Sequence[Item]],
) -> None:
    """Let everybody forget the person: every talk it had goes, with what was said, and what the log tells of it. `told`
    is what others told each other of it (`memory.authoring.telling_of`). The caller commits.
    """
    for group, items in told.items():
        delete_memories(session, memory, group, items)
    _forget_log(session, world.id, person_id)
    _let_forget(session, memory, world.id, person_id, list(world.cast.everybody))
    everybody, is_meant = world.cast.everybody, naming(world, person_id)
    _forget_words(session, world.id, everybody, partial(is_named, world.name_of(person_id)), shown=True)
    _forget_words(session, world.id, everybody, is_meant, shown=False)
    # In what a decision was made from a person stands by its id alone, or behind an action and @.
    offered = (cast(col(DecisionRow.basis), String).contains(f'{mark}{person_id}"', autoescape=True) for mark in '@"')
    session.execute(delete(DecisionRow).where(col(DecisionRow.world_id) == world.id, or_(*offered)))
    answered = cast(col(IdempotencyRow.answer), String).contains(f'"{person_id}"', autoescape=True)
    session.execute(delete(IdempotencyRow).where(col(IdempotencyRow.world_id) == world.id, answered))
    requests = select(EventRow).where(*told_to(Audience.AUTHOR, world.id), EventRow.kind == "request")
    for row in session.exec(requests):
        asked = Asked(**row.data)  # what was said in its talks goes with them
        if person_id in asked.path.split("/") or f'"{person_id}"' in asked.body or is_meant(asked.body):
            session.delete(row)


async def hearsay_about(memory: MemoryStore, world: WorldView, person_id: str) -> dict[Group, list[Item]]:
    """What others remember of the person that they were told by somebody else.

    Raises:
        GraphUnavailable.
    """
    found, is_meant = dict[Group, list[Item]](), naming(world, person_id)
    for other_id in world.cast.everybody:
        if other_id != person_id:
            group = Group(world_id=world.id, person_id=other_id)
            items = await memory.items(group, world.now, forgotten=True)
            found[group] = telling_of(items, person_id, is_meant)
    return {group: items for group, items in found.items() if items}


def _forget_log(session: Session, world_id: str, person_id: str) -> None:
    """What the log tells of the person and of its talks. The newest event stays: that it was removed; for ids go on
    from there.
    """
    talks = select(ConversationRow.id).where(ConversationRow.world_id == world_id, takes_part(person_id))
    newest = last_event(session, world_id)
    for table in (EventRow, PendingEventRow):
        data = col(table.data)
        tells = (col(table.person_id) == person_id) | data["conversation_id"].as_string().in_(talks)
        for name in ("partner_id", "to_id", "target_id"):
            tells |= data[name].as_string() == person_id
        tells |= (col(table.kind) == Observed.kind) & cast(data, String).contains(f'"{person_id}"', autoescape=True)
        older = (*told_to(Audience.WORLD, world_id), col(EventRow.id) < newest) if table is EventRow else ()
        session.execute(delete(table).where(col(table.world_id) == world_id, tells, *older))


def _forget_own(session: Session, memory: MemoryStore, world_id: str, person_id: str) -> None:
    _take(session, world_id, person_id, GoesWith.MEMORY)
    said = (col(TurnRow.world_id) == world_id, col(TurnRow.speaker_id) == person_id)
    session.execute(update(TurnRow).where(*said).values(note="", reminded=[]))
    asked = (col(InterventionRow.world_id) == world_id, col(InterventionRow.target_id) == person_id)
    session.execute(update(InterventionRow).where(*asked).values(proposals=[]))
    memory.forget(session, Group(world_id=world_id, person_id=person_id))
    world = session.get(WorldRow, world_id)
    if world is not None and world.people_revision:  # what came to stay with it is in a cast that is held in memory
        count_people_revision(session, world_id)


def _let_forget(session: Session, memory: MemoryStore, world_id: str, person_id: str, others: Collection[str]) -> None:
    """These others remember nothing any more of their talks with the person; talks that nobody remembers go."""
    theirs = [
        (table, whose, (col(table.world_id) == world_id, whose.in_(others), names(table, person_id)))
        for table, policy in going_with(GoesWith.MEMORY)
        if policy.names
        for whose in [getattr(table, policy.whose or "")]
    ]
    knew = {other_id for _, whose, where in theirs for other_id in session.exec(select(whose).where(*where))}
    for other_id in sorted(knew):
        memory.forget(session, Group(world_id=world_id, person_id=other_id), person_id)
    _forget_company(session, memory, world_id, person_id, others)
    for table, _, where in theirs:
        session.execute(delete(table).where(*where))
    _forget_talks(session, world_id, person_id)


def _take(session: Session, world_id: str, person_id: str, what: GoesWith) -> None:
    """All rows of the person that go with that."""
    for table, policy in going_with(what):
        mine = (col(table.world_id) == world_id, getattr(table, policy.whose or "") == person_id)
        session.execute(delete(table).where(*mine))


def _forget_company(
    session: Session, memory: MemoryStore, world_id: str, person_id: str, others: Collection[str]
) -> None:
    """These others remember nothing any more of talks of more than two in which the person was, nor of what they
    overheard of it.
    """
    talks = select(ConversationRow.id).where(ConversationRow.world_id == world_id, takes_part(person_id))
    company = col(SummaryRow.partner_id) != person_id, col(SummaryRow.conversation_id).in_(talks)
    whose = (SummaryRow.world_id == world_id, col(SummaryRow.person_id).in_(others))
    for row in session.exec(select(SummaryRow).where(*whose, *company)).all():
        group = Group(world_id=world_id, person_id=row.person_id)
        memory.forget(session, group, person_id)
        memory.remove(session, group, Kind.SUMMARY, row.conversation_id)
        session.delete(row)
    overheard = (OverheardRow.world_id == world_id, col(OverheardRow.person_id).in_(others))
    for heard in session.exec(select(OverheardRow).where(*overheard, col(OverheardRow.conversation_id).in_(talks))):
        read_anew(session, Group(world_id=world_id, person_id=heard.person_id))
        session.delete(heard)
    session.flush()


def _forget_words(
    session: Session, world_id: str, others: Collection[str], is_meant: Callable[[str], bool], *, shown: bool
) -> None:
    """These others keep nothing whose words name the person, of what a model was `shown` or of the rest, nor a note
    before a turn of theirs.
    """
    for table, policy in going_with(GoesWith.MEMORY):
        theirs = (col(table.world_id) == world_id, getattr(table, policy.whose or "").in_(others))
        for row in session.exec(select(table).where(*theirs)) if policy.words and policy.shown == shown else ():
            if any(map(is_meant, _texts([getattr(row, name) for name in policy.words]))):
                session.delete(row)
    for turn in session.exec(
        select(TurnRow).where(TurnRow.world_id == world_id, col(TurnRow.speaker_id).in_(others), TurnRow.note != "")
    ):
        turn.note = "" if is_meant(turn.note) else turn.note


def _texts(value: object) -> Iterator[str]:
    """All that stands in it in words."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(part)


def _forget_talks(session: Session, world_id: str, person_id: str) -> None:
    """Those that nobody else remembers."""
    session.flush()
    remembered = (
        exists().where(
            col(row.world_id) == col(ConversationRow.world_id), col(row.conversation_id) == col(ConversationRow.id)
        )
        for row in (SummaryRow, OverheardRow)
    )
    session.execute(
        delete(ConversationRow).where(
            col(ConversationRow.world_id) == world_id,
            takes_part(person_id),
            *(~one for one in remembered),
        )
    )


def _require_quiet(session: Session, world_id: str, *which: ColumnElement[bool] | bool) -> None:
    due: tuple[Any, ...] = (ConversationRow.world_id == world_id, col(ConversationRow.phase).in_(_DUE), *which)
    running = session.exec(select(ConversationRow.id).where(*due)).all()
    if running:
        raise WorldInUse(world_id=world_id, count=len(running))
