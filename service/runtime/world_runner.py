"""Owns the worlds of this process: ticks and clocks set them moving, commands change them while they stand.

The store says how far a world was told to go, and whether its clock runs; whoever finds it short of that goes on, so a
stop in the middle loses nothing. At pace exact the clock waits for the models, and the story is the same as by ticks.
At pace realtime it does not wait.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from math import isfinite
from typing import Literal, TypeVar
from weakref import WeakValueDictionary

from sqlalchemy.exc import OperationalError
from sqlmodel import Session, col

from service.errors import WorldMoves, WorldStopped, refuse
from service.locales import Phrase
from service.runtime.looks import Looks
from service.runtime.pace import ExactRun
from service.runtime.world_actor import LOOK_SECONDS, WorldActor, interrupted
from service.runtime.world_clock import (
    OWNS,
    RunningClock,
    Tick,
    asks_models,
    clock_and_target,
    in_charge,
    is_called_off,
    order_ticks,
    stop_for_budget,
)
from service.runtime.world_run import WorldDependencies
from service.runtime.world_session import WorldSession
from service.store.events import Asked, log_command
from service.store.idempotency import Once, first_answer, once, write_once
from service.store.tables import WorldRow
from world.time import WorldTime, iso

T = TypeVar("T")

ClockMode = Literal["manual", "running"]
ClockPace = Literal["exact", "realtime"]

EVERY_SECONDS = 1.0
"""Between two looks at the worlds."""
PATIENCE_SECONDS = 5.0
"""How long a command waits for a world that moves to stand, in machine time."""
MOST_HELD = 64
"""Worlds that stand, held in memory."""
FASTEST = 100_000.0
"""World minutes a real minute."""


class WorldRunner:
    """Moves and changes worlds, each by an actor of its own."""

    def __init__(
        self,
        deps: WorldDependencies,
        *,
        look_seconds: float = EVERY_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
        most_held: int = MOST_HELD,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Every `look_seconds` (machine time) it lets time pass for the worlds whose clock runs, and looks for worlds
        that nobody moves though they are to move. `seconds` is the machine's time, which never goes back.

        Commands wait for a world that moves for `patience_seconds` at most, and for one another as long as that takes.
        Of worlds that stand no more than `most_held` are held in memory, those used last.
        """
        self.deps = deps
        self.id = deps.conversation.database.presence.new_holder()
        self._database = deps.conversation.database
        self._worlds = deps.conversation.worlds
        self._look_seconds = look_seconds
        self._patience_seconds = patience_seconds
        self._most_held = most_held
        self._seconds = seconds
        self._held: OrderedDict[str, WorldActor] = OrderedDict()
        # A world that is no longer held stays here while somebody uses it: there are never two of one.
        self._actors: WeakValueDictionary[str, WorldActor] = WeakValueDictionary()
        self._looks = Looks(self._look, look_seconds)

    async def start(self) -> None:
        """Go on with every world that a former process left short of where it was told to go, and with the clocks."""
        self._looks.start()

    async def stop(self) -> None:
        """Let go of everything; what is committed stays, and the next process goes on from there."""
        await self._looks.stop()
        await asyncio.gather(*(actor.stop() for actor in self._actors.values()))
        await self._database.write(lambda s: OWNS.give_back(s, col(WorldRow.runner) == self.id))

    def world(self, world_id: str) -> WorldActor:
        """The world as this process holds it; too many are held: the one that was used longest ago is let go."""
        actor = self._actors.get(world_id)
        if actor is None:
            actor = self._actors[world_id] = WorldActor(
                world_id, self.deps, self.id, patience_seconds=self._patience_seconds
            )
        self._held[world_id] = actor
        self._held.move_to_end(world_id)
        if len(self._held) > self._most_held:
            free = (i for i, one in self._held.items() if one.is_free and one is not actor)
            if (gone := next(free, None)) is not None:
                self._held.pop(gone)
        return actor

    def run_of(self, world_id: str) -> ExactRun | None:
        """The run the world is on; None: it stands. It may be asked from any thread."""
        actor = self._actors.get(world_id)
        return actor.run if actor is not None else None

    async def tick(self, world_id: str, ticks: int, request: Once | None = None) -> Tick:
        """Tell the world to go on by `ticks`, and set it moving; the same request again gets the same tick.

        Raises:
            TickTooLong, Invalid: as `order_ticks`.
            KeyReused.
        """

        def work(session: Session) -> Tick:
            return once(session, request, partial(order_ticks, session, self._worlds, world_id, ticks))

        ordered = await first_answer(self._database.write(work), lambda known: Tick(**known))
        self.world(world_id).go()
        return ordered

    async def wait(self, world_id: str, until: WorldTime) -> None:
        """Return when the world has come to `until`.

        Raises:
            WorldStopped: it was stopped, or removed, before.
            RunInterrupted: the store failed on the way; the world goes on when it is back.
            Exception: what else stopped it on the way.
        """
        while True:
            now, target = await self._database.read(lambda s: clock_and_target(s, self._worlds, world_id))
            if now >= until:
                return
            if target < until:
                raise WorldStopped(until=iso(until))
            try:
                await asyncio.shield(self.world(world_id).go())
            except WorldMoves:
                await asyncio.sleep(LOOK_SECONDS)  # another replica moves it
            except OperationalError as exc:
                raise interrupted(until, exc) from exc

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
            WorldMoves: it does not come there soon, or another replica moves it and does not let it stand.
            RunInterrupted: the store failed on the way there.
        """

        request = request or Once.of(world_id, asked)

        def logged(session: Session, world_session: WorldSession) -> T:
            answer = once(session, request, partial(work, session, world_session))
            if asked is not None:
                log_command(session, world_id, world_session.world.now, "request", asdict(asked))
            return answer

        return await self.world(world_id).change(logged, keeps_decisions=keeps_decisions)

    async def rewrite(self, world_id: str, work: Callable[[Session], T]) -> T:
        """Let `work` take the world's rows out of the store, or write others in their place; a run it is on ends.

        Raises:
            WorldMoves: another replica moves it, and does not let go of it soon.
        """

        def change(session: Session) -> T:
            done = work(session)
            self.deps.jobs.fill(session, world_id, anew=True)
            return done

        done = await self.world(world_id).rewrite(change)
        self.deps.conversation.models.rewind(world_id)
        self._held.pop(world_id, None)
        return done

    async def renew(self, change: Callable[[], None], standing: tuple[WorldActor, ...] = ()) -> None:
        """Change what every world is played with, while all that this process holds stand; each is read anew before it
        goes on. Those that are `standing` do so already.

        Raises:
            WorldMoves: one does not come to stand soon; nothing was changed.
        """
        actor = next((one for one in self._actors.values() if one not in standing), None)
        if actor is None:
            change()
        else:
            await actor.renew(partial(self.renew, change, (*standing, actor)))

    async def set_clock(
        self,
        world_id: str,
        *,
        mode: ClockMode | None = None,
        speed: float | None = None,
        pace: ClockPace | None = None,
        request: Once | None = None,
    ) -> None:
        """Let the world's clock run, or stand; None: as it was. A clock that is set to manual stops the world: what was
        ordered and is not lived yet is taken back.

        Raises:
            Invalid: a speed that is none.
            Replayed, KeyReused: as `once`.
        """
        is_none = speed is not None and not (isfinite(speed) and 0 < speed <= FASTEST)
        refuse((is_none, "speed", Phrase("answers.invalid_fields.speed", speed=speed, most=FASTEST)))

        def work(session: Session) -> None:
            self._worlds.open(session, world_id, lock=True)
            row = session.get_one(WorldRow, world_id)
            row.clock_mode = mode or row.clock_mode
            row.clock_stopped = None if mode else row.clock_stopped
            row.clock_speed = speed or row.clock_speed
            row.clock_pace = pace or row.clock_pace
            if mode == "manual":
                row.target = None

        await write_once(self._database, request, work)
        if mode == "manual":
            await self.world(world_id).halt()
        self._looks.soon()

    async def _look(self) -> None:
        """Move what nobody moves, let time pass for the worlds whose clock runs, and halt what was called off
        elsewhere.
        """
        found = await self._database.read(lambda s: in_charge(s, self.id))
        mine = {row.id: (row, runs) for row, runs in found if row.runner == self.id or await self._takes(row)}
        for actor in list(self._actors.values()):
            if actor.world_id not in mine and actor.is_idle:
                actor.clock = None
                if not actor.is_free:
                    actor.tell(actor.drop_calls)
        for row, runs in mine.values():
            actor = self.world(row.id)
            if actor.run is not None and is_called_off(row, actor.run.until):
                actor.run.halt()
            if not runs or await self._stop_for_budget(actor):
                actor.clock = None
            else:
                actor.clock = actor.clock or RunningClock(last=self._seconds())
            if actor.is_idle and actor.rests_until <= asyncio.get_running_loop().time():
                self._move_on(actor, row)

    async def _takes(self, row: WorldRow) -> bool:
        return await self._database.write(lambda s: OWNS.take(s, self.id, col(WorldRow.id) == row.id)) == 1

    async def _stop_for_budget(self, actor: WorldActor) -> bool:
        """Let the world stand if no model may be asked any more today and somebody there would ask one."""
        spent = self.deps.conversation.budget.exhausted is not None
        if not spent or not await self._database.read(lambda s: asks_models(s, self._worlds, actor.world_id)):
            return False
        await actor.halt()
        await self._database.write(lambda s: stop_for_budget(s, self._worlds, actor.world_id))
        return True

    def _move_on(self, actor: WorldActor, row: WorldRow) -> None:
        """Let the world go to where it was told to go, and then live the ticks that became due since the last look."""
        if (row.target or 0) > row.now or row.is_moving:
            actor.go()
        elif actor.clock is not None:
            settings = self._worlds.settings
            ticks = actor.clock.ticks(self._seconds(), row.clock_speed, settings.tick_minutes, self._look_seconds)
            ticks = min(ticks, settings.max_tick_minutes // settings.tick_minutes)
            if ticks and row.clock_pace == "realtime":
                actor.tell(partial(actor.pass_ticks, ticks, by_clock=True))
            elif ticks:
                actor.tell(partial(actor.tick, ticks))
