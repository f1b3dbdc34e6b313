"""Owns what comes to a conversation from outside: what a human does (says something, takes over from a model, hands
back), what the game says of what it was asked for, each thing once and in time, and what a chat client does.

A chat client has one conversation for a person and a player, wherever the two are: no word of the person ends it, but
that the client begins another, that it is long enough, or silence.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlmodel import Session, col, select

from service.conversation.client_events import (
    drop_utterance,
    tell_came_of_it,
    tell_failed,
    tell_next,
    tell_said,
    tell_started,
)
from service.conversation.stream import Speaking
from service.conversation.tables import leave_table
from service.conversation.transcript import (
    Transcript,
    commit_words,
    end,
    held,
    pay,
    require,
    turns_of,
    turns_said,
)
from service.conversation.turn_taking import (
    OPENER,
    PARTNER,
    address,
    by_place,
    carry_on,
    is_shared,
    is_silent,
    let_speak,
    spots,
)
from service.errors import ActionOver, NotFound, NotSpeaking, NotYourTurn, OutOfEarshot, StaleChoice, existing, refuse
from service.llm.chat import Role
from service.llm.marks import without_marks
from service.locales import Listed
from service.memory.lexical import is_named
from service.people.worlds import WorldRepository, WorldView
from service.steady_time import steady_time
from service.store.client_event_kinds import UtteranceCompleted, UtteranceDiscarded, UtteranceStarted
from service.store.events import last_of_an_utterance, log_in
from service.store.phase import CallState, ClockPolicy, EndReason, Loudness, Phase, Speaker, TurnForm
from service.store.tables import ActionCallRow, ConversationKey, ConversationRow, TurnRow, said_in, takes_part
from service.usage import Usage

WORDS_MAX = 2000
"""Most characters of what a human says at once."""
_HUMAN = Speaker.HUMAN.value
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What no keyboard writes; tab and new line stay."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """What a human says, for whom (None: the one whose words are awaited), under a name of the client's own: said twice
    under one name, it is said once. `told` is what the game says is going on then, line by line. It is said `to` that
    person, who answers (None: to all, or to whom the words name), with that `loudness`.
    """

    text: str
    message_id: str | None = None
    person_id: str | None = None
    told: tuple[str, ...] = ()
    to: str | None = None
    loudness: Loudness = Loudness.NORMAL


def say(session: Session, worlds: WorldRepository, key: ConversationKey, words: Words) -> TurnRow:
    """Add what a human says to the conversation, and have it carried on; the caller commits. Answers the turn, which
    may have been there before: then nothing is said, but what no model could answer is to be answered after all.

    Raises:
        NotFound: no such conversation.
        Invalid: nothing is said; the message's name stands for other words; or who is to say it takes no part.
        WrongPhase: the conversation is over.
        NotYourTurn: nobody waits for that person's words.
        OutOfEarshot: whom it is said to is not there.
    """
    row, world = held(session, worlds, key)
    text = plain(words.text)
    known = _said_before(session, key, words.message_id)
    if known is not None:
        refuse((known.text != text, "message_id", "answers.invalid_fields.other_words"))
        return _answered_after_all(session, row, world, known)
    refuse((not text, "text", "answers.invalid_fields.nothing_said"))
    require(row, Phase.RUNNING)
    speaker_id = words.person_id or row.awaits or row.opener_id
    refuse((speaker_id not in row.person_ids, "person_id", "answers.invalid_fields.takes_no_part"))
    if row.awaits != speaker_id:
        raise not_now(world, row, speaker_id)
    said = Transcript(row=row, turns=turns_of(session, key), world=world)
    stand = spots(row, said.turns)
    to = _spoken_to(world, row, [one for one in stand if one != speaker_id], words)
    seen_by, heard_by = by_place(stand, speaker_id, to or (), words.loudness)
    turn = TurnRow(
        world_id=row.world_id,
        conversation_id=row.id,
        turn=len(said.turns),
        speaker_id=speaker_id,
        speaker_name=world.name_of(speaker_id),
        text=text,
        emotion="neutral",
        addressed=to,
        loudness=words.loudness,
        seen_by=seen_by,
        heard_by=heard_by,
        at=world.now,
        model=_HUMAN,
        calls=0,
        prompt_tokens=0,
        completion_tokens=0,
        duration_ms=0,
        message_id=words.message_id,
        told=list(words.told) or None,
    )
    commit_words(session, world, said, turn)
    carry_on(session, row)
    return turn


def _spoken_to(world: WorldView, row: ConversationRow, others: Sequence[str], words: Words) -> list[str] | None:
    """Whom the words are said to, of the others there: who is meant, else the only one whom they name, of more than
    one; None: all.

    Raises:
        Invalid: it is whispered to nobody.
        NotFound, OutOfEarshot: whom it is said to is nobody, or not there.
    """
    if words.to is not None and words.to not in others:
        facts = {"person": world.cast.person(words.to).name, "person_id": words.to, "conversation_id": row.id}
        raise OutOfEarshot(**facts, here=Listed(map(world.name_of, others)))
    refuse((words.to is None and words.loudness == Loudness.WHISPER, "to", "answers.invalid_fields.whispers_to_nobody"))
    if words.to is None and len(others) > 1:
        named = [one for one in others if is_named(world.name_of(one), words.text)]
        return named if len(named) == 1 else None
    return None if words.to is None or (len(others) == 1 and words.loudness == Loudness.NORMAL) else [words.to]


def said_before(session: Session, worlds: WorldRepository, key: ConversationKey, turn: int) -> TurnRow:
    """What was said as that turn, by a request that is sent again; what no model could answer is to be answered after
    all. The caller commits.

    Raises:
        NotFound: no such conversation; or what was said is no more.
    """
    row, world = held(session, worlds, key)
    return _answered_after_all(session, row, world, existing(session.get(TurnRow, (*key, turn)), "turn", turn))


def _answered_after_all(session: Session, row: ConversationRow, world: WorldView, known: TurnRow) -> TurnRow:
    if row.phase == Phase.RUNNING and row.awaits == known.speaker_id and turns_of(session, row.key)[-1] is known:
        take_back_answer(session, world, row)  # no model could answer it
    carry_on(session, row)  # at once, where the store had failed
    return known


def plain(text: str) -> str:
    """What a client sends, without what no keyboard writes, and what nobody says."""
    return without_marks(_CONTROL.sub(" ", text)).strip()


def choose(
    session: Session, worlds: WorldRepository, key: ConversationKey, choice_id: str, message_id: str | None
) -> TurnRow:
    """Say the line that was suggested; a choice without a name of the client's own bears its id as one.

    Raises:
        NotFound: no such conversation, or no such line.
        StaleChoice: something else was said since.
        Invalid, WrongPhase, NotYourTurn: as `say`.
    """
    row, _ = held(session, worlds, key)
    turns = turns_of(session, key)
    found = ((turn, one.text) for turn in turns for one in turn.suggestions if one.id == choice_id)
    turn, text = existing(next(found, None), "choice", choice_id)
    words = Words(text=text, message_id=message_id or f"choice {choice_id}")
    if turn is not turns[-1] and _said_before(session, key, words.message_id) is None:
        raise StaleChoice(conversation_id=row.id, choice_id=choice_id, text=text)
    return say(session, worlds, key, words)


@dataclass(frozen=True, kw_only=True, slots=True)
class Heard:
    """How much was heard of an utterance when a human cut in: so many characters (code points), or the words."""

    utterance_id: str
    chars: int | None = None
    text: str | None = None

    def of(self, text: str) -> str:
        """What was heard of `text`. Raises: Invalid: these words do not stand in it."""
        if self.text is None:
            return text[: self.chars].strip()
        begins = text.find(self.text.strip())
        refuse((begins < 0, "heard_text", "answers.invalid_fields.not_said"))
        return text[: begins + len(self.text.strip())].strip()


def interrupt(
    session: Session, worlds: WorldRepository, key: ConversationKey, heard: Heard, spoken: Speaking | None
) -> ConversationRow:
    """Cut short what a model says, or has just said: only what was heard stands in the transcript, and it is the
    human's turn. `spoken` are the words so far that are being spoken in this process. The caller commits.

    Raises:
        NotFound: no such conversation.
        WrongPhase: it is over.
        NotSpeaking: nobody is saying that utterance, and it is not the last one either.
        Invalid: the words that were heard were not said.
    """
    row, world = held(session, worlds, key)
    require(row, Phase.RUNNING)
    turns = turns_of(session, key)
    last = last_of_an_utterance(session, key)
    told = last.kind if last is not None and last.data["utterance_id"] == heard.utterance_id else None
    if last is not None and told == UtteranceStarted.kind:
        begun = UtteranceStarted.model_validate(last.data)
        _cut_in(session, world, Transcript(row=row, turns=turns, world=world), begun, heard, spoken)
    elif turns and turns[-1].model != _HUMAN and told == UtteranceCompleted.kind:
        cut_back(session, row, world, turns[-1], heard)
    else:
        raise NotSpeaking(conversation_id=row.id, utterance_id=heard.utterance_id)
    return row


def _cut_in(
    session: Session,
    world: WorldView,
    said: Transcript,
    begun: UtteranceStarted,
    heard: Heard,
    spoken: Speaking | None,
) -> None:
    """Cut short an utterance in the making. Of words that another process speaks only the heard ones are known."""
    row = said.row
    known = spoken if spoken is not None and spoken.utterance_id == begun.utterance_id else None
    text = heard.of(known.text) if known is not None else plain(heard.text or "")
    refuse((known is None and text == "" and heard.chars, "heard_chars", "answers.invalid_fields.heard_elsewhere"))
    if text:
        turn = TurnRow(
            **row.key._asdict(),
            turn=begun.turn,
            speaker_id=begun.speaker_id,
            speaker_name=begun.speaker_name,
            text=text,
            emotion=(known and known.emotion) or "neutral",
            at=world.now,
            model=row.models[world.cast.person(begun.speaker_id).kind],
            calls=0,
            prompt_tokens=0,
            completion_tokens=0,
            duration_ms=0,
        )
        address(row, said.turns, turn)
        commit_words(session, world, said, turn, cut_short=True)
    else:
        drop_utterance(session, row, world, 0)
        give_word(session, row, world, _human_of(row))


def give_word(session: Session, row: ConversationRow, world: WorldView, seat: int) -> None:
    """Give the turn to the human in that seat, though the other has not spoken; the caller holds the row, and
    commits.
    """
    log_in(session, row.key, world.now, "waits", seat=seat)
    let_speak(row, seat, world)


def cut_back(session: Session, row: ConversationRow, world: WorldView, turn: TurnRow, heard: Heard) -> None:
    """Cut short a turn that was said already, and was still being played. The caller holds the row, and commits."""
    text = heard.of(turn.text)
    if text == turn.text:
        return
    log_in(session, row.key, world.now, "cut_back", chars=len(text))
    turn.goal_achieved = turn.wants_to_end = False
    turn.choices = None
    if text:
        turn.text = text
        tell_said(session, row, world, turn, cut_short=True)
    else:
        session.delete(turn)
        drop_utterance(session, row, world, 0, UtteranceCompleted.kind)


def take_back_answer(session: Session, world: WorldView, row: ConversationRow) -> int:
    """Have the human's last words answered anew in a conversation that waits for the human: the answer to them, if
    there is one, was never given. Answers the number of the turn that is to come. The caller commits.
    """
    log_in(session, row.key, world.now, "taken_back")
    *before, last = turns_of(session, row.key)
    human = _human_of(row)
    is_answered = last.speaker_id != row.person_ids[human]
    step = Transcript(row=row, turns=before if is_answered else [*before, last], world=world).next_step
    seat = step if isinstance(step, int) else (human + 1) % len(row.participants)
    let_speak(row, seat, world)
    if is_answered:
        session.delete(last)
        drop_utterance(session, row, world, 0, UtteranceCompleted.kind)
    tell_next(session, row, world, seat)
    carry_on(session, row)
    return last.turn if is_answered else last.turn + 1


def leave_unanswered(
    session: Session, worlds: WorldRepository, key: ConversationKey, failure: Mapping[str, Any], spoken_sentences: int
) -> None:
    """The human's words could not be answered: the conversation goes on with whatever the human says next, also the
    same again. A scene without a human stands, and goes on with the same turn. Of the answer so many sentences were
    told. The caller commits.
    """
    row, world = held(session, worlds, key)
    if row.phase == Phase.RUNNING:
        log_in(session, key, world.now, "unanswered", failure=dict(failure))
        row.failure = dict(failure)
        drop_utterance(session, row, world, spoken_sentences)
        tell_failed(session, row, world, failure)
        if row.has_human:
            let_speak(row, _human_of(row), world)
        else:
            row.stands_at = len(turns_of(session, key))


def wait_for_model(
    session: Session, worlds: WorldRepository, key: ConversationKey, failure: dict[str, Any], spoken_sentences: int
) -> None:
    """The model of who is to speak is away, and will be asked again. Of an answer so many sentences were told. The
    caller commits.
    """
    row, world = held(session, worlds, key)
    if row.phase == Phase.RUNNING and row.awaits is None:
        drop_utterance(session, row, world, spoken_sentences)
        if not row.waits_for_model:
            tell_failed(session, row, world, failure)
        row.failure = failure


def _human_of(row: ConversationRow) -> int:
    """The first seat for which a human speaks."""
    return next(one.seat for one in row.participants if one.speaker == Speaker.HUMAN)


def keep_listening(session: Session, worlds: WorldRepository, key: ConversationKey, utterance_id: str) -> None:
    """The utterance that was said last, or is being said, is still being played: the human's silence begins now. The
    caller commits.

    Raises:
        NotFound: no such conversation.
        WrongPhase: it is over.
        NotSpeaking: it is another utterance.
    """
    row, world = held(session, worlds, key)
    require(row, Phase.RUNNING)
    last = last_of_an_utterance(session, key)
    if last is None or last.data["utterance_id"] != utterance_id:
        raise NotSpeaking(conversation_id=row.id, utterance_id=utterance_id)
    if row.awaits is not None:
        let_speak(row, row.seat_of(row.awaits), world)


def hand_over(
    session: Session,
    worlds: WorldRepository,
    key: ConversationKey,
    person_id: str,
    speaker: Speaker,
    spoken_sentences: int = 0,
) -> ConversationRow:
    """Let a human, or a model, find the words of one who takes part from now on; the caller commits. Doing it twice
    changes nothing. Of an utterance in the making so many sentences were told.

    Raises:
        NotFound: no such conversation.
        WrongPhase: it is over.
        Invalid: the person takes no part; a model is to speak for a player, or a human in a talk of the living world.
    """
    row, world = held(session, worlds, key)
    require(row, Phase.RUNNING)
    refuse(
        (person_id not in row.person_ids, "person_id", "answers.invalid_fields.takes_no_part"),
        (row.clock_policy == ClockPolicy.MINUTE, "person_id", "answers.invalid_fields.living_talk"),
        (
            speaker == Speaker.MODEL and person_id in world.cast.players,
            "person_id",
            "answers.invalid_fields.model_for_player",
        ),
    )
    was, row.participants[row.seat_of(person_id)].speaker = row.participants[row.seat_of(person_id)].speaker, speaker
    log_in(session, key, world.now, "handed_over", person_id=person_id, speaker=speaker)
    said = Transcript(row=row, turns=turns_of(session, key), world=world)
    step = said.next_step
    if was == speaker or isinstance(step, EndReason):
        return row
    drop_utterance(session, row, world, spoken_sentences)
    tell_started(session, row, world, turns=len(said.turns))
    let_speak(row, step, world)
    tell_next(session, row, world, step)
    carry_on(session, row)
    return row


def leave_in_silence(session: Session, worlds: WorldRepository, key: ConversationKey) -> bool:
    """End the conversation where a human has said nothing for too long, or let the others at a table go on; answers
    whether it did. The caller commits.
    """
    row, world = held(session, worlds, key)
    if row.phase != Phase.RUNNING or row.awaits is None or not is_silent(row, world):
        return False
    if row.form == TurnForm.TALK and is_shared(row, turns_said(session, row)):
        leave_table(session, row, world, row.awaits, EndReason.SILENCE)
        return True
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


MESSAGE_MAX = 300
"""Most characters of what the game says beside it."""


def settle(
    session: Session, worlds: WorldRepository, key: ConversationKey, call_id: str, *, ok: bool, message: str
) -> ActionCallRow:
    """Take the game's word, that it is done or not, and what it says beside it, which the speaker is told; the caller
    commits.

    Raises:
        NotFound: no such conversation, or nothing was asked in it under that id.
        ActionOver: the game has said so before, or it is too late.
    """
    row, world = held(session, worlds, key)
    call = session.get(ActionCallRow, (key.world_id, call_id))
    if call is None or call.conversation_id != row.id:
        raise NotFound(kind="action_call", id=call_id)
    if call.state != CallState.REQUESTED:
        raise ActionOver(call_id=call_id, state=call.state)
    if call.deadline <= steady_time():  # its job is due, and writes it down
        raise ActionOver(call_id=call_id, state=CallState.EXPIRED.value)
    call.state = CallState.DONE if ok else CallState.FAILED
    call.reason = None if ok else "client"
    call.message = " ".join(plain(message).split())
    log_in(session, key, world.now, "action_settled", call_id=call_id, ok=ok, message=call.message)
    tell_came_of_it(session, row, world, call)
    carry_on(session, row)
    return call


def expire_late(session: Session, worlds: WorldRepository, key: ConversationKey) -> None:
    """Nothing came of what the game has said nothing of in time; the caller commits."""
    query = select(ActionCallRow.id).where(
        ActionCallRow.world_id == key.world_id,
        ActionCallRow.conversation_id == key.conversation_id,
        ActionCallRow.state == CallState.REQUESTED,
        col(ActionCallRow.deadline) <= steady_time(),
    )
    for call_id in session.exec(query.order_by(col(ActionCallRow.number))).all():
        expire(session, worlds, key, call_id)


def expire(session: Session, worlds: WorldRepository, key: ConversationKey, call_id: str) -> None:
    """Nothing came of it; the caller commits. Nothing is done where the game has spoken in the same moment."""
    row, world = held(session, worlds, key)
    found = session.get_one(ActionCallRow, (key.world_id, call_id), populate_existing=True)
    if found.state == CallState.REQUESTED:
        found.state = CallState.EXPIRED
        log_in(session, row.key, world.now, "action_settled", call_id=call_id)
        tell_came_of_it(session, row, world, found)
