"""Owns one utterance: asked of the model, checked, asked for once more if need be, and committed. Or how that fails."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from service.conversation.context import Nudge, PromptContext
from service.conversation.dependencies import ConversationDependencies
from service.conversation.gather import Gathered
from service.conversation.prompt import CharacterTurn, OpeningTurn, render_note, speaker_prompt
from service.conversation.repetition import breaks_character, is_repetition
from service.conversation.stream import Ended, Said, Speaking
from service.conversation.transcript import commit_turn, count_failure, end, failure_of, goal_of, lines
from service.errors import BudgetExhausted, ModelEmpty, ModelError, ModelOutOfCharacter, WrongPhase
from service.llm.chat import Answer, Role
from service.store.phase import ClockPolicy, EndReason
from service.store.tables import ConversationRow, TurnRow
from service.usage import Usage
from world.time import WorldTime

TIME_PASSES_MINUTES = 30
"""When so much world time has passed since a speaker's own last words, it is told the time."""


class Stalled(Exception):
    """The speaker said nearly the same again, after being asked for something else."""

    def __init__(self, usage: Usage) -> None:
        super().__init__("the speaker repeats itself")
        self.usage = usage


async def speak(
    deps: ConversationDependencies, known: Gathered, turns: list[TurnRow], seat: int, at: WorldTime | None = None
) -> TurnRow | None:
    """The next turn, committed and told to who listens; None: the conversation is over, and its row says why.

    `at` is the world time it is spoken at (None: what the world's clock shows when it is committed). Whatever a model
    does ends the conversation in a known state; it never becomes dialogue.
    """
    row, role = known.conversation, known.contexts[seat].speaker.kind
    try:
        utterance = await _utter(deps, known, turns, seat)
    except asyncio.CancelledError:  # the question was sent, and is paid for whoever interrupted it
        await asyncio.shield(_count(deps, row, role, Usage(calls=1, estimated=True), at))
        raise
    except Stalled as stalled:
        await _count(deps, row, role, stalled.usage, at)
        await finish(deps, row, EndReason.STALLED)
        return None
    except ModelError as exc:
        await _count(deps, row, role, exc.usage, at)
        spent = isinstance(exc, BudgetExhausted)
        reason = EndReason.BUDGET_EXHAUSTED if spent else EndReason.MODEL_FAILURE
        await finish(deps, row, reason, failure_of(exc, role))
        return None
    turn = await _commit(deps, known, turns, seat, utterance, at)
    if turn is not None:
        deps.stream.tell(row.key, Said(row=turn))
    return turn


async def finish(
    deps: ConversationDependencies, row: ConversationRow, reason: EndReason, failure: dict[str, Any] | None = None
) -> ConversationRow:
    """End it, unless the client did so in the same moment."""
    try:
        ended = await deps.database.write(
            lambda s: end(s, deps.worlds, row.world_id, row.id, reason, failure),
        )
    except WrongPhase:
        return await deps.database.read(lambda s: s.get_one(ConversationRow, row.key))
    deps.stream.tell(row.key, Ended(reason=reason))
    return ended


@dataclass(frozen=True, kw_only=True)
class _Utterance:
    answer: Answer[Any]
    note: str
    duration_ms: int


async def _utter(deps: ConversationDependencies, known: Gathered, turns: list[TurnRow], seat: int) -> _Utterance:
    """One utterance that is neither a repetition nor out of character; asked for once more if it is.

    Raises:
        Stalled: it repeats itself again.
        ModelOutOfCharacter: it steps out of its role again.
        ModelError: the model failed.
    """
    begun = time.perf_counter()
    context = _context_now(known, turns, seat)
    answer, note = await _ask(deps, known, context)
    fault = _fault(known, turns, seat, answer.value.utterance)
    if fault is not None:
        spent = answer.usage
        try:
            answer, note = await _ask(deps, known, replace(context, nudge=fault))
        except ModelError as exc:
            exc.usage += spent
            raise
        answer = replace(answer, usage=spent + answer.usage)
        fault = _fault(known, turns, seat, answer.value.utterance)
    if fault == "repeated":
        raise Stalled(answer.usage)
    if fault == "broke_character":
        raise _useless(answer, ModelOutOfCharacter(model=answer.model))
    return _Utterance(answer=answer, note=note, duration_ms=round((time.perf_counter() - begun) * 1000))


