"""Owns how a connection follows conversations with humans: what is committed from the store, in its order, and the
words that are being spoken in this process.
"""

import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain

from sqlalchemy.sql import ColumnElement
from sqlmodel import Session

from service.api.dependencies import ApiDependencies
from service.api.telling import ClientEvent, Position, Telling
from service.conversation.stream import Mailbox
from service.conversation.transcript import conversation_of, conversations_open
from service.errors import NeverTold, NotFound
from service.store.client_event_kinds import TalkStarted
from service.store.client_events import (
    client_events_after,
    newest_client_event,
    of_conversation,
    of_person,
    utterances_open,
)
from service.store.phase import Phase
from service.store.tables import ClientEventRow, ConversationKey

AT_ONCE = 200
"""Most events that are read at once."""
LOOKS_SECONDS = 1.0
"""After so long without news the store is looked at where another replica may have written to it."""

Told = tuple[ClientEvent, Position]
"""An event, and how much was told with it."""

_OVER = (Phase.CLOSED, Phase.CLOSING_FAILED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Followed:
    """What is followed: one conversation, or all in which a person takes part."""

    world_id: str
    conversation_id: str | None = None
    person_id: str | None = None

    @property
    def events(self) -> Sequence[ColumnElement[bool]]:
        """Of client events: those of it."""
        if self.conversation_id is not None:
            return of_conversation(self.conversation_id)
        return of_person(self.world_id, str(self.person_id))

    def is_over(self, session: Session) -> bool:
        """Whether nothing more will be told. Raises: NotFound: there is no such conversation."""
        if self.conversation_id is None:
            return False
        return conversation_of(session, self.world_id, self.conversation_id).phase in _OVER

    def running(self, session: Session) -> list[ConversationKey]:
        """The conversations that run, or are being closed."""
        if self.conversation_id is not None:
            return [ConversationKey(self.world_id, self.conversation_id)]
        return conversations_open(session, self.world_id, str(self.person_id))


class Follower:
    """Follows for one connection. It reads no faster than it is asked to."""

    def __init__(self, deps: ApiDependencies, followed: Followed, box: Mailbox, telling: Telling) -> None:
        self._deps = deps
        self._followed = followed
        self._box = box
        self._telling = telling
        self._is_behind = True
        self.is_over = False

    @property
    def position(self) -> Position:
        """How much was told so far."""
        return self._telling.position

    async def next(self, timeout_seconds: float) -> list[Told]:
        """What comes next, each with the position after it; empty: nothing happened for so long, or nothing will."""
        told = await self._committed() if self._is_behind else []
        until = time.monotonic() + timeout_seconds
        while not told and not self.is_over and (left := until - time.monotonic()) > 0:
            await self._box.wait(left if self._deps.conversation.database.is_sqlite else min(left, LOOKS_SECONDS))
            told = await self._news()
        return told

    async def _news(self) -> list[Told]:
        told = []
        stored, words = self._box.take()
        if stored or not words or not all(self._telling.knows(key, spoken) for key, spoken in words.items()):
            told = await self._committed()
        for key, spoken in words.items():
            told += self._placed(self._telling.spoken(key, spoken))
        return told

    @property
    def is_stopped(self) -> bool:
        """The service stops: who follows is to come back."""
        return self._box.is_stopped

    def _placed(self, events: Iterable[ClientEvent]) -> list[Told]:
        return [(event, self.position) for event in events]

    async def _committed(self) -> list[Told]:
        """What was committed since; at most `AT_ONCE` of it."""
        world_id, seq = self._followed.world_id, self.position.seq

        def work(session: Session) -> tuple[bool, list[ClientEventRow]]:
            try:
                is_over = self._followed.is_over(session)
            except NotFound:  # where the world was brought back to, it had not begun
                is_over = True
            return is_over, client_events_after(session, world_id, seq, AT_ONCE, self._followed.events)

        is_over, rows = await self._deps.conversation.database.read(work)
        self._is_behind = len(rows) == AT_ONCE
        self.is_over = (is_over and not self._is_behind) or self._box.is_stopped
        for row in rows:
            if row.kind == TalkStarted.kind:
                self._deps.conversation.stream.follow(self._box, ConversationKey(world_id, row.conversation_id))
        return self._placed(chain.from_iterable(map(self._telling.committed, rows)))


@asynccontextmanager
async def following(deps: ApiDependencies, followed: Followed, position: Position) -> AsyncIterator[Follower]:
    """Follow from that position on.

    Raises:
        NotFound: there is no such conversation.
        NeverTold: no event of that number was told.
    """
    stream = deps.conversation.stream
    with stream.mailbox(followed.world_id, followed.person_id) as box:

        def work(session: Session) -> tuple[list[ConversationKey], list[ClientEventRow]]:
            newest = newest_client_event(session, followed.world_id)
            if position.seq > newest:
                raise NeverTold(seq=position.seq, newest=newest)
            followed.is_over(session)
            return followed.running(session), utterances_open(session, followed.world_id, position.seq, followed.events)

        running, open_utterances = await deps.conversation.database.read(work)
        for key in running:
            stream.follow(box, key)
        yield Follower(deps, followed, box, Telling(position, open_utterances))
