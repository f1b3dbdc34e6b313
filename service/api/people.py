"""Owns the endpoints of people: characters, NPCs, what anybody remembers, and what an author changes about them."""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field
from sqlmodel import Session

from service.api import views
from service.api.dependencies import (
    KNOWN_QUERY,
    LINKED,
    After,
    ApiDependencies,
    AsAsked,
    AtMost,
    ChangeIn,
    MayBeLeftOut,
    Serving,
    Slug,
    Text,
    Whole,
    WorldId,
    cut,
    describe,
    link_next,
)
from service.api.life import How, life_states, talking_in
from service.api.schemas import (
    CharacterOut,
    LastMeetingOut,
    MemoryOut,
    NpcOut,
    OneMemoryOut,
    PersonMemoryOut,
    RelationOut,
)
from service.content.profile import Mood, Profile
from service.memory.authoring import memory_id
from service.memory.mid_term import mid_term_memories, self_told
from service.memory.recall import recall, todays_summaries
from service.memory.record import Group
from service.people.attitude import attitudes_of, moods, stance
from service.people.person import person_row, positions, segment_of
from service.people.worlds import WorldView
from service.runtime.client_actions import set_decision, take_control
from service.runtime.made_people import forget_character
from service.runtime.world_edits import amend, amend_npc
from service.runtime.world_session import WorldSession
from world.life import neighbours
from world.time import WorldTime

T = TypeVar("T")

router = APIRouter(tags=["people"], dependencies=[KNOWN_QUERY])

Looked = Annotated[str, Query(max_length=500, description="What to look for; empty: the newest first")]
Limit = Annotated[int, Query(ge=1, le=100)]
History = Annotated[bool, Query(description="Facts that no longer hold, too")]
AsKnownAt = Annotated[str | None, Query(max_length=19, description="Facts as they were known at that world time")]


Items = Annotated[list[Text], Field(max_length=50)]


