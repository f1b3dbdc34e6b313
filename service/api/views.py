"""Owns how rows and values become what travels over HTTP."""

from typing import get_args

from sqlmodel import Session

from service.api.schemas import (
    EVENTS,
    ChangesOut,
    ConversationDetail,
    ConversationOut,
    CostOut,
    EventOut,
    FactOut,
    FailureOut,
    GoalOut,
    LastMeetingOut,
    LearnedFactOut,
    MidTermOut,
    PositionOut,
    RelationOut,
    TodayOut,
    TurnOut,
)
from service.conversation.prompt import Emotion
from service.conversation.transcript import conversation_of, turns_of
from service.errors import Invalid
from service.locales import Phrase
from service.locales.time import ago
from service.memory.store import Recalled
from service.people.attitude import Attitude
from service.people.worlds import WorldView
from service.store.events import payload_in
from service.store.phase import EndReason, Phase
from service.store.tables import (
    ConversationRow,
    EventRow,
    MidTermRow,
    SelfFactRow,
    SummaryRow,
    TurnRow,
)
from world.errors import BadWorldTime
from world.movement import Segment, position_at, walking_at
from world.time import WorldTime, iso, parse_time

REHEARSAL = "rehearsal"


def told(t: int | None) -> str | None:
    """A stored time as text."""
    return None if t is None else iso(WorldTime(t))


def moment(text: str, field: str) -> WorldTime:
    """A world time a client has written into `field`. Raises: Invalid."""
    try:
        return parse_time(text)
    except BadWorldTime as exc:
        raise Invalid(field=field, reason=Phrase("common.no_world_time", text=exc.text)) from exc


def conversation(row: ConversationRow, world: WorldView) -> ConversationOut:
    """A conversation without its turns."""
    return ConversationOut(
        id=row.id,
        character_id=row.opener_id,
        character_name=world.name_of(row.opener_id),
        partner_id=row.partner_id,
        partner_name=world.name_of(row.partner_id),
        partner_kind="character" if row.partner_id in world.cast.characters else "npc",
        living=row.talk_id is not None,
        node_id=row.node_id,
        phase=Phase(row.phase),
        goal=_goal(row),
        goal_achieved=row.goal_achieved,
        end_reason=EndReason(row.end_reason) if row.end_reason else None,
        failure=_failure(row, world),
        started_at=iso(WorldTime(row.started_at)),
        ended_at=told(row.ended_at),
        closed_at=told(row.closed_at),
        max_turns=row.max_turns,
        models=row.models,
        rehearsal=REHEARSAL in row.models.values(),
        cost=CostOut(calls=row.calls, prompt_tokens=row.prompt_tokens, completion_tokens=row.completion_tokens),
        links={"self": f"/conversations/{row.id}", "events": f"/conversations/{row.id}/events"},
    )


def conversation_detail(row: ConversationRow, turns: list[TurnRow], world: WorldView) -> ConversationDetail:
    """A conversation with its turns and changes."""
    return ConversationDetail(
        **conversation(row, world).model_dump(),
        turns=[turn_out(turn) for turn in turns],
        changes=ChangesOut.model_validate(row.changes) if row.changes else None,
    )


def read_conversation(session: Session, world: WorldView, conversation_id: str) -> ConversationDetail:
    """A conversation of the world as it stands. Raises: NotFound."""
    row = conversation_of(session, world.id, conversation_id)
    return conversation_detail(row, turns_of(session, row.key), world)


def turn_out(row: TurnRow) -> TurnOut:
    """One committed utterance."""
    emotion: Emotion = next((e for e in get_args(Emotion) if e == row.emotion), "neutral")
    return TurnOut(
        turn=row.turn,
        speaker_id=row.speaker_id,
        speaker_name=row.speaker_name,
        text=row.text,
        emotion=emotion,
        at=iso(WorldTime(row.at)),
        model=row.model,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        duration_ms=row.duration_ms,
    )


