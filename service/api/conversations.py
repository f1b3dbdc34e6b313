"""Owns the endpoints of conversations: start, read, end, close again, the live stream, and what a human says in one."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from sqlmodel import Session, col, select

from service.api import views
from service.api.access import Asking, require_player
from service.api.dependencies import (
    KNOWN_QUERY,
    AsAsked,
    Conversation,
    OnceReadAnew,
    Serving,
    Slug,
    WorldId,
    describe,
    no_such_page,
)
from service.api.schemas import (
    ActionCallOut,
    ActionResultIn,
    ChooseIn,
    ConversationDetail,
    ConversationOut,
    InterruptIn,
    Page,
    PlaybackIn,
    PromptOut,
    SaidOut,
    SayIn,
    SeatIn,
    SpeakerIn,
    StartIn,
    TurnOut,
)
from service.api.stream import DESCRIBED, EventStream, events_of
from service.conversation.closing import abandon, reopen
from service.conversation.human import (
    Heard,
    Words,
    choose,
    hand_over,
    interrupt,
    keep_listening,
    said_before,
    say,
    settle,
)
from service.conversation.prompt import Goal
from service.conversation.start import Start
from service.conversation.tables import leave_table
from service.conversation.transcript import conversation_of, held
from service.conversation.turn_taking import OPENER, PARTNER
from service.conversation.why import prompt_of
from service.core import Core
from service.errors import refuse
from service.people.worlds import WorldView
from service.runtime.client_actions import talk, talk_with_player
from service.runtime.tables import sit_down
from service.runtime.world_session import WorldSession
from service.store.events import Asked
from service.store.idempotency import Once, Replayed, first_answer, once, write_once
from service.store.jobs import job_of
from service.store.phase import Loudness, Phase, Speaker
from service.store.tables import ConversationKey, ConversationRow, TurnRow, takes_part

router = APIRouter(prefix="/conversations", tags=["conversations"], dependencies=[KNOWN_QUERY])

Wait = Annotated[bool, Query(description="Answer when the conversation is closed, not at once")]

_WAITED: dict[int | str, dict[str, Any]] = {
    200: {"model": ConversationDetail, "description": "With wait=true: as it stands after its closing"}
}
_ANSWERED: dict[int | str, dict[str, Any]] = {200: {"model": SaidOut, "description": "With wait=true: with the answer"}}


@router.post(
    "/start",
    status_code=202,
    responses=_WAITED | describe(404, 409),
)
async def start_conversation(
    body: StartIn,
    response: Response,
    deps: Serving,
    world_id: WorldId,
    request: OnceReadAnew,
    key: Asking,
    wait: Wait = False,
) -> ConversationDetail:
    """Let a character talk to the NPC, or to the other character, it stands next to.

    From here on the character is in the client's hands (see `POST /characters/{id}/actions`); a character it talks to
    stands still until they are done.

    The answer comes at once (202); the two talk on their own. `GET /conversations/{id}` and its events show how it
    goes. With `wait=true` the answer is the closed conversation (200).

    In mode `player` a player begins, and the conversation waits for what it says (`POST /conversations/{id}/say`).
    """
    require_player(key, body.player_id if body.mode == "player" else None)
    wanted, names = _start(body, deps), deps.conversation.models.names()
    begin = talk_with_player if body.mode == "player" else talk
    begun = await deps.start_talk(
        world_id, lambda s, lived: begin(s, lived, wanted, names), request, asked_with=key.name
    )
    conversation_id = begun.conversation_id
    deps.conversation.stream.tell_people(world_id, filter(None, (body.player_id, body.character_id)))
    return await _answer(deps, world_id, conversation_id, response, wait=wait)


@router.get("")
async def list_conversations(
    deps: Serving,
    world_id: WorldId,
    character_id: Slug | None = None,
    partner_id: Slug | None = None,
    person_id: Annotated[Slug | None, Query(description="who takes part, whoever began it")] = None,
    phase: Phase | None = None,
    after: Annotated[str | None, Query(pattern="^[0-9a-f]{28}$", description="`next` of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Page[ConversationOut]:
    """Conversations of the world, newest first."""

    def work(session: Session, world: WorldView) -> Page[ConversationOut]:
        query = select(ConversationRow).where(ConversationRow.world_id == world_id)
        for seat, who in ((OPENER, character_id), (PARTNER, partner_id), (None, person_id)):
            if who is not None:
                query = query.where(takes_part(who, seat))
        if phase is not None:
            query = query.where(ConversationRow.phase == phase)
        started, ids = col(ConversationRow.started_at), col(ConversationRow.id)
        if after is not None:
            last = session.get(ConversationRow, (world_id, after))
            if last is None:
                raise no_such_page(after)
            query = query.where((started < last.started_at) | ((started == last.started_at) & (ids < last.id)))
        rows = session.exec(query.order_by(started.desc(), ids.desc()).limit(limit + 1)).unique().all()
        items = [ConversationOut.of(row, **views.of_conversation(row, world)) for row in rows[:limit]]
        return Page[ConversationOut](items=items, next=rows[limit - 1].id if len(rows) > limit else None)

    return await deps.read(world_id, work)


@router.get("/{conversation_id}")
async def read_conversation(conversation_id: Slug, deps: Serving, world_id: WorldId) -> ConversationDetail:
    """A conversation with its transcript and, once closed, what it changed."""
    return await views.read_conversation(deps, world_id, conversation_id)


@router.post("/{conversation_id}/end", responses=describe(409))
async def end_conversation(
    conversation_id: Slug,
    response: Response,
    deps: Serving,
    world_id: WorldId,
    request: OnceReadAnew,
    wait: Wait = False,
) -> ConversationDetail:
    """End a running conversation now. What was said stays; its closing runs on its own, and with `wait=true` the answer
    comes after it. One that has ended is answered with what came of it.

    One that the living world holds is remembered when the world's clock goes on, and not waited for.
    """
    await first_answer(deps.end_talk(ConversationKey(world_id, conversation_id), request))
    ended = await views.read_conversation(deps, world_id, conversation_id)
    return await _answer(deps, world_id, conversation_id, response, wait=wait and not ended.living)


@router.post(
    "/{conversation_id}/close",
    status_code=202,
    responses=_WAITED | describe(409),
)
async def close_conversation(
    conversation_id: Slug,
    response: Response,
    deps: Serving,
    world_id: WorldId,
    request: OnceReadAnew,
    wait: Wait = False,
    give_up: Annotated[bool, Query(description="Do not: it is not tried again by itself any more either")] = False,
) -> ConversationDetail:
    """Close a conversation again whose closing has failed, at once. By itself it is tried again at
    `failure.next_try_at`, after a wait that doubles up to an hour, until it succeeds or is given up.
    """
    decide = abandon if give_up else reopen
    await first_answer(
        write_once(
            deps.conversation.database,
            request,
            lambda s: decide(s, conversation_of(s, world_id, conversation_id, lock=True)),
        )
    )
    return await _answer(deps, world_id, conversation_id, response, wait=wait)


@router.get("/{conversation_id}/turns/{turn}/prompt")
async def read_prompt(
    conversation_id: Slug, turn: Annotated[int, Path(ge=0, le=1000)], deps: Serving, world_id: WorldId
) -> PromptOut:
    """Why somebody said that: the messages its model was sent for this turn, as they were sent.

    The first is what its author wrote; the next is what it knew when the two met; then what was said, and what was new.
    """

    def work(session: Session) -> PromptOut:
        world = deps.conversation.worlds.open(session, world_id)
        row, asked = prompt_of(session, world, conversation_of(session, world_id, conversation_id), turn)
        return PromptOut.of(row, messages=asked)

    return await deps.conversation.database.read(work)


async def _exists(conversation_id: Slug, deps: Serving, world_id: WorldId) -> None:
    """A stream that has begun can no longer answer 404."""
    await deps.conversation.database.read(lambda s: conversation_of(s, world_id, conversation_id))


@router.get(
    "/{conversation_id}/events",
    response_class=EventStream,
    responses={200: {"content": {"text/event-stream": {"itemSchema": DESCRIBED}}}},
    dependencies=[Depends(_exists)],
)
async def stream_conversation(
    conversation_id: Slug,
    deps: Serving,
    world_id: WorldId,
    last_event_id: Annotated[int | None, Header(ge=0, le=1000)] = None,
) -> EventStream:
    """The conversation as it is spoken, as server-sent events, from the beginning or after `Last-Event-ID`.

    `speaking` {turn, speaker_id, speaker_name, text}: an utterance in the making; its text replaces the one before.
    `turn`: a committed turn, as in the transcript; it has an id. `ended` {reason}. `closed` or `closing_failed`: the
    conversation as `GET /conversations/{id}` shows it; the stream ends there.
    """
    return EventStream.of(events_of(deps, world_id, conversation_id, last_event_id))


@router.post(
    "/{conversation_id}/say",
    status_code=202,
    responses=_ANSWERED | describe(409),
)
async def say_in_conversation(
    key: Conversation,
    body: SayIn,
    response: Response,
    deps: Serving,
    asked: AsAsked,
    asking: Asking,
    wait: Wait = False,
) -> SaidOut:
    """Say something as the player, or as the one for whom a human has taken over. Among more than two it is said `to`
    one, aloud or as a whisper that nobody else hears, and that one answers; else whose turn it is.

    The answer comes at once (202), and what the other says follows in the conversation's events; with `wait=true` it is
    in the answer (200). The same `message_id` sent again says nothing new.
    """
    speaker_id = body.person_id or asking.player_id
    require_player(asking, speaker_id)
    words = Words(
        text=body.text,
        message_id=body.message_id,
        person_id=speaker_id,
        told=body.context.told if body.context else (),
        to=body.to,
        loudness=Loudness(body.loudness),
    )
    work = partial(say, worlds=deps.conversation.worlds, key=key, words=words)
    return await _said(deps, key, work, asked, response, wait=wait)


@router.post(
    "/{conversation_id}/choose",
    status_code=202,
    responses=_ANSWERED | describe(409),
)
async def choose_in_conversation(
    key: Conversation,
    body: ChooseIn,
    response: Response,
    deps: Serving,
    asked: AsAsked,
    wait: Wait = False,
) -> SaidOut:
    """Say one of the lines that were suggested (`choices` of the newest turn, and the event `choices`), as `say` does.

    Chosen twice it is said once. After something else was said the line cannot be chosen any more (409).
    """
    work = partial(
        choose, worlds=deps.conversation.worlds, key=key, choice_id=body.choice_id, message_id=body.message_id
    )
    return await _said(deps, key, work, asked, response, wait=wait)


@router.post("/{conversation_id}/join", responses=describe(409))
async def join_conversation(
    key: Conversation, body: SeatIn, deps: Serving, request: OnceReadAnew, asking: Asking
) -> ConversationDetail:
    """Sit down with those who talk: a player breaks into a talk that goes on, and speaks next; or somebody who stands
    beside sits down at a player's table. Up to four sit at one (`KATARIBE_WORLD__TABLE`).

    A talk of the living world goes on in the player's hands: its turns take no world time any more, and those in it
    stand still until it is over.
    """
    most = deps.conversation.settings.max_turns_with_player

    def work(session: Session, lived: WorldSession) -> tuple[str, ...]:
        row = sit_down(session, lived, key.conversation_id, body.person_id, most)
        require_player(asking, row.humans[0])
        return row.person_ids

    with suppress(Replayed):
        people = await deps.world_runner.command(key.world_id, work, keeps_decisions=True, request=request)
        await _tell_table(deps, key, people)
    return await views.read_conversation(deps, *key)


@router.post("/{conversation_id}/leave", responses=describe(409))
async def leave_conversation(
    key: Conversation, body: SeatIn, deps: Serving, request: OnceReadAnew
) -> ConversationDetail:
    """Get up from the table. The others go on, and soon part if it was the player; with fewer than two the conversation
    ends. All remember what they heard.
    """

    def work(session: Session) -> tuple[str, ...]:
        row, world = held(session, deps.conversation.worlds, key)
        leave_table(session, row, world, body.person_id)
        return row.person_ids

    return await _change_table(deps, key, request, work)


@router.post("/{conversation_id}/interrupt", responses=describe(409))
async def interrupt_conversation(
    key: Conversation,
    body: InterruptIn,
    deps: Serving,
    request: OnceReadAnew,
) -> ConversationDetail:
    """Cut short what the other is saying, or has just said: only what was heard stays in the transcript and is
    remembered, and it is the human's turn. Where nothing was heard, nothing was said.
    """
    stream = deps.conversation.stream
    heard = Heard(utterance_id=body.utterance_id, chars=body.heard_chars, text=body.heard_text)
    work = partial(interrupt, worlds=deps.conversation.worlds, key=key, heard=heard, spoken=stream.words(key))
    with suppress(Replayed):
        await write_once(deps.conversation.database, request, work)
        async with deps.jobs.dropped(job_of(key)):
            stream.hush(key)
    return await views.read_conversation(deps, *key)


@router.post("/{conversation_id}/playback", status_code=204, responses=describe(409))
async def report_playback(key: Conversation, body: PlaybackIn, deps: Serving, asked: AsAsked) -> None:
    """What was said is still being played to the human: its silence, which may end the conversation, begins now."""
    work = partial(keep_listening, worlds=deps.conversation.worlds, key=key, utterance_id=body.utterance_id)
    await write_once(deps.conversation.database, Once.of(key.world_id, asked), work)


@router.post("/{conversation_id}/take-over", responses=describe(409))
async def take_over_speaker(
    key: Conversation,
    body: SpeakerIn,
    deps: Serving,
    request: OnceReadAnew,
) -> ConversationDetail:
    """From now on a human speaks for that person, instead of a model; `say` is how. It keeps a memory of its own."""
    return await _speaks(deps, key, body.person_id, Speaker.HUMAN, request)


@router.post("/{conversation_id}/hand-back", responses=describe(409))
async def hand_back_speaker(
    key: Conversation,
    body: SpeakerIn,
    deps: Serving,
    request: OnceReadAnew,
) -> ConversationDetail:
    """From now on a model speaks for that person again."""
    return await _speaks(deps, key, body.person_id, Speaker.MODEL, request)


@router.post("/{conversation_id}/actions/{call_id}/result", responses=describe(409))
async def say_what_became_of_action(
    key: Conversation,
    call_id: Slug,
    body: ActionResultIn,
    deps: Serving,
    asked: AsAsked,
) -> ActionCallOut:
    """Say whether the game has done what a speaker asked of it: once, before the deadline.

    The speaker is told before its next words, and only what is done is remembered. What nobody says anything of has
    come to nothing.
    """
    worlds = deps.conversation.worlds
    call = await write_once(
        deps.conversation.database,
        Once.of(key.world_id, asked),
        lambda s: ActionCallOut.of(settle(s, worlds, key, call_id, ok=body.ok, message=body.message)),
    )
    deps.conversation.stream.tell(key)
    return call


def _start(body: StartIn, deps: Core) -> Start:
    """The conversation that is asked for. Raises: Invalid."""
    by_player = body.mode == "player"
    opener_id = (body.player_id or body.character_id) if by_player else body.character_id
    partner_id = body.partner_id or body.npc_id
    settings, given = deps.conversation.settings, [*filter(None, (body.goal, body.success_criteria))]
    refuse(
        (
            partner_id is None or body.npc_id not in (None, partner_id),
            "body.partner_id",
            "answers.invalid_fields.one_partner",
        ),
        (
            by_player and (opener_id is None or body.character_id not in (None, opener_id)),
            "body.player_id",
            "answers.invalid_fields.one_player",
        ),
        (by_player and bool(given), "body.goal", "answers.invalid_fields.goal_of_player"),
        (not by_player and body.clock == "hold", "body.clock", "answers.invalid_fields.hold_without_player"),
        (not by_player and body.choices > 0, "body.choices", "answers.invalid_fields.choices_without_player"),
        (
            not by_player and (opener_id is None or body.player_id is not None),
            "body.character_id",
            "answers.invalid_fields.one_character",
        ),
        (
            len(given) == 1,
            "body.goal" if body.goal is None else "body.success_criteria",
            "answers.invalid_fields.goal_and_criteria",
        ),
    )
    most = settings.max_turns_with_player if by_player else settings.max_turns
    return Start(
        opener_id=opener_id or "",
        partner_id=partner_id or "",
        goal=Goal(goal=body.goal or "", success_criteria=body.success_criteria or "") if given else None,
        max_turns=body.max_turns or most,
        holds_clock=body.clock == "hold",
        choices=body.choices,
        told=body.context.told if body.context else (),
        actions=None if body.actions is None else tuple(body.actions),
    )


async def _answer(
    deps: Core, world_id: str, conversation_id: str, response: Response, *, wait: bool
) -> ConversationDetail:
    if wait:
        await deps.wait(ConversationKey(world_id, conversation_id))
        response.status_code = 200
    response.headers["Location"] = views.address(world_id, f"/conversations/{conversation_id}")
    return await views.read_conversation(deps, world_id, conversation_id)


async def _speaks(
    deps: Core, key: ConversationKey, person_id: str, speaker: Speaker, request: Once | None
) -> ConversationDetail:
    """An utterance of the person in the making is dropped."""
    worlds, told = deps.conversation.worlds, deps.conversation.stream.sentences_told(key)
    return await _change_table(
        deps, key, request, lambda s: hand_over(s, worlds, key, person_id, speaker, told).person_ids
    )


async def _change_table(
    deps: Core, key: ConversationKey, request: Once | None, work: Callable[[Session], tuple[str, ...]]
) -> ConversationDetail:
    """Let `work` change who is there, or who speaks; it answers who is there then."""
    with suppress(Replayed):
        await _tell_table(deps, key, await write_once(deps.conversation.database, request, work))
    return await views.read_conversation(deps, *key)


async def _tell_table(deps: Core, key: ConversationKey, people: Iterable[str]) -> None:
    """Other people are there now, or other ones speak: an utterance in the making is asked anew."""
    stream = deps.conversation.stream
    async with deps.jobs.dropped(job_of(key)):
        stream.hush(key)
    stream.tell_people(key.world_id, people)


async def _said(
    deps: Core,
    key: ConversationKey,
    work: Callable[[Session], TurnRow],
    asked: Asked,
    response: Response,
    *,
    wait: bool,
) -> SaidOut:
    """What a human says by `work`; with `wait` the answer to it too. Said before, it is answered if it is not yet."""
    request = Once.of(key.world_id, asked, is_read_anew=True, shown=lambda turn: turn.turn)

    def saying(session: Session) -> TurnRow:
        try:
            return once(session, request, partial(work, session))
        except Replayed as known:
            return said_before(session, deps.conversation.worlds, key, known.answer)

    turn = await deps.say(key, saying, wait=wait)
    response.status_code = 200 if wait else 202
    detail = await views.read_conversation(deps, *key)
    answer = next((one for one in detail.turns if wait and one.turn == turn.turn + 1), None)
    action = next((one for one in detail.actions if answer is not None and one.turn == answer.turn), None)
    return SaidOut(turn=TurnOut.model_validate(turn), answer=answer, action=action, conversation=detail)
