"""Owns the live view of conversations: whoever follows one hears its words while they are spoken, and when there is
news of it in the store, which alone says what has happened. Processes that share a database tell each other.
"""

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import chain

from sqlmodel import Session, col, func, select

from service.content.profile import Emotion
from service.conversation.utterance import cut
from service.store.perception import Said
from service.store.phase import Audience
from service.store.presence import Presence
from service.store.session import Database
from service.store.tables import ClientEventCountRow, ConversationKey, ConversationRow, EventRow, TurnRow, WorldRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Speaking(Said):
    """An utterance in the making: `text` is all of it so far, and replaces what was told of this turn before.
    `utterance_id` names the attempt to speak the turn, `emotion` is how it is said (None: that is not known yet).
    """

    utterance_id: str
    emotion: Emotion | None = None


ALL = ConversationKey("", "")
"""Whoever follows it follows all conversations."""

COMES_BACK_SECONDS = 5.0
"""A client that asks again and again is away for a moment after each answer, and listens nevertheless."""

_SAYS_SECONDS = 2.0
"""So often a process says what is followed in it; for others that holds as long as for a client that is away."""

LOOK_SECONDS = 15.0
"""So often a process looks into the store for news that another one may have been killed before it could tell."""

_AT_ONCE = 50
"""So many conversations are named in one message to other processes."""


def person_key(world_id: str, person_id: str) -> ConversationKey:
    """What a client follows that waits for new conversations of the person. No conversation is called so."""
    return ConversationKey(world_id, f"@{person_id}")


