"""Owns what a client makes a character do: walk somewhere, do something there, or sleep. From then on the client
controls the character.
"""

from dataclasses import replace

from sqlmodel import Session

from service.conversation.start import Start, near, start, start_with_player
from service.conversation.transcript import leave_opening
from service.decision.choose import Chosen
from service.decision.options import action_name, why
from service.errors import FacilityClosed, NotFound, NotPossible, NoWayThere, existing, refuse
from service.llm.chat import Role
from service.people.person import move, person_row, segment_of
from service.people.worlds import WorldView
from service.runtime.publish import fall_asleep, publish
from service.runtime.world_clock import cancel_orders
from service.runtime.world_session import WorldSession, require_free, require_not_talking
from service.store.event_kinds import Slept
from service.store.events import note, retract
from service.store.tables import ConversationRow
from world import simulation
from world.actions import BUILT_IN, WAIT, Option, Possibilities, Reason, Refusal
from world.distance import Path
from world.errors import Unreachable
from world.life import LifeState, Person, Segment, node_at, walking_at
from world.places import Facility
from world.possible import possible
from world.time import WorldTime, iso


def take_control(session: Session, world_session: WorldSession, character_id: str) -> None:
    """Put the character in clients' hands. What it was doing ends, and it stands where it is: if it walks,
    at the last node it reached.

    Raises:
        NotFound: no such character.
        Busy: it talks.
    """
    world_session.world.cast.character(character_id)
    require_free(session, world_session, character_id)
    set_decision(session, world_session, character_id, "client")
    world = world_session.world
    segment = segment_of(session, world, character_id)
    if walking_at(segment, world.now):
        move(session, world, character_id, segment.cut(world.now))
    hold(session, world_session, character_id)


def begin_talk(
    session: Session, world_session: WorldSession, wanted: Start, models: dict[Role, str]
) -> ConversationRow:
    """As `talk_with_player` where a player begins, else as `talk`."""
    begin = talk_with_player if wanted.opener_id in world_session.world.cast.players else talk
    return begin(session, world_session, wanted, models)


def talk(session: Session, world_session: WorldSession, wanted: Start, models: dict[Role, str]) -> ConversationRow:
    """Let the character talk to somebody beside it; the caller commits. From now on clients control it; a character
    that it talks to stands still until they are done.

    Raises:
        NotFound, Walking, NotBeside, NoWayThere, Busy: as `conversation.start.start`.
    """
    world_session.world.cast.character(wanted.opener_id)
    for person_id in (wanted.opener_id, wanted.partner_id):
        require_not_talking(world_session, person_id)
    row = start(session, world_session.world, wanted, models)
    set_decision(session, world_session, wanted.opener_id, "client")
    for person_id in row.person_ids:
        if person_id in world_session.world.cast.homes:
            hold(session, world_session, person_id)
    return row


def talk_with_player(
    session: Session, world_session: WorldSession, wanted: Start, models: dict[Role, str]
) -> ConversationRow:
    """Let a player talk to somebody, who stands still until they are done; the caller commits. A talk that holds the
    clock cancels what the world was still to live.

    Raises:
        NotFound, Invalid, Walking, NotBeside, NoWayThere, Busy: as `conversation.start.start_with_player`.
    """
    leave_opening(session, world_session.world, wanted.opener_id)
    if not wanted.place_waived:
        require_not_talking(world_session, wanted.partner_id)
    row = start_with_player(session, world_session.world, wanted, models)
    if wanted.holds_clock:
        cancel_orders(session, row.world_id)
    if wanted.partner_id in world_session.world.cast.homes and not wanted.place_waived:
        hold(session, world_session, wanted.partner_id)
    return row


def set_decision(session: Session, world_session: WorldSession, character_id: str, decision: str | None) -> None:
    """Set how the character decides: model, routine or client (None: as its file or its world says). A character that a
    client decides for has no thought of its own any more.
    """
    person_row(session, world_session.world.id, character_id, lock=True).decision = decision
    session.flush()
    if decision == "client" and character_id in world_session.agent_states:
        world_session.agent_states[character_id] = replace(world_session.agent_states[character_id], thought="")
        world_session.core.changed_people.add(character_id)


def walk(
    session: Session,
    world_session: WorldSession,
    character_id: str,
    *,
    node_id: str | None = None,
    facility_id: str | None = None,
    npc_id: str | None = None,
) -> Segment:
    """Send the character on its way from now on, to exactly one of a node, a facility or a person (an NPC is walked up
    to, beside its post); the caller commits. Who is there already stays.

    A walker is turned round at the last node it reached.

    Raises:
        Invalid: none of them is named, or several are.
        NotFound: no such character, node, facility or NPC.
        Busy: the character talks.
        NoWayThere: no open way.
        FacilityClosed: the facility is shut when the character would arrive.
    """
    refuse(((node_id, facility_id, npc_id).count(None) != 2, "to", "answers.invalid_fields.one_destination"))
    world = world_session.world
    world.cast.character(character_id)
    require_free(session, world_session, character_id)
    start = node_at(segment_of(session, world, character_id), world.now)
    path = _path(session, world, start, node_id, facility_id, npc_id)
    take_control(session, world_session, character_id)
    _do(
        session,
        world_session,
        character_id,
        Option(action_id=WAIT, node_id=path.nodes[-1], walk_minutes=path.minutes, minutes=1),
    )
    return Segment.walk(path, world.now)


