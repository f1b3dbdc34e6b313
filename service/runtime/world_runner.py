"""Owns the worlds that this process moves: ticks set them moving, commands change them while they stand.

The store says how far a world was told to go; whoever finds it short of that goes on, so a stop in the middle loses
nothing.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from functools import partial
from typing import TypeVar
from weakref import WeakValueDictionary

from sqlalchemy.exc import OperationalError
from sqlmodel import Session, col

from service.errors import RunInterrupted, WorldMoves, WorldStopped
from service.locales import Phrase
from service.runtime.held_world import LOOK_SECONDS, HeldWorld, LivedAhead
from service.runtime.pace import ExactRun
from service.runtime.run_window import WorldDependencies
from service.runtime.tasks import cancel, repeat
from service.runtime.world_clock import (
    MOVES,
    Tick,
    abandoned,
    cancel_orders,
    claim_if_there,
    order_ticks,
    order_until,
    want,
)
from service.runtime.world_session import WorldSession
from service.store.events import Asked, log_command
from service.store.idempotency import Once, Replayed, once
from service.store.session import is_full
from service.store.tables import WorldRow
from world.time import WorldTime, iso

T = TypeVar("T")

SWEEP_SECONDS = 2.0
PATIENCE_SECONDS = 5.0
"""How long a command waits for a world that moves to stand, in machine time."""
MOST_HELD = 64
"""Worlds that stand, held in memory."""


class WorldRunner:
    """Moves and changes worlds, each by one caller at a time."""

    def __init__(
        self,
        deps: WorldDependencies,
        *,
        sweep_seconds: float = SWEEP_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
        most_held: int = MOST_HELD,
    ) -> None:
        """Every `sweep_seconds` (machine time) it looks for worlds that nobody moves though they are to move.

        Commands wait for a world that moves for `patience_seconds` at most, and for one another as long as that takes.
        Of worlds that stand no more than `most_held` are held in memory, those used last.
        """
        self.deps = deps
        self.id = deps.conversation.database.presence.new_holder()
        self._database = deps.conversation.database
        self._sweep_seconds = sweep_seconds
        self._patience_seconds = patience_seconds
        self._most_held = most_held
        self._held: OrderedDict[str, HeldWorld] = OrderedDict()
        # A world that is no longer held stays here while somebody uses it: there are never two of one.
        self._worlds: WeakValueDictionary[str, HeldWorld] = WeakValueDictionary()
        self._sweeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Go on with every world that a former process left short of where it was told to go."""
        self._sweeper = asyncio.create_task(repeat(self._sweep, self._sweep_seconds))

    async def stop(self) -> None:
        """Let go of everything; what is committed stays, and the next process goes on from there."""
        worlds = list(self._worlds.values())
        tasks = [self._sweeper, *(world.task for world in worlds)]
        await cancel(task for task in tasks if task is not None)
        for world in worlds:
            await world.calls.drop()
            await world.decisions.drop()
        await self._database.write(lambda s: MOVES.give_back(s, col(WorldRow.runner) == self.id))

    def world(self, world_id: str) -> HeldWorld:
        """The world as this process holds it; too many are held: the one that was used longest ago is let go."""
        world = self._worlds.get(world_id)
        if world is None:
            world = self._worlds[world_id] = HeldWorld(
                world_id, self.deps, self.id, patience_seconds=self._patience_seconds
            )
        self._held[world_id] = world
        self._held.move_to_end(world_id)
        if len(self._held) > self._most_held:
            idle = (i for i, one in self._held.items() if one.is_idle and one is not world)
            if (gone := next(idle, None)) is not None:
                self._held.pop(gone).forget()
        return world

    def run_of(self, world_id: str) -> ExactRun | None:
        """The run the world is on; None: it stands. It may be asked from any thread."""
        world = self._worlds.get(world_id)
        return world.run if world is not None else None

    async def tick(self, world_id: str, ticks: int, request: Once | None = None) -> Tick:
        """Tell the world to go on by `ticks`, and set it moving; the same request again gets the same tick.

        Raises:
            TickTooLong, Invalid: as `order_ticks`.
            KeyReused.
        """

        try:
            ordered = await self._database.write(lambda s: once(s, request, partial(self._order, s, world_id, ticks)))
        except Replayed as known:
            ordered = Tick(**known.answer)
        self.world(world_id).move()
        return ordered

    async def tick_of_clock(self, world_id: str, ticks: int) -> Tick | None:
        """The same for the world's own clock; None: it was stopped meanwhile, or another process runs it.

        Raises:
            TickTooLong, Invalid: as `order_ticks`.
        """

        def work(session: Session) -> Tick | None:
            row = session.get(WorldRow, world_id, with_for_update=True)
            runs_here = row is not None and row.clock_mode == "running" and row.clock_runner == self.id
            return self._order(session, world_id, ticks) if runs_here else None

        ordered = await self._database.write(work)
        if ordered is not None:
            self.world(world_id).move()
        return ordered

    async def wait(self, world_id: str, until: WorldTime) -> None:
        """Return when the world has come to `until`.

        Raises:
            WorldStopped: it was stopped, or removed, before.
            RunInterrupted: the store failed on the way; the world goes on when it is back.
            Exception: what else stopped it on the way.
        """
        while True:
            world = self.world(world_id)
            now, target = await world.clock_and_target()
            if now >= until:
                return
            if target < until:
                raise WorldStopped(until=iso(until))
            try:
                await asyncio.shield(world.move())
            except WorldMoves:
                await asyncio.sleep(0.05)  # another replica moves it
            except OperationalError as exc:
                raise _interrupted(until, exc) from exc

    async def command(
        self,
        world_id: str,
        work: Callable[[Session, WorldSession], T],
        *,
        keeps_decisions: bool = False,
        asked: Asked | None = None,
        request: Once | None = None,
    ) -> T:
        """Change the world at the next minute at which everybody stands, in one transaction with its living state. A
        world that moves stands there for it, and then goes on; one that was stopped on its way lives on as far as that.

        `keeps_decisions`: it changes nothing that a decision of others depends on but what they see. What they are
        asked then stays asked; so it does where the command is refused. `asked` is the request, which the world's log
        keeps (None: the work itself sees to that); it is done once, and so is `request`.

        Raises:
            Replayed, KeyReused: as `once`.
            WorldMoves: it does not come there soon, or another replica moves it and does not make way.
            RunInterrupted: the store failed on the way there.
        """

        request = request or Once.of(world_id, asked)

        def logged(session: Session, world_session: WorldSession) -> T:
            answer = once(session, request, partial(work, session, world_session))
            if asked is not None:
                log_command(session, world_id, world_session.world.now, "request", asdict(asked))
            return answer

        deadline = asyncio.get_running_loop().time() + self._patience_seconds
        world = self.world(world_id)
        run: asyncio.Task[None] | None = None
        while True:
            try:
                async with world.standing(deadline):
                    answer = await world.change(logged)
                    if not keeps_decisions:
                        await world.decisions.drop()
                    return answer
            except LivedAhead as ahead:
                failed = run.exception() if run is not None and run.done() and not run.cancelled() else None
                if isinstance(failed, OperationalError):
                    raise _interrupted(ahead.reached, failed) from failed
                if asyncio.get_running_loop().time() > deadline:
                    raise await world.why_it_moves() from None
                await self._database.write(partial(order_until, world_id=world_id, until=ahead.reached))
                run = world.move()
            except WorldMoves:  # another replica moves it
                if asyncio.get_running_loop().time() > deadline:
                    raise
                await self._database.write(partial(want, world_id=world_id))
                await asyncio.sleep(LOOK_SECONDS)

    async def rewrite(self, world_id: str, work: Callable[[Session], T]) -> T:
        """Let `work` take the world's rows out of the store, or write others in their place; a run it is on ends.

        Raises:
            WorldMoves: another replica moves it, and does not let go of it soon.
        """

        def change(session: Session) -> T:
            claim_if_there(session, self.id, world_id)
            done = work(session)
            self.deps.jobs.fill(session, world_id, anew=True)
            return done

        deadline = asyncio.get_running_loop().time() + self._patience_seconds
        world = self.world(world_id)
        while True:
            world.halt_run()
            async with world.standing(deadline):
                world.forget()
                await world.drop_calls()
                try:
                    done = await self._database.write(change)
                    self.deps.conversation.models.rewind(world_id)
                    self._held.pop(world_id, None)
                    return done
                except WorldMoves:
                    if asyncio.get_running_loop().time() > deadline:
                        raise
                    await self._database.write(partial(cancel_orders, world_id=world_id))
            await asyncio.sleep(0.2)

    async def renew(self, change: Callable[[], None]) -> None:
        """Change what every world is played with, while all that this process holds stand; each is read anew before it
        goes on.

        Raises:
            WorldMoves: one does not come to stand soon; nothing was changed.
        """
        deadline = asyncio.get_running_loop().time() + self._patience_seconds
        async with AsyncExitStack() as standing:
            held = list[HeldWorld]()
            while more := [world for world in self._worlds.values() if world not in held]:
                for world in more:
                    await standing.enter_async_context(world.standing(deadline))
                held += more
            change()
            for world in held:
                world.forget()
                await world.drop_calls()

    def _order(self, session: Session, world_id: str, ticks: int) -> Tick:
        return order_ticks(session, self.deps.conversation.worlds, world_id, ticks)

    async def _sweep(self) -> None:
        """Halt what was called off elsewhere, and move what nobody moves: its process died, or its store was away."""
        moving = {i: world for i, world in self._worlds.items() if world.lock.locked()}
        for world in moving.values():
            _, target = await world.clock_and_target()
            if world.run is not None and target < world.run.until:
                world.halt_run()
        for world_id in await self._database.read(lambda s: abandoned(s, self.id)):
            if world_id not in moving:
                self.world(world_id).move()


def _interrupted(until: WorldTime, error: OperationalError) -> RunInterrupted:
    reason = Phrase("answers.no_room") if is_full(error) else " ".join(str(error.orig).split())
    return RunInterrupted(until=iso(until), reason=reason)
