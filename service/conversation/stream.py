"""Owns the live view of conversations: who listens to one is told what happens in it, while it happens.

Only what is committed is durable; a listener that comes late reads that from the store, and hears the rest here.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from service.store.phase import EndReason, Phase
from service.store.tables import ConversationKey, TurnRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Speaking:
    """An utterance in the making: `text` is all of it so far, and replaces what was told of this turn before.
    `utterance_id` names the attempt to speak the turn.
    """

    utterance_id: str
    turn: int
    speaker_id: str
    speaker_name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Discarded:
    """What was told of an utterance in the making counts no more: the turn is spoken anew."""

    utterance_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A turn that is committed; `utterance_id` names the attempt that became it, "": a human found its words."""

    row: TurnRow
    utterance_id: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """No more turns will come."""

    reason: EndReason


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """The closing is over, for good or not: `phase` is closed or closing_failed."""

    phase: Phase


@dataclass(frozen=True, kw_only=True, slots=True)
class Stopped:
    """The service stops: nothing more is told in this process."""


Moment = Speaking | Discarded | Said | Ended | Settled | Stopped

QUEUE_LIMIT = 1000
"""A listener this far behind loses utterances in the making, never committed turns."""


class Stream:
    """Tells listeners of this process. Used on the event loop only."""

    def __init__(self) -> None:
        self._listeners: defaultdict[ConversationKey, set[asyncio.Queue[Moment]]] = defaultdict(set)
        self._hear_all: set[asyncio.Queue[tuple[ConversationKey, Moment]]] = set()
        self._stopped = False

    def stop(self) -> None:
        """Tell everybody who listens to a conversation, now or later, that the service stops."""
        self._stopped = True
        for key in self._listeners:
            self.tell(key, Stopped())

    def tell(self, key: ConversationKey, moment: Moment) -> None:
        """Tell everybody who listens now."""
        for queue in self._listeners.get(key, ()):
            if not isinstance(moment, Speaking) or queue.qsize() < QUEUE_LIMIT:
                queue.put_nowait(moment)
        for everything in self._hear_all:
            if not isinstance(moment, Speaking) or everything.qsize() < QUEUE_LIMIT:
                everything.put_nowait((key, moment))

    def has_listener(self, key: ConversationKey) -> bool:
        """Whether anybody here is told what happens in the conversation."""
        return bool(self._hear_all) or key in self._listeners

    @contextmanager
    def listen_to_all(self) -> Iterator[asyncio.Queue[tuple[ConversationKey, Moment]]]:
        """Hear what is told of any conversation from now on, with its key."""
        queue: asyncio.Queue[tuple[ConversationKey, Moment]] = asyncio.Queue()
        self._hear_all.add(queue)
        try:
            yield queue
        finally:
            self._hear_all.discard(queue)

    @contextmanager
    def listen(self, key: ConversationKey) -> Iterator["Listener"]:
        """Hear all that is told from now on."""
        queue: asyncio.Queue[Moment] = asyncio.Queue()
        if self._stopped:
            queue.put_nowait(Stopped())
        self._listeners[key].add(queue)
        try:
            yield Listener(queue)
        finally:
            self._listeners[key].discard(queue)
            if not self._listeners[key]:
                del self._listeners[key]


class Listener:
    """One who listens to a conversation."""

    def __init__(self, queue: asyncio.Queue[Moment]) -> None:
        self._queue = queue

    async def next(self, timeout_seconds: float) -> Moment | None:
        """The next moment; None when nothing happened for so long."""
        try:
            return await asyncio.wait_for(self._queue.get(), timeout_seconds)
        except TimeoutError:
            return None
