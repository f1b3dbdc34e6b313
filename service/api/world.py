"""Owns the endpoints of the world: its clock, map, people and what its models cost."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from sqlmodel import Session, func, select

from service.api import views
from service.api.dependencies import (
    KNOWN_QUERY,
    LINKED,
    After,
    AsAsked,
    AtMost,
    OnceReadAnew,
    Serving,
    Slug,
    World,
    WorldId,
    cut,
    describe,
    link_next,
)
from service.api.events import LIMIT_MAX, page_of_step
from service.api.people import activity, lived, talking_in
from service.api.schemas import (
    ClockIn,
    ClockOut,
    FacilityOut,
    MapOut,
    NodeOut,
    PeopleOut,
    PersonOut,
    TickIn,
    TickOut,
    UsageOut,
    WorldIn,
    WorldOut,
)
from service.core import Core
from service.errors import refuse
from service.locales import Language, Phrase, sentence
from service.offline.model import REHEARSAL
from service.people.person import standing_players
from service.people.worlds import WorldView
from service.runtime.world_edits import announce, set_weather
from service.runtime.world_session import WorldSession
from service.store.budget import BudgetLeft
from service.store.idempotency import Once, first_answer
from service.store.jobs import JobKind, jobs_waiting
from service.store.tables import ConversationRow, JobKey, PersonRow, WorldRow
from service.store.usage import usage_rows
from world.time import MINUTES_PER_DAY, WorldTime, iso

router = APIRouter(tags=["world"], dependencies=[KNOWN_QUERY])


@router.get("/world")
async def read_world(deps: Serving, world_id: WorldId) -> WorldOut:
    """The world's clock and how it is played. A world that nobody has written to is at its beginning."""
    return await deps.read(world_id, lambda s, world: _world(s, deps, world))


@router.patch("/world", responses=describe(409))
async def change_world(body: WorldIn, deps: Serving, world_id: WorldId, asked: AsAsked) -> WorldOut:
    """Set the world's language, how its characters decide, how large prompts may be, its weather; announce something.

    The content's texts, the prompts and what is said from now on follow the language. Weather and announcements are in
    every prompt; who is awake and can be interrupted learns of them now.
    """

    def work(session: Session, world_session: WorldSession) -> WorldOut:
        row = session.get_one(WorldRow, world_id)
        for name in body.model_fields_set & {"language", "decision", "context_tokens"}:
            setattr(row, name, getattr(body, name))
        if body.weather is not None:
            set_weather(session, world_session, body.weather)
        if body.announce is not None:
            announce(session, world_session, body.announce.text, body.announce.minutes)
        session.flush()
        return _world(session, deps, deps.conversation.worlds.open(session, world_id))

    return await deps.world_runner.command(world_id, work, asked=asked)


@router.put("/world/clock", responses=describe(409))
async def set_clock(body: ClockIn, deps: Serving, world_id: WorldId, request: OnceReadAnew) -> WorldOut:
    """Let the clock run by itself, or by ticks alone.

    `running`: it goes on by `speed` world minutes a real minute. With `pace` exact it waits for what is decided and
    said, so that the story is the same however fast the models answer; with realtime it does not wait, and answers that
    come too late are dropped. Ticks move a running clock, too. `mode` manual stops the world as `POST /world/stop`
    does.
    """
    await first_answer(
        deps.world_runner.set_clock(world_id, mode=body.mode, speed=body.speed, pace=body.pace, request=request)
    )
    return await deps.read(world_id, lambda s, world: _world(s, deps, world))


@router.post("/world/stop")
async def stop_world(deps: Serving, world_id: WorldId, request: OnceReadAnew) -> WorldOut:
    """Let the world stand: at the last minute that is settled, with the clock set to manual.

    What was ordered and is not lived yet is taken back, a tick that waits for it answers 409, and model calls in flight
    are let go. What has been lived is kept, and told when the world goes on. Stopping a world that stands changes
    nothing. Where another replica moves the world, it stands within seconds.
    """
    return await set_clock(ClockIn(mode="manual"), deps, world_id, request)


@router.delete("/world", status_code=204, responses=describe(409))
async def delete_world(deps: Serving, world_id: WorldId, asked: AsAsked) -> None:
    """Forget the world wholly: clock, people, conversations, memories. It may begin anew. A run that it is on ends."""
    await deps.forget_world(world_id, Once.of(world_id, asked))


@router.post(
    "/world/tick",
    responses={
        202: {"model": TickOut, "description": "With wait=false: the world is on its way"},
        **describe(409),
    },
)
async def tick(
    body: TickIn,
    response: Response,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
    kind: Annotated[str | None, Query(pattern="^[a-z_]{1,40}$", description="Only events of that kind")] = None,
    person_id: Annotated[Slug | None, Query(description="Only that person's events")] = None,
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX, description="At most so many events, the first")] = LIMIT_MAX,
) -> TickOut:
    """Advance the clock: everybody lives on. Answers what happened in that time, when all of it has happened.

    At most a world week may be ordered and not yet lived (`KATARIBE_WORLD__MAX_TICK_MINUTES`); more is refused (422).
    Characters decide, walk, act, talk and remember; mid-term memories expire. It takes as long as the language models
    do. With `wait` false the answer comes at once (202), `events` is empty, and `GET /world/events?after=` with `next`
    tells them as the clock passes them; `GET /world` shows how far it is. A key that is sent again may ask for the
    events of the same tick in another way.
    """
    step = await deps.world_runner.tick(world_id, body.ticks, Once.of(world_id, asked, is_read_anew=True))
    if not body.wait:
        now = await deps.read(world_id, lambda _, world: world.now)
        response.status_code = 202
        return TickOut(before=step.before, now=now, until=step.after, ticks=body.ticks, events=[], next=str(step.first))
    await deps.world_runner.wait(world_id, step.after)
    page = await deps.conversation.database.read(
        lambda s: page_of_step(s, world_id, step, kind=kind, person_id=person_id, limit=limit)
    )
    return TickOut(
        before=step.before,
        now=step.after,
        until=step.after,
        ticks=body.ticks,
        events=page.items,
        next=page.next,
    )


