"""Owns what one person takes away from a conversation: its summary, attitude and mood, what it told and what it knows
now, what it promised and what is on its mind.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from service.memory.extract import ClosingQuestion
from service.memory.mid_term import add_mid_term, expires_at
from service.memory.self_facts import add_self_facts
from service.memory.store import Episode, FactDraft, Group, Remember, fact_id
from service.memory.validate import ValidExtraction, ValidFact, ValidSide
from service.people.attitude import attitude, mood
from service.people.worlds import WorldView
from service.settings import MemorySettings
from service.store.ids import derived_id
from service.store.tables import (
    AttitudeChangeRow,
    CommitmentRow,
    ConversationRow,
    MidTermRow,
    MoodRow,
    SummaryRow,
    TurnRow,
    WorldRow,
)
from world.errors import BadWorldTime
from world.time import WorldTime, iso, parse_time


@dataclass(frozen=True, kw_only=True)
class PersonSide:
    """A person's side of a conversation: what of the whole extraction may be stored, and which part of it is its own.

    `turns` are those of the conversation by number; `at` is when they parted.
    """

    question: ClosingQuestion
    extraction: ValidExtraction
    valid: ValidSide
    partner_id: str
    turns: Mapping[int, TurnRow]
    at: WorldTime

    @property
    def person_id(self) -> str:
        """Who remembers."""
        return self.valid.participant.person_id


@dataclass(frozen=True, kw_only=True)
class SideChanges:
    """What the conversation changed for one person, for people to see."""

    affinity: dict[str, int]
    mood: dict[str, str]
    self_facts: list[dict[str, Any]]
    facts: list[dict[str, Any]]
    mid_term: list[dict[str, Any]]


def persist_side(
    session: Session,
    world: WorldView,
    conversation: ConversationRow,
    side: PersonSide,
    settings: MemorySettings,
    remember: Remember,
) -> SideChanges:
    """Write what the person takes away; the caller commits."""
    names = side.question.context.names
    told = add_self_facts(
        session, world.id, side.person_id, side.valid.self_facts, side.turns, side.question.self_fact_ids, names
    )
    changes = SideChanges(
        affinity=_attitude(session, conversation, side),
        mood=_mood(session, world, conversation, side, settings.mood_cools_hours),
        self_facts=[{"id": row.id, "statement": row.statement, "turn": row.turn} for row in told],
        facts=_long_term(session, conversation, side, remember),
        mid_term=_mid_term(session, world, conversation, side),
    )
    session.add_all(_commitments(conversation, side))
    return changes


def _attitude(session: Session, conversation: ConversationRow, side: PersonSide) -> dict[str, int]:
    """A closing may be late, and another one of the same two done meanwhile: affinity moves by what this talk did."""
    pair = (conversation.world_id, side.person_id, side.partner_id)
    before, judged = attitude(session, *pair, side.at).affinity, side.valid.attitude
    change = AttitudeChangeRow(
        world_id=conversation.world_id,
        owner_id=side.person_id,
        other_id=side.partner_id,
        id=conversation.id,
        at=side.at,
        conversation_id=conversation.id,
        affinity_delta=side.valid.moved,
        met=True,
        power=judged.power,
        intimacy=judged.intimacy,
        task_oriented=judged.task_oriented,
        stance=judged.stance,
    )
    session.add(change)
    session.flush()
    return {"before": before, "after": attitude(session, *pair, side.at).affinity}


def _mood(
    session: Session, world: WorldView, conversation: ConversationRow, side: PersonSide, cools_hours: int
) -> dict[str, str]:
    then = world.at(side.at)
    before = mood(session, then, side.person_id, cools_hours)
    felt = MoodRow(
        world_id=world.id,
        person_id=side.person_id,
        id=conversation.id,
        at=side.at,
        mood=side.valid.mood,
        conversation_id=conversation.id,
    )
    session.add(felt)
    session.flush()
    return {"before": before, "after": mood(session, then, side.person_id, cools_hours)}


def _mid_term(
    session: Session, world: WorldView, conversation: ConversationRow, side: PersonSide
) -> list[dict[str, Any]]:
    rows = [
        MidTermRow(
            world_id=world.id,
            person_id=side.person_id,
            id=derived_id(conversation.id, side.person_id, "mid_term", index),
            content=draft.content,
            importance=draft.importance,
            created_at=side.at,
            expires_at=expires_at(draft.importance, side.at, day_starts=world.settings.day_starts_minutes),
            partner_id=side.partner_id,
            conversation_id=conversation.id,
        )
        for index, draft in enumerate(side.valid.mid_term)
    ]
    add_mid_term(session, rows, WorldTime(session.get_one(WorldRow, world.id).now))
    return [
        {"content": row.content, "importance": row.importance, "expires_at": iso(WorldTime(row.expires_at))}
        for row in rows
    ]


def _commitments(conversation: ConversationRow, side: PersonSide) -> list[CommitmentRow]:
    """A promise to somebody whom the answer does not name is one to the partner."""
    people = {one.ref: one.person_id for one in side.question.context.participants if one.person_id != side.person_id}
    return [
        CommitmentRow(
            world_id=conversation.world_id,
            id=derived_id(conversation.id, side.person_id, "commitment", index),
            by_id=side.person_id,
            to_id=people.get(draft.to, side.partner_id),
            what=draft.what,
            words=side.turns[draft.turn].text,
            place=draft.where,
            due_at=_time(draft.when),
            conversation_id=conversation.id,
            turn=draft.turn,
            made_at=side.turns[draft.turn].at,
        )
        for index, draft in enumerate(side.valid.commitments)
    ]


def _long_term(
    session: Session, conversation: ConversationRow, side: PersonSide, remember: Remember
) -> list[dict[str, Any]]:
    group = Group(world_id=conversation.world_id, person_id=side.person_id)
    episode = Episode(
        conversation_id=conversation.id,
        partner_id=side.partner_id,
        summary=side.extraction.summary,
        topics=side.extraction.topics,
        at=side.at,
    )
    facts = [
        _draft(fact, fact_id(side.person_id, conversation.id, index), side)
        for index, fact in enumerate(side.valid.facts)
    ]
    began = conversation.participants[conversation.seat_of(side.person_id)].night
    session.add(
        SummaryRow(
            world_id=group.world_id,
            person_id=group.person_id,
            conversation_id=conversation.id,
            partner_id=episode.partner_id,
            summary=episode.summary,
            topics=list(episode.topics),
            at=side.at,
            night=began,
            revision=remember(session, group, episode, facts),
        )
    )
    return [{"id": fact.id, "statement": fact.statement, "turn": fact.turn} for fact in facts]


def _draft(fact: ValidFact, draft_id: str, side: PersonSide) -> FactDraft:
    claim = fact.claim
    said_at = WorldTime(side.turns[claim.turn].at)
    return FactDraft(
        id=draft_id,
        subject=claim.subject,
        relation=claim.relation,
        object=claim.object,
        statement=claim.statement,
        words=side.turns[claim.turn].text,
        mode=claim.mode,
        importance=claim.importance,
        turn=claim.turn,
        # The day it names, if that is past and readable, else when it was said.
        valid_at=min(_time(claim.valid_on) or said_at, said_at),
        replaces=tuple(side.question.memory_ids[ref] for ref in fact.replaces),
    )


def _time(text: str) -> WorldTime | None:
    try:
        return parse_time(text) if text else None
    except BadWorldTime:
        return None
