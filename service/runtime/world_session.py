"""Owns a living world in memory: the core's people and talks, and what is on everybody's mind; how it is read and
written; and whether somebody can be made to do something else now.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from sqlalchemy import delete, update
from sqlmodel import Session, col, func, select

from service.content.profile import Decides
from service.conversation import start
from service.decision.routine import STANDS_MINUTES
from service.decision.situation import AGENT_STATE, AgentState
from service.errors import Busy, WorldMoves
from service.memory.mind import ReflectionKey
from service.people.commitment import Commitment
from service.people.commitments import commitments_by_person
from service.people.person import STORED_TALK, person_record, read_person, segment_of
from service.people.worlds import WorldRepository, WorldView
from service.store.events import log_command
from service.store.ids import id_at
from service.store.insert import upsert_rows
from service.store.phase import ClockPolicy
from service.store.tables import (
    ConversationKey,
    ConversationRow,
    ParticipantRow,
    PersonRow,
    TalkRow,
    TurnRow,
    WorldRow,
    engaged_in,
    shared_alias,
)
from world import simulation
from world.actions import HOLD, Option
from world.events import Effect
from world.life import LifeState, Person, TalkState, node_at
from world.time import MINUTES_PER_DAY, WorldTime, iso

DecidingBy = Literal["model", "sketch", "routine", "client"]
BY_MODEL = ("model", "sketch")
"""A sketched life asks its model as seldom as it can, while no player is in sight."""

WAITS_MINUTES = MINUTES_PER_DAY
"""How long a character waits for the next word of its client, in world minutes: who sleeps and is met again a day later
is still there.
"""

_OTHER = shared_alias(ParticipantRow)


@dataclass(kw_only=True)
class WorldSession:
    """A world as it lives. `world` is at its clock; `core` may be ahead of it. Used by one run or one command at a
    time.

    `how`: how each character decides now; `conversations`: the conversation of each talk; `revision`: of the store,
    when this was read or written last; `reached`: nothing has been decided or said at that minute or later.
    """

    world: WorldView
    core: simulation.Simulation
    agent_states: dict[str, AgentState]
    how: dict[str, DecidingBy]
    conversations: dict[str, str]
    revision: int
    reached: WorldTime
    commitments: dict[str, tuple[Commitment, ...]] = field(default_factory=dict)
    """What everybody promised and was promised, by person: as it was when the run began, and for those who talk since,
    when their talk was remembered.
    """
    reflecting: dict[ReflectionKey, WorldTime] = field(default_factory=dict)
    """Reflections that are to be made, and from when on what comes of them is known."""
    stored: dict[str, int] = field(default_factory=dict)
    """Talks that the store has a row of, and how many have joined each by then."""
    dropped: tuple[str, ...] = ()
    """Conversations that cannot go on: the author has taken away who held them, or where."""

    def hold(self, character_id: str) -> Effect:
        """What the character does ends now, and it stands where it is. Raises: OutOfTurn: it is in a talk."""
        self.core.stop(character_id, self.world.now)
        return self.core.decide(character_id, self.standing(character_id))

    def place(self, player_id: str, node_id: str | None) -> None:
        """The player stands on that node from the world's clock on, as a character in a client's hands does: it needs
        and decides nothing. None: it is nowhere, and nobody sees it.
        """
        if player_id in self.core.people:
            self.core.take_out(player_id)
        if node_id is None:
            self.how.pop(player_id, None)
            return
        self.how[player_id] = "client"
        now, setting = self.world.now, self.core.setting
        self.core.put(simulation.newcomer(setting, player_id, node_id, now, is_scripted=True))
        self.core.decide(player_id, self.standing(player_id))

    def standing(self, character_id: str) -> Option:
        """What a character in a client's hands decides when nobody tells it anything."""
        return Option(action_id=HOLD, node_id=self.core.people[character_id].node_id, minutes=STANDS_MINUTES)

    def reconcile(self) -> None:
        """Let everybody live the way `how` says: a character that decides by itself again no longer stands."""
        for character_id, how in self.how.items():
            person = self.core.people[character_id]
            if person.is_scripted != (how not in BY_MODEL):
                self.core.put(replace(person, is_scripted=how not in BY_MODEL))
            if how != "client" and person.last.action_id == HOLD and person.last.end > self.world.now:
                self.core.stop(character_id, self.world.now)

    def is_sketched(self, people: Iterable[str], node_id: str, t: WorldTime) -> bool:
        """Whether their life there is only sketched: all of the characters among them live so, and no player is in
        sight at `t`.
        """
        if any(self.how.get(one, "sketch") != "sketch" for one in people):
            return False
        near = self.core.near(self.core.setting.distances.in_sight(node_id), t)
        return not any(person.id in self.world.cast.players for person, _, _ in near)

    def promise_again(self, session: Session, *person_ids: str) -> None:
        """Read anew what these persons promised and were promised."""
        known = commitments_by_person(session, self.world)
        self.commitments |= {person_id: known.get(person_id, ()) for person_id in person_ids}

    def agent_state(self, character_id: str) -> AgentState:
        """What is on the character's mind."""
        return self.agent_states.get(character_id, AgentState())

    def before_known(self, until: WorldTime) -> WorldTime:
        """How far the world may go, not farther than `until`. It stops a minute before the result of a reflection
        counts, for as long as that reflection is not made.
        """
        return min([until, *(WorldTime(known_at - 1) for known_at in self.reflecting.values())])

    @property
    def is_changed(self) -> bool:
        """Lives or talks are not as they were last written."""
        return bool(self.core.changed_people or self.core.changed_talks)

    def saved(self, revision: int) -> None:
        """Take note that all changes are committed."""
        self.stored = {talk.id: len(talk.joined) for talk in self.core.talks.values()}
        self.conversations = {i: c for i, c in self.conversations.items() if i in self.core.talks}
        self.core.changed_people.clear()
        self.core.changed_talks.clear()
        self.revision = revision

    def conversation_id(self, talk: TalkState) -> str:
        """The id of the talk's conversation: the same whenever the same story is told."""
        known = self.conversations.get(talk.id)
        if known is None:
            known = self.conversations[talk.id] = id_at(talk.start, self.world.id, talk.id)
        return known

    def key_of(self, talk_id: str) -> ConversationKey:
        """Of the conversation of a talk that goes on."""
        return ConversationKey(self.world.id, self.conversations[talk_id])


