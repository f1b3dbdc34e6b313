"""Owns what a request of a chat client asks for: of whom, as whom, and what the conversation becomes by it."""

import json
import re
import time
import unicodedata
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlmodel import Session

from service.api.chat.gesture import Gesture, Standing, fingerprint, gesture_of, is_said
from service.api.chat.schemas import ChatIn
from service.api.dependencies import ApiDependencies
from service.content.made import read_made
from service.conversation.human import MOST_TURNS, WORDS_MAX, Words, not_now, open_chat, say, take_back_answer
from service.conversation.start import Start, start_with_player
from service.conversation.stream import Ended, Said
from service.conversation.transcript import end, turns_of
from service.conversation.turn_taking import is_silent
from service.errors import Invalid, NoSuchModel
from service.locales import Phrase
from service.people.worlds import WorldView
from service.runtime.made_people import put_person
from service.runtime.world_session import WorldSession
from service.store.commands import Asked
from service.store.idempotency import Once, once
from service.store.ids import new_id
from service.store.phase import EndReason, Speaker
from service.store.tables import ConversationKey, ConversationRow, TurnRow
from world.ids import SLUG, SLUG_MAX

VISITOR = "visitor"
"""The player of whoever names none."""
ENDLESS = 10_000
"""Most turns, as the people of a chat are told: nobody says goodbye because of it."""

