"""Owns what people know when they meet: recalled once, before the first word, and put into each one's context."""

import asyncio
from collections.abc import Awaitable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from sqlmodel import Session, select

from service.content.profile import Importance, Mood
from service.conversation.context_selection import (
    BEARS,
    Candidate,
    always_told,
    bearing,
    context_tokens,
    fitted,
    looks_of,
    lore_candidates,
    past_candidates,
    persona_candidates,
    relation_of,
    remembered_as_worth,
    worth_a_line,
)
from service.conversation.dependencies import ConversationDependencies
from service.conversation.game_actions import allowed
from service.conversation.prompt import (
    LastMeeting,
    Present,
    PromptContext,
    PromptRecord,
    ScenePart,
    knowledge,
    render_record,
)
from service.conversation.scenes import SceneSetting, setting_of
from service.conversation.transcript import Transcript, goal_of, lines, said_between, world_of
from service.conversation.turn_taking import FEWEST, OPENER, goes_on, interventions_in, those_there
from service.errors import existing
from service.memory.episodes import acquainted, episode_of
from service.memory.mind import self_told, weighty
from service.memory.recall import (
    PromptLine,
    RecentMemory,
    is_promise,
    on_mind_line,
    recent_memories,
    remembered,
    talk_line,
)
from service.memory.record import FACTS, Kind, Memory, Recalled
from service.memory.secrets import Discretion, discretion_among, discretion_of_all
from service.memory.telling import clause, episode_told, ref_of, remembered_as
from service.people.attitude import Attitude, attitudes_among, moods, stance
from service.people.person import felt_needs, levels_of, read_person
from service.people.worlds import WorldView
from service.store.phase import ClockPolicy, Modulator, OpenedFor, Speaker, TurnForm, TurnPolicy
from service.store.tables import (
    ConversationRow,
    InterventionRow,
    ParticipantRow,
    PersonRow,
    PromptRow,
    TurnRow,
)
from world.time import MINUTES_PER_DAY, WorldTime

SMALL_CONTEXT = 900
"""The context, in tokens, for which the setting says how many memories of a partner are looked for."""
KNOWN = FACTS | {Kind.INSIGHT, Kind.SELF}
_TOKENS_OF_A_LINE = 15
MOST_OF_ONE = 4
"""Lines that are remembered of each of those."""


@dataclass(frozen=True, kw_only=True)
class Contexts:
    """What does not change while the people of a conversation talk, by seat: what each knows, and how its prompts
    begin: of those for whom a model speaks. `world` is as it was when they met. `kept` are the persons whose records
    are stored.
    """

    world: WorldView
    contexts: Mapping[int, PromptContext]
    records: Mapping[int, PromptRecord]
    kept: set[str]


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """What SQL holds of the people, read at once: by person id; `earlier` is what they have said to each other
    before: only who speaks without a model must know it. `attitudes` are each one's towards each other. `setting`
    is that of a scene, `interventions` what was done to it.
    """

    recent: Mapping[str, RecentMemory]
    setting: SceneSetting
    attitudes: Mapping[tuple[str, str], Attitude]
    acquainted: Set[frozenset[str]]
    moods: Mapping[str, Mood]
    told: Mapping[str, Sequence[Memory]]
    weighty: Mapping[str, Sequence[Memory]]
    earlier: Sequence[TurnRow]
    records: Mapping[str, PromptRecord]
    interventions: Sequence[InterventionRow]


