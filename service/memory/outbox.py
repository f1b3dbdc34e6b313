"""Owns the outbox's rows: what a memory store outside our database still has to be given, or to forget, in order."""

from collections.abc import Sequence
from dataclasses import asdict

from sqlmodel import Session, col, select

from service.memory.revision import next_epoch, next_revision
from service.memory.store import Episode, FactDraft, Group
from service.store.ids import new_id
from service.store.tables import ConversationKey, OutboxRow


def leave_episode(session: Session, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> int:
    """Leave an episode with its facts to be delivered; the caller commits. Answers the revision of the memory."""
    revision = next_revision(session, group)
    session.add(
        OutboxRow(
            world_id=group.world_id,
            person_id=group.person_id,
            revision=revision,
            conversation_id=episode.conversation_id,
            payload={"episode": asdict(episode), "facts": [asdict(fact) for fact in facts]},
        )
    )
    return revision


def leave_forgetting(session: Session, group: Group, partner_id: str | None = None) -> None:
    """Leave word that the group is to be forgotten, or what of it came of the partner, after all that was left for it
    before; the caller commits.
    """
    session.add(
        OutboxRow(
            world_id=group.world_id,
            person_id=group.person_id,
            revision=next_epoch(session, group),
            conversation_id=f"forget-{new_id()}",
            payload={"forget": True} if partner_id is None else {"forget": True, "partner_id": partner_id},
        )
    )


def is_forget(row: OutboxRow) -> bool:
    """Whether the row asks to forget."""
    return "forget" in row.payload


def outbox_entry(row: OutboxRow) -> tuple[Group, Episode, list[FactDraft]]:
    """What an outbox row holds, as the store wants it."""
    facts = [
        FactDraft(**{**fact, **{name: tuple(fact[name]) for name in ("replaces", "chain")}})
        for fact in row.payload["facts"]
    ]
    episode = row.payload["episode"]
    group = Group(world_id=row.world_id, person_id=row.person_id)
    return group, Episode(**{**episode, "topics": tuple(episode["topics"])}), facts


def waiting_groups(session: Session, key: ConversationKey) -> tuple[Group, ...]:
    """Whose memories of the conversation wait to be delivered, by their ids."""
    query = select(OutboxRow).where(
        OutboxRow.world_id == key.world_id, OutboxRow.conversation_id == key.conversation_id
    )
    return tuple(
        Group(world_id=row.world_id, person_id=row.person_id)
        for row in session.exec(query.order_by(col(OutboxRow.person_id)))
    )
