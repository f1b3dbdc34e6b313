"""Owns the endpoints of people: who they are, how they live at the world's clock, and what a client changes about them.
The core may be ahead of the clock: nothing here is.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from operator import itemgetter
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field
from sqlmodel import Session, col, select

from service.api import views
from service.api.access import Asking, require_scope
from service.api.dependencies import (
    KNOWN_QUERY,
    LINKED,
    After,
    AsAsked,
    AtMost,
    ChangeIn,
    In,
    MayBeLeftOut,
    OnceReadAnew,
    Serving,
    Slug,
    Text,
    Whole,
    World,
    WorldId,
    cut,
    describe,
    link_next,
)
from service.api.schemas import ActivityOut, NeedOut, PersonDetail
from service.content.made import read_made
from service.content.profile import Mood
from service.conversation.transcript import conversations_open
from service.core import Core
from service.decision.options import action_name, told_block
from service.decision.situation import AGENT_STATE, AgentState
from service.errors import WrongPhase
from service.memory.authoring import seeds_of
from service.memory.forgetting import hearsay_about
from service.memory.mind import mid_term_memories, self_told
from service.memory.recall import todays_summaries
from service.memory.record import Group
from service.people.attitude import attitudes_of, moods
from service.people.person import STORED_TALK, levels_of, person_rows, positions, read_person, standing_players
from service.people.worlds import WorldView
from service.runtime.client_actions import set_decision, take_control
from service.runtime.made_people import place_person, put_person, remove_person
from service.runtime.world_edits import amend, amend_npc
from service.runtime.world_session import DecidingBy, WorldSession, how_of
from service.store.event_kinds import Decided
from service.store.events import told_to
from service.store.idempotency import Once, Replayed, first_answer
from service.store.keys import Scope
from service.store.phase import Audience
from service.store.tables import (
    ConversationRow,
    EventRow,
    MadePersonRow,
    ParticipantRow,
    PersonRow,
    TalkRow,
    engaged_in,
)
from world.actions import HOLD, TALK
from world.life import Person, neighbours
from world.time import WorldTime

router = APIRouter(tags=["people"], dependencies=[KNOWN_QUERY])

Listed = Literal["characters", "npcs", "people"]


def _listed(request: Request) -> Listed:
    """Which people the path is of."""
    kind: Listed = request.scope["route"].path.split("/")[1]
    return kind


def _person_id(person_id: Slug, listed: Annotated[Listed, Depends(_listed)], world: World) -> str:
    """Raises: NotFound: nobody of that id is of the people of the path."""
    find = {"characters": world.cast.character, "npcs": world.cast.npc, "people": world.cast.person}[listed]
    return find(person_id).id


PersonId = Annotated[str, Depends(_person_id)]
"""Of somebody who is of the people of the path."""

Items = Annotated[list[Text], Field(max_length=50)]


class CarriedIn(ChangeIn):
    """What an author changes about what anybody carries."""

    give: Items = Field(default=[], description="things it carries from now on, in words")
    take: Items = Field(default=[], description="things it carries no longer, in the words it has them")


class CharacterIn(
    CarriedIn,
    examples={
        "put it somewhere, hungry": {"node_id": "quay_pier", "needs": {"satiety": 20}},
        "give it something": {"give": ["a letter to Taro"]},
        "let it decide by routine": {"decision": "routine"},
    },
):
    """What an author changes about a character."""

    decision: DecidingBy | None = Field(
        default=None, description="how it decides from now on; null: as its file or its world says"
    )
    node_id: MayBeLeftOut[Slug] = Field(default=None, description="the node it stands on from now on")
    needs: MayBeLeftOut[
        Annotated[
            dict[str, Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1_000_000_000, le=1_000_000_000)]],
            Field(min_length=1, max_length=50),
        ]
    ] = Field(default=None, description="levels by the id of the need, cut off at the need's bounds")


class NpcIn(CarriedIn, examples={"mood and affinity": {"mood": "happy", "affinity": {"aoi": 20}}}):
    """What an author changes about an NPC."""

    mood: MayBeLeftOut[Mood] = Field(default=None, description="its mood from now on")
    affinity: MayBeLeftOut[
        Annotated[dict[str, Annotated[Whole, Field(ge=-100, le=100)]], Field(min_length=1, max_length=1000)]
    ] = Field(default=None, description="its affinity by the character's id, -100..100")


_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "description": "The keys of a YAML file of content (docs/content.md), and `kind`",
                    "properties": {
                        "kind": {"enum": ["player", "character", "npc"], "description": "what it is"},
                        "name": {"type": "string", "minLength": 1, "maxLength": 100, "description": "its name"},
                    },
                    "required": ["kind", "name"],
                },
                "examples": {
                    "a player": {"value": {"kind": "player", "name": "Mika"}},
                    "a character": {
                        "value": {
                            "kind": "character",
                            "name": "Sumi",
                            "personality": "Quiet, and quick with her hands.",
                            "home": "quay_pier",
                        }
                    },
                    "an NPC": {
                        "value": {
                            "kind": "npc",
                            "name": "Genzo",
                            "personality": "Mends nets and trusts nobody under sixty.",
                            "node_id": "quay_west",
                            "age": 71,
                            "occupation": {"title": "net maker", "organization": "the harbour"},
                            "skills": ["splicing rope"],
                            "experiences": [{"event": "Lost a boat in the fog.", "importance": 8}],
                        }
                    },
                    "a player whom others know a little": {
                        "value": {"kind": "player", "name": "Mika", "facts": ["came on the morning boat"]}
                    },
                },
            },
        },
    }
}


class PlaceIn(
    In,
    examples={
        "on a node": {"node_id": "quay_pier"},
        "where nobody is to speak to it": {"node_id": "quay_pier", "busy": True},
    },
):
    """Where a person is put."""

    node_id: Slug | None = Field(description="the node where it stands from now on; null: nowhere, seen by nobody")
    busy: bool | None = Field(
        default=None,
        strict=True,
        description="true: nobody speaks to the player first until it is false again; left out: as it was",
    )


@router.get("/characters", responses=LINKED, name="list_characters")
@router.get("/npcs", responses=LINKED, name="list_npcs")
async def list_people(
    request: Request,
    response: Response,
    deps: Serving,
    world_id: WorldId,
    listed: Annotated[Listed, Depends(_listed)],
    after: After = None,
    limit: AtMost = None,
) -> list[PersonDetail]:
    """All of them as they stand now."""

    def work(session: Session, world: WorldView) -> tuple[list[PersonDetail], str | None]:
        ids, following = cut(list(getattr(world.cast, listed)), str, after, limit)
        return people_of(session, world, deps, ids), following

    found, following = await deps.read(world_id, work)
    link_next(request, response, following)
    return found


@router.get("/characters/{person_id}", name="read_character")
@router.get("/npcs/{person_id}", name="read_npc")
@router.get("/people/{person_id}", name="read_person")
async def show_person(person_id: PersonId, deps: Serving, world_id: WorldId) -> PersonDetail:
    """A person as it stands now: where it is, what it does and means to do, its needs, what is on its mind, what it has
    told about itself. A character that has not lived yet is shown as it would begin.
    """
    return await deps.read(world_id, lambda session, world: people_of(session, world, deps, [person_id])[0])


@router.patch("/characters/{person_id}", responses=describe(409))
async def change_character(
    person_id: PersonId, body: CharacterIn, deps: Serving, world_id: WorldId, asked: AsAsked, request: OnceReadAnew
) -> PersonDetail:
    """An author's hand: set how the character decides, put it somewhere, set its needs, give or take things.

    What it does ends when it is moved or its needs are set; it decides anew. `decision` client takes it into a client's
    hands, where it stands until `POST /characters/{id}/actions` says what to do; any other gives it back.
    """

    def work(session: Session, world_session: WorldSession) -> None:
        if body.decision == "client":
            take_control(session, world_session, person_id)
        elif "decision" in body.model_fields_set:
            set_decision(session, world_session, person_id, body.decision)
        amend(session, world_session, person_id, **body.model_dump(exclude={"decision"}))

    await first_answer(deps.world_runner.command(world_id, work, asked=asked, request=request))
    return await show_person(person_id, deps, world_id)


@router.patch("/npcs/{person_id}", responses=describe(409))
async def change_npc(
    person_id: PersonId, body: NpcIn, deps: Serving, world_id: WorldId, asked: AsAsked, request: OnceReadAnew
) -> PersonDetail:
    """An author's hand: set the NPC's mood from now on, and its affinity towards characters; give or take things."""
    await first_answer(
        deps.world_runner.command(
            world_id, lambda s, lived: amend_npc(s, lived, person_id, **body.model_dump()), asked=asked, request=request
        )
    )
    return await show_person(person_id, deps, world_id)


@router.put(
    "/people/{person_id}",
    responses={201: {"model": PersonDetail, "description": "The person was not there"}, **describe(409)},
    openapi_extra=_BODY,
)
async def put_person_of_world(
    person_id: Slug, request: Request, response: Response, deps: Serving, world_id: WorldId, asked: AsAsked, key: Asking
) -> PersonDetail:
    """Make a person while the world runs (201), or change its profile (200). The profile has the keys of a YAML file of
    content, with its `kind` beside them, and `node_id` for an NPC: where it stands. A `player` needs no more than a
    name. The same again changes nothing.

    A character begins its life at home, from the next settled minute on; where an NPC comes to stand the way is closed.

    A person of the content is refused: its file says who it is. A key of the scope `play` makes players alone.
    """
    made = read_made(person_id, await request.body())
    require_scope(key, Scope.PLAY if made.kind == "player" else Scope.AUTHOR)

    def work(session: Session, world_session: WorldSession) -> tuple[bool, PersonDetail]:
        is_new = put_person(session, deps.conversation.worlds, world_session, made)
        return is_new, people_of(session, deps.conversation.worlds.open(session, world_id), deps, [person_id])[0]

    keeps = made.kind != "npc"  # who stands in the way changes what is possible
    put_once = Once.of(world_id, asked, is_read_anew=True, shown=itemgetter(0))
    try:
        is_new, known = await deps.world_runner.command(
            world_id, work, keeps_decisions=keeps, asked=asked, request=put_once
        )
    except Replayed as done:
        is_new, known = done.answer, await show_person(person_id, deps, world_id)
    response.status_code = 201 if is_new else 200
    return known


@router.put("/people/{person_id}/position", responses=describe(409))
async def place_person_of_world(
    person_id: Slug,
    body: PlaceIn,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
) -> PersonDetail:
    """Put a player on a node, or nowhere (null), from the next settled minute on, without travel. Those in sight see it
    there; it stands, needs nothing and decides nothing.

    People who stand beside a player may speak to it first: its stream then tells `conversation.started` with a
    `reason`. Nobody does while it is `busy`; it may go away without an answer.

    A character is put there as `PATCH /characters/{id}` does it, and then decides anew. Who talks is refused (409).
    """

    def work(session: Session, world_session: WorldSession) -> PersonDetail:
        place_person(session, world_session, person_id, body.node_id, busy=body.busy)
        session.flush()
        return people_of(session, world_session.world, deps, [person_id])[0]

    known = await deps.world_runner.command(world_id, work, keeps_decisions=True, asked=asked)
    deps.conversation.stream.tell_people(world_id, [person_id])
    return known


@router.delete("/people/{person_id}", status_code=204, responses=describe(409))
async def remove_person_of_world(
    person_id: Slug,
    deps: Serving,
    world_id: WorldId,
    world: World,
    asked: AsAsked,
    everywhere: Annotated[
        bool,
        Query(description="Also what others remember of it and were told of it, and every word of the talks it had"),
    ] = False,
) -> None:
    """Take a person who was made at run time out of the world, with all that it remembers itself. What others remember
    of it is theirs and stays, unless `everywhere` is asked for.

    A player's open talks are ended and remembered first. Whoever else talks, or takes leave, is refused (409): end the
    conversation first.
    """
    worlds, memory = deps.conversation.worlds, deps.conversation.memory
    person = world.cast.person(person_id)
    if person.kind == "player":
        await _end_talks(deps, world_id, person_id)
    told = await hearsay_about(memory, world, person_id) if everywhere else None
    await deps.world_runner.command(
        world_id,
        lambda s, world_session: remove_person(s, worlds, memory, world_session, person_id, everywhere=told),
        keeps_decisions=person.kind == "player" and not everywhere,
        asked=None if everywhere else asked,
        request=Once.of(world_id, asked),
    )
    await deps.bring_on(world_id)


async def _end_talks(deps: Core, world_id: str, player_id: str) -> None:
    """All that the player is in, and return when others remember them."""
    for key in await deps.conversation.database.read(lambda s: conversations_open(s, world_id, player_id)):
        with suppress(WrongPhase):  # it is being remembered
            await deps.end_talk(key)
        await deps.wait(key)


def people_of(session: Session, world: WorldView, deps: Core, ids: Sequence[str]) -> list[PersonDetail]:
    """These people as they stand at the world's clock."""
    cast, talking = world.cast, talking_in(session, world)
    rows = person_rows(session, world.id, ids)
    players = standing_players(session, world, only=[one for one in ids if one in cast.players])
    made = set(session.exec(select(MadePersonRow.person_id).where(MadePersonRow.world_id == world.id)))
    felt = moods(session, world, ids, deps.conversation.settings.memory.mood_cools_hours)
    attitudes = attitudes_of(session, world.id, ids, world.now)
    told, on_mind = self_told(session, world, *ids), mid_term_memories(session, world, *ids)
    given = {one: seeds_of(session, Group(world_id=world.id, person_id=one), told[one]) for one in ids}
    walkers = [one for one in ids if one in cast.characters]
    here = positions(session, world) if walkers else {}
    return [
        PersonDetail.of(
            cast.person(one),
            goals=[{"goal": goal.goal, "importance": goal.importance} for goal in cast.person(one).goals],
            made=one in made,
            busy=rows[one].busy,
            items=rows[one].items,
            mood=felt[one],
            position=views.position_of(session, world, one, players),
            talking_in=talking.get(one),
            beside=neighbours(world.map, here, one) if one in walkers else [],
            affinity={other_id: towards[other_id].affinity for other_id in sorted(towards)},
            conversation_count=sum(each.times_met for each in towards.values()),
            last_conversation_at=max((each.last_met_at for each in towards.values() if each.last_met_at), default=None),
            learned_facts=[views.memory(fact, world, one, given[one]) for fact in told[one]],
            mid_term=on_mind[one],
            today=[views.meeting(row, world) for row in todays_summaries(session, world, one)],
            home=getattr(cast.person(one), "home", None),
            spawn_node_id=world.map.npc_nodes.get(one),
            **(_life(session, world, deps, rows[one], talking.get(one)) if one in walkers else {}),
        )
        for one in ids
        for towards in (attitudes[one],)
    ]


