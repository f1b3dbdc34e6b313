"""Owns the endpoints by which an author gives a person a past, searches a memory, and changes one memory at a time."""

import asyncio
import io
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import Field
from sqlmodel import Session

from service.api import views
from service.api.dependencies import (
    KNOWN_QUERY,
    NOT_BLANK,
    After,
    AsAsked,
    ChangeIn,
    MayBeLeftOut,
    OneToTen,
    Out,
    Serving,
    Slug,
    World,
    WorldId,
    WorldTimeText,
    cut,
    describe,
)
from service.api.middleware import JSON_LINES
from service.api.problem import media_type
from service.api.schemas import OneMemoryOut, Page, RecalledOut, Rememberer
from service.core import Core
from service.errors import GraphUnavailable, TooManyLines, WrongLine
from service.memory.authoring import (
    Action,
    Author,
    Change,
    audit_rows,
    called,
    change_memory,
    find,
    memory_id,
    seeds_of,
)
from service.memory.lexical import is_named, normal
from service.memory.record import Group, Item, Kind, Memory
from service.memory.seed_lines import MOST_LINES, GivenLine, read_lines, read_past
from service.memory.seeding import Seeded, seed
from service.people.worlds import WorldView
from service.store.idempotency import Once, first_answer, write_once
from service.store.jobs import JobKind, jobs_waiting
from service.store.tables import MemoryAuditRow

router = APIRouter(tags=["people"], dependencies=[KNOWN_QUERY])

Kinds = Annotated[list[Kind] | None, Query(description="Of these kinds only; left out: of all")]
By = Annotated[str, Query(max_length=100, description="Who does it, for the audit: any name")]
Reason = Annotated[str, Query(max_length=500, description="Why it is done, for the audit")]
MemoryId = Annotated[
    str, Path(max_length=300, description="`id` of the memory, as lists and searches tell it", examples=["fact.9f0a"])
]
About = Annotated[str | None, Query(max_length=100, description="About whom or what: a person's id, or any name")]
Forgotten = Annotated[bool, Query(description="What has faded, too; `forgotten_at` says since when")]
Most = Annotated[int, Query(ge=1, le=1000, description="At most so many")]


def _owner(person_id: Slug, world: World) -> Group:
    """Raises: NotFound."""
    return Group(world_id=world.id, person_id=world.cast.person(person_id).id)


Owner = Annotated[Group, Depends(_owner)]
"""Whose memory the path names."""


class BehindOut(Out):
    """How far what is made of a memory is behind it."""

    person_id: Rememberer
    waiting: int = Field(
        description="1 while the graph in Neo4j has yet to be given some of it; it is found all the same"
    )
    pending_vectors: int = Field(
        description="how many of the person's memories are to have a vector and have none yet; 0 where nothing embeds"
    )


class SeededOut(BehindOut, of=Seeded, shows="statements turns summaries insights known"):
    """What became of a past. All of it that is not `waiting` is found by its words."""


class SearchOut(Out, of=WorldView, shows="now"):
    """What a search found. Nothing that bears on the query: `found` is false."""

    person_id: Rememberer
    query: str = Field(description="what was looked for")
    about: str | None = Field(description="about whom or what it was asked")
    as_of: WorldTimeText = Field(description="the world time whose knowledge was searched")
    found: bool = Field(description="whether any hit bears on the query")
    hits: list[RecalledOut] = Field(description="the memories found, the best first")


class MemoriesPage(BehindOut, Page[OneMemoryOut]):
    """A person's memories one by one, the latest first."""

    total: int = Field(description="how many there are of what was asked for, on all pages")


class MemoryIn(
    ChangeIn,
    examples={
        "say it otherwise": {"text": "Taro's brother was lost at sea.", "importance": 9},
        "it is over": {"valid_to": "2026-03-01T00:00"},
    },
):
    """What an author changes about one memory. What is left out stays as it is."""

    text: MayBeLeftOut[Annotated[str, Field(min_length=1, max_length=2000, pattern=NOT_BLANK)]] = Field(
        default=None, description="what it says: its author says so from then on, whoever told it"
    )
    importance: MayBeLeftOut[OneToTen] = Field(
        default=None, description="of no turn or summary: from 1, small talk, to 10, what changes a life"
    )
    valid_to: Annotated[str, Field(max_length=19)] | None = Field(
        default=None,
        description="of no turn or summary: the world time from which it is no longer true; null: it holds again",
    )


