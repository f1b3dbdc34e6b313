"""Owns who answers a living world's questions, and how each is asked."""

from dataclasses import dataclass

from sqlmodel import Session

from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine, Outcome
from service.conversation.transcript import end
from service.decision.choose import Chosen, choose
from service.decision.context import DecisionDependencies
from service.errors import WrongPhase
from service.memory.reflections import due_reflections
from service.runtime.memory_jobs import GraphRelay, VectorFiller
from service.runtime.world_session import WorldSession
from service.store.phase import EndReason
from service.store.tables import ConversationKey, ConversationRow
from world.perceive import Snapshot
from world.scheduler import Ask, Call
from world.time import WorldTime


@dataclass(frozen=True, kw_only=True)
class WorldDependencies:
    """Who answers the calls: shared by all worlds of a process."""

    conversation: ConversationDependencies
    decision: DecisionDependencies
    engine: Engine
    graph: GraphRelay
    vectors: VectorFiller

    @property
    def slots(self) -> int:
        """Model calls that may be out at once."""
        return self.conversation.settings.llm.max_concurrency

    async def decide(self, world_session: WorldSession, snapshot: Snapshot) -> Chosen:
        """What the one who sees `snapshot` chooses."""
        agent_state = world_session.agent_state(snapshot.person_id)
        promised = world_session.commitments.get(snapshot.person_id, ())
        return await choose(self.decision, world_session.world.at(snapshot.time), snapshot, agent_state, promised)

    async def talk_on(self, world_session: WorldSession, call: Call, at: WorldTime | None) -> Outcome | None:
        """Speak the turn at `at` (None: when the answer comes), and say what came of it; or close the talk: None. What
        was promised in it then is known to those who took part, and the graph has been given what is remembered.
        """
        key = world_session.key_of(str(call.talk_id))
        if call.ask is Ask.TURN:
            return await self.engine.turn(key, call.index, at)
        await self.engine.close(key)
        await self.graph.deliver_conversation(key)

        def work(session: Session) -> None:
            world_session.promise_again(session, *session.get_one(ConversationRow, key).person_ids)
            world_session.reflecting |= due_reflections(session, key.world_id)

        await self.conversation.database.read(work)
        return None

    async def end_dropped(self, world_session: WorldSession) -> None:
        """Conversations whose people or places the author has taken away end, and are remembered as far as they
        went.
        """
        for conversation_id in world_session.dropped:

            def work(session: Session, conversation_id: str = conversation_id) -> None:
                try:
                    end(
                        session,
                        self.conversation.worlds,
                        world_session.world.id,
                        conversation_id,
                        EndReason.CONTENT_CHANGED,
                    )
                except WrongPhase:
                    return  # it had ended before

            await self.conversation.database.write(work)
            await self.engine.close(ConversationKey(world_session.world.id, conversation_id))
        world_session.dropped = ()
