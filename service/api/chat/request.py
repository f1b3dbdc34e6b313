"""Owns what a request of a chat client asks for, of whom and as whom, and how its answer is made: the next turn, more
of the last one, or a text beside the conversation.
"""

import asyncio
import json
import re
import time
import unicodedata
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlmodel import Session

from service.api.chat.schemas import ChatIn, Gesture, OpenChat, fingerprint, gesture_of, is_said
from service.content.made import read_made
from service.conversation.context_builder import build_contexts
from service.conversation.human import (
    MOST_TURNS,
    WORDS_MAX,
    Words,
    break_off,
    lengthen,
    not_now,
    open_chat,
    say,
    take_back_answer,
)
from service.conversation.speaking import go_on
from service.conversation.start import Start, start_with_player
from service.conversation.stream import Mailbox
from service.conversation.transcript import conversation_of, end, read_transcript, turns_of
from service.conversation.turn_taking import is_silent
from service.conversation.writing import MOST_LETTERS, MOST_LINES, AsideContext, aside_prompt, counted
from service.core import LOOKS_SECONDS, Core
from service.errors import AnswerFailed, ModelError, NoSuchModel, Stopping, existing, refuse
from service.locales import Phrase
from service.people.worlds import WorldView
from service.runtime.made_people import put_person
from service.store.events import Asked
from service.store.idempotency import Once, first_answer, write_once
from service.store.ids import new_id
from service.store.jobs import job_of
from service.store.phase import EndReason, Phase, Speaker
from service.store.tables import ConversationKey, ConversationRow, TurnRow
from service.store.usage import count
from service.usage import Usage
from world.ids import SLUG, SLUG_MAX

VISITOR = "visitor"
"""The player of whoever names none."""
ENDLESS = 10_000
"""Most turns, as the people of a chat are told: nobody says goodbye because of it."""

