"""Owns the endpoints by which a game tells what it knows: what happened before whose eyes, and the world's flags."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from sqlmodel import Session

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
    once_of,
)
from service.content.fields import Flag
from service.errors import Invalid, KeyReused
from service.locales import Phrase
from service.memory.record import DEFAULT_IMPORTANCE
from service.runtime.author_changes import Observation, SeenState, observe, set_flags
from service.runtime.world_session import WorldSession
from service.store.idempotency import once
from world.time import iso

router = APIRouter(prefix="/world", tags=["world"], dependencies=[KNOWN_QUERY])


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


@router.post("/observations", responses=describe(404, 409))
async def tell_observation(body: ObservationIn, deps: Serving, world_id: WorldId, asked: AsAsked) -> ObservationOut:
    """Tell what happened before people's eyes, at the next settled minute. Those who were there remember it, and can
    speak of it; others know nothing of it. Who decides for itself and can be interrupted decides anew, as when
    something is announced. No model is asked.
    """
    about = None if body.about is None else SeenState(**body.about.model_dump())
    seen = Observation(**body.model_dump(exclude={"about", "text"}), text=body.text or "", about=about)
    key = None if body.game_id is None else f"observation {body.game_id}"
    request = once_of(world_id, key, "observation", body.model_dump())

    def work(session: Session, world_session: WorldSession) -> dict[str, Any]:
        def tell() -> dict[str, Any]:
            witnesses = observe(session, deps.conversation.memory, world_session, seen)
            return {"at": iso(world_session.world.now), "seen_by": witnesses}

        try:
            return once(session, request, tell)
        except KeyReused as exc:
            raise Invalid(field="body.game_id", reason=Phrase("answers.invalid_fields.other_observation")) from exc

    told = await deps.world_runner.command(world_id, work, asked=asked)
    await deps.bring_on()
    return ObservationOut(**told)


@router.get("/flags")
async def read_flags(deps: Serving, world_id: WorldId) -> FlagsOut:
    """What the game holds to be so in this world."""
    return await deps.read(world_id, lambda _, world: FlagsOut(flags=dict(world.flags)))


@router.put("/flags", responses=describe(409))
async def put_flags(body: FlagsIn, deps: Serving, world_id: WorldId, asked: AsAsked) -> FlagsOut:
    """Set flags of the world from the next settled minute on; those that are not named stay as they are. By them lore
    becomes known, or is no longer told (docs/content.md). The same again changes nothing.
    """

    def work(session: Session, world_session: WorldSession) -> FlagsOut:
        set_flags(session, world_session, body.flags)
        session.flush()
        return FlagsOut(flags=dict(deps.conversation.worlds.open(session, world_id).flags))

    return await deps.world_runner.command(world_id, work, keeps_decisions=True, asked=asked)
