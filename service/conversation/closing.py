"""Owns what happens once after a conversation: its closing is asked for, checked, verified, and written at once."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations

from sqlmodel import Session

from service.conversation.client_events import tell_closed, tell_failed
from service.conversation.dependencies import ConversationDependencies
from service.conversation.game_actions import calls_in
from service.conversation.transcript import (
    Transcript,
    drop_prompts,
    failure_of,
    held,
    log_own,
    pay,
    read_transcript,
    require,
    require_timeline,
    world_of,
)
from service.errors import BudgetExhausted, KataribeError, ModelError, NotFound, existing
from service.llm.chat import Role
from service.memory.closing.ask import (
    Before,
    ClosingQuestion,
    ask,
    perceiving,
    prepare,
    read_before,
)
from service.memory.closing.check import CheckedClosing, check
from service.memory.closing.verify import claims_of, verified, verify_prompt
from service.memory.closing.write import write_closing
from service.memory.recall import remembered
from service.memory.record import FACTS, Embedded, Kind, Recalled
from service.people.commitment import Commitment
from service.people.commitments import open_commitments
from service.people.worlds import WorldView
from service.steady_time import steady_time
from service.store.event_kinds import ClosingFailed, ConversationClosed
from service.store.events import log_in, publish
from service.store.jobs import change_job, enqueue, job_of
from service.store.perception import perceives
from service.store.phase import CallState, ClockPolicy, Phase, TurnForm
from service.store.tables import ActionCallRow, ConversationKey, ConversationRow, WorldRow
from service.usage import Usage
from world.time import WorldTime

NOTHING_SPENT = Usage()
_log = logging.getLogger(__name__)
FIRST_WAIT_SECONDS = 30.0
LONGEST_WAIT_SECONDS = 3600.0
"""So long a closing that failed waits until it is tried again: twice as long after each try."""
MOST_PROMISES = 8
"""Open promises that a closing is told of, the soonest first."""
MEMORIES_KNOWN = 20
"""So many of what each remembers that bears on the talk are looked at; the closing's model is shown what has room."""
REPLACEABLE = frozenset({*FACTS, Kind.SELF, Kind.MID_TERM})
"""What may be over by what was said."""


async def close(deps: ConversationDependencies, key: ConversationKey) -> ConversationRow:
    """Close a conversation that is due. Answers the row as it then stands: closed, or closing_failed with the reason.

    Doing it twice changes nothing: whatever is not `closing` is left as it is, and what waits for the game's word.
    Where the living world holds the conversation, it is closed at the world time at which it ended.

    Raises:
        NotFound: it is no more.
    """
    said, before, promised, calls = await deps.database.read(lambda s: _read(s, deps, key))
    if said.row.phase != Phase.CLOSING or any(call.state == CallState.REQUESTED for call in calls):
        return said.row
    try:
        question, checked, usage = await _extract(deps, said, before, promised, calls)
    except ModelError as exc:
        return await fail(deps, key, exc, exc.usage, timeline=said.world.timeline)
    except NotFound as exc:  # the author has taken one of them out of the game meanwhile
        return await fail(deps, key, exc, timeline=said.world.timeline)
    embedded = await deps.memory.embed(checked.texts)
    return await deps.database.write_later(lambda s: _settle(s, deps, said, question, checked, usage, embedded))


async def fail(
    deps: ConversationDependencies,
    key: ConversationKey,
    error: KataribeError,
    usage: Usage = NOTHING_SPENT,
    *,
    timeline: int | None = None,
) -> ConversationRow:
    """Leave a closing that is due as failed, and say why; it is tried again after a wait, or when the budget has room
    for it. `usage` is what was spent on it. Answers the row.

    Raises:
        RestoredMeanwhile: the world is not on that `timeline` any more.
    """

    def work(session: Session) -> ConversationRow:
        row, clock = held(session, deps.worlds, key)
        if timeline is not None:
            require_timeline(clock, timeline)
        world = world_of(row, clock, row.ended_at)
        if usage.calls:
            pay(session, row, world.day, "closing", usage.failed)
        if row.phase != Phase.CLOSING:
            return row
        log_own(session, row, clock, "closed")
        wait_seconds = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** min(row.attempts, 10))
        if isinstance(error, BudgetExhausted):  # no call is made before the budget has room for one
            wait_seconds = float(error.facts["retry_after_seconds"])
        row.phase = Phase.CLOSING_FAILED
        row.failure = failure_of(error, "closing") | {"next_try_at": machine_time(wait_seconds)}
        enqueue(session, job_of(row.key), at=steady_time() + wait_seconds, why=f"{type(error).__name__}: {error}")
        failed = ClosingFailed(conversation_id=row.id, partner_id=row.partner_id, error=error.slug)
        publish(session, row, _no_earlier(world, row), failed, row.opener_id)
        tell_failed(session, row, clock, row.failure)
        return row

    return await deps.database.write(work)


