"""Owns the outbox's rows: what a memory store outside our database still has to be given, or to forget, in order."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlmodel import Session, col, select

from service.memory.revision import next_epoch, next_revision
from service.memory.record import Delivery, Episode, Fact, FactDraft, Group, Kind
from service.store.ids import new_id
from service.store.tables import ConversationKey, OutboxRow

AT_ONCE = 500
"""Facts and episodes that are written in one transaction of a store outside our database."""


def leave_episode(session: Session, group: Group, episode: Episode, facts: Sequence[FactDraft]) -> int:
    """Leave an episode with its facts to be delivered; the caller commits. Answers the revision of the memory."""
    revision = next_revision(session, group)
    payload = {"episode": asdict(episode), "facts": [asdict(fact) for fact in facts]}
    session.add(_entry(group, revision, episode.conversation_id, payload))
    return revision


def leave_forgetting(session: Session, group: Group, partner_id: str | None = None) -> None:
    """Leave word that the group is to be forgotten, or what of it came of the partner, after all that was left for it
    before; the caller commits.
    """
    payload = {"forget": True} if partner_id is None else {"forget": True, "partner_id": partner_id}
    session.add(_entry(group, next_epoch(session, group), f"forget-{new_id()}", payload))


def leave_items(session: Session, group: Group, facts: Sequence[Fact], episodes: Sequence[Episode]) -> int:
    """Leave facts and episodes to be written as they stand, `AT_ONCE` an entry; the caller commits. Answers the
    revision of the last entry.
    """
    items: list[Fact | Episode] = [*facts, *episodes]
    revision = next_revision(session, group)
    for start in range(0, len(items), AT_ONCE):
        if start:
            revision = next_revision(session, group)
        some = items[start : start + AT_ONCE]
        payload = {
            "write_facts": [asdict(one) for one in some if isinstance(one, Fact)],
            "write_episodes": [asdict(one) for one in some if isinstance(one, Episode)],
        }
        session.add(_entry(group, revision, f"write-{new_id()}", payload))
        session.flush()
    return revision


def leave_removal(session: Session, group: Group, kind: Kind, key: str) -> None:
    """Leave word that a fact or an episode is to be removed, after all that was left before; the caller commits."""
    payload = {"remove": key, "kind": kind.value}
    session.add(_entry(group, next_epoch(session, group), f"remove-{new_id()}", payload))


def _entry(group: Group, revision: int, conversation_id: str, payload: dict[str, Any]) -> OutboxRow:
    return OutboxRow(
        **group.whose,
        revision=revision,
        conversation_id=conversation_id,
        payload=payload,
    )


async def hand_over(delivery: Delivery, row: OutboxRow) -> None:
    """Give the store outside our database what the row holds.

    Raises:
        GraphUnavailable: nothing was changed there, or it is not known; the same call may be made again.
    """
    group, payload = Group(world_id=row.world_id, person_id=row.person_id), row.payload
    if is_forget(row):
        await delivery.erase(group, payload.get("partner_id"))
    elif "remove" in payload:
        await delivery.erase_one(group, Kind(payload["kind"]), payload["remove"])
    elif "write_facts" in payload:
        facts = [read_fact(one) for one in payload["write_facts"]]
        await delivery.write(group, facts, [read_episode(one) for one in payload["write_episodes"]])
    else:
        await delivery.deliver(*outbox_entry(row))


async def take_back(delivery: Delivery, row: OutboxRow) -> None:
    """Remove what the row gave the store.

    Raises:
        GraphUnavailable: some may be left.
    """
    group, payload = Group(world_id=row.world_id, person_id=row.person_id), row.payload
    episodes = [payload["episode"]] if is_of_conversation(row) else payload.get("write_episodes", ())
    for fact in payload.get("facts", payload.get("write_facts", ())):
        await delivery.erase_one(group, Kind.FACT, fact["id"])
    for episode in episodes:
        await delivery.erase_one(group, Kind.SUMMARY, episode["conversation_id"])


def is_of_conversation(row: OutboxRow) -> bool:
    """Whether the row holds what was taken from a conversation that was held here."""
    return "episode" in row.payload


def is_forget(row: OutboxRow) -> bool:
    """Whether the row asks to forget."""
    return "forget" in row.payload


def outbox_entry(row: OutboxRow) -> tuple[Group, Episode, list[FactDraft]]:
    """What an outbox row holds, as the store wants it."""
    facts = [
        FactDraft(**{**fact, **{name: tuple(fact.get(name, ())) for name in ("replaces", "chain", "people")}})
        for fact in row.payload["facts"]
    ]
    group = Group(world_id=row.world_id, person_id=row.person_id)
    return group, read_episode(row.payload["episode"]), facts


def read_fact(stored: dict[str, Any]) -> Fact:
    """A fact that was stored as JSON."""
    return Fact(**{**stored, **{name: tuple(stored.get(name, ())) for name in ("chain", "people")}})


def read_episode(stored: dict[str, Any]) -> Episode:
    """An episode that was stored as JSON."""
    return Episode(**{**stored, **{name: tuple(stored[name]) for name in ("topics", "others")}})


def waiting_groups(session: Session, key: ConversationKey) -> tuple[Group, ...]:
    """Whose memories of the conversation wait to be delivered, by their ids."""
    query = select(OutboxRow).where(
        OutboxRow.world_id == key.world_id, OutboxRow.conversation_id == key.conversation_id
    )
    return tuple(
        Group(world_id=row.world_id, person_id=row.person_id)
        for row in session.exec(query.order_by(col(OutboxRow.person_id)))
    )
