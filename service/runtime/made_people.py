"""Owns how people are made, changed, placed and removed while a world runs, and how one forgets its whole life."""

from collections.abc import Callable, Mapping, Sequence

from sqlmodel import Session

from service.content.made import Made, check_made, place_of
from service.content.profile import PersonKind
from service.conversation.transcript import leave_opening, unanswered_opening
from service.decision.situation import AgentState
from service.errors import Authored, Invalid, NotFound, refuse
from service.locales import Phrase
from service.memory.forgetting import forget_everywhere, forget_life, forget_person
from service.memory.memory_store import MemoryStore
from service.memory.record import Group, Item
from service.people.person import move, person_row, positions, put_player, segment_of, standing_players
from service.people.worlds import WorldRepository, WorldView, count_people_revision, made_people
from service.runtime.world_edits import amend, require_open_node
from service.runtime.world_session import WorldSession, require_free
from service.store.event_kinds import Forgot, PersonMade, PersonPlaced, PersonRemoved
from service.store.events import note, retract
from service.store.tables import MadePersonRow
from world.life import Person, walking_at


def forget_character(session: Session, memory: MemoryStore, world_session: WorldSession, character_id: str) -> None:
    """Remove all that the character lived through (see `forget_life`); the caller commits.

    Raises:
        NotFound: no such character.
        Busy: it talks.
        WorldInUse: a talk of it is being closed.
    """
    world = world_session.world
    world.cast.character(character_id)
    require_free(session, world_session, character_id)
    forget_life(session, memory, world, character_id)
    world_session.agent_states[character_id] = AgentState()
    world_session.core.changed_people.add(character_id)
    note(session, world.id, world.now, Forgot(), character_id)


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
    kind = made.kind if row is None or row.removed else row.kind
    refuse((kind != made.kind, "body.kind", Phrase("answers.invalid_fields.other_kind", kind=Phrase(f"kinds.{kind}"))))
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
    refuse((world.cast.person(person_id).kind == "npc", "person_id", "answers.invalid_fields.stands_at_post"))
    if person_id in world.cast.characters:
        refuse(
            (busy is not None, "busy", "answers.invalid_fields.no_player_is_busy"),
            (node_id is None, "node_id", "answers.invalid_fields.nowhere"),
        )
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
    still remember it by its name; with `everywhere` (see `hearsay_about`) they forget it too.

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
