"""Owns what one who was there takes away of a settled conversation: summary, mid-term memories, facts."""

from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from service.memory.extract import Extraction
from service.memory.gate import Kept, Remembered
from service.memory.mid_term import add_mid_term, expires_at
from service.memory.store import Episode, FactDraft, Group, Remember, fact_id
from service.people.worlds import WorldView
from service.store.ids import derived_id
from service.store.tables import (
    ConversationRow,
    MidTermRow,
    SummaryRow,
    TurnRow,
    WorldRow,
)
from service.store.telling import tell
from world.errors import BadWorldTime
from world.time import WorldTime, iso, parse_time


@dataclass(frozen=True, kw_only=True)
class Side:
    """A character's side of a conversation: what it was asked about (`extraction`) and what passed the gate (`kept`)."""

    extraction: Extraction
    kept: Kept

    @property
    def character_id(self) -> str:
        """Who remembers."""
        return self.extraction.scene.character_id

    @property
    def partner_id(self) -> str:
        """Of whom."""
        return self.extraction.scene.npc_id

    @property
    def moved(self) -> int:
        """By how much the partner likes the character more than before."""
        return self.kept.affinity - self.extraction.scene.affinity


def take_away(
    session: Session, world: WorldView, conversation: ConversationRow, side: Side, at: WorldTime, remember: Remember
) -> dict[str, Any]:
    """Write what the character remembers; the answer is what of it people are shown. The caller commits."""
    return {
        "mid_term": _mid_term(session, world, conversation, side, at),
        "facts": _long_term(session, conversation, side, at, remember),
    }


def tell_rejected(session: Session, conversation: ConversationRow, side: Side, at: WorldTime, person_id: str) -> None:
    """Say of each statement that was kept out of this side why; `person_id` is whom the log names."""
    for index, rejected in enumerate(side.kept.rejected):
        tell(
            session,
            conversation,
            at,
            "fact_rejected",
            person_id,
            index=index,
            statement=rejected.statement,
            turn=rejected.turn,
            reason=rejected.reason.value,
        )


def said_at(session: Session, conversation: ConversationRow, turn: int) -> WorldTime:
    """When the turn was spoken."""
    return WorldTime(session.get_one(TurnRow, (conversation.id, turn)).at)


def _mid_term(
    session: Session, world: WorldView, conversation: ConversationRow, side: Side, at: WorldTime
) -> list[dict[str, Any]]:
    rows = [
        MidTermRow(
            world_id=world.id,
            person_id=side.character_id,
            id=derived_id(conversation.id, side.character_id, "mid_term", index),
            content=draft.content,
            importance=draft.importance,
            created_at=at,
            expires_at=expires_at(draft.importance, at, day_starts=world.settings.day_starts_minutes),
            partner_id=side.partner_id,
            conversation_id=conversation.id,
        )
        for index, draft in enumerate(side.kept.mid_term)
    ]
    add_mid_term(session, rows, WorldTime(session.get_one(WorldRow, world.id).now))
    return [
        {"content": row.content, "importance": row.importance, "expires_at": iso(WorldTime(row.expires_at))}
        for row in rows
    ]


def _began(conversation: ConversationRow, side: Side) -> int:
    """The day of its life in which the conversation began for it."""
    return conversation.sleeps if side.character_id == conversation.character_id else conversation.partner_sleeps


def _long_term(
    session: Session, conversation: ConversationRow, side: Side, at: WorldTime, remember: Remember
) -> list[dict[str, Any]]:
    episode = Episode(
        conversation_id=conversation.id,
        partner_id=side.partner_id,
        summary=side.kept.summary,
        topics=side.kept.topics,
        at=at,
    )
    facts = [
        _draft(
            remembered,
            fact_id(side.character_id, conversation.id, index),
            side,
            said_at(session, conversation, remembered.fact.turn),
        )
        for index, remembered in enumerate(side.kept.remembered)
    ]
    group = Group(world_id=conversation.world_id, person_id=side.character_id)
    session.add(
        SummaryRow(
            world_id=group.world_id,
            person_id=group.person_id,
            conversation_id=conversation.id,
            partner_id=episode.partner_id,
            summary=episode.summary,
            topics=list(episode.topics),
            at=at,
            night=_began(conversation, side),
            revision=remember(session, group, episode, facts),
        )
    )
    return [{"id": fact.id, "statement": fact.statement, "turn": fact.turn} for fact in facts]


def _draft(remembered: Remembered, draft_id: str, side: Side, spoken_at: WorldTime) -> FactDraft:
    fact = remembered.fact
    return FactDraft(
        id=draft_id,
        subject=fact.subject,
        relation=fact.relation,
        object=fact.object,
        statement=fact.statement,
        turn=fact.turn,
        valid_at=_valid_at(fact.valid_on, spoken_at),
        replaces=tuple(side.extraction.memory_ids[ref] for ref in remembered.replaces),
    )


def _valid_at(valid_on: str, spoken_at: WorldTime) -> WorldTime:
    """Since when a fact is true: the day it names if that is past and readable, else when it was said."""
    try:
        return min(parse_time(valid_on), spoken_at) if valid_on else spoken_at
    except BadWorldTime:
        return spoken_at
