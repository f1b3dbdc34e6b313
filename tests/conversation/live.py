"""Owns a stream that keeps what was told of conversations, in order."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from service.conversation.stream import ALL, Speaking, Stream
from service.store.tables import ConversationKey

Moment = Speaking | Literal["committed", "hushed", "settled"]


class Recorded(Stream):
    """Somebody follows all conversations, and it keeps what that one is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Moment] = []

    @contextmanager
    def followed(self) -> Iterator[list[Moment]]:
        """What is told while somebody follows."""
        with self.mailbox(ALL):
            yield self.told

    def tell(self, key: ConversationKey, words: Speaking | None = None) -> None:
        """See Stream."""
        self.told.append(words or "committed")
        super().tell(key, words)

    def hush(self, key: ConversationKey) -> None:
        """See Stream."""
        self.told.append("hushed")
        super().hush(key)

    def settle(self, key: ConversationKey) -> None:
        """See Stream."""
        self.told.append("settled")
        super().settle(key)


def spoken(told: list[Moment]) -> list[Speaking]:
    """The words that were told."""
    return [one for one in told if isinstance(one, Speaking)]
