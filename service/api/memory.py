"""Owns the endpoints of what a person remembers as a whole: of somebody or of something, and as a graph."""

import sys
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field

from service.api import views
from service.api.dependencies import (
    KNOWN_QUERY,
    AcceptLanguage,
    After,
    AsAsked,
    Out,
    Router,
    Serving,
    Slug,
    World,
    WorldId,
    cut,
    describe,
)
from service.api.people import PersonId
from service.api.schemas import MemoryOut, NextPage, OneMemoryOut, RecalledOut, RelationOut
from service.locales import language_accepted
from service.memory.authoring import memory_id, seeds_of
from service.memory.lexical import normal
from service.memory.recall import recall
from service.memory.record import FACTS, Episode, Group, Kind, Memory
from service.people.attitude import stance
from service.people.worlds import WorldView
from service.runtime.made_people import forget_character
from world.time import WorldTime

router = Router(tags=["people"], dependencies=[KNOWN_QUERY])

_NAMESPACE = uuid.UUID("0b9a6f0e-6c1d-5a6b-8a27-5d3f5f0c9e42")


@router.get("/characters/{person_id}/memory", name="read_memory")
@router.get("/people/{person_id}/memory", name="read_person_memory")
async def read_memory(
    person_id: PersonId,
    deps: Serving,
    world: World,
    about: Annotated[Slug | None, Query(description="About whom; left out: about whatever the query says")] = None,
    npc_id: Annotated[Slug | None, Query(description="An older name of `about`")] = None,
    query: Annotated[str, Query(max_length=500, description="What to look for; empty: the newest first")] = "",
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    history: Annotated[bool, Query(description="Facts that no longer hold, too")] = False,
    at: Annotated[str | None, Query(max_length=19, description="Facts as they were known at that world time")] = None,
    accept_language: AcceptLanguage = None,
) -> MemoryOut:
    """What anybody remembers, NPC or character: of somebody, or of something ("the bell"); its own experience, not what
    its author wrote.

    How it stands to the one asked about, their last talk, facts, what is on its mind, its day.
    """
    about, talk = about or npc_id, deps.conversation
    language = language_accepted(accept_language) or world.language
    if about is not None:
        world.cast.person(about)
    # One more fact than the page has tells whether any follow. Behind a cursor all are asked for: the order of one page
    # is that of the whole.
    memory = await recall(
        talk.database,
        talk.memory,
        world,
        person_id,
        about,
        query=query,
        limit=limit + 1 if after is None else sys.maxsize,
        history=history,
        at=None if at is None else views.moment(at, "query.at"),
    )
    recent, own, reachable = memory.recent, memory.recent.attitude, memory.unavailable is None
    facts, following = cut(memory.facts, lambda found: memory_id(found.item), after if reachable else None, limit)
    group, told = Group(world_id=world.id, person_id=person_id), (*facts, *memory.turns)
    given = await talk.database.read(lambda s: seeds_of(s, group, (*(one.item for one in told), *memory.insights)))
    shown = [
        RecalledOut.of(one, **views.memory(one.item, world, person_id, given), parts=dict(one.parts)) for one in told
    ]
    return MemoryOut.of(
        memory,
        person_id=person_id,
        character_id=person_id,
        group_id=talk.group_id(group),
        about=about,
        npc_id=about,
        now=world.now,
        relation=about
        and RelationOut.of(
            own,
            affinity=recent.partners.affinity,
            conversation_count=own.times_met,
            stance=stance(own, world.name_of(about), language),
        ),
        last_meeting=recent.last_summary and views.meeting(recent.last_summary, world, language),
        facts=shown[: len(facts)],
        turns=shown[len(facts) :],
        insights=[views.memory(one, world, person_id, given) for one in memory.insights],
        next=following,
        mid_term=recent.mid_term,
        today=[views.meeting(row, world, language) for row in recent.today],
        long_term_available=reachable,
    )


@router.delete("/characters/{person_id}/memory", status_code=204, responses=describe(409))
async def forget(person_id: PersonId, deps: Serving, world_id: WorldId, asked: AsAsked) -> None:
    """Let the character forget everything: its conversations, memories and standing with NPCs are removed wholly."""
    await deps.world_runner.command(
        world_id,
        lambda s, world_session: forget_character(s, deps.conversation.memory, world_session, person_id),
        asked=asked,
    )
    await deps.bring_on(world_id)


class EntityOut(Out):
    """Who remembers, or told something, or whom or what that is about. Its `id` stays; `person_id` and `kind` if it is
    one of the cast.
    """

    id: str = Field(description="id of the entity, always the same for the same name")
    name: str = Field(description="its name, as the newest fact spells it")
    person_id: str | None = Field(description="id of the person it is; null: it is none of the cast")
    kind: Literal["character", "npc"] | None = Field(
        description="what kind of person it is; null: it is none of the cast"
    )
    facts: int = Field(description="how many of the facts here touch it")


