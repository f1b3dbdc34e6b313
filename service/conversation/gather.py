"""Owns what the two know when they meet: recalled once, before the first word, and put into each one's context."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from sqlmodel import Session, col, select

from service.content.profile import Mood
from service.conversation.context import LastMeeting, PromptContext
from service.conversation.dependencies import ConversationDependencies
from service.conversation.ending import OPENER
from service.conversation.game_actions import allowed
from service.conversation.knowledge import Knowledge, knowledge
from service.conversation.lore import always_told, brought_to_mind, lore_told
from service.conversation.persona import persona_told
from service.conversation.prompt import Record, render_record
from service.conversation.room import fitted
from service.conversation.transcript import Transcript, goal_of, lines, said_between, world_of
from service.errors import NotFound
from service.locales.time import ago
from service.memory.recall import RecentMemory, new_lines, newest_within, recent_memories, remembered, within
from service.memory.refs import refs_told
from service.memory.secrets import Discretion, discretion
from service.memory.self_facts import self_facts
from service.memory.store import FACTS, Kind, Recalled
from service.people.attitude import moods, stance
from service.people.life_record import read_person
from service.people.needs import FeltNeed, felt_needs, levels_of
from service.people.worlds import WorldView
from service.store.phase import OpenedFor, Speaker
from service.store.tables import ConversationRow, LifeRow, PersonRow, PromptRow, SelfFactRow, TurnRow
from world.actions import BUILT_IN
from world.time import WorldTime

KNOWN_TOKENS = 100
"""Most tokens of a prompt, by `estimate_tokens`, for what its speaker remembers of its partner; see also room.py."""
HEARD_TOKENS = 80
"""The same for what it remembers of others that bears on its goal."""
LEARNED_TOKENS = 80
"""The same for what it told about itself before: the newest of it."""
TODAY_TOKENS = 120
"""The same for the day's conversations with others: the newest of them."""


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """What does not change while the people of a conversation talk, by seat: what each knows, and how its prompts
    begin: of those for whom a model speaks. `world` is as it was when they met. `kept` are the persons whose records
    are stored.
    """

    world: WorldView
    contexts: Mapping[int, PromptContext]
    records: Mapping[int, Record]
    kept: set[str]


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """What SQL holds of the two, read at once: by person id; `earlier` is what they have said to each other before:
    only who speaks without a model must know it.
    """

    recent: Mapping[str, RecentMemory]
    moods: Mapping[str, Mood]
    lives: Mapping[str, LifeRow]
    told: Sequence[SelfFactRow]
    earlier: Sequence[TurnRow]
    records: Mapping[str, Record]


