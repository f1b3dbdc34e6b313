"""Owns the one transaction that settles a conversation: all its memories, or none, and the graph's part in the outbox."""

from dataclasses import asdict
from typing import Any

from sqlmodel import Session

from service.cast.relation import AFFINITY_MAX, AFFINITY_MIN, mood_of, npc_row, relation_row
from service.cast.stage import World
from service.memory.expiry import expires_at
from service.memory.extract import Extraction, learned_facts
from service.memory.gate import Kept, Learned, Remembered
from service.memory.graph import Episode, FactDraft, Group, episode_id, fact_id
from service.memory.grounding import are_same, contradict
from service.settings import MemorySettings
from service.store.events import note
from service.store.ids import derived_id, new_id
from service.store.tables import (
    CharacterRow,
    ConversationRow,
    DailyConversationRow,
    MidTermRow,
    NpcFactRow,
    OutboxRow,
    SummaryRow,
    TurnRow,
)
from world.errors import BadWorldTime
from world.time import WorldTime, iso, parse_time


def settle(
    session: Session,
    world: World,
    conversation: ConversationRow,
    extraction: Extraction,
    kept: Kept,
    settings: MemorySettings,
) -> dict[str, Any]:
    """Write what was kept; the answer is what changed, for people to see. The caller commits."""
    at = WorldTime(conversation.ended_at if conversation.ended_at is not None else world.now)
    changes = {
        "summary": kept.summary,
        "topics": list(kept.topics),
        "stance": kept.stance,
        "rejected": [asdict(rejected) for rejected in kept.rejected],
        **_npc(session, world, conversation, extraction, kept, at, settings),
        "learned_facts": _npc_facts(session, world, conversation, extraction, kept.learned),
        "mid_term": _mid_term(session, world, conversation, kept, at),
        "facts": _graph(session, world, conversation, extraction, kept, at),
    }
    session.add(
        SummaryRow(
            conversation_id=conversation.id,
            world_id=world.id,
            character_id=conversation.character_id,
            npc_id=conversation.npc_id,
            summary=kept.summary,
            topics=list(kept.topics),
            at=at,
        )
    )
    _daily(session, conversation, kept.summary, at)
    for rejected in kept.rejected:
        note(
            session,
            world.id,
            at,
            "fact_rejected",
            conversation.npc_id,
            conversation_id=conversation.id,
            statement=rejected.statement,
            turn=rejected.turn,
            reason=rejected.reason.value,
        )
    return changes


def _npc(
    session: Session,
    world: World,
    conversation: ConversationRow,
    extraction: Extraction,
    kept: Kept,
    at: WorldTime,
    settings: MemorySettings,
) -> dict[str, Any]:
    npc = world.npc(conversation.npc_id)
    row = npc_row(session, world, npc, lock=True)
    relation = relation_row(session, world.id, npc.id, conversation.character_id, lock=True)
    mood_before, affinity_before = mood_of(row, at, settings.mood_cools_hours), relation.affinity
    # A closing may be late and another one of the same two done meanwhile: affinity moves by what this talk did,
    # and mood and stance stay those of the later talk.
    moved = relation.affinity + kept.affinity - extraction.scene.affinity
    relation.affinity = max(AFFINITY_MIN, min(AFFINITY_MAX, moved))
    if at >= (row.last_conversation_at or at):
        row.mood, row.mood_at, row.last_conversation_at = kept.mood, at, at
    if at >= (relation.last_met_at or at):
        relation.stance, relation.last_met_at = kept.stance, at
    row.conversation_count += 1
    relation.conversation_count += 1
    return {
        "affinity": {"before": affinity_before, "after": relation.affinity},
        "mood": {"before": mood_before, "after": mood_of(row, at, settings.mood_cools_hours)},
    }


def _npc_facts(
    session: Session, world: World, conversation: ConversationRow, extraction: Extraction, learned: tuple[Learned, ...]
) -> list[dict[str, Any]]:
    """The new facts, against those that hold by now: another closing may have written since this one's prompt."""
    names = frozenset({extraction.scene.npc_name, extraction.scene.character_name})
    open_facts = learned_facts(session, world.id, conversation.npc_id)
    rows: list[NpcFactRow] = []
    for index, fact in enumerate(learned):
        if any(are_same(fact.statement, old.statement, names) for old in open_facts):
            continue
        row = NpcFactRow(
            id=derived_id(conversation.id, "npc_fact", index),
            world_id=conversation.world_id,
            npc_id=conversation.npc_id,
            statement=fact.statement,
            conversation_id=conversation.id,
            turn=fact.turn,
            valid_at=_said_at(session, conversation, fact.turn),
        )
        replaced = {extraction.npc_fact_ids.get(ref) for ref in fact.replaces}
        for old in open_facts:
            if old.id in replaced or contradict(old.statement, fact.statement, names):
                _supersede(old, row)
        rows.append(row)
    session.add_all(rows)
    return [{"id": row.id, "statement": row.statement, "turn": row.turn} for row in rows]


