"""Owns the start of a conversation: whether the two can talk now, and the one short transaction that makes it run."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pydantic import TypeAdapter
from sqlmodel import Session, col, select

from service.conversation.client_events import tell_started
from service.conversation.prompt import Goal
from service.conversation.turn_taking import OPENER, carry_on, let_speak
from service.errors import Busy, Invalid, NotBeside, NoWayThere, Walking, refuse
from service.llm.chat import Role
from service.locales import Phrase
from service.people.person import night_of, person_rows, segment_of, standing_players
from service.people.worlds import WorldView
from service.store.event_kinds import ConversationStarted
from service.store.events import log_in, publish
from service.store.ids import new_id
from service.store.insert import insert_rows
from service.store.phase import ClockPolicy, OpenedFor, Phase, Speaker
from service.store.tables import ConversationRow, ParticipantRow, engaged_in
from world.errors import Unreachable
from world.life import TalkState, node_at, walking_at
from world.time import iso


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """A conversation that is to begin: who speaks to whom first. A character without a goal sets one itself when it
    opens its mouth. `told` is what the game says is going on, line by line. `actions`: ids of all that may be asked of
    the game in it (None: what the content allows). `conversation_id`: "": a new one.

    With a player: `place_waived`: wherever the two are. `chat_idle_minutes`: it is a chat client's, see
    ConversationRow. `holds_clock`: the world's clock stands until it is over. `choices`: so many lines are suggested to
    the player after each turn of its partner. `opened_for`: why somebody speaks to a player first; `matter` is what of.
    """

    opener_id: str
    partner_id: str
    max_turns: int
    goal: Goal | None = None
    told: tuple[str, ...] = ()
    actions: tuple[str, ...] | None = None
    conversation_id: str = ""
    place_waived: bool = False
    chat_idle_minutes: float | None = None
    holds_clock: bool = False
    choices: int = 0
    opened_for: OpenedFor | None = None
    matter: str = ""


START = TypeAdapter(Start)
"""How it is written into the log of what came from outside."""


def start(session: Session, world: WorldView, wanted: Start, models: dict[Role, str]) -> ConversationRow:
    """Insert a running conversation that a character opens, and engage both people; the caller has locked the world,
    and commits. The partner may be a character too.

    Raises:
        NotFound: there is no such character or NPC.
        Invalid: the character is to talk to itself.
        Busy: one of them talks already.
        Walking: one of them is on its way.
        NotBeside: the two do not stand next to each other.
        NoWayThere: and the character cannot get there either.
    """
    world.cast.character(wanted.opener_id)
    _require_two(wanted)
    if wanted.partner_id not in world.cast.characters:
        world.cast.npc(wanted.partner_id)
    require_free(session, world, wanted.opener_id, wanted.partner_id)
    node_id = standing_beside(session, world, wanted.opener_id, wanted.partner_id)
    return _logged(session, world, _insert(session, world, wanted, node_id, models), wanted)


def start_with_player(session: Session, world: WorldView, wanted: Start, models: dict[Role, str]) -> ConversationRow:
    """Insert a conversation that a player opens: it waits for the player's words. The caller has locked the world, and
    commits.

    A player that stands nowhere speaks from where its partner is. Where the place is waived, nobody is engaged: many
    may talk to the partner at once.

    Raises:
        NotFound: there is no such player or partner.
        Invalid: the player is to talk to itself.
        Busy, Walking, NotBeside, NoWayThere: as `start`.
    """
    world.cast.player(wanted.opener_id)
    _require_two(wanted)
    world.cast.actor(wanted.partner_id)
    pair = (wanted.opener_id, wanted.partner_id)
    if wanted.place_waived:
        node_id = near(session, world, wanted.partner_id)
        return _logged(session, world, _insert(session, world, wanted, node_id, models, engaged=pair), wanted)
    require_free(session, world, *pair)
    node_id = standing_beside(session, world, *pair)
    return _logged(session, world, _insert(session, world, wanted, node_id, models), wanted)


def _require_two(wanted: Start) -> None:
    """Raises: Invalid: somebody is to talk to itself."""
    refuse((wanted.partner_id == wanted.opener_id, "partner_id", "answers.invalid_fields.talks_to_itself"))


def _logged(session: Session, world: WorldView, row: ConversationRow, wanted: Start) -> ConversationRow:
    began = START.dump_python(replace(wanted, conversation_id=row.id), mode="json", exclude_defaults=True)
    log_in(session, row.key, world.now, "started", **began)
    return row


def open_to_player(session: Session, world: WorldView, wanted: Start, models: dict[Role, str]) -> ConversationRow:
    """Insert a conversation in which somebody speaks to a player first, who stands beside it; the rule has decided that
    it may. The caller has locked the world, and commits.
    """
    return _insert(session, world, wanted, _stands(session, world, wanted.opener_id), models)


def start_talk(
    session: Session,
    world: WorldView,
    talk: TalkState,
    wanted: Start,
    node_id: str,
    models: dict[Role, str],
) -> ConversationRow:
    """Insert the running conversation of a talk of the living world that begins now (`world` is at its start); the
    caller commits.

    The core has decided that the two talk: nothing is checked. Whoever a client's conversation engages already stays
    engaged there.
    """
    pair = (wanted.opener_id, wanted.partner_id)
    engaged = select(ParticipantRow.person_id).where(*engaged_in(world.id), col(ParticipantRow.person_id).in_(pair))
    return _insert(session, world, wanted, node_id, models, talk.id, engaged=session.exec(engaged).all())


def _insert(
    session: Session,
    world: WorldView,
    wanted: Start,
    node_id: str,
    models: dict[Role, str],
    talk_id: str | None = None,
    *,
    engaged: Collection[str] = (),
) -> ConversationRow:
    """`engaged` are those who talk elsewhere already, and stay engaged there. A human finds the words of a player."""
    for action_id in wanted.actions or ():
        if action_id not in world.cast.game_actions:
            facts = {"id": action_id, "known": ", ".join(world.cast.game_actions) or Phrase("common.nothing")}
            raise Invalid(field="actions", reason=Phrase("answers.invalid_fields.no_such_action", **facts))
    row = ConversationRow(
        id=wanted.conversation_id or new_id(),
        world_id=world.id,
        node_id=node_id,
        clock_policy=ClockPolicy.NONE if talk_id is None else ClockPolicy.MINUTE,
        talk_id=talk_id,
        language=world.language,
        goal=wanted.goal.goal if wanted.goal else None,
        success_criteria=wanted.goal.success_criteria if wanted.goal else None,
        goal_given=wanted.goal is not None,
        max_turns=wanted.max_turns,
        chat_idle_minutes=wanted.chat_idle_minutes,
        holds_clock=wanted.holds_clock,
        choices=wanted.choices,
        opened_for=wanted.opened_for,
        matter=wanted.matter,
        phase=Phase.RUNNING,
        started_at=world.now,
        models={str(role): name for role, name in models.items()},
        told=list(wanted.told) or None,
        actions=None if wanted.actions is None else list(wanted.actions),
    )
    row.participants = participants(session, world, row, (wanted.opener_id, wanted.partner_id))
    for one in row.participants:
        one.speaker = Speaker.HUMAN if one.person_id in world.cast.players else Speaker.MODEL
        one.engaged = one.person_id not in engaged
    insert_running(session, world, row)
    return row


def participants(
    session: Session, world: WorldView, row: ConversationRow, person_ids: Sequence[str], *, seat: int = 0
) -> list[ParticipantRow]:
    """Rows of those who take part from the world's day on, the first of them in that seat; a model speaks for them."""
    people = person_rows(session, world.id, person_ids)
    return [
        ParticipantRow(
            world_id=world.id,
            conversation_id=row.id,
            person_id=person_id,
            seat=number,
            night=night_of(world, people[person_id]),
        )
        for number, person_id in enumerate(person_ids, seat)
    ]


