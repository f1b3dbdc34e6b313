"""Owns how rows and values become what travels over HTTP, where a model does not read them as they are."""

from collections.abc import Mapping
from typing import Any

from sqlmodel import Session

from service.api.schemas import (
    ConversationDetail,
    FailureOut,
    GoalOut,
    MeetingOut,
    OneMemoryOut,
    PositionOut,
)
from service.conversation.client_events import talkers
from service.conversation.game_actions import calls_in
from service.conversation.transcript import conversation_of, turns_of
from service.core import Core
from service.errors import Invalid
from service.locales import Language, Phrase
from service.memory.authoring import memory_id
from service.memory.record import HeardTurn, Item, Kind, Memory
from service.memory.telling import remembered_as
from service.offline.model import REHEARSAL
from service.people.person import segment_of
from service.people.worlds import WorldView
from service.store.phase import ClockPolicy
from service.store.tables import MAIN_WORLD, ConversationRow, MemoryRow, SummaryRow
from world.errors import BadWorldTime
from world.life import Position, Segment, position_at, walking_at
from world.time import WorldTime, parse_time

NOTHING_FADED: Mapping[tuple[Kind, str], WorldTime] = {}


def moment(text: str, field: str) -> WorldTime:
    """A world time a client has written into `field`. Raises: Invalid."""
    try:
        return parse_time(text)
    except BadWorldTime as exc:
        raise Invalid(field=field, reason=Phrase("common.no_world_time", text=text)) from exc


def address(world_id: str, path: str) -> str:
    """The path, with the world it is of, where that is not the one of a request that names none."""
    return path if world_id == MAIN_WORLD else f"{path}?world_id={world_id}"


async def read_conversation(deps: Core, world_id: str, conversation_id: str) -> ConversationDetail:
    """A conversation as it stands, with its turns and changes. Raises: NotFound."""

    def work(session: Session, world: WorldView) -> ConversationDetail:
        row = conversation_of(session, world.id, conversation_id)
        turns = turns_of(session, row.key)
        asked = calls_in(session, row.key)
        told = {"turns": turns, "actions": asked, "changes": row.changes or None}
        return ConversationDetail.of(row, **of_conversation(row, world), **told)

    return await deps.read(world_id, work)


def position(world: WorldView, segment: Segment, at: WorldTime) -> PositionOut:
    """Where a segment has its walker."""
    here = position_at(segment, at)
    walking = walking_at(segment, at)
    return PositionOut.of(
        here,
        place=world.map.label(here.node_id),
        progress=round(here.progress, 4),
        walking_to=segment.path[-1] if walking else None,
        arrives_at=segment.arrival if walking else None,
    )


def position_of(session: Session, world: WorldView, person_id: str, players: Mapping[str, str]) -> PositionOut | None:
    """Where somebody of any kind is then, `players` on these nodes; None: a player who is nowhere."""
    if person_id in world.cast.homes:
        return position(world, segment_of(session, world, person_id), world.now)
    node_id = world.map.posts.get(person_id) or players.get(person_id)
    return None if node_id is None else PositionOut.of(Position(node_id=node_id), place=world.map.label(node_id))


def meeting(row: SummaryRow, world: WorldView, language: Language | None = None) -> MeetingOut:
    """A closed conversation, as one of its people remembers it; how long ago it was is said in that language."""
    then = WorldTime(row.at)
    since = world.ago(then, language)
    return MeetingOut.of(row, partner_name=world.name_of(row.partner_id), elapsed_minutes=world.now - then, ago=since)


def memory(
    item: Item,
    world: WorldView,
    owner_id: str,
    given: Mapping[str, MemoryRow],
    faded: Mapping[tuple[Kind, str], WorldTime] = NOTHING_FADED,
) -> dict[str, Any]:
    """Something that the person remembers, as OneMemoryOut has it. `given` are rows of what was given, by `memory_id`,
    `faded` since when what has faded has.
    """
    line = given.get(memory_id(item))
    every = {
        "id": memory_id(item),
        "kind": item.kind,
        "line": remembered_as(world, item, owner_id),
        "valid_from": item.valid_from if isinstance(item, Memory) else item.at,
        "known_from": item.known_from,
        "ago": world.ago(item.known_from),
        "given_id": line and line.given_id,
        "given_conversation": line and (line.given_in or None),
        "forgotten_at": faded.get((item.kind, item.id)),
    }
    own = {name: getattr(item, name) for name in OneMemoryOut.model_fields if hasattr(item, name)}
    if isinstance(item, HeardTurn):
        own |= {"told_by": item.speaker_id, "turns": [item.turn]}
    empty = {"via": [], "kept_from": [], "topics": [], "turns": [], "evidence": [], "quote": "", "slot": ""}
    told = {name: value for name, value in own.items() if value != ""}
    return {**dict.fromkeys(OneMemoryOut.model_fields), **empty, **told, **every}


def held(row: ConversationRow, world: WorldView) -> dict[str, Any]:
    """What HeldOut has beside the row's columns."""
    failure = row.failure and FailureOut(**row.failure, detail=row.failure.get(world.language, row.failure["en"]))
    return {"failure": failure, "rehearsal": REHEARSAL in row.models.values(), "cost": row}


def of_conversation(row: ConversationRow, world: WorldView) -> dict[str, Any]:
    """What the row calls otherwise, or does not have."""
    has_goal = row.goal is not None and row.success_criteria is not None
    return {
        **held(row, world),
        "character_id": row.opener_id,
        "character_name": world.name_of(row.opener_id),
        "partner_name": world.name_of(row.partner_id),
        "character_kind": opener.kind if (opener := world.cast.find(row.opener_id)) else "character",
        "partner_kind": partner.kind if (partner := world.cast.find(row.partner_id)) else "npc",
        "mode": "player" if row.has_human else "models",
        "living": row.clock_policy == ClockPolicy.MINUTE,
        "people": talkers(row, world),
        "goal": GoalOut.of(row, given=row.goal_given) if has_goal else None,
        "links": {
            "self": address(world.id, f"/conversations/{row.id}"),
            "events": address(world.id, f"/conversations/{row.id}/events"),
        },
    }
