"""Owns the conversations of chat clients: one for a person and a player, wherever the two are. No word of the person
ends it: it ends when the client begins another, when it is long enough, or in silence.
"""

from dataclasses import asdict

from sqlmodel import Session, col, select

from service.conversation.client_events import tell_said
from service.conversation.ending import OPENER, PARTNER
from service.conversation.human import Heard, give_word, interrupt
from service.conversation.transcript import held, pay, takes_part, turns_of
from service.conversation.waiting import let_speak
from service.llm.chat import Role
from service.people.worlds import WorldRepository, WorldView
from service.store.client_event_kinds import UtteranceDiscarded
from service.store.client_events import last_of_an_utterance
from service.store.commands import log_in
from service.store.phase import Phase
from service.store.tables import ConversationKey, ConversationRow
from service.usage import Usage

MOST_TURNS = 40
"""A conversation of so many turns is ended, and remembered, before the next words: those open another."""


def open_chat(session: Session, world: WorldView, player_id: str, partner_id: str) -> ConversationRow | None:
    """The open conversation of the two; None: there is none. The caller has locked the world."""
    query = select(ConversationRow).where(
        ConversationRow.world_id == world.id,
        ConversationRow.phase == Phase.RUNNING,
        col(ConversationRow.chat_idle_minutes).is_not(None),
        takes_part(player_id, OPENER),
        takes_part(partner_id, PARTNER),
    )
    return session.exec(query.with_for_update(of=ConversationRow)).unique().first()


def break_off(session: Session, worlds: WorldRepository, key: ConversationKey, index: int, heard: str) -> None:
    """The player has heard no more than this of turn `index`, and nobody speaks on: that is all that was said, unless
    more was said since. The caller commits.
    """
    row, world = held(session, worlds, key)
    if row.phase != Phase.RUNNING or turns_of(session, key)[-1].turn > index:
        return
    begun = last_of_an_utterance(session, key)
    if begun is not None and begun.data["turn"] == index and begun.kind != UtteranceDiscarded.kind:
        interrupt(session, worlds, key, Heard(utterance_id=begun.data["utterance_id"], text=heard), None)
    else:  # nobody had set about it
        give_word(session, row, world, OPENER)


def lengthen(
    session: Session,
    worlds: WorldRepository,
    key: ConversationKey,
    index: int,
    begun: int,
    more: str,
    role: Role,
    usage: Usage,
) -> bool:
    """Add to turn `index`, which was so many characters long; the caller commits. False: it is no longer the last one,
    or no longer so long, and stays as it is; what was spent is counted all the same.
    """
    row, world = held(session, worlds, key)
    spent = {"role": role, "usage": asdict(usage)}
    log_in(session, key, world.now, "lengthened", index=index, begun=begun, more=more, **spent)
    pay(session, row, world.day, role, usage)
    last = turns_of(session, key)[-1]
    if row.phase != Phase.RUNNING or row.awaits is None or (last.turn, len(last.text)) != (index, begun):
        return False
    last.text += more
    last.calls += usage.calls
    last.prompt_tokens += usage.prompt_tokens
    last.completion_tokens += usage.completion_tokens
    last.cached_tokens += usage.cached_tokens
    tell_said(session, row, world, last)
    let_speak(row, OPENER, world)
    return True
