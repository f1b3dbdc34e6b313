"""Owns who is in a scene: its start, who joins or leaves at any turn, and how far it may go on."""

from dataclasses import asdict, dataclass, replace

from sqlmodel import Session, func, select

from service.conversation.ending import FEWEST
from service.conversation.perception import those_there
from service.conversation.start import insert_running, participants
from service.conversation.transcript import end_row, held, require, turns_of
from service.errors import Invalid, NotFound
from service.llm.chat import Role
from service.locales import Phrase
from service.people.worlds import WorldRepository, WorldView
from service.store.commands import log_in
from service.store.event_kinds import ConversationJoined, ConversationLeft
from service.store.ids import new_id
from service.store.perceived import is_there
from service.store.phase import ClockPolicy, EndReason, Modulator, Phase, TurnForm, TurnPolicy
from service.store.publish import publish
from service.store.tables import ConversationKey, ConversationRow, ParticipantRow, TurnRow, said_in

MOST = 8
"""People in one conversation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenePerson:
    """Who takes part, with what it wants there, how it means to go about it, and where it stands ("": where the others
    are).
    """

    person_id: str
    goal: str = ""
    plan: str = ""
    spot: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SceneStart:
    """Who is in a scene, in the order of their seats, and where: at a node, or at a `place` in words. `told` is what
    goes on when it begins, line by line. The rest is in ConversationRow. `conversation_id`: "": a new one.
    """

    people: tuple[ScenePerson, ...]
    max_turns: int
    node_id: str = ""
    place: str = ""
    told: tuple[str, ...] = ()
    turn_policy: TurnPolicy = TurnPolicy.IN_ORDER
    modulator: Modulator = Modulator.ALL
    perceptions: int = 3
    conversation_id: str = ""


def start_scene(session: Session, world: WorldView, wanted: SceneStart, models: dict[Role, str]) -> ConversationRow:
    """Insert a scene, which stands until somebody lets it go on (`go_on`); the caller has locked the world, and
    commits. Nobody is engaged: wherever they are in the world, they play.

    Raises:
        NotFound: there is no such character, NPC or node.
        Invalid: they are too few or too many, or one of them is named twice; it has no place, or two.
    """
    ids = tuple(one.person_id for one in wanted.people)
    _require_many(ids)
    for person_id in ids:
        world.cast.actor(person_id)
    if bool(wanted.node_id) == bool(wanted.place):
        raise Invalid(field="place", reason=Phrase("answers.invalid_fields.node_or_words"))
    if wanted.node_id and wanted.node_id not in world.map.nodes:
        raise NotFound(kind="node", id=wanted.node_id)
    row = ConversationRow(
        id=wanted.conversation_id or new_id(),
        world_id=world.id,
        node_id=wanted.node_id,
        place=wanted.place,
        clock_policy=ClockPolicy.NONE,
        language=world.language,
        max_turns=wanted.max_turns,
        phase=Phase.RUNNING,
        started_at=world.now,
        models={str(role): name for role, name in models.items()},
        told=list(wanted.told) or None,
        form=TurnForm.SCENE,
        turn_policy=wanted.turn_policy,
        modulator=wanted.modulator,
        perceptions=wanted.perceptions,
        stands_at=0,
    )
    row.participants = participants(session, world, row, ids)
    for one, person in zip(row.participants, wanted.people, strict=True):
        one.goal, one.plan, one.spot = person.goal, person.plan, person.spot
    insert_running(session, world, row)
    log_in(session, row.key, world.now, "started", **asdict(replace(wanted, conversation_id=row.id)))
    return row


def go_on(session: Session, worlds: WorldRepository, key: ConversationKey, turns: int | None = None) -> ConversationRow:
    """Let a scene that stands go on for so many turns more (None: to its end); the caller commits, and has it carried
    on.

    Raises:
        NotFound: there is no such conversation.
        WrongPhase: it is over.
    """
    row, _ = held(session, worlds, key)
    require(row, Phase.RUNNING)
    row.stands_at = None if turns is None else turns_said(session, row) + turns
    row.attempts, row.runner = 0, None
    return row


def join(session: Session, row: ConversationRow, world: WorldView, person_id: str, spot: str = "") -> ParticipantRow:
    """The person takes part from the next turn on, in the next seat; who was there before takes its own again, and
    knows nothing of what was said meanwhile. The caller holds the row, and commits.

    Raises:
        WrongPhase: it is over.
        NotFound: there is no such character or NPC.
        Invalid: the person is there already, or they would be too many.
    """
    require(row, Phase.RUNNING)
    turn = turns_said(session, row)
    there = [one.person_id for one in those_there(row, turn)]
    _require_many((*there, person_id))
    world.cast.actor(person_id)
    again = next((one for one in row.participants if one.person_id == person_id), None)
    if again is None:
        (again,) = participants(session, world, row, [person_id], seat=len(row.participants))
        row.participants.append(again)
    else:
        _keep_what_it_perceived(session, row, again)
    again.joined_turn, again.left_turn, again.spot = turn, None, spot
    if row.clock_policy == ClockPolicy.NONE:
        log_in(session, row.key, world.now, "joined", person_id=person_id, spot=spot)
    session.flush()
    publish(session, row, world.now, ConversationJoined(conversation_id=row.id), person_id)
    return again


def leave(session: Session, row: ConversationRow, world: WorldView, person_id: str) -> None:
    """The person takes part no longer, from the next turn on; where fewer than two are left, the conversation ends. The
    caller holds the row, and commits.

    Raises:
        WrongPhase: it is over.
        Invalid: the person is not there.
    """
    require(row, Phase.RUNNING)
    turn = turns_said(session, row)
    there = {one.person_id: one for one in those_there(row, turn)}
    if person_id not in there:
        raise Invalid(field="person_id", reason=Phrase("answers.invalid_fields.takes_no_part"))
    there[person_id].left_turn = turn
    if row.clock_policy == ClockPolicy.NONE:
        log_in(session, row.key, world.now, "left", person_id=person_id)
    publish(session, row, world.now, ConversationLeft(conversation_id=row.id), person_id)
    if len(there) - 1 < FEWEST:
        end_row(session, row, world, EndReason.WANTS_TO_END, said=turn)
    session.flush()


def turns_said(session: Session, row: ConversationRow) -> int:
    """How many turns were said."""
    return session.exec(select(func.count()).select_from(TurnRow).where(*said_in(row.key))).one()


def _keep_what_it_perceived(session: Session, row: ConversationRow, person: ParticipantRow) -> None:
    """Who perceived the turns of the person's stay is written down, for it says no more by itself when it was there."""
    for turn in turns_of(session, row.key):
        if is_there(person, turn.turn):
            there = [one.person_id for one in those_there(row, turn.turn)]
            turn.seen_by = there if turn.seen_by is None else turn.seen_by
            turn.heard_by = there if turn.heard_by is None else turn.heard_by


def _require_many(person_ids: tuple[str, ...]) -> None:
    """Raises: Invalid: too few or too many, or somebody twice."""
    if not FEWEST <= len(person_ids) <= MOST:
        raise Invalid(field="people", reason=Phrase("answers.invalid_fields.how_many", count=len(person_ids)))
    twice = next((one for one in person_ids if person_ids.count(one) > 1), None)
    if twice is not None:
        raise Invalid(field="people", reason=Phrase("answers.invalid_fields.takes_part_twice", id=twice))
