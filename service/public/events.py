"""Owns what happens in a world as the Python API shows it: the kinds of events, each with what was said and is
remembered of it, and how far a world is while it lives on.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlmodel import Session, select

from service.conversation.stream import Speaking
from service.people.worlds import WorldView
from service.public.talk import Talk, talk_of
from service.store.event_kinds import (
    ActionFailed,
    ActivityEnded,
    ActivityStarted,
    Arrived,
    ConversationClosed,
    ConversationEnded,
    ConversationJoined,
    ConversationStarted,
    DayBegan,
    Decided,
    Departed,
    FactRejected,
    Payload,
    Planned,
    Reflected,
)
from service.store.events import events_after, payload_in
from service.store.tables import ConversationKey, ConversationRow, EventRow, SummaryRow
from world.time import WorldTime

__all__ = [
    "ActionFailed",
    "ActivityEnded",
    "ActivityStarted",
    "Arrived",
    "ConversationClosed",
    "ConversationEnded",
    "ConversationJoined",
    "ConversationStarted",
    "DayBegan",
    "Decided",
    "Departed",
    "FactRejected",
    "Moment",
    "Payload",
    "Planned",
    "Reflected",
    "StoryEvent",
]


@dataclass(frozen=True, kw_only=True)
class StoryEvent:
    """An event with its conversation as it stands, and what each of its people remembers of it as a whole."""

    event: EventRow
    talk: Talk | None = None
    """None: it is of no conversation, or its people have been made to forget it"""
    summaries: tuple[SummaryRow, ...] = ()

    @property
    def payload(self) -> Payload:
        """What the event tells, by its kind."""
        return payload_in(self.event)


@dataclass(frozen=True, kw_only=True)
class Moment:
    """How far a world is that lives on to `until`. `in_flight` counts models that are being asked; `speaking` has what
    has grown of utterances in the making, by the conversation's id.
    """

    now: WorldTime
    until: WorldTime
    in_flight: int = 0
    speaking: Mapping[str, Speaking]


def story_after(session: Session, world: WorldView, after: int, limit: int) -> list[StoryEvent]:
    """What happened after the event of that id, oldest first."""
    return [_with_talk(session, world, event) for event in events_after(session, world.id, after, limit)]


def _with_talk(session: Session, world: WorldView, event: EventRow) -> StoryEvent:
    talk_id = event.data.get("conversation_id")
    if talk_id is None or session.get(ConversationRow, ConversationKey(world.id, talk_id)) is None:
        return StoryEvent(event=event)
    of_it = select(SummaryRow).where(SummaryRow.world_id == world.id, SummaryRow.conversation_id == talk_id)
    talk = talk_of(session, world, ConversationKey(world.id, talk_id))
    return StoryEvent(event=event, talk=talk, summaries=tuple(session.exec(of_it)))
