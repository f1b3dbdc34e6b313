"""Owns the one model call of a closing: the context it is given, the prompt, and which ids its short refs stand for."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlmodel import Session, col, select

from service.errors import ModelBroken
from service.llm.chat import Answer, ChatModel, Prompt
from service.llm.prompt import Templates
from service.locales import Language, sentence
from service.memory.attitude_evidence import Evidence
from service.memory.extraction import (
    ClosingContext,
    ClosingExtraction,
    KnownFact,
    OpenPromise,
    Participant,
    Source,
    SpokenLine,
    answer_to,
    ref_of,
)
from service.memory.memory_store import MemoryStore
from service.memory.recall import remembered
from service.memory.secrets import discretion_among
from service.memory.self_facts import self_facts
from service.memory.record import Episode, Fact, Group, Recalled
from service.people.agenda import Commitment
from service.people.attitude import STRANGERS, Attitude, attitude_changes, felt_moods, mood_changes, sum_of
from service.people.worlds import WorldView
from service.store.perceived import are_together, perceives
from service.store.phase import CallState
from service.store.tables import (
    ActionCallRow,
    AttitudeChangeRow,
    ConversationKey,
    ConversationRow,
    MoodRow,
    ParticipantRow,
    SelfFactRow,
    TurnRow,
    said_in,
)
from world.time import WorldTime, iso

TEMPLATES = Templates(__file__)

TOKENS_EACH = 1000
"""The answer may take so many tokens for each who took part, and as many for what is common to them: its lists grow
with their number, and of each two of them it has two numbers, and six more where they have met before.
"""
SEARCHED = 8
"""How many of a teller's memories that a claim finds may be what it comes from."""


@dataclass(frozen=True, kw_only=True)
class ClosingQuestion:
    """What a closing asks: the context, and the ids behind the refs of facts persons told about themselves, and of
    memories, and of promises.
    """

    context: ClosingContext
    self_fact_ids: Mapping[str, str] = field(default_factory=dict)
    memory_ids: Mapping[str, str] = field(default_factory=dict)
    promise_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Before:
    """What of those who took part was there before a closing: what they told about themselves, and the changes that
    make how they stand to each other and what mood they are in.
    """

    told: Sequence[SelfFactRow]
    attitudes: Sequence[AttitudeChangeRow]
    moods: Sequence[MoodRow]

    def attitude(self, owner_id: str, other_id: str, at: WorldTime) -> Attitude:
        """The owner's towards the other at `at`."""
        of_pair = (one for one in self.attitudes if (one.owner_id, one.other_id) == (owner_id, other_id))
        return sum_of(one for one in of_pair if one.at <= at)

    def judged_in(self, conversation_id: str, owner_id: str, other_id: str) -> list[AttitudeChangeRow]:
        """What was judged of the owner's towards the other while that conversation ran."""
        wanted = (conversation_id, owner_id, other_id)
        return [one for one in self.attitudes if (one.conversation_id, one.owner_id, one.other_id) == wanted]


def read_before(session: Session, world: WorldView, conversation: ConversationRow, *, mood_cools_hours: int) -> Before:
    """What was there, by the store at the moment of `world`; moods are those of when the two parted."""
    people, then = conversation.person_ids, world.at(parted_at(world, conversation))
    return Before(
        told=self_facts(session, world.id, *people),
        attitudes=attitude_changes(session, world.id, world.now, people, people),
        moods=mood_changes(session, then, people, mood_cools_hours),
    )