async def build_contexts(deps: ConversationDependencies, said: Transcript, *, sketched: bool = False) -> Contexts:
    """Recall for those for whom a model speaks. The long-term memory being away does not keep them from talking. In a
    `sketched` talk nobody knows what is not for everybody's ears: its models see what both know.

    Where the living world holds the conversation, all is as it was when it began, whatever the world's clock shows. Who
    has spoken already goes on from the record that was kept.

    Raises:
        NotFound: the content no longer has one of the two, or the place they stand at.
    """
    row, world = said.row, world_of(said.row, said.world, said.row.started_at)
    for person_id in row.person_ids:
        world.cast.person(person_id)
    if not row.place:
        existing(world.map.nodes.get(row.node_id), "node", row.node_id)
    seats = [one.seat for one in row.participants if one.speaker == Speaker.MODEL]
    met = {seat: met_by(row, seat) for seat in seats}
    # The partner's memories are not chosen by the opener's goal: it knows nothing of it.
    goal = goal_of(row) if row.goal_given else None
    query = f"{goal.goal} {goal.success_criteria}" if goal else ""
    sizes = {seat: context_tokens(deps, world, world.cast.actor(row.person_ids[seat])) for seat in seats}
    limits = {seat: deps.settings.memory.recall_limit * size // SMALL_CONTEXT for seat, size in sizes.items()}
    # Where nothing is asked, the newest answers: that would be how they said goodbye.
    kinds = set(Kind) if query else KNOWN

    def about(seat: int, other_id: str) -> Awaitable[list[Recalled]]:
        asked, sought = (query, kinds) if seat == OPENER else ("", KNOWN)
        is_partner = other_id == met[seat][0][0]
        most = limits[seat] if is_partner else min(limits[seat], MOST_OF_ONE)
        return remembered(
            deps.memory, world, row.person_ids[seat], asked, limit=most, partner_id=other_id, kinds=sought
        )

    def past(seat: int) -> Awaitable[list[Recalled]]:
        """What was said with the partner in a past that was given: no closing says what of it matters."""
        other_id, most = met[seat][0][0], sizes[seat] // _TOKENS_OF_A_LINE
        return remembered(
            deps.memory, world, row.person_ids[seat], "", limit=most, partner_id=other_id, kinds={Kind.TURN}
        )

    known, pasts, rows, heard = await asyncio.gather(
        asyncio.gather(*(asyncio.gather(*(about(seat, other) for other in met[seat][0])) for seat in seats)),
        asyncio.gather(*map(past, seats)),
        deps.database.read(lambda s: _rows(s, deps, world, row, met, begins=not said.turns)),
        remembered(deps.memory, world, row.opener_id, query, limit=limits.get(OPENER, 0) if query else 0, kinds=kinds),
    )
    discreet = _discretion(world, row, rows, {seat: there for seat, (there, _) in met.items()}, sketched=sketched)
    rows = replace(  # without what would give away what is kept
        rows,
        recent={one: discreet[one].recent(recent) for one, recent in rows.recent.items()},
        told={one: [told for told in rows.told[one] if keeps.lets_item(told)] for one, keeps in discreet.items()},
        weighty={one: list(filter(keeps.lets_item, rows.weighty[one])) for one, keeps in discreet.items()},
    )
    contexts, records = dict[int, PromptContext](), dict[int, PromptRecord]()
    for seat, found_of, said_before in zip(seats, known, pasts, strict=True):
        person_id, (there, later) = row.person_ids[seat], met[seat]
        of_each = [discreet[person_id].known(one, world) for one in found_of]
        bears = [one for one in discreet[person_id].known(heard, world) if one.bears] if seat == OPENER else []
        context = _context(world, row, rows, seat, [*there, *later], discreet[person_id])
        moment = " ".join((query if seat == OPENER else "", *context.company, context.place, *context.told))
        hears_human = any(one.speaker == Speaker.HUMAN and one.seat != seat for one in row.participants)
        lore, others = always_told(world, person_id), context.others
        context = replace(
            context,
            actions=allowed(world, row, person_id),
            choices=row.choices if hears_human else 0,
            lore=lore.lines,
            others=others[: len(there) - 1],
        )
        candidates = [
            *persona_candidates(world, context.speaker, moment, context.affinities),
            *_candidates(world, rows, person_id, dict(zip(there, of_each, strict=True)), bears, moment),
            *lore_candidates(world, person_id, query if seat == OPENER else ""),
            *past_candidates(world, discreet[person_id].known(said_before, world)),
        ]
        context, refs = fitted(world, context, candidates, sizes[seat])
        knew = knowledge(context, rows.recent[person_id], (*refs, *lore.refs))
        record = rows.records.get(person_id) or render_record(context, knew)
        # Whose prompts began before a human was there, or leave the actions out, was not told of them.
        told = tuple(one for one in context.actions if one.told in record.system)
        contexts[seat], records[seat] = (
            replace(context, actions=told, others=(*context.others, *others[len(there) - 1 :])),
            record,
        )
    return Contexts(world=world, contexts=contexts, records=records, kept=set(rows.records))


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


def _rows(
    session: Session,
    deps: ConversationDependencies,
    world: WorldView,
    row: ConversationRow,
    met: Mapping[int, tuple[Sequence[str], Sequence[str]]],
    *,
    begins: bool,
) -> _Rows:
    """`begins`: nothing was said, so no record was kept."""
    partners = {row.person_ids[seat]: there[0] for seat, (there, _) in met.items()}
    rehearses = deps.settings.llm.provider == "rehearsal"
    pairs = combinations(row.participants, 2) if rehearses else ()
    kept = select(PromptRow).where(PromptRow.world_id == world.id, PromptRow.conversation_id == row.id)
    return _Rows(
        recent=recent_memories(session, world, partners, besides=row.id),
        setting=setting_of(session, row),
        attitudes=attitudes_among(session, world.id, row.person_ids, world.now) if len(row.person_ids) > 2 else {},
        acquainted=acquainted(session, world, row.person_ids),
        moods=moods(session, world, row.person_ids, deps.settings.memory.mood_cools_hours),
        told=self_told(session, world, *row.person_ids),
        weighty=weighty(session, world, *row.person_ids),
        earlier=[turn for pair in pairs for turn in _said_before(session, world, row, *pair)],
        interventions=interventions_in(session, row.key) if row.form == TurnForm.SCENE else (),
        records={
            own.person_id: begun for own in ([] if begins else session.exec(kept)) if (begun := PromptRecord.of(own))
        },
    )


def _said_before(
    session: Session, world: WorldView, row: ConversationRow, one: ParticipantRow, other: ParticipantRow
) -> list[TurnRow]:
    """What both had heard from each other before both were there."""
    joined = max(one.joined_turn, other.joined_turn) if row.clock_policy == ClockPolicy.MINUTE else 0
    then = world.at(WorldTime(world.now + joined))
    return said_between(session, then, one.person_id, other.person_id, besides=row.id)


def _discretion(
    world: WorldView, row: ConversationRow, rows: _Rows, company: Mapping[int, Sequence[str]], *, sketched: bool
) -> dict[str, Discretion]:
    """What each keeps from the others, by how it likes them; all that it keeps from anybody where it is `sketched`."""
    found = dict[str, Discretion]()
    for seat, (partner_id, *others) in company.items():
        person_id = row.person_ids[seat]
        if sketched:
            found[person_id] = discretion_of_all(world.cast).apart(world, person_id, (partner_id, *others))
            continue
        liked = {other: rows.attitudes[person_id, other].affinity for other in others}
        found[person_id] = discretion_among(
            world.cast.person(person_id), {partner_id: rows.recent[person_id].attitude.affinity, **liked}
        ).apart(world, person_id, (partner_id, *others))
    return found


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
    discreet: Discretion,
) -> PromptContext:
    """Without what is remembered but for the last words of the two: see `fitted`."""
    person_id, partner_id = conversation.person_ids[seat], company[0]
    recent = rows.recent[person_id]
    last = recent.last_summary
    said_today, said_before = _own_words(rows, world, person_id)
    has_own_time = bool(conversation.place or rows.setting.time)
    lives_there = person_id in world.cast.characters and not has_own_time
    before, opens = rows.setting.before.get(person_id, ""), seat == OPENER
    return PromptContext(
        language=world.language,
        own_prompts=world.cast.own_prompts,
        speaker=world.cast.actor(person_id),
        begins=opens,
        partner_id=partner_id,
        partner_name=world.name_of(partner_id),
        place=conversation.place or world.place_told(conversation.node_id),
        now="" if has_own_time else world.sky,
        notices=world.announced,
        told=goes_on(conversation, rows.interventions, conversation.participants[seat].joined_turn),
        scene_before="" if last is not None and last.summary == before else before,
        meetings=tuple(
            LastMeeting(summary=episode_told(world, episode_of(row)), ago=world.ago(row.at)) for row in recent.meetings
        ),
        relation=relation_of(world, world.cast.actor(person_id), partner_id),
        looks=looks_of(world, partner_id),
        times_met=recent.attitude.times_met,
        acquainted=frozenset((person_id, partner_id)) in rows.acquainted,
        affinity=recent.attitude.affinity,
        stance=stance(recent.attitude, world.name_of(partner_id), world.language),
        secrets=discreet.open,
        mood=rows.moods[person_id],
        unsettled=lines(world, recent.unsettled),
        unsettled_ago=world.ago(recent.unsettled[-1].at) if recent.unsettled else "",
        said_today=said_today,
        said_before=said_before,
        relations=tuple(
            (world.name_of(line.person), line.text)
            for line in world.cast.actor(person_id).persona
            if line.person is not None
        ),
        places=tuple(
            (
                one.name,
                " ".join((one.description, *sorted(one.tags))),
                world.say("common.comma").join(hours.label for hours in one.hours),
            )
            for one in world.map.facilities.values()
        ),
        turns_left=conversation.max_turns,
        acts=conversation.chat_idle_minutes is None,
        goal=goal_of(conversation) if opens and conversation.goal_given else None,
        sets_goal=opens and not conversation.goal_given and conversation.form != TurnForm.SCENE,
        opened_for=OpenedFor(conversation.opened_for) if opens and conversation.opened_for is not None else None,
        matter=conversation.matter if opens else "",
        items=tuple(recent.person.items),
        part=_part(conversation, rows.setting, seat, partner_id),
        others=tuple(_present(world, conversation, rows, person_id, other) for other in company[1:]),
        **(_living(world, recent.person) if lives_there else {}),
    )


