"""Owns what the two know when they meet: recalled once, before the first word, and put into each one's context."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from sqlmodel import Session, select

from service.conversation.context import LastMeeting, PromptContext
from service.conversation.dependencies import ConversationDependencies
from service.conversation.ending import OPENER, PARTNER
from service.conversation.prompt import Record, render_record
from service.conversation.transcript import goal_of, lines, said_between, world_at
from service.errors import NotFound
from service.llm.chat import estimate_tokens
from service.locales.time import ago
from service.memory.recall import RecentMemory, recent_memory, remembered, remembered_as
from service.memory.self_facts import self_facts
from service.memory.store import Recalled
from service.people.attitude import mood
from service.people.life_record import read_person
from service.people.needs import FeltNeed, felt_needs, levels_of
from service.people.person import person_row
from service.people.worlds import WorldView
from service.store.tables import ConversationRow, LifeRow, PromptRow, TurnRow
from world.actions import BUILT_IN
from world.time import WorldTime

KNOWN_TOKENS = 180
"""What a speaker remembers of its partner takes no more of its prompt, by `estimate_tokens`."""
HEARD_TOKENS = 80
"""Nor what it remembers of others that bears on its goal."""
LEARNED_TOKENS = 80
"""Nor what it told about itself before: the newest of it."""
TODAY_TOKENS = 120
"""Nor the day's conversations with others: the newest of them."""


@dataclass(kw_only=True)
class Gathered:
    """What does not change while the people of a conversation talk, by seat: what each knows, and how its prompts
    begin.

    `latest` is the world when the last turn was said: of a client's conversation, its clock may have gone on.
    """

    world: WorldView
    latest: WorldView
    conversation: ConversationRow
    contexts: tuple[PromptContext, ...]
    records: tuple[Record, ...]

    def record_row(self, seat: int) -> PromptRow:
        """How that speaker's prompts begin, to be kept."""
        row, record = self.conversation, self.records[seat]
        return PromptRow(
            world_id=row.world_id,
            conversation_id=row.id,
            person_id=row.person_ids[seat],
            system=record.system,
            context=record.context,
        )


async def gather(deps: ConversationDependencies, conversation: ConversationRow) -> Gathered:
    """Recall for both speakers. The long-term memory being away does not keep them from talking.

    Where the living world holds the conversation, all is as it was when it began, whatever the world's clock shows. Who
    has spoken already goes on from the record that was kept.

    Raises:
        NotFound: the content no longer has one of the two, or the place they stand at.
    """
    opener_id, partner_id = conversation.person_ids
    world = await deps.database.read(lambda s: _world_of(s, deps, conversation))
    # The partner's memories are not chosen by the opener's goal: it knows nothing of it.
    goal = goal_of(conversation) if conversation.goal_given else None
    query = f"{goal.goal} {goal.success_criteria}" if goal else ""
    limit = deps.settings.memory.recall_limit
    own, others, heard = await asyncio.gather(
        remembered(deps.memory, world, opener_id, query, limit=limit, partner_id=partner_id),
        remembered(deps.memory, world, partner_id, "", limit=limit, partner_id=opener_id),
        remembered(deps.memory, world, opener_id, query, limit=limit if query else 0),
    )
    opener, partner, earlier, kept, latest = await deps.database.read(
        lambda s: (
            _context(s, deps, world, conversation, OPENER, own),
            _context(s, deps, world, conversation, PARTNER, others),
            said_between(s, world, opener_id, partner_id),
            _kept(s, conversation),
            deps.worlds.open(s, conversation.world_id),
        )
    )
    known = {one.fact.id for one in own}
    bearing = (remembered_as(world, one) for one in heard if one.bears and one.fact.id not in known)
    opener = replace(opener, goal=goal, sets_goal=goal is None, heard=_within(bearing, HEARD_TOKENS))
    contexts = (_with_own_words(opener, world, earlier), _with_own_words(partner, world, earlier))
    records = tuple(kept.get(context.speaker.id) or render_record(context) for context in contexts)
    return Gathered(world=world, latest=latest, conversation=conversation, contexts=contexts, records=records)


def _with_own_words(context: PromptContext, world: WorldView, earlier: Sequence[TurnRow]) -> PromptContext:
    """With what the speaker has said to the partner in the turns of earlier conversations."""
    today, before = list[str](), list[str]()
    for turn in earlier:
        if turn.speaker_id == context.speaker.id:
            (today if world.at(WorldTime(turn.at)).day == world.day else before).append(turn.text)
    return replace(context, said_today=tuple(today), said_before=tuple(before))


