"""Owns the one transaction that settles a conversation: all its memories, or none."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlmodel import Session

from service.memory.extract import ClosingQuestion, parted_at
from service.memory.person_side import PersonSide, SideChanges, persist_side
from service.memory.store import Remember
from service.memory.validate import ValidExtraction
from service.people.person import hold
from service.people.worlds import WorldView
from service.settings import MemorySettings
from service.store.event_kinds import FactRejected
from service.store.publish import publish
from service.store.tables import ConversationRow, TurnRow


def persist_closing(
    session: Session,
    world: WorldView,
    conversation: ConversationRow,
    turns: Sequence[TurnRow],
    question: ClosingQuestion,
    extraction: ValidExtraction,
    settings: MemorySettings,
    remember: Remember,
) -> dict[str, Any]:
    """Write what everybody who took part takes away; the caller commits.

    The answer is what changed, for people to see: as the one who began sees it, and under ``partner`` the other one's.
    """
    hold(session, world.id, (one.person_id for one in question.context.participants))
    first, second = (
        PersonSide(
            question=question,
            extraction=extraction,
            valid=valid,
            partner_id=question.context.partner_of(valid.participant).person_id,
            turns={turn.turn: turn for turn in turns},
            at=parted_at(world, conversation),
        )
        for valid in extraction.sides
    )
    changes, partners = (
        persist_side(session, world, conversation, side, settings, remember) for side in (first, second)
    )
    _tell_rejected(session, world, conversation, (second, first))
    return {**_seen(first, changes, second, partners), "partner": _seen(second, partners, first, changes)}


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
        "stance": own.valid.attitude.stance,
        "learned_facts": partners.self_facts,
        "facts": changes.facts,
        "mid_term": changes.mid_term,
        "rejected": [asdict(one) for one in (*own.valid.rejected, *partner.valid.rejected_self_facts)],
    }
