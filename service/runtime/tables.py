"""Owns who sits down at a table at which a player talks with several.

A talk of the living world that a player joins is the client's from then on: its turns take no world time, and those in
it stand still until it is over.
"""

from sqlmodel import Session

from service.conversation.client_events import tell_started
from service.conversation.scenes import join
from service.conversation.start import engage, standing_beside
from service.conversation.tables import require_table
from service.conversation.transcript import conversation_of, leave_opening, require, turns_of
from service.conversation.turn_taking import carry_on, let_speak, those_there
from service.errors import TableFull
from service.locales import Listed
from service.runtime.client_actions import hold
from service.runtime.world_session import WorldSession, require_free
from service.store.phase import ClockPolicy, Phase, Speaker, TurnPolicy
from service.store.tables import ConversationRow


def sit_down(
    session: Session, world_session: WorldSession, conversation_id: str, person_id: str, max_turns: int
) -> ConversationRow:
    """Let a player join those who talk, who speaks next, and then `max_turns` may be said; or let somebody join a talk
    that has a player. Who sits there already stays; the caller commits.

    Raises:
        NotFound: no such conversation or person.
        WrongPhase: it is over.
        Invalid: nobody sits down in a conversation of that kind, or it has another player, or none.
        TableFull: there is no seat.
        Busy, Walking, NotBeside, NoWayThere: as `conversation.start.start`.
    """
    world = world_session.world
    row = conversation_of(session, world.id, conversation_id, lock=True)
    is_player = world.cast.person(person_id).kind == "player"
    turns = turns_of(session, row.key)
    there = [one.person_id for one in those_there(row, len(turns))]
    require(row, Phase.RUNNING)
    if person_id in there and row.has_human:
        return row
    require_table(row, is_player=is_player)
    most = world.setting.rules.table
    if len(there) >= most:
        raise TableFull(names=Listed(map(world.name_of, there)), most=most, conversation_id=row.id)
    if is_player:
        leave_opening(session, world, person_id)
    require_free(session, world_session, person_id)
    standing_beside(session, world, person_id, *(one for one in there if one not in world.cast.players))
    if row.clock_policy == ClockPolicy.MINUTE and row.talk_id is not None:
        world_session.core.break_off(row.talk_id, world.now)
        row.clock_policy = ClockPolicy.NONE
    joined = join(session, row, world, person_id)
    engage(session, joined)
    row.turn_policy = TurnPolicy.ADDRESSED
    if is_player:
        joined.speaker, row.max_turns = Speaker.HUMAN, len(turns) + max_turns
        let_speak(row, joined.seat, world)
    for one in (*there, person_id):
        if one in world.cast.homes:
            hold(session, world_session, one)
    tell_started(session, row, world, turns=len(turns))
    carry_on(session, row)
    return row
