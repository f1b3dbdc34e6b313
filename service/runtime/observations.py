"""Owns what the game says has happened: who was there remembers it, and nobody else does."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlmodel import Session

from service.content.profile import importance_word
from service.errors import Invalid, NotFound
from service.locales import Phrase
from service.memory.memory_store import MemoryStore
from service.memory.record import Embedded, Group, Kind, Memory, Source, Support
from service.memory.revision import expect_vectors
from service.people.person import positions
from service.people.worlds import WorldView
from service.runtime.author_changes import interrupt
from service.runtime.world_session import WorldSession
from service.store.event_kinds import Observed
from service.store.events import note
from service.store.ids import derived_id
from service.store.tables import MemoryRow
from world.time import LATEST, WorldTime


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenState:
    """What somebody or something (`subject`: a person's id, or any name) is like now: its `attribute` has one value at
    a time.
    """

    subject: str
    attribute: str
    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What happened, and who saw it: people or groups by their ids, or whoever is on or beside a node, or on a map.

    `importance` is 1 to 10. `about` is what is otherwise for it; where `text` is empty, it says that. `minutes`: so
    long it stays on their minds (None: they only remember it). `game_id` is the game's own name for it.
    """

    text: str
    importance: int
    seen_by: Sequence[str] | None = None
    node_id: str | None = None
    map_id: str | None = None
    minutes: int | None = None
    game_id: str | None = None
    about: SeenState | None = None

    def __post_init__(self) -> None:
        if sum(place is not None for place in (self.seen_by, self.node_id, self.map_id)) != 1:
            raise Invalid(field="body", reason=Phrase("answers.invalid_fields.one_place"))
        if not self.text and self.about is None:
            raise Invalid(field="body.text", reason=Phrase("answers.expected.missing"))


def observe(session: Session, memory: MemoryStore, world_session: WorldSession, seen: Observation) -> list[str]:
    """Those who are there remember it from now on, and who can be interrupted decides anew. Answers their ids, sorted;
    the caller commits.

    Raises:
        NotFound: there is no such person, group, node or map.
    """
    world = world_session.world
    witnesses = sorted(_witnesses(session, world, seen))
    for one in witnesses:
        group, memories = Group(world_id=world.id, person_id=one), _memories(world, one, seen)
        if session.get(MemoryRow, group.key(memories[0].id)) is None:
            memory.remember(session, group, memories, Embedded())
            expect_vectors(session, group)
    told = Observed(text=_text(world, seen), seen_by=tuple(witnesses), node_id=seen.node_id, map_id=seen.map_id)
    note(session, world.id, world.now, told)
    interrupt(session, world_session, witnesses)
    return witnesses


def _witnesses(session: Session, world: WorldView, seen: Observation) -> set[str]:
    if seen.seen_by is not None:
        groups = {one: world.cast.groups.get(one, ()) for one in seen.seen_by if world.cast.find(one) is None}
        named = (groups.get(one) or (one,) for one in seen.seen_by)
        return {world.cast.person(person_id).id for people in named for person_id in people}
    if seen.node_id is not None and seen.node_id not in world.map.nodes:
        raise NotFound(kind="node", id=seen.node_id)
    if seen.map_id is not None and seen.map_id not in world.map.map_names:
        raise NotFound(kind="map", id=seen.map_id)
    return {i for i, where in positions(session, world).items() if _is_there(world, seen, where.node_id)}


def _is_there(world: WorldView, seen: Observation, node_id: str) -> bool:
    if seen.node_id is not None:
        return world.map.next_to(node_id, seen.node_id)
    return world.map.node(node_id).map_id == seen.map_id


def _text(world: WorldView, seen: Observation) -> str:
    if seen.text or seen.about is None:
        return seen.text
    subject = world.name_of(seen.about.subject)
    return world.say("remembered.state", subject=subject, attribute=seen.about.attribute, value=seen.about.value)


def _memories(world: WorldView, person_id: str, seen: Observation) -> list[Memory]:
    """What the person who saw it remembers: that it saw it, and what is on its mind for that."""
    about, text = seen.about, _text(world, seen)
    subject = None if about is None else world.cast.find(about.subject)
    memory = Memory(
        id=derived_id(person_id, "seen", seen.game_id or f"{world.now} {text}"),
        kind=Kind.OBSERVED,
        text=text,
        about="" if about is None else world.name_of(about.subject),
        subject_id=None if subject is None else subject.id,
        slot="" if about is None else about.attribute,
        support=Support.PERCEIVED,
        source=Source.OBSERVATION,
        importance=seen.importance,
        valid_from=world.now,
        known_from=world.now,
    )
    if seen.minutes is None:
        return [memory]
    return [
        memory,
        replace(
            memory,
            id=derived_id(memory.id, "mind"),
            kind=Kind.MID_TERM,
            slot="",
            level=importance_word(seen.importance),
            expires_at=WorldTime(min(world.now + seen.minutes, LATEST)),
        ),
    ]
