"""Owns the endpoints of the world: its clock, map, people, events and what its models cost."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from sqlmodel import Session, func, select

from service.api import views
from service.api.deps import House, IdempotencyKey, Serving, WorldId, once_of
from service.api.problem import describe
from service.api.schemas import (
    EdgeOut,
    EventPage,
    FacilityOut,
    MapOut,
    NodeOut,
    PeopleOut,
    PersonOut,
    PositionOut,
    Slug,
    TickIn,
    TickOut,
    UsageOut,
    WorldIn,
    WorldOut,
)
from service.cast.stage import World
from service.cast.whereabouts import segment_of
from service.clock.advance import advance
from service.clock.forget import forget_world
from service.errors import Invalid
from service.jobs.outbox import waiting
from service.store.events import events_after
from service.store.idempotency import once
from service.store.tables import ConversationRow, EngagementRow, WorldRow
from service.store.usage import usage_rows
from world.errors import BadWorldTime
from world.places import Facility
from world.time import MINUTES_PER_DAY, WorldTime, iso, parse_time

router = APIRouter(tags=["world"])


@router.get("/world", response_model=WorldOut, responses=describe())
async def read_world(house: Serving, world_id: WorldId) -> WorldOut:
    """The world's clock and how it is played. A world that nobody has written to is at its beginning."""
    return await house.room.database.read(lambda s: _world(s, house, house.room.stage.open(s, world_id)))


@router.patch("/world", response_model=WorldOut, responses=describe(400))
async def change_world(body: WorldIn, house: Serving, world_id: WorldId) -> WorldOut:
    """Set the world's language: the content's texts, the prompts and what is said from now on follow it."""

    def work(session: Session) -> WorldOut:
        house.room.stage.open(session, world_id, lock=True)
        row = session.get_one(WorldRow, world_id)
        row.language = body.language
        return _world(session, house, house.room.stage.as_world(row))

    return await house.room.database.write(work)


@router.delete("/world", status_code=204, responses=describe(409))
async def delete_world(house: Serving, world_id: WorldId) -> Response:
    """Forget the world wholly: clock, people, conversations, memories. It may begin anew."""
    forgotten = await house.room.database.write(lambda s: forget_world(s, world_id))
    await house.runner.forget(world_id, forgotten)
    return Response(status_code=204)


@router.post("/world/tick", response_model=TickOut, responses=describe(400))
async def tick(body: TickIn, house: Serving, world_id: WorldId, key: IdempotencyKey) -> TickOut:
    """Advance the clock: walkers walk on, mid-term memories expire. Answers what happened in that time."""
    request = once_of(world_id, key, "tick", body.model_dump())

    def work(session: Session) -> dict[str, Any]:
        def step() -> dict[str, Any]:
            done = advance(session, house.room.stage, world_id, body.ticks)
            return TickOut(
                before=iso(done.before),
                now=iso(done.after),
                ticks=body.ticks,
                events=[views.event(row) for row in done.events],
            ).model_dump()

        return once(session, request, step)

    return TickOut.model_validate(await house.room.database.write(work))


@router.get("/world/map", response_model=MapOut, responses=describe())
async def read_map(house: Serving, world_id: WorldId) -> MapOut:
    """Nodes, edges, facilities and where the NPCs stand."""
    world = await house.room.database.read(lambda s: house.room.stage.open(s, world_id))
    places = world.map
    return MapOut(
        maps=dict(places.map_names),
        nodes=[
            NodeOut(id=n.id, map_id=n.map_id, name=n.name, x=n.x, y=n.y, closed=n.id in places.closed_nodes)
            for n in places.nodes.values()
        ],
        edges=[EdgeOut(a=e.a, b=e.b, minutes=e.minutes) for e in places.edges],
        facilities=[_facility(f, world.now) for f in places.facilities.values()],
        posts=dict(places.posts),
    )


