"""Owns the first step of a closing: the context it is given, the one model call, and what its short refs stand for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlmodel import Session

from service.errors import ModelBroken
from service.llm.chat import Answer, ChatModel, Prompt, Templates
from service.locales import Language, sentence, sentences
from service.memory.closing.context import (
    ClosingAnswer,
    ClosingContext,
    Known,
    OpenPromise,
    Participant,
    SpokenLine,
    answer_to,
    ref_of,
)
from service.memory.recall import within
from service.memory.record import Memory, Recalled
from service.memory.secrets import discretion_among
from service.memory.telling import clause, one_line
from service.people.attitude import (
    STRANGERS,
    Attitude,
    attitude_changes,
    felt_moods,
    mood_changes,
    sum_of,
)
from service.people.commitment import Commitment
from service.people.commitments import promised_for
from service.people.worlds import WorldView
from service.store.perception import are_together, known_late, perceives
from service.store.phase import CallState
from service.store.tables import ActionCallRow, AttitudeChangeRow, ConversationRow, MoodRow, ParticipantRow, TurnRow
from world.time import MINUTES_PER_DAY, WorldTime, iso, to_datetime

TEMPLATES = Templates(__file__)

TOKENS_EACH = 1000
"""The answer may take so many tokens for each who took part, and as many for what is common to them."""
FACT_TOKENS, MEMORY_TOKENS = 150, 400
"""Of each who took part: what its author wrote, and what it remembers, that the model is shown."""
CALENDAR_DAYS = 15
"""Today and the next fourteen days can be meant by their names."""
MOST_PLACES = 24
SMALL_CONTEXT = 1000
"""A model with no more context is asked for less."""


@dataclass(frozen=True, kw_only=True)
class ClosingQuestion:
    """What a closing asks: the context, the memories and promises behind its refs, and of each who took part since when
    it knows what it takes away, and what it `known` before, whether the model is shown it or not.
    """

    context: ClosingContext
    conversation_id: str
    known_from: Mapping[str, WorldTime]
    day_starts: int = 0
    known: Mapping[str, Sequence[Memory]] = field(default_factory=dict)
    memories: Mapping[str, Memory] = field(default_factory=dict)
    promises: Mapping[str, Commitment] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Before:
    """What of those who took part was there before a closing: the changes that make how they stand to each other, and
    what mood they are in.
    """

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
        attitudes=attitude_changes(session, world.id, world.now, people, people),
        moods=mood_changes(session, then, people, mood_cools_hours),
    )


def prepare(
    world: WorldView,
    conversation: ConversationRow,
    turns: Sequence[TurnRow],
    memories: Mapping[str, Sequence[Recalled]],
    before: Before,
    promised: Sequence[Commitment] = (),
    calls: Sequence[ActionCallRow] = (),
    *,
    judges: bool,
    affinity_step: int,
    mood_cools_hours: int,
    context_tokens: int = 3000,
) -> ClosingQuestion:
    """Gather what the closing may draw on: what was known when they parted, however late the closing is. What one keeps
    from another is not shown: all remember what comes of it.

    `memories` are what each of those who perceived anything remembers that bears on the talk, by person id, best first.
    `promised` is what they had promised each other. `calls` are what they asked of the game: what is done is shown as
    done, what is not as not. `judges`: how they stand to each other is asked.

    Raises:
        NotFound: the content no longer has one of them.
    """
    parted = parted_at(world, conversation)
    then = world.at(parted)
    felt = felt_moods(before.moods, then, memories, mood_cools_hours)
    people = [one for one in conversation.participants if one.person_id in memories]
    shown: dict[str, Memory] = {}
    knew: dict[str, Sequence[Memory]] = {}
    participants = []
    for place, row in enumerate(people):
        person_id = row.person_id
        towards = {
            other.person_id: before.attitude(person_id, other.person_id, world.now)
            for other in people
            if other is not row and are_together(row, other)
        }
        profile = world.cast.person(person_id)
        discreet = discretion_among(profile, {other: stands.affinity for other, stands in towards.items()})
        known = [one.memory for one in discreet.known(memories[person_id], then) if one.memory.known_from <= then.now]
        knew[person_id] = known
        # What a third one told is no matter of theirs, and is not ended by them.
        theirs = (one for one in known if {one.told_by or "", one.partner_id} - {""} <= {person_id, *towards})
        refs = _shown(world, ref_of(place), theirs)
        shown |= {ref: one for ref, (one, _) in refs.items()}
        first = next(iter(towards.values()), STRANGERS)
        participants.append(
            Participant(
                ref=ref_of(place),
                person_id=person_id,
                name=world.name_of(person_id),
                affinity=first.affinity,
                mood=felt[person_id],
                is_player=person_id in world.cast.players,
                attitude=first,
                towards=tuple(towards.items()) if len(people) > 2 else (),
                joined=row.joined_turn,
                left=row.left_turn,
                facts=tuple(Known(text=one) for one in within(profile.settled, FACT_TOKENS)),
                memories=tuple(Known(ref=ref, text=line) for ref, (_, line) in refs.items()),
                goals=tuple(Known(ref=f"{ref_of(place)}g{n}", text=one) for n, one in enumerate(profile.wishes, 1)),
            )
        )
    promises = {f"p{number}": one for number, one in enumerate(promised, 1)}
    context = ClosingContext(
        language=world.language,
        participants=tuple(participants),
        now=f"{then.circumstances} ({iso(then.now)})",
        goal=conversation.goal or "",
        goal_achieved=conversation.goal_achieved,
        lines=_lines(people, turns, calls, world.language),
        judges=judges,
        affinity_step=affinity_step,
        is_short=context_tokens <= SMALL_CONTEXT,
        promises=tuple(
            OpenPromise(
                ref=ref,
                by_id=one.by_id,
                to_id=one.to_id,
                line=f"{world.name_of(one.by_id)} -> {world.name_of(one.to_id)}: {one.what}{promised_for(world, one)}",
            )
            for ref, one in promises.items()
        ),
        calendar=_calendar(then),
        places=tuple((one.id, one.name) for one in world.map.facilities.values())[:MOST_PLACES],
        bearers=world.cast.bearers,
        others={one.id: one.name for one in world.cast.everybody.values()},
        own_prompts=world.cast.own_prompts,
    )
    return ClosingQuestion(
        context=context,
        conversation_id=conversation.id,
        known_from={i: known_late(conversation, i) or parted for i in memories},
        day_starts=world.settings.day_starts_minutes,
        known=knew,
        memories=shown,
        promises=promises,
    )


def closing_prompt(context: ClosingContext, thread: str = "") -> Prompt[ClosingAnswer]:
    """The question as it is sent. `thread` says of which conversation."""
    most = TOKENS_EACH * (len(context.participants) + 1)
    return TEMPLATES.question("closing", "closing", context, answer_to(context), max_tokens=most, thread=thread)


async def ask(model: ChatModel, context: ClosingContext, thread: str = "") -> Answer[ClosingAnswer]:
    """Ask. `thread` says of which conversation.

    Raises:
        ModelError: also when a paragraph, from which everything later starts, is blank, or somebody's entry is missing.
    """
    answer = await model.complete(closing_prompt(context, thread))
    paragraphs = (answer.value.entry(one.ref).paragraph for one in context.participants)
    if not all(any(line.strip() for line in paragraph) for paragraph in paragraphs):
        raise ModelBroken(model=answer.model, reason="a paragraph is blank").costing(answer.usage)
    return answer


def parted_at(world: WorldView, conversation: ConversationRow) -> WorldTime:
    """When they parted."""
    return WorldTime(conversation.ended_at if conversation.ended_at is not None else world.now)


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


def _shown(world: WorldView, ref: str, known: Iterable[Memory]) -> dict[str, tuple[Memory, str]]:
    """What somebody remembers that may be over by what was said, best first within the budget, by ref. What an author
    wrote is never over.
    """
    told = [
        (one, one_line(clause(world, one)) + (f" (told by {world.name_of(one.told_by)})" if one.told_by else ""))
        for one in known
        if one.support.strength < 3
    ]
    fitting = within(told, MEMORY_TOKENS, text_of=lambda one: one[1])
    return {f"{ref}m{number}": one for number, one in enumerate(fitting, 1)}


def _calendar(then: WorldView) -> tuple[str, ...]:
    names = sentences(then.language, "time.weekday_names")
    days = (WorldTime(then.now + number * MINUTES_PER_DAY) for number in range(CALENDAR_DAYS))
    return tuple(f"{iso(day)[:10]} {names[to_datetime(day).weekday()]}" for day in days)


def _lines(
    people: Sequence[ParticipantRow], turns: Sequence[TurnRow], calls: Iterable[ActionCallRow], language: Language
) -> tuple[SpokenLine, ...]:
    """The turns, each on one line: nobody forges another's line by a line break in his own."""
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
            text=one_line(t.text),
            at=WorldTime(t.at),
            did=shown(t, CallState.DONE),
            tried=shown(t, CallState.FAILED, CallState.EXPIRED),
            act=one_line(t.act),
            loudness=t.loudness,
            heard_by=meant_for(t, t.heard_by),
            seen_by=meant_for(t, t.seen_by),
        )
        for t in turns
    )
