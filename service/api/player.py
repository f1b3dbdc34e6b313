"""Owns the endpoints by which a human speaks in a conversation."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Response
from sqlmodel import Session

from service.api import views
from service.api.conversations import Wait
from service.api.dependencies import KNOWN_QUERY, ApiDependencies, Conversation, Serving, Slug, describe
from service.api.schemas import (
    ActionCallOut,
    ActionResultIn,
    ChooseIn,
    ConversationDetail,
    InterruptIn,
    PlaybackIn,
    SaidOut,
    SayIn,
    SpeakerIn,
    TurnOut,
)
from service.conversation.action_results import settle
from service.conversation.human import Heard, Words, choose, hand_over, interrupt, keep_listening, say
from service.store.phase import Speaker
from service.store.tables import ConversationKey, TurnRow

router = APIRouter(prefix="/conversations", tags=["conversations"], dependencies=[KNOWN_QUERY])

_WAITED: dict[int | str, dict[str, Any]] = {200: {"model": SaidOut, "description": "With wait=true: with the answer"}}


@router.post(
    "/{conversation_id}/say",
    status_code=202,
    responses=_WAITED | describe(409),
)
async def say_in_conversation(
    key: Conversation,
    body: SayIn,
    response: Response,
    deps: Serving,
    wait: Wait = False,
) -> SaidOut:
    """Say something as the player, or as the one for whom a human has taken over.

    The answer comes at once (202), and what the other says follows in the conversation's events; with `wait=true` it is
    in the answer (200). The same `message_id` sent again says nothing new.
    """
    told = body.context.told if body.context else ()
    words = Words(text=body.text, message_id=body.message_id, person_id=body.person_id, told=told)
    return await _said(deps, key, lambda s: say(s, deps.conversation.worlds, key, words), response, wait=wait)


@router.post(
    "/{conversation_id}/choose",
    status_code=202,
    responses=_WAITED | describe(409),
)
async def choose_in_conversation(
    key: Conversation,
    body: ChooseIn,
    response: Response,
    deps: Serving,
    wait: Wait = False,
) -> SaidOut:
    """Say one of the lines that were suggested (`choices` of the newest turn, and the event `choices`), as `say` does.

    Chosen twice it is said once. After something else was said the line cannot be chosen any more (409).
    """

    def work(session: Session) -> TurnRow:
        return choose(session, deps.conversation.worlds, key, body.choice_id, body.message_id)

    return await _said(deps, key, work, response, wait=wait)


@router.post("/{conversation_id}/interrupt", responses=describe(409))
async def interrupt_conversation(
    key: Conversation,
    body: InterruptIn,
    deps: Serving,
) -> ConversationDetail:
    """Cut short what the other is saying, or has just said: only what was heard stays in the transcript and is
    remembered, and it is the human's turn. Where nothing was heard, nothing was said.
    """
    stream = deps.conversation.stream
    heard = Heard(utterance_id=body.utterance_id, chars=body.heard_chars, text=body.heard_text)
    spoken = stream.words(key)
    await deps.conversation.database.write(lambda s: interrupt(s, deps.conversation.worlds, key, heard, spoken))
    await deps.runner.interrupt(key)
    stream.hush(key)
    return await views.read_conversation(deps, *key)


@router.post("/{conversation_id}/playback", status_code=204, responses=describe(409))
async def report_playback(key: Conversation, body: PlaybackIn, deps: Serving) -> None:
    """What was said is still being played to the human: its silence, which may end the conversation, begins now."""
    await deps.conversation.database.write(
        lambda s: keep_listening(s, deps.conversation.worlds, key, body.utterance_id)
    )


@router.post("/{conversation_id}/take-over", responses=describe(409))
async def take_over_speaker(
    key: Conversation,
    body: SpeakerIn,
    deps: Serving,
) -> ConversationDetail:
    """From now on a human speaks for that person, instead of a model; `say` is how. It keeps a memory of its own."""
    return await _speaks(deps, key, body.person_id, Speaker.HUMAN)


@router.post("/{conversation_id}/hand-back", responses=describe(409))
async def hand_back_speaker(
    key: Conversation,
    body: SpeakerIn,
    deps: Serving,
) -> ConversationDetail:
    """From now on a model speaks for that person again."""
    return await _speaks(deps, key, body.person_id, Speaker.MODEL)


@router.post("/{conversation_id}/actions/{call_id}/result", responses=describe(409))
async def say_what_became_of_action(
    key: Conversation,
    call_id: Slug,
    body: ActionResultIn,
    deps: Serving,
) -> ActionCallOut:
    """Say whether the game has done what a speaker asked of it: once, before the deadline.

    The speaker is told before its next words, and only what is done is remembered. What nobody says anything of has
    come to nothing.
    """
    worlds = deps.conversation.worlds
    call = await deps.conversation.database.write(
        lambda s: settle(s, worlds, key, call_id, ok=body.ok, message=body.message)
    )
    deps.conversation.stream.tell(key)
    deps.runner.carry_on(key)
    return ActionCallOut.of(call)


async def _speaks(deps: ApiDependencies, key: ConversationKey, person_id: str, speaker: Speaker) -> ConversationDetail:
    """An utterance of the person in the making is dropped."""
    worlds = deps.conversation.worlds
    told = deps.conversation.stream.sentences_told(key)
    row = await deps.conversation.database.write(lambda s: hand_over(s, worlds, key, person_id, speaker, told))
    await deps.runner.interrupt(key)
    deps.conversation.stream.hush(key)
    deps.conversation.stream.tell_people(key.world_id, row.person_ids)
    return await views.read_conversation(deps, *key)


async def _said(
    deps: ApiDependencies, key: ConversationKey, work: Callable[[Session], TurnRow], response: Response, *, wait: bool
) -> SaidOut:
    """What a human says by `work`; with `wait` the answer to it too."""
    turn = await deps.say(key, work, wait=wait)
    response.status_code = 200 if wait else 202
    detail = await views.read_conversation(deps, *key)
    answer = next((one for one in detail.turns if wait and one.turn == turn.turn + 1), None)
    action = next((one for one in detail.actions if answer is not None and one.turn == answer.turn), None)
    return SaidOut(turn=TurnOut.model_validate(turn), answer=answer, action=action, conversation=detail)
