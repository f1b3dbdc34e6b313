"""Owns what the two know when they meet: recalled once, before the first word, and made into scenes turn by turn."""

import asyncio
from dataclasses import dataclass
from typing import TypedDict

from sqlmodel import Session

from service.content.profile import Mood
from service.conversation.room import Room
from service.conversation.scene import CharacterScene, Goal, LastMeeting, Line, NpcScene, Nudge, PartnerScene
from service.conversation.transcript import lines, world_at
from service.errors import NotFound
from service.memory.recall import CharacterMemory, RecentMemory, recall, remembered_as
from service.memory.self_facts import self_facts
from service.people.attitude import mood
from service.people.person import person_row
from service.people.worlds import WorldView
from service.store.tables import ConversationRow
from world.time import Language, WorldTime, ago


class _Shared(TypedDict):
    """The fields of every `Scene`."""

    language: Language
    partner_id: str
    partner_name: str
    place: str
    now: str
    last_meeting: LastMeeting | None
    times_met: int
    acquainted: bool
    unsettled: tuple[Line, ...]
    unsettled_ago: str
    lines: tuple[Line, ...]
    turns_left: int
    nudge: Nudge | None


class _Own(TypedDict):
    """What only a character's scene has."""

    known: tuple[str, ...]
    mid_term: tuple[str, ...]
    today: tuple[str, ...]
    stance: str
    items: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CharacterMind:
    """What a character brings along: what it remembers about the other, and what it carries."""

    memory: CharacterMemory
    items: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NpcMind:
    """What an NPC brings along: what it told about itself before, and its mood."""

    learned: tuple[str, ...]
    mood: Mood


@dataclass(frozen=True, kw_only=True)
class Brief:
    """Everything of a scene that does not change while the two talk."""

    world: WorldView
    conversation: ConversationRow
    character: CharacterMind
    partner: NpcMind | CharacterMind

    def character_scene(self, goal: Goal | None, said: tuple[Line, ...], nudge: Nudge | None) -> CharacterScene:
        """The character's side, after the lines `said` so far."""
        talk = self.conversation
        return CharacterScene(
            speaker=self.world.character(talk.character_id),
            goal=goal,
            **self._shared(talk.npc_id, self.character.memory.recent, said, nudge),
            **self._own(talk.npc_id, self.character),
        )

    def partner_scene(self, said: tuple[Line, ...], nudge: Nudge | None) -> NpcScene | PartnerScene:
        """The side of whom the character spoke to, after the lines `said` so far: nothing that only the character knows."""
        talk, mind = self.conversation, self.partner
        if isinstance(mind, CharacterMind):
            return PartnerScene(
                speaker=self.world.character(talk.npc_id),
                **self._shared(talk.character_id, mind.memory.recent, said, nudge),
                **self._own(talk.character_id, mind),
            )
        recent = self.character.memory.recent
        return NpcScene(
            speaker=self.world.npc(talk.npc_id),
            learned=mind.learned,
            mood=mind.mood,
            affinity=recent.partners.affinity,
            **self._shared(talk.character_id, recent, said, nudge),
        )

    def _shared(self, partner_id: str, recent: RecentMemory, said: tuple[Line, ...], nudge: Nudge | None) -> _Shared:
        last = recent.last_summary
        return {
            "language": self.world.language,
            "partner_id": partner_id,
            "partner_name": self.world.name_of(partner_id),
            "place": self.world.map.label(self.conversation.node_id),
            "now": self.world.circumstances,
            "last_meeting": LastMeeting(summary=last.summary, ago=self._ago(last.at)) if last else None,
            "times_met": recent.attitude.times_met,
            "acquainted": self._acquainted(),
            "unsettled": lines(recent.unsettled),
            "unsettled_ago": self._ago(recent.unsettled[-1].at) if recent.unsettled else "",
            "lines": said,
            "turns_left": self.conversation.max_turns - len(said),
            "nudge": nudge,
        }

    def _own(self, partner_id: str, mind: CharacterMind) -> _Own:
        recent = mind.memory.recent
        others = (row for row in recent.today if row.partner_id != partner_id)
        return {
            "known": tuple(remembered_as(self.world, found) for found in mind.memory.facts),
            "mid_term": tuple(row.content for row in recent.mid_term),
            "today": tuple(f"{self.world.name_of(row.partner_id)}: {row.summary}" for row in others),
            "stance": recent.attitude.stance,
            "items": mind.items,
        }

    def _acquainted(self) -> bool:
        people = self.world.cast.characters
        one, other = self.conversation.character_id, self.conversation.npc_id
        return other in people[one].knows or (other in people and one in people[other].knows)

    def _ago(self, then: int) -> str:
        day_starts = self.world.settings.day_starts_minutes
        return ago(WorldTime(then), self.world.now, self.world.language, day_starts=day_starts)


async def brief(room: Room, conversation: ConversationRow) -> Brief:
    """Recall for both speakers. The memory graph being away does not keep them from talking.

    Where the living world holds the conversation, all is as it was when it began, whatever the world's clock shows.

    Raises:
        NotFound: the content no longer has one of the two, or the place they stand at.
    """
    first, other = conversation.character_id, conversation.npc_id
    world = await room.database.read(lambda s: _world_of(s, room, conversation))
    # The partner's memories are not chosen by the character's goal: it knows nothing of it.
    query = " ".join(filter(None, (conversation.goal, conversation.success_criteria)))
    if other in world.cast.npcs:
        character, partner = await asyncio.gather(
            _character_mind(room, world, first, other, query),
            room.database.read(lambda s: _npc_mind(s, room, world, other)),
        )
        return Brief(world=world, conversation=conversation, character=character, partner=partner)
    both = await asyncio.gather(
        _character_mind(room, world, first, other, query), _character_mind(room, world, other, first, "")
    )
    return Brief(world=world, conversation=conversation, character=both[0], partner=both[1])


def _world_of(session: Session, room: Room, conversation: ConversationRow) -> WorldView:
    world = world_at(session, room.stage, conversation, conversation.started_at)
    world.character(conversation.character_id)
    if conversation.npc_id not in world.cast.characters:
        world.npc(conversation.npc_id)
    if conversation.node_id not in world.map.nodes:
        raise NotFound(kind="node", id=conversation.node_id)
    return world


def _npc_mind(session: Session, room: Room, world: WorldView, npc_id: str) -> NpcMind:
    known = (fact for fact in self_facts(session, world.id, npc_id) if fact.valid_at <= world.now)
    learned = tuple(fact.statement for fact in known)
    felt = mood(session, world, npc_id, room.settings.memory.mood_cools_hours)
    return NpcMind(learned=learned, mood=felt)


async def _character_mind(room: Room, world: WorldView, character_id: str, other_id: str, query: str) -> CharacterMind:
    items = await room.database.read(lambda s: tuple(person_row(s, world.id, character_id).items))
    limit = room.settings.memory.recall_limit
    memory = await recall(room.database, room.memory, world, character_id, other_id, query=query, limit=limit)
    return CharacterMind(memory=memory, items=items)
