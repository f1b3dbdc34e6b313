"""Owns what the two know when they meet: recalled once, before the first word, and made into scenes turn by turn."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from sqlmodel import Session

from service.content.profile import Mood
from service.conversation.room import Room
from service.conversation.scene import CharacterScene, Goal, LastMeeting, Line, NpcScene, Nudge, PartnerScene
from service.conversation.transcript import lines, said_between, world_at
from service.errors import NotFound
from service.llm.chat import estimate_tokens
from service.memory.recall import PersonMemory, RecentMemory, recall, remembered_as
from service.memory.self_facts import self_facts
from service.people.attitude import mood
from service.people.person import person_row
from service.people.worlds import WorldView
from service.store.tables import ConversationRow, TurnRow
from world.time import Language, WorldTime, ago

KNOWN_TOKENS = 180
"""What a speaker remembers of its partner takes no more of its prompt, by `estimate_tokens`."""
LEARNED_TOKENS = 100
"""Nor what it told about itself before: the newest of it."""
TODAY_TOKENS = 200
"""Nor the day's conversations with others: the newest of them."""


class _Shared(TypedDict):
    """The fields of every `Scene` but the speaker."""

    language: Language
    partner_id: str
    partner_name: str
    place: str
    now: str
    notices: tuple[str, ...]
    last_meeting: LastMeeting | None
    times_met: int
    acquainted: bool
    affinity: int
    stance: str
    mood: Mood
    learned: tuple[str, ...]
    known: tuple[str, ...]
    mid_term: tuple[str, ...]
    today: tuple[str, ...]
    items: tuple[str, ...]
    unsettled: tuple[Line, ...]
    unsettled_ago: str
    said_today: tuple[str, ...]
    said_before: tuple[str, ...]
    lines: tuple[Line, ...]
    turns_left: int
    nudge: Nudge | None