@router.get("/world/people", response_model=PeopleOut, responses=describe())
async def read_people(
    house: Serving,
    world_id: WorldId,
    at: Annotated[str | None, Query(max_length=19, description="A past or present world time; default now")] = None,
) -> PeopleOut:
    """Where everybody is, or was at a past moment."""

    def work(session: Session) -> PeopleOut:
        world = house.room.stage.open(session, world_id)
        moment = world.now if at is None else _past(at, world.now)
        held = session.exec(select(EngagementRow).where(EngagementRow.world_id == world_id)).all()
        talking = {row.person_id: row.conversation_id for row in held} if moment == world.now else {}
        return PeopleOut(at=iso(moment), people=_people(session, world, moment, talking))

    return await house.room.database.read(work)


@router.get("/world/events", response_model=EventPage, responses=describe())
async def read_events(
    house: Serving,
    world_id: WorldId,
    after: Annotated[int, Query(ge=0, le=2**62, description="`next` of the page before")] = 0,
    kind: Annotated[str | None, Query(pattern="^[a-z_]{1,40}$")] = None,
    person_id: Slug | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> EventPage:
    """What happened in the world, oldest first."""
    rows = await house.room.database.read(
        lambda s: events_after(s, world_id, after, limit + 1, kind=kind, person_id=person_id)
    )
    items = [views.event(row) for row in rows[:limit]]
    return EventPage(items=items, next=str(items[-1].id) if len(rows) > limit else None)


@router.get("/usage", response_model=list[UsageOut], responses=describe())
async def read_usage(house: Serving, world_id: WorldId) -> list[UsageOut]:
    """Model calls and tokens of the world, per world day and role."""
    rows = await house.room.database.read(lambda s: usage_rows(s, world_id))
    return [
        UsageOut(
            day=iso(WorldTime(row.day * MINUTES_PER_DAY))[:10],
            role=row.role,
            calls=row.calls,
            failures=row.failures,
            prompt_tokens=row.prompt_tokens,
            completion_tokens=row.completion_tokens,
            cached_tokens=row.cached_tokens,
            estimated=row.estimated,
        )
        for row in rows
    ]


def _world(session: Session, house: House, world: World) -> WorldOut:
    names = {str(role): name for role, name in house.room.models.names().items()}
    running = select(func.count()).select_from(ConversationRow)
    running = running.where(ConversationRow.world_id == world.id, ConversationRow.phase == "running")
    return WorldOut(
        id=world.id,
        name=world.cast.world_name,
        language=world.language,
        started_at=iso(world.started_at),
        now=iso(world.now),
        label=world.label,
        tick_minutes=world.settings.tick_minutes,
        models=names,
        rehearsal=views.REHEARSAL in names.values(),
        memory=house.room.graph.name,
        characters=len(world.cast.characters),
        npcs=len(world.cast.npcs),
        conversations_running=session.exec(running).one(),
        memories_waiting=waiting(session, world.id),
    )


def _facility(facility: Facility, now: WorldTime) -> FacilityOut:
    return FacilityOut(
        id=facility.id,
        map_id=facility.map_id,
        name=facility.name,
        node_ids=list(facility.node_ids),
        tags=sorted(facility.tags),
        hours=[hours.label for hours in facility.hours],
        open_now=facility.open_at(now),
    )


def _people(session: Session, world: World, at: WorldTime, talking: dict[str, str]) -> list[PersonOut]:
    npcs = [
        PersonOut(
            id=npc.id,
            name=npc.name,
            kind="npc",
            position=PositionOut(node_id=node_id, place=world.map.label(node_id)),
            talking_in=talking.get(npc.id),
        )
        for npc_id, node_id in sorted(world.map.posts.items())
        for npc in (world.npc(npc_id),)
    ]
    characters = [
        PersonOut(
            id=character.id,
            name=character.name,
            kind="character",
            position=views.position(world, segment_of(session, world, character.id, at), at),
            talking_in=talking.get(character.id),
        )
        for character in world.cast.characters.values()
    ]
    return [*characters, *npcs]


def _past(text: str, now: WorldTime) -> WorldTime:
    try:
        moment = parse_time(text)
    except BadWorldTime as exc:
        raise Invalid(field="query.at", reason=str(exc)) from exc
    if moment > now:
        raise Invalid(field="query.at", reason=f"{text} is not past; it is {iso(now)}")
    return moment
