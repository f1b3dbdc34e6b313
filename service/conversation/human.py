"""Owns what a human does in a conversation: says something, takes over from a model, hands back."""

import re
from dataclasses import dataclass

from sqlmodel import Session, col, select

from service.conversation.transcript import (
    Transcript,
    commit_words,
    end,
    held,
    require,
    turns_of,
)
from service.conversation.waiting import is_silent, let_speak
from service.errors import Invalid, NotYourTurn
from service.locales import Phrase
from service.people.worlds import WorldRepository, WorldView
from service.store.phase import EndReason, Phase, Speaker
from service.store.tables import ConversationKey, ConversationRow, TurnRow, said_in

WORDS_MAX = 2000
"""Most characters of what a human says at once."""
_HUMAN = Speaker.HUMAN.value
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What no keyboard writes; tab and new line stay."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """What a human says, for whom (None: the one whose words are awaited), under a name of the client's own: said twice
    under one name, it is said once.
    """

    text: str
    message_id: str | None = None
    person_id: str | None = None


def say(session: Session, worlds: WorldRepository, key: ConversationKey, words: Words) -> TurnRow:
    """Add what a human says to the conversation; the caller commits, and has it carried on. Answers the turn, which may
    have been there before.

    Raises:
        NotFound: no such conversation.
        Invalid: nothing is said; or the message's name stands for other words.
        WrongPhase: the conversation is over.
        NotYourTurn: nobody waits for that person's words.
    """
    row, world = held(session, worlds, key)
    text = _CONTROL.sub(" ", words.text).strip()
    known = _said_before(session, key, words.message_id)
    if known is not None:
        if known.text != text:
            raise Invalid(field="message_id", reason=Phrase("answers.invalid_fields.other_words"))
        return known
    if not text:
        raise Invalid(field="text", reason=Phrase("answers.invalid_fields.nothing_said"))
    require(row, Phase.RUNNING)
    speaker_id = words.person_id or row.awaits or row.opener_id
    if row.awaits != speaker_id:
        raise not_now(world, row, speaker_id)
    said = Transcript(row=row, turns=turns_of(session, key), world=world)
    turn = TurnRow(
        world_id=row.world_id,
        conversation_id=row.id,
        turn=len(said.turns),
        speaker_id=speaker_id,
        speaker_name=world.name_of(speaker_id),
        text=text,
        emotion="neutral",
        at=world.now,
        model=_HUMAN,
        calls=0,
        prompt_tokens=0,
        completion_tokens=0,
        duration_ms=0,
        message_id=words.message_id,
    )
    commit_words(session, world, said, turn)
    return turn


def hand_over(
    session: Session, worlds: WorldRepository, key: ConversationKey, person_id: str, speaker: Speaker
) -> ConversationRow:
    """From now on a human, or a model, finds the words of one who takes part; the caller commits, and has it carried
    on. Doing it twice changes nothing.

    Raises:
        NotFound: no such conversation.
        WrongPhase: it is over.
        Invalid: the person takes no part; a model is to speak for a player, or a human in a talk of the living world.
    """
    row, world = held(session, worlds, key)
    require(row, Phase.RUNNING)
    if person_id not in row.person_ids:
        raise Invalid(field="person_id", reason=Phrase("answers.invalid_fields.takes_no_part"))
    if row.talk_id is not None:
        raise Invalid(field="person_id", reason=Phrase("answers.invalid_fields.living_talk"))
    if person_id in world.cast.players and speaker == Speaker.MODEL:
        raise Invalid(field="person_id", reason=Phrase("answers.invalid_fields.model_for_player"))
    row.participants[row.seat_of(person_id)].speaker = speaker
    step = Transcript(row=row, turns=turns_of(session, key), world=world).next_step
    if not isinstance(step, EndReason):
        let_speak(row, step, world)
    return row


def leave_in_silence(session: Session, worlds: WorldRepository, key: ConversationKey) -> bool:
    """End the conversation where a human has said nothing for too long; answers whether it did. The caller commits."""
    row, world = held(session, worlds, key)
    if row.phase != Phase.RUNNING or not is_silent(row, world):
        return False
    end(session, worlds, key.world_id, key.conversation_id, EndReason.SILENCE)
    return True


def _said_before(session: Session, key: ConversationKey, message_id: str | None) -> TurnRow | None:
    if message_id is None:
        return None
    return session.exec(select(TurnRow).where(*said_in(key), col(TurnRow.message_id) == message_id)).first()


def not_now(world: WorldView, row: ConversationRow, speaker_id: str) -> NotYourTurn:
    """What is said to one whose words nobody waits for."""
    partner_id = row.partner_id if speaker_id == row.opener_id else row.opener_id
    return NotYourTurn(
        person=world.name_of(speaker_id),
        person_id=speaker_id,
        partner=world.name_of(partner_id),
        partner_id=partner_id,
        conversation_id=row.id,
    )
