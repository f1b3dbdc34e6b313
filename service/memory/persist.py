"""Owns the one transaction that settles a conversation: all its memories, or none."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlmodel import Session

from service.memory.extract import ClosingQuestion, parted_at, read_before
from service.memory.mid_term import add_mid_term
from service.memory.person_side import PersonSide, SideChanges, remember_side, side_changes
from service.memory.reflections import REFLECTS_AT, begin_reflection
from service.memory.store import Remember
from service.memory.validate import ValidExtraction
from service.people.commitments import keep_told, told_made
from service.people.worlds import WorldView
from service.settings import MemorySettings
from service.store.event_kinds import FactRejected
from service.store.insert import insert_rows
from service.store.publish import publish
from service.store.tables import ConversationRow, TurnRow
from world.time import WorldTime, iso


def persist_closing(
    session: Session,
    world: WorldView,
    conversation: ConversationRow,
    turns: Sequence[TurnRow],
    question: ClosingQuestion,
    extraction: ValidExtraction,
    settings: MemorySettings,
    remember: Remember,
    now: WorldTime,
) -> dict[str, Any]:
    """Write what everybody who took part takes away, when the world's clock shows `now`; the caller commits.

    The answer is what changed, for people to see: as the one who began sees it, and under ``partner`` the other one's.
    """
    sides = [
        PersonSide(
            question=question,
            extraction=extraction,
            valid=valid,
            partner_id=question.context.partner_of(valid.participant).person_id,
            turns={turn.turn: turn for turn in turns},
            at=parted_at(world, conversation),
        )
        for valid in extraction.sides
    ]
    # Memories are locked in one order, so that nobody waits for somebody who waits for it; then all is read anew.
    remembered = {
        side.person_id: remember_side(session, conversation, side, remember)
        for side in sorted(sides, key=lambda side: side.person_id)
    }
    before = read_before(session, world, conversation, mood_cools_hours=settings.mood_cools_hours)
    changes = [
        side_changes(world, conversation, side, before, remembered[side.person_id][1], settings) for side in sides
    ]
    insert_rows(session, (summary for summary, _ in remembered.values()))
    insert_rows(session, (row for one in changes for row in one.rows))
    for side in sides:
        begin_reflection(session, world, side.person_id, side.at, least_importance=REFLECTS_AT)
    add_mid_term(session, [row for one in changes for row in one.mid_term], now)
    (first, second), (own, partners) = sides, changes
    for side, one in zip(sides, changes, strict=True):
        for index, row in enumerate(one.promised):
            publish(session, conversation, side.at, told_made(row), side.person_id, index=index)
    for index, ref in enumerate(extraction.kept):
        keep_told(session, world, conversation, question.promise_ids[ref], first.at, index=index)
    _tell_rejected(session, world, conversation, (second, first))
    return {**_seen(first, own, second, partners), "partner": _seen(second, partners, first, own)}


def _tell_rejected(
    session: Session, world: WorldView, conversation: ConversationRow, sides: Sequence[PersonSide]
) -> None:
    """Say of each statement that was kept out why. The log names whose memory it would have been; of a talk with an
    NPC, the NPC.
    """
    told: Counter[str] = Counter()
    for side in sides:
        person_id = side.partner_id if side.partner_id in world.cast.npcs else side.person_id
        for rejected in (*side.valid.rejected_self_facts, *side.valid.rejected):
            event = FactRejected(
                conversation_id=conversation.id,
                statement=rejected.statement,
                turn=rejected.turn,
                reason=rejected.reason,
            )
            publish(session, conversation, side.at, event, person_id, index=told[person_id])
            told[person_id] += 1


def _seen(own: PersonSide, changes: SideChanges, partner: PersonSide, partners: SideChanges) -> dict[str, Any]:
    """What changed as one of the two sees it: what it takes away, and what the talk did to the other."""
    return {
        "summary": own.extraction.summary,
        "topics": list(own.extraction.topics),
        "affinity": partners.affinity,
        "mood": partners.mood,
        "stance": changes.stance,
        "attitude": changes.attitude or None,
        "learned_facts": partners.self_facts,
        "facts": changes.facts,
        "mid_term": [
            {
                "content": row.content,
                "importance": row.importance,
                "expires_at": iso(WorldTime(row.expires_at)),
                "created_at": iso(WorldTime(row.created_at)),
                "partner_id": row.partner_id,
                "conversation_id": row.conversation_id,
            }
            for row in changes.mid_term
        ],
        "rejected": [
            asdict(one) for one in (*own.extraction.rejected, *own.valid.rejected, *partner.valid.rejected_self_facts)
        ],
    }
