"""Owns what the two know when they meet: recalled once, before the first word, and made into scenes turn by turn."""

from dataclasses import dataclass

from sqlmodel import Session

from service.cast.profile import Mood
from service.cast.relation import mood_of, npc_row
from service.cast.stage import World
from service.conversation.room import Room
from service.conversation.scene import CharacterScene, Goal, LastMeeting, Line, NpcScene, Nudge
from service.conversation.transcript import lines
from service.errors import NotFound
from service.memory.extract import learned_facts
from service.memory.recall import CharacterMemory, recall, remembered_as
from service.store.tables import ConversationRow
from world.time import WorldTime, ago


@dataclass(frozen=True, kw_only=True)
class Brief:
    """Everything of a scene that does not change while the two talk."""

    world: World
    conversation: ConversationRow
    memory: CharacterMemory
    learned: tuple[str, ...]
    mood: Mood

    def character_scene(self, goal: Goal | None, said: tuple[Line, ...], nudge: Nudge | None) -> CharacterScene:
        """The character's side, after the lines `said` so far."""
        recent = self.memory.recent
        npc_id = self.conversation.npc_id
        return CharacterScene(
            language=self.world.language,
            speaker=self.world.character(self.conversation.character_id),
            partner_id=npc_id,
            partner_name=self.world.name_of(npc_id),
            place=self.world.map.label(self.conversation.node_id),
            now=self.world.label,
            last_meeting=self._last_meeting(),
            times_met=recent.relation.conversation_count,
            acquainted=self._acquainted(),
            unsettled=lines(recent.unsettled),
            unsettled_ago=self._ago(recent.unsettled[-1].at) if recent.unsettled else "",
            lines=said,
            turns_left=self.conversation.max_turns - len(said),
            nudge=nudge,
            goal=goal,
            known=tuple(remembered_as(self.world, found) for found in self.memory.facts),
            mid_term=tuple(row.content for row in recent.mid_term),
            today=tuple(
                f"{self.world.name_of(row.npc_id)}: {row.summary}" for row in recent.today if row.npc_id != npc_id
            ),
            stance=recent.relation.stance,
        )

    def npc_scene(self, said: tuple[Line, ...], nudge: Nudge | None) -> NpcScene:
        """The NPC's side, after the lines `said` so far."""
        recent = self.memory.recent
        character_id = self.conversation.character_id
        return NpcScene(
            language=self.world.language,
            speaker=self.world.npc(self.conversation.npc_id),
            partner_id=character_id,
            partner_name=self.world.name_of(character_id),
            place=self.world.map.label(self.conversation.node_id),
            now=self.world.label,
            last_meeting=self._last_meeting(),
            times_met=recent.relation.conversation_count,
            acquainted=self._acquainted(),
            unsettled=lines(recent.unsettled),
            unsettled_ago=self._ago(recent.unsettled[-1].at) if recent.unsettled else "",
            lines=said,
            turns_left=self.conversation.max_turns - len(said),
            nudge=nudge,
            learned=self.learned,
            mood=self.mood,
            affinity=recent.relation.affinity,
        )

    def _last_meeting(self) -> LastMeeting | None:
        last = self.memory.recent.last_summary
        if last is None:
            return None
        return LastMeeting(summary=last.summary, ago=self._ago(last.at))

    def _acquainted(self) -> bool:
        return self.conversation.npc_id in self.world.character(self.conversation.character_id).knows

    def _ago(self, then: int) -> str:
        day_starts = self.world.settings.day_starts_minutes
        return ago(WorldTime(then), self.world.now, self.world.language, day_starts=day_starts)


async def brief(room: Room, conversation: ConversationRow) -> Brief:
    """Recall for both speakers. The memory graph being away does not keep them from talking.

    Raises:
        NotFound: the content no longer has one of the two, or the place they stand at.
    """
    settings = room.settings.memory

    def npc_side(session: Session) -> tuple[World, tuple[str, ...], Mood]:
        world = room.stage.open(session, conversation.world_id)
        world.character(conversation.character_id)
        if conversation.node_id not in world.map.nodes:
            raise NotFound(kind="node", id=conversation.node_id)
        row = npc_row(session, world, world.npc(conversation.npc_id))
        learned = tuple(fact.statement for fact in learned_facts(session, world.id, conversation.npc_id))
        return world, learned, mood_of(row, world.now, settings.mood_cools_hours)

    world, learned, mood = await room.database.read(npc_side)
    memory = await recall(
        room.database,
        room.graph,
        world,
        conversation.character_id,
        conversation.npc_id,
        query=" ".join(filter(None, (conversation.goal, conversation.success_criteria))),
        limit=settings.recall_limit,
    )
    return Brief(world=world, conversation=conversation, memory=memory, learned=learned, mood=mood)