class AuditOut(Out, of=MemoryAuditRow, shows="id memory_id before after reason at written_at"):
    """What was done to a person's memory by hand, once."""

    action: Action = Field(description="what was done")
    kind: Kind | None = Field(description="what the memory is; null: a past was given")
    by: str = Field(validation_alias="author", description="who did it, as the caller said; empty: it did not say")


class AuditPage(Page[AuditOut]):
    """What was done to a person's memory by hand, the latest first."""

    person_id: Rememberer


# Of the lines (application/x-ndjson) the text tells: makers of clients do not know such a body, and warn of it.
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/Past"},
                "examples": {
                    "statements and a talk": {
                        "value": {
                            "statements": [
                                {
                                    "id": "s1",
                                    "statement": "Taro's brother drowned in the bay.",
                                    "about": "taro",
                                    "importance": 8,
                                },
                                {
                                    "id": "s2",
                                    "statement": "The lamp oil is kept under the stairs.",
                                    "at": "2025-11-03T18:30",
                                },
                            ],
                            "transcripts": [
                                {
                                    "conversation": "festival-night",
                                    "at": "2025-10-12T20:00",
                                    "summary": "Taro told of the bell that rang under the water.",
                                    "turns": [
                                        {"id": "f1", "speaker": "Old Sato", "text": "Did you hear it too?"},
                                        {
                                            "id": "f2",
                                            "speaker": "taro",
                                            "text": "The bell. It rang under the water, twice.",
                                        },
                                    ],
                                }
                            ],
                        }
                    }
                },
            },
        },
    }
}


@router.post(
    "/people/{person_id}/memory",
    responses=describe(413),
    openapi_extra=_BODY,
)
async def give_past(
    group: Owner,
    request: Request,
    deps: Serving,
    world_id: WorldId,
    asked: AsAsked,
    by: By = "",
    reason: Reason = "",
) -> SeededOut:
    """Give a person a past: statements, talks with who said what and when. At most 10,000 lines a call, no
    model is asked, and what is answered is found by its words.

    As `application/json` one object, or as `application/x-ndjson` a line each (a `statement`, a `text` that was said,
    or the `summary` of a talk):

        {"id": "s1", "statement": "Taro's brother drowned in the bay.", "about": "taro"}
        {"id": "f1", "conversation": "feast", "speaker": "Sato", "text": "Did you hear it?", "at": "2025-10-12T20:00"}

    `id` is yours: a line that was given before changes nothing, and is refused if it says something else. World times
    lie in the past, before the story's beginning too. If any line is wrong, all that are wrong are named, and nothing
    is written.
    """
    lined = media_type(request.headers) in JSON_LINES
    lines = await asyncio.to_thread(_lines_of, await request.body(), lined=lined)
    author = Author(name=by, reason=reason)

    def work(session: Session) -> Seeded:
        world = deps.conversation.worlds.open(session, world_id, lock=True)
        return seed(session, world, deps.conversation.memory, group.person_id, lines, author)

    writing = write_once(deps.conversation.database, Once.of(world_id, asked, is_read_anew=True), work)
    done = await first_answer(writing, lambda known: Seeded(**known))
    waiting, pending = await _brought(deps, group)
    return SeededOut.of(done, person_id=group.person_id, waiting=waiting, pending_vectors=pending)


