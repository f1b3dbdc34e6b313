"""Owns what people know when they meet: recalled once, before the first word, and put into each one's context."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import TypedDict

from sqlmodel import Session, col, select

from service.content.profile import Mood
from service.conversation.context import LastMeeting, Present, PromptContext, ScenePart
from service.conversation.dependencies import ConversationDependencies
from service.conversation.ending import OPENER
from service.conversation.game_actions import allowed
from service.conversation.hearing import goes_on, interventions_in
from service.conversation.knowledge import Knowledge, knowledge
from service.conversation.lore import always_told, brought_to_mind, lore_told
from service.conversation.memory_share import fitted, scaled
from service.conversation.perception import those_there
from service.conversation.persona import persona_told
from service.conversation.prompt import Record, render_record
from service.conversation.relevance import bearing
from service.conversation.staging import Setting, setting_of
from service.conversation.transcript import Transcript, goal_of, lines, said_between, world_of
from service.errors import NotFound
from service.llm.chat import estimate_tokens
from service.locales.time import ago
from service.memory.episodes import acquainted
from service.memory.recall import RecentMemory, new_lines, newest_within, recent_memories, remembered, within
from service.memory.refs import refs_told
from service.memory.secrets import Discretion, discretion_among
from service.memory.self_facts import self_facts
from service.memory.record import FACTS, Kind, Recalled
from service.people.attitude import Attitude, attitudes_among, moods, stance
from service.people.life_record import read_person
from service.people.needs import FeltNeed, felt_needs, levels_of
from service.people.worlds import WorldView
from service.store.phase import ClockPolicy, Modulator, OpenedFor, Speaker, TurnForm, TurnPolicy
from service.store.tables import (
    ConversationRow,
    InterventionRow,
    LifeRow,
    ParticipantRow,
    PersonRow,
    PromptRow,
    SelfFactRow,
    TurnRow,
)
from world.actions import BUILT_IN
from world.time import WorldTime

KNOWN_TOKENS = 100
"""Most tokens, by `estimate_tokens`, for what a speaker remembers of its partner in a small context; see `scaled`."""
HEARD_TOKENS = 80
"""The same for what it remembers of others that bears on its goal."""
LEARNED_TOKENS = 80
"""The same for what it told about itself before: what bears on the moment, then the newest of it."""
TODAY_TOKENS = 120
"""The same for the day's conversations with others: the newest of them."""
OTHERS_TOKENS = 90
"""The same for what it remembers of those who are there besides its partner, all together."""
MOST_OF_ONE = 2
"""Lines that are remembered of each of those."""


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
    """What SQL holds of the people, read at once: by person id; `earlier` is what they have said to each other
    before: only who speaks without a model must know it. `attitudes` are each one's towards each other. `setting`
    is that of a scene, `interventions` what was done to it.
    """

    recent: Mapping[str, RecentMemory]
    setting: Setting
    attitudes: Mapping[tuple[str, str], Attitude]
    acquainted: Set[frozenset[str]]
    moods: Mapping[str, Mood]
    lives: Mapping[str, LifeRow]
    told: Sequence[SelfFactRow]
    earlier: Sequence[TurnRow]
    records: Mapping[str, Record]
    interventions: Sequence[InterventionRow]


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
    met = {seat: met_by(row, seat) for seat in seats}
    company = {seat: [*there, *later] for seat, (there, later) in met.items()}
    # The partner's memories are not chosen by the opener's goal: it knows nothing of it.
    goal = goal_of(row) if row.goal_given else None
    query = f"{goal.goal} {goal.success_criteria}" if goal else ""
    limit, tokens = deps.settings.memory.recall_limit, deps.settings.llm.context_tokens
    # Where nothing is asked, the newest answers: that would be how they said goodbye.
    kinds = set(Kind) if query else FACTS

    def about(seat: int, other_id: str) -> Awaitable[list[Recalled]]:
        asked, sought = (query, kinds) if seat == OPENER else ("", FACTS)
        is_partner = other_id == company[seat][0]
        most = limit if is_partner else min(limit, MOST_OF_ONE)
        return remembered(
            deps.memory, world, row.person_ids[seat], asked, limit=most, partner_id=other_id, kinds=sought
        )

    known, rows, heard = await asyncio.gather(
        asyncio.gather(*(asyncio.gather(*(about(seat, other) for other in company[seat])) for seat in seats)),
        deps.database.read(lambda s: _rows(s, deps, world, row, company, begins=not said.turns)),
        remembered(deps.memory, world, row.opener_id, query, limit=limit if query else 0, kinds=kinds),
    )
    discreet = _discretion(world, row, rows, {seat: there for seat, (there, _) in met.items()})
    rows = _discreetly(rows, discreet)
    contexts, records = dict[int, PromptContext](), dict[int, Record]()
    for seat, (about_partner, *about_others) in zip(seats, known, strict=True):
        person_id = row.person_ids[seat]
        found = discreet[person_id].known(about_partner, world)
        context = _context(world, row, rows, seat, company[seat], found, discreet[person_id], tokens)
        kept_back = [discreet[person_id].known(one, world) for one in about_others]
        others = dict(zip(company[seat][1:], kept_back, strict=True))
        context = replace(context, others=_others(world, row, rows, person_id, others, context.known, tokens))
        moment = " ".join((query if seat == OPENER else "", *context.company, context.place, *context.told))
        context = replace(
            context,
            persona=persona_told(world, context.speaker, moment, context.affinities),
            learned=within(_bearing_first(moment, context.has_told), scaled(LEARNED_TOKENS, tokens)),
        )
        if seat == OPENER:
            heard = discreet[person_id].known(heard, world)
            bears = new_lines(world, (one for one in heard if one.bears), (*_told_already(context), *context.known))
            bears += brought_to_mind(world, person_id, query)
            context = replace(
                context,
                goal=goal,
                sets_goal=goal is None and context.part is None,
                heard=within(bears, scaled(HEARD_TOKENS, tokens)),
                opened_for=None if row.opened_for is None else OpenedFor(row.opened_for),
                matter=row.matter,
            )
            found = [*found, *heard]
        found = [*found, *chain.from_iterable(others.values())]
        hears_human = any(one.speaker == Speaker.HUMAN and one.seat != seat for one in row.participants)
        suggests = row.choices if hears_human else 0
        there, later = context.others[: len(met[seat][0]) - 1], context.others[len(met[seat][0]) - 1 :]
        allows = allowed(world, row, person_id)
        context = fitted(replace(context, actions=allows, choices=suggests, others=there), tokens)
        record = rows.records.get(person_id) or render_record(context, _knows(world, rows, context, found))
        # Whose prompts began before a human was there, or leave the actions out, was not told of them.
        told = tuple(one for one in context.actions if one.told in record.system)
        contexts[seat], records[seat] = replace(context, actions=told, others=(*context.others, *later)), record
    return Gathered(world=world, contexts=contexts, records=records, kept=set(rows.records))


