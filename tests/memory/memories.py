"""Owns memories in tests: a store with its database, used as closings and the API use it."""

from collections.abc import Sequence
from typing import Any

from sqlmodel import Session, col, delete

from service.memory.memory_store import MemoryStore
from service.memory.record import Episode, Group, GroupDump, Memory, Recalled, has_vector
from service.store.session import Database
from service.store.tables import ConversationRow, SummaryRow, TurnRow
from tests.store.conversations import conversation_row


class Store:
    """A store and the database it is kept in; what closings and the API do with it."""

    def __init__(self, store: MemoryStore, database: Database) -> None:
        self.store = store
        self.database = database

    async def remember(
        self, group: Group, episode: Episode, memories: Sequence[Memory], said: Sequence[str] = ()
    ) -> None:
        """As a closing does: vectors first, one transaction then. `said` are the turns, the partner's first."""
        embedded = await self.store.embed([episode.text, *(one.text for one in memories if has_vector(one))])

        def work(session: Session) -> None:
            put_conversation(session, group, episode, said)
            put_summary(session, group, episode, self.store.remember(session, group, memories, embedded, episode))

        await self.database.write(work)

    async def forget(self, group: Group, partner_id: str | None = None) -> None:
        """As the API does."""
        mine = [col(SummaryRow.world_id) == group.world_id, col(SummaryRow.person_id) == group.person_id]
        if partner_id is not None:
            mine.append(col(SummaryRow.partner_id) == partner_id)

        def work(session: Session) -> None:
            self.store.forget(session, group, partner_id)
            session.execute(delete(SummaryRow).where(*mine))

        await self.database.write(work)

    async def recall(self, group: Group, query: str, **given: Any) -> list[Recalled]:
        """The store's own."""
        return await self.store.recall(group, query, **given)

    async def export(self, group: Group) -> GroupDump:
        """The store's own."""
        return await self.store.export(group)


def put_summary(session: Session, group: Group, episode: Episode, revision: int) -> None:
    """The episode's row, as the closing writes it; one that is there already stays as it was."""
    there = session.get(SummaryRow, (group.world_id, group.person_id, episode.conversation_id))
    if there is not None:
        there.revision = revision
        return
    session.add(
        SummaryRow(
            world_id=group.world_id,
            person_id=group.person_id,
            conversation_id=episode.conversation_id,
            partner_id=episode.partner_id,
            summary=episode.text,
            topics=list(episode.topics),
            at=episode.at,
            revision=revision,
        )
    )


def put_conversation(session: Session, group: Group, episode: Episode, said: Sequence[str]) -> None:
    """The conversation an episode is of, with its turns; several people may remember the same."""
    if session.get(ConversationRow, (group.world_id, episode.conversation_id)) is not None:
        return
    row = conversation_row(
        id=episode.conversation_id,
        world_id=group.world_id,
        character_id=group.person_id,
        npc_id=episode.partner_id,
        node_id="square",
        language="en",
        max_turns=10,
        phase="closed",
        started_at=episode.at,
        models={},
    )
    session.add(row)
    session.flush()
    session.add_all(
        TurnRow(
            world_id=row.world_id,
            conversation_id=row.id,
            turn=turn,
            speaker_id=group.person_id if turn % 2 else episode.partner_id,
            speaker_name=(group.person_id if turn % 2 else episode.partner_id).title(),
            text=text,
            emotion="neutral",
            at=episode.at,
            model="scripted",
            calls=1,
            prompt_tokens=1,
            completion_tokens=1,
            duration_ms=1,
        )
        for turn, text in enumerate(said)
    )
