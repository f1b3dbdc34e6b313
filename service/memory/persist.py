"""Owns the one transaction that settles a conversation: all its memories, or none."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlmodel import Session

from service.memory.extract import ClosingQuestion, parted_at, read_before
from service.memory.mid_term import add_mid_term
from service.memory.person_side import PersonSide, SideChanges, remember_side, side_changes
from service.memory.reflections import REFLECTS_AT, begin_reflections
from service.memory.record import Remember
from service.memory.validate import ValidExtraction
from service.people.commitments import keep_told, told_made
from service.people.worlds import WorldView
from service.settings import MemorySettings
from service.store.event_kinds import FactRejected
from service.store.insert import insert_rows
from service.store.perceived import known_late
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

    The answer is what changed, for people to see: as the one who began sees it, and under ``partner`` the other one's;
    of more than two, what each takes away under ``people``.
    """
    context = question.context
    sides = [
        PersonSide(
            question=question,
            valid=valid,
            partner_id=(partner := context.partner_of(valid.participant)).person_id,
            others=tuple(one.person_id for one, _ in context.others_of(valid.participant) if one is not partner),
            turns={turn.turn: turn for turn in turns},
            at=known_late(conversation, valid.participant.person_id) or parted_at(world, conversation),
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
    begin_reflections(session, world, {one.person_id: one.at for one in sides}, least_importance=REFLECTS_AT)
    add_mid_term(session, [row for one in changes for row in one.mid_term], now)
    seen = {side.person_id: (side, one) for side, one in zip(sides, changes, strict=True)}
    for side, one in zip(sides, changes, strict=True):
        for index, row in enumerate(one.promised):
            publish(session, conversation, side.at, told_made(row), side.person_id, index=index)
    for index, ref in enumerate(extraction.kept):
        keep_told(session, world, conversation, question.promise_ids[ref], parted_at(world, conversation), index=index)
    _tell_rejected(session, world, conversation, sides[::-1])
    first, second = seen[sides[0].person_id], seen[sides[0].partner_id]
    told = {**_seen(extraction, first, second), "partner": _seen(extraction, second, first)}
    return (
        told | {"people": {person_id: _taken(*one) for person_id, one in seen.items()}}
        if len(conversation.participants) > 2
        else told
    )


def _tell_rejected(
    session: Session, world: WorldView, conversation: ConversationRow, sides: Sequence[PersonSide]
) -> None:
    """Say of each statement that was kept out why. The log names whose memory it would have been; of a talk of two with
    an NPC, the NPC.
    """
    told: Counter[str] = Counter()
    for side in sides:
        with_npc = len(sides) == 2 and side.partner_id in world.cast.npcs
        person_id = side.partner_id if with_npc else side.person_id
        for rejected in (*side.valid.rejected_self_facts, *side.valid.rejected):
            event = FactRejected(
                conversation_id=conversation.id,
                statement=rejected.statement,
                turn=rejected.turn,
                reason=rejected.reason,
            )
            publish(session, conversation, side.at, event, person_id, index=told[person_id])
            told[person_id] += 1


_Side = tuple[PersonSide, SideChanges]


def _seen(extraction: ValidExtraction, one: _Side, other: _Side) -> dict[str, Any]:
    """What changed as one of the two sees it: what it takes away, and what the talk did to the other."""
    (own, changes), (partner, partners) = one, other
    towards = changes.to(partner.person_id)
    return {
        **_remembered(own, changes),
        "affinity": partners.to(own.person_id).affinity,
        "mood": partners.mood,
        "stance": towards.stance,
        "attitude": towards.attitude or None,
        "learned_facts": partners.self_facts,
        "rejected": [
            asdict(one) for one in (*extraction.rejected, *own.valid.rejected, *partner.valid.rejected_self_facts)
        ],
    }


def _taken(own: PersonSide, changes: SideChanges) -> dict[str, Any]:
    """What one of more than two takes away, and how it stands to the others."""
    return {
        **_remembered(own, changes),
        "mood": changes.mood,
        "towards": {
            other_id: {**asdict(towards), "attitude": towards.attitude or None}
            for other_id, towards in changes.towards.items()
        },
        "learned_facts": changes.self_facts,
        "rejected": [asdict(one) for one in (*own.valid.rejected, *own.valid.rejected_self_facts)],
    }


def _remembered(own: PersonSide, changes: SideChanges) -> dict[str, Any]:
    return {
        "summary": own.valid.summary,
        "topics": list(own.valid.topics),
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
    }
