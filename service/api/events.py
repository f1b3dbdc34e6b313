"""Owns the endpoints of what happened in a world, what came to it from outside, and what a game tells: what happened
before whose eyes, and the world's flags.
"""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from service.api import views
from service.api.dependencies import (
    KNOWN_QUERY,
    PLAIN,
    AsAsked,
    FlagIn,
    In,
    OneToTen,
    Out,
    Serving,
    Slug,
    Whole,
    WorldId,
    WorldTimeText,
    describe,
)
from service.api.schemas import EVENTS, EventPage
from service.content.fields import Flag
from service.errors import Invalid, KeyReused
from service.locales import Phrase
from service.memory.record import DEFAULT_IMPORTANCE
from service.runtime.world_clock import Tick
from service.runtime.world_edits import Observation, SeenState, observe, set_flags
from service.runtime.world_session import WorldSession
from service.store.event_kinds import IN_A_MINUTE, ActivityEnded
from service.store.events import events_after, line_of, told_to
from service.store.idempotency import Once, Replayed, fingerprint, once
from service.store.phase import Audience
from service.store.tables import EventRow, WorldRow
from world.time import iso

router = APIRouter(tags=["world"], dependencies=[KNOWN_QUERY])

LIMIT_MAX = 1000
NDJSON = "application/x-ndjson"
_COMMANDS: dict[int | str, dict[str, Any]] = {200: {"description": f"Lines of JSON ({NDJSON})"}}
"""Makers of clients refuse a description of content that they do not know."""

_AT_ONCE = [payload.kind for payload in IN_A_MINUTE[: IN_A_MINUTE.index(ActivityEnded)]]
"""Told when the clock comes to their minute; the others of that minute follow when it goes on."""


def page(
    session: Session,
    world_id: str,
    *which: ColumnElement[bool],
    after: int = 0,
    order: Literal["asc", "desc"] = "asc",
    limit: int,
    **columns: str | None,
) -> EventPage:
    """At most `limit` events with an id above `after`, or below it where it has a minus, that have those values in
    their `columns` (None: any); `next` is the id to go on from, with a minus where earlier ones follow.
    """
    ids = col(EventRow.id)
    of = [col(getattr(EventRow, name)) == value for name, value in columns.items() if value is not None]
    query = select(EventRow).where(*told_to(Audience.WORLD, world_id), *which, *of)
    query = query.where(ids > after if after >= 0 else ids < -after)
    rows = session.exec(query.order_by(ids if order == "asc" else ids.desc()).limit(limit + 1)).all()
    sign = "" if order == "asc" else "-"
    world = session.get(WorldRow, world_id)
    return EventPage(
        items=[EVENTS[row.kind].model_validate(row) for row in rows[:limit]],
        next=f"{sign}{rows[limit - 1].id}" if len(rows) > limit else None,
        timeline=world.timeline if world is not None else 0,
    )


def page_of_step(session: Session, world_id: str, tick: Tick, **asked: Any) -> EventPage:
    """What a tick brought: the same whenever it is asked for, however far the world has gone on since."""
    at, kind = col(EventRow.at), col(EventRow.kind)
    begun = (at > tick.before) | ((at == tick.before) & kind.not_in(_AT_ONCE))
    over = (at < tick.after) | ((at == tick.after) & kind.in_(_AT_ONCE))
    return page(session, world_id, begun, over, after=tick.first, **asked)


@router.get("/world/events", response_model=EventPage, responses=describe())
async def read_events(
    deps: Serving,
    world_id: WorldId,
    after: Annotated[
        int,
        Query(ge=-(2**62), le=2**62, description="`next` of the page before; or the id of an event: later ones only"),
    ] = 0,
    kind: Annotated[str | None, Query(pattern="^[a-z_]{1,40}$", description="Only events of that kind")] = None,
    person_id: Annotated[Slug | None, Query(description="Only that person's own events")] = None,
    involving: Annotated[
        Slug | None, Query(description="Only that person's events and those of who speaks with that person")
    ] = None,
    since: Annotated[str | None, Query(max_length=19, description="Not before that world time")] = None,
    until: Annotated[str | None, Query(max_length=19, description="Not after that world time")] = None,
    order: Annotated[Literal["asc", "desc"], Query(description="Oldest or newest first")] = "asc",
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX)] = 100,
) -> EventPage:
    """What happened in the world, oldest first, or newest first.

    A cursor has a sign where the newest come first: it leads to what is earlier.
    """
    at, which = col(EventRow.at), list[ColumnElement[bool]]()
    if involving is not None:
        partner = col(EventRow.data)["partner_id"].as_string()
        which.append((col(EventRow.person_id) == involving) | (partner == involving))
    if since is not None:
        which.append(at >= views.moment(since, "query.since"))
    if until is not None:
        which.append(at <= views.moment(until, "query.until"))
    asked: dict[str, Any] = {"after": after, "order": order, "limit": limit, "kind": kind, "person_id": person_id}
    return await deps.conversation.database.read(lambda s: page(s, world_id, *which, **asked))


@router.get("/world/commands", response_class=Response, responses=_COMMANDS | describe())
async def read_commands(deps: Serving, world_id: WorldId) -> Response:
    """What came to the world from outside, each with the minute that its clock showed, a line of JSON each: requests,
    and what was said and remembered in conversations that clients began. The first line says how far the world is.

    `kataribe replay` does it all again in a world that has not lived: with the same content, settings and answers of
    models it comes out the same.
    """

    def work(session: Session) -> bytes:
        now = deps.conversation.worlds.open(session, world_id).now
        lines = [{"type": "commands", "version": 1, "until": iso(now)}]
        seq = 0
        while some := events_after(session, world_id, seq, LIMIT_MAX, audience=Audience.AUTHOR):
            lines += map(line_of, some)
            seq = some[-1].id
        return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()

    return Response(await deps.conversation.database.read(work), media_type=NDJSON)


