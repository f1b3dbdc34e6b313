"""Owns why something happened: what was offered to whom decided it, the conversation it comes of, the decision it
follows from; or that nobody decided it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sqlmodel import Session, col, select

from service.conversation.dependencies import ConversationDependencies
from service.conversation.transcript import goal_of
from service.decision.choose import Basis
from service.decision.options import action_name, clock_of, need_name, option_line, refusal_lines
from service.errors import existing
from service.locales import Listed, Phrase
from service.memory.record import Group, Kind
from service.memory.telling import Remembered, look_up, remembered_line
from service.people.worlds import WorldView
from service.store.event_kinds import (
    ActionFailed,
    ActivityEnded,
    ActivityStarted,
    Announced,
    Arrived,
    Carries,
    Changed,
    ClockStopped,
    ClosingFailed,
    CommitmentBroken,
    CommitmentDue,
    CommitmentKept,
    CommitmentMoved,
    CommitmentReleased,
    ConversationEnded,
    ConversationStarted,
    DayBegan,
    Decided,
    Departed,
    FactRejected,
    FlagsSet,
    Forgot,
    MemoryExpired,
    Observed,
    OfConversation,
    Payload,
    PersonMade,
    PersonPlaced,
    PersonRemoved,
    Planned,
    Reflected,
    Slept,
    WeatherSet,
)
from service.store.events import payload_in, told_to
from service.store.phase import Audience
from service.store.tables import CommitmentRow, ConversationRow, DecisionRow, EventRow, MemoryRow, TurnRow
from world.actions import TALK, Option
from world.time import WorldTime

_OWN_DOING = (Arrived, ActivityEnded, Departed, ActionFailed, ActivityStarted, Slept)
"""What somebody does follows from what it last decided."""
_BY_NOBODY: Mapping[type[Payload], str] = {
    **dict.fromkeys(
        (
            Changed,
            Announced,
            WeatherSet,
            Observed,
            FlagsSet,
            Carries,
            Forgot,
            PersonMade,
            PersonPlaced,
            PersonRemoved,
        ),
        "why.author",
    ),
    ClockStopped: "why.budget",
    **dict.fromkeys((DayBegan, MemoryExpired, CommitmentDue), "why.clock"),
}
"""Why something happened that no person of the world decided."""
_ANSWERED_BY_MODEL = ("model", "rehearsal", "fallback")
_ENDS = tuple(one.kind for one in (CommitmentKept, CommitmentBroken, CommitmentMoved, CommitmentReleased))


@dataclass(frozen=True, kw_only=True)
class EventWhy:
    """Why an event happened: the `question` that was asked for it, or for the decision that `led` to it, and what its
    prompt held of memories; the conversation it comes of, and the turn, where it was said in one; the promise it tells
    of. What is None is not recorded, or there is none.
    `drawn` are the insights that somebody came to, each with its evidence.
    """

    event: EventRow
    payload: Payload
    question: DecisionRow | None = None
    memories: tuple[Remembered, ...] = ()
    led: EventRow | None = None
    conversation: ConversationRow | None = None
    turn: TurnRow | None = None
    promise: CommitmentRow | None = None
    drawn: tuple[tuple[str, tuple[Remembered, ...]], ...] = ()

    @property
    def basis(self) -> Basis:
        """What the prompt of the question held; nothing where none was asked."""
        return Basis.model_validate(self.question.basis if self.question else {})


async def why_happened(deps: ConversationDependencies, world: WorldView, event_id: int) -> EventWhy:
    """Why the event happened, as `world` calls people and places.

    Raises:
        NotFound: the world has no such event.
    """
    why = await deps.database.read(lambda s: _read(s, world.id, event_id))
    if isinstance(why.payload, Reflected):
        return replace(why, drawn=await _drawn(deps, world, why.event))
    if why.question is None:
        return why
    memories = await look_up(deps.database, world, why.question.person_id, why.basis.memories)
    return replace(why, memories=memories)


async def _drawn(
    deps: ConversationDependencies, world: WorldView, event: EventRow
) -> tuple[tuple[str, tuple[Remembered, ...]], ...]:
    person_id = event.person_id or ""
    group = Group(world_id=world.id, person_id=person_id)
    row = MemoryRow
    thought = select(row).where(*group.owns(row), row.kind == Kind.INSIGHT, row.known_from == event.at)
    known = await deps.database.read(lambda s: s.exec(thought.order_by(col(row.id))).all())
    return tuple(
        [(one.text, await look_up(deps.database, world, person_id, one.evidence)) for one in known if not one.deleted]
    )


def _read(session: Session, world_id: str, event_id: int) -> EventWhy:
    event = existing(session.get(EventRow, (world_id, Audience.WORLD.value, event_id)), "event", event_id)
    payload = payload_in(event)
    commitment_id = getattr(payload, "commitment_id", None)
    promise = session.get(CommitmentRow, (world_id, commitment_id)) if commitment_id else None
    led = _led_by(session, event, payload)
    conversation, turn = _source(session, event, payload, promise)
    return EventWhy(
        event=event,
        payload=payload,
        question=_question(session, led or event),
        led=led,
        conversation=conversation,
        turn=turn,
        promise=promise,
    )


def _question(session: Session, event: EventRow) -> DecisionRow | None:
    if event.kind == Decided.kind and event.data.get("by") not in _ANSWERED_BY_MODEL:
        return None
    call = {Decided.kind: "decision", Planned.kind: "plan"}.get(event.kind)
    return session.get(DecisionRow, (event.world_id, event.person_id, event.at, call)) if call else None


def _led_by(session: Session, event: EventRow, payload: Payload) -> EventRow | None:
    """The decision that the event follows from."""
    if isinstance(payload, ConversationStarted):
        row = session.get(ConversationRow, (event.world_id, payload.conversation_id))
        decided = _last_decided(session, event) if row is not None and row.talk_id is not None else None
        return decided if decided is not None and decided.data.get("action_id") == TALK else None
    return _last_decided(session, event) if isinstance(payload, _OWN_DOING) else None


def _last_decided(session: Session, event: EventRow) -> EventRow | None:
    query = select(EventRow).where(
        *told_to(Audience.WORLD, event.world_id),
        EventRow.person_id == event.person_id,
        EventRow.kind == Decided.kind,
        col(EventRow.id) < event.id,
    )
    return session.exec(query.order_by(col(EventRow.id).desc()).limit(1)).first()


def _source(
    session: Session, event: EventRow, payload: Payload, promise: CommitmentRow | None
) -> tuple[ConversationRow | None, TurnRow | None]:
    """The conversation that the event comes of, and its turn, where it was said in one."""
    conversation_id, turn = None, None
    if promise is not None:
        conversation_id, turn = promise.conversation_id, promise.turn
    elif isinstance(payload, OfConversation):
        conversation_id = payload.conversation_id
        turn = payload.turn if isinstance(payload, FactRejected) else None
    elif isinstance(payload, MemoryExpired):
        over = select(MemoryRow).where(
            MemoryRow.world_id == event.world_id,
            MemoryRow.person_id == event.person_id,
            MemoryRow.expires_at == event.at,
            MemoryRow.text == payload.content,
        )
        memory = session.exec(over).first()
        conversation_id = memory.conversation_id if memory else None
    row = session.get(ConversationRow, (event.world_id, conversation_id)) if conversation_id else None
    said = None if row is None or turn is None else session.get(TurnRow, (event.world_id, row.id, turn))
    return row, said


def in_words(world: WorldView, why: EventWhy) -> list[str]:
    """The answer, a sentence each, in the language of `world`."""
    told = [*_of_event(world, why)]
    if why.question is not None:
        told += _of_question(world, why.question, why)
    return told or [world.say("why.unrecorded")]


def _of_event(world: WorldView, why: EventWhy) -> Iterator[str]:
    event, payload = why.event, why.payload
    name = world.name_of(event.person_id or "")
    if isinstance(payload, ActivityEnded):
        yield world.say(f"why.ended.{payload.because}", what=action_name(world, payload.action_id))
    if isinstance(payload, ActionFailed):
        yield world.say("why.failed", reason=Phrase(f"web.why_{payload.reason}"))
    if isinstance(payload, Decided):
        yield from _of_decision(world, name, event, payload)
    if isinstance(payload, Planned):
        broken = why.basis.broken
        yield world.say("why.plan_broken", name=name, why=broken) if broken else world.say("why.plan_new", name=name)
    if why.led is not None:
        at = clock_of(WorldTime(why.led.at))
        yield world.say("why.led_by", name=world.name_of(why.led.person_id or ""), at=at, id=why.led.id)
        led = Decided.model_validate(why.led.data)
        yield from _of_decision(world, world.name_of(why.led.person_id or ""), why.led, led)
    if why.conversation is not None:
        yield from _of_source(world, why.conversation, why.turn, payload)
    yield from _of_promise(world, why)
    for insight, evidence in why.drawn:
        yield world.say("why.drawn", name=name, insight=insight)
        yield from (remembered_line(world, one, WorldTime(event.at)) for one in evidence)
    if isinstance(payload, FactRejected):
        yield world.say("why.rejected", reason=Phrase(f"web.reason_{payload.reason}"))
    if type(payload) in _BY_NOBODY:
        yield world.say(_BY_NOBODY[type(payload)])


def _of_decision(world: WorldView, name: str, event: EventRow, payload: Decided) -> Iterator[str]:
    option = Option(
        action_id=payload.action_id,
        node_id=payload.node_id,
        facility_id=payload.facility_id,
        target_id=payload.target_id,
    )
    yield world.say("why.chose", name=name, at=clock_of(WorldTime(event.at)), what=option_line(world, option))
    if payload.thought:
        yield world.say("why.thought", name=name, thought=payload.thought)
    if payload.by is not None:
        yield world.say(f"why.by.{payload.by}", failure=payload.failure or "")


def _of_source(world: WorldView, row: ConversationRow, turn: TurnRow | None, payload: Payload) -> Iterator[str]:
    if turn is not None:
        said = {"speaker": turn.speaker_name, "text": turn.text}
        yield world.say("why.of_turn", conversation=row.id, turn=turn.turn, **said)
    else:
        one, *others = map(world.name_of, row.person_ids)
        yield world.say("why.of_talk", conversation=row.id, one=one, other=world.say("common.comma").join(others))
    goal = goal_of(row)
    if isinstance(payload, ConversationStarted):
        if row.opened_for is not None:
            yield world.say(f"why.opened_{row.opened_for}", name=world.name_of(row.opener_id))
        elif row.talk_id is None:
            yield world.say("why.client_began")
        if goal is not None:
            yield world.say("why.wanted", name=world.name_of(row.opener_id), goal=goal.goal)
    if isinstance(payload, ConversationEnded):
        yield world.say(f"web.end_{payload.reason}")
    if isinstance(payload, ClosingFailed) and row.failure:
        yield str(row.failure.get(world.language, row.failure["en"]))


def _of_promise(world: WorldView, why: EventWhy) -> Iterator[str]:
    """How it was found out what became of a promise."""
    if why.promise is None or why.payload.kind not in _ENDS:
        return
    if why.promise.ended_in is not None:
        yield world.say("why.judged_in_talk", conversation=why.promise.ended_in)
    else:
        is_by_clock = why.promise.ended_at == why.promise.expires_at
        yield world.say("why.judged_there" if is_by_clock else "why.judged_said")


def _of_question(world: WorldView, row: DecisionRow, why: EventWhy) -> Iterator[str]:
    basis, name, then = why.basis, world.name_of(row.person_id), WorldTime(row.at)
    if basis.offered:
        yield world.say("why.could")
        yield from (
            world.say("why.option", number=number, what=option_line(world, option))
            for number, option in enumerate(basis.options, 1)
        )
    refused = refusal_lines(world, basis.refusals)
    if refused:
        yield world.say("why.could_not")
        yield from refused
    if basis.places:
        facilities = (world.map.facilities.get(one) for one in basis.places)
        places = Listed(place.name for place in facilities if place is not None)
        yield world.say("why.places", places=places)
    if basis.needs:
        levels = (
            world.say("why.need", need=need_name(world, need_id), level=level) for need_id, level in basis.needs.items()
        )
        yield world.say("why.needs", needs=Listed(levels))
    yield world.say("why.remembered" if why.memories else "why.remembered_nothing", name=name)
    yield from (remembered_line(world, one, then) for one in why.memories)
    yield world.say(
        "why.model",
        model=row.model,
        ms=row.duration_ms,
        prompt=row.prompt_tokens,
        cached=row.cached_tokens,
        completion=row.completion_tokens,
        calls=row.calls,
        failures=row.failures,
    )
    if row.prompt is None:
        yield world.say("why.prompt_gone")
