"""Owns a conversation as the Python API shows it: read as it stands, or followed while it is spoken."""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from service.conversation.transcript import conversation_of, turns_of
from service.core import LOOKS_SECONDS, Core
from service.people.worlds import WorldView
from service.store.phase import EndReason, Phase
from service.store.tables import ConversationKey, ConversationRow, TurnRow


@dataclass(frozen=True, kw_only=True)
class Talk:
    """A conversation as it stood when it was read. `row` has what is known of it, `turns` what was said."""

    row: ConversationRow
    turns: tuple[TurnRow, ...]
    failure: str | None
    """why a model could not speak or close it, in the world's language; None: nothing failed"""

    @property
    def id(self) -> str:
        """By which `World.talk` finds it."""
        return self.row.id

    @property
    def people(self) -> tuple[str, ...]:
        """Ids of those who take part; who began it is the first."""
        return self.row.person_ids

    @property
    def end_reason(self) -> EndReason | None:
        """Why it is over; None: it goes on."""
        return None if self.row.end_reason is None else EndReason(self.row.end_reason)

    @property
    def is_closed(self) -> bool:
        """Whether its people remember it."""
        return self.row.phase == Phase.CLOSED

    @property
    def answer(self) -> TurnRow | None:
        """What the partner said last, if nobody has spoken since; None: it said nothing."""
        last = self.turns[-1] if self.turns else None
        return last if last is not None and last.speaker_id != self.people[0] else None

    def __str__(self) -> str:
        """The transcript, a line a turn."""
        return "\n".join(f"{turn.speaker_name}: {turn.text}" for turn in self.turns)


def talk_of(session: Session, world: WorldView, key: ConversationKey) -> Talk:
    """Raises: NotFound."""
    row = conversation_of(session, *key)
    failure = None if row.failure is None else str(row.failure.get(world.language, row.failure["en"]))
    return Talk(row=row, turns=tuple(turns_of(session, key)), failure=failure)


async def read_talk(core: Core, key: ConversationKey) -> Talk:
    """Raises: NotFound."""
    return await core.read(key.world_id, lambda s, world: talk_of(s, world, key))


class Conversing(Awaitable[Talk], AsyncIterator[TurnRow]):
    """A conversation that begins when it is waited for: awaited it is the closed conversation, iterated its turns, each
    when it is spoken.
    """

    def __init__(self, core: Core, begin: Callable[[], Awaitable[ConversationKey]]) -> None:
        self._core, self._begin = core, begin
        self._turns = self._spoken()

    def __await__(self) -> Generator[Any, None, Talk]:
        return self._whole().__await__()

    async def __anext__(self) -> TurnRow:
        return await anext(self._turns)

    async def _whole(self) -> Talk:
        key = await self._begin()
        await self._core.carry(key)
        return await read_talk(self._core, key)

    async def _spoken(self) -> AsyncIterator[TurnRow]:
        key, told = await self._begin(), 0
        with self._core.conversation.stream.mailbox(key, to_words=False) as box:
            while True:
                talk = await read_talk(self._core, key)
                for turn in talk.turns[told:]:
                    yield turn
                told = len(talk.turns)
                if talk.row.phase != Phase.RUNNING:
                    break
                await box.wait(LOOKS_SECONDS)
                box.take()
        await self._core.carry(key)