def load(session: Session, worlds: WorldRepository, world_id: str, *, models_missing: bool) -> WorldSession:
    """Read the world from the store. A character without a life begins one at the world's clock, where it stands."""
    world = worlds.open(session, world_id)
    alive = select(PersonRow).where(PersonRow.world_id == world_id, col(PersonRow.life).is_not(None))
    lives = session.exec(alive).all()
    rows = session.exec(select(TalkRow).where(TalkRow.world_id == world_id)).all()
    needs = world.setting.catalogue.needs
    known = {row.person_id: read_person(row.life or {}, needs) for row in lives}
    talks = {row.talk_id: STORED_TALK.validate_python(row.talk) for row in rows}
    lasting, held = _lasting(world, known, talks)
    people = {i: lasting.get(i) or _newcomer(session, world, i) for i in world.cast.homes}
    people |= {i: person for i, person in lasting.items() if i in world.cast.players}
    held_by = _held_by_clients(session, world_id)
    row = session.get(WorldRow, world_id)
    world_session = WorldSession(
        world=world,
        core=simulation.Simulation(
            world.setting, people.values(), held.values(), engaged=_engaged(world, held_by), now=world.now
        ),
        agent_states={row.person_id: AGENT_STATE.validate_python(row.agent_state or {}) for row in lives},
        how=_how(session, world, people.keys(), held_by, models_missing=models_missing),
        conversations={row.talk_id: row.conversation_id for row in rows},
        revision=row.revision if row else 0,
        reached=_reached(session, row),
        stored={talk.id: len(talk.joined) for talk in talks.values()},
        dropped=tuple(row.conversation_id for row in rows if row.talk_id not in held),
    )
    world_session.core.changed_people -= lasting.keys()
    world_session.core.changed_talks.clear()
    world_session.reconcile()
    return world_session


def let_go(session: Session, world: WorldView) -> None:
    """Let characters decide by themselves again whom no client has told anything for too long; the caller commits. A
    replay looks at the same minute.
    """
    for row, until in _in_clients_hands(session, world):
        if until <= world.now:
            row.decision = None
            log_command(session, world.id, world.now, "looked", {})
    session.flush()


def next_letting_go(session: Session, world: WorldView, target: WorldTime) -> WorldTime:
    """The earliest minute until `target` at which a client that says nothing more loses a character; else `target`."""
    return min([target, *(until for _, until in _in_clients_hands(session, world) if until > world.now)])