def _candidates(
    world: WorldView,
    rows: _Rows,
    person_id: str,
    there: Mapping[str, Sequence[Recalled]],
    bears: Sequence[Recalled],
    moment: str,
) -> Iterator[Candidate]:
    """What the person remembers: of each who is `there`, the partner first; what `bears` on its goal; what is on its
    mind; what it told of itself; and the day's talks with others.
    """
    (partner_id, known), *others = there.items()
    recent = rows.recent[person_id]
    heard = [one for one in worth_a_line(bears) if not _is_own(one)]
    on_goal = {ref_of(one.item) for one in heard}
    for section, of in (("known", known), *others):
        of_it = [one for one in worth_a_line(of) if not _is_own(one)]
        here = [one for one in of_it if ref_of(one.item) in on_goal]
        yield from remembered_as_worth(world, section, here, 2 * BEARS)
        yield from remembered_as_worth(world, section, of_it)
    yield from remembered_as_worth(world, "heard", heard, BEARS)
    found = {ref_of(one.item) for one in (*known, *bears, *(one for of in dict(others).values() for one in of))}
    for one in rows.weighty[person_id]:
        if ref_of(one) not in found:
            line = PromptLine(remembered_as(world, one, person_id), ref_of(one))
            yield Candidate(section="mid_term", worth=float(one.importance), line=line)
    for mind in recent.mid_term:
        if is_promise(mind) and mind.partner_id not in there and mind.expires_at > world.now + MINUTES_PER_DAY:
            continue
        worth = _MIND[mind.level] + BEARS * (partner_id in (mind.partner_id, *mind.others))
        yield Candidate(section="mid_term", worth=worth, line=on_mind_line(world, mind))
    own = [one.memory for one in (*known, *bears) if _is_own(one)]
    told = [one for one in reversed(rows.told[person_id]) if one.known_from <= world.now]
    on_it = {*(one.id for one in own), *(told[place].id for place in bearing(moment, [one.text for one in told]))}
    for one in {one.id: one for one in (*own, *told)}.values():
        line = PromptLine(clause(world, one), ref_of(one))
        yield Candidate(section="learned", worth=one.importance + BEARS * (one.id in on_it) - 1, line=line)
    for talk in recent.today:
        if talk.partner_id != partner_id:
            yield Candidate(section="today", worth=_TALK_OF_TODAY, line=talk_line(world, talk))