class CarriedIn(ChangeIn):
    """What an author gives somebody, or takes."""

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

    decision: How | None = Field(
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


@router.get("/characters", responses=LINKED)
async def list_characters(
    request: Request, response: Response, deps: Serving, world_id: WorldId, after: After = None, limit: AtMost = None
) -> list[CharacterOut]:
    """All characters as they stand now."""

    return await _listed(deps, world_id, _characters, "characters", request, response, after, limit)


@router.get("/characters/{character_id}")
async def read_character(character_id: Slug, deps: Serving, world_id: WorldId) -> CharacterOut:
    """A character as it stands now: where it is, what it does and means to do, its needs, what is on its mind.

    One that has not lived yet is shown as it would begin.
    """
    return await deps.read(world_id, lambda s, world: _characters(s, world, deps, [character_id])[0])


@router.patch("/characters/{character_id}", responses=describe(409))
async def change_character(
    character_id: Slug,
    body: CharacterIn,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
) -> CharacterOut:
    """An author's hand: set how the character decides, put it somewhere, set its needs, give or take things.

    What it does ends when it is moved or its needs are set; it decides anew. `decision` client takes it
    into a client's hands, where it stands until `POST /characters/{id}/actions` says what to do; any other gives it
    back.
    """

    def work(session: Session, world_session: WorldSession) -> None:
        world_session.world.cast.character(character_id)
        if body.decision == "client":
            take_control(session, world_session, character_id)
        elif "decision" in body.model_fields_set:
            set_decision(session, world_session, character_id, body.decision)
        amend(session, world_session, character_id, **body.model_dump(exclude={"decision"}))

    await deps.world_runner.command(world_id, work, asked=asked)
    return await deps.read(world_id, lambda s, world: _characters(s, world, deps, [character_id])[0])


@router.get("/npcs", responses=LINKED)
async def list_npcs(
    request: Request, response: Response, deps: Serving, world_id: WorldId, after: After = None, limit: AtMost = None
) -> list[NpcOut]:
    """All NPCs as they stand now."""

    return await _listed(deps, world_id, _npcs, "npcs", request, response, after, limit)


@router.get("/npcs/{npc_id}")
async def read_npc(npc_id: Slug, deps: Serving, world_id: WorldId) -> NpcOut:
    """An NPC as it stands now, with what it has told about itself."""
    return await deps.read(world_id, lambda s, world: _npcs(s, world, deps, [world.cast.npc(npc_id).id])[0])


@router.patch("/npcs/{npc_id}", responses=describe(409))
async def change_npc(
    npc_id: Slug,
    body: NpcIn,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
) -> NpcOut:
    """An author's hand: set the NPC's mood from now on, and its affinity towards characters; give or take things."""

    def work(session: Session, world_session: WorldSession) -> NpcOut:
        amend_npc(session, world_session, npc_id, **body.model_dump())
        session.flush()
        return _npcs(session, deps.conversation.worlds.open(session, world_id), deps, [npc_id])[0]

    return await deps.world_runner.command(world_id, work, asked=asked)


@router.get("/people/{person_id}/memory")
async def read_person_memory(
    person_id: Slug,
    deps: Serving,
    world_id: WorldId,
    about: Annotated[Slug | None, Query(description="About whom; left out: about whatever the query says")] = None,
    query: Looked = "",
    after: After = None,
    limit: Limit = 20,
    history: History = False,
    at: AsKnownAt = None,
) -> PersonMemoryOut:
    """What anybody remembers, NPC or character: of somebody, or of something ("the bell"); its own experience, not what
    its author wrote.

    How it stands to the one asked about, their last talk, facts, what is on its mind, its day.
    """
    return await _remembered(deps, world_id, person_id, about, query=query, page=(after, limit), history=history, at=at)


@router.get("/characters/{character_id}/memory")
async def read_memory(
    character_id: Slug,
    deps: Serving,
    world_id: WorldId,
    npc_id: Annotated[Slug | None, Query(description="About whom: an NPC, or another character")] = None,
    query: Looked = "",
    after: After = None,
    limit: Limit = 20,
    history: History = False,
    at: AsKnownAt = None,
) -> MemoryOut:
    """The older way to ask a character: as `GET /people/{person_id}/memory`, with `npc_id` for `about`."""
    await deps.read(world_id, lambda _, world: world.cast.character(character_id))
    memory = await _remembered(
        deps, world_id, character_id, npc_id, query=query, page=(after, limit), history=history, at=at
    )
    return MemoryOut.of(memory, character_id=character_id, npc_id=npc_id)


@router.delete("/characters/{character_id}/memory", status_code=204, responses=describe(409))
async def forget(character_id: Slug, deps: Serving, world_id: WorldId, asked: AsAsked) -> None:
    """Let the character forget everything: its conversations, memories and standing with NPCs are removed wholly."""

    await deps.world_runner.command(
        world_id,
        lambda s, world_session: forget_character(s, deps.conversation.memory, world_session, character_id),
        asked=asked,
    )
    await deps.runner.memory_jobs.deliver_due(world_id)


async def _remembered(
    deps: ApiDependencies,
    world_id: str,
    person_id: str,
    about: str | None,
    *,
    page: tuple[str | None, int],
    at: str | None,
    **asked: Any,
) -> PersonMemoryOut:
    """`page`: `after` and `limit` of the facts. One more than those is asked for, so that it is known whether any
    follow; behind a cursor all are, for the order of one page is that of the whole.

    Raises:
        NotFound: there is no such person, or nobody to ask about.
        Invalid: no fact has the id that the cursor names.
    """
    after, limit = page

    world = await deps.read(world_id, lambda _, world: world)
    for named in filter(None, (person_id, about)):
        world.cast.person(named)
    moment = None if at is None else views.moment(at, "query.at")
    most = limit + 1 if after is None else sys.maxsize
    memory = await recall(
        deps.conversation.database, deps.conversation.memory, world, person_id, about, at=moment, limit=most, **asked
    )
    recent, own, last = memory.recent, memory.recent.attitude, memory.recent.last_summary
    reachable = memory.unavailable is None
    facts, following = cut(memory.facts, lambda found: memory_id(found.item), after if reachable else None, limit)
    return PersonMemoryOut.of(
        memory,
        person_id=person_id,
        group_id=deps.conversation.group_id(Group(world_id=world.id, person_id=person_id)),
        about=about,
        now=world.now,
        relation=about
        and RelationOut.of(
            own,
            affinity=recent.partners.affinity,
            conversation_count=own.times_met,
            stance=stance(own, world.name_of(about), world.language),
        ),
        last_meeting=last
        and LastMeetingOut.of(last, elapsed_minutes=world.now - last.at, ago=views.ago_in(WorldTime(last.at), world)),
        facts=[views.recalled(found, world, person_id) for found in facts],
        turns=[views.recalled(found, world, person_id) for found in memory.turns],
        insights=[OneMemoryOut(**views.memory(one, world, person_id)) for one in memory.insights],
        next=following,
        mid_term=[views.on_mind(one) for one in recent.mid_term],
        today=[views.today(row, world) for row in recent.today],
        long_term_available=reachable,
    )


async def _listed(
    deps: ApiDependencies,
    world_id: str,
    shown: Callable[[Session, WorldView, ApiDependencies, Sequence[str]], list[T]],
    kind: Literal["characters", "npcs"],
    request: Request,
    response: Response,
    after: str | None,
    limit: int | None,
) -> list[T]:
    def work(session: Session, world: WorldView) -> tuple[list[T], str | None]:
        ids, following = cut(list(getattr(world.cast, kind)), str, after, limit)
        return shown(session, world, deps, ids), following

    found, following = await deps.read(world_id, work)
    link_next(request, response, following)
    return found


def _characters(session: Session, world: WorldView, deps: ApiDependencies, ids: Sequence[str]) -> list[CharacterOut]:
    only = ids[0] if len(ids) == 1 else None
    lives = life_states(session, world, models_missing=deps.conversation.models_missing, only=only)
    here = positions(session, world)
    return [
        CharacterOut.of(
            profile,
            goals=_goals(profile),
            position=views.position(world, segment_of(session, world, profile.id), world.now),
            talking_in=lives.talking.get(profile.id),
            beside=neighbours(world.map, here, profile.id),
            mid_term=[views.on_mind(one) for one in mid_term_memories(session, world, profile.id)[profile.id]],
            today=[views.today(row, world) for row in todays_summaries(session, world, profile.id)],
            **dict(lives.life(session, profile.id)),
        )
        for profile in map(world.cast.character, ids)
    ]


def _npcs(session: Session, world: WorldView, deps: ApiDependencies, ids: Sequence[str]) -> list[NpcOut]:
    profiles, talking = [world.cast.npc(npc_id) for npc_id in ids], talking_in(session, world)
    felt = moods(session, world, ids, deps.conversation.settings.memory.mood_cools_hours)
    attitudes = attitudes_of(session, world.id, ids, world.now)
    told = self_told(session, world, *ids)
    return [
        NpcOut.of(
            profile,
            goals=_goals(profile),
            learned_facts=[OneMemoryOut(**views.memory(one, world, profile.id)) for one in told[profile.id]],
            mood=felt[profile.id],
            conversation_count=sum(one.times_met for one in towards.values()),
            last_conversation_at=max((one.last_met_at for one in towards.values() if one.last_met_at), default=None),
            spawn_node_id=world.map.npc_nodes[profile.id],
            talking_in=talking.get(profile.id),
            affinity={other_id: towards[other_id].affinity for other_id in sorted(towards)},
            items=person_row(session, world.id, profile.id).items,
        )
        for profile in profiles
        for towards in (attitudes[profile.id],)
    ]


def _goals(profile: Profile) -> list[dict[str, str]]:
    return [{"goal": goal.goal, "importance": goal.importance} for goal in profile.goals]