def _in_clients_hands(session: Session, world: WorldView) -> Iterator[tuple[PersonRow, WorldTime]]:
    """The characters that clients control and do not talk with, each with the time until which it stands and waits for
    the next word once it has done what it was told last.
    """
    talking, needs = _held_by_clients(session, world.id), world.setting.catalogue.needs
    controlled = select(PersonRow).where(PersonRow.world_id == world.id, PersonRow.decision == "client")
    for row in session.exec(controlled):
        if row.person_id not in talking and row.life is not None:
            person = read_person(row.life, needs)
            idle_since = person.last.start if person.last.action_id == HOLD else person.ready
            yield row, WorldTime(idle_since + WAITS_MINUTES)


def refresh(session: Session, world: WorldView, world_session: WorldSession, *, models_missing: bool) -> bool:
    """Bring up to date what is cheap to read: clock, weather, whom clients control. False: everything must be read
    anew.

    `world` is the living one's as it was opened now.
    """
    row = session.get(WorldRow, world.id)
    if row is None or row.revision != world_session.revision or world.cast is not world_session.world.cast:
        return False
    world_session.world = world
    held_by = _held_by_clients(session, world.id)
    people = world_session.core.people
    world_session.how = _how(session, world, people.keys(), held_by, models_missing=models_missing)
    world_session.core.engaged, world_session.core.now = _engaged(world, held_by), world.now
    world_session.reached = _reached(session, row)
    world_session.reconcile()
    return True


def save(session: Session, world_session: WorldSession) -> int:
    """Write what has changed since it was last written; the caller commits and then says so (`WorldSession.saved`), or
    throws the living world away. Answers the store's revision.

    Raises:
        WorldMoves: somebody else has written it since it was read.
    """
    core, needs, world_id = world_session.core, world_session.core.setting.catalogue.needs, world_session.world.id
    world = session.get_one(WorldRow, world_id)
    if world.revision != world_session.revision:
        raise moves(world)
    lives = [
        PersonRow(
            world_id=world_id,
            person_id=i,
            life=person_record(core.people[i], needs),
            agent_state=AGENT_STATE.dump_python(world_session.agent_state(i), mode="json", exclude_defaults=True),
        ).model_dump()
        for i in sorted(core.changed_people & core.people.keys())
    ]
    talks = [
        {
            "world_id": world_id,
            "talk_id": i,
            "conversation_id": world_session.conversation_id(core.talks[i]),
            "talk": STORED_TALK.dump_python(core.talks[i], mode="json"),
        }
        for i in sorted(core.changed_talks)
        if i in core.talks
    ]
    upsert_rows(session, PersonRow, lives, ("life", "agent_state"))
    upsert_rows(session, TalkRow, talks, ("talk",))
    gone = world_session.stored.keys() - core.talks.keys()
    if gone:
        session.execute(delete(TalkRow).where(col(TalkRow.world_id) == world_id, col(TalkRow.talk_id).in_(gone)))
    left = core.changed_people - core.people.keys()
    if left:
        gone_ones = update(PersonRow).where(col(PersonRow.world_id) == world_id, col(PersonRow.person_id).in_(left))
        session.execute(gone_ones.values(life=None, agent_state=None))
    if lives or talks or gone or left:
        world.revision += 1
    world.reached = world_session.reached
    return world.revision


def moves(row: WorldRow) -> WorldMoves:
    """Why a world that is on its way cannot be changed now."""
    return WorldMoves(now=iso(WorldTime(row.now)), until=iso(WorldTime(max(row.now, row.target or row.now))))


def _reached(session: Session, row: WorldRow | None) -> WorldTime:
    """A turn is stored before its world is: the last turn may be later than what the world's row says."""
    if row is None:
        return WorldTime(0)
    spoken = select(func.max(ConversationRow.started_at + TurnRow.turn)).where(
        TurnRow.world_id == row.id,
        TurnRow.conversation_id == ConversationRow.id,
        ConversationRow.world_id == row.id,
        ConversationRow.clock_policy == ClockPolicy.MINUTE,
        col(ConversationRow.phase).in_(("running", "closing")),
    )
    last = session.exec(spoken).one()
    return WorldTime(max(row.reached, -1 if last is None else last + 1))


def _lasting(
    world: WorldView, known: Mapping[str, Person], talks: Mapping[str, TalkState]
) -> tuple[dict[str, Person], dict[str, TalkState]]:
    """The lives and talks that can go on. The author may have taken away a person, a place or an action meanwhile."""
    homes = world.cast.homes
    here = homes.keys() | world.cast.players.keys()
    fit = {i: person for i, person in known.items() if i in here and _fits(person, world)}
    held = {i: talk for i, talk in talks.items() if talk.closed or set(talk.characters) <= fit.keys()}
    held = {i: talk for i, talk in held.items() if not talk.with_npc or talk.partner_id in world.map.posts}
    return {
        i: person if person.home == homes.get(i, person.home) else replace(person, home=homes[i])
        for i, person in fit.items()
        if person.state not in (LifeState.TALKS, LifeState.CLOSES) or person.last.talk_id in held
    }, held