def _life(
    session: Session, world: WorldView, deps: Core, row: PersonRow, conversation_id: str | None
) -> dict[str, Any]:
    """What characters alone have: how they live."""
    person, state = lived(world, row), AGENT_STATE.validate_python(row.agent_state or AgentState())
    decision = how_of(world, row.person_id, row.decision, models_missing=deps.conversation.models_missing)
    levels = levels_of(world, row.person_id, person)
    needs = world.setting.catalogue.needs
    now = needs.at(levels, max(world.now, levels.since))
    return {
        "decision": decision,
        "needs": [NeedOut.of(need, name=need.name or need.id, level=round(now[need.id], 2)) for need in needs.all],
        "activity": activity(world, person, conversation_id),
        "thought": "" if decision == "client" else _thought(session, world, row.person_id, state),
        "plan": [told_block(block) for block in state.plan] if state.plan_day == world.day else [],
        "routine": [told_block(block) for block in world.cast.character(row.person_id).routine],
    }


def lived(world: WorldView, row: PersonRow | None) -> Person | None:
    """A character's life as its row has it; None: it has not lived yet."""
    return read_person(row.life, world.setting.catalogue.needs) if row is not None and row.life is not None else None


def activity(world: WorldView, person: Person | None, conversation_id: str | None) -> ActivityOut | None:
    """What a character does who is in that conversation; None: it decides next, or has not lived yet."""
    if person is None:
        return None
    doing = person.during(world.now)
    if world.now >= doing.end and doing.talk_id is None:
        return None
    if doing.talk_id is None and conversation_id is not None:  # a client's talk: to the core it stands
        doing = replace(doing, action_id=TALK)
    elif doing.talk_id is not None and conversation_id is None:
        return None
    return ActivityOut.of(
        doing,
        name=action_name(world, doing.action_id),
        since=doing.start,
        until=None if doing.action_id in (TALK, HOLD) else doing.end,
        talking_in=conversation_id,
    )


