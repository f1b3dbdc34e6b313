"""Owns what games are told of a conversation with a human, each in the transaction of what it tells. Where no human
speaks, nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import Session

from service.content.profile import Profile
from service.conversation.turn_taking import hears, sees
from service.memory.closing.write import TakenAway
from service.people.worlds import WorldView
from service.store.client_event_kinds import (
    ActionCallDone,
    ActionCallFailed,
    ActionCallRequested,
    AffinityChanged,
    Choices,
    MemoryChanged,
    MoodChanged,
    NpcThinking,
    SuggestedLine,
    TalkEnded,
    Talker,
    TalkFailed,
    TalkStarted,
    UtteranceCompleted,
    UtteranceDiscarded,
    UtteranceStarted,
)
from service.store.event_kinds import Payload
from service.store.events import Told, last_of_an_utterance, tell_clients
from service.store.phase import CallState, EndReason, Loudness, Phase, Speaker
from service.store.tables import ActionCallRow, ConversationRow, TurnRow


def tell_started(session: Session, row: ConversationRow, world: WorldView, turns: int) -> None:
    """Tell clients who is there from now on, after so many turns, and who finds their words."""
    _tell(
        session,
        row,
        world,
        TalkStarted(people=talkers(row, world), turns=turns, opened_by=row.opener_id, reason=row.opened_for),
    )


def talkers(row: ConversationRow, world: WorldView) -> tuple[Talker, ...]:
    """Who is there, or was to the end."""
    return tuple(
        Talker(person_id=one.person_id, name=world.name_of(one.person_id), speaker=Speaker(one.speaker).value)
        for one in row.participants
        if one.left_turn is None
    )


def tell_next(session: Session, row: ConversationRow, world: WorldView, seat: int) -> None:
    """Tell clients that a model prepares the turn of that seat; a human knows by itself."""
    if row.participants[seat].speaker == Speaker.MODEL:
        _tell(session, row, world, NpcThinking(person_id=row.participants[seat].person_id))


def begin_utterance(
    session: Session, row: ConversationRow, world: WorldView, turn: int, speaker: Profile, spoken_sentences: int | None
) -> str:
    """Somebody sets about the turn; what was told of an attempt before counts no more, of which so many sentences were
    told (None: by a process that is gone). Answers the attempt's name.
    """
    last = last_of_an_utterance(session, row.key)
    begun = UtteranceStarted(
        utterance_id=_new_name(last, row, turn),
        turn=turn,
        speaker_id=speaker.id,
        speaker_name=speaker.name,
        language=row.language,
        voice=speaker.voice,
    )
    if row.phase == Phase.RUNNING and row.awaits is None:  # else somebody has ended it, or cut in, in the same moment
        gone = _dropped(last, spoken_sentences)
        _tell(session, row, world, *(() if gone is None else (gone,)), begun)
    return begun.utterance_id


def drop_utterance(
    session: Session,
    row: ConversationRow,
    world: WorldView,
    spoken_sentences: int | None,
    *dropped: str,
) -> None:
    """What was told of the utterance in the making, if there is one, counts no more. `dropped`: of that which was told
    last, where it is of one of these kinds.
    """
    if row.has_human and (gone := _dropped(last_of_an_utterance(session, row.key), spoken_sentences, *dropped)):
        _tell(session, row, world, gone)


def _dropped(last: Told | None, spoken_sentences: int | None, *dropped: str) -> UtteranceDiscarded | None:
    if last is None or last.kind not in (UtteranceStarted.kind, *dropped):
        return None
    return UtteranceDiscarded(utterance_id=last.data["utterance_id"], spoken_sentences=spoken_sentences)


def tell_said(
    session: Session, row: ConversationRow, world: WorldView, turn: TurnRow, *, cut_short: bool = False
) -> None:
    """A turn was said; `cut_short`: only a part of it was heard, whether it was being said or was said last. Of what no
    human perceived nothing is told; nobody's thoughts are.
    """
    if not row.has_human:
        return
    humans = [one for one in row.participants if one.speaker == Speaker.HUMAN]
    heard, seen = (any(perceive(turn, one) for one in humans) for perceive in (hears, sees))
    if not (heard or (seen and turn.act)):
        drop_utterance(session, row, world, 0)
        return
    last = last_of_an_utterance(session, row.key)
    is_it = (
        last is not None and last.data.get("turn") == turn.turn and (cut_short or last.kind == UtteranceStarted.kind)
    )
    named = last.data["utterance_id"] if last is not None and is_it else _new_name(last, row, turn.turn)
    _tell(
        session,
        row,
        world,
        UtteranceCompleted(
            utterance_id=named,
            turn=turn.turn,
            speaker_id=turn.speaker_id,
            speaker_name=turn.speaker_name,
            text=turn.text if heard else "",
            emotion=turn.emotion,
            interrupted=cut_short,
            message_id=turn.message_id,
            act=turn.act if seen and turn.act else None,
            addressed=None if turn.addressed is None else tuple(turn.addressed),
            loudness=None if turn.loudness == Loudness.NORMAL else Loudness(turn.loudness),
            heard_by=None if turn.heard_by is None else tuple(turn.heard_by),
        ),
    )


def tell_choices(session: Session, row: ConversationRow, world: WorldView, lines: Sequence[SuggestedLine]) -> None:
    """Tell clients which lines the last speaker suggested for the answer."""
    last = last_of_an_utterance(session, row.key) if lines and row.has_human else None
    if last is not None:
        _tell(session, row, world, Choices(utterance_id=last.data["utterance_id"], choices=tuple(lines)))


def tell_asked(session: Session, row: ConversationRow, world: WorldView, call: ActionCallRow) -> None:
    """Tell clients that the game is asked for something."""
    _tell(
        session,
        row,
        world,
        ActionCallRequested(
            call_id=call.id,
            turn=call.turn,
            person_id=call.person_id,
            action_id=call.action_id,
            args=call.args,
            awaited=call.awaited,
            deadline=call.deadline,
        ),
    )


def tell_came_of_it(session: Session, row: ConversationRow, world: WorldView, call: ActionCallRow) -> None:
    """Tell clients that what was asked of the game is done, or will not be."""
    if call.state == CallState.DONE:
        _tell(session, row, world, ActionCallDone(call_id=call.id, action_id=call.action_id, message=call.message))
    else:
        reason, message = "deadline" if call.state == CallState.EXPIRED else call.reason, call.message or call.why
        _tell(
            session,
            row,
            world,
            ActionCallFailed(call_id=call.id, action_id=call.action_id, reason=reason, message=message),
        )


def tell_ended(
    session: Session,
    row: ConversationRow,
    world: WorldView,
    reason: EndReason,
    failure: Mapping[str, Any] | None,
    spoken_sentences: int | None,
) -> None:
    """Nothing more is said; of an utterance in the making so many sentences were told."""
    drop_utterance(session, row, world, spoken_sentences)
    if failure is not None:
        tell_failed(session, row, world, failure)
    _tell(session, row, world, TalkEnded(reason=reason))


def tell_failed(session: Session, row: ConversationRow, world: WorldView, failure: Mapping[str, Any]) -> None:
    """Something went wrong (see `transcript.failure_of`)."""
    _tell(
        session,
        row,
        world,
        TalkFailed(type=failure["type"], detail=failure[row.language], next_try_at=failure.get("next_try_at")),
    )


def tell_closed(session: Session, row: ConversationRow, world: WorldView, taken: Mapping[str, TakenAway]) -> None:
    """Tell clients that the conversation is remembered, and what each has `taken` away. What a player feels is its
    own.
    """
    told: list[Payload] = []
    for person_id, other_id in ((row.opener_id, row.partner_id), (row.partner_id, row.opener_id)):
        if person_id in world.cast.players:
            continue
        own = taken[person_id]
        liked = own.stands_to(other_id).affinity
        if liked.before != liked.after:
            told.append(AffinityChanged(person_id=person_id, other_id=other_id, **liked.model_dump()))
        if own.mood.before != own.mood.after:
            told.append(MoodChanged(person_id=person_id, **own.mood.model_dump()))
        told.append(MemoryChanged(person_id=person_id, facts=len(own.facts), mid_term=len(own.mid_term)))
    _tell(session, row, world, *told)


def _new_name(last: Told | None, row: ConversationRow, turn: int) -> str:
    """The name of the next attempt at the turn, after what was told last."""
    before = last.data["utterance_id"] if last is not None else ""
    tried = int(before.rsplit(".", 1)[1]) + 1 if before.startswith(f"{row.id}.{turn}.") else 0
    return f"{row.id}.{turn}.{tried}"


def _tell(session: Session, row: ConversationRow, world: WorldView, *payloads: Payload) -> None:
    if row.has_human and payloads:
        tell_clients(session, row.key, world.now, payloads)