def met_by(row: ConversationRow, seat: int) -> tuple[list[str], list[str]]:
    """Those who are there when the person in that seat joins, and not itself: first whom it turns to, its partner. And
    those who are not there then.
    """
    joined = row.participants[seat].joined_turn
    rest = [one.seat for one in row.participants if one.seat != seat]
    there = [one.seat for one in those_there(row, joined) if one.seat != seat] or rest
    first = OPENER if OPENER in there else min(there, key=lambda other: (other < seat, other))
    there.sort(key=lambda other: other != first)
    return [row.person_ids[one] for one in there], [row.person_ids[one] for one in rest if one not in there]


def _require_there(world: WorldView, row: ConversationRow) -> None:
    """Raises: NotFound."""
    for person_id in row.person_ids:
        world.cast.person(person_id)
    if not row.place and row.node_id not in world.map.nodes:
        raise NotFound(kind="node", id=row.node_id)


def _rows(
    session: Session,
    deps: ConversationDependencies,
    world: WorldView,
    row: ConversationRow,
    company: Mapping[int, Sequence[str]],
    *,
    begins: bool,
) -> _Rows:
    """`begins`: nothing was said, so no record was kept."""
    partners = {row.person_ids[seat]: others[0] for seat, others in company.items()}
    lives = select(LifeRow).where(LifeRow.world_id == world.id, col(LifeRow.character_id).in_(row.person_ids))
    rehearses = deps.settings.llm.provider == "rehearsal"
    pairs = combinations(row.participants, 2) if rehearses else ()
    kept = select(PromptRow).where(PromptRow.world_id == world.id, PromptRow.conversation_id == row.id)
    return _Rows(
        recent=recent_memories(session, world, partners, besides=row.id),
        setting=setting_of(session, row),
        attitudes=attitudes_among(session, world.id, row.person_ids, world.now) if len(row.person_ids) > 2 else {},
        acquainted=acquainted(session, world, row.person_ids),
        moods=moods(session, world, row.person_ids, deps.settings.memory.mood_cools_hours),
        lives={life.character_id: life for life in session.exec(lives)},
        told=self_facts(session, world.id, *row.person_ids),
        earlier=[turn for pair in pairs for turn in _said_before(session, world, row, *pair)],
        interventions=interventions_in(session, row.key) if row.form == TurnForm.SCENE else (),
        records={own.person_id: begun for own in ([] if begins else session.exec(kept)) if (begun := Record.of(own))},
    )


