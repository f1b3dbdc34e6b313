"""Owns who gets up from a table at which a player talks with several, and what becomes of the others."""

from sqlmodel import Session

from service.conversation.client_events import tell_ended
from service.conversation.transcript import end_row, get_up, log_own, require, turns_of
from service.conversation.turn_taking import FEWEST, carry_on, let_speak, next_step, those_there
from service.errors import refuse
from service.people.worlds import WorldView
from service.store.phase import EndReason, Phase, Speaker, TurnForm
from service.store.tables import ConversationRow

TURNS_WITHOUT_PLAYER = 4
"""So many turns those may still say whom a player has left."""


def require_table(row: ConversationRow, *, is_player: bool) -> None:
    """Raises: Invalid: a player, or somebody else, does not sit down in a conversation of that kind."""
    is_none = row.form == TurnForm.SCENE or row.chat_idle_minutes is not None or is_player == row.has_human
    refuse((is_none, "conversation_id", "answers.invalid_fields.no_table"))


def leave_table(
    session: Session,
    row: ConversationRow,
    world: WorldView,
    person_id: str,
    reason: EndReason = EndReason.ENDED_BY_CLIENT,
) -> None:
    """Let somebody get up from the table. The others go on without it; whom a player leaves part soon. With fewer than
    two the conversation ends. Who has left before stays away; the caller holds the row, and commits.

    Raises:
        WrongPhase: it is over.
        Invalid: nobody sits down in a conversation of that kind; or the person takes no part.
    """
    refuse((person_id not in row.person_ids, "person_id", "answers.invalid_fields.takes_no_part"))
    turns = turns_of(session, row.key)
    there = {one.person_id: one for one in those_there(row, len(turns))}
    if person_id not in there:
        return
    require(row, Phase.RUNNING)
    require_table(row, is_player=False)
    log_own(session, row, world, "left", person_id=person_id)
    if len(there) <= FEWEST:
        end_row(session, row, world, reason, said=len(turns))
    else:
        if there[person_id].speaker == Speaker.HUMAN:
            tell_ended(session, row, world, reason, None, None)
            row.max_turns, row.holds_clock = min(row.max_turns, len(turns) + TURNS_WITHOUT_PLAYER), False
        get_up(session, row, world, person_id, len(turns))
        if row.awaits == person_id:
            let_speak(row, next_step(row, turns), world)
    carry_on(session, row)
