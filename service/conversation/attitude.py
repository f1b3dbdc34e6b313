"""Owns how the one about to speak stands to the other, where that is judged before each turn: two model calls.

Source: LoCoMo's relationship reflection. A model reads the last words and asks three questions, one for each dimension;
memory is asked each of them; then the model gives the three values, beginning from the ones before. They are written
before the turn is spoken, so whoever goes on from there asks no model again.
"""

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, Field
from sqlmodel import Session

from service.content.profile import CharacterProfile, NpcProfile
from service.conversation.context import Line, PromptContext
from service.conversation.dependencies import ConversationDependencies
from service.conversation.prompt import TEMPLATES
from service.conversation.transcript import Transcript, count_failure, held, lines_for, pay, world_of
from service.errors import ModelError
from service.llm.chat import Answer, Message, Prompt, PromptValues, T
from service.memory.attitude_evidence import Evidence, ask_each, evidence
from service.memory.closing.answer import AttitudeDraft
from service.memory.record import turn_key
from service.memory.secrets import discretion_among
from service.people.attitude import DIMENSIONS, Attitude, attitude_changes, stance, sum_of
from service.people.worlds import WorldView
from service.store.phase import Phase
from service.store.tables import AttitudeChangeRow, ConversationRow, TurnRow
from service.usage import Usage
from world.time import WorldTime

_log = logging.getLogger(__name__)

MAX_TOKENS = 300
LATELY = 6
"""How many last lines are judged."""

Question = Annotated[str, Field(min_length=1, max_length=200)]


class Questions(BaseModel, extra="forbid"):
    """What memory is asked, for each dimension."""

    power: Question
    intimacy: Question
    task_oriented: Question


@dataclass(frozen=True, kw_only=True)
class AttitudeContext(PromptValues):
    """All that is judged from. `attitude` is how the speaker stood until now; `questions` and `evidence`, what memory
    says to them, are there once the questions are.
    """

    speaker: CharacterProfile | NpcProfile
    partner_name: str
    attitude: Attitude
    lines: tuple[Line, ...]
    questions: Questions | None = None
    evidence: Evidence = ()


async def changed_stance(
    deps: ConversationDependencies, met: WorldView, context: PromptContext, said: Transcript, at: WorldTime | None
) -> str:
    """How the speaker of the next turn stands to the partner by now, in words; "" where these are the words it was told
    last, or nothing has been said yet. `met` is the world as it was when the two met; `at` as for `speak`.

    A model that fails leaves it as it was, and the turn is spoken.
    """
    if deps.settings.memory.attitude != "per_turn" or not said.turns:
        return ""
    world, change_id = world_of(said.row, said.world, at), turn_key(said.row.id, len(said.turns))
    pair = ([context.speaker.id], [context.partner_id])
    changes = await deps.database.read(lambda s: attitude_changes(s, world.id, world.now, *pair))
    before = sum_of(one for one in changes if one.id != change_id)
    if any(one.id == change_id for one in changes):  # somebody stopped after it was judged
        now = sum_of(changes)
    else:
        now = await _judge(deps, met, context, said, at, before)
    told, words = (stance(one, context.language) for one in (before, now))
    return "" if words == told else words


async def _judge(
    deps: ConversationDependencies,
    met: WorldView,
    context: PromptContext,
    said: Transcript,
    at: WorldTime | None,
    before: Attitude,
) -> Attitude:
    """The attitude as it is judged and written now; as it was `before`, where a model fails."""
    asked = AttitudeContext(
        language=context.language,
        speaker=context.speaker,
        partner_name=context.partner_name,
        attitude=before,
        lines=_heard(said, context.speaker.id),
        own_prompts=context.own_prompts,
    )
    spent, key = Usage(), said.row.key
    try:
        questions = await _ask(deps, asked, Questions, "/".join(key))
        spent += questions.usage
        asks = {name: getattr(questions.value, name) for name in DIMENSIONS}
        found = await ask_each(deps.memory, met, context.speaker.id, context.partner_id, asks)
        known = evidence(met, discretion_among(context.speaker, context.affinities), found, context.speaker.id)
        asked = replace(asked, questions=questions.value, evidence=known)
        judged = await _ask(deps, asked, AttitudeDraft, "/".join(key))
    except asyncio.CancelledError:  # the question was sent, and is paid for whoever interrupted it
        await asyncio.shield(_count_failure(deps, said, spent + Usage(calls=1, estimated=True), at))
        raise
    except ModelError as exc:
        _log.warning("%s stands to %s as before: %s", context.speaker.id, context.partner_id, exc)
        await _count_failure(deps, said, spent + exc.usage, at)
        return before
    spent += judged.usage
    await deps.database.write(lambda s: _write(s, deps, said, context, judged.value, spent, at))
    return replace(before, **judged.value.model_dump())


def _heard(said: Transcript, person_id: str) -> tuple[Line, ...]:
    """The last words that the person heard."""
    found = [line for line in lines_for(said.world, said.row, person_id, said.turns) if line.text]
    return tuple(found[-LATELY:])


async def _count_failure(deps: ConversationDependencies, said: Transcript, spent: Usage, at: WorldTime | None) -> None:
    await deps.database.write(lambda s: count_failure(s, deps.worlds, said.row.key, "attitude", spent, at))


def _write(
    session: Session,
    deps: ConversationDependencies,
    said: Transcript,
    context: PromptContext,
    judged: AttitudeDraft,
    usage: Usage,
    at: WorldTime | None,
) -> None:
    """Write what was judged before the next turn, and what it cost; a conversation that was ended meanwhile pays."""
    row, clock = held(session, deps.worlds, said.row.key)
    world = world_of(row, clock, at)
    pay(session, row, world.day, "attitude", usage)
    if row.phase == Phase.RUNNING:
        change = AttitudeChangeRow(
            world_id=row.world_id,
            owner_id=context.speaker.id,
            other_id=context.partner_id,
            id=turn_key(row.id, len(said.turns)),
            at=world.now,
            conversation_id=row.id,
            **judged.model_dump(),
        )
        session.add(change)


def judged_until(session: Session, row: ConversationRow, turn: TurnRow, other_id: str) -> Attitude:
    """How the turn's speaker was judged to stand to the other in its conversation, the last time before the turn."""
    ids = {turn_key(row.id, number) for number in range(turn.turn + 1)}
    changes = attitude_changes(session, row.world_id, WorldTime(turn.at), [turn.speaker_id], [other_id])
    return sum_of(one for one in changes if one.id in ids)


async def _ask(deps: ConversationDependencies, context: AttitudeContext, answer: type[T], thread: str) -> Answer[T]:
    """Ask the model that speaks for the speaker. Raises: ModelError."""
    prompt = replace(attitude_prompt(context, answer), thread=thread)
    return await deps.models.for_role(prompt.role).complete(prompt)


def attitude_prompt(context: AttitudeContext, answer: type[T]) -> Prompt[T]:
    """The question as it is sent: for the `Questions`, or, where they are there, for the values; this one begins as the
    other did.
    """
    messages = [Message(role="system", content=_render("system", context))]
    messages.append(Message(role="user", content=_render("asks", context)))
    if context.questions is not None:
        messages.append(Message(role="assistant", content=context.questions.model_dump_json()))
        messages.append(Message(role="user", content=_render("judges", context)))
    return Prompt(
        name="attitude",
        role=context.speaker.kind,
        language=context.language,
        messages=tuple(messages),
        answer=answer,
        given=context,
        max_tokens=MAX_TOKENS,
    )


def _render(block: str, context: AttitudeContext) -> str:
    return TEMPLATES.render("attitude", block, context.language, context, context.own_prompts)