def prepare(
    world: WorldView,
    conversation: ConversationRow,
    turns: Sequence[TurnRow],
    memories: Mapping[str, Sequence[Recalled]],
    evidence: Mapping[str, Evidence] | None,
    before: Before,
    promised: Sequence[Commitment] = (),
    calls: Sequence[ActionCallRow] = (),
    *,
    mood_cools_hours: int,
) -> ClosingQuestion:
    """Gather what the extraction may draw on: what was known when they parted, however late the closing is. What one
    keeps from another is not shown: all remember what is extracted.

    `memories` are what each of those who perceived anything remembers of the others, by person id; `evidence` what of
    it bears on how one of two stands to the other. None: that is not asked. `promised` is what they had promised each
    other, and only words may keep. `calls` are what they asked of the game: what is done is shown as done, what is not
    as not.

    Raises:
        NotFound: the content no longer has one of them.
    """
    then = world.at(parted_at(world, conversation))
    felt = felt_moods(before.moods, then, memories, mood_cools_hours)
    people = [one for one in conversation.participants if one.person_id in memories]
    company = {
        one.person_id: {
            other.person_id: before.attitude(one.person_id, other.person_id, world.now)
            for other in people
            if other is not one and are_together(one, other)
        }
        for one in people
    }
    discreet = {
        i: discretion_among(world.cast.person(i), {other: stands.affinity for other, stands in towards.items()})
        for i, towards in company.items()
    }
    told = {
        i: [
            row for row in before.told if row.person_id == i and row.valid_at <= then.now and discreet[i].lets_told(row)
        ]
        for i in memories
    }
    recalled = {
        i: [one.fact for one in discreet[i].known(found, then) if one.fact.created_at <= then.now]
        for i, found in memories.items()
    }
    refs = {one.person_id: ref_of(place) for place, one in enumerate(people)}
    towards = {i: next(iter(stands.values()), STRANGERS) for i, stands in company.items()}
    participants = tuple(
        Participant(
            ref=refs[person_id],
            person_id=person_id,
            name=world.name_of(person_id),
            affinity=towards[person_id].affinity,
            mood=felt[person_id],
            is_player=person_id in world.cast.players,
            attitude=towards[person_id],
            evidence=(evidence or {}).get(person_id, ()),
            towards=tuple(company[person_id].items()) if len(people) > 2 else (),
            joined=one.joined_turn,
            left=one.left_turn,
            facts=_facts(
                refs[person_id],
                world.name_of(person_id),
                (profile := world.cast.person(person_id)).settled,
                told[person_id],
                profile.identity,
            ),
            persona=_persona(world, person_id),
            memories=tuple(_known(f"{refs[person_id]}m{i}", fact) for i, fact in enumerate(recalled[person_id], 1)),
        )
        for one in people
        for person_id in (one.person_id,)
    )
    context = ClosingContext(
        language=world.language,
        participants=participants,
        now=f"{then.circumstances} ({iso(then.now)[:10]})",
        goal=conversation.goal or "",
        goal_achieved=conversation.goal_achieved,
        lines=_lines(people, turns, calls, world.language),
        judges=evidence is not None,
        promises=tuple(
            OpenPromise(ref=f"p{i}", by_id=one.by_id, to_id=one.to_id, what=one.what, words=one.words)
            for i, one in enumerate(promised, 1)
        ),
        everybody=world.cast.names,
        bearers=world.cast.bearers,
        own_prompts=world.cast.own_prompts,
    )
    return ClosingQuestion(
        context=context,
        self_fact_ids={
            fact.ref: row.id
            for one in participants
            for fact, row in zip(one.facts[len(one.authored) :], told[one.person_id], strict=True)
        },
        memory_ids={
            known.ref: fact.id
            for one in participants
            for known, fact in zip(one.memories, recalled[one.person_id], strict=True)
        },
        promise_ids={told.ref: one.id for told, one in zip(context.promises, promised, strict=True)},
    )


def context_of_found(
    session: Session,
    world: WorldView,
    group: Group,
    episode: Episode,
    memories: Sequence[Fact],
    partners: Sequence[Fact],
) -> ClosingContext:
    """What facts that another extraction found in an episode are held against; first stands who remembers.

    `memories` are what it knows; their refs are their ids. `partners` are what its partner knows.
    """
    key = ConversationKey(group.world_id, episode.conversation_id)
    turns = session.exec(select(TurnRow).where(*said_in(key)).order_by(col(TurnRow.turn))).all()
    known = tuple(_known(fact.id, fact) for fact in memories)
    row = session.get(ConversationRow, key)
    people = [] if row is None else row.participants
    known_first = (group.person_id, episode.partner_id)
    there = dict.fromkeys((*known_first, *(one.person_id for one in people)))
    return ClosingContext(
        language=world.language,
        participants=tuple(
            Participant(
                ref=(ref := ref_of(place)),
                person_id=person_id,
                name=world.name_of(person_id),
                affinity=0,
                mood="neutral",
                facts=_facts(ref, world.name_of(person_id), _authored(world, person_id), ()),
                persona=_persona(world, person_id),
                memories=known if person_id == group.person_id else (),
                sources=_sources(world, partners, episode.conversation_id) if person_id == episode.partner_id else (),
            )
            for place, person_id in enumerate(there)
        ),
        now=iso(episode.at),
        goal="",
        goal_achieved=False,
        lines=_lines(people, turns, (), world.language),
        everybody=world.cast.names,
        bearers=world.cast.bearers,
    )


def closing_prompt(context: ClosingContext, thread: str = "") -> Prompt[ClosingExtraction]:
    """The question as it is sent. `thread` says of which conversation."""
    most = TOKENS_EACH * (len(context.participants) + 1)
    return TEMPLATES.question("closing", "closing", context, answer_to(context), max_tokens=most, thread=thread)


async def extract(model: ChatModel, context: ClosingContext, thread: str = "") -> Answer[ClosingExtraction]:
    """Ask. `thread` says of which conversation.

    Raises:
        ModelError: also when the summary, which everything later starts from, is blank, or somebody's entry is missing.
    """
    answer = await model.complete(closing_prompt(context, thread))
    if not any(one.text.strip() for one in answer.value.summary):
        broken = ModelBroken(model=answer.model, reason="the summary is blank")
        broken.usage = answer.usage
        raise broken
    return answer


