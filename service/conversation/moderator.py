"""Owns what a model is asked beside a turn: how the one about to speak stands to the other, who is next, and who
perceives the turn. Where it does not answer, all stays as it was, or the rule decides: in the order of the seats, and
by place.

How somebody stands is judged as LoCoMo's relationship reflection does: a model reads the last words and asks three
questions, one for each dimension; memory is asked each of them; then the model gives the three values, beginning from
the ones before. They are written before the turn is spoken, so whoever goes on from there asks no model again.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model
from sqlmodel import Session

from service.content.profile import CharacterProfile, NpcProfile
from service.conversation.dependencies import ConversationDependencies
from service.conversation.prompt import TEMPLATES, Line, PromptContext, data
from service.conversation.transcript import Transcript, count_calls, held, lines_for, world_of
from service.conversation.turn_taking import (
    FEWEST,
    Reached,
    by_place,
    goes_on,
    interventions_in,
    names_of,
    reached,
    spots,
    those_there,
    told_of,
)
from service.errors import ModelError
from service.llm.chat import Message, Prompt, PromptValues, Role, T
from service.memory.closing.context import AttitudeDraft
from service.memory.recall import remembered
from service.memory.record import FACTS, Kind, turn_key
from service.memory.secrets import discretion_among
from service.memory.telling import tell
from service.people.attitude import DIMENSIONS, Attitude, Dimension, attitude_changes, stance, sum_of
from service.people.worlds import WorldView
from service.store.phase import Loudness, Modulator, Phase, Speaker, TurnForm, TurnPolicy
from service.store.tables import AttitudeChangeRow, TurnRow
from service.store.usage import Purpose
from service.usage import Usage
from world.time import WorldTime

_log = logging.getLogger(__name__)

MAX_TOKENS = 300
LATELY = 6
"""How many last turns a moderator is shown, and how many last lines are judged."""
NOTICED = 5
"""From so much on (0 to 10) what is done or said reaches somebody."""

MOST_FOUND = 3
EVIDENCE_TOKENS = 40
"""What bears on one dimension takes no more of a prompt, by `estimate_tokens`."""

AttitudeEvidence = tuple[tuple[Dimension, tuple[str, ...]], ...]
"""The dimensions that memory says something of, and what, each line with when."""
Degree = Annotated[int, Field(ge=0, le=10)]


class NextSpeaker(BaseModel, extra="forbid"):
    """Who is to have the next turn."""

    next: str


class Reach(BaseModel, extra="forbid"):
    """What a turn is to one person: what is done, and what is said."""

    sees: Degree
    hears: Degree


@dataclass(frozen=True, kw_only=True)
class ModeratorContext(PromptValues):
    """What a moderator is told: of those it may choose the `names`, and the last turns, as everybody would see them."""

    place: str
    told: tuple[str, ...]
    names: tuple[str, ...]
    lines: tuple[str, ...]
    addressed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Bystander:
    """Somebody whom a turn may reach, and where it stands."""

    name: str
    spot: str


@dataclass(frozen=True, kw_only=True)
class ModulatorContext(PromptValues):
    """What a modulator is told: the turn, its speaker's `spot`, and those whom it may reach. `near` are those whom it
    reaches by the rule of place: what is seen, and what is heard.
    """

    place: str
    speaker_name: str
    spot: str
    line: str
    others: tuple[Bystander, ...]
    near: tuple[tuple[str, ...], ...]


async def moderated(deps: ConversationDependencies, said: Transcript, seat: int, at: int | None) -> int:
    """The seat that speaks next, where a moderator chooses among more than one; else, or where it fails, `seat`."""
    row, turns = said.row, said.turns
    if row.turn_policy != TurnPolicy.MODERATOR or not turns:
        return seat
    there = [one for one in those_there(row, len(turns)) if one.speaker == Speaker.MODEL]
    ids = [one.person_id for one in there if one.person_id != turns[-1].speaker_id]
    if len(ids) < 2 or row.participants[seat].speaker == Speaker.HUMAN:
        return seat
    world = said.world
    known = names_of(world, ids)
    done = await deps.database.read(lambda s: interventions_in(s, row.key)) if row.form == TurnForm.SCENE else []
    context = ModeratorContext(
        language=world.language,
        place=row.place or world.map.label(row.node_id),
        told=goes_on(row, done, len(turns) + 1),
        names=tuple(known),
        lines=tuple(data(told_of(world, one, one.text, one.act)) for one in turns[-LATELY:]),
        addressed=tuple(name for name, one in known.items() if one in (turns[-1].addressed or ())),
        own_prompts=world.cast.own_prompts,
    )
    answer = await _ask(deps, said, directed("moderator", context, choosing(tuple(known))), "moderator", at)
    return seat if answer is None else row.seat_of(known[answer.next])


async def perceivers(deps: ConversationDependencies, said: Transcript, turn: TurnRow, at: int | None) -> Reached:
    """Who perceives the turn that is about to be committed. Of two each perceives what the other does and says, but for
    an aside.
    """
    row, loudness = said.row, Loudness(turn.loudness)
    if row.modulator == Modulator.ALL:
        return None, None
    stand = spots(row, [*said.turns, turn])
    others = [one for one in stand if one != turn.speaker_id]
    if len(others) < FEWEST:
        return None, [] if loudness == Loudness.ASIDE else None
    ruled = by_place(stand, turn.speaker_id, turn.addressed or (), loudness)
    if row.modulator == Modulator.PLACE or not (turn.act or turn.text):
        return ruled
    known = names_of(said.world, others)
    context = ModulatorContext(
        language=said.world.language,
        place=row.place or said.world.map.label(row.node_id),
        speaker_name=turn.speaker_name,
        spot=stand[turn.speaker_id],
        line=data(told_of(said.world, turn, turn.text, turn.act)),
        others=tuple(Bystander(name=name, spot=stand[one]) for name, one in known.items()),
        near=tuple(tuple(name for name, one in known.items() if some is None or one in some) for some in ruled),
        own_prompts=said.world.cast.own_prompts,
    )
    answer = await _ask(deps, said, directed("modulator", context, reaching(tuple(known))), "modulator", at)
    if answer is None:
        return ruled
    reach: Mapping[str, Reach] = {one: getattr(answer, f"person_{n}") for n, one in enumerate(known.values(), 1)}
    hears = {one for one in others if reach[one].hears >= NOTICED and loudness != Loudness.ASIDE}
    return reached(others, {one for one in others if reach[one].sees >= NOTICED}, hears)


@lru_cache(maxsize=256)
def choosing(names: tuple[str, ...]) -> type[NextSpeaker]:
    """An answer that is one of the names."""
    one_of: Any = Literal[names]
    return create_model("NextSpeaker", __base__=NextSpeaker, next=(one_of, ...))


@lru_cache(maxsize=256)
def reaching(names: tuple[str, ...]) -> type[BaseModel]:
    """An answer with a `Reach` for each of the names, by number: a name is no key in every language."""
    fields: dict[str, Any] = {f"person_{n}": (Reach, Field(description=name)) for n, name in enumerate(names, 1)}
    return create_model("Reaches", __config__=ConfigDict(extra="forbid"), **fields)


def directed(role: Role, context: ModeratorContext | ModulatorContext, answer: type[T]) -> Prompt[T]:
    """The question of that role as it is sent."""
    return TEMPLATES.question(role, role, context, answer, max_tokens=MAX_TOKENS)


async def _ask(
    deps: ConversationDependencies, said: Transcript, prompt: Prompt[T], purpose: Purpose, at: int | None
) -> T | None:
    """What the prompt's role answers, its cost counted for that purpose; None: it failed."""
    key, value = said.row.key, None
    spent = Usage(calls=1, estimated=True).failed
    try:
        found = await deps.models.for_role(prompt.role).complete(replace(prompt, thread="/".join(key)))
        spent, value = found.usage, found.value
    except ModelError as exc:
        _log.warning("conversation %s goes on without its %s: %s", key.conversation_id, purpose, exc)
        spent = exc.usage.failed
    finally:  # what was sent is paid for, whoever interrupted it
        count = deps.database.write(lambda s: count_calls(s, deps.worlds, key, purpose, spent, at))
        await asyncio.shield(count)
    return value


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
    evidence: AttitudeEvidence = ()


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
    told, words = (stance(one, context.partner_name, context.language) for one in (before, now))
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
    heard = lines_for(said.world, said.row, context.speaker.id, said.turns)
    asked = AttitudeContext(
        language=context.language,
        speaker=context.speaker,
        partner_name=context.partner_name,
        attitude=before,
        lines=tuple(line for line in heard if line.text)[-LATELY:],
        own_prompts=context.own_prompts,
    )
    questions = await _ask(deps, said, attitude_prompt(asked, Questions), "attitude", at)
    if questions is None:
        return before
    asks = {name: getattr(questions, name) for name in DIMENSIONS}
    asked = replace(asked, questions=questions, evidence=await _evidence(deps, met, context, asks))
    judged = await _ask(deps, said, attitude_prompt(asked, AttitudeDraft), "attitude", at)
    if judged is None:
        return before
    await deps.database.write(lambda s: _write(s, deps, said, context, judged, at))
    return replace(before, **judged.model_dump())