def _said_before(
    session: Session, world: WorldView, row: ConversationRow, one: ParticipantRow, other: ParticipantRow
) -> list[TurnRow]:
    """What both had heard from each other before both were there."""
    joined = max(one.joined_turn, other.joined_turn) if row.clock_policy == ClockPolicy.MINUTE else 0
    then = world.at(WorldTime(world.now + joined))
    return said_between(session, then, one.person_id, other.person_id, besides=row.id)


def _discretion(
    world: WorldView, row: ConversationRow, rows: _Rows, company: Mapping[int, Sequence[str]]
) -> dict[str, Discretion]:
    """What each keeps from the others, by how it likes them."""
    found = dict[str, Discretion]()
    for seat, (partner_id, *others) in company.items():
        person_id = row.person_ids[seat]
        liked = {other: rows.attitudes[person_id, other].affinity for other in others}
        found[person_id] = discretion_among(
            world.cast.person(person_id), {partner_id: rows.recent[person_id].attitude.affinity, **liked}
        ).apart(world, person_id, (partner_id, *others))
    return found


def _discreetly(rows: _Rows, discreet: Mapping[str, Discretion]) -> _Rows:
    """The rows without what would give away what is kept."""
    return replace(
        rows,
        recent={person_id: discreet[person_id].recent(recent) for person_id, recent in rows.recent.items()},
        told=[row for row in rows.told if row.person_id in discreet and discreet[row.person_id].lets_told(row)],
    )


