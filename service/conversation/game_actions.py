"""Owns what people ask of the game in a conversation with a human: what may be asked now, what was, and what became of
it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from service.content.actions import GameAction
from service.content.fields import same_flag
from service.conversation.acting import Act
from service.conversation.client_events import tell_asked, tell_came_of_it
from service.conversation.prompt import ActionOutcome
from service.people.attitude import attitude
from service.people.worlds import WorldView
from service.steady_time import steady_time
from service.store.ids import derived_id
from service.store.insert import insert_rows
from service.store.phase import CallState, Speaker
from service.store.tables import ActionCallRow, ConversationKey, ConversationRow, PersonRow, TurnRow


@dataclass(frozen=True, kw_only=True)
class Pending:
    """What a speaker may ask of the game with its next turn, and what became of what it asked before and was not told
    yet: `told` are those calls.
    """

    can_do: tuple[GameAction, ...] = ()
    outcomes: tuple[ActionOutcome, ...] = ()
    told: tuple[str, ...] = ()


def allowed(world: WorldView, row: ConversationRow, person_id: str) -> tuple[GameAction, ...]:
    """What the person may ask of the game in that conversation, at one moment or another: only where a human is there
    to see it, and a game, which is no chat client; and where the place is one of the game's world.
    """
    if not row.has_human or row.chat_idle_minutes is not None or row.place:
        return ()
    who, place = {person_id, world.cast.actor(person_id).kind}, world.map.node(row.node_id)
    return tuple(
        one
        for one in world.cast.game_actions.values()
        if (not one.who or who.intersection(one.who))
        and (not one.scope.nodes or place.id in one.scope.nodes)
        and (not one.scope.maps or place.map_id in one.scope.maps)
        and (row.actions is None or one.id in row.actions)
    )


def pending(
    session: Session, world: WorldView, row: ConversationRow, person_id: str, actions: Sequence[GameAction]
) -> Pending:
    """The actions that the person may ask for now, and what it is to be told of earlier ones."""
    settled = [
        call
        for call in calls_in(session, row.key)
        if call.person_id == person_id and call.state != CallState.REQUESTED and call.told_turn is None
    ]
    return Pending(
        can_do=_possible(session, world, row, person_id, actions),
        outcomes=tuple(
            ActionOutcome(what=one.words, state=CallState(one.state), message=one.message) for one in settled
        ),
        told=tuple(one.id for one in settled),
    )


def calls_in(session: Session, key: ConversationKey) -> list[ActionCallRow]:
    """What was asked of the game in the conversation, in order."""
    return list(session.exec(_CALLS, params=key._asdict()))


_CALLS = (
    select(ActionCallRow)
    .where(
        ActionCallRow.world_id == bindparam("world_id"), ActionCallRow.conversation_id == bindparam("conversation_id")
    )
    .order_by(col(ActionCallRow.number))
)
"""Made once, for it is asked several times a turn."""


def ask_game(session: Session, world: WorldView, row: ConversationRow, turn: TurnRow, act: Act) -> None:
    """Write down what the speaker asks of the game with the turn, or tries in vain. The caller holds the row, and
    commits.
    """
    calls = calls_in(session, row.key)
    action = world.cast.game_actions.get(act.id)
    fault = act.fault
    if fault is None and (action is None or not _possible(session, world, row, turn.speaker_id, (action,))):
        fault = "not_offered"  # the world has changed while the model spoke
    is_asked = fault is None and action is not None
    call = ActionCallRow(
        **row.key._asdict(),
        id=derived_id(row.id, "action", len(calls)),
        number=len(calls),
        turn=turn.turn,
        person_id=turn.speaker_id,
        action_id=act.id,
        args=act.args,
        words=in_words(action.description if action else act.id, act),
        state=CallState.REQUESTED if is_asked else CallState.FAILED,
        reason=fault,
        why=act.why,
        awaited=is_asked and action is not None and action.await_result,
        deadline=steady_time() + world.settings.action_seconds if is_asked else 0.0,
        at=turn.at,
    )
    insert_rows(session, [call])
    if is_asked:
        tell_asked(session, row, world, call)
    if action is not None and is_asked and not action.confirm:
        call = session.get_one(ActionCallRow, (call.world_id, call.id))
        call.state = CallState.DONE
    if call.state != CallState.REQUESTED:
        tell_came_of_it(session, row, world, call)


def note_told(session: Session, key: ConversationKey, call_ids: Sequence[str], turn: int) -> None:
    """Write down that the speaker was told with that turn what became of these calls."""
    for call in calls_in(session, key) if call_ids else ():
        if call.id in call_ids:
            call.told_turn = turn


def in_words(what: str, act: Act) -> str:
    """What is done, for prompts and memories: ``hand over something (item: bun)``."""
    args = ", ".join(f"{name}: {' '.join(str(value).split())}" for name, value in act.args.items())
    return f"{what} ({args})" if args else what


def _possible(
    session: Session, world: WorldView, row: ConversationRow, person_id: str, actions: Sequence[GameAction]
) -> tuple[GameAction, ...]:
    """Those of the actions that the person likes the other enough for, has the thing for, and has not just done, while
    the world's flags are so; and of which the game has still to say whether it is done, none.
    """
    if not actions:
        return ()
    others = [one for one in row.participants if one.person_id != person_id]
    other = next((one for one in others if one.speaker == Speaker.HUMAN), others[0])
    likes = attitude(session, world.id, person_id, other.person_id, world.now).affinity
    person = session.get(PersonRow, (world.id, person_id))
    lately = world.now - max(one.cooldown_minutes for one in actions)
    query = select(ActionCallRow).where(
        ActionCallRow.world_id == world.id,
        ActionCallRow.person_id == person_id,
        (col(ActionCallRow.state) == CallState.REQUESTED)
        | ((col(ActionCallRow.state) == CallState.DONE) & (col(ActionCallRow.at) > lately)),
    )
    calls = session.exec(query).all()

    def rests(action: GameAction) -> bool:
        return any(
            call.state == CallState.REQUESTED or world.now < call.at + action.cooldown_minutes
            for call in calls
            if call.action_id == action.id
        )

    return tuple(
        one
        for one in actions
        if (one.requires.affinity is None or likes >= one.requires.affinity)
        and (not one.requires.item or (person is not None and one.requires.item in person.items))
        and all(same_flag(world.flags.get(name, False), value) for name, value in one.requires.flags.items())
        and not rests(one)
    )