async def with_sources(
    memory: MemoryStore, world: WorldView, context: ClosingContext, extraction: ClosingExtraction, conversation_id: str
) -> ClosingContext:
    """The context with what each of those who took part had heard before that the claims about its words may come
    from.
    """

    tellers = {line.turn: line.speaker_id for line in context.lines}

    async def heard(teller: Participant) -> tuple[Source, ...]:
        claims = [
            claim
            for one in context.participants
            for claim in extraction.side_of(one.ref).facts
            if one is not teller and tellers.get(claim.turn) == teller.person_id
        ]
        found = await asyncio.gather(
            *(
                remembered(memory, world, teller.person_id, claim.statement, limit=SEARCHED, at_hand=True)
                for claim in claims
            )
        )
        facts = {one.fact.id: one.fact for each in found for one in each}
        return _sources(world, facts.values(), conversation_id)

    sources = await asyncio.gather(*map(heard, context.participants))
    told = zip(context.participants, sources, strict=True)
    return replace(context, participants=tuple(replace(one, sources=heard_before) for one, heard_before in told))


def _sources(world: WorldView, facts: Iterable[Fact], conversation_id: str) -> tuple[Source, ...]:
    """What somebody else had told, before that conversation."""
    return tuple(
        Source(
            statement=fact.statement,
            words=fact.words,
            subject=fact.subject if fact.held else "",  # of mere words it is not known whom they are about
            chain=fact.chain,
            names=tuple(map(world.name_of, fact.chain)),
            at=fact.created_at,
        )
        for fact in facts
        if fact.chain and fact.conversation_id != conversation_id
    )


def parted_at(world: WorldView, conversation: ConversationRow) -> WorldTime:
    """When they parted."""
    return WorldTime(conversation.ended_at if conversation.ended_at is not None else world.now)


def _authored(world: WorldView, person_id: str) -> Sequence[str]:
    """What the author wrote about the person; nothing where it was taken out of the game."""
    found = world.cast.find(person_id)
    return found.settled if found else ()


def _persona(world: WorldView, person_id: str) -> tuple[str, ...]:
    """What else the author wrote about the person."""
    found = world.cast.find(person_id)
    return tuple(line.told for line in found.persona if line.person is None) if found else ()


def _facts(
    ref: str, name: str, authored: Sequence[str], told: Sequence[SelfFactRow], identity: Collection[str] = ()
) -> tuple[KnownFact, ...]:
    written = [
        KnownFact(ref=f"{ref}{i}", statement=one, subject=name, authored=True, always=one in identity)
        for i, one in enumerate(authored, 1)
    ]
    later = [
        KnownFact(ref=f"{ref}{i}", statement=row.statement, subject=name, words=row.words, held=row.held)
        for i, row in enumerate(told, len(written) + 1)
    ]
    return (*written, *later)


def _known(ref: str, fact: Fact) -> KnownFact:
    return KnownFact(
        ref=ref,
        statement=fact.statement,
        subject=fact.subject,
        words=fact.words,
        held=fact.held,
        hands=len(fact.chain),
        told_by=fact.chain[-1] if fact.chain else "",
    )


def perceiving(conversation: ConversationRow, turns: Sequence[TurnRow]) -> tuple[str, ...]:
    """Who perceived anything of the turns, in the order of their seats: two at least."""
    people = conversation.participants
    found = [
        one.person_id
        for one in people
        if any(
            (t.text and perceives(one, t.turn, t.speaker_id, t.heard_by))
            or (t.act and perceives(one, t.turn, t.speaker_id, t.seen_by))
            for t in turns
        )
    ]
    return tuple(found) if len(found) > 1 else conversation.person_ids[:2]


def _lines(
    people: Sequence[ParticipantRow], turns: Sequence[TurnRow], calls: Iterable[ActionCallRow], language: Language
) -> tuple[SpokenLine, ...]:
    """On one line each: nobody forges the other's line by a line break in his own."""
    asked = list(calls)

    def meant_for(turn: TurnRow, only: Sequence[str] | None) -> tuple[str, ...] | None:
        there = tuple(one.person_id for one in people if perceives(one, turn.turn, turn.speaker_id, only))
        return None if len(there) == len(people) else there

    def shown(turn: TurnRow, *states: CallState) -> str:
        mine = (one for one in asked if (one.turn, one.person_id) == (turn.turn, turn.speaker_id))
        what = "; ".join(one.words for one in mine if one.state in states)
        return sentence(language, "people.did", name=turn.speaker_name, what=what) if what else ""

    return tuple(
        SpokenLine(
            turn=t.turn,
            speaker_id=t.speaker_id,
            speaker_name=t.speaker_name,
            text=" ".join(t.text.split()),
            at=WorldTime(t.at),
            did=shown(t, CallState.DONE),
            tried=shown(t, CallState.FAILED, CallState.EXPIRED),
            act=" ".join(t.act.split()),
            loudness=t.loudness,
            heard_by=meant_for(t, t.heard_by),
            seen_by=meant_for(t, t.seen_by),
        )
        for t in turns
    )
