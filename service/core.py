"""Owns the running core: the parts that a service or a Python program works with, and what takes several of them."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from sqlmodel import Session

from service.content.load import Content
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.stream import Mailbox
from service.conversation.surveys import PersonAnswer, Survey, ask_people
from service.conversation.transcript import end
from service.errors import ModelNotConfigured, WorldExists, WrongPhase
from service.history.rewind import PastMoment
from service.llm.chat import Role
from service.memory.forgetting import forget_world
from service.people.worlds import WorldRepository, WorldView
from service.runtime import snapshots
from service.runtime.carried import goes_on
from service.runtime.content_reload import ContentReload
from service.runtime.guess import Guesses
from service.runtime.jobs import Jobs
from service.runtime.world_edits import Observation, observe
from service.runtime.world_runner import WorldRunner
from service.runtime.world_session import WorldSession
from service.store.events import Asked
from service.store.idempotency import Once, first_answer, once, require_new, write_once
from service.store.jobs import JobKind, job_of
from service.store.phase import EndReason, Phase
from service.store.tables import ConversationKey, ConversationRow, JobKey, TurnRow, WorldRow
from world.time import WorldTime

T = TypeVar("T")

LOOKS_AGAIN_SECONDS = 0.05
"""How often is looked whether a conversation that another process carries has come to an end."""
LOOKS_SECONDS = 1.0
"""How long is waited for an answer before the store is looked at, for another replica may carry the conversation."""
ASKED_IMPORTANCE = 4
"""Of 1 to 10: how much it matters to somebody that an author asked it something, where that is to be remembered."""


@dataclass(frozen=True, kw_only=True)
class Core:
    """All parts of one process; made once, in service/wiring.py."""

    conversation: ConversationDependencies
    engine: Engine
    jobs: Jobs
    world_runner: WorldRunner
    content_reload: ContentReload
    """Takes changed content files in, from the start or from when a page has written one."""
    guesses: Guesses
    lives: bool = True
    """Whether worlds move, and work that was left or has failed is taken up, by themselves. Else worlds stand still,
    and only what a caller waits for is done.
    """

    @property
    def parts(self) -> Iterable[Jobs | Guesses | WorldRunner | ContentReload]:
        """What works in the background, in the order in which it starts."""
        yield from (self.jobs, self.guesses, self.world_runner, self.content_reload)

    def playing(self, content: Content) -> "Core":
        """The same store and models with other people and places. Only of worlds that do not live."""
        worlds = WorldRepository(content, self.conversation.worlds.settings)
        conversation = replace(self.conversation, worlds=worlds)
        return replace(self, conversation=conversation, engine=Engine(conversation))

    async def read(self, world_id: str, work: Callable[[Session, WorldView], T]) -> T:
        """What `work` reads of the world as it stands."""
        worlds = self.conversation.worlds
        return await self.conversation.database.read(lambda s: work(s, worlds.open(s, world_id)))

    async def write(self, world_id: str, work: Callable[[Session, WorldView], T]) -> T:
        """Let `work` write in the world, whose row it holds."""
        worlds = self.conversation.worlds
        return await self.conversation.database.write(lambda s: work(s, worlds.open(s, world_id, lock=True)))

    def require_models(self, role: Role = "npc") -> None:
        """Raises: ModelNotConfigured: nobody answers for that role."""
        if self.conversation.models.for_role(role).name == "none":
            raise ModelNotConfigured

    async def start_talk(
        self,
        world_id: str,
        begin: Callable[[Session, WorldSession], ConversationRow],
        request: Once | None = None,
        *,
        asked_with: str = "",
    ) -> ConversationKey:
        """Insert the conversation that `begin` makes, at the next minute at which everybody stands; the same request
        again is answered with the same one. `asked_with` is the name of the key that it was asked with.

        Raises:
            ModelNotConfigured: nobody speaks.
            BudgetExhausted: the day's budget has no room for a talk.
            KeyReused: the request's key was sent with another body.
        """
        self.require_models("character")

        def work(session: Session, world_session: WorldSession) -> str:
            row = begin(session, world_session)
            row.asked_with = asked_with
            self.conversation.budget.require_talk(session, row)
            return row.id

        begun = await first_answer(self.world_runner.command(world_id, work, keeps_decisions=True, request=request))
        return ConversationKey(world_id, begun)

    async def carry(self, key: ConversationKey, *, closes: bool = True) -> None:
        """Return when the conversation is closed, its closing has failed, it stands, or it waits for a human. Where
        nobody lives it may stay open behind its last turn (`closes`): then nobody remembers it.
        """
        if self.lives:
            await self.wait(key)
        elif await self.engine.converse(key) and closes:
            await self.engine.close(key)

    async def wait(self, key: ConversationKey) -> None:
        """Return when the conversation is closed, its closing has failed, it is forgotten, stands, or waits for a
        human.

        Raises:
            OperationalError: the store failed while it was carried.
        """
        while True:
            await self.jobs.tried(job_of(key))
            if not await self.conversation.database.read(lambda s: goes_on(s, key)):
                return
            await asyncio.sleep(LOOKS_AGAIN_SECONDS)

    async def say(self, key: ConversationKey, work: Callable[[Session], TurnRow], *, wait: bool) -> TurnRow:
        """Let a human say what `work` writes; with `wait` return when it is answered, or will not be."""
        with self.conversation.stream.mailbox(key, to_words=False) as box:
            turn = await self.conversation.database.write(work)
            self.conversation.stream.hush(key)
            if wait and self.lives:
                await self._answered(key, turn, box)
            elif wait:
                await self.carry(key)
        return turn

    async def _answered(self, key: ConversationKey, turn: TurnRow, box: Mailbox) -> None:
        """Return when the turn after `turn` is said, nothing more will be, or its model is away."""

        def is_open(session: Session) -> bool:
            row = session.get(ConversationRow, key)
            waits = row is not None and row.phase == Phase.RUNNING and row.awaits is None and not row.waits_for_model
            return waits and session.get(TurnRow, (*key, turn.turn + 1)) is None

        while not box.is_stopped and await self.conversation.database.read(is_open):
            self.jobs.require_store(job_of(key))
            while await box.wait(LOOKS_SECONDS) and not box.take()[0]:
                pass

    async def end_talk(self, key: ConversationKey, request: Once | None = None) -> None:
        """End a running conversation now; its closing runs on its own. What has ended stays as it is.

        Raises:
            NotFound: there is no such conversation.
            Replayed, KeyReused: as `once`.
        """
        told = self.conversation.stream.sentences_told(key)
        ending = partial(end, worlds=self.conversation.worlds, reason=EndReason.ENDED_BY_CLIENT, spoken_sentences=told)
        with suppress(WrongPhase):
            await write_once(
                self.conversation.database,
                request,
                lambda s: ending(s, world_id=key.world_id, conversation_id=key.conversation_id).id,
            )
            async with self.jobs.dropped(job_of(key)):
                self.conversation.stream.hush(key)

    async def restore(self, world_id: str, name: str, request: Once | None = None) -> WorldTime:
        """Bring the world back to a snapshot; it goes on from there, from the world time that is answered.

        Raises:
            NotFound, SnapshotUnusable: as `snapshots.rows_of`.
            Replayed, KeyReused: as `once`.
        """
        rows = await snapshots.rows_of(self.conversation, world_id, name, None)

        def work(session: Session) -> WorldTime:
            snapshots.restore(session, world_id, rows, snapshots.made_at(session, world_id, name))
            return self.conversation.worlds.open(session, world_id).now

        return await self.rewrite(world_id, lambda s: once(s, request, partial(work, s)))

    async def rewrite(self, world_id: str, work: Callable[[Session], T]) -> T:
        """Let `work` write other rows of the world, as `restore` does; it goes on from there."""
        await self.jobs.drop_world(world_id)
        done = await self.world_runner.rewrite(world_id, work)
        await self.jobs.drop_world(world_id)
        await self.bring_on(world_id)
        self.conversation.stream.tell_restored(world_id)
        self.world_runner.world(world_id).go()
        return done

    async def branch(
        self,
        world_id: str,
        to_world: str,
        snapshot: str | None,
        moment: PastMoment | None,
        request: Once | None = None,
    ) -> WorldTime:
        """Begin another world that is this one, as it is or was kept, up to that moment; answers its world time.

        Raises:
            WorldExists: it has begun already.
            NotFound, Invalid, SnapshotUnusable: as `snapshots.rows_of`.
            Replayed, KeyReused: as `once`.
        """
        database = self.conversation.database

        def check(session: Session) -> None:
            require_new(session, request, read_anew=True)
            if session.get(WorldRow, to_world) is not None:
                raise WorldExists(world_id=to_world)

        await database.read(check)
        rows = await snapshots.rows_of(self.conversation, world_id, snapshot, moment)

        def work(session: Session) -> WorldTime:
            snapshots.branch(session, world_id, rows, snapshots.made_at(session, world_id, snapshot), to_world)
            self.jobs.fill(session, to_world)
            return self.conversation.worlds.open(session, to_world).now

        now = await write_once(database, request, work)
        await self.bring_on(to_world)
        self.world_runner.world(to_world).go()
        return now

    async def forget_world(self, world_id: str, request: Once | None = None) -> None:
        """Forget the world wholly; a run that it is on ends. Raises: Replayed, KeyReused: as `once`."""
        await self.world_runner.rewrite(world_id, lambda s: once(s, request, partial(forget_world, s, world_id)))
        self.conversation.memory.forget_world(world_id)
        self.conversation.worlds.forget_world(world_id)
        await self.bring_on(world_id)

    async def bring_on(self, world_id: str, person_id: str = "") -> None:
        """Return when what was written of the person's memory, or of everybody's, is in the memory graph, or will be
        brought there later.
        """
        await self.jobs.submit(JobKey(world_id, JobKind.DELIVERY, person_id))

    async def survey(
        self,
        world: WorldView,
        survey: Survey,
        people: Sequence[str],
        *,
        remember: bool = False,
        asked: Asked | None = None,
        request: Once | None = None,
    ) -> list[PersonAnswer]:
        """Ask these people; with `remember` those who answer know from the next settled minute on that they were asked,
        and what they said. `asked` is the request, which the world's log keeps.

        Raises:
            Replayed, KeyReused: as `once`.
        """
        answers = await ask_people(self.conversation, world, survey, people)
        question = " ".join(filter(None, (survey.stimulus, survey.question)))

        def work(session: Session, world_session: WorldSession) -> list[PersonAnswer]:
            for one in answers:
                if one.answer is not None:
                    facts = {"name": world.name_of(one.person_id), "asked": question, "said": in_words(one.answer)}
                    text = world.say("remembered.asked_by_author", **facts)
                    seen = Observation(text=text, importance=ASKED_IMPORTANCE, seen_by=[one.person_id])
                    observe(session, self.conversation.memory, world_session, seen)
            return answers

        if remember:
            await self.world_runner.command(world.id, work, asked=asked, request=request)
            await self.bring_on(world.id)
        elif request is not None:
            await write_once(self.conversation.database, request, lambda _: answers)
        return answers


def in_words(answer: str | float | None) -> str:
    """An answer of a survey as a text; None, no answer, is empty."""
    return f"{answer:g}" if isinstance(answer, int | float) else answer or ""
