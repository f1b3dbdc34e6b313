"""Owns the endpoints of people: characters, NPCs, what a character remembers, and what it is made to do."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from sqlmodel import Session, col, select

from service.api import views
from service.api.deps import House, IdempotencyKey, Serving, WorldId, once_of
from service.api.problem import describe
from service.api.schemas import (
    ActionIn,
    CharacterOut,
    MemoryOut,
    MovedOut,
    MoveIn,
    NpcOut,
    SleptOut,
    Slug,
)
from service.cast.relation import mood_of, npc_row
from service.cast.stage import World
from service.cast.whereabouts import positions, segment_of
from service.clock.act import Destination, sleep, walk
from service.clock.forget import forget_character
from service.errors import Invalid
from service.memory.extract import learned_facts
from service.memory.recall import mid_term_memories, recall, todays_conversations
from service.store.idempotency import once
from service.store.tables import EngagementRow, RelationRow
from world.errors import BadWorldTime
from world.people import neighbours
from world.time import WorldTime, iso, parse_time

router = APIRouter(tags=["people"])


@router.get("/characters", response_model=list[CharacterOut], responses=describe())
async def list_characters(house: Serving, world_id: WorldId) -> list[CharacterOut]:
    """All characters as they stand now."""

    def work(session: Session) -> list[CharacterOut]:
        world = house.room.stage.open(session, world_id)
        return [_character(session, world, character_id) for character_id in world.cast.characters]

    return await house.room.database.read(work)


@router.get("/characters/{character_id}", response_model=CharacterOut, responses=describe(404))
async def read_character(character_id: Slug, house: Serving, world_id: WorldId) -> CharacterOut:
    """A character as it stands now."""
    return await house.room.database.read(lambda s: _character(s, house.room.stage.open(s, world_id), character_id))


@router.get("/npcs", response_model=list[NpcOut], responses=describe())
async def list_npcs(house: Serving, world_id: WorldId) -> list[NpcOut]:
    """All NPCs as they stand now."""

    def work(session: Session) -> list[NpcOut]:
        world = house.room.stage.open(session, world_id)
        return [_npc(session, house, world, npc_id) for npc_id in world.cast.npcs]

    return await house.room.database.read(work)


@router.get("/npcs/{npc_id}", response_model=NpcOut, responses=describe(404))
async def read_npc(npc_id: Slug, house: Serving, world_id: WorldId) -> NpcOut:
    """An NPC as it stands now, with what it has told about itself."""
    return await house.room.database.read(lambda s: _npc(s, house, house.room.stage.open(s, world_id), npc_id))


@router.get("/characters/{character_id}/memory", response_model=MemoryOut, responses=describe(404))
async def read_memory(
    character_id: Slug,
    house: Serving,
    world_id: WorldId,
    npc_id: Slug,
    query: Annotated[str, Query(max_length=500, description="What to look for; empty: the newest first")] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    history: Annotated[bool, Query(description="Facts that no longer hold, too")] = False,
    at: Annotated[str | None, Query(max_length=19, description="Facts as they were known at that world time")] = None,
) -> MemoryOut:
    """What the character remembers about the NPC: how they stand, their last talk, facts, what is on its mind, its day."""

    def people(session: Session) -> World:
        world = house.room.stage.open(session, world_id)
        world.character(character_id)
        world.npc(npc_id)
        return world

    world = await house.room.database.read(people)
    memory = await recall(
        house.room.database,
        house.room.graph,
        world,
        character_id,
        npc_id,
        query=query,
        limit=limit,
        history=history,
        at=None if at is None else _moment(at),
    )
    recent = memory.recent
    return MemoryOut(
        character_id=character_id,
        npc_id=npc_id,
        now=iso(world.now),
        relation=views.relation(recent.relation),
        last_meeting=views.last_meeting(recent.last_summary, world),
        facts=[views.fact(found, world) for found in memory.facts],
        mid_term=[views.mid_term(row) for row in recent.mid_term],
        today=[views.today(row, world) for row in recent.today],
        long_term_available=memory.unavailable is None,
    )


@router.delete("/characters/{character_id}/memory", status_code=204, responses=describe(404, 409))
async def forget(character_id: Slug, house: Serving, world_id: WorldId) -> Response:
    """Let the character forget everything: its conversations, memories and standing with NPCs are removed wholly."""

    def work(session: Session) -> None:
        world = house.room.stage.open(session, world_id, lock=True)
        world.character(character_id)
        forget_character(session, world_id, character_id, world.now)

    await house.room.database.write(work)
    await house.runner.forget(world_id, [character_id])
    return Response(status_code=204)


@router.post(
    "/characters/{character_id}/actions", response_model=SleptOut | MovedOut, responses=describe(400, 404, 409)
)
async def act(
    character_id: Slug, body: ActionIn, house: Serving, world_id: WorldId, key: IdempotencyKey
) -> SleptOut | MovedOut:
    """Let a character sleep (its day's conversations are cleared) or walk somewhere from now on."""
    request = once_of(world_id, key, f"act/{character_id}", body.model_dump())

    def work(session: Session) -> dict[str, Any]:
        def do() -> dict[str, Any]:
            if isinstance(body, MoveIn):
                return _move(session, house, world_id, character_id, body).model_dump()
            cleared = sleep(session, house.room.stage, world_id, character_id)
            now = house.room.stage.open(session, world_id).now
            return SleptOut(at=iso(now), cleared_conversations=cleared).model_dump()

        return once(session, request, do)

    done = await house.room.database.write(work)
    return SleptOut.model_validate(done) if done["type"] == "sleep" else MovedOut.model_validate(done)


def _move(session: Session, house: House, world_id: str, character_id: str, body: MoveIn) -> MovedOut:
    to = Destination(node_id=body.node_id, facility_id=body.facility_id, npc_id=body.npc_id)
    segment = walk(session, house.room.stage, world_id, character_id, to)
    return MovedOut(
        path=list(segment.path),
        times=[iso(t) for t in segment.times],
        arrives_at=iso(segment.arrival),
        minutes=segment.arrival - segment.start,
    )


def _character(session: Session, world: World, character_id: str) -> CharacterOut:
    profile = world.character(character_id)
    here = positions(session, world)
    return CharacterOut(
        id=profile.id,
        name=profile.name,
        personality=profile.personality,
        tendencies=list(profile.tendencies),
        custom_prompt=profile.custom_prompt,
        facts=list(profile.facts),
        goals=[{"goal": goal.goal, "importance": goal.importance} for goal in profile.goals],
        home=profile.home,
        position=views.position(world, segment_of(session, world, character_id), world.now),
        talking_in=_talking_in(session, world.id, character_id),
        beside=list(neighbours(world.map, here, character_id)),
        mid_term=[views.mid_term(row) for row in mid_term_memories(session, world, character_id)],
        today=[views.today(row, world) for row in todays_conversations(session, world.id, character_id)],
    )


def _npc(session: Session, house: House, world: World, npc_id: str) -> NpcOut:
    profile = world.npc(npc_id)
    row = npc_row(session, world, profile)
    met = select(RelationRow).where(RelationRow.world_id == world.id, RelationRow.npc_id == npc_id)
    learned = learned_facts(session, world.id, npc_id, history=True)
    return NpcOut(
        id=profile.id,
        name=profile.name,
        personality=profile.personality,
        tendencies=list(profile.tendencies),
        custom_prompt=profile.custom_prompt,
        facts=list(profile.facts),
        learned_facts=[views.learned_fact(fact) for fact in sorted(learned, key=lambda f: f.invalid_at is not None)],
        mood=mood_of(row, world.now, house.room.settings.memory.mood_cools_hours),
        conversation_count=row.conversation_count,
        last_conversation_at=views.told(row.last_conversation_at),
        spawn_node_id=world.map.posts[npc_id],
        talking_in=_talking_in(session, world.id, npc_id),
        affinity={r.character_id: r.affinity for r in session.exec(met.order_by(col(RelationRow.character_id)))},
    )


def _talking_in(session: Session, world_id: str, person_id: str) -> str | None:
    held = session.get(EngagementRow, (world_id, person_id))
    return held.conversation_id if held else None


def _moment(text: str) -> WorldTime:
    try:
        return parse_time(text)
    except BadWorldTime as exc:
        raise Invalid(field="query.at", reason=str(exc)) from exc
