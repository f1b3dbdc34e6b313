"""Owns one utterance: asked of the model, checked, asked for once more if need be, and committed. Or how that fails."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from service.conversation.brief import Brief
from service.conversation.ending import OPENER
from service.conversation.prompt import character_prompt, npc_prompt, opening_prompt, partner_prompt
from service.conversation.repetition import breaks_character, is_repetition
from service.conversation.room import Room
from service.conversation.scene import CharacterTurn, Goal, NpcTurn, Nudge, OpeningTurn, PartnerScene
from service.conversation.stream import Ended, Said, Speaking
from service.conversation.transcript import commit_turn, count_failure, end, failure_of, lines
from service.errors import BudgetExhausted, ModelEmpty, ModelError, ModelOutOfCharacter, WrongPhase
from service.llm.chat import Answer, Role, Usage
from service.store.phase import EndReason
from service.store.tables import ConversationRow, TurnRow
from world.time import WorldTime

AnyTurn = CharacterTurn | OpeningTurn | NpcTurn


class Stalled(Exception):
    """The speaker said nearly the same again, after being asked for something else."""

    def __init__(self, usage: Usage) -> None:
        super().__init__("the speaker repeats itself")
        self.usage = usage


async def speak(
    room: Room, known: Brief, turns: list[TurnRow], seat: int, at: WorldTime | None = None
) -> TurnRow | None:
    """The next turn, committed and told to who listens; None: the conversation is over, and its row says why.

    `at` is the world time it is spoken at (None: what the world's clock shows when it is committed). Whatever a model
    does ends the conversation in a known state; it never becomes dialogue.
    """
    row, role = known.conversation, _role(known, seat)
    try:
        utterance = await _utter(room, known, turns, seat)
    except asyncio.CancelledError:  # the question was sent, and is paid for whoever interrupted it
        await asyncio.shield(_count(room, row, role, Usage(calls=1, estimated=True), at))
        raise
    except Stalled as stalled:
        await _count(room, row, role, stalled.usage, at)
        await finish(room, row, EndReason.STALLED)
        return None
    except ModelError as exc:
        await _count(room, row, role, _paid(exc), at)
        spent = isinstance(exc, BudgetExhausted)
        reason = EndReason.BUDGET_EXHAUSTED if spent else EndReason.MODEL_FAILURE
        await finish(room, row, reason, failure_of(exc, role))
        return None
    turn = await _commit(room, known, len(turns), seat, utterance, at)
    if turn is not None:
        room.stream.tell(row.id, Said(row=turn))
    return turn


async def finish(
    room: Room, row: ConversationRow, reason: EndReason, failure: dict[str, Any] | None = None
) -> ConversationRow:
    """End it, unless the client did so in the same moment."""
    try:
        ended = await room.database.write(
            lambda s: end(s, room.stage, row.world_id, row.id, reason, failure),
        )
    except WrongPhase:
        return await room.database.read(lambda s: s.get_one(ConversationRow, row.id))
    room.stream.tell(row.id, Ended(reason=reason))
    return ended


@dataclass(frozen=True, kw_only=True)
class _Utterance:
    answer: Answer[Any]
    turn: AnyTurn
    duration_ms: int


async def _utter(room: Room, known: Brief, turns: list[TurnRow], seat: int) -> _Utterance:
    """One utterance that is neither a repetition nor out of character; asked for once more if it is.

    Raises:
        Stalled: it repeats itself again.
        ModelOutOfCharacter: it steps out of its role again.
        ModelError: the model failed.
    """
    begun = time.perf_counter()
    answer = await _ask(room, known, turns, seat, None)
    fault = _fault(known, turns, seat, answer.value.utterance)
    if fault is not None:
        spent = answer.usage
        try:
            answer = await _ask(room, known, turns, seat, fault)
        except ModelError as exc:
            exc.calls += spent.calls
            exc.prompt_tokens += spent.prompt_tokens
            exc.completion_tokens += spent.completion_tokens
            raise
        answer = replace(answer, usage=spent + answer.usage)
        fault = _fault(known, turns, seat, answer.value.utterance)
    if fault == "repeated":
        raise Stalled(answer.usage)
    if fault == "broke_character":
        raise _useless(answer, ModelOutOfCharacter(model=answer.model))
    milliseconds = round((time.perf_counter() - begun) * 1000)
    return _Utterance(answer=answer, turn=answer.value, duration_ms=milliseconds)


async def _ask(room: Room, known: Brief, turns: list[TurnRow], seat: int, nudge: Nudge | None) -> Answer[Any]:
    """Raises: ModelError: the model failed, or said nothing at all."""
    answer = await _answer(room, known, turns, seat, nudge)
    if not answer.value.utterance.strip():
        raise _useless(answer, ModelEmpty(model=answer.model))
    return answer


async def _answer(
    room: Room, known: Brief, turns: list[TurnRow], seat: int, nudge: Nudge | None
) -> Answer[CharacterTurn] | Answer[OpeningTurn] | Answer[NpcTurn]:
    model = room.models.for_role(_role(known, seat))
    on_text = _listener(room, known, len(turns), seat)
    if seat != OPENER:
        heard = known.partner_scene(lines(turns), nudge)
        prompt = partner_prompt(heard) if isinstance(heard, PartnerScene) else npc_prompt(heard)
        return await model.complete(prompt, on_text)
    scene = known.character_scene(_goal(known.conversation), lines(turns), nudge)
    if scene.goal is None:
        return await model.complete(opening_prompt(scene), on_text)
    return await model.complete(character_prompt(scene), on_text)


def _role(known: Brief, seat: int) -> Role:
    """Who the model speaks for: a character, or an NPC."""
    return "character" if seat == OPENER or known.partner_walks else "npc"


def _listener(room: Room, known: Brief, turn: int, seat: int) -> Callable[[str], None]:
    talk = known.conversation
    speaker_id = talk.person_ids[seat]
    name = known.world.name_of(speaker_id)

    def on_text(text: str) -> None:
        room.stream.tell(talk.id, Speaking(turn=turn, speaker_id=speaker_id, speaker_name=name, text=text))

    return on_text


def _fault(known: Brief, turns: list[TurnRow], seat: int, utterance: str) -> Nudge | None:
    talk = known.conversation
    speaker_id = talk.person_ids[seat]
    profile = known.world.cast.person(speaker_id)
    authored = (profile.name, profile.personality, profile.custom_prompt, *profile.facts, *profile.lines)
    if breaks_character(utterance, authored):
        return "broke_character"
    if is_repetition(utterance, (turn.text for turn in turns if turn.speaker_id == speaker_id)):
        return "repeated"
    return None


def _goal(row: ConversationRow) -> Goal | None:
    if row.goal is None or row.success_criteria is None:
        return None
    return Goal(goal=row.goal, success_criteria=row.success_criteria)


async def _commit(
    room: Room, known: Brief, index: int, seat: int, said: _Utterance, at: WorldTime | None
) -> TurnRow | None:
    """The committed turn; None when the conversation was ended while the model spoke."""
    row, role = known.conversation, _role(known, seat)
    speaker_id = row.person_ids[seat]
    turn = TurnRow(
        conversation_id=row.id,
        turn=index,
        speaker_id=speaker_id,
        speaker_name=known.world.name_of(speaker_id),
        text=said.turn.utterance.strip(),
        emotion=said.turn.emotion,
        goal_achieved=isinstance(said.turn, CharacterTurn) and said.turn.goal_achieved and index > 0,
        wants_to_end=said.turn.wants_to_end,
        at=row.started_at,
        model=said.answer.model,
        calls=said.answer.usage.calls,
        prompt_tokens=said.answer.usage.prompt_tokens,
        completion_tokens=said.answer.usage.completion_tokens,
        duration_ms=said.duration_ms,
    )
    goal = (said.turn.goal, said.turn.success_criteria) if isinstance(said.turn, OpeningTurn) else None
    committed = await room.database.write(lambda s: commit_turn(s, room.stage, turn, role, said.answer.usage, goal, at))
    if goal is not None:
        row.goal, row.success_criteria = goal
    return turn if committed else None


async def _count(room: Room, row: ConversationRow, role: Role, usage: Usage, at: WorldTime | None) -> None:
    await room.database.write(lambda s: count_failure(s, room.stage, row.id, role, usage, at))


def _paid(error: ModelError) -> Usage:
    return Usage(calls=error.calls, prompt_tokens=error.prompt_tokens, completion_tokens=error.completion_tokens)


def _useless(answer: Answer[Any], error: ModelError) -> ModelError:
    """The error, with what the answer cost."""
    error.calls = answer.usage.calls
    error.prompt_tokens = answer.usage.prompt_tokens
    error.completion_tokens = answer.usage.completion_tokens
    return error
