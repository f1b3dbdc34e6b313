"""Owns the endpoints of what a character could do, what a client makes it do, and of what people promised."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field
from sqlmodel import Session, col, select

from service.api.dependencies import (
    KNOWN_QUERY,
    AcceptLanguage,
    After,
    AsAsked,
    AtMost,
    In,
    Out,
    Serving,
    Slug,
    WorldId,
    WorldTimeText,
    cut,
    describe,
)
from service.api.schemas import CommitmentIn, CommitmentOut, Page
from service.decision.options import action_name, option_line, why
from service.errors import CommitmentOver, existing
from service.locales import language_accepted
from service.people.commitments import as_commitment, settle
from service.people.worlds import WorldView
from service.runtime.client_actions import do, possibilities, sleep, walk
from service.runtime.world_session import WorldSession, load
from service.store.phase import CommitmentState
from service.store.tables import CommitmentRow
from world.actions import Option, Refusal
from world.life import Segment
from world.time import WorldTime

router = APIRouter(tags=["people"], dependencies=[KNOWN_QUERY])


class SleepIn(In, examples={"sleep": {"type": "sleep"}}):
    """Sleep: the day's conversations are cleared."""

    type: Literal["sleep"] = Field(description="says that it sleeps")


class MoveIn(In, examples={"walk up to an NPC": {"type": "move", "npc_id": "npc_taro"}}):
    """Walk to exactly one of a node, a facility or an NPC (up to a place beside it)."""

    type: Literal["move"] = Field(description="says that it walks")
    node_id: Slug | None = Field(default=None, description="walk to that node")
    facility_id: Slug | None = Field(default=None, description="walk to that facility")
    npc_id: Slug | None = Field(default=None, description="walk up to that NPC, to a node beside it")


class DoIn(In, examples={"do something where it is nearest": {"type": "do", "action_id": "eat_out"}}):
    """Do an action of actions.json, where it is nearest or in that facility; the character walks there if it must."""

    type: Literal["do"] = Field(description="says that it does an action")
    action_id: Slug = Field(examples=["eat_out"], description="an action of actions.json")
    facility_id: Slug | None = Field(
        default=None, description="do it in that facility; left out: wherever it is nearest"
    )


ActionIn = Annotated[SleepIn | MoveIn | DoIn, Field(discriminator="type")]


class SleptOut(Out):
    """What sleep did."""

    type: Literal["sleep"] = Field(default="sleep", description="says that it slept")
    at: WorldTimeText = Field(description="the world time at which it slept")
    cleared_conversations: int = Field(description="how many conversations of the day it no longer has in mind")


class MovedOut(Out, of=Segment, shows="path"):
    """The way that is walked now: `path[i]` is reached at `times[i]`."""

    type: Literal["move"] = Field(default="move", description="says that it walks")
    times: list[WorldTimeText] = Field(description="the world time at which each node of `path` is reached")
    arrives_at: WorldTimeText = Field(description="the world time at which it is there")
    minutes: int = Field(description="world minutes the whole way takes")


class DoingOut(Out, of=Option, shows="action_id facility_id"):
    """What the character does from now on: it is at `node_id` at `arrives_at`, and done at `until` if nothing cuts
    it.
    """

    type: Literal["do"] = Field(default="do", description="says that it does an action")
    node_id: str = Field(description="the node where it does it")
    arrives_at: WorldTimeText = Field(description="the world time at which it is there and begins")
    until: WorldTimeText = Field(description="the world time at which it is done, if nothing cuts it")


ActedOut = Annotated[SleptOut | MovedOut | DoingOut, Field(discriminator="type")]


class OptionOut(Out, of=Option, shows="action_id facility_id target_id node_id walk_minutes minutes"):
    """Something possible now."""

    name: str = Field(description="the action's name, in the reader's language")
    facility_name: str | None = Field(description="that facility's name; else null")
    target_name: str | None = Field(description="name of the one who would be spoken to; else null")
    place: str = Field(description="name of that node and its surroundings")
    text: str = Field(description="all of this in a line", examples=["Eat out: Chidori Tavern (walk 5, 40 min)"])


class RefusalOut(Out, of=OptionOut, shows="action_id facility_id target_id name facility_name target_name"):
    """Something that is not possible now."""

    facts: dict[str, str | int | float] = Field(description="what the reason is about: which need, which hours, who")
    reason: str = Field(examples=["closed", "too_little"], description="why not, as a stable word")
    text: str = Field(description="why not, as a sentence in the reader's language")


class PossibilitiesOut(Out, of=WorldView, shows="now language"):
    """What a character could do now if it stopped what it does, and what not, and why."""

    character_id: str = Field(description="id of the character")
    options: list[OptionOut] = Field(description="what it could do now")
    refusals: list[RefusalOut] = Field(description="what it cannot do now, and why")