class Mailbox:
    """What a client has not taken yet: whether there is news in the store, and of each utterance in the making its
    newest words. However slow the client is, the box holds no more.
    """

    def __init__(self, *, to_words: bool) -> None:
        self.to_words = to_words
        self.keys: set[ConversationKey] = set()
        self.is_stopped = False
        self._filled = asyncio.Event()
        self._has_news = False
        self._words: dict[ConversationKey, Speaking] = {}

    def put(self, key: ConversationKey, words: Speaking | None) -> None:
        """Take note of words; None: of news in the store."""
        if words is None:
            self._has_news = True
        elif self.to_words:
            self._words[key] = words
        self._filled.set()

    async def wait(self, timeout_seconds: float) -> bool:
        """Return when there is something to take (True), or after so long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._filled.wait(), timeout_seconds)
        return self._filled.is_set()

    def take(self) -> tuple[bool, dict[ConversationKey, Speaking]]:
        """Whether there may be news in the store, and the newest words; the box is empty then."""
        taken = self._has_news, self._words
        self._filled.clear()
        self._has_news, self._words = False, {}
        return taken


class Stream:
    """Tells those who follow conversations. Used on the event loop only."""

    def __init__(self) -> None:
        self._boxes: defaultdict[ConversationKey, set[Mailbox]] = defaultdict(set)
        self._left: dict[ConversationKey, float] = {}
        """When somebody who follows in another process, or is away for a moment, was heard of last."""
        self._words: dict[ConversationKey, Speaking] = {}
        self._stood: dict[ConversationKey, object] = {}
        """How those that are followed stood when the store was looked at last."""
        self._others: Presence | None = None
        self._is_stopped = False

    async def look(self, database: Database) -> None:
        """Tell what has news in the store since the last look: another process may have been killed before it could."""
        keys = list(self._boxes)
        stood, self._stood = self._stood, await database.read(lambda s: _standing(s, keys))
        for key, stands in self._stood.items():
            if stood.get(key) != stands:
                self._put(key, None)

    def join(self, presence: Presence) -> None:
        """Tell and hear other processes too, if there may be some."""
        if presence.is_shared:
            loop, self._others = asyncio.get_running_loop(), presence
            presence.hear = lambda message: loop.call_soon_threadsafe(self._hear, message)
            self._say_who_follows()

    def stop(self) -> None:
        """Tell everybody who follows something, now or later, that the service stops."""
        self._is_stopped = True
        for box in {*chain(*self._boxes.values())}:
            box.is_stopped = True
            box.put(ALL, None)

    def tell(self, key: ConversationKey, words: Speaking | None = None) -> None:
        """Tell what is being spoken; None: that something of the conversation was committed."""
        if words is not None:
            self._words[key] = words
        self._put(key, words)
        self._tell_others("news" if words is None else "words", [key], words)

    def hush(self, key: ConversationKey) -> None:
        """Tell that the utterance in the making is said, or is no more: the store knows which."""
        self._words.pop(key, None)
        self.tell(key)

    def settle(self, key: ConversationKey) -> None:
        """Tell that the closing is over, for good or not. The conversation is followed no more."""
        self.hush(key)
        self._tell_others("settled", [key])
        for box in tuple(self._boxes.get(key, ())):
            self._leave(box, key)

    def tell_people(self, world_id: str, person_ids: Iterable[str]) -> None:
        """Tell those who follow one of these people that there is news of it in the store."""
        for person_id in person_ids:
            self.tell(person_key(world_id, person_id))

    def tell_restored(self, world_id: str) -> None:
        """Tell everybody who follows anything of the world that it was brought back to an earlier moment."""
        for key in {*self._boxes, *self._words, *self._left}:
            if key.world_id == world_id:
                self.hush(key)

    def follow(self, box: Mailbox, key: ConversationKey) -> None:
        """Put into the box what is told of the conversation from now on, the words that are being spoken, and that the
        store is to be looked at: it may have changed since its follower has read it.
        """
        if key not in box.keys:
            self._boxes[key].add(box)
            box.keys.add(key)
            box.put(key, None)
            if key in self._words:
                box.put(key, self._words[key])
            self._tell_others("follows", [key])

    @contextmanager
    def mailbox(self, *keys: ConversationKey, to_words: bool = True) -> Iterator[Mailbox]:
        """A mailbox that follows these; without `to_words` it is told only what is in the store."""
        box = Mailbox(to_words=to_words)
        for key in keys:
            self.follow(box, key)
        if self._is_stopped:
            box.is_stopped = True
            box.put(ALL, None)
        try:
            yield box
        finally:
            self._left = _recent(self._left) | dict.fromkeys(box.keys if to_words else (), time.monotonic())
            for key in tuple(box.keys):
                self._leave(box, key)

    def _leave(self, box: Mailbox, key: ConversationKey) -> None:
        box.keys.discard(key)
        self._boxes[key].discard(box)
        if not self._boxes[key]:
            del self._boxes[key]

    def _put(self, key: ConversationKey, words: Speaking | None) -> None:
        for box in (*self._boxes.get(key, ()), *self._boxes.get(ALL, ())):
            box.put(key, words)

    def _tell_others(self, kind: str, keys: Iterable[ConversationKey], words: Speaking | None = None) -> None:
        """Tell other processes that conversations are followed here; or that some that are followed there have news,
        are settled, or which words are being spoken.
        """
        told = tuple(key for key in keys if kind == "follows" or key in self._left)
        if self._others is not None and told:
            self._others.tell((kind, told), json.dumps([kind, told, words], default=asdict))

    def _hear(self, message: str | None) -> None:
        """What another process tells; None: some of it may be lost."""
        if message is None:
            for box in {*chain(*self._boxes.values())}:
                box.put(ALL, None)
            return
        kind, named, words = json.loads(message)
        keys = [ConversationKey(*one) for one in named]
        if kind == "follows":
            new = [key for key in keys if key not in self._left]
            self._left |= dict.fromkeys(keys, time.monotonic())
            self._tell_others("news", new)  # until now nobody there was told what happens
            return
        for key in self._boxes.keys() & keys:
            if kind == "settled":
                self.settle(key)
                continue
            self._words.pop(key, None)
            if words is not None:
                self._words[key] = Speaking(**words)
            self._put(key, self._words.get(key))

    def _say_who_follows(self) -> None:
        """Tell it again and again, and forget what nobody follows any more."""
        self._left = _recent(self._left)
        self._words = {key: one for key, one in self._words.items() if key in self._boxes or key in self._left}
        keys = list(self._boxes)
        for begin in range(0, len(keys), _AT_ONCE):
            self._tell_others("follows", keys[begin : begin + _AT_ONCE])
        asyncio.get_running_loop().call_later(_SAYS_SECONDS, self._say_who_follows)

    def sentences_told(self, key: ConversationKey) -> int:
        """How many sentences of the utterance in the making were told."""
        words = self._words.get(key)
        return len(cut(words.text, is_whole=False)) if words is not None and self.has_listener(key) else 0

    def words(self, key: ConversationKey) -> Speaking | None:
        """What is being spoken, here or where it is followed from here."""
        return self._words.get(key)

    def has_listener(self, key: ConversationKey) -> bool:
        """Whether anybody is told the words of the conversation while they are spoken, or was until now."""
        is_here = any(box.to_words for box in (*self._boxes.get(key, ()), *self._boxes.get(ALL, ())))
        return is_here or (key in self._left and time.monotonic() - self._left[key] < COMES_BACK_SECONDS)


def _recent(times: dict[ConversationKey, float]) -> dict[ConversationKey, float]:
    now = time.monotonic()
    return {key: at for key, at in times.items() if now - at < COMES_BACK_SECONDS}


def _standing(session: Session, keys: Iterable[ConversationKey]) -> dict[ConversationKey, object]:
    """Of each what differs when there is news of it."""
    world_ids, ids = {key.world_id for key in keys}, {key.conversation_id for key in keys}
    newest = select(WorldRow.id, WorldRow.timeline, ClientEventCountRow.newest).join(
        ClientEventCountRow, col(ClientEventCountRow.world_id) == WorldRow.id, isouter=True
    )
    worlds = {row[0]: row for row in session.exec(newest.where(col(WorldRow.id).in_(world_ids)))}
    talk = ConversationRow
    said = select(func.max(TurnRow.turn)).where(TurnRow.world_id == talk.world_id, TurnRow.conversation_id == talk.id)
    told = select(func.max(EventRow.id)).where(
        EventRow.world_id == talk.world_id,
        EventRow.conversation_id == talk.id,
        EventRow.audience == Audience.PARTICIPANTS,
    )
    stands = (
        select(col(talk.world_id), col(talk.id), col(talk.phase), col(talk.end_reason))
        .where(col(talk.world_id).in_(world_ids), col(talk.id).in_(ids))
        .add_columns(said.scalar_subquery(), told.scalar_subquery())
    )
    found: dict[ConversationKey, object] = {}
    for world_id, talk_id, *news in session.execute(stands):
        found[ConversationKey(world_id, talk_id)] = (worlds[world_id][1], news)
    return {key: found.get(key) or worlds.get(key.world_id) for key in keys}