def insert_running(session: Session, world: WorldView, row: ConversationRow) -> None:
    """Insert a conversation that begins now, with those who take part in it."""
    let_speak(row, OPENER, world)
    insert_rows(session, [row, *row.participants])
    began = ConversationStarted(conversation_id=row.id, partner_id=row.partner_id, node_id=row.node_id)
    publish(session, row, world.now, began, row.opener_id)
    tell_started(session, row, world, turns=0)
    carry_on(session, row)


def release(conversation: ConversationRow, person_ids: Collection[str] | None = None) -> None:
    """These who take part are free again; None: all of them."""
    for one in conversation.participants:
        one.engaged = one.engaged and person_ids is not None and one.person_id not in person_ids


def engage(session: Session, one: ParticipantRow) -> None:
    """Who takes part talks now; whoever talks elsewhere already stays engaged there."""
    elsewhere = select(ParticipantRow.seat).where(*engaged_in(one.world_id), ParticipantRow.person_id == one.person_id)
    one.engaged = session.exec(elsewhere).first() is None


def require_free(session: Session, world: WorldView, *person_ids: str) -> None:
    """Raises: Busy: one of these people talks now; it says who, and with whom."""
    held = select(ParticipantRow.person_id, ParticipantRow.conversation_id).where(
        *engaged_in(world.id),
        col(ParticipantRow.person_id).in_(person_ids),
        ConversationRow.world_id == world.id,
        ConversationRow.id == ParticipantRow.conversation_id,
        ConversationRow.started_at <= world.now,  # a later one is lived ahead of the clock
    )
    talks = dict(session.exec(held).all())
    for person_id in filter(talks.__contains__, person_ids):
        talk = session.get_one(ConversationRow, (world.id, talks[person_id]))
        partner_id = talk.partner_id if person_id == talk.opener_id else talk.opener_id
        raise Busy(
            person=world.name_of(person_id),
            person_id=person_id,
            partner=world.name_of(partner_id),
            partner_id=partner_id,
            conversation_id=talk.id,
        )