def _newcomer(session: Session, world: WorldView, character_id: str) -> Person:
    character = world.cast.characters.get(character_id)
    node_id = node_at(segment_of(session, world, character_id), world.now)
    return simulation.newcomer(
        world.setting,
        character_id,
        world.home(character_id),
        world.now,
        node_id=node_id if node_id in world.map.nodes else None,
        needs=character.needs if character else None,
    )


def _fits(person: Person, world: WorldView) -> bool:
    nodes = {node_id for activity in person.past for node_id in activity.segment.path}
    actions = {activity.action_id for activity in person.past}
    if (claim := person.claim) is not None:
        actions.add(claim.action_id)
        nodes.add(claim.node_id)
        if claim.facility_id is not None and claim.facility_id not in world.map.facilities:
            return False
        if claim.target_id is not None and claim.target_id not in world.cast.homes.keys() | world.map.posts.keys():
            return False
    return nodes <= world.map.nodes.keys() and all(map(world.setting.catalogue.knows, actions))


def _how(
    session: Session, world: WorldView, people: Set[str], held_by: Mapping[str, str], *, models_missing: bool
) -> dict[str, DecidingBy]:
    wanted = select(PersonRow.person_id, PersonRow.decision).where(
        PersonRow.world_id == world.id, col(PersonRow.decision).is_not(None)
    )
    decisions = dict(session.exec(wanted).all())
    return {
        i: "client" if i in held_by else how_of(world, i, decisions.get(i), models_missing=models_missing)
        for i in world.cast.homes
    } | dict.fromkeys(people & world.cast.players.keys(), "client")


def how_of(world: WorldView, character_id: str, decision: str | None, *, models_missing: bool) -> DecidingBy:
    """How the character decides: its row says it (`decision`), else its file, else its world; without a model by
    routine, as an NPC that may leave its node always does.
    """
    if character_id in world.map.bases:
        return "routine"
    if decision == "client":
        return "client"
    wanted = cast("Decides | None", decision) or world.cast.character(character_id).decision or world.decision
    return "routine" if models_missing else wanted


def _held_by_clients(session: Session, world_id: str) -> dict[str, str]:
    """The people in conversations that a client started, or that have a player, each with its partner."""
    held = select(ParticipantRow.person_id, _OTHER.person_id).where(
        *engaged_in(world_id),
        ConversationRow.world_id == world_id,
        ConversationRow.id == ParticipantRow.conversation_id,
        ConversationRow.clock_policy == ClockPolicy.NONE,
        _OTHER.world_id == world_id,
        _OTHER.conversation_id == ConversationRow.id,
        _OTHER.person_id != ParticipantRow.person_id,
    )
    return dict(session.exec(held).all())


def _engaged(world: WorldView, held_by: Mapping[str, str]) -> dict[str, str]:
    """NPCs in conversations that a client started, and with whom."""
    return {person_id: leader for person_id, leader in held_by.items() if person_id in world.map.posts}


def require_free(session: Session, world_session: WorldSession, person_id: str) -> None:
    """Raises: Busy: the person talks now, or is taking leave."""
    start.require_free(session, world_session.world, person_id)
    require_not_talking(world_session, person_id)


def require_not_talking(world_session: WorldSession, person_id: str) -> None:
    """Raises: Busy: the person is in a talk of the living world: its words may be spoken before its time is up."""
    person, now = world_session.core.people.get(person_id), world_session.world.now
    if person is None:
        return
    talk_id = next((a.talk_id for a in person.past if a.talk_id and a.start <= now < a.end), None)
    if talk_id is None and person.state in (LifeState.TALKS, LifeState.CLOSES) and person.last.start <= now:
        talk_id = person.last.talk_id
    if talk_id is None:
        return
    talk = world_session.core.talks[talk_id]
    partner_id = next(one for one in talk.members if one != person_id)
    raise Busy(
        person=world_session.world.name_of(person_id),
        person_id=person_id,
        partner=world_session.world.name_of(partner_id),
        partner_id=partner_id,
        conversation_id=world_session.conversation_id(talk),
    )
