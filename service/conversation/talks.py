"""Owns the conversations that the living world holds: each turn at a world time of its own, however late it is asked for.

The world's core says who talks to whom from when on (`world.life.Talk`) and asks for turn after turn, a minute each, then
for the closing. What it asks for twice, because somebody stopped in between, is answered from the rows.
"""

from sqlmodel import Session

from service.conversation.brief import Brief, brief
from service.conversation.closing import close
from service.conversation.ending import next_step
from service.conversation.phase import EndReason, Phase
from service.conversation.room import Room
from service.conversation.scene import Goal
from service.conversation.speaking import finish, speak
from service.conversation.stream import Settled
from service.conversation.transcript import failure_of, spoken, turns_of
from service.errors import NotFound
from service.llm.chat import Role
from service.people.person import night_of
from service.people.worlds import WorldView
from service.store.tables import ConversationRow, EngagementRow, TurnRow
from service.store.telling import tell
from world.life import Talk
from world.time import WorldTime


def begin(
    session: Session,
    world: WorldView,
    talk: Talk,
    *,
    conversation_id: str,
    node_id: str,
    goal: Goal | None,
    max_turns: int,
    models: dict[Role, str],
) -> ConversationRow:
    """Insert the running conversation of a talk that begins now (`world` is at its start); the caller commits.

    The core has decided that the two talk: nothing is checked. Whoever a client's conversation engages already stays
    engaged there.
    """
    row = ConversationRow(
        id=conversation_id,
        world_id=world.id,
        character_id=talk.person_id,
        npc_id=talk.partner_id,
        node_id=node_id,
        talk_id=talk.id,
        language=world.language,
        goal=goal.goal if goal else None,
        success_criteria=goal.success_criteria if goal else None,
        goal_given=goal is not None,
        max_turns=max_turns,
        phase=Phase.RUNNING,
        started_at=talk.start,
        sleeps=night_of(session, world, talk.person_id),
        partner_sleeps=night_of(session, world, talk.partner_id),
        models={str(role): name for role, name in models.items()},
    )
    for person_id in (talk.person_id, talk.partner_id):
        if session.get(EngagementRow, (world.id, person_id)) is None:
            session.add(EngagementRow(world_id=world.id, person_id=person_id, conversation_id=row.id))
    session.add(row)
    tell(session, row, talk.start, "conversation_started", row.character_id, npc_id=row.npc_id, node_id=node_id)
    return row


class Talks:
    """Speaks the turns of the living world's talks, and closes them."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._briefs: dict[str, Brief] = {}

    async def turn(self, conversation_id: str, index: int, at: WorldTime | None) -> bool:
        """Speak turn `index` at world time `at` (None: what the clock shows when it is said). True: nothing more will be said, and the conversation has ended.

        A turn that is committed already is not spoken again. A model's failure, or a client, may have ended it.

        Raises:
            ValueError: the turn before was not spoken.
        """
        over = await self._turn(conversation_id, index, at)
        if over:
            self._briefs.pop(conversation_id, None)
        return over

    def begin_anew(self, world_id: str) -> None:
        """Somebody has changed the world: what its talks go on from is read anew, as another process would do."""
        self._briefs = {i: known for i, known in self._briefs.items() if known.world.id != world_id}

    async def close(self, conversation_id: str) -> None:
        """Remember it, by one model call.

        Doing it twice changes nothing. A closing that failed is left as `closing_failed`.
        """
        room = self._room
        if await room.database.read(lambda s: s.get(ConversationRow, conversation_id)) is None:
            return
        row = await close(room, conversation_id)
        room.stream.tell(conversation_id, Settled(phase=Phase(row.phase)))

    async def _turn(self, conversation_id: str, index: int, at: WorldTime | None) -> bool:
        row, turns = await self._room.database.read(
            lambda s: (s.get(ConversationRow, conversation_id), turns_of(s, conversation_id))
        )
        if row is None or row.phase != Phase.RUNNING:
            return True
        if len(turns) < index:
            raise ValueError(f"conversation {conversation_id} has {len(turns)} turns: it cannot have turn {index} next")
        if len(turns) == index and not await self._speak(row, turns, at):
            return True
        step = next_step(spoken(turns[: index + 1], row.character_id), row.max_turns)
        if isinstance(step, EndReason):
            await finish(self._room, row, step)
            return True
        return False

    async def _speak(self, row: ConversationRow, turns: list[TurnRow], at: WorldTime | None) -> bool:
        """Add the next turn to `turns`; False: there is none, and the conversation has ended."""
        step = next_step(spoken(turns, row.character_id), row.max_turns)
        if isinstance(step, EndReason):
            await finish(self._room, row, step)
            return False
        try:
            known = await self._brief(row)
        except NotFound as exc:  # the author has taken one of the two out of the game meanwhile
            await finish(self._room, row, EndReason.CONTENT_CHANGED, failure_of(exc, "character"))
            return False
        turn = await speak(self._room, known, turns, step, at)
        if turn is not None:
            turns.append(turn)
        return turn is not None

    async def _brief(self, row: ConversationRow) -> Brief:
        known = self._briefs.get(row.id)
        if known is None:
            known = self._briefs[row.id] = await brief(self._room, row)
        return known
