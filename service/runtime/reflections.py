"""Owns who makes the reflections that are due: in the background, each once, whatever stops on the way."""

import asyncio
import logging
from collections.abc import Sequence

from sqlalchemy import tuple_
from sqlmodel import Session, col

from service.conversation.dependencies import ConversationDependencies
from service.errors import CassetteMiss, ModelError
from service.memory.record import FACTS, Episode, Group, Item, Memory
from service.memory.reflections import (
    DUE,
    MOST_EPISODES,
    MOST_MEMORIES,
    Evidence,
    LivedThrough,
    ReflectionContext,
    ReflectionKey,
    due_reflections,
    fail_reflection,
    lived_through,
    reflect,
    settle_reflection,
    valid_insights,
)
from service.memory.secrets import Discretion, discretion
from service.memory.telling import one_line, ref_of, told_of
from service.people.worlds import WorldView
from service.runtime.tasks import cancel
from service.store.ids import new_id
from service.store.lease import Lease
from service.store.tables import ReflectionRow, WorldRow
from service.store.usage import count
from world.time import WorldTime

_log = logging.getLogger(__name__)

LEASE_SECONDS = 30.0
LOOK_SECONDS = 0.05
MOST_MEMORIES_READ = 200
_KEY = tuple_(col(ReflectionRow.world_id), col(ReflectionRow.person_id), col(ReflectionRow.at))
_CARRIES = Lease(holder=ReflectionRow.runner, until=ReflectionRow.lease_until)  # type: ignore[arg-type] # columns


class Reflections:
    """Makes the reflections of this process. A lease on the row keeps replicas from paying for the same one."""

    def __init__(self, deps: ConversationDependencies) -> None:
        self._deps = deps
        self._id = new_id()
        self._tasks: dict[ReflectionKey, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """On SQLite there is one process: whoever held a reflection is gone."""
        if self._deps.database.is_sqlite:
            await self._deps.database.write(lambda s: _CARRIES.give_back(s, col(ReflectionRow.phase) == DUE))

    async def stop(self) -> None:
        """Let go of all of them; the rows say what is still to be made."""
        await cancel(self._tasks.values())
        await self._deps.database.write(lambda s: _CARRIES.give_back(s, col(ReflectionRow.runner) == self._id))

    def submit(self, key: ReflectionKey) -> asyncio.Task[None]:
        """Make it in the background, if this process does not do so already. The task ends when nothing is due."""
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(self._carry(key))
            self._tasks[key].add_done_callback(lambda _: self._tasks.pop(key, None))
        return self._tasks[key]

    async def sweep(self) -> None:
        """Hold on to what is being made here, and take up what nobody makes."""
        if self._tasks:
            mine = _KEY.in_(list(self._tasks))
            await self._deps.database.write(lambda s: _CARRIES.extend(s, self._id, LEASE_SECONDS, mine))
        for key in await self._deps.database.read(due_reflections):
            self.submit(key)

    async def _carry(self, key: ReflectionKey) -> None:
        try:
            while not await self._deps.database.write(lambda s: _claim(s, key, self._id)):
                if await self._deps.database.read(lambda s: lived_through(s, key)) is None:
                    return
                await asyncio.sleep(LOOK_SECONDS)  # another process makes it, or has died over it
            await self._make(key)
        except CassetteMiss:
            raise
        except Exception:  # noqa: BLE001
            # A dead database or a bug: the row still says that it is due, and the sweep comes by again.
            _log.exception("the reflection of %s could not be made", key.person_id)

    async def _make(self, key: ReflectionKey) -> None:
        def read(session: Session) -> tuple[WorldView, LivedThrough | None]:
            self._deps.budget.require_talk(session)
            return self._deps.worlds.open(session, key.world_id).at(key.at), lived_through(session, key)

        try:
            world, lived = await self._deps.database.read(read)
            if lived is None:
                return
            context = await self._context(world, key, lived)
            answer = await reflect(self._deps.models.for_role("closing"), context, "/".join(map(str, key)))
        except ModelError as exc:
            error = exc
            await self._deps.database.write(lambda s: self._fail(s, key, error))
            return
        insights, dropped = valid_insights(answer.value.insights, context)

        def settle(session: Session) -> None:
            row = session.get_one(WorldRow, key.world_id, with_for_update=True)
            if row.timeline == world.timeline:  # else it is thought over anew, if it still is to be
                settle_reflection(session, key, WorldTime(row.now), insights, dropped)
            count(session, key.world_id, world.day, "closing", answer.usage)

        await self._deps.database.write(settle)

    async def _context(self, world: WorldView, key: ReflectionKey, lived: LivedThrough) -> ReflectionContext:
        owner = world.cast.find(key.person_id)
        kept = discretion(owner) if owner else Discretion()  # others see what it comes to think
        memories = [
            one
            for one in await self._memories(key)
            if one.known_from > lived.since and kept.lets(f"{one.text} {one.quote}")
        ]
        episodes = [one for one in lived.episodes if kept.lets(one.text)]
        return ReflectionContext(
            language=world.language,
            person_id=key.person_id,
            name=world.name_of(key.person_id),
            now=world.sky,
            evidence=_evidence(world, key.person_id, episodes, memories),
            personality=owner.personality if owner else "",
            wishes=tuple(goal.goal for goal in owner.goals) if owner else (),
            thoughts=tuple(filter(kept.lets, lived.thoughts)),
            own_prompts=world.cast.own_prompts,
        )

    async def _memories(self, key: ReflectionKey) -> list[Memory]:
        """What the person knows, the newest of it."""
        group = Group(world_id=key.world_id, person_id=key.person_id)
        found = await self._deps.memory.recall(group, "", at=key.at, kinds=FACTS, limit=MOST_MEMORIES_READ)
        return [one.memory for one in found]

    def _fail(self, session: Session, key: ReflectionKey, error: ModelError) -> None:
        world = self._deps.worlds.open(session, key.world_id).at(key.at)
        fail_reflection(session, key, error.slug)
        if error.usage.calls:
            count(session, key.world_id, world.day, "closing", error.usage, failures=1)


def _evidence(
    world: WorldView, person_id: str, episodes: Sequence[Episode], memories: Sequence[Memory]
) -> tuple[Evidence, ...]:
    """The last episodes, and the memories that matter most, in the order in which they came to be known."""
    last = sorted(episodes, key=lambda one: (one.at, one.conversation_id))[-MOST_EPISODES:]
    most = sorted(memories, key=lambda one: (-one.importance, one.known_from, one.id))[:MOST_MEMORIES]
    items: list[Item] = [*last, *sorted(most, key=lambda one: (one.known_from, one.id))]
    return tuple(
        Evidence(
            ref=f"e{number}",
            text=one_line(told_of(world, one, person_id)),
            source=ref_of(one),
            partner_ids=(one.partner_id, *one.others) if isinstance(one, Episode) else (one.partner_id,),
        )
        for number, one in enumerate(items, 1)
    )


def _claim(session: Session, key: ReflectionKey, holder_id: str) -> bool:
    return _CARRIES.take(session, holder_id, LEASE_SECONDS, _KEY.in_([key]), col(ReflectionRow.phase) == DUE) == 1