class FactEdgeOut(OneMemoryOut):
    """A memory as an edge: from whoever told it, or remembers it by itself, to whom or what it is about."""

    from_id: str = Field(description="id of the entity that told it; of what nobody told, the one that remembers it")
    to_id: str = Field(description="id of the entity it is about; the one that remembers it, where it is of nobody")
    holds: bool = Field(description="held true at the world's present moment")


class EpisodeOut(Out, of=Episode, shows="partner_id conversation_id at"):
    """A conversation the character remembers as a whole; `summary` is its prose."""

    id: str = Field(description="id of the episode")
    name: str = Field(description="with whom it was, in the world's language")
    summary: str = Field(description="the conversation in a few sentences")
    partner_name: str = Field(description="name of the one spoken with")


class MemoryGraphOut(Out, of=WorldView, shows="now"):
    """A character's long-term memory: facts and episodes newest first, entities by their number of facts."""

    next: NextPage = None
    character_id: str = Field(description="id of the character")
    character_name: str = Field(description="its name in the world's language")
    entities: list[EntityOut] = Field(description="whom and what the facts are about, most facts first")
    facts: list[FactEdgeOut] = Field(description="facts between entities, newest first")
    facts_total: int = Field(description="how many facts there are; more than in `facts` where `limit` cut them off")
    episodes: list[EpisodeOut] = Field(description="conversations, newest first")


@router.get("/characters/{character_id}/memory/graph")
async def read_memory_graph(
    character_id: Slug,
    deps: Serving,
    world: World,
    history: Annotated[bool, Query(description="Facts that no longer hold, too")] = True,
    after: Annotated[str | None, Query(pattern=r"^\d{1,9}-\d{1,9}$", description="`next` of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=2000, description="At most so many facts, and as many episodes")] = 500,
) -> MemoryGraphOut:
    """Everything in the character's long-term memory, as entities, the facts between them, and episodes.

    A cursor says how many facts and episodes are older than those told: what is learned meanwhile moves no page.
    """
    character = world.cast.character(character_id)
    group = Group(world_id=world.id, person_id=character_id)
    dump = await deps.conversation.memory.export(group)
    drawn = (one for one in dump.memories if one.kind in FACTS or one.kind is Kind.SELF)
    known = [one for one in drawn if history or not _closed(one, world.now)]
    older_facts, older_episodes = (len(known), len(dump.episodes)) if after is None else map(int, after.split("-"))
    facts, episodes = known[:older_facts][::-1][:limit], dump.episodes[:older_episodes][::-1][:limit]
    given = await deps.conversation.database.read(lambda s: seeds_of(s, group, facts))
    left = max(0, older_facts - limit), max(0, older_episodes - limit)
    return MemoryGraphOut.of(
        world,
        character_id=character_id,
        character_name=character.name,
        entities=_entities(group, world, facts),
        facts=[
            FactEdgeOut(
                **views.memory(fact, world, character_id, given),
                from_id=_entity_id(group, ends[0]),
                to_id=_entity_id(group, ends[1]),
                holds=fact.known_at(world.now),
            )
            for fact in facts
            for ends in (_ends(group, world, fact),)
        ],
        facts_total=len(known),
        episodes=[
            EpisodeOut.of(
                episode,
                id=episode.conversation_id,
                summary=episode.text,
                name=world.say("answers.episode", partner=partner),
                partner_name=partner,
            )
            for episode in episodes
            for partner in (world.name_of(episode.partner_id),)
        ],
        next=f"{left[0]}-{left[1]}" if any(left) else None,
    )


def _closed(fact: Memory, now: WorldTime) -> bool:
    """Whether it is over. A fact that has yet to come true is not, though it does not hold either."""
    end = fact.ends if fact.known_until is None else fact.known_until
    return end is not None and end <= now


def _ends(group: Group, world: WorldView, fact: Memory) -> tuple[str, str]:
    """The names of who told it and of whom or what it is about."""
    owner = world.name_of(group.person_id)
    about = world.name_of(fact.subject_id) if fact.subject_id else fact.about
    return world.name_of(fact.told_by) if fact.told_by else owner, about or owner


def _entity_id(group: Group, name: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{group.id}/{normal(name)}"))


def _entities(group: Group, world: WorldView, facts: Sequence[Memory]) -> list[EntityOut]:
    cast: dict[str, tuple[str, Literal["character", "npc"]]] = {
        **{normal(one.name): (one.id, one.kind) for one in world.cast.npcs.values()},
        **{normal(one.name): (one.id, one.kind) for one in world.cast.characters.values()},
    }
    names: dict[str, str] = {}  # as the newest fact spells them
    touched: Counter[str] = Counter()
    for fact in facts:
        both = {normal(name): name for name in _ends(group, world, fact)}
        names = both | names
        touched.update(both.keys())
    return [
        EntityOut(id=_entity_id(group, key), name=names[key], person_id=person_id, kind=kind, facts=count)
        for key, count in sorted(touched.items(), key=lambda item: (-item[1], item[0]))
        for person_id, kind in [cast.get(key, (None, None))]
    ]