async def gather(deps: ConversationDependencies, said: Transcript) -> Gathered:
    """Recall for those for whom a model speaks. The long-term memory being away does not keep them from talking.

    Where the living world holds the conversation, all is as it was when it began, whatever the world's clock shows. Who
    has spoken already goes on from the record that was kept.

    Raises:
        NotFound: the content no longer has one of the two, or the place they stand at.
    """
    row, world = said.row, world_of(said.row, said.world, said.row.started_at)
    _require_there(world, row)
    seats = [one.seat for one in row.participants if one.speaker == Speaker.MODEL]
    # The partner's memories are not chosen by the opener's goal: it knows nothing of it.
    goal = goal_of(row) if row.goal_given else None
    query = f"{goal.goal} {goal.success_criteria}" if goal else ""
    limit = deps.settings.memory.recall_limit
    # Where nothing is asked, the newest answers: that would be how they said goodbye.
    kinds = set(Kind) if query else FACTS

    def about_partner(seat: int) -> Awaitable[list[Recalled]]:
        asked, sought = (query, kinds) if seat == OPENER else ("", FACTS)
        owner_id, partner_id = row.person_ids[seat], row.person_ids[1 - seat]
        return remembered(deps.memory, world, owner_id, asked, limit=limit, partner_id=partner_id, kinds=sought)

    known, rows, heard = await asyncio.gather(
        asyncio.gather(*(about_partner(seat) for seat in seats)),
        deps.database.read(lambda s: _rows(s, deps, world, row, begins=not said.turns)),
        remembered(deps.memory, world, row.opener_id, query, limit=limit if query else 0, kinds=kinds),
    )
    discreet = _discretion(world, row, rows)
    rows = _discreetly(rows, discreet)
    contexts, records = dict[int, PromptContext](), dict[int, Record]()
    for seat, recalled in zip(seats, known, strict=True):
        person_id = row.person_ids[seat]
        found = discreet[person_id].known(recalled)
        context = _context(world, row, rows, seat, found, discreet[person_id])
        moment = " ".join((query if seat == OPENER else "", context.partner_name, context.place, *context.told))
        context = replace(context, persona=persona_told(world, context.speaker, moment, context.partner_id))
        if seat == OPENER:
            heard = discreet[person_id].known(heard)
            bearing = new_lines(world, (one for one in heard if one.bears), (*_told_already(context), *context.known))
            bearing += brought_to_mind(world, person_id, query)
            context = replace(
                context,
                goal=goal,
                sets_goal=goal is None,
                heard=within(bearing, HEARD_TOKENS),
                opened_for=None if row.opened_for is None else OpenedFor(row.opened_for),
                matter=row.matter,
            )
            found = [*found, *heard]
        suggests = row.choices if row.participants[1 - seat].speaker == Speaker.HUMAN else 0
        context = fitted(replace(context, actions=allowed(world, row, person_id), choices=suggests))
        record = rows.records.get(person_id) or render_record(context, _knows(world, rows, context, found))
        # Whose prompts began before a human was there, or leave the actions out, was not told of them.
        told = tuple(one for one in context.actions if one.told in record.system)
        contexts[seat], records[seat] = replace(context, actions=told), record
    return Gathered(world=world, contexts=contexts, records=records, kept=set(rows.records))


def _require_there(world: WorldView, row: ConversationRow) -> None:
    """Raises: NotFound."""
    for person_id in row.person_ids:
        world.cast.person(person_id)
    if row.node_id not in world.map.nodes:
        raise NotFound(kind="node", id=row.node_id)


def _rows(
    session: Session, deps: ConversationDependencies, world: WorldView, row: ConversationRow, *, begins: bool
) -> _Rows:
    """`begins`: nothing was said, so no record was kept."""
    one, other = row.person_ids
    lives = select(LifeRow).where(LifeRow.world_id == world.id, col(LifeRow.character_id).in_(row.person_ids))
    rehearses = deps.settings.llm.provider == "rehearsal"
    kept = select(PromptRow).where(PromptRow.world_id == world.id, PromptRow.conversation_id == row.id)
    return _Rows(
        recent=recent_memories(session, world, {one: other, other: one}),
        moods=moods(session, world, row.person_ids, deps.settings.memory.mood_cools_hours),
        lives={life.character_id: life for life in session.exec(lives)},
        told=self_facts(session, world.id, *row.person_ids),
        earlier=said_between(session, world, one, other) if rehearses else [],
        records={own.person_id: begun for own in ([] if begins else session.exec(kept)) if (begun := Record.of(own))},
    )


def _discretion(world: WorldView, row: ConversationRow, rows: _Rows) -> dict[str, Discretion]:
    """What each of the two keeps from the other, by how it likes it."""
    one, other = row.person_ids
    return {
        person_id: discretion(world.cast.person(person_id), partner_id, rows.recent[person_id].attitude.affinity)
        for person_id, partner_id in ((one, other), (other, one))
    }


def _discreetly(rows: _Rows, discreet: Mapping[str, Discretion]) -> _Rows:
    """The rows without what would give away what is kept."""
    return replace(
        rows,
        recent={person_id: discreet[person_id].recent(recent) for person_id, recent in rows.recent.items()},
        told=[row for row in rows.told if discreet[row.person_id].lets_told(row)],
    )


