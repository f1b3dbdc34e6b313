"""Owns how people are made, changed and removed while a world runs, and forgetting: a whole world, all that one
character lived through, or a person that leaves the world.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, String, cast, delete, exists, null, or_, update
from sqlmodel import Session, col, select

from service.content.made import Made, check_made, place_of
from service.content.profile import PersonKind
from service.conversation.transcript import leave_opening, takes_part, unanswered_opening
from service.decision.situation import AgentState
from service.errors import Authored, Invalid, NotFound, WorldInUse
from service.locales import Phrase
from service.memory.authoring import delete_memories, naming, telling_of
from service.memory.lexical import is_named
from service.memory.memory_store import MemoryStore
from service.memory.projection import held_by_graph
from service.memory.record import Group, Item, Kind, next_epoch, read_anew
from service.people.person import move, person_row, positions, put_player, segment_of, standing_players
from service.people.worlds import WorldRepository, WorldView, count_people_revision, made_people
from service.runtime.world_edits import amend, require_open_node
from service.runtime.world_session import WorldSession, require_free
from service.store.event_kinds import Forgot, Observed, PersonMade, PersonPlaced, PersonRemoved
from service.store.events import Asked, last_event, note, retract, told_to
from service.store.phase import Audience, ClockPolicy
from service.store.policy import GoesWith, going_with, names
from service.store.tables import (
    ConversationRow,
    DecisionRow,
    EventRow,
    IdempotencyRow,
    InterventionRow,
    MadePersonRow,
    OverheardRow,
    PendingEventRow,
    SummaryRow,
    TurnRow,
    WorldRow,
)
from service.store.world_rows import delete_rows
from world.life import Person, walking_at

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


def forget_character(session: Session, memory: MemoryStore, world_session: WorldSession, character_id: str) -> None:
    """Remove all that the character lived through, and that NPCs met it: they do not know it any more. What NPCs told
    about themselves stays, and so does what other characters remember of their talks with it.

    The caller commits.

    Raises:
        NotFound: no such character.
        Busy: it talks.
        WorldInUse: a talk of it is being closed.
    """
    world = world_session.world
    world.cast.character(character_id)
    require_free(session, world_session, character_id)
    _require_quiet(session, world.id, takes_part(character_id))
    npcs = list(world.cast.npcs)
    _forget_own(session, memory, world.id, character_id)
    _let_forget(session, memory, world.id, character_id, npcs)
    _forget_words(session, world.id, npcs, partial(is_named, world.name_of(character_id)), shown=True)
    world_session.agent_states[character_id] = AgentState()
    world_session.core.changed_people.add(character_id)
    note(session, world.id, world.now, Forgot(), character_id)


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


def put_person(session: Session, worlds: WorldRepository, world_session: WorldSession, made: Made) -> bool:
    """Make the person, or change its profile; the caller commits. True: it was not there. Who is there as it is given
    stays as it is.

    Raises:
        Authored: it is a person of the content.
        Invalid: it is there, and of another kind; somebody stands where an NPC is to stand.
        ProfileWrong: what it says of the world, or others say of it, cannot be.
    """
    world = world_session.world
    _require_made_here(worlds, made.id)
    row = session.get(MadePersonRow, (world.id, made.id))
    is_new = row is None or row.removed
    if row is not None and not row.removed and row.kind != made.kind:
        kind = Phrase(f"kinds.{row.kind}")
        raise Invalid(field="body.kind", reason=Phrase("answers.invalid_fields.other_kind", kind=kind))
    if row is not None and (row.profile, row.removed) == (made.profile, False):
        return False
    check_made(worlds.content.checked, made_people(session, world.id), made)
    if made.kind == "npc":
        _clear(session, world_session, made)
    session.merge(MadePersonRow(world_id=world.id, person_id=made.id, kind=made.kind, profile=made.profile))
    name = _composed(session, worlds, world_session, made.kind).name_of(made.id)
    note(session, world.id, world.now, PersonMade(person_kind=made.kind, name=name, is_new=is_new), made.id)
    return is_new


def place_person(
    session: Session, world_session: WorldSession, person_id: str, node_id: str | None, *, busy: bool | None = None
) -> None:
    """The person stands on that node from the world's clock on, without having walked; None: it is nowhere, and nobody
    sees it. `busy`: whether nobody is to speak to the player first (None: as it was). The caller commits.

    A player that has not answered who spoke to it first leaves that one by going away, or by being busy.

    Raises:
        NotFound: no such person or node.
        Invalid: an NPC stands there; an NPC is to go; a character is to be nowhere, or busy.
        Busy: it talks.
    """
    world = world_session.world
    if world.cast.person(person_id).kind == "npc":
        raise Invalid(field="person_id", reason=Phrase("answers.invalid_fields.stands_at_post"))
    if person_id in world.cast.characters:
        if busy is not None:
            raise Invalid(field="busy", reason=Phrase("answers.invalid_fields.no_player_is_busy"))
        if node_id is None:
            raise Invalid(field="node_id", reason=Phrase("answers.invalid_fields.nowhere"))
        amend(session, world_session, person_id, node_id=node_id)
        return
    if node_id is not None:
        require_open_node(world, node_id)
    opening = unanswered_opening(session, world, person_id)
    if opening is not None and (busy or node_id is None or not world.map.next_to(node_id, opening.node_id)):
        leave_opening(session, world, person_id)
    elif opening is None and node_id != standing_players(session, world, only=[person_id]).get(person_id):
        require_free(session, world_session, person_id)
    if busy is not None:
        person_row(session, world.id, person_id, lock=True).busy = busy
    if standing_players(session, world, only=[person_id]).get(person_id) == node_id:
        return
    world_session.place(person_id, node_id)
    put_player(session, world, person_id, node_id)
    note(session, world.id, world.now, PersonPlaced(node_id=node_id), person_id)


async def told_of(memory: MemoryStore, world: WorldView, person_id: str) -> dict[Group, list[Item]]:
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


def remove_person(
    session: Session,
    worlds: WorldRepository,
    memory: MemoryStore,
    world_session: WorldSession,
    person_id: str,
    *,
    everywhere: Mapping[Group, Sequence[Item]] | None = None,
) -> None:
    """Take a person who was made at run time out of the world, with all that it remembers; the caller commits. Others
    still remember it by its name; with `everywhere` (see `told_of`) they forget it too.

    Raises:
        NotFound: there is no such person.
        Authored: it is a person of the content.
        Busy: it talks.
        WorldInUse: a talk of it is being closed.
    """
    world = world_session.world
    _require_made_here(worlds, person_id)
    row = session.get(MadePersonRow, (world.id, person_id))
    if row is None or row.removed:
        raise NotFound(kind="person", id=person_id)
    require_free(session, world_session, person_id)
    if person_id in world_session.core.people:
        _turn_back(session, world_session, lambda one: one.claim is not None and one.claim.target_id == person_id)
        world_session.place(person_id, None)
    kind, name = row.kind, world.name_of(person_id) if everywhere is None else person_id
    note(session, world.id, world.now, PersonRemoved(person_kind=kind, name=name), person_id)
    forget_person(session, memory, world, person_id)
    if everywhere is None:
        row.removed = True
    else:
        forget_everywhere(session, memory, world, person_id, everywhere)
        session.delete(row)
    _composed(session, worlds, world_session, kind)


def _require_made_here(worlds: WorldRepository, person_id: str) -> None:
    """Raises: Authored."""
    file = worlds.content.checked.file_of(person_id)
    if file is not None:
        raise Authored(id=person_id, file=file)


def _composed(session: Session, worlds: WorldRepository, world_session: WorldSession, kind: PersonKind) -> WorldView:
    """The world with its people as the store has them now. If a player came or went the session goes on with it; a
    character's life, and another map, are read anew when the session is used next.
    """
    count_people_revision(session, world_session.world.id)
    world = worlds.open(session, world_session.world.id)
    if kind == "player":
        world_session.world = world
    return world


def _clear(session: Session, world_session: WorldSession, npc: Made) -> None:
    """Nobody comes to stand where an NPC is to stand. Raises: Invalid: somebody stands there."""
    node_id, world = place_of(npc), world_session.world
    here = positions(session, world)
    there = [i for i, one in here.items() if i != npc.id and one.node_id == node_id and one.toward is None]
    if there:
        name = world.name_of(there[0])
        raise Invalid(field="body.node_id", reason=Phrase("answers.invalid_fields.somebody_stands_there", name=name))
    _turn_back(session, world_session, lambda one: one.node_id == node_id)


def _turn_back(session: Session, world_session: WorldSession, which: Callable[[Person], bool]) -> None:
    """These stop where they are, and decide anew."""
    world, core = world_session.world, world_session.core
    for person in filter(which, list(core.people.values())):
        retract(session, world.id, person.id, world.now)
        segment = segment_of(session, world, person.id)
        if walking_at(segment, world.now):
            move(session, world, person.id, segment.cut(world.now))
        core.stop(person.id, world.now)