@router.get("/characters/{character_id}/actions", responses=describe(409))
async def read_actions(
    character_id: Slug,
    deps: Serving,
    world_id: WorldId,
    accept_language: AcceptLanguage = None,
) -> PossibilitiesOut:
    """What the character could do now if it stopped what it does, and what not, and why. It changes nothing, and
    answers at once, also while the world moves.

    Options can be done with `POST` at the same address: `go` and `talk` aside, which are `move` and
    `POST /conversations/start`.
    """

    def work(session: Session) -> PossibilitiesOut:
        world_session = load(
            session, deps.conversation.worlds, world_id, models_missing=deps.conversation.models_missing
        )
        found = possibilities(session, world_session, character_id)
        language = language_accepted(accept_language) or world_session.world.language
        world = world_session.world.told_in(language)
        return PossibilitiesOut.of(
            world,
            character_id=character_id,
            options=[
                OptionOut.of(
                    one, **_named(world, one), place=world.map.label(one.node_id), text=option_line(world, one)
                )
                for one in found.options
            ],
            refusals=[
                RefusalOut.of(one, **_named(world, one), reason=one.reason.value, text=why(world, one))
                for one in found.refusals
            ],
        )

    return await deps.conversation.database.read(work)


@router.post("/characters/{character_id}/actions", response_model=ActedOut, responses=describe(409))
async def act(
    character_id: Slug,
    body: ActionIn,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
) -> dict[str, Any]:
    """Let a character sleep (its day's conversations are cleared), walk somewhere, or do an action, from now on.

    What it does ends, and from here on it is in the client's hands: when it is done it stands until it is told what to
    do next, while everybody else lives on. `PATCH /characters/{id}` with another `decision` gives it back.
    """
    return await deps.world_runner.command(
        world_id,
        lambda s, world_session: _act(s, world_session, character_id, body),
        keeps_decisions=True,
        asked=asked,
    )


def _act(
    session: Session, world_session: WorldSession, character_id: str, body: SleepIn | MoveIn | DoIn
) -> dict[str, Any]:
    now = world_session.world.now
    if isinstance(body, MoveIn):
        segment = walk(session, world_session, character_id, **body.model_dump(exclude={"type"}))
        return MovedOut.of(segment, arrives_at=segment.arrival, minutes=segment.arrival - segment.start).model_dump()
    if isinstance(body, DoIn):
        option = do(session, world_session, character_id, body.action_id, facility_id=body.facility_id)
        arrival = now + option.walk_minutes
        return DoingOut.of(option, arrives_at=arrival, until=arrival + option.minutes).model_dump()
    return SleptOut(at=now, cleared_conversations=sleep(session, world_session, character_id)).model_dump()


def _named(world: WorldView, one: Option | Refusal) -> dict[str, Any]:
    facility = world.map.facilities.get(one.facility_id or "")
    return {
        "name": action_name(world, one.action_id),
        "facility_name": facility.name if facility else None,
        "target_name": world.name_of(one.target_id) if one.target_id else None,
    }


@router.get("/people/{person_id}/commitments")
async def read_commitments(
    person_id: Slug, deps: Serving, world_id: WorldId, after: After = None, limit: AtMost = None
) -> Page[CommitmentOut]:
    """What the person promised and was promised, NPC or character: what is open first, the soonest first, then what is
    over.

    Who made a promise for a place of the map and an hour, or a part of a day (`moves`), walks there; it is kept if both
    are there at once within 15 minutes of the hour, or in that part of the day. Any other is kept, moved or released
    where a later talk says so, and kept, broken or released where a client does (`POST /commitments/{id}`); else it
    lapses.
    """

    def work(session: Session, world: WorldView) -> Page[CommitmentOut]:
        world.cast.person(person_id)
        involved = (col(CommitmentRow.by_id) == person_id) | (col(CommitmentRow.to_id) == person_id)
        query = select(CommitmentRow).where(CommitmentRow.world_id == world_id, involved)
        made = query.where(CommitmentRow.made_at <= world.now)  # a later one is lived ahead of the clock
        rows = session.exec(made.order_by(col(CommitmentRow.expires_at), col(CommitmentRow.id))).all()
        ordered = sorted(rows, key=lambda row: row.state != CommitmentState.OPEN)
        found, following = cut(ordered, lambda row: row.id, after, limit)
        return Page[CommitmentOut](items=[_out(row) for row in found], next=following)

    return await deps.read(world_id, work)


@router.post("/commitments/{commitment_id}", responses=describe(409))
async def settle_commitment(
    commitment_id: Slug,
    body: CommitmentIn,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
) -> CommitmentOut:
    """Say what became of an open promise: kept and broken move how the other stands to who made it, and both remember;
    released takes it back, and nothing follows.
    """

    def work(session: Session, world_session: WorldSession) -> CommitmentOut:
        row = existing(session.get(CommitmentRow, (world_id, commitment_id)), "commitment", commitment_id)
        if row.state != CommitmentState.OPEN:
            raise CommitmentOver(id=commitment_id, state=row.state)
        settle(session, world_session.world, row, CommitmentState(body.state))
        session.flush()
        return _out(row)

    return await deps.world_runner.command(world_id, work, asked=asked)


def _out(row: CommitmentRow) -> CommitmentOut:
    moves = as_commitment(row).appointment is not None
    return CommitmentOut.of(row, moves=moves, expires_at=WorldTime(row.expires_at))