@router.get("/people/{person_id}/memory/search")
async def search_memory(
    group: Owner,
    deps: Serving,
    world: World,
    query: Annotated[str, Query(min_length=1, max_length=500, description="What to look for, in any words")],
    about: About = None,
    as_of: Annotated[str | None, Query(max_length=19, description="As it was known at that world time")] = None,
    k: Annotated[int, Query(ge=1, le=100, description="At most so many hits")] = 10,
    kinds: Kinds = None,
    history: Annotated[bool, Query(description="Facts that no longer hold, too")] = False,
    forgotten: Forgotten = False,
) -> SearchOut:
    """Search what a person remembers, as its own recall does, over all kinds; each hit with the caller's own id, what
    its score is made of, and since and until when it is true.

    `about` chooses what touches somebody or something: that all answers. A turn from which memories were taken has
    them answer for it.
    """
    moment = world.now if as_of is None else views.moment(as_of, "query.as_of")
    person = world.cast.find(about or "")
    found = await deps.conversation.memory.recall(
        group,
        query,
        at=moment,
        kinds=frozenset(kinds or Kind),
        about=about if person is None else world.own_name(person.id),
        partner_id=None if person is None else person.id,
        limit=k,
        history=history,
        forgotten=forgotten,
        now=world.now,
    )
    given = await deps.conversation.database.read(lambda s: seeds_of(s, group, (one.item for one in found)))
    gone = await deps.conversation.memory.forgotten(group, world.now) if forgotten else {}
    return SearchOut.of(
        world,
        person_id=group.person_id,
        query=query,
        about=about,
        as_of=moment,
        found=any(one.answers for one in found),
        hits=[
            RecalledOut.of(one, **views.memory(one.item, world, group.person_id, given, gone), parts=dict(one.parts))
            for one in found
        ],
    )


@router.get("/people/{person_id}/memory/audit")
async def read_memory_audit(group: Owner, deps: Serving, after: After = None, limit: Most = 100) -> AuditPage:
    """What was done to a person's memory by hand: a past given, a memory edited, closed or deleted; the latest first,
    each with what it said before and after, who did it, and why.
    """

    def work(session: Session) -> AuditPage:
        found, following = cut(audit_rows(session, group), lambda row: row.id, after, limit)
        items = [AuditOut.of(row, memory_id=row.kind and called(row.kind, row.memory_id or "")) for row in found]
        return AuditPage(person_id=group.person_id, items=items, next=following)

    return await deps.conversation.database.read(work)


@router.get("/people/{person_id}/memories")
async def list_memories(
    group: Owner,
    deps: Serving,
    world: World,
    kinds: Kinds = None,
    about: About = None,
    after: After = None,
    limit: Most = 100,
    forgotten: Forgotten = False,
) -> MemoriesPage:
    """A person's memories one by one, the latest first, with what has ended. And whether vectors, or the memory graph,
    are behind.
    """
    items = await deps.conversation.memory.items(group, world.now, forgotten=forgotten)
    gone = await deps.conversation.memory.forgotten(group, world.now) if forgotten else {}
    wanted = await asyncio.to_thread(_listed, items, world, frozenset(kinds or Kind), about)
    found, following = cut(wanted, memory_id, after, limit)
    given = await deps.conversation.database.read(lambda s: seeds_of(s, group, found))
    return MemoriesPage(
        person_id=group.person_id,
        total=len(wanted),
        waiting=await deps.conversation.database.read(lambda s: jobs_waiting(s, group.job(JobKind.DELIVERY))),
        pending_vectors=await deps.conversation.memory.pending_vectors(group, world.now),
        items=[views.memory(one, world, group.person_id, given, gone) for one in found],
        next=following,
    )


@router.get("/people/{person_id}/memories/{memory_id}")
async def read_memory_item(group: Owner, memory_id: MemoryId, deps: Serving, world: World) -> OneMemoryOut:
    """One memory of a person, as it is now; one that has faded, too."""
    item = find(await deps.conversation.memory.items(group, world.now, forgotten=True), memory_id)
    given = await deps.conversation.database.read(lambda s: seeds_of(s, group, [item]))
    gone = await deps.conversation.memory.forgotten(group, world.now)
    return OneMemoryOut(**views.memory(item, world, group.person_id, given, gone))


