"""Owns what the game says has happened: who was there remembers it, and nobody else does."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session

from service.content.profile import importance_word
from service.errors import Invalid, NotFound
from service.locales import Phrase
from service.memory.authoring import Author
from service.memory.memory_store import MemoryStore
from service.memory.mid_term import add_mid_term
from service.memory.seed_lines import Given, Statement
from service.memory.seeding import seed
from service.people.whereabouts import positions
from service.people.worlds import WorldView
from service.runtime.author_changes import interrupt
from service.runtime.world_session import WorldSession
from service.store.event_kinds import Observed
from service.store.events import note
from service.store.ids import derived_id
from service.store.tables import MidTermRow
from world.time import LATEST, WorldTime, iso

_GAME = Author(name="game", reason="observation")


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What happened, and who saw it: people or groups by their ids, or whoever is on or beside a node, or on a map.

    `importance` is 1 to 10. `minutes`: so long it stays on their minds (None: they only remember it). `game_id` is the
    game's own name for it.
    """

    text: str
    importance: int
    seen_by: Sequence[str] | None = None
    node_id: str | None = None
    map_id: str | None = None
    minutes: int | None = None
    game_id: str | None = None

    def __post_init__(self) -> None:
        if sum(place is not None for place in (self.seen_by, self.node_id, self.map_id)) != 1:
            raise Invalid(field="body", reason=Phrase("answers.invalid_fields.one_place"))


def observe(session: Session, memory: MemoryStore, world_session: WorldSession, seen: Observation) -> list[str]:
    """Those who are there remember it from now on, and who can be interrupted decides anew. Answers their ids, sorted;
    the caller commits.

    Raises:
        NotFound: there is no such person, group, node or map.
    """
    world = world_session.world
    witnesses = sorted(_witnesses(session, world, seen))
    name = f"seen {seen.game_id or derived_id(world.now, seen.text)}"
    words = world.say("remembered.seen", text=seen.text)
    line = Statement(
        id=name,
        statement=seen.text,
        words=words,
        stated=False,
        relation=world.say("remembered.saw"),
        at=iso(world.now),
        importance=seen.importance,
    )
    given = [Given(where="body", line=line)]
    new = [one for one in witnesses if not seed(session, world, memory, one, given, _GAME).known]
    if seen.minutes is not None:
        until = WorldTime(min(world.now + seen.minutes, LATEST))
        rows = [_on_its_mind(world, one, name, words, seen.importance, until) for one in new]
        add_mid_term(session, rows, world.now)
    told = Observed(text=seen.text, seen_by=tuple(witnesses), node_id=seen.node_id, map_id=seen.map_id)
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


def _on_its_mind(
    world: WorldView, person_id: str, name: str, words: str, importance: int, until: WorldTime
) -> MidTermRow:
    return MidTermRow(
        world_id=world.id,
        person_id=person_id,
        id=derived_id(person_id, name),
        content=words,
        importance=importance_word(importance),
        created_at=world.now,
        expires_at=until,
        kind="seen",
    )
