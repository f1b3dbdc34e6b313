"""Owns how an answer is made: the next turn, more of the last one, or a text beside the conversation."""

import asyncio
from dataclasses import replace
from functools import partial

from sqlmodel import Session

from service.api.chat.gesture import Gesture
from service.api.chat.request import Begun, Wanted
from service.api.chat.schemas import ChatIn
from service.api.chat.speech import Speech, Spoken
from service.api.dependencies import ApiDependencies
from service.conversation.gather import gather
from service.conversation.human import break_off, lengthen, not_now
from service.conversation.speaking import go_on
from service.conversation.stream import Discarded, Ended, Listener, Said, Speaking, Stopped, Stored
from service.conversation.transcript import read_transcript
from service.conversation.writing import MOST_LETTERS, MOST_LINES, AsideContext, aside_prompt
from service.errors import AnswerFailed, ModelError, NotFound, Stopping
from service.people.worlds import WorldView
from service.store.phase import Phase
from service.store.tables import ConversationKey, ConversationRow, TurnRow
from service.store.usage import count
from service.usage import Usage

LOOKS_SECONDS = 1.0
"""How long is waited for news before the store is looked at, for another replica may speak."""


async def make(
    speech: Speech, *, deps: ApiDependencies, world_id: str, wanted: Wanted, body: ChatIn, begun: Begun
) -> Spoken:
    """The answer to a request that has begun.

    Raises:
        KataribeError: there is none, and the sentence says why.
    """
    if begun.conversation_id is None:
        return await _aside(speech, deps, world_id, wanted, body)
    key = ConversationKey(world_id, begun.conversation_id)
    if begun.gesture is Gesture.CONTINUE:
        return await _more(speech, deps, key, begun)
    return await _turn(speech, deps, key, begun.turn)


async def _turn(speech: Speech, deps: ApiDependencies, key: ConversationKey, index: int) -> Spoken:
    """The turn, spoken by whoever carries the conversation. Who leaves has heard no more than that."""
    try:
        with deps.conversation.stream.listen(key) as listener:
            deps.runner.carry_on(key)
            while (turn := await _turn_said(deps, key, index)) is None:
                await _hear(speech, listener, index)
    except asyncio.CancelledError:
        await deps.runner.drop(key)
        worlds = deps.conversation.worlds
        await deps.conversation.database.write(lambda s: break_off(s, worlds, key, index, speech.heard.strip()))
        deps.conversation.stream.tell(key, Stored())
        raise
    usage = Usage(
        calls=turn.calls,
        prompt_tokens=turn.prompt_tokens,
        completion_tokens=turn.completion_tokens,
        cached_tokens=turn.cached_tokens,
    )
    return Spoken(text=turn.text, usage=usage)


async def _hear(speech: Speech, listener: Listener, index: int) -> None:
    """Tell what is heard of the turn, until it is said or the store may know more.

    Raises:
        Stopping.
    """
    while (moment := await listener.next(LOOKS_SECONDS)) is not None:
        if isinstance(moment, Speaking) and moment.turn == index:
            speech.tell(moment.text.lstrip())
        elif isinstance(moment, Stopped):
            raise Stopping
        elif isinstance(moment, Ended | Discarded) or (isinstance(moment, Said) and moment.row.turn >= index):
            return


async def _turn_said(deps: ApiDependencies, key: ConversationKey, index: int) -> TurnRow | None:
    """The turn, once it is committed.

    Raises:
        AnswerFailed: it will not come.
        NotFound: the conversation was forgotten.
    """

    def work(session: Session) -> tuple[TurnRow | None, ConversationRow | None]:
        return session.get(TurnRow, (*key, index)), session.get(ConversationRow, key)

    turn, row = await deps.conversation.database.read(work)
    if row is None:
        raise NotFound(kind="conversation", id=key.conversation_id)
    if turn is None and (row.awaits is not None or row.phase != Phase.RUNNING):
        raise AnswerFailed(failure=row.failure)
    return turn


async def _more(speech: Speech, deps: ApiDependencies, key: ConversationKey, begun: Begun) -> Spoken:
    """More of the last turn, added to it; of one who leaves, as much as it has heard."""
    worlds, database = deps.conversation.worlds, deps.conversation.database
    said = await database.read(lambda s: read_transcript(s, worlds, key))
    if said is None:
        raise NotFound(kind="conversation", id=key.conversation_id)
    last = said.turns[begun.turn]
    if len(last.text) > begun.length:  # the request was sent again
        return Spoken(text=last.text[begun.length :], usage=Usage())
    seat = said.row.seat_of(last.speaker_id)
    known = await gather(deps.conversation, said)
    role, joint = known.contexts[seat].speaker.kind, " " if last.text[-1].isascii() else ""
    add = partial(lengthen, worlds=worlds, key=key, index=begun.turn, begun=begun.length, role=role)
    try:
        answer = await go_on(deps.conversation, known, said, seat, lambda text, _: speech.tell(joint + text.lstrip()))
    except asyncio.CancelledError:
        await database.write(lambda s: add(s, more=speech.heard, usage=Usage(calls=1, estimated=True)))
        raise
    except ModelError as exc:
        usage = exc.usage
        await database.write(lambda s: count(s, key.world_id, said.world.day, role, usage, failures=1))
        raise
    more = joint + answer.value.utterance.strip()
    if not await database.write(lambda s: add(s, more=more, usage=answer.usage)):
        raise not_now(said.world, said.row, said.row.opener_id)
    deps.conversation.stream.tell(key, Stored())
    return Spoken(text=more, usage=answer.usage)


async def _aside(speech: Speech, deps: ApiDependencies, world_id: str, wanted: Wanted, body: ChatIn) -> Spoken:
    """A text beside the conversation, of which nothing comes but its cost."""
    world = await deps.read(world_id, lambda _, world: world)
    role = world.cast.actor(wanted.partner_id).kind
    thread = f"{world_id}/{wanted.partner_id}"
    prompt = replace(aside_prompt(_aside_context(world, wanted, body), role), thread=thread)
    spent, failures = Usage(calls=1, estimated=True), 0
    try:
        answer = await deps.conversation.models.for_role(role).complete(
            prompt, lambda text, _: speech.tell(text.lstrip())
        )
        spent = answer.usage
    except ModelError as exc:
        spent, failures = exc.usage, 1
        raise
    finally:
        if spent.calls:
            await deps.conversation.database.write(
                lambda s: count(s, world_id, world.day, role, spent, failures=failures)
            )
    return Spoken(text=answer.value.utterance.strip(), usage=spent)


def _aside_context(world: WorldView, wanted: Wanted, body: ChatIn) -> AsideContext:
    names = {"user": world.name_of(wanted.player_id), "assistant": world.name_of(wanted.partner_id)}
    said = [(names[one.role], one.text[:MOST_LETTERS]) for one in body.messages[:-1] if one.role in names and one.text]
    return AsideContext(
        language=world.language,
        npc_name=names["assistant"],
        player_name=names["user"],
        asked=body.messages[-1].text[: 4 * MOST_LETTERS],
        lines=tuple(said[-MOST_LINES:]),
        own_prompts=world.cast.own_prompts,
    )
