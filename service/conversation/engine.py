"""Owns a conversation's course: turn after turn, each committed before the next one begins, to its end and its closing.

Whoever carries a conversation calls these: a runner holds it from end to end, the living world asks for turn after
turn. What is asked for twice, because somebody stopped in between, is answered from the rows.
"""

from collections.abc import Sequence

from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.ending import next_step
from service.conversation.gather import Gathered, gather
from service.conversation.speaking import finish, speak
from service.conversation.stream import Settled
from service.conversation.transcript import failure_of, spoken, turns_of
from service.errors import NotFound
from service.store.phase import EndReason, Phase
from service.store.tables import ConversationKey, ConversationRow, TurnRow
from world.time import WorldTime


class Engine:
    """Speaks the turns of conversations and closes them. It keeps nothing but what those that run know already."""

    def __init__(self, deps: ConversationDependencies) -> None:
        self._deps = deps
        self._gathered: dict[ConversationKey, Gathered] = {}

    async def converse(self, key: ConversationKey) -> ConversationRow:
        """Hold the conversation to its end, from the turns that are committed already. Answers the row as it then
        stands.

        Whatever a model does ends the conversation in a known state; it never becomes dialogue.
        """
        row, turns = await self._read(key)
        try:
            while row is not None and row.phase == Phase.RUNNING and await self._speak(row, turns, None):
                pass
        finally:
            self._gathered.pop(key, None)
        return await self._deps.database.read(lambda s: s.get_one(ConversationRow, key))

    async def turn(self, key: ConversationKey, index: int, at: WorldTime | None) -> bool:
        """Speak turn `index` at world time `at` (None: what the clock shows when it is said). True: nothing more will
        be said, and the conversation has ended.

        A turn that is committed already is not spoken again. A model's failure, or a client, may have ended it.

        Raises:
            ValueError: the turn before was not spoken.
        """
        over = await self._turn(key, index, at)
        if over:
            self._gathered.pop(key, None)
        return over

    async def close(self, key: ConversationKey) -> None:
        """Remember it, by one model call.

        Doing it twice changes nothing. A closing that failed is left as `closing_failed`.
        """
        if await self._deps.database.read(lambda s: s.get(ConversationRow, key)) is None:
            return
        row = await close(self._deps, key)
        if row.phase != Phase.RUNNING:
            self._deps.stream.tell(key, Settled(phase=Phase(row.phase)))

    def begin_anew(self, world_id: str) -> None:
        """Somebody has changed the world: what its talks go on from is read anew, as another process would do."""
        self._gathered = {key: known for key, known in self._gathered.items() if key.world_id != world_id}

    async def _read(self, key: ConversationKey) -> tuple[ConversationRow | None, list[TurnRow]]:
        return await self._deps.database.read(lambda s: (s.get(ConversationRow, key), turns_of(s, key)))

    async def _turn(self, key: ConversationKey, index: int, at: WorldTime | None) -> bool:
        row, turns = await self._read(key)
        if row is None or row.phase != Phase.RUNNING:
            return True
        if len(turns) < index:
            raise ValueError(
                f"conversation {key.conversation_id} has {len(turns)} turns: it cannot have turn {index} next"
            )
        if len(turns) == index and not await self._speak(row, turns, at):
            return True
        return await self._next(row, turns[: index + 1]) is None

    async def _speak(self, row: ConversationRow, turns: list[TurnRow], at: WorldTime | None) -> bool:
        """Add the next turn to `turns`; False: there is none, and the conversation has ended."""
        seat = await self._next(row, turns)
        if seat is None:
            return False
        try:
            known = await self._known(row)
        except NotFound as exc:  # the author has taken one of them out of the game meanwhile
            await finish(self._deps, row, EndReason.CONTENT_CHANGED, failure_of(exc, "character"))
            return False
        turn = await speak(self._deps, known, turns, seat, at)
        if turn is not None:
            turns.append(turn)
        return turn is not None

    async def _next(self, row: ConversationRow, turns: Sequence[TurnRow]) -> int | None:
        """The seat that speaks next; None: nobody does, and the conversation has ended."""
        step = next_step(spoken(turns, row), row.max_turns)
        if isinstance(step, EndReason):
            await finish(self._deps, row, step)
            return None
        return step

    async def _known(self, row: ConversationRow) -> Gathered:
        known = self._gathered.get(row.key)
        if known is None:
            known = self._gathered[row.key] = await gather(self._deps, row)
        return known
