"""Owns the endpoints by which a client makes, changes and removes people while a world runs."""

from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field
from sqlmodel import Session

from service.api import views
from service.api.dependencies import (
    KNOWN_QUERY,
    ApiDependencies,
    AsAsked,
    In,
    Out,
    Serving,
    Slug,
    World,
    WorldId,
    describe,
)
from service.api.life import talking_in
from service.api.schemas import PositionOut, SecretOut
from service.content.made import read_made
from service.content.profile import PersonKind, Profile
from service.conversation.transcript import conversations_open
from service.errors import WrongPhase
from service.people.person import person_row, standing_players
from service.people.worlds import WorldView
from service.runtime.made_people import place_person, put_person, remove_person, told_of
from service.runtime.world_session import WorldSession
from service.store.tables import MadePersonRow

router = APIRouter(tags=["people"], dependencies=[KNOWN_QUERY])

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


class KnownPersonOut(Out, of=Profile, shows="id name personality tendencies identity facts mood"):
    """A person of any kind: who it is, and where it stands."""

    kind: PersonKind = Field(
        description="a character walks and decides; an NPC stands at its post; for a player a human speaks"
    )
    made: bool = Field(
        description="true: made at run time, and can be changed and removed; false: in a file of content"
    )
    secrets: list[SecretOut] = Field(description="what is true of it as well, and told to some only")
    position: PositionOut | None = Field(description="where it is now; null: nowhere, and nobody sees it")
    talking_in: str | None = Field(description="id of the conversation it is in; null: it is in none")
    busy: bool = Field(description="of a player: nobody speaks to it first")


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


@router.put(
    "/people/{person_id}",
    responses={201: {"model": KnownPersonOut, "description": "The person was not there"}, **describe(409)},
    openapi_extra=_BODY,
)
async def put_person_of_world(
    person_id: Slug, request: Request, response: Response, deps: Serving, world_id: WorldId, asked: AsAsked
) -> KnownPersonOut:
    """Make a person while the world runs (201), or change its profile (200). The profile has the keys of a YAML file of
    content, with its `kind` beside them, and `node_id` for an NPC: where it stands. A `player` needs no more than a
    name. The same again changes nothing.

    A character begins its life at home, from the next settled minute on; where an NPC comes to stand the way is closed.

    A person of the content is refused: its file says who it is.
    """
    made = read_made(person_id, await request.body())

    def work(session: Session, world_session: WorldSession) -> tuple[bool, KnownPersonOut]:
        is_new = put_person(session, deps.conversation.worlds, world_session, made)
        return is_new, _known(session, deps.conversation.worlds.open(session, world_id), person_id)

    keeps = made.kind != "npc"  # who stands in the way changes what is possible
    is_new, known = await deps.world_runner.command(world_id, work, keeps_decisions=keeps, asked=asked)
    response.status_code = 201 if is_new else 200
    return known


@router.get("/people/{person_id}")
async def read_person(person_id: Slug, deps: Serving, world_id: WorldId) -> KnownPersonOut:
    """A person of any kind: who it is. `GET /characters/{id}` and `GET /npcs/{id}` tell more of those."""
    return await deps.read(world_id, lambda session, world: _known(session, world, person_id))


@router.put("/people/{person_id}/position", responses=describe(409))
async def place_person_of_world(
    person_id: Slug,
    body: PlaceIn,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
) -> KnownPersonOut:
    """Put a player on a node, or nowhere (null), from the next settled minute on, without travel. Those in sight see it
    there; it stands, needs nothing and decides nothing.

    People who stand beside a player may speak to it first: its stream then tells `conversation.started` with a
    `reason`. Nobody does while it is `busy`; it may go away without an answer.

    A character is put there as `PATCH /characters/{id}` does it, and then decides anew. Who talks is refused (409).
    """

    def work(session: Session, world_session: WorldSession) -> KnownPersonOut:
        place_person(session, world_session, person_id, body.node_id, busy=body.busy)
        session.flush()
        return _known(session, world_session.world, person_id)

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
    told = await told_of(memory, world, person_id) if everywhere else None
    await deps.world_runner.command(
        world_id,
        lambda s, world_session: remove_person(s, worlds, memory, world_session, person_id, everywhere=told),
        keeps_decisions=person.kind == "player" and not everywhere,
        asked=None if everywhere else asked,
    )
    await deps.runner.memory_jobs.deliver_due(world_id)


async def _end_talks(deps: ApiDependencies, world_id: str, player_id: str) -> None:
    """All that the player is in, and return when others remember them."""
    for key in await deps.conversation.database.read(lambda s: conversations_open(s, world_id, player_id)):
        with suppress(WrongPhase):  # it is being remembered
            await deps.end_talk(key)
        await deps.runner.wait(key)


def _known(session: Session, world: WorldView, person_id: str) -> KnownPersonOut:
    person = world.cast.person(person_id)
    standing = standing_players(session, world, only=[person_id])
    return KnownPersonOut.of(
        person,
        position=views.position_of(session, world, person_id, standing),
        made=session.get(MadePersonRow, (world.id, person_id)) is not None,
        talking_in=talking_in(session, world).get(person_id),
        busy=person_row(session, world.id, person_id).busy,
    )