def possibilities(session: Session, world_session: WorldSession, character_id: str) -> Possibilities:
    """All that the character could do if it stopped now, and why the rest is not possible. Nothing is changed; others
    may have lived ahead of the clock.

    Raises:
        NotFound: no such character.
        Busy: it talks.
    """
    world_session.world.cast.character(character_id)
    require_free(session, world_session, character_id)
    core, now = world_session.core, world_session.world.now
    people = core.people | {character_id: _at(core.people[character_id], now)}
    what_if = simulation.Simulation(core.setting, people.values(), core.talks.values(), engaged=core.engaged)
    what_if.stop(character_id, now)
    return possible(core.setting, what_if.perceive(character_id), nearest=None)


def do(
    session: Session, world_session: WorldSession, character_id: str, action_id: str, *, facility_id: str | None = None
) -> Option:
    """Let the character do something of actions.json, from now on: it walks there if it must; the caller commits.

    Without a facility the nearest where it is possible. Answers what it does, where and how long.

    Raises:
        NotFound: no such character, action or facility.
        Busy: the character talks.
        NotPossible: with the reason.
    """
    world = world_session.world
    world.cast.character(character_id)
    catalogue = world_session.core.setting.catalogue
    if action_id in BUILT_IN - {WAIT} or not catalogue.knows(action_id):
        raise NotFound(kind="action", id=action_id)
    if facility_id is not None:
        _facility(world, facility_id)
    found = possibilities(session, world_session, character_id)
    option = next((o for o in found.options if _meant(o, action_id, facility_id)), None)
    if option is None:
        refusal = next((r for r in found.refusals if _meant(r, action_id, facility_id)), None)
        refusal = refusal or Refusal(action_id=action_id, reason=Reason.NO_FACILITY, facility_id=facility_id)
        facts = {"action_id": action_id, "facility_id": refusal.facility_id, **refusal.facts}
        name, words = action_name(world, action_id), why(world, refusal)
        raise NotPossible(action=name, reason=refusal.reason.value, why=words, **facts)
    take_control(session, world_session, character_id)
    _do(session, world_session, character_id, option)
    return option


def sleep(session: Session, world_session: WorldSession, character_id: str) -> int:
    """Let the character sleep: the day's conversations are cleared, nothing else. Answers how many; the caller commits.

    Who is on the way lies down at the last node reached.

    Raises:
        NotFound: no such character.
        Busy: the character talks.
    """
    take_control(session, world_session, character_id)
    cleared = fall_asleep(session, world_session, character_id, world_session.world.now)
    note(session, world_session.world.id, world_session.world.now, Slept(cleared=cleared), character_id)
    return cleared


def _at(person: Person, now: WorldTime) -> Person:
    """The person at the world's clock, without what it has decided ahead of the clock; not scripted, so that it
    perceives.
    """
    past = tuple(activity for activity in person.past if activity.start < now) or person.past[:1]
    ready = max(now, past[-1].end)
    return replace(person, past=past, ready=ready, state=LifeState.DECIDES, claim=None, is_scripted=False)


def hold(session: Session, world_session: WorldSession, character_id: str) -> None:
    """Let the character stand where it is from now on; what was scheduled for it is dropped."""
    retract(session, world_session.world.id, character_id, world_session.world.now)
    publish(session, world_session, world_session.hold(character_id).events, {}, at_once=world_session.world.now)


def _do(session: Session, world_session: WorldSession, character_id: str, option: Option) -> None:
    """Let it do the option, instead of standing."""
    now = world_session.world.now
    world_session.core.stop(character_id, now)
    done = world_session.core.decide(character_id, option)
    if option.walk_minutes or option.action_id != WAIT:
        publish(
            session, world_session, done.events, {(character_id, now): Chosen(option=option, by="client")}, at_once=now
        )


def _meant(one: Option | Refusal, action_id: str, facility_id: str | None) -> bool:
    return one.action_id == action_id and facility_id in (None, one.facility_id)


def _path(
    session: Session, world: WorldView, start: str, node_id: str | None, facility_id: str | None, npc_id: str | None
) -> Path:
    try:
        if facility_id is not None:
            return _path_into(world, start, _facility(world, facility_id))
        if npc_id is not None:
            world.cast.npc(npc_id)
            return world.setting.routes.path_beside(start, near(session, world, npc_id))
        return world.setting.routes.path(start, existing(world.map.nodes.get(node_id or ""), "node", node_id).id)
    except Unreachable as exc:
        raise NoWayThere(start=start, goal=exc.facts[1]) from exc


def _path_into(world: WorldView, start: str, facility: Facility) -> Path:
    path = world.setting.routes.path_to_any(start, facility.node_ids)
    arrival = WorldTime(world.now + path.minutes)
    if not facility.open_at(arrival):
        hours = ", ".join(open_hours.label for open_hours in facility.hours)
        raise FacilityClosed(facility=facility.name, facility_id=facility.id, at=iso(arrival), hours=hours)
    return path


def _facility(world: WorldView, facility_id: str) -> Facility:
    return existing(world.map.facilities.get(facility_id), "facility", facility_id)
