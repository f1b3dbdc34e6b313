"""Owns the endpoint that tells how two worlds differ, as two branches of one do."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from service.api.dependencies import KNOWN_QUERY, Serving, WorldId
from service.api.fields import Out, Slug, WorldTimeText
from service.api.problem import describe
from service.memory.record import Kind
from service.people.attitude import Attitude
from service.runtime.compare import compare

router = APIRouter(prefix="/world", tags=["world"], dependencies=[KNOWN_QUERY])


class _First(Out):
    count: int = Field(description="how many there are, also those that are not shown")


class ComparedWorldOut(Out):
    """One of two worlds that are compared."""

    id: str = Field(description="which world it is", examples=["main"])
    now: WorldTimeText = Field(description="its world time: up to there it is compared")


class LineOut(Out):
    """What somebody said."""

    speaker_id: str = Field(description="id of who said it")
    speaker_name: str = Field(description="name of who said it")
    text: str = Field(description="what was said")


class TurnDifferenceOut(Out):
    """A turn, here and there."""

    turn: int = Field(description="its place in the conversation, from 0")
    here: LineOut | None = Field(description="what was said here; null: the conversation has no such turn here")
    there: LineOut | None = Field(description="the same of the other world")


class ConversationDifferenceOut(Out):
    """A conversation that one of the worlds has not had, or that went otherwise there."""

    id: str = Field(description="its id, the same in both worlds")
    people: list[str] = Field(description="names of who take part")
    at: WorldTimeText = Field(description="since when it differs")
    here: int = Field(description="how many turns it has here; 0: it was not held")
    there: int = Field(description="how many turns it has in the other world")
    turns: list[TurnDifferenceOut] = Field(description="the first turn that differs and what followed, ten at most")


class OneSidedMemoryOut(Out):
    """What somebody remembers in one of the worlds and not in the other."""

    at: WorldTimeText = Field(description="since when")
    person_id: str = Field(description="id of who remembers it")
    name: str = Field(description="name of who remembers it")
    kind: Kind = Field(description="what it is, as in GET /people/{id}/memories")
    text: str = Field(description="what it says, without who told it")


class StandingOut(Out, of=Attitude, shows="affinity power intimacy task_oriented times_met"):
    """How one person stands to another."""


class AttitudeDifferenceOut(Out):
    """How one person stands to another, here and there."""

    person_id: str = Field(description="id of the one who stands so")
    name: str = Field(description="name of that one")
    other_id: str = Field(description="id of the one to whom")
    other_name: str = Field(description="name of the one to whom")
    here: StandingOut = Field(description="in this world")
    there: StandingOut = Field(description="in the other one")


class PromiseOut(Out):
    """A promise, and what came of it."""

    what: str = Field(description="what was promised")
    due_at: WorldTimeText | None = Field(description="when; null: no time was said")
    state: Literal["open", "kept", "broken", "released", "lapsed"] = Field(description="open, or what became of it")


class PromiseDifferenceOut(Out):
    """A promise that was not made in one of the worlds, or of which something else came."""

    id: str = Field(description="id of the promise, the same in both worlds")
    by_name: str = Field(description="name of who promised")
    to_name: str = Field(description="name of the one it was promised to")
    here: PromiseOut | None = Field(description="in this world; null: it was not made")
    there: PromiseOut | None = Field(description="in the other one")


class ConversationDifferences(_First):
    """By when they went apart."""

    items: list[ConversationDifferenceOut] = Field(description="the first ones")


class Memories(_First):
    """By world time."""

    items: list[OneSidedMemoryOut] = Field(description="the first ones")


class AttitudeDifferences(_First):
    """Where affinity differs most comes first."""

    items: list[AttitudeDifferenceOut] = Field(description="the first ones")


class PromiseDifferences(_First):
    """By when they were made."""

    items: list[PromiseDifferenceOut] = Field(description="the first ones")


class ComparisonOut(Out):
    """How two worlds differ: `here` is the one that was asked, `there` the one it is compared with."""

    here: ComparedWorldOut = Field(description="the world that was asked")
    there: ComparedWorldOut = Field(description="the one it is compared with")
    parted_at: WorldTimeText | None = Field(
        description="up to then they were one world, as their branches say; null: neither was ever the other"
    )
    conversations: ConversationDifferences = Field(description="what was said in one only, or in other words")
    memories_here: Memories = Field(description="what is remembered here and not there")
    memories_there: Memories = Field(description="what is remembered there and not here")
    attitudes: AttitudeDifferences = Field(description="who stands otherwise to whom")
    promises: PromiseDifferences = Field(description="what was promised in one only, or ended otherwise")


@router.get("/compare", response_model=ComparisonOut, responses=describe(404))
async def compare_worlds(
    deps: Serving,
    world_id: WorldId,
    with_: Annotated[Slug, Query(alias="with", description="the other world", examples=["what-if"])],
    limit: Annotated[int, Query(ge=1, le=200, description="At most so many differences of each kind")] = 20,
) -> ComparisonOut:
    """Compare the world with another one, as two branches are: what was said, what people remember, how they stand to
    each other, what they promised. Each as it is at its own world time.
    """
    return ComparisonOut.model_validate(await compare(deps.conversation, world_id, with_, limit))