def _supersede(old: NpcFactRow, new: NpcFactRow) -> None:
    """The one said later holds. A talk that is settled late may bring a fact that was overtaken before it was known."""
    earlier, later = (old, new) if old.valid_at <= new.valid_at else (new, old)
    if earlier.invalid_at is None:
        earlier.invalid_at, earlier.replaced_by = later.valid_at, later.id


def _mid_term(
    session: Session, world: World, conversation: ConversationRow, kept: Kept, at: WorldTime
) -> list[dict[str, Any]]:
    rows = [
        MidTermRow(
            id=derived_id(conversation.id, "mid_term", index),
            world_id=world.id,
            character_id=conversation.character_id,
            content=draft.content,
            importance=draft.importance,
            created_at=at,
            expires_at=expires_at(draft.importance, at, day_starts=world.settings.day_starts_minutes),
            source_npc_id=conversation.npc_id,
            conversation_id=conversation.id,
        )
        for index, draft in enumerate(kept.mid_term)
    ]
    session.add_all(rows)
    return [
        {"content": row.content, "importance": row.importance, "expires_at": iso(WorldTime(row.expires_at))}
        for row in rows
    ]


def _daily(session: Session, conversation: ConversationRow, summary: str, at: WorldTime) -> None:
    """Into the day it began in: a talk settled after the character has slept belongs to a day that is cleared."""
    character = session.get(CharacterRow, (conversation.world_id, conversation.character_id))
    if (character.sleeps if character else 0) != conversation.sleeps:
        return
    session.add(
        DailyConversationRow(
            world_id=conversation.world_id,
            character_id=conversation.character_id,
            conversation_id=conversation.id,
            npc_id=conversation.npc_id,
            summary=summary,
            at=at,
        )
    )


def _graph(
    session: Session, world: World, conversation: ConversationRow, extraction: Extraction, kept: Kept, at: WorldTime
) -> list[dict[str, Any]]:
    group = Group(world_id=world.id, character_id=conversation.character_id)
    episode = Episode(
        id=episode_id(group, conversation.id),
        name=_episode_name(world, conversation.npc_id),
        body=kept.summary,
        partner_id=conversation.npc_id,
        conversation_id=conversation.id,
        at=at,
    )
    facts = [
        _draft(
            remembered, fact_id(episode.id, index), extraction, _said_at(session, conversation, remembered.fact.turn)
        )
        for index, remembered in enumerate(kept.remembered)
    ]
    session.add(
        OutboxRow(
            conversation_id=conversation.id,
            world_id=world.id,
            character_id=conversation.character_id,
            payload={"episode": asdict(episode), "facts": [asdict(fact) for fact in facts]},
        )
    )
    return [{"id": fact.id, "statement": fact.statement, "turn": fact.turn} for fact in facts]


def _draft(remembered: Remembered, draft_id: str, extraction: Extraction, said_at: WorldTime) -> FactDraft:
    fact = remembered.fact
    return FactDraft(
        id=draft_id,
        subject=fact.subject,
        relation=fact.relation,
        object=fact.object,
        statement=fact.statement,
        turn=fact.turn,
        valid_at=_valid_at(fact.valid_on, said_at),
        replaces=tuple(extraction.memory_ids[ref] for ref in remembered.replaces),
    )


def _valid_at(valid_on: str, said_at: WorldTime) -> WorldTime:
    """Since when a fact is true: the day it names if that is past and readable, else when it was said."""
    try:
        return min(parse_time(valid_on), said_at) if valid_on else said_at
    except BadWorldTime:
        return said_at


def _said_at(session: Session, conversation: ConversationRow, turn: int) -> WorldTime:
    return WorldTime(session.get_one(TurnRow, (conversation.id, turn)).at)


def _episode_name(world: World, npc_id: str) -> str:
    name = world.name_of(npc_id)
    return f"{name}との会話" if world.language == "ja" else f"Conversation with {name}"


def forget_entry(world_id: str, character_id: str) -> OutboxRow:
    """An outbox row that makes the graph forget the character's group, after all that was left for it before."""
    return OutboxRow(
        conversation_id=f"forget-{new_id()}", world_id=world_id, character_id=character_id, payload={"forget": True}
    )


def is_forget(row: OutboxRow) -> bool:
    """Whether the row asks to forget."""
    return "forget" in row.payload


def outbox_entry(row: OutboxRow) -> tuple[Group, Episode, list[FactDraft]]:
    """What an outbox row holds, as the graph wants it."""
    facts = [FactDraft(**{**fact, "replaces": tuple(fact["replaces"])}) for fact in row.payload["facts"]]
    group = Group(world_id=row.world_id, character_id=row.character_id)
    return group, Episode(**row.payload["episode"]), facts