_NAME = SLUG.strip("^$")
_MODEL = re.compile(rf"(?P<kind>npc|character):(?P<partner>{_NAME})(?:@(?P<player>{_NAME}))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatTarget:
    """Who is to talk with whom, as `model` of a request says it."""

    model: str
    kind: str
    partner_id: str
    player_id: str
    asked_with: str = ""
    """the name of the key that is shown"""

    @classmethod
    def of(cls, model: str, asked_with: str = "") -> "ChatTarget":
        """Raises: NoSuchModel: nobody can be called that."""
        named = _MODEL.fullmatch(model)
        if named is None or max(len(part) for part in named.groups(default="")) > SLUG_MAX:
            raise NoSuchModel(field="model", id=model[:SLUG_MAX])
        player_id = named["player"] or VISITOR
        who = {"kind": named["kind"], "partner_id": named["partner"], "player_id": player_id}
        return cls(model=model, asked_with=asked_with, **who)

    def partner(self, world: WorldView) -> str:
        """Raises: NoSuchModel: the world has nobody like that."""
        found = world.cast.find(self.partner_id)
        if found is None or found.kind != self.kind:
            raise NoSuchModel(field="model", id=self.model)
        return found.id


@dataclass(frozen=True, kw_only=True, slots=True)
class Begun:
    """What is to be answered: in which conversation (None: beside it), as which turn. `length`: so many characters of
    the turn were said before, and more of it is asked for (None: it is a new turn).
    """

    id: str
    created: int
    conversation_id: str | None = None
    turn: int = 0
    length: int | None = None


def check(body: ChatIn) -> None:
    """Raises: Invalid: the last message is none that can be answered, or not in the form that is asked for: the words
    would be no JSON, and what the client then says of it would be said to the person, and remembered.
    """
    last, where = body.messages[-1], f"body.messages.{len(body.messages) - 1}"
    strange = next((one for one in last.text if unicodedata.category(one) == "Cc" and one not in "\n\r\t"), "")
    no_text = Phrase("answers.invalid_fields.no_text_part", type=(last.foreign or "")[:40])
    control = Phrase("content.control_character", code="".join(f"U+{ord(one):04X}" for one in strange))
    too_long = Phrase("content.text_too_long", count=len(last.text), most=WORDS_MAX)
    refuse(
        (last.role in ("tool", "function"), f"{where}.role", "answers.invalid_fields.tool_answers"),
        (last.foreign is not None, f"{where}.content", no_text),
        (not last.text.strip(), f"{where}.content", "answers.invalid_fields.nothing_said"),
        (strange, f"{where}.content", control),
        (last.role == "user" and len(last.text) > WORDS_MAX, f"{where}.content", too_long),
        (is_said(last) and body.wants_no_words, f"body.{body.wants_no_words}", "answers.invalid_fields.words_only"),
    )


async def let_in(deps: Core, world_id: str, wanted: ChatTarget) -> None:
    """Make the player whom nobody has seen yet.

    Raises:
        NotFound: there is nobody to talk to.
        Invalid: the player's name is that of somebody who is no player.
    """

    def is_known(_: Session, world: WorldView) -> bool:
        wanted.partner(world)
        found = world.cast.find(wanted.player_id)
        no_player = Phrase("answers.invalid_fields.no_player", id=wanted.player_id)
        refuse((found is not None and found.kind != "player", "body.model", no_player))
        return found is not None

    if await deps.read(world_id, is_known):
        return
    body = json.dumps({"kind": "player", "name": wanted.player_id})
    asked = Asked(method="PUT", path=f"/people/{wanted.player_id}", query="", body=body, key="")
    made, worlds = read_made(wanted.player_id, body.encode()), deps.conversation.worlds
    await deps.world_runner.command(
        world_id, lambda s, lived: put_person(s, worlds, lived, made), keeps_decisions=True, asked=asked
    )


async def begin(deps: Core, world_id: str, wanted: ChatTarget, body: ChatIn, request: Once | None) -> Begun:
    """Do what the request asks of the conversation, in one transaction. A request that is sent again with its key does
    nothing more.

    Raises:
        NotYourTurn: a former request is being answered.
        BudgetExhausted: the day has no room for another conversation.
    """
    task = _Beginning(deps=deps, world_id=world_id, wanted=wanted, body=body)
    begun = await first_answer(write_once(deps.conversation.database, request, task.begin))
    for key in task.ended:
        deps.conversation.stream.hush(key)
    if begun.get("conversation_id") is not None:
        deps.conversation.stream.hush(ConversationKey(world_id, begun["conversation_id"]))
    deps.conversation.stream.tell_people(world_id, (wanted.player_id,))
    return Begun(**begun)


@dataclass(kw_only=True)
class _Beginning:
    deps: Core
    world_id: str
    wanted: ChatTarget
    body: ChatIn
    ended: list[ConversationKey] = field(default_factory=list)

    def begin(self, session: Session) -> dict[str, Any]:
        self.ended.clear()
        world = self.deps.conversation.worlds.open(session, self.world_id, lock=True)
        row = open_chat(session, world, self.wanted.player_id, self.wanted.partner_id)
        if row is not None and is_silent(row, world):
            self._end(session, row, EndReason.SILENCE)
            row = None
        turns = turns_of(session, row.key) if row else []
        said = [turn for turn in turns if turn.model == Speaker.HUMAN]
        is_answered = bool(turns) and turns[-1].model != Speaker.HUMAN
        standing = OpenChat(last_request=said[-1].message_id, is_answered=is_answered) if said else None
        gesture = gesture_of(self.body.messages, standing)
        begun = {"id": f"chatcmpl-{new_id()}", "created": int(time.time())}
        if gesture is Gesture.ASIDE:
            return begun
        if row is not None and row.awaits is None:
            raise not_now(world, row, row.opener_id)
        if gesture is Gesture.CONTINUE:
            return {**begun, **turns[-1].model_dump(include={"conversation_id", "turn"}), "length": len(turns[-1].text)}
        is_over = gesture is Gesture.OPEN or (gesture is Gesture.SAY and len(turns) >= MOST_TURNS)
        if row is not None and is_over:
            self._end(session, row, EndReason.ENDED_BY_CLIENT)
            row = None
        return {**begun, **self._speak(session, world, row, gesture)}

    def _speak(
        self, session: Session, world: WorldView, row: ConversationRow | None, gesture: Gesture
    ) -> dict[str, Any]:
        if row is not None and gesture is Gesture.ANSWER_AGAIN:
            return {"conversation_id": row.id, "turn": take_back_answer(session, world, row)}
        row = row or self._open(session, world)
        words = Words(text=self.body.messages[-1].text, message_id=fingerprint(self.body.messages))
        said = say(session, self.deps.conversation.worlds, row.key, words)
        return {"conversation_id": row.id, "turn": said.turn + 1}

    def _open(self, session: Session, world: WorldView) -> ConversationRow:
        conversation = self.deps.conversation
        wanted = Start(
            opener_id=self.wanted.player_id,
            partner_id=self.wanted.partner_id,
            max_turns=ENDLESS,
            place_waived=True,
            chat_idle_minutes=conversation.settings.chat_idle_minutes,
        )
        row = start_with_player(session, world, wanted, conversation.models.names())
        row.asked_with = self.wanted.asked_with
        conversation.budget.require_talk(session, row)
        return row

    def _end(self, session: Session, row: ConversationRow, reason: EndReason) -> None:
        end(session, self.deps.conversation.worlds, *row.key, reason)
        self.ended.append(row.key)


_GOING_ON: set[asyncio.Task[Any]] = set()
"""What is still being put in order after a client has left; asyncio itself would forget it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeAnswer:
    """A whole answer, and what it cost."""

    text: str
    usage: Usage


class AnswerStream:
    """One answer. `making` makes it, and tells it here while it does: whoever is cancelled in the middle finds in
    `heard` how far the client has it.
    """

    def __init__(self, making: Callable[["AnswerStream"], Coroutine[Any, Any, WholeAnswer]]) -> None:
        self.heard = ""
        self._told: asyncio.Queue[str | None] = asyncio.Queue()
        self._task = asyncio.create_task(making(self))
        _GOING_ON.add(self._task)
        self._task.add_done_callback(self._end)

    def tell(self, text: str) -> None:
        """All of the answer so far; a text that does not extend the last one began anew."""
        self._told.put_nowait(text)

    async def pieces(self) -> AsyncGenerator[str]:
        """What is new of it, piece after piece. What begins anew, after something was heard, begins a new line.

        Raises:
            Exception: what kept it from being made.
        """
        while (text := await self._told.get()) is not None:
            if new := self._new(text):
                yield new
        if new := self._new((await self._task).text):
            yield new

    async def spoken(self) -> WholeAnswer:
        """The whole answer, when it is made."""
        return await asyncio.shield(self._task)

    def leave(self) -> None:
        """Nobody hears it any more. A making that has not begun begins first: it puts in order what it is for."""
        asyncio.get_running_loop().call_soon(self._task.cancel)

    def _new(self, text: str) -> str:
        text, heard = text.rstrip(), self.heard
        self.heard = text
        return text[len(heard) :] if text.startswith(heard) else f"\n\n{text}"

    def _end(self, task: asyncio.Task[Any]) -> None:
        _GOING_ON.discard(task)
        self._told.put_nowait(None)
        if not task.cancelled():
            task.exception()  # it is raised where the answer is taken, and nowhere if nobody takes it


async def make(
    speech: AnswerStream, *, deps: Core, world_id: str, wanted: ChatTarget, body: ChatIn, begun: Begun
) -> WholeAnswer:
    """The answer to a request that has begun.

    Raises:
        KataribeError: there is none, and the sentence says why.
    """
    if begun.conversation_id is None:
        return await _aside(speech, deps, world_id, wanted, body)
    key = ConversationKey(world_id, begun.conversation_id)
    if begun.length is not None:
        return await _more(speech, deps, key, begun.turn, begun.length)
    return await _turn(speech, deps, key, begun.turn)


async def _turn(speech: AnswerStream, deps: Core, key: ConversationKey, index: int) -> WholeAnswer:
    """The turn, spoken by whoever carries the conversation. Who leaves has heard no more than that."""
    try:
        with deps.conversation.stream.mailbox(key) as box:
            while (turn := await _turn_said(deps, key, index)) is None:
                await _hear(speech, box, key, index)
    except asyncio.CancelledError:
        worlds = deps.conversation.worlds
        async with deps.jobs.dropped(job_of(key)):
            await deps.conversation.database.write(lambda s: break_off(s, worlds, key, index, speech.heard.strip()))
        deps.conversation.stream.hush(key)
        raise
    usage = Usage(
        calls=turn.calls,
        prompt_tokens=turn.prompt_tokens,
        completion_tokens=turn.completion_tokens,
        cached_tokens=turn.cached_tokens,
    )
    return WholeAnswer(text=turn.text, usage=usage)


async def _hear(speech: AnswerStream, box: Mailbox, key: ConversationKey, index: int) -> None:
    """Tell what is heard of the turn, until the store may know more.

    Raises:
        Stopping.
    """
    has_news = False
    while not has_news and await box.wait(LOOKS_SECONDS):
        has_news, words = box.take()
        if key in words and words[key].turn == index:
            speech.tell(words[key].text.lstrip())
        if box.is_stopped:
            raise Stopping


async def _turn_said(deps: Core, key: ConversationKey, index: int) -> TurnRow | None:
    """The turn, once it is committed.

    Raises:
        AnswerFailed: it will not come.
        NotFound: the conversation was forgotten.
    """
    turn, row = await deps.conversation.database.read(
        lambda s: (s.get(TurnRow, (*key, index)), conversation_of(s, *key))
    )
    if turn is None and (row.awaits is not None or row.phase != Phase.RUNNING):
        raise AnswerFailed(failure=row.failure)
    return turn


async def _more(speech: AnswerStream, deps: Core, key: ConversationKey, index: int, begun: int) -> WholeAnswer:
    """More of the last turn, added to it; of one who leaves, as much as it has heard."""
    worlds, database = deps.conversation.worlds, deps.conversation.database
    said = existing(await database.read(lambda s: read_transcript(s, worlds, key)), "conversation", key.conversation_id)
    last = said.turns[index]
    if len(last.text) > begun:  # the request was sent again
        return WholeAnswer(text=last.text[begun:], usage=Usage())
    seat = said.row.seat_of(last.speaker_id)
    known = await build_contexts(deps.conversation, said)
    role, joint = known.contexts[seat].speaker.kind, " " if last.text[-1].isascii() else ""
    add = partial(lengthen, worlds=worlds, key=key, index=index, begun=begun, role=role)
    try:
        answer = await go_on(deps.conversation, known, said, seat, lambda text, _: speech.tell(joint + text.lstrip()))
    except asyncio.CancelledError:
        await database.write(lambda s: add(s, more=speech.heard, usage=Usage(calls=1, estimated=True)))
        raise
    except ModelError as exc:
        usage = exc.usage.failed
        await database.write(lambda s: count(s, key.world_id, said.world.day, role, usage))
        raise
    more = joint + answer.value.utterance.strip()
    if not await database.write(lambda s: add(s, more=more, usage=answer.usage)):
        raise not_now(said.world, said.row, said.row.opener_id)
    deps.conversation.stream.tell(key)
    return WholeAnswer(text=more, usage=answer.usage)


async def _aside(speech: AnswerStream, deps: Core, world_id: str, wanted: ChatTarget, body: ChatIn) -> WholeAnswer:
    """A text beside the conversation, of which nothing comes but its cost."""
    world = await deps.read(world_id, lambda _, world: world)
    role = world.cast.actor(wanted.partner_id).kind
    prompt = aside_prompt(_aside_context(world, wanted, body), role)
    answer = await counted(
        deps.conversation, world, wanted.partner_id, prompt, role, hear=lambda text, _: speech.tell(text.lstrip())
    )
    return WholeAnswer(text=answer.value.utterance.strip(), usage=answer.usage)


def _aside_context(world: WorldView, wanted: ChatTarget, body: ChatIn) -> AsideContext:
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
