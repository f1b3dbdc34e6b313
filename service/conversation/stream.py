"""Owns the live view of conversations: who listens to one is told what happens in it, while it happens.

Only what is committed is durable; a listener that comes late reads that from the store, and hears the rest here.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from service.content.profile import Emotion
from service.conversation.sentences import cut
from service.store.phase import EndReason
from service.store.tables import ConversationKey, TurnRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Speaking:
    """An utterance in the making: `text` is all of it so far, and replaces what was told of this turn before.
    `utterance_id` names the attempt to speak the turn, `emotion` is how it is said (None: that is not known yet).
    """

    utterance_id: str
    turn: int
    speaker_id: str
    speaker_name: str
    text: str
    emotion: Emotion | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Discarded:
    """What was told of an utterance in the making counts no more: the turn is spoken anew."""

    utterance_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A turn that is committed."""

    row: TurnRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """No more turns will come."""

    reason: EndReason


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """The closing is over, for good or not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stopped:
    """The service stops: nothing more is told in this process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """Something was committed that clients are told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Restored:
    """The world was brought back to an earlier moment: the store knows what holds now."""


Moment = Speaking | Discarded | Said | Ended | Settled | Stopped | Stored | Restored

QUEUE_LIMIT = 1000
"""A listener this far behind loses utterances in the making, never committed turns."""


ALL = ConversationKey("", "")
"""Who listens to it hears all conversations."""

COMES_BACK_SECONDS = 5.0
"""Who asks again and again is away for a moment after each answer, and listens nevertheless."""


class Stream:
    """Tells listeners of this process. Used on the event loop only."""

    def __init__(self) -> None:
        self._left: dict[ConversationKey, float] = {}
        self._listeners: defaultdict[ConversationKey, set[Listener | Mailbox]] = defaultdict(set)
        self._boxes_of: defaultdict[tuple[str, str], set[Mailbox]] = defaultdict(set)
        self._words: dict[ConversationKey, Speaking] = {}
        self._stopped = False

    def stop(self) -> None:
        """Tell everybody who listens to a conversation, now or later, that the service stops."""
        self._stopped = True
        for listener in {*chain(*self._listeners.values(), *self._boxes_of.values())}:
            listener.put(ALL, Stopped())

    def tell(self, key: ConversationKey, moment: Moment) -> None:
        """Tell everybody who listens now."""
        for listener in (*self._listeners.get(key, ()), *self._listeners.get(ALL, ())):
            listener.put(key, moment)
            if isinstance(moment, Settled) and isinstance(listener, Mailbox):
                self._leave(listener, key)
        if isinstance(moment, Speaking):
            self._words[key] = moment
        elif not isinstance(moment, Stored):
            self._words.pop(key, None)

    def tell_people(self, world_id: str, person_ids: Iterable[str]) -> None:
        """Tell those who follow one of these people that something new of it is in the store."""
        for person_id in person_ids:
            for box in self._boxes_of.get((world_id, person_id), ()):
                box.put(ALL, Stored())

    def tell_restored(self, world_id: str) -> None:
        """Tell everybody who listens to, or follows, anything of the world that it was brought back to an earlier
        moment.
        """
        for key in {*self._listeners, *self._words}:
            if key.world_id == world_id:
                self.tell(key, Restored())
        for (world, _), boxes in self._boxes_of.items():
            for box in boxes if world == world_id else ():
                box.put(ALL, Restored())

    def follow(self, box: "Mailbox", key: ConversationKey) -> None:
        """Put into the box what is told of the conversation from now on, and the words that are being spoken."""
        if key not in box.keys:
            self._listeners[key].add(box)
            box.keys.add(key)
            if key in self._words:
                box.put(key, self._words[key])

    @contextmanager
    def mailbox(self, world_id: str, person_id: str | None = None) -> Iterator["Mailbox"]:
        """A mailbox, for the conversations it is told to follow, and for what a person begins."""
        box = Mailbox()
        if self._stopped:
            box.put(ALL, Stopped())
        if person_id is not None:
            self._boxes_of[world_id, person_id].add(box)
        try:
            yield box
        finally:
            now = time.monotonic()
            lately = {key: left for key, left in self._left.items() if now - left < COMES_BACK_SECONDS}
            self._left = lately | dict.fromkeys(box.keys, now)
            for key in tuple(box.keys):
                self._leave(box, key)
            if person_id is not None:
                _drop(self._boxes_of, (world_id, person_id), box)

    def _leave(self, box: "Mailbox", key: ConversationKey) -> None:
        box.keys.discard(key)
        _drop(self._listeners, key, box)

    def sentences_told(self, key: ConversationKey) -> int:
        """How many sentences of the utterance in the making were told."""
        words = self._words.get(key)
        return len(cut(words.text, is_whole=False)) if words is not None and self.has_listener(key) else 0

    def words(self, key: ConversationKey) -> Speaking | None:
        """What is being spoken in this process."""
        return self._words.get(key)

    def has_listener(self, key: ConversationKey) -> bool:
        """Whether anybody here is told the words of the conversation while they are spoken, or was until now."""
        if any(one.to_words for one in (*self._listeners.get(key, ()), *self._listeners.get(ALL, ()))):
            return True
        return key in self._left and time.monotonic() - self._left[key] < COMES_BACK_SECONDS

    @contextmanager
    def listen(self, key: ConversationKey, *, to_words: bool = True) -> Iterator["Listener"]:
        """Hear all that is told from now on of a conversation, or of `ALL`; without `to_words`, utterances when they
        are said.
        """
        listener = Listener(to_words=to_words)
        if self._stopped:
            listener.put(key, Stopped())
        self._listeners[key].add(listener)
        try:
            yield listener
        finally:
            _drop(self._listeners, key, listener)


class Listener:
    """One who listens to a conversation, or to all of them."""

    def __init__(self, *, to_words: bool) -> None:
        self.to_words = to_words
        self.queue: asyncio.Queue[tuple[ConversationKey, Moment]] = asyncio.Queue()

    def put(self, key: ConversationKey, moment: Moment) -> None:
        """Take note of what is told: of words in the making only as long as there is room."""
        if not isinstance(moment, Speaking) or (self.to_words and self.queue.qsize() < QUEUE_LIMIT):
            self.queue.put_nowait((key, moment))

    async def next(self, timeout_seconds: float) -> Moment | None:
        """The next moment; None when nothing happened for so long."""
        try:
            return (await asyncio.wait_for(self.queue.get(), timeout_seconds))[1]
        except TimeoutError:
            return None


class Mailbox:
    """What a client that follows committed events has not taken yet: whether something new is in the store, and of each
    utterance in the making its newest words. However slow the client is, it holds no more.
    """

    to_words = True

    def __init__(self) -> None:
        self.keys: set[ConversationKey] = set()
        self.is_stopped = False
        self._news = asyncio.Event()
        self._has_stored = False
        self._words: dict[ConversationKey, Speaking] = {}

    def put(self, key: ConversationKey, moment: Moment) -> None:
        """Take note of what is told of a conversation, or of `ALL`."""
        if isinstance(moment, Speaking):
            self._words[key] = moment
        else:
            self._has_stored = True
            self.is_stopped = self.is_stopped or isinstance(moment, Stopped)
        self._news.set()

    async def wait(self, timeout_seconds: float) -> None:
        """Return when there is something to take, or after so long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), timeout_seconds)

    def take(self) -> tuple[bool, dict[ConversationKey, Speaking]]:
        """Whether something new is in the store, and the newest words; the box is empty then."""
        taken = self._has_stored, self._words
        self._news.clear()
        self._has_stored, self._words = False, {}
        return taken


_K = TypeVar("_K")
_L = TypeVar("_L")


def _drop(followers: defaultdict[_K, set[_L]], key: _K, one: _L) -> None:
    followers[key].discard(one)
    if not followers[key]:
        del followers[key]