def _thought(session: Session, world: WorldView, character_id: str, state: AgentState) -> str:
    """What it thought when it last decided by the world's clock."""
    if state.decided_at is None or state.decided_at <= world.now:
        return state.thought
    told = select(EventRow).where(
        *told_to(Audience.WORLD, world.id), EventRow.person_id == character_id, EventRow.kind == Decided.kind
    )
    last = session.exec(told.order_by(col(EventRow.id).desc()).limit(1)).first()
    return (Decided.model_validate(last.data).thought or "") if last else ""


def talking_in(session: Session, world: WorldView) -> dict[str, str]:
    """The conversation each person is in at the world's clock."""
    held = select(ParticipantRow.person_id, ParticipantRow.conversation_id).where(
        *engaged_in(world.id),
        ConversationRow.world_id == world.id,
        ConversationRow.id == ParticipantRow.conversation_id,
        ConversationRow.started_at <= world.now,
    )
    found = dict(session.exec(held).all())
    for row in session.exec(select(TalkRow).where(TalkRow.world_id == world.id)):
        talk = STORED_TALK.validate_python(row.talk)
        there = (i for i in talk.members_before(WorldTime(world.now + 1)) if talk.takes(i, world.now))
        found |= dict.fromkeys(there, row.conversation_id)  # its words may all be spoken, ahead of the clock
    return found
