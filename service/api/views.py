"""Owns how rows and values become what travels over HTTP, where a model does not read them as they are."""

from typing import Any

from sqlmodel import Session

from service.api.dependencies import ApiDependencies
from service.api.schemas import (
    ConversationDetail,
    ConversationOut,
    FactOut,
    FailureOut,
    GoalOut,
    HeardTurnOut,
    LastMeetingOut,
    PositionOut,
    TodayOut,
)
from service.conversation.game_actions import calls_in
from service.conversation.transcript import conversation_of, turns_of
from service.errors import Invalid
from service.locales import Phrase
from service.locales.time import ago
from service.memory.record import Recalled
from service.offline.model import REHEARSAL
from service.people.worlds import WorldView
from service.store.tables import MAIN_WORLD, ConversationRow, SummaryRow
from world.errors import BadWorldTime
from world.movement import Segment, position_at, walking_at
from world.time import WorldTime, parse_time


def moment(text: str, field: str) -> WorldTime:
    """A world time a client has written into `field`. Raises: Invalid."""
    try:
        return parse_time(text)
    except BadWorldTime as exc:
        raise Invalid(field=field, reason=Phrase("common.no_world_time", text=exc.text)) from exc


def address(world_id: str, path: str) -> str:
    """The path, with the world it is of, where that is not the one of a request that names none."""
    return path if world_id == MAIN_WORLD else f"{path}?world_id={world_id}"


def conversation(row: ConversationRow, world: WorldView) -> ConversationOut:
    """A conversation without its turns."""
    return ConversationOut.of(row, **_of_conversation(row, world))


async def read_conversation(deps: ApiDependencies, world_id: str, conversation_id: str) -> ConversationDetail:
    """A conversation as it stands, with its turns and changes. Raises: NotFound."""

    def work(session: Session, world: WorldView) -> ConversationDetail:
        row = conversation_of(session, world.id, conversation_id)
        turns = turns_of(session, row.key)
        asked = calls_in(session, row.key)
        told = {"turns": turns, "actions": asked, "changes": row.changes or None}
        return ConversationDetail.of(row, **_of_conversation(row, world), **told)

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


def today(row: SummaryRow, world: WorldView) -> TodayOut:
    """A conversation of the day."""
    return TodayOut.of(row, partner_name=world.name_of(row.partner_id))


def fact(found: Recalled, world: WorldView) -> FactOut:
    """A remembered fact."""
    learned_at = found.fact.created_at
    return FactOut.of(found.fact, learned_at=learned_at, ago=ago_in(learned_at, world), score=found.score)


def heard_turn(found: Recalled, world: WorldView) -> HeardTurnOut:
    """A turn that was found."""
    return HeardTurnOut.of(found.turn, ago=ago_in(found.turn.at, world), score=found.score)


def last_meeting(row: SummaryRow, world: WorldView) -> LastMeetingOut:
    """The last closed conversation of two."""
    return LastMeetingOut.of(row, elapsed_minutes=world.now - row.at, ago=ago_in(WorldTime(row.at), world))


def ago_in(then: WorldTime, world: WorldView) -> str:
    """The world time since then, as the world's language says it."""
    return ago(then, world.now, world.language, day_starts=world.settings.day_starts_minutes)


def _of_conversation(row: ConversationRow, world: WorldView) -> dict[str, Any]:
    """What the row calls otherwise, or does not have."""
    has_goal = row.goal is not None and row.success_criteria is not None
    failure = row.failure and FailureOut(**row.failure, detail=row.failure.get(world.language, row.failure["en"]))
    return {
        "character_id": row.opener_id,
        "character_name": world.name_of(row.opener_id),
        "partner_name": world.name_of(row.partner_id),
        "character_kind": opener.kind if (opener := world.cast.find(row.opener_id)) else "character",
        "partner_kind": partner.kind if (partner := world.cast.find(row.partner_id)) else "npc",
        "mode": "player" if row.has_human else "models",
        "living": row.talk_id is not None,
        "goal": GoalOut.of(row, given=row.goal_given) if has_goal else None,
        "failure": failure,
        "rehearsal": REHEARSAL in row.models.values(),
        "cost": row,
        "links": {
            "self": address(world.id, f"/conversations/{row.id}"),
            "events": address(world.id, f"/conversations/{row.id}/events"),
        },
    }
