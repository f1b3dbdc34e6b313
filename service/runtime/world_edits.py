"""Owns edits of a living world: where people are, their needs, what they carry, what is announced; and what the game
says has happened, which only those who were there remember.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlmodel import Session, func, select

from service.content.fields import Flag, same_flag
from service.content.profile import Mood, importance_word
from service.errors import Invalid, existing, refuse
from service.locales import Phrase
from service.memory.memory_store import MemoryStore
from service.memory.record import Embedded, Group, Kind, Memory, Source, Support
from service.people.attitude import set_affinity
from service.people.person import move, person_row, positions
from service.people.worlds import WorldView
from service.runtime.publish import publish
from service.runtime.world_session import BY_MODEL, WorldSession, require_free
from service.store.event_kinds import Announced, Carries, Changed, FlagsSet, FlagValue, Observed, WeatherSet
from service.store.events import note, retract
from service.store.ids import derived_id, new_id
from service.store.tables import MemoryRow, MoodRow, WorldRow
from world.life import Segment
from world.time import LATEST, WorldTime, iso

ITEMS_MAX = 50
FLAGS_MAX = 200


def amend(
    session: Session,
    world_session: WorldSession,
    character_id: str,
    *,
    node_id: str | None = None,
    needs: Mapping[str, float] | None = None,
    give: Sequence[str] = (),
    take: Sequence[str] = (),
) -> None:
    """Change a character at the world's clock, and its `needs` by their ids; it decides anew. `give` and `take` are
    things it carries. The caller commits.

    Raises:
        NotFound: no such character or node.
        Invalid: no such need, or nothing of the kind to take; too many things to carry.
        Busy: it talks, and is to be moved or changed.
    """
    world_session.world.cast.character(character_id)
    _carry(session, world_session, character_id, give, take)
    if node_id is None and not needs:
        return
    require_free(session, world_session, character_id)
    if node_id is not None:
        require_open_node(world_session.world, node_id)
    known = world_session.core.setting.catalogue.needs
    other_needs = Phrase("answers.invalid_fields.other_needs", known=", ".join(need.id for need in known.all))
    refuse(*((need_id not in known, f"needs.{need_id}", other_needs) for need_id in needs or ()))
    now = world_session.world.now
    retract(session, world_session.world.id, character_id, now)
    done = world_session.core.amend(character_id, now, node_id=node_id, needs=needs)
    move(session, world_session.world, character_id, Segment.stay(world_session.core.people[character_id].node_id, now))
    publish(session, world_session, done.events, {}, at_once=now)


def amend_npc(
    session: Session,
    world_session: WorldSession,
    npc_id: str,
    *,
    mood: Mood | None = None,
    affinity: Mapping[str, int] | None = None,
    give: Sequence[str] = (),
    take: Sequence[str] = (),
) -> None:
    """Set the NPC's mood from the world's clock on, its affinity (-100..100) by character id, and what it carries. The
    caller commits.

    Raises:
        NotFound: no such NPC or character.
        Invalid: nothing of the kind to take; too many things to carry.
    """
    world = world_session.world
    world.cast.npc(npc_id)
    if mood is not None:
        session.add(
            MoodRow(world_id=world.id, person_id=npc_id, id=_last(session, world, npc_id), at=world.now, mood=mood)
        )
    for character_id, level in (affinity or {}).items():
        world.cast.character(character_id)
        set_affinity(session, world, npc_id, character_id, level, new_id())
    _carry(session, world_session, npc_id, give, take)
    if mood is None and not affinity:
        return
    note(session, world.id, world.now, Changed(mood=mood, affinity=dict(affinity or {}) or None), npc_id)


def _last(session: Session, world: WorldView, person_id: str) -> str:
    """An id that makes it the last of the person's moods of this minute."""
    moods = select(func.max(MoodRow.id)).where(
        MoodRow.world_id == world.id, MoodRow.person_id == person_id, MoodRow.at == world.now
    )
    return f"{session.exec(moods).one() or f'{world.now:012x}'}+"


def announce(session: Session, world_session: WorldSession, text: str, minutes: int) -> None:
    """Let everybody know of something for so many minutes from now on. Those who can be interrupted decide anew."""
    world = world_session.world
    until = WorldTime(min(world.now + minutes, LATEST))
    row = session.get_one(WorldRow, world.id)
    notice = {"text": text, "at": world.now, "until": until}
    row.notices = [*(one for one in row.notices if one["until"] > world.now), notice]
    note(session, world.id, world.now, Announced(text=text, until=iso(until)))
    interrupt(session, world_session, world_session.how)


def set_weather(session: Session, world_session: WorldSession, weather: str) -> None:
    """Set the weather, in words ("": nothing to say). Those who can be interrupted decide anew."""
    row = session.get_one(WorldRow, world_session.world.id)
    if row.weather == weather:
        return
    row.weather = weather
    note(session, world_session.world.id, world_session.world.now, WeatherSet(weather=weather))
    interrupt(session, world_session, world_session.how)


