"""Owns the one transaction that settles a conversation: all its memories, or none."""

from dataclasses import asdict
from typing import Any

from sqlmodel import Session

from service.memory.extract import Extraction, PairExtraction
from service.memory.gate import Kept, Learned
from service.memory.grounding import are_same, contradict
from service.memory.mind import Side, said_at, take_away, tell_rejected
from service.memory.self_facts import self_facts
from service.memory.store import Remember
from service.people.attitude import attitude, mood
from service.people.person import hold
from service.people.worlds import WorldView
from service.settings import MemorySettings
from service.store.ids import derived_id
from service.store.tables import AttitudeChangeRow, ConversationRow, MoodRow, SelfFactRow
from world.time import WorldTime


def settle(
    session: Session,
    world: WorldView,
    conversation: ConversationRow,
    extraction: Extraction,
    kept: Kept,
    settings: MemorySettings,
    remember: Remember,
) -> dict[str, Any]:
    """Write what was kept of a talk with an NPC; the answer is what changed, for people to see. The caller commits."""
    at = _parted(world, conversation)
    hold(session, world.id, (conversation.character_id, conversation.npc_id))
    side = Side(extraction=extraction, kept=kept)
    _stands(session, conversation, at, side.character_id, side.partner_id, stance=kept.stance)
    changes = {
        **_shown(kept),
        "affinity": _stands(session, conversation, at, side.partner_id, side.character_id, moved=side.moved),
        "mood": _mood(session, world, conversation, kept, at, settings),
        "learned_facts": _npc_facts(session, world, conversation, extraction, kept.learned),
        **take_away(session, world, conversation, side, at, remember),
    }
    tell_rejected(session, conversation, side, at, conversation.npc_id)
    return changes


def settle_pair(
    session: Session,
    world: WorldView,
    conversation: ConversationRow,
    extraction: PairExtraction,
    kept: tuple[Kept, Kept],
    remember: Remember,
) -> dict[str, Any]:
    """Write what two characters kept of their talk, each for itself; the caller commits.

    The answer has the keys of `settle` as the first of them sees it, and under ``partner`` the other one's.
    """
    at = _parted(world, conversation)
    hold(session, world.id, (conversation.character_id, conversation.npc_id))
    first, second = (Side(extraction=seen, kept=one) for seen, one in zip(extraction.views(), kept, strict=True))
    liked = [
        _stands(session, conversation, at, own.character_id, own.partner_id, moved=other.moved, stance=own.kept.stance)
        for own, other in ((second, first), (first, second))
    ]
    changes, partners = (
        {
            **_shown(side.kept),
            "affinity": affinity,
            **take_away(session, world, conversation, side, at, remember),
        }
        for side, affinity in zip((first, second), liked, strict=True)
    )
    for side in (first, second):
        tell_rejected(session, conversation, side, at, side.character_id)
    return {**changes, "mood": {"before": "neutral", "after": "neutral"}, "learned_facts": [], "partner": partners}


def _parted(world: WorldView, conversation: ConversationRow) -> WorldTime:
    return WorldTime(conversation.ended_at if conversation.ended_at is not None else world.now)


def _shown(kept: Kept) -> dict[str, Any]:
    return {
        "summary": kept.summary,
        "topics": list(kept.topics),
        "stance": kept.stance,
        "rejected": [asdict(rejected) for rejected in kept.rejected],
    }


def _stands(
    session: Session,
    conversation: ConversationRow,
    at: WorldTime,
    owner_id: str,
    other_id: str,
    *,
    moved: int = 0,
    stance: str = "",
) -> dict[str, int]:
    """What the talk did to how the owner stands to the other. A closing may be late, and another one of the same two
    done meanwhile: affinity moves by what this talk did, whatever it is by now.
    """
    before = attitude(session, conversation.world_id, owner_id, other_id, at).affinity
    change = AttitudeChangeRow(
        world_id=conversation.world_id,
        owner_id=owner_id,
        other_id=other_id,
        id=conversation.id,
        at=at,
        conversation_id=conversation.id,
        affinity_delta=moved,
        met=True,
        stance=stance,
    )
    session.add(change)
    session.flush()
    return {"before": before, "after": attitude(session, conversation.world_id, owner_id, other_id, at).affinity}


def _mood(
    session: Session,
    world: WorldView,
    conversation: ConversationRow,
    kept: Kept,
    at: WorldTime,
    settings: MemorySettings,
) -> dict[str, str]:
    npc_id, then = conversation.npc_id, world.at(at)
    before = mood(session, then, npc_id, settings.mood_cools_hours)
    felt = MoodRow(
        world_id=world.id, person_id=npc_id, id=conversation.id, at=at, mood=kept.mood, conversation_id=conversation.id
    )
    session.add(felt)
    session.flush()
    return {"before": before, "after": mood(session, then, npc_id, settings.mood_cools_hours)}


def _npc_facts(
    session: Session,
    world: WorldView,
    conversation: ConversationRow,
    extraction: Extraction,
    learned: tuple[Learned, ...],
) -> list[dict[str, Any]]:
    """The new facts, against those that hold by now: another closing may have written since this one's prompt."""
    names = frozenset({extraction.scene.npc_name, extraction.scene.character_name})
    open_facts = self_facts(session, world.id, conversation.npc_id)
    rows: list[SelfFactRow] = []
    for index, fact in enumerate(learned):
        if any(are_same(fact.statement, old.statement, names) for old in open_facts):
            continue
        row = SelfFactRow(
            world_id=conversation.world_id,
            person_id=conversation.npc_id,
            id=derived_id(conversation.id, "self_fact", index),
            statement=fact.statement,
            conversation_id=conversation.id,
            turn=fact.turn,
            valid_at=said_at(session, conversation, fact.turn),
        )
        replaced = {extraction.npc_fact_ids.get(ref) for ref in fact.replaces}
        for old in open_facts:
            if old.id in replaced or contradict(old.statement, fact.statement, names):
                _supersede(old, row)
        rows.append(row)
    session.add_all(rows)
    return [{"id": row.id, "statement": row.statement, "turn": row.turn} for row in rows]


def _supersede(old: SelfFactRow, new: SelfFactRow) -> None:
    """The one said later holds. A talk that is settled late may bring a fact that was overtaken before it was known."""
    earlier, later = (old, new) if old.valid_at <= new.valid_at else (new, old)
    if earlier.invalid_at is None:
        earlier.invalid_at, earlier.replaced_by = later.valid_at, later.id