def _own_words(rows: _Rows, world: WorldView, person_id: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the speaker has said to the partner in earlier conversations: today, and before."""
    today, before = list[str](), list[str]()
    for turn in rows.earlier:
        if turn.speaker_id == person_id:
            (today if world.at(WorldTime(turn.at)).day == world.day else before).append(turn.text)
    return tuple(today), tuple(before)


def _context(
    world: WorldView,
    conversation: ConversationRow,
    rows: _Rows,
    seat: int,
    known: Sequence[Recalled],
    discreet: Discretion,
) -> PromptContext:
    person_id, partner_id = conversation.person_ids[seat], conversation.person_ids[1 - seat]
    recent = rows.recent[person_id]
    last = recent.last_summary
    learned = (row.words for row in rows.told if row.person_id == person_id and row.valid_at <= world.now)
    said_today, said_before = _own_words(rows, world, person_id)
    context = PromptContext(
        language=world.language,
        own_prompts=world.cast.own_prompts,
        speaker=world.cast.actor(person_id),
        begins=seat == OPENER,
        partner_id=partner_id,
        partner_name=world.name_of(partner_id),
        place=world.map.label(conversation.node_id),
        now=world.sky,
        notices=world.announced,
        told=tuple(conversation.told or ()),
        lore=always_told(world, person_id),
        last_meeting=LastMeeting(summary=last.summary, ago=_ago(world, last.at)) if last else None,
        times_met=recent.attitude.times_met,
        acquainted=world.cast.are_acquainted(person_id, partner_id),
        affinity=recent.attitude.affinity,
        stance=stance(recent.attitude, world.language),
        secrets=discreet.open,
        mood=rows.moods[person_id],
        learned=newest_within(tuple(learned), LEARNED_TOKENS),
        mid_term=tuple(f"({_ago(world, row.created_at)}) {row.content}" for row in recent.mid_term),
        today=newest_within(_today(world, partner_id, recent), TODAY_TOKENS),
        unsettled=lines(recent.unsettled),
        unsettled_ago=_ago(world, recent.unsettled[-1].at) if recent.unsettled else "",
        said_today=said_today,
        said_before=said_before,
        turns_left=conversation.max_turns,
        items=tuple(recent.person.items),
        **(_living(world, recent.person, rows.lives.get(person_id)) if person_id in world.cast.characters else {}),
    )
    return replace(context, known=within(new_lines(world, known, _told_already(context)), KNOWN_TOKENS))


def _knows(world: WorldView, rows: _Rows, context: PromptContext, found: Sequence[Recalled]) -> Knowledge:
    """What stands in the context, of what was `found` too."""
    person_id = context.speaker.id
    told = [row for row in rows.told if row.person_id == person_id and row.valid_at <= world.now]
    recalled = refs_told(world, found, (*context.known, *context.heard))
    recalled += lore_told(world, (*context.lore, *context.heard))
    return knowledge(context, rows.recent[person_id], told, recalled)


def _told_already(context: PromptContext) -> tuple[str, ...]:
    """What the prompt says of the past besides what is recalled."""
    last = (context.last_meeting.summary,) if context.last_meeting else ()
    return (
        *last,
        *context.learned,
        *context.today,
        *context.speaker.identity,
        *context.speaker.facts,
        *context.secrets,
    )


class _Life(TypedDict, total=False):
    """What a context tells of somebody who lives: an NPC has none of it."""

    needs: tuple[FeltNeed, ...]
    doing: str


def _living(world: WorldView, row: PersonRow, life: LifeRow | None) -> _Life:
    needs = world.setting.catalogue.needs
    person = read_person(life.person, needs) if life else None
    levels = levels_of(world, row.person_id, person)
    now = max(world.now, levels.since)
    doing = person.before(world.now).action_id if person else None
    return {
        "needs": felt_needs(world, needs.at(levels, now), needs.critical(levels, now)),
        "doing": name_of_doing(world, doing) if doing else "",
    }


def name_of_doing(world: WorldView, action_id: str) -> str:
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