def set_flags(session: Session, world_session: WorldSession, flags: Mapping[str, Flag | None]) -> None:
    """Set these flags, and remove those that are None. The others stay. The caller commits.

    Raises:
        Invalid: the world would have too many.
    """
    row = session.get_one(WorldRow, world_session.world.id)
    changed = {name: value for name, value in flags.items() if not same_flag(row.flags.get(name), value)}
    if not changed:
        return
    row.flags = {name: value for name, value in {**row.flags, **changed}.items() if value is not None}
    too_many = Phrase("answers.invalid_fields.too_many_flags", count=len(row.flags), most=FLAGS_MAX)
    refuse((len(row.flags) > FLAGS_MAX, "body.flags", too_many))
    told = tuple(FlagValue(name=name, value=value) for name, value in changed.items())
    note(session, world_session.world.id, world_session.world.now, FlagsSet(flags=told))


def interrupt(session: Session, world_session: WorldSession, person_ids: Iterable[str]) -> None:
    """Those of them who decide by model and can be interrupted now decide anew."""
    now = world_session.world.now
    for character_id in person_ids:
        if world_session.how.get(character_id) not in BY_MODEL:
            continue
        person = world_session.core.people[character_id]
        if person.last.approachable(now) and person.claim is None:
            retract(session, world_session.world.id, character_id, now)
            world_session.core.interrupt(character_id, now)


def _carry(
    session: Session, world_session: WorldSession, character_id: str, give: Sequence[str], take: Sequence[str]
) -> None:
    if not give and not take:
        return
    row = person_row(session, world_session.world.id, character_id, lock=True)
    items = list(row.items)
    for item in take:
        if item not in items:
            raise Invalid(
                field="take",
                reason=Phrase(
                    "answers.invalid_fields.not_carried",
                    name=world_session.world.name_of(character_id),
                    item=item,
                    items=items,
                ),
            )
        items.remove(item)
    items += give
    too_many = Phrase("answers.invalid_fields.too_many_things", count=len(items), most=ITEMS_MAX)
    refuse((len(items) > ITEMS_MAX, "give", too_many))
    row.items = items
    carries = Carries(given=tuple(give), taken=tuple(take))
    note(session, world_session.world.id, world_session.world.now, carries, character_id)


def require_open_node(world: WorldView, node_id: str) -> None:
    """Raises: NotFound: there is no such node; Invalid: an NPC stands there."""
    existing(world.map.nodes.get(node_id), "node", node_id)
    refuse(
        (node_id in world.map.closed_nodes, "node_id", Phrase("answers.invalid_fields.npc_stands_there", node=node_id))
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenState:
    """The one value that an `attribute` of a `subject` (a person's id, or any name) has now."""

    subject: str
    attribute: str
    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What happened, and the people who saw it: people or groups by their ids, or everybody on or beside a node, or on
    a map.

    `importance` is 1 to 10. `about` is the state that is otherwise since then; an empty `text` is told from it.
    `minutes` is how long it stays on their minds (None: they only remember it). `game_id` is the game's name for it.
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
        places = sum(place is not None for place in (self.seen_by, self.node_id, self.map_id))
        refuse(
            (places != 1, "body", "answers.invalid_fields.one_place"),
            (not self.text and self.about is None, "body.text", "answers.expected.missing"),
        )


def observe(session: Session, memory: MemoryStore, world_session: WorldSession, seen: Observation) -> list[str]:
    """Let those who are there remember it; those who can be interrupted decide anew. Answers their ids, sorted; the
    caller commits.

    Raises:
        NotFound: there is no such person, group, node or map.
    """
    world = world_session.world
    witnesses = sorted(_witnesses(session, world, seen))
    for one in witnesses:
        group, memories = Group(world_id=world.id, person_id=one), _memories(world, one, seen)
        if session.get(MemoryRow, group.key(memories[0].id)) is None:
            memory.remember(session, group, memories, Embedded())
    told = Observed(text=_text(world, seen), seen_by=tuple(witnesses), node_id=seen.node_id, map_id=seen.map_id)
    note(session, world.id, world.now, told)
    interrupt(session, world_session, witnesses)
    return witnesses


def _witnesses(session: Session, world: WorldView, seen: Observation) -> set[str]:
    if seen.seen_by is not None:
        groups = {one: world.cast.groups.get(one, ()) for one in seen.seen_by if world.cast.find(one) is None}
        named = (groups.get(one) or (one,) for one in seen.seen_by)
        return {world.cast.person(person_id).id for people in named for person_id in people}
    if seen.node_id is not None:
        existing(world.map.nodes.get(seen.node_id), "node", seen.node_id)
    if seen.map_id is not None:
        existing(world.map.map_names.get(seen.map_id), "map", seen.map_id)
    stand = {i: where.node_id for i, where in positions(session, world).items()}
    if seen.node_id is not None:
        return {i for i, node_id in stand.items() if world.map.next_to(node_id, seen.node_id)}
    return {i for i, node_id in stand.items() if world.map.node(node_id).map_id == seen.map_id}


def _text(world: WorldView, seen: Observation) -> str:
    if seen.text or seen.about is None:
        return seen.text
    subject = world.name_of(seen.about.subject)
    return world.say("remembered.state", subject=subject, attribute=seen.about.attribute, value=seen.about.value)


def _memories(world: WorldView, person_id: str, seen: Observation) -> list[Memory]:
    """What a witness remembers: what it saw, and, where it is to stay on its mind, a mid-term memory of that."""
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