def standing_beside(session: Session, world: WorldView, person_id: str, *others: str) -> str:
    """The person's node, which is next to that of one of the others; of a player that stands nowhere, where the first
    of them is.

    Raises:
        Walking, NotBeside, NoWayThere: as `start`.
    """
    there, *more = (_stands(session, world, one) for one in others)
    if person_id in world.cast.players and not standing_players(session, world, only=[person_id]):
        return there
    here = _stands(session, world, person_id)
    if any(world.map.next_to(here, node_id) for node_id in (there, *more)):
        return here
    try:
        minutes = world.setting.routes.path_beside(here, there).minutes
    except Unreachable as exc:
        raise NoWayThere(start=here, goal=there) from exc
    raise NotBeside(
        character=world.name_of(person_id),
        character_node=world.map.label(here),
        partner=world.name_of(others[0]),
        partner_node=world.map.label(there),
        character_node_id=here,
        partner_node_id=there,
        walk_minutes=minutes,
    )


def near(session: Session, world: WorldView, person_id: str) -> str:
    """The node where the person is, or the last one it came by."""
    post = world.map.posts.get(person_id)
    return post if post is not None else node_at(segment_of(session, world, person_id), world.now)


def _stands(session: Session, world: WorldView, person_id: str) -> str:
    """Raises: Walking: the person is on its way."""
    if person_id in world.map.posts:
        return world.map.posts[person_id]
    if person_id in world.cast.players:
        return standing_players(session, world, only=[person_id])[person_id]
    segment = segment_of(session, world, person_id)
    if walking_at(segment, world.now):
        raise Walking(
            person=world.name_of(person_id),
            arrives_at=iso(segment.arrival),
            goal=world.map.label(segment.path[-1]),
            node_id=segment.path[-1],
        )
    return node_at(segment, world.now)