class SeenStateIn(In):
    """What somebody or something is like now: it has one value of that name, and the one before no longer holds."""

    subject: Annotated[str, Field(min_length=1, max_length=100), PLAIN] = Field(
        description="whom or what it is about: a person's id, or any name", examples=["the blue jar"]
    )
    attribute: Annotated[str, Field(min_length=1, max_length=60), PLAIN] = Field(
        description="what of it", examples=["place"]
    )
    value: Annotated[str, Field(min_length=1, max_length=200), PLAIN] = Field(
        description="what it is now; the sentence says it, where there is none `text`", examples=["the loft"]
    )


class ObservationIn(
    In,
    examples={
        "on a map": {"text": "The boathouse burns.", "map_id": "harbor", "minutes": 600, "importance": 8},
        "the jar is elsewhere now": {
            "text": "Mio put the blue jar into the loft.",
            "about": {"subject": "the blue jar", "attribute": "place", "value": "the loft"},
            "seen_by": ["aoi"],
        },
        "by these two": {"text": "Ken broke the blue jar.", "seen_by": ["aoi", "npc_taro"], "game_id": "q17.2"},
    },
):
    """What happened, and who saw it: exactly one of `seen_by`, `node_id` and `map_id`."""

    text: Annotated[str, Field(min_length=1, max_length=500), PLAIN] | None = Field(
        default=None,
        description="what was to be seen, as a sentence that stands by itself; left out: what `about` says",
        examples=["The boathouse burns."],
    )
    about: SeenStateIn | None = Field(default=None, description="what is otherwise from now on, for those who saw it")
    seen_by: Annotated[list[Slug], Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="ids of the people who saw it, or names of groups of lore/"
    )
    node_id: Slug | None = Field(
        default=None, description="whoever is on this node, or close enough to talk to who is, saw it"
    )
    map_id: Slug | None = Field(default=None, description="whoever is on this map saw it")
    minutes: Annotated[Whole, Field(ge=1, le=100_000)] | None = Field(
        default=None,
        description="for so many world minutes it stays on their minds, in every prompt; left out: they remember it, "
        "and it comes to their minds when there is talk of it",
    )
    importance: OneToTen = Field(
        default=DEFAULT_IMPORTANCE, description="from 1, small talk, to 10, what changes a life"
    )
    game_id: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")] | None = Field(
        default=None, description="the game's own name for it: told twice under one name, it happened once"
    )


class ObservationOut(Out):
    """What was seen, and by whom."""

    at: WorldTimeText = Field(description="the world time at which it was seen")
    seen_by: list[str] = Field(description="ids of those who remember it; empty: nobody was there")


class FlagsIn(In, examples={"one is set, one goes": {"flags": {"bell_repaired": True, "storm": None}}}):
    """Flags to be set."""

    flags: Annotated[dict[Slug, FlagIn | None], Field(min_length=1, max_length=200)] = Field(
        description="what each is from now on, by its name: true, false, a number or a short text; null: it is gone",
        json_schema_extra={"additionalProperties": False},
    )


class FlagsOut(Out):
    """The flags of a world."""

    flags: dict[str, Flag] = Field(description="what each is, by its name; what is not here is not so")


@router.post("/world/observations", responses=describe(404, 409))
async def tell_observation(body: ObservationIn, deps: Serving, world_id: WorldId, asked: AsAsked) -> ObservationOut:
    """Tell what happened before people's eyes, at the next settled minute. Those who were there remember it, and can
    speak of it; others know nothing of it. Who decides for itself and can be interrupted decides anew, as when
    something is announced. No model is asked.
    """
    about = None if body.about is None else SeenState(**body.about.model_dump())
    seen = Observation(**body.model_dump(exclude={"about", "text"}), text=body.text or "", about=about)
    named = None
    if body.game_id is not None:
        told_as = fingerprint("observation", body.model_dump())
        named = Once(world_id=world_id, key=f"observation {body.game_id}", fingerprint=told_as, expires=False)

    def work(session: Session, world_session: WorldSession) -> ObservationOut:
        def tell() -> dict[str, Any]:
            witnesses = observe(session, deps.conversation.memory, world_session, seen)
            return {"at": iso(world_session.world.now), "seen_by": witnesses}

        try:
            return ObservationOut(**once(session, named, tell))
        except Replayed as known:
            return ObservationOut(**known.answer)
        except KeyReused as exc:
            raise Invalid(field="body.game_id", reason=Phrase("answers.invalid_fields.other_observation")) from exc

    told = await deps.world_runner.command(world_id, work, asked=asked)
    await deps.bring_on(world_id)
    return told


@router.get("/world/flags")
async def read_flags(deps: Serving, world_id: WorldId) -> FlagsOut:
    """What the game holds to be so in this world."""
    return await deps.read(world_id, lambda _, world: FlagsOut(flags=dict(world.flags)))


@router.put("/world/flags", responses=describe(409))
async def put_flags(body: FlagsIn, deps: Serving, world_id: WorldId, asked: AsAsked) -> FlagsOut:
    """Set flags of the world from the next settled minute on; those that are not named stay as they are. By them lore
    becomes known, or is no longer told (docs/content.md). The same again changes nothing.
    """

    def work(session: Session, world_session: WorldSession) -> FlagsOut:
        set_flags(session, world_session, body.flags)
        session.flush()
        return FlagsOut(flags=dict(deps.conversation.worlds.open(session, world_id).flags))

    return await deps.world_runner.command(world_id, work, keeps_decisions=True, asked=asked)