def _own_words(rows: _Rows, world: WorldView, person_id: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the speaker has said to those who are there in earlier conversations: today, and before."""
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
    company: Sequence[str],
    known: Sequence[Recalled],
    discreet: Discretion,
    tokens: int,
) -> PromptContext:
    person_id, partner_id = conversation.person_ids[seat], company[0]
    recent = rows.recent[person_id]
    last = recent.last_summary
    learned = (row.words for row in rows.told if row.person_id == person_id and row.valid_at <= world.now)
    said_today, said_before = _own_words(rows, world, person_id)
    has_own_time = bool(conversation.place or rows.setting.time)
    lives_there = person_id in world.cast.characters and not has_own_time
    before = rows.setting.before.get(person_id, "")
    context = PromptContext(
        language=world.language,
        own_prompts=world.cast.own_prompts,
        speaker=world.cast.actor(person_id),
        begins=seat == OPENER,
        partner_id=partner_id,
        partner_name=world.name_of(partner_id),
        place=conversation.place or world.map.label(conversation.node_id),
        now="" if has_own_time else world.sky,
        notices=world.announced,
        told=goes_on(conversation, rows.interventions, conversation.participants[seat].joined_turn),
        scene_before="" if last is not None and last.summary == before else before,
        lore=always_told(world, person_id),
        last_meeting=LastMeeting(summary=last.summary, ago=_ago(world, last.at)) if last else None,
        times_met=recent.attitude.times_met,
        acquainted=frozenset((person_id, partner_id)) in rows.acquainted,
        affinity=recent.attitude.affinity,
        stance=stance(recent.attitude, world.language),
        secrets=discreet.open,
        mood=rows.moods[person_id],
        has_told=tuple(learned)[::-1],
        mid_term=tuple(f"({_ago(world, row.created_at)}) {row.content}" for row in recent.mid_term),
        today=newest_within(_today(world, partner_id, recent), scaled(TODAY_TOKENS, tokens)),
        unsettled=lines(recent.unsettled),
        unsettled_ago=_ago(world, recent.unsettled[-1].at) if recent.unsettled else "",
        said_today=said_today,
        said_before=said_before,
        turns_left=conversation.max_turns,
        items=tuple(recent.person.items),
        part=_part(conversation, seat, partner_id),
        **(_living(world, recent.person, rows.lives.get(person_id)) if lives_there else {}),
    )
    lines_known = new_lines(world, known, _told_already(context))
    return replace(context, known=within(lines_known, scaled(KNOWN_TOKENS, tokens)))


def _bearing_first(moment: str, told: Sequence[str]) -> list[str]:
    """What somebody told of itself: what bears on the moment, best first, then the rest, the newest first."""
    first = [told[place] for place in bearing(moment, told)]
    return [*first, *(text for text in told if text not in first)]


def _part(row: ConversationRow, seat: int, partner_id: str) -> ScenePart | None:
    if row.form != TurnForm.SCENE:
        return None
    own, partner = row.participants[seat], row.participants[row.seat_of(partner_id)]
    return ScenePart(
        goal=own.goal,
        plan=own.plan,
        spot=own.spot,
        partner_spot=partner.spot,
        addresses=row.turn_policy == TurnPolicy.ADDRESSED or row.modulator != Modulator.ALL,
        urges=row.turn_policy == TurnPolicy.URGENCY,
    )


def _others(
    world: WorldView,
    row: ConversationRow,
    rows: _Rows,
    person_id: str,
    known: Mapping[str, Sequence[Recalled]],
    told: Sequence[str],
    tokens: int,
) -> tuple[Present, ...]:
    """Those who are there besides the partner; what is `told` of the partner is not told again."""
    spots = {one.person_id: one.spot for one in row.participants}
    found, room = list[Present](), scaled(OTHERS_TOKENS, tokens)
    for other, recalled in known.items():
        lines_of_it = within(new_lines(world, recalled, told), room)
        room -= sum(map(estimate_tokens, lines_of_it))
        towards = rows.attitudes[person_id, other]
        found.append(
            Present(
                person_id=other,
                name=world.name_of(other),
                language=world.language,
                affinity=towards.affinity,
                stance=stance(towards, world.language),
                acquainted=frozenset((person_id, other)) in rows.acquainted,
                ago=_ago(world, towards.last_met_at) if towards.last_met_at is not None else "",
                known=lines_of_it,
                spot=spots[other],
            )
        )
    return tuple(found)


def _knows(world: WorldView, rows: _Rows, context: PromptContext, found: Sequence[Recalled]) -> Knowledge:
    """What stands in the context, of what was `found` too."""
    person_id = context.speaker.id
    told = [row for row in rows.told if row.person_id == person_id and row.valid_at <= world.now]
    of_others = chain.from_iterable(one.known for one in context.others)
    recalled = refs_told(world, found, (*context.known, *of_others, *context.heard))
    recalled += lore_told(world, (*context.lore, *context.heard))
    return knowledge(context, rows.recent[person_id], told, recalled)


def _told_already(context: PromptContext) -> tuple[str, ...]:
    """What the prompt says of the past besides what is recalled."""
    last = (context.last_meeting.summary,) if context.last_meeting else ()
    return (
        *last,
        context.scene_before,
        *context.has_told,
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