def _context_now(known: Gathered, turns: list[TurnRow], seat: int) -> PromptContext:
    """The speaker's context after those turns. Where turns take no world time, the world's clock may have moved since
    the speaker's last one, and something may have been announced.
    """
    row, context = known.conversation, known.contexts[seat]
    now = replace(
        context,
        lines=lines(turns),
        turns_left=row.max_turns - len(turns),
        goal=goal_of(row) if context.begins else None,
    )
    if row.clock_policy != ClockPolicy.NONE or not turns:
        return now
    world = known.latest
    own = [turn.at for turn in turns if turn.speaker_id == context.speaker.id]
    since = max(own, default=known.world.now)
    return replace(
        now,
        clock=world.label if world.now - since >= TIME_PASSES_MINUTES else "",
        news=tuple(n.text for n in world.notices if since < n.at <= world.now < n.until),
    )


async def _ask(deps: ConversationDependencies, known: Gathered, context: PromptContext) -> tuple[Answer[Any], str]:
    """The answer, and the note before the turn it was asked with.

    Raises:
        ModelError: the model failed, or said nothing at all.
    """
    seat, note = known.conversation.seat_of(context.speaker.id), render_note(context)
    prompt = speaker_prompt(context, known.records[seat], note)
    answer = await deps.models.for_role(prompt.role).complete(prompt, _listener(deps, known, context))
    if not answer.value.utterance.strip():
        raise _useless(answer, ModelEmpty(model=answer.model))
    return answer, note


def _listener(deps: ConversationDependencies, known: Gathered, context: PromptContext) -> Callable[[str], None]:
    key, speaker, turn = known.conversation.key, context.speaker, len(context.lines)

    def on_text(text: str) -> None:
        speaking = Speaking(turn=turn, speaker_id=speaker.id, speaker_name=speaker.name, text=text)
        deps.stream.tell(key, speaking)

    return on_text


def _fault(known: Gathered, turns: list[TurnRow], seat: int, utterance: str) -> Nudge | None:
    profile = known.contexts[seat].speaker
    authored = (profile.name, profile.personality, profile.custom_prompt, *profile.facts, *profile.lines)
    if breaks_character(utterance, authored):
        return "broke_character"
    if is_repetition(utterance, (turn.text for turn in turns if turn.speaker_id == profile.id)):
        return "repeated"
    return None


async def _commit(
    deps: ConversationDependencies,
    known: Gathered,
    turns: list[TurnRow],
    seat: int,
    said: _Utterance,
    at: WorldTime | None,
) -> TurnRow | None:
    """The committed turn; None when the conversation was ended while the model spoke."""
    row, speaker, answer = known.conversation, known.contexts[seat].speaker, said.answer.value
    turn = TurnRow(
        world_id=row.world_id,
        conversation_id=row.id,
        turn=len(turns),
        speaker_id=speaker.id,
        speaker_name=speaker.name,
        text=answer.utterance.strip(),
        emotion=answer.emotion,
        goal_achieved=isinstance(answer, CharacterTurn) and answer.goal_achieved and len(turns) > 0,
        wants_to_end=answer.wants_to_end,
        note=said.note,
        at=row.started_at,
        model=said.answer.model,
        calls=said.answer.usage.calls,
        prompt_tokens=said.answer.usage.prompt_tokens,
        completion_tokens=said.answer.usage.completion_tokens,
        duration_ms=said.duration_ms,
    )
    goal = (answer.goal, answer.success_criteria) if isinstance(answer, OpeningTurn) else None
    prompt = None if any(turn.speaker_id == speaker.id for turn in turns) else known.record_row(seat)
    usage = said.answer.usage
    world = await deps.database.write(
        lambda s: commit_turn(s, deps.worlds, turn, speaker.kind, usage, goal, at, prompt)
    )
    if goal is not None:
        row.goal, row.success_criteria = goal
    if world is None:
        return None
    known.latest = world
    return turn


async def _count(
    deps: ConversationDependencies, row: ConversationRow, role: Role, usage: Usage, at: WorldTime | None
) -> None:
    await deps.database.write(lambda s: count_failure(s, deps.worlds, row.key, role, usage, at))


def _useless(answer: Answer[Any], error: ModelError) -> ModelError:
    """The error, with what the answer cost."""
    error.usage = answer.usage
    return error