def _world_of(session: Session, deps: ConversationDependencies, conversation: ConversationRow) -> WorldView:
    world = world_at(session, deps.worlds, conversation, conversation.started_at)
    world.character(conversation.opener_id)
    world.cast.person(conversation.partner_id)
    if conversation.node_id not in world.map.nodes:
        raise NotFound(kind="node", id=conversation.node_id)
    return world


def _kept(session: Session, conversation: ConversationRow) -> dict[str, Record]:
    """By person id: how the prompts begin of who has spoken already."""
    query = select(PromptRow).where(
        PromptRow.world_id == conversation.world_id, PromptRow.conversation_id == conversation.id
    )
    return {row.person_id: Record(system=row.system, context=row.context) for row in session.exec(query)}


def _context(
    session: Session,
    deps: ConversationDependencies,
    world: WorldView,
    conversation: ConversationRow,
    seat: int,
    known: Sequence[Recalled],
) -> PromptContext:
    person_id, partner_id = conversation.person_ids[seat], conversation.person_ids[1 - seat]
    recent = recent_memory(session, world, person_id, partner_id)
    last = recent.last_summary
    learned = (row.statement for row in self_facts(session, world.id, person_id) if row.valid_at <= world.now)
    return PromptContext(
        language=world.language,
        own_prompts=world.cast.own_prompts,
        speaker=world.cast.person(person_id),
        begins=seat == OPENER,
        partner_id=partner_id,
        partner_name=world.name_of(partner_id),
        place=world.map.label(conversation.node_id),
        now=world.sky,
        notices=world.announced,
        last_meeting=LastMeeting(summary=last.summary, ago=_ago(world, last.at)) if last else None,
        times_met=recent.attitude.times_met,
        acquainted=world.cast.are_acquainted(person_id, partner_id),
        affinity=recent.attitude.affinity,
        stance=recent.attitude.stance,
        mood=mood(session, world, person_id, deps.settings.memory.mood_cools_hours),
        learned=_newest(tuple(learned), LEARNED_TOKENS),
        known=_within((remembered_as(world, found) for found in known), KNOWN_TOKENS),
        mid_term=tuple(row.content for row in recent.mid_term),
        today=_newest(_today(world, partner_id, recent), TODAY_TOKENS),
        unsettled=lines(recent.unsettled),
        unsettled_ago=_ago(world, recent.unsettled[-1].at) if recent.unsettled else "",
        turns_left=conversation.max_turns,
        **(_living(session, world, person_id) if person_id in world.cast.characters else {}),
    )


class _Life(TypedDict, total=False):
    """What a context tells of somebody who lives: an NPC has none of it."""

    items: tuple[str, ...]
    needs: tuple[FeltNeed, ...]
    doing: str


def _living(session: Session, world: WorldView, character_id: str) -> _Life:
    needs = world.setting.catalogue.needs
    row = session.get(LifeRow, (world.id, character_id))
    person = read_person(row.person, needs) if row else None
    levels = levels_of(world, character_id, person)
    now = max(world.now, levels.since)
    doing = person.before(world.now).action_id if person else None
    return {
        "items": tuple(person_row(session, world.id, character_id).items),
        "needs": felt_needs(world, needs.at(levels, now), needs.critical(levels, now)),
        "doing": _name_of(world, doing) if doing else "",
    }


def _name_of(world: WorldView, action_id: str) -> str:
    """What the author calls the action; "" of going, waiting and talking, and of one that is no more."""
    catalogue = world.setting.catalogue
    if action_id in BUILT_IN or not catalogue.knows(action_id):
        return ""
    return catalogue.action(action_id).name or action_id


def _today(world: WorldView, partner_id: str, recent: RecentMemory) -> list[str]:
    """The day's conversations with others."""
    others = (row for row in recent.today if row.partner_id != partner_id)
    return [f"{world.name_of(row.partner_id)}: {row.summary}" for row in others]


def _ago(world: WorldView, then: int) -> str:
    return ago(WorldTime(then), world.now, world.language, day_starts=world.settings.day_starts_minutes)


def _within(told: Iterable[str], tokens: int) -> tuple[str, ...]:
    """The first lines that together take no more than so many tokens."""
    kept: list[str] = []
    for line in told:
        tokens -= estimate_tokens(line)
        if tokens < 0:
            break
        kept.append(line)
    return tuple(kept)


def _newest(told: Sequence[str], tokens: int) -> tuple[str, ...]:
    """The last lines that together take no more than so many tokens."""
    return tuple(reversed(_within(reversed(told), tokens)))