@dataclass(frozen=True, kw_only=True)
class PersonMind:
    """What a person brings along: what it remembers about the other, what it told about itself, its mood, what it
    carries.
    """

    memory: PersonMemory
    learned: tuple[str, ...]
    mood: Mood
    items: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Brief:
    """Everything of a scene that does not change while the two talk. `earlier` is what they said to each other before."""

    world: WorldView
    conversation: ConversationRow
    character: PersonMind
    partner: PersonMind
    earlier: tuple[TurnRow, ...] = ()

    @property
    def partner_walks(self) -> bool:
        """Whether the partner is a character too."""
        return self.conversation.partner_id in self.world.cast.characters

    def character_scene(self, goal: Goal | None, said: tuple[Line, ...], nudge: Nudge | None) -> CharacterScene:
        """The character's side, after the lines `said` so far."""
        talk = self.conversation
        shared = self._shared(talk.partner_id, self.character, said, nudge)
        return CharacterScene(speaker=self.world.character(talk.opener_id), goal=goal, **shared)

    def partner_scene(self, said: tuple[Line, ...], nudge: Nudge | None) -> NpcScene | PartnerScene:
        """The side of whom the character spoke to, after the lines `said` so far: nothing that only the character knows."""
        talk = self.conversation
        shared = self._shared(talk.opener_id, self.partner, said, nudge)
        if self.partner_walks:
            return PartnerScene(speaker=self.world.character(talk.partner_id), **shared)
        return NpcScene(speaker=self.world.npc(talk.partner_id), **shared)

    def _shared(self, partner_id: str, mind: PersonMind, said: tuple[Line, ...], nudge: Nudge | None) -> _Shared:
        recent = mind.memory.recent
        last = recent.last_summary
        before, today = self._said_to(partner_id)
        return {
            "language": self.world.language,
            "partner_id": partner_id,
            "partner_name": self.world.name_of(partner_id),
            "place": self.world.map.label(self.conversation.node_id),
            "now": self.world.sky,
            "notices": self.world.announced,
            "last_meeting": LastMeeting(summary=last.summary, ago=self._ago(last.at)) if last else None,
            "times_met": recent.attitude.times_met,
            "acquainted": self.world.cast.are_acquainted(self.conversation.opener_id, self.conversation.partner_id),
            "affinity": recent.attitude.affinity,
            "stance": recent.attitude.stance,
            "mood": mind.mood,
            "learned": _newest(mind.learned, LEARNED_TOKENS),
            "known": _within((remembered_as(self.world, found) for found in mind.memory.facts), KNOWN_TOKENS),
            "mid_term": tuple(row.content for row in recent.mid_term),
            "today": _newest(self._today(partner_id, recent), TODAY_TOKENS),
            "items": mind.items,
            "unsettled": lines(recent.unsettled),
            "unsettled_ago": self._ago(recent.unsettled[-1].at) if recent.unsettled else "",
            "said_today": today,
            "said_before": before,
            "lines": said,
            "turns_left": self.conversation.max_turns - len(said),
            "nudge": nudge,
        }

    def _said_to(self, partner_id: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What the other said to the partner on earlier days, and what today."""
        own = [turn for turn in self.earlier if turn.speaker_id != partner_id]
        is_today = [self.world.at(WorldTime(turn.at)).day == self.world.day for turn in own]
        before = tuple(turn.text for turn, today in zip(own, is_today, strict=True) if not today)
        return before, tuple(turn.text for turn, today in zip(own, is_today, strict=True) if today)

    def _today(self, partner_id: str, recent: RecentMemory) -> list[str]:
        """The day's conversations with others."""
        others = (row for row in recent.today if row.partner_id != partner_id)
        return [f"{self.world.name_of(row.partner_id)}: {row.summary}" for row in others]

    def _ago(self, then: int) -> str:
        day_starts = self.world.settings.day_starts_minutes
        return ago(WorldTime(then), self.world.now, self.world.language, day_starts=day_starts)


async def brief(room: Room, conversation: ConversationRow) -> Brief:
    """Recall for both speakers. The memory graph being away does not keep them from talking.

    Where the living world holds the conversation, all is as it was when it began, whatever the world's clock shows.

    Raises:
        NotFound: the content no longer has one of the two, or the place they stand at.
    """
    first, other = conversation.person_ids
    world = await room.database.read(lambda s: _world_of(s, room, conversation))
    # The partner's memories are not chosen by the character's goal: it knows nothing of it.
    query = " ".join(filter(None, (conversation.goal, conversation.success_criteria)))
    own, others = await asyncio.gather(
        _remembered(room, world, first, other, query), _remembered(room, world, other, first, "")
    )
    character, partner, earlier = await room.database.read(
        lambda s: (
            _mind(s, room, world, first, own),
            _mind(s, room, world, other, others),
            tuple(said_between(s, world, first, other)),
        )
    )
    return Brief(world=world, conversation=conversation, character=character, partner=partner, earlier=earlier)


def _world_of(session: Session, room: Room, conversation: ConversationRow) -> WorldView:
    world = world_at(session, room.stage, conversation, conversation.started_at)
    world.character(conversation.opener_id)
    if conversation.partner_id not in world.cast.characters:
        world.npc(conversation.partner_id)
    if conversation.node_id not in world.map.nodes:
        raise NotFound(kind="node", id=conversation.node_id)
    return world


async def _remembered(room: Room, world: WorldView, person_id: str, other_id: str, query: str) -> PersonMemory:
    limit = room.settings.memory.recall_limit
    return await recall(room.database, room.memory, world, person_id, other_id, query=query, limit=limit)


def _mind(session: Session, room: Room, world: WorldView, person_id: str, memory: PersonMemory) -> PersonMind:
    walks = person_id in world.cast.characters
    return PersonMind(
        memory=memory,
        learned=_learned(session, world, person_id),
        mood=mood(session, world, person_id, room.settings.memory.mood_cools_hours),
        items=tuple(person_row(session, world.id, person_id).items) if walks else (),
    )


def _learned(session: Session, world: WorldView, person_id: str) -> tuple[str, ...]:
    """What the person told about itself by the moment of `world`."""
    return tuple(row.statement for row in self_facts(session, world.id, person_id) if row.valid_at <= world.now)


def _within(lines: Iterable[str], tokens: int) -> tuple[str, ...]:
    """The first lines that together take no more than so many tokens."""
    kept: list[str] = []
    for line in lines:
        tokens -= estimate_tokens(line)
        if tokens < 0:
            break
        kept.append(line)
    return tuple(kept)


def _newest(lines: Sequence[str], tokens: int) -> tuple[str, ...]:
    """The last lines that together take no more than so many tokens."""
    return tuple(reversed(_within(reversed(lines), tokens)))