def machine_time(after_seconds: float = 0.0) -> str:
    """What the machine's clock shows then, in UTC: as text it sorts as the moments do."""
    return (datetime.now(UTC) + timedelta(seconds=after_seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def abandon(session: Session, row: ConversationRow) -> None:
    """Let a failed closing not be tried again by itself; the caller commits.

    Raises:
        WrongPhase: its closing has not failed.
    """
    require(row, Phase.CLOSING_FAILED)
    row.failure = {**(row.failure or {}), "next_try_at": None}
    change_job(session, job_of(row.key), is_cancelled=True)


def reopen(session: Session, row: ConversationRow) -> None:
    """Make a failed closing due again; the caller commits.

    It no longer belongs to the living world: it is closed at the time that the world's clock then shows.

    Raises:
        WrongPhase: its closing has not failed.
    """
    require(row, Phase.CLOSING_FAILED)
    log_in(session, row.key, WorldTime(session.get_one(WorldRow, row.world_id).now), "reopened")
    row.phase = Phase.CLOSING
    row.failure = None
    row.attempts += 1
    row.clock_policy = ClockPolicy.NONE
    enqueue(session, job_of(row.key))


def _read(
    session: Session, deps: ConversationDependencies, key: ConversationKey
) -> tuple[Transcript, Before, list[Commitment], list[ActionCallRow]]:
    """What was said, in the world of the closing; how those who took part were and stood before it, what they had
    promised each other, and what was asked of the game.

    Raises:
        NotFound.
    """
    said = existing(read_transcript(session, deps.worlds, key), "conversation", key.conversation_id)
    said.world = world_of(said.row, said.world, said.row.ended_at)
    cools = deps.settings.memory.mood_cools_hours
    before = read_before(session, said.world, said.row, mood_cools_hours=cools)
    there = perceiving(said.row, said.turns)
    promised = [one for one in open_commitments(session, said.world, *there) if {one.by_id, one.to_id} <= {*there}]
    return said, before, promised, calls_in(session, key)


async def _extract(
    deps: ConversationDependencies,
    said: Transcript,
    before: Before,
    promised: Sequence[Commitment],
    calls: Sequence[ActionCallRow],
) -> tuple[ClosingQuestion, CheckedClosing, dict[Role, Usage]]:
    """Ask for the closing, check it and have it verified: what may be stored, and what the calls cost by role.

    Raises:
        ModelError: the closing's model failed.
        NotFound: the content no longer has one of them.
    """
    settings, row, world = deps.settings.memory, said.row, said.world
    memories = await _known(deps, said, perceiving(row, said.turns))
    question = prepare(
        world,
        row,
        said.turns,
        memories,
        before,
        promised[:MOST_PROMISES],
        calls,
        judges=settings.attitude == "per_conversation",
        affinity_step=settings.affinity_step,
        mood_cools_hours=settings.mood_cools_hours,
        context_tokens=deps.settings.llm.context_tokens,
    )
    thread = "/".join(row.key)
    answer = await ask(deps.models.for_role("closing"), question.context, thread)
    checked = check(answer.value, question, affinity_step=settings.affinity_step)
    checked, spent = await _verified(deps, question, checked, thread)
    return question, checked, {"closing": answer.usage, "verify": spent}


async def _verified(
    deps: ConversationDependencies, question: ClosingQuestion, checked: CheckedClosing, thread: str
) -> tuple[CheckedClosing, Usage]:
    """Hold what was written against the turns, and say what that cost. Where that fails, it stays as it was written.
    A rehearsal writes only what its own templates know to be so.
    """
    context = claims_of(checked, question.context)
    if context is None or not deps.settings.memory.verify or deps.settings.llm.provider == "rehearsal":
        return checked, NOTHING_SPENT
    try:
        answer = await deps.models.for_role("verify").complete(verify_prompt(context, thread))
    except ModelError as exc:
        _log.warning("the closing of %s is not verified: %s", thread, exc)
        return checked, exc.usage
    return verified(checked, context, answer.value), answer.usage


async def _known(
    deps: ConversationDependencies, said: Transcript, people: Sequence[str]
) -> Mapping[str, Sequence[Recalled]]:
    """What each remembers of what it heard, by person id."""
    rows, world = {one.person_id: one for one in said.row.participants}, said.world

    def heard(person_id: str) -> str:
        mine = (t for t in said.turns if perceives(rows[person_id], t.turn, t.speaker_id, t.heard_by))
        return " ".join(turn.text for turn in mine)

    asked = (remembered(deps.memory, world, one, heard(one), limit=MEMORIES_KNOWN, kinds=REPLACEABLE) for one in people)
    return dict(zip(people, await asyncio.gather(*asked), strict=True))


def _settle(
    session: Session,
    deps: ConversationDependencies,
    said: Transcript,
    question: ClosingQuestion,
    checked: CheckedClosing,
    usage: Mapping[Role, Usage],
    embedded: Embedded,
) -> ConversationRow:
    """Write it all at once, unless it was closed meanwhile; what it cost is paid in any case."""
    row, clock = held(session, deps.worlds, said.row.key)
    require_timeline(clock, said.world.timeline)
    world = world_of(row, clock, row.ended_at)
    for role, spent in usage.items():
        if spent.calls:
            pay(session, row, world.day, role, spent)
    if row.phase != Phase.CLOSING:
        return row
    changes, taken = write_closing(
        session,
        world,
        row,
        question,
        checked,
        deps.settings.memory,
        deps.memory,
        embedded,
        clock.now,
    )
    row.changes = changes.model_dump(mode="json")
    log_own(session, row, clock, "closed")
    row.phase, row.closed_at = Phase.CLOSED, _no_earlier(world, row)
    is_of_two = changes.people is None
    closed = ConversationClosed(
        conversation_id=row.id,
        partner_id=row.partner_id,
        attitudes={one: taken[one].stands_to(other).degrees for one, other in permutations(row.person_ids)}
        if is_of_two
        else None,
        towards=None
        if is_of_two
        else {one: {other: to.degrees for other, to in away.towards.items()} for one, away in taken.items()},
    )
    publish(session, row, row.closed_at, closed, row.opener_id)
    tell_closed(session, row, clock, taken)
    if row.form != TurnForm.SCENE and not deps.settings.keep_prompts:  # a scene may go on from any of its turns
        drop_prompts(session, row.key, said.turns)
    return row


def _no_earlier(world: WorldView, row: ConversationRow) -> WorldTime:
    """Now, but not before it ended: one that the living world held may have ended ahead of the world's clock."""
    return max(world.now, WorldTime(row.ended_at or 0))