_NAME = SLUG.strip("^$")
_MODEL = re.compile(rf"(?P<kind>npc|character):(?P<partner>{_NAME})(?:@(?P<player>{_NAME}))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """Who is to talk with whom, as `model` of a request says it."""

    model: str
    kind: str
    partner_id: str
    player_id: str

    @classmethod
    def of(cls, model: str) -> "Wanted":
        """Raises: NoSuchModel: nobody can be called that."""
        named = _MODEL.fullmatch(model)
        if named is None or max(len(part) for part in named.groups(default="")) > SLUG_MAX:
            raise NoSuchModel(field="model", id=model[:SLUG_MAX])
        player_id = named["player"] or VISITOR
        return cls(model=model, kind=named["kind"], partner_id=named["partner"], player_id=player_id)

    def partner(self, world: WorldView) -> str:
        """Raises: NoSuchModel: the world has nobody like that."""
        found = world.cast.find(self.partner_id)
        if found is None or found.kind != self.kind:
            raise NoSuchModel(field="model", id=self.model)
        return found.id


@dataclass(frozen=True, kw_only=True, slots=True)
class Begun:
    """What is to be answered: in which conversation (None: beside it), as which turn. `length`: so many characters of
    the turn were said before.
    """

    id: str
    created: int
    gesture: Gesture
    conversation_id: str | None = None
    turn: int = 0
    length: int = 0


def check(body: ChatIn) -> None:
    """Raises: Invalid: the last message is none that can be answered, or not in the form that is asked for: the words
    would be no JSON, and what the client then says of it would be said to the person, and remembered.
    """
    last, where = body.messages[-1], f"body.messages.{len(body.messages) - 1}"
    if last.role in ("tool", "function"):
        raise Invalid(field=f"{where}.role", reason=Phrase("answers.invalid_fields.tool_answers"))
    strange = next((one for one in last.text if unicodedata.category(one) == "Cc" and one not in "\n\r\t"), None)
    reason = None
    if last.foreign is not None:
        reason = Phrase("answers.invalid_fields.no_text_part", type=last.foreign[:40])
    elif not last.text.strip():
        reason = Phrase("answers.invalid_fields.nothing_said")
    elif strange is not None:
        reason = Phrase("content.control_character", code=f"U+{ord(strange):04X}")
    elif last.role == "user" and len(last.text) > WORDS_MAX:
        reason = Phrase("content.text_too_long", count=len(last.text), most=WORDS_MAX)
    if reason is not None:
        raise Invalid(field=f"{where}.content", reason=reason)
    if is_said(last) and body.wants_no_words is not None:
        raise Invalid(field=f"body.{body.wants_no_words}", reason=Phrase("answers.invalid_fields.words_only"))


async def let_in(deps: ApiDependencies, world_id: str, wanted: Wanted) -> None:
    """Make the player whom nobody has seen yet.

    Raises:
        NotFound: there is nobody to talk to.
        Invalid: the player's name is that of somebody who is no player.
    """

    def is_known(_: Session, world: WorldView) -> bool:
        wanted.partner(world)
        found = world.cast.find(wanted.player_id)
        if found is not None and found.kind != "player":
            raise Invalid(field="body.model", reason=Phrase("answers.invalid_fields.no_player", id=wanted.player_id))
        return found is not None

    if await deps.read(world_id, is_known):
        return
    body = json.dumps({"kind": "player", "name": wanted.player_id})
    asked = Asked(method="PUT", path=f"/people/{wanted.player_id}", query="", body=body, key="")
    made = read_made(wanted.player_id, body.encode())

    def make(session: Session, world_session: WorldSession) -> None:
        put_person(session, deps.conversation.worlds, world_session, made)

    await deps.world_runner.command(world_id, make, keeps_decisions=True, asked=asked)


async def begin(deps: ApiDependencies, world_id: str, wanted: Wanted, body: ChatIn, request: Once | None) -> Begun:
    """Do what the request asks of the conversation, in one transaction. A request that is sent again with its key does
    nothing more.

    Raises:
        NotYourTurn: a former request is being answered.
        BudgetExhausted: the day has no room for another conversation.
    """
    task = _Beginning(deps=deps, world_id=world_id, wanted=wanted, body=body)
    begun = await deps.conversation.database.write(lambda s: once(s, request, partial(task.begin, s)))
    for key, reason in task.ended:
        deps.conversation.stream.tell(key, Ended(reason=reason))
        deps.runner.carry_on(key)
    for turn in task.said:
        deps.conversation.stream.tell(ConversationKey(turn.world_id, turn.conversation_id), Said(row=turn))
    deps.conversation.stream.tell_people(world_id, (wanted.player_id,))
    return Begun(**{**begun, "gesture": Gesture(begun["gesture"])})


@dataclass(kw_only=True)
class _Beginning:
    deps: ApiDependencies
    world_id: str
    wanted: Wanted
    body: ChatIn
    ended: list[tuple[ConversationKey, EndReason]] = field(default_factory=list)
    said: list[TurnRow] = field(default_factory=list)

    def begin(self, session: Session) -> dict[str, Any]:
        self.ended.clear()
        self.said.clear()
        world = self.deps.conversation.worlds.open(session, self.world_id, lock=True)
        row = open_chat(session, world, self.wanted.player_id, self.wanted.partner_id)
        if row is not None and is_silent(row, world):
            self._end(session, row, EndReason.SILENCE)
            row = None
        turns = turns_of(session, row.key) if row else []
        said = [turn for turn in turns if turn.model == Speaker.HUMAN]
        is_answered = bool(turns) and turns[-1].model != Speaker.HUMAN
        standing = Standing(last_request=said[-1].message_id, is_answered=is_answered) if said else None
        gesture = gesture_of(self.body.messages, standing)
        begun = {"id": f"chatcmpl-{new_id()}", "created": int(time.time()), "gesture": gesture}
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
        self.said.append(say(session, self.deps.conversation.worlds, row.key, words))
        return {"conversation_id": row.id, "turn": self.said[-1].turn + 1}

    def _open(self, session: Session, world: WorldView) -> ConversationRow:
        conversation = self.deps.conversation
        conversation.budget.require_talk(session)
        wanted = Start(
            opener_id=self.wanted.player_id,
            partner_id=self.wanted.partner_id,
            max_turns=ENDLESS,
            place_waived=True,
            chat_idle_minutes=conversation.settings.chat_idle_minutes,
        )
        return start_with_player(session, world, wanted, conversation.models.names())

    def _end(self, session: Session, row: ConversationRow, reason: EndReason) -> None:
        end(session, self.deps.conversation.worlds, *row.key, reason)
        self.ended.append((row.key, reason))