async def _evidence(
    deps: ConversationDependencies, met: WorldView, context: PromptContext, questions: Mapping[Dimension, str]
) -> AttitudeEvidence:
    """What the speaker remembers of the partner that answers each question best, each once and nothing that is kept
    from those who are there; nothing while the store is away.
    """
    own, kinds = context.speaker.id, {*FACTS, Kind.TURN}
    found = await asyncio.gather(
        *(
            remembered(deps.memory, met, own, asked, limit=MOST_FOUND, partner_id=context.partner_id, kinds=kinds)
            for asked in questions.values()
        )
    )
    keeps, known = discretion_among(context.speaker, context.affinities), list[tuple[Dimension, tuple[str, ...]]]()
    for dimension, recalled in zip(questions, found, strict=True):
        bears = (one for one in keeps.known(recalled, met) if one.bears)
        earlier = [line for _, lines in known for line in lines]
        if lines := tell(met, own, bears, tokens=EVIDENCE_TOKENS, told=earlier).lines:
            known.append((dimension, lines))
    return tuple(known)


def _write(
    session: Session,
    deps: ConversationDependencies,
    said: Transcript,
    context: PromptContext,
    judged: AttitudeDraft,
    at: WorldTime | None,
) -> None:
    """Write what was judged before the next turn, unless the conversation was ended meanwhile."""
    row, clock = held(session, deps.worlds, said.row.key)
    if row.phase == Phase.RUNNING:
        change = AttitudeChangeRow(
            world_id=row.world_id,
            owner_id=context.speaker.id,
            other_id=context.partner_id,
            id=turn_key(row.id, len(said.turns)),
            at=world_of(row, clock, at).now,
            conversation_id=row.id,
            **judged.model_dump(),
        )
        session.add(change)


def attitude_prompt(context: AttitudeContext, answer: type[T]) -> Prompt[T]:
    """The question as it is sent: for the `Questions`, or, where they are there, for the values; this one begins as the
    other did.
    """
    blocks = ("system", "asks") if context.questions is None else ("system", "asks", "judges")
    system, asks, *judges = (
        TEMPLATES.render("attitude", block, context.language, context, context.own_prompts) for block in blocks
    )
    messages = [Message(role="system", content=system), Message(role="user", content=asks)]
    if context.questions is not None:
        messages.append(Message(role="assistant", content=context.questions.model_dump_json()))
        messages += [Message(role="user", content=one) for one in judges]
    return Prompt(
        name="attitude",
        role=context.speaker.kind,
        language=context.language,
        messages=tuple(messages),
        answer=answer,
        given=context,
        max_tokens=MAX_TOKENS,
    )