def event(row: EventRow) -> EventOut:
    """Something that happened."""
    model = EVENTS[row.kind]
    return model(id=row.id, at=iso(WorldTime(row.at)), kind=row.kind, person_id=row.person_id, data=payload_in(row))


def position(world: WorldView, segment: Segment, at: WorldTime) -> PositionOut:
    """Where a segment has its walker."""
    here = position_at(segment, at)
    walking = walking_at(segment, at)
    return PositionOut(
        node_id=here.node_id,
        place=world.map.label(here.node_id),
        toward=here.toward,
        progress=round(here.progress, 4),
        walking_to=segment.path[-1] if walking else None,
        arrives_at=iso(segment.arrival) if walking else None,
    )


def mid_term(row: MidTermRow) -> MidTermOut:
    """Something that affects the next days."""
    return MidTermOut(
        content=row.content,
        importance=row.importance,
        expires_at=iso(WorldTime(row.expires_at)),
        created_at=iso(WorldTime(row.created_at)),
        partner_id=row.partner_id,
        conversation_id=row.conversation_id,
    )


def today(row: SummaryRow, world: WorldView) -> TodayOut:
    """A conversation of the day."""
    return TodayOut(
        conversation_id=row.conversation_id,
        partner_id=row.partner_id,
        partner_name=world.name_of(row.partner_id),
        summary=row.summary,
        at=iso(WorldTime(row.at)),
    )


def learned_fact(row: SelfFactRow) -> LearnedFactOut:
    """A fact an NPC told about itself."""
    return LearnedFactOut(
        id=row.id,
        statement=row.statement,
        conversation_id=row.conversation_id,
        turn=row.turn,
        valid_at=iso(WorldTime(row.valid_at)),
        invalid_at=told(row.invalid_at),
        replaced_by=row.replaced_by,
    )


def fact(found: Recalled, world: WorldView) -> FactOut:
    """A remembered fact."""
    remembered = found.fact
    return FactOut(
        id=remembered.id,
        statement=remembered.statement,
        subject=remembered.subject,
        relation=remembered.relation,
        object=remembered.object,
        valid_at=iso(remembered.valid_at),
        invalid_at=told(remembered.invalid_at),
        learned_at=iso(remembered.created_at),
        expired_at=told(remembered.expired_at),
        replaced_by=remembered.replaced_by,
        ago=_ago(remembered.created_at, world),
        conversation_id=remembered.conversation_id,
        turn=remembered.turn,
        score=found.score,
    )


def last_meeting(row: SummaryRow | None, world: WorldView) -> LastMeetingOut | None:
    """The last closed conversation of two."""
    if row is None:
        return None
    return LastMeetingOut(
        conversation_id=row.conversation_id,
        summary=row.summary,
        topics=row.topics,
        at=iso(WorldTime(row.at)),
        elapsed_minutes=world.now - row.at,
        ago=_ago(WorldTime(row.at), world),
    )


def relation(own: Attitude, partners: Attitude) -> RelationOut:
    """How two stand to each other: `own` is the attitude of the one that is asked about, `partners` the other's."""
    return RelationOut(
        affinity=partners.affinity,
        conversation_count=own.times_met,
        last_met_at=told(own.last_met_at),
        stance=own.stance,
    )


def _ago(then: WorldTime, world: WorldView) -> str:
    return ago(then, world.now, world.language, day_starts=world.settings.day_starts_minutes)


def _goal(row: ConversationRow) -> GoalOut | None:
    if row.goal is None or row.success_criteria is None:
        return None
    return GoalOut(goal=row.goal, success_criteria=row.success_criteria, given=row.goal_given)


def _failure(row: ConversationRow, world: WorldView) -> FailureOut | None:
    if row.failure is None:
        return None
    return FailureOut(
        type=row.failure["type"], role=row.failure["role"], detail=row.failure.get(world.language, row.failure["en"])
    )
