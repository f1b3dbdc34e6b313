"""Owns what a run is told: the events since the last look, those of a conversation with what was said in it."""

from dataclasses import dataclass

from sqlmodel import Session, col, select

from service.store.event_kinds import (
    ClosingFailed,
    ConversationClosed,
    ConversationEnded,
    ConversationJoined,
    ConversationStarted,
    Payload,
)
from service.store.events import events_after, payload_in
from service.store.tables import ConversationRow, EventRow, SummaryRow, TurnRow, said_in

PAGE = 300
_Talk = ConversationStarted | ConversationJoined | ConversationEnded | ConversationClosed | ClosingFailed


@dataclass(frozen=True, kw_only=True)
class StoryEvent:
    """An event. Of a conversation that ended: its turns; of one that is closed: what each character remembers of it."""

    event: EventRow
    conversation: ConversationRow | None = None
    turns: tuple[TurnRow, ...] = ()
    summaries: tuple[SummaryRow, ...] = ()

    @property
    def payload(self) -> Payload:
        """What the event tells."""
        return payload_in(self.event)

    @property
    def partner_id(self) -> str | None:
        """Whom the person talks to."""
        return self.conversation.partner_id if self.conversation else None


def story_events_after(session: Session, world_id: str, after: int) -> list[StoryEvent]:
    """A page of what happened, oldest first."""
    return [_with_conversation(session, event) for event in events_after(session, world_id, after, PAGE)]


def _with_conversation(session: Session, event: EventRow) -> StoryEvent:
    payload = payload_in(event)
    if not isinstance(payload, _Talk):
        return StoryEvent(event=event)
    talk = session.get(ConversationRow, (event.world_id, payload.conversation_id))
    if talk is None:  # the author has made its character forget
        return StoryEvent(event=event)
    turns: tuple[TurnRow, ...] = ()
    summaries: tuple[SummaryRow, ...] = ()
    if isinstance(payload, ConversationEnded):
        of_talk = select(TurnRow).where(*said_in(talk.key))
        turns = tuple(session.exec(of_talk.order_by(col(TurnRow.turn))))
    if isinstance(payload, ConversationClosed):
        of_it = select(SummaryRow).where(SummaryRow.world_id == talk.world_id, SummaryRow.conversation_id == talk.id)
        summaries = tuple(session.exec(of_it))
    return StoryEvent(event=event, conversation=talk, turns=turns, summaries=summaries)
