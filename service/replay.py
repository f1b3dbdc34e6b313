"""Owns the replay of a world: what came to it from outside is done again, each thing at its minute, in a world that has
not lived.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import httpx
from fastapi import FastAPI
from pydantic import BaseModel
from sqlmodel import Session

from service.app import create_app
from service.content.scenes import StagedScene
from service.conversation.closing import reopen
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.human import (
    Heard,
    cut_back,
    expire,
    give_word,
    hand_over,
    leave_unanswered,
    lengthen,
    settle,
    take_back_answer,
)
from service.conversation.interventions import fail, judge, propose, write_down
from service.conversation.scenes import begin, join, leave
from service.conversation.start import START, start_with_player
from service.conversation.tables import leave_table
from service.conversation.transcript import Transcript, commit_words, end, held, turns_of
from service.errors import KataribeError, ReplayDiffers, usable
from service.export.story import Minute, parsed, require_new, telling
from service.llm.choose import Models
from service.runtime.client_actions import begin_talk
from service.runtime.tables import sit_down
from service.runtime.world_clock import order_until
from service.settings import Settings
from service.store.events import Asked, Command
from service.store.phase import EndReason, ProposalState, Speaker, TurnForm
from service.store.tables import ConversationKey, TurnRow
from service.usage import Usage
from world.time import WorldTime

T = TypeVar("T", bound=BaseModel)


class CommandsHeader(BaseModel, extra="forbid", frozen=True):
    """The first line: how far the world was."""

    type: Literal["commands"]
    version: Literal[1]
    until: Minute


class CommandLine(BaseModel, extra="forbid", frozen=True):
    """What `GET /world/commands` says of one command."""

    seq: int
    at: Minute
    kind: Command
    conversation_id: str | None
    data: dict[str, Any]


async def replay(settings: Settings, world_id: str, file: Path, *, models: Models | None = None) -> int:
    """Do it all again; answers how many commands there were. `models` stand in for those of the settings.

    Raises:
        BadLine: a line is not as it should be; nothing was done.
        FileUnusable: it cannot be read.
        WorldHasLived.
        ReplayDiffers: something could not be done as it was done before.
        Misconfigured: the database cannot be opened, or a service runs on it.
    """
    header, lines = _read(file)
    app = create_app(settings, models=models, carries=False)
    async with app.router.lifespan_context(app):
        player = _Replay(app, settings, world_id)
        await player.begin()
        for line in sorted(lines, key=lambda line: (line.at, line.seq)):
            try:
                await player.go(line.at)
                await player.do(line)
            except ReplayDiffers:
                raise
            except KataribeError as exc:
                raise ReplayDiffers(line=line.seq, reason=exc) from exc
        await player.go(header.until)
    return len(lines)


def _read(file: Path) -> tuple[CommandsHeader, list[CommandLine]]:
    with usable(file):
        first, *rest = file.read_bytes().splitlines() or [b""]
    lines = [_checked(CommandLine, file, number, raw) for number, raw in enumerate(rest, 2)]
    return _checked(CommandsHeader, file, 1, first), lines


def _checked(kind: type[T], file: Path, number: int, raw: bytes) -> T:
    with telling(file, number):
        return kind.model_validate(parsed(raw))


class _Replay:
    def __init__(self, app: FastAPI, settings: Settings, world_id: str) -> None:
        self._app = app
        self._deps = app.state.deps.conversation
        self._runner = app.state.deps.world_runner
        self._world_id = world_id
        self._world = self._runner.world(world_id)
        self._engine = Engine(self._deps, directs=False)
        key = settings.api_key.get_secret_value() if settings.api_key else None
        self._headers = {"X-World-Id": world_id, **({"Authorization": f"Bearer {key}"} if key else {})}

    async def begin(self) -> None:
        """The world begins."""

        def work(session: Session) -> None:
            require_new(session, self._world_id)
            self._deps.worlds.open(session, self._world_id, lock=True)

        await self._deps.database.write(work)
        self._world.looks = False

    async def go(self, until: int) -> None:
        """Let the world live on to that minute. Those who live know what they knew, unless they are to look."""
        await self._deps.database.write(lambda s: order_until(s, self._world_id, WorldTime(until)))
        await self._runner.wait(self._world_id, WorldTime(until))

    async def do(self, line: CommandLine) -> None:
        """Raises: KataribeError: it cannot be done."""
        key, data = ConversationKey(self._world_id, line.conversation_id or ""), line.data
        match line.kind:
            case "request":
                await self._ask(Asked(**data), line.seq)
            case "looked":
                self._world.looks = True
                await self._world.go()
                self._world.looks = False
            case "opened":
                await self._world.ask(self._world.open_talks)
            case "started":
                await self._start(data)
            case "joined" if "spot" not in data:
                most = self._deps.settings.max_turns_with_player
                await self._runner.command(
                    self._world_id, lambda s, lived: sit_down(s, lived, key.conversation_id, data["person_id"], most)
                )
            case "answered":
                await self._engine.turn(key, data["turn"], None)
            case "closed":
                await self._engine.close(key)
            case "proposed" if data["failure"] is None:
                await propose(self._deps, key, data["number"])
            case kind:
                await self._deps.database.write(lambda s: _do(s, self._deps, key, kind, data))

    async def _ask(self, asked: Asked, seq: int) -> None:
        headers = {**self._headers, "Content-Type": "application/json"} | (
            {"Idempotency-Key": asked.key} if asked.key else {}
        )
        url = f"http://127.0.0.1{asked.path}?{asked.query}"
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self._app)) as http:
            answer = await http.request(asked.method, url, content=asked.body.encode(), headers=headers)
        if answer.is_error:
            raise ReplayDiffers(line=seq, reason=answer.text)

    async def _start(self, data: dict[str, Any]) -> None:
        names, worlds = self._deps.models.names(), self._deps.worlds
        if "scene" in data:
            scene, named = StagedScene.model_validate(data["scene"]), data["conversation_id"]
            await self._deps.database.write(
                lambda s: begin(s, worlds.open(s, self._world_id, lock=True), scene, names, named)
            )
            return
        wanted = START.validate_python(data)
        if wanted.chat_idle_minutes is None:
            await self._runner.command(self._world_id, lambda s, lived: begin_talk(s, lived, wanted, names))
            return
        await self._deps.database.write(
            lambda s: start_with_player(s, worlds.open(s, self._world_id, lock=True), wanted, names)
        )


_OF_THE_TALK: dict[str, Callable[..., object]] = {
    "waits": give_word,
    "joined": join,
    "left": leave,
    "intervened": write_down,
}


def _do(session: Session, deps: ConversationDependencies, key: ConversationKey, kind: Command, data: Any) -> None:
    """Do in a conversation what was done in it."""
    worlds = deps.worlds
    row, world = held(session, worlds, key)
    match kind:
        case "left" if row.form == TurnForm.TALK:
            leave_table(session, row, world, **data)
        case "waits" | "joined" | "left" | "intervened":
            _OF_THE_TALK[kind](session, row, world, **data)
        case "said":
            turns = turns_of(session, key)
            turn = TurnRow(**key._asdict(), at=world.now, **data["words"])
            commit_words(
                session, world, Transcript(row=row, turns=turns, world=world), turn, cut_short=data["cut_short"]
            )
        case "cut_back":
            cut_back(session, row, world, turns_of(session, key)[-1], Heard(utterance_id="", **data))
        case "taken_back":
            take_back_answer(session, world, row)
        case "unanswered":
            leave_unanswered(session, worlds, key, data["failure"], 0)
        case "lengthened":
            lengthen(session, worlds, key, **{**data, "usage": Usage(**data["usage"])})
        case "handed_over":
            hand_over(session, worlds, key, data["person_id"], Speaker(data["speaker"]))
        case "action_settled" if "ok" in data:
            settle(session, worlds, key, **data)
        case "action_settled":
            expire(session, worlds, key, **data)
        case "ended":
            end(session, worlds, *key, EndReason(data["reason"]), data["failure"])
        case "reopened":
            reopen(session, row)
        case "proposed":
            fail(session, worlds, key, **data)
        case "judged":
            judge(session, deps.memory, world, key, **{**data, "state": ProposalState(data["state"])})