_TALK_OF_TODAY = 5.0
_MIND: Mapping[Importance, float] = {"low": 5.0, "medium": 6.0, "high": 8.0}
"""What a talk of the day and what is on somebody's mind are worth beside memories of importance 1 to 10."""


def _is_own(one: Recalled) -> bool:
    return isinstance(one.item, Memory) and one.item.kind is Kind.SELF


def _part(row: ConversationRow, setting: SceneSetting, seat: int, partner_id: str) -> ScenePart | None:
    if row.form != TurnForm.SCENE:
        return None
    are_more = len(row.participants) > FEWEST or setting.grows
    own, partner = row.participants[seat], row.participants[row.seat_of(partner_id)]
    return ScenePart(
        goal=own.goal,
        plan=own.plan,
        spot=own.spot,
        partner_spot=partner.spot,
        addresses=are_more and (row.turn_policy == TurnPolicy.ADDRESSED or row.modulator != Modulator.ALL),
        urges=row.turn_policy == TurnPolicy.URGENCY,
    )


def _present(world: WorldView, row: ConversationRow, rows: _Rows, person_id: str, other_id: str) -> Present:
    """Somebody who is there besides the partner, without what is remembered of it."""
    towards = rows.attitudes[person_id, other_id]
    return Present(
        person_id=other_id,
        name=world.name_of(other_id),
        affinity=towards.affinity,
        stance=stance(towards, world.name_of(other_id), world.language),
        acquainted=frozenset((person_id, other_id)) in rows.acquainted,
        relation=relation_of(world, world.cast.actor(person_id), other_id),
        looks=looks_of(world, other_id),
        ago=world.ago(towards.last_met_at) if towards.last_met_at is not None else "",
        spot=row.participants[row.seat_of(other_id)].spot,
    )


def _living(world: WorldView, row: PersonRow) -> dict[str, Any]:
    """What a context tells of somebody who lives, and of no NPC: `needs` and `doing`."""
    needs = world.setting.catalogue.needs
    person = read_person(row.life, needs) if row.life else None
    levels = levels_of(world, row.person_id, person)
    now = max(world.now, levels.since)
    doing = person.before(world.now).action_id if person else None
    return {
        "needs": felt_needs(world, needs.at(levels, now), needs.critical(levels, now)),
        "doing": name_of_doing(world, doing) if doing else "",
    }


def name_of_doing(world: WorldView, action_id: str) -> str:
    """What the author calls the action; "" of going, waiting and talking, and of one that is no more."""
    action = world.setting.catalogue.find(action_id)
    return (action.name or action_id) if action else ""
