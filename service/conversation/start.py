"""Owns the start of a conversation: whether the two can talk now, and the one short transaction that makes it run."""

from dataclasses import dataclass

from sqlmodel import Session

from service.cast.stage import Stage, World
from service.cast.whereabouts import segment_of
from service.conversation.phase import Phase
from service.conversation.scene import Goal
from service.errors import Busy, NotBeside, NoWayThere, Walking
from service.llm.chat import Role
from service.store.events import note
from service.store.ids import new_id
from service.store.tables import CharacterRow, ConversationRow, EngagementRow
from world.errors import Unreachable
from world.people import node_at, walking_at
from world.time import iso


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """What the client asks for. Without a goal the character sets one itself when it opens its mouth."""

    character_id: str
    npc_id: str
    goal: Goal | None = None
    max_turns: int


def start(session: Session, stage: Stage, world_id: str, wanted: Start, models: dict[Role, str]) -> ConversationRow:
    """Insert a running conversation and engage both people; the caller commits.

    Raises:
        NotFound: there is no such character or NPC.
        Walking: the character is on its way.
        NotBeside: the two do not stand next to each other.
        NoWayThere: and the character cannot get there either.
        Busy: one of them talks already.
    """
    world = stage.open(session, world_id, lock=True)
    world.character(wanted.character_id)
    world.npc(wanted.npc_id)
    node_id = _standing_beside(session, world, wanted)
    row = ConversationRow(
        id=new_id(),
        world_id=world.id,
        character_id=wanted.character_id,
        npc_id=wanted.npc_id,
        node_id=node_id,
        language=world.language,
        goal=wanted.goal.goal if wanted.goal else None,
        success_criteria=wanted.goal.success_criteria if wanted.goal else None,
        goal_given=wanted.goal is not None,
        max_turns=wanted.max_turns,
        phase=Phase.RUNNING,
        started_at=world.now,
        sleeps=_sleeps(session, world.id, wanted.character_id),
        models={str(role): name for role, name in models.items()},
    )
    _engage(session, world, row)
    session.add(row)
    note(
        session,
        world.id,
        world.now,
        "conversation_started",
        wanted.character_id,
        conversation_id=row.id,
        npc_id=wanted.npc_id,
        node_id=node_id,
    )
    return row


def release(session: Session, conversation: ConversationRow) -> None:
    """Both are free again."""
    for person_id in (conversation.character_id, conversation.npc_id):
        held = session.get(EngagementRow, (conversation.world_id, person_id))
        if held is not None and held.conversation_id == conversation.id:
            session.delete(held)


def require_free(session: Session, world: World, person_id: str) -> None:
    """Raises: Busy: the person talks now; it says with whom."""
    held = session.get(EngagementRow, (world.id, person_id))
    if held is None:
        return
    talk = session.get_one(ConversationRow, held.conversation_id)
    partner_id = talk.npc_id if person_id == talk.character_id else talk.character_id
    raise Busy(
        person=world.name_of(person_id),
        person_id=person_id,
        partner=world.name_of(partner_id),
        partner_id=partner_id,
        conversation_id=talk.id,
    )


def _engage(session: Session, world: World, row: ConversationRow) -> None:
    for person_id in (row.character_id, row.npc_id):
        require_free(session, world, person_id)
    for person_id in (row.character_id, row.npc_id):
        session.add(EngagementRow(world_id=world.id, person_id=person_id, conversation_id=row.id))
    session.flush()


def _standing_beside(session: Session, world: World, wanted: Start) -> str:
    """The character's node, which is next to the NPC's."""
    segment = segment_of(session, world, wanted.character_id)
    here, post = node_at(segment, world.now), world.map.posts[wanted.npc_id]
    if walking_at(segment, world.now):
        raise Walking(
            person=world.name_of(wanted.character_id),
            arrives_at=iso(segment.arrival),
            goal=world.map.label(segment.path[-1]),
            node_id=segment.path[-1],
        )
    if world.map.next_to(here, post):
        return here
    try:
        minutes = world.routes.path_beside(here, post).minutes
    except Unreachable as exc:
        raise NoWayThere(start=here, goal=post) from exc
    raise NotBeside(
        character=world.name_of(wanted.character_id),
        character_node=world.map.label(here),
        partner=world.name_of(wanted.npc_id),
        partner_node=world.map.label(post),
        character_node_id=here,
        partner_node_id=post,
        walk_minutes=minutes,
    )


def _sleeps(session: Session, world_id: str, character_id: str) -> int:
    row = session.get(CharacterRow, (world_id, character_id))
    return row.sleeps if row else 0