@router.get("/world/map")
async def read_map(world: World) -> MapOut:
    """Nodes, edges, facilities and where the NPCs stand."""
    places = world.map
    return MapOut.of(
        places,
        maps=places.map_names,
        posts=places.npc_nodes,
        nodes=[NodeOut.of(node, closed=node.id in places.closed_nodes) for node in places.nodes.values()],
        facilities=[
            FacilityOut.of(
                one,
                tags=sorted(one.tags),
                hours=[hours.label for hours in one.hours],
                open_now=one.open_at(world.now),
            )
            for one in places.facilities.values()
        ],
    )


@router.get("/world/people")
async def read_people(
    deps: Serving,
    world_id: WorldId,
    at: Annotated[str | None, Query(max_length=19, description="A past or present world time; default now")] = None,
    after: After = None,
    limit: AtMost = None,
) -> PeopleOut:
    """Where everybody is and, now, what each does; or where everybody was at a past moment."""

    def work(session: Session, world: WorldView) -> PeopleOut:
        moment = world.now if at is None else views.moment(at, "query.at")
        not_past = Phrase("answers.invalid_fields.not_past", text=at, now=iso(world.now))
        refuse((moment > world.now, "query.at", not_past))
        talking = talking_in(session, world) if moment == world.now else {}
        lives = session.exec(select(PersonRow).where(PersonRow.world_id == world_id)) if moment == world.now else ()
        rows = {row.person_id: row for row in lives}
        then = world.at(moment)
        players = standing_players(session, then)
        ids, following = cut(
            [*world.cast.characters, *sorted(world.map.npc_nodes), *sorted(players)], str, after, limit
        )
        people = [
            PersonOut.of(
                world.cast.person(person_id),
                position=views.position_of(session, then, person_id, players),
                talking_in=talking.get(person_id),
                activity=activity(world, lived(world, rows.get(person_id)), talking.get(person_id)),
            )
            for person_id in ids
        ]
        return PeopleOut(at=moment, people=people, next=following)

    return await deps.read(world_id, work)


@router.get("/usage", responses=LINKED)
async def read_usage(
    request: Request, response: Response, deps: Serving, world_id: WorldId, after: After = None, limit: AtMost = None
) -> list[UsageOut]:
    """Model calls and tokens of the world, per world day and role: character, npc, closing, decision."""
    every = await deps.conversation.database.read(lambda s: usage_rows(s, world_id))
    rows, following = cut(every, lambda row: f"{row.day}.{row.role}", after, limit)
    link_next(request, response, following)
    return [UsageOut.of(row, day=iso(WorldTime(row.day * MINUTES_PER_DAY))[:10]) for row in rows]


@router.get("/usage/budget")
async def read_budget(deps: Serving) -> BudgetLeft:
    """What is left of the day's budget of model calls: over all worlds, of the day in UTC by the machine's clock.

    Calls that are out count with all they may come to. For each conversation that runs a call and some tokens are kept,
    so that it can be remembered; other calls are refused before those are touched.
    """
    return await deps.conversation.budget.left()


def _world(session: Session, deps: Core, world: WorldView) -> WorldOut:
    names = {str(role): name for role, name in deps.conversation.models.names().items()}
    running = select(func.count()).select_from(ConversationRow)
    running = running.where(ConversationRow.world_id == world.id, ConversationRow.phase == "running")
    row = session.get(WorldRow, world.id)
    until = max(world.now, row.target or 0) if row else world.now
    exact_run = deps.world_runner.run_of(world.id)
    return WorldOut.of(
        world,
        name=world.cast.world_name,
        tick_minutes=world.settings.tick_minutes,
        models=names,
        rehearsal=REHEARSAL in names.values(),
        memory=deps.conversation.settings.memory.backend,
        characters=len(world.cast.characters),
        npcs=len(world.cast.npcs),
        conversations_running=session.exec(running).one(),
        memories_waiting=jobs_waiting(session, JobKey(world.id, JobKind.DELIVERY, "")),
        until=until,
        moving=until > world.now,
        calls_in_flight=exact_run.in_flight if exact_run else 0,
        clock=_clock(row, world.language),
        announcements=[notice for notice in world.notices if notice.at <= world.now < notice.until],
    )


def _clock(row: WorldRow | None, language: Language) -> ClockOut:
    kept = row or WorldRow(id="", language="en", started_at=0, now=0)
    reason = kept.clock_stopped
    stopped = {"reason": reason, "detail": sentence(language, f"clock.stopped.{reason}")} if reason else None
    return ClockOut.of(kept, mode=kept.clock_mode, speed=kept.clock_speed, pace=kept.clock_pace, stopped=stopped)
