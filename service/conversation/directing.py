"""Owns the two questions that a scene asks beside its turns, by one call each: who is next, and who perceives a turn.

Where a model does not answer, the rule does: in the order of the seats, and by place.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from service.conversation.dependencies import ConversationDependencies
from service.conversation.hearing import goes_on, interventions_in, names_of, told_of
from service.conversation.perception import Perceivers, by_place, those_there
from service.conversation.prompt import TEMPLATES, data
from service.conversation.transcript import Transcript, count_calls, count_failure
from service.errors import ModelError
from service.llm.chat import Prompt, PromptValues, Role, T
from service.people.worlds import WorldView
from service.store.phase import Loudness, Modulator, Speaker, TurnForm, TurnPolicy
from service.store.tables import ConversationRow, TurnRow
from service.usage import Usage

_log = logging.getLogger(__name__)

MAX_TOKENS = 300
LATELY = 6
"""How many last turns a moderator is shown."""
NOTICED = 5
"""From so much on (0 to 10) what is done or said reaches somebody."""

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
    near: tuple[tuple[str, ...], tuple[str, ...]]


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
    answer = await _ask(deps, said, "moderator", context, choosing(tuple(known)), at)
    return seat if answer is None else row.seat_of(known[answer.next])


async def perceivers(deps: ConversationDependencies, said: Transcript, turn: TurnRow, at: int | None) -> Perceivers:
    """Who perceives the turn that is about to be committed."""
    row = said.row
    spots = {one.person_id: one.spot for one in those_there(row, turn.turn)}
    if row.modulator == Modulator.ALL:
        return Perceivers()
    loudness = Loudness(turn.loudness)
    ruled = by_place(spots, turn.speaker_id, turn.addressed or (), loudness)
    others = [one for one in spots if one != turn.speaker_id]
    if row.modulator == Modulator.PLACE or not (turn.act or turn.text):
        return ruled
    known = names_of(said.world, others)
    context = _modulated(said.world, row, turn, spots, known, ruled)
    answer = await _ask(deps, said, "modulator", context, reaching(tuple(known)), at)
    if answer is None:
        return ruled
    reach: Mapping[str, Reach] = {one: getattr(answer, f"person_{n}") for n, one in enumerate(known.values(), 1)}
    hears = {one for one in others if reach[one].hears >= NOTICED and loudness != Loudness.ASIDE}
    return Perceivers.among(others, {one for one in others if reach[one].sees >= NOTICED}, hears)


def _modulated(
    world: WorldView,
    row: ConversationRow,
    turn: TurnRow,
    spots: Mapping[str, str],
    known: Mapping[str, str],
    ruled: Perceivers,
) -> ModulatorContext:
    def of(some: Sequence[str] | None) -> tuple[str, ...]:
        return tuple(name for name, one in known.items() if some is None or one in some)

    return ModulatorContext(
        language=world.language,
        place=row.place or world.map.label(row.node_id),
        speaker_name=turn.speaker_name,
        spot=spots[turn.speaker_id],
        line=data(told_of(world, turn, turn.text, turn.act)),
        others=tuple(Bystander(name=name, spot=spots[one]) for name, one in known.items()),
        near=(of(ruled.seen_by), of(ruled.heard_by)),
        own_prompts=world.cast.own_prompts,
    )


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
    deps: ConversationDependencies,
    said: Transcript,
    role: Role,
    context: ModeratorContext | ModulatorContext,
    answer: type[T],
    at: int | None,
) -> T | None:
    """What the model of that role answers, counted apart; None: it failed."""
    key = said.row.key
    prompt = replace(directed(role, context, answer), thread="/".join(key))
    try:
        found = await deps.models.for_role(role).complete(prompt)
    except asyncio.CancelledError:  # the question was sent, and is paid for whoever interrupted it
        spent = Usage(calls=1, estimated=True)
        await asyncio.shield(deps.database.write(lambda s: count_failure(s, deps.worlds, key, role, spent, at)))
        raise
    except ModelError as exc:
        _log.warning("conversation %s goes on without its %s: %s", key.conversation_id, role, exc)
        spent = exc.usage
        await deps.database.write(lambda s: count_failure(s, deps.worlds, key, role, spent, at))
        return None
    await deps.database.write(lambda s: count_calls(s, deps.worlds, key, role, found.usage, at))
    return found.value