@router.patch("/people/{person_id}/memories/{memory_id}")
async def change_memory_item(
    group: Owner,
    memory_id: MemoryId,
    body: MemoryIn,
    deps: Serving,
    asked: AsAsked,
    by: By = "",
    reason: Reason = "",
) -> OneMemoryOut:
    """An author's hand on one memory: what it says, how important it is, until when it is true. It is found by its new
    words, and no longer by its old ones; the audit keeps both. It does not fade from then on, and one that has faded is
    remembered again.

    Only what the person remembers is changed: the record of a conversation keeps what was said in it. A turn from which
    memories were taken has them answer for it, so change those.
    """
    ends = "valid_to" in body.model_fields_set
    change = Change(
        text=body.text,
        importance=body.importance,
        ends=ends,
        valid_to=None if body.valid_to is None else views.moment(body.valid_to, "body.valid_to"),
    )
    request = Once.of(group.world_id, asked, is_read_anew=True, shown=lambda _: None)
    await first_answer(_change(deps, group, memory_id, change, Author(name=by, reason=reason), request))
    return await read_memory_item(group, memory_id, deps, await deps.read(group.world_id, lambda _, world: world))


@router.delete("/people/{person_id}/memories/{memory_id}", status_code=204)
async def delete_memory_item(
    group: Owner, memory_id: MemoryId, deps: Serving, asked: AsAsked, by: By = "", reason: Reason = ""
) -> None:
    """Let a person forget one memory for good. A turn and the memories that were taken from it say the same: with a
    turn those go, and with a memory the turns it was heard in, and what the person came to think of any of them.

    The audit keeps what it said. Who is told it anew may learn it anew.
    """
    await _change(deps, group, memory_id, None, Author(name=by, reason=reason), Once.of(group.world_id, asked))


def _lines_of(body: bytes, *, lined: bool) -> Sequence[GivenLine | WrongLine]:
    """Of a body that is `lined` a line each, else one object. Raises: TooManyLines."""
    every = ((number, line.strip()) for number, line in enumerate(io.BytesIO(body), 1) if not line.isspace())
    numbered = [*islice(every, MOST_LINES + 1)] if lined else []
    lines = [] if lined else read_past(body)
    if max(len(numbered), len(lines)) > MOST_LINES:
        raise TooManyLines(most=MOST_LINES)
    return read_lines(numbered) if lined else lines


async def _change(
    deps: Core, group: Group, wanted: str, change: Change | None, author: Author, request: Once | None
) -> None:
    """Change it, and bring the change to the memory graph."""
    talk = deps.conversation
    await change_memory(talk.database, talk.worlds, talk.memory, group, wanted, change, author, request)
    await _brought(deps, group)


async def _brought(deps: Core, group: Group) -> tuple[int, int]:
    """Bring what was written to the memory graph, have this process read it, and its vectors be made; answers how much
    waits for the graph, and for a vector.
    """
    talk = deps.conversation
    await deps.bring_on(group.world_id, group.person_id)
    now, waiting = await deps.read(
        group.world_id,
        lambda s, world: (world.now, jobs_waiting(s, group.job(JobKind.DELIVERY))),
    )
    try:
        await talk.memory.items(group, now)  # a talk that is going on asks what is at hand: that is to be what is
        return waiting, await talk.memory.pending_vectors(group, now)
    except GraphUnavailable:
        return waiting, 0  # what waits has no vectors that could be counted


def _listed(items: Iterable[Item], world: WorldView, kinds: frozenset[Kind], about: str | None) -> list[Item]:
    """Those of the kinds, and about that, the latest first; what is lived ahead of the clock is not there yet."""
    chosen = [one for one in items if one.kind in kinds and one.known_from <= world.now]
    if about is not None:
        person = world.cast.find(about)
        name = about if person is None else world.own_name(person.id)
        chosen = [one for one in chosen if _touches(one, name, about)]
    return sorted(chosen, key=lambda one: (-one.known_from, memory_id(one)))


def _touches(item: Item, name: str | None, person_id: str) -> bool:
    if name is None or person_id in (item.partner_id, *item.others):
        return person_id in (item.partner_id, *item.others)
    return (isinstance(item, Memory) and normal(name) == normal(item.about)) or is_named(name, item.text)
