"""Owns the kinds of jobs: conversations, from running through closing to closed; reflections; vectors that memories
lack; and the bringing of memories to a graph outside our database, which takes the same again for nothing new.

The row says how far each has come, and that is all that is needed to go on after a crash; see
docs/decisions/0003-the-row-is-the-workflow.md. Where the turns of a conversation take world time
(`ClockPolicy.MINUTE`) the living world carries it, and it is left alone here.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

from sqlmodel import Session, col, select

from service.conversation.closing import reopen
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.game_actions import calls_in
from service.conversation.human import expire_late, leave_in_silence
from service.conversation.transcript import turns_said
from service.errors import CassetteMiss, ModelError
from service.memory.embedding.embedder import VectorSpace
from service.memory.memory_store import not_embedded
from service.memory.mind import (
    MOST_EPISODES,
    MOST_MEMORIES,
    Evidence,
    LivedThrough,
    ReflectionContext,
    ReflectionKey,
    due_reflections,
    lived_through,
    reflection_prompt,
    settle_reflection,
    valid_insights,
)
from service.memory.projection import Projection, adopt, projected, read_changes, undelivered, unread
from service.memory.record import FACTS, Episode, Group, Item, Memory, space_of
from service.memory.secrets import Discretion, discretion
from service.memory.telling import one_line, ref_of, told_of
from service.people.worlds import WorldRepository, WorldView
from service.runtime.jobs import Jobs, Work
from service.runtime.snapshots import DaySnapshots
from service.steady_time import steady_time
from service.store.jobs import JobKind, Write, job_of
from service.store.phase import CallState, ClockPolicy, Phase
from service.store.tables import ConversationKey, ConversationRow, JobKey, WorldRow
from service.store.usage import count
from world.time import WorldTime

A_DAY = 86400.0
_DUE = (Phase.RUNNING, Phase.CLOSING)


class Talks(Work):
    """Carries conversations from where they stand until they are closed, or wait: for a human's words, for the game, or
    for somebody to let them go on. What waits is looked at again when it has waited for too long.
    """

    kind = JobKind.TALK
    longest_wait = 2.0

    def __init__(self, deps: ConversationDependencies) -> None:
        super().__init__(deps)
        self._engine = Engine(deps)

    def due(self, session: Session, world_id: str | None) -> Iterable[JobKey]:
        """All that are not closed, but for those that the living world holds."""
        is_tried = col(ConversationRow.failure)["next_try_at"].as_string().is_not(None)
        is_open = col(ConversationRow.phase).in_(_DUE) & (col(ConversationRow.clock_policy) == ClockPolicy.NONE)
        is_open |= (col(ConversationRow.phase) == Phase.CLOSING_FAILED) & is_tried
        query = select(ConversationRow.world_id, ConversationRow.id).where(is_open)
        if world_id is not None:
            query = query.where(ConversationRow.world_id == world_id)
        return [job_of(ConversationKey(*found)) for found in session.exec(query)]

    async def work(self, job: JobKey) -> Write:
        """Carry it on, or see whether it has waited for too long."""
        key = ConversationKey(job.world_id, job.key)
        at = await self._deps.database.read(partial(_goes_on_at, key=key))
        try:
            if at == 0.0:
                if await self._engine.converse(key):
                    await self._engine.close(key)
            else:
                await self._deps.database.write(partial(_wait_no_longer, worlds=self._deps.worlds, key=key))
                tell = self._deps.stream.settle if at is None else self._deps.stream.hush
                tell(key)
        except CassetteMiss as miss:
            await self._engine.give_up(key, miss)
        return partial(_goes_on_at, key=key)


def goes_on(session: Session, key: ConversationKey) -> bool:
    """There is something to be said, or remembered, and nobody is waited for but the game."""
    row = session.get(ConversationRow, key)
    if row is None or row.phase not in _DUE or row.awaits is not None:
        return False
    is_running = row.phase == Phase.RUNNING and row.stands_at is not None
    return not (is_running and turns_said(session, row) >= (row.stands_at or 0))


def _goes_on_at(session: Session, key: ConversationKey) -> float | None:
    """When (machine time) there is something to do for it. 0: now; None: never again."""
    row = session.get(ConversationRow, key)
    if row is None or row.phase == Phase.CLOSED:
        return None
    if row.phase == Phase.CLOSING_FAILED:
        next_try = (row.failure or {}).get("next_try_at")
        return datetime.fromisoformat(next_try).timestamp() if next_try else None
    if row.clock_policy != ClockPolicy.NONE:
        return None
    calls = [call for call in calls_in(session, key) if call.state == CallState.REQUESTED]
    is_held_up = row.phase == Phase.CLOSING or any(call.awaited for call in calls)
    if goes_on(session, key) and not (calls and is_held_up):
        return 0.0
    silent_at = [row.silent_at] if row.awaits is not None and row.silent_at else []
    return min([*silent_at, *(call.deadline for call in calls)], default=steady_time() + A_DAY)


def _wait_no_longer(session: Session, worlds: WorldRepository, key: ConversationKey) -> None:
    """What the game has not answered in time has come to nothing, a human who is silent for too long has left, and a
    closing that failed is due again.
    """
    row = session.get(ConversationRow, key)
    if row is not None and row.phase == Phase.CLOSING_FAILED:
        reopen(session, row)
    elif row is not None:
        expire_late(session, worlds, key)
        leave_in_silence(session, worlds, key)


MOST_MEMORIES_READ = 200


class Reflections(Work):
    """Makes reflections. A run waits until one was tried for the first time: a model that is away holds up nobody."""

    kind = JobKind.REFLECTION
    first_wait, longest_wait = 30.0, 3600.0

    def due(self, session: Session, world_id: str | None) -> Iterable[JobKey]:
        """Those that are to be made."""
        return [key.job for key in due_reflections(session, world_id)]

    async def work(self, job: JobKey) -> Callable[[Session], None] | None:
        """Ask the model. What the person comes to think is known an hour after, or from now on where it is later."""
        key = ReflectionKey.of(job)

        def read(session: Session) -> tuple[WorldView, LivedThrough | None]:
            self._deps.budget.require_talk(session)
            return self._deps.worlds.open(session, key.world_id).at(key.at), lived_through(session, key)

        world, lived = await self._deps.database.read(read)
        if lived is None:
            return None
        context = await self._context(world, key, lived)
        try:
            prompt = reflection_prompt(context, "/".join(map(str, key)))
            answer = await self._deps.models.for_role("closing").complete(prompt)
        except ModelError as exc:
            fail = partial(count, world_id=key.world_id, day=world.day, role="closing", usage=exc.usage.failed)
            if exc.usage.calls:
                await self._deps.database.write(fail)
            raise
        insights, dropped = valid_insights(answer.value.insights, context)

        def settle(session: Session) -> None:
            row = session.get_one(WorldRow, key.world_id, with_for_update=True)
            settle_reflection(session, key, WorldTime(row.now), insights, dropped)
            count(session, key.world_id, world.day, "closing", answer.usage)

        return settle

    async def _context(self, world: WorldView, key: ReflectionKey, lived: LivedThrough) -> ReflectionContext:
        owner = world.cast.find(key.person_id)
        kept = discretion(owner) if owner else Discretion()  # others see what it comes to think
        group = Group(world_id=key.world_id, person_id=key.person_id)
        newest = await self._deps.memory.recall(group, "", at=key.at, kinds=FACTS, limit=MOST_MEMORIES_READ)
        memories = [
            memory
            for memory in (one.memory for one in newest)
            if memory.known_from > lived.since and kept.lets_item(memory)
        ]
        episodes = [one for one in lived.episodes if kept.lets_item(one)]
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


class FillVectors(Work):
    """Makes the vectors that a person's memories lack. A run that cannot wait has those of its own world made first.
    While the embedder is away, memories without vectors are found by words.
    """

    kind = JobKind.VECTORS

    def due(self, session: Session, world_id: str | None) -> Iterable[JobKey]:
        """Of those who have none at all, where something embeds; of a world that is brought back of all."""
        embeds = self._deps.memory.embeds
        return [group.job(self.kind) for group in not_embedded(session, world_id)] if embeds else []

    async def work(self, job: JobKey) -> None:
        """Raises: GraphUnavailable: the embedder is away, or the store."""
        world = await self._deps.database.read(partial(self._deps.worlds.open, world_id=job.world_id))
        await self._deps.memory.fill_vectors(Group(world_id=job.world_id, person_id=job.key), world.now)


class Deliveries(Work):
    """Brings what a person remembers to the graph, if there is one."""

    kind = JobKind.DELIVERY

    def due(self, session: Session, world_id: str | None) -> Iterable[JobKey]:
        """Of those whose memories are ahead of the graph."""
        graph = self._deps.projection
        found = undelivered(session, world_id, reads=graph.reads_episodes) if graph is not None else []
        return [group.job(self.kind) for group in found]

    async def work(self, job: JobKey) -> None:
        """Raises: GraphUnavailable, ModelError: it was not brought there whole."""
        graph, group = self._deps.projection, Group(world_id=job.world_id, person_id=job.key)
        if graph is not None:
            await self._bring(graph, group)
            while graph.reads_episodes and await self._read(graph, group):
                await self._bring(graph, group)

    async def _bring(self, graph: Projection, group: Group) -> None:
        database, worlds, is_whole = self._deps.database, self._deps.worlds, False
        while True:
            changes = await database.read(partial(read_changes, worlds=worlds, group=group, is_whole=is_whole))
            if changes is None:
                return
            is_whole = not await graph.write(changes)
            if not is_whole:
                await database.write(partial(projected, changes=changes))

    async def _read(self, graph: Projection, group: Group) -> bool:
        """Have the graph's own reader read the oldest summary that it has not read; False: there is none."""
        memory, worlds = self._deps.memory, self._deps.worlds

        def oldest(session: Session) -> tuple[Episode | None, VectorSpace]:
            return unread(session, worlds.open(session, group.world_id), group), space_of(session, group)

        episode, space = await self._deps.database.write(oldest)
        if episode is None:
            return False
        found = await graph.read(group, episode, space)
        embedded = await memory.embed([one.text for one in found])

        def work(session: Session) -> None:
            adopt(session, worlds.open(session, group.world_id), memory, group, episode, found, embedded)

        await self._deps.database.write(work)
        return True


def jobs_of(deps: ConversationDependencies, *, carries: bool = True) -> Jobs:
    """What does the jobs of all kinds. With `carries` False somebody else decides what is spoken and closed when, as a
    replay does.
    """
    talks = [Talks(deps)] if carries else []
    others = (Reflections(deps), FillVectors(deps), Deliveries(deps), DaySnapshots(deps))
    return Jobs(deps.database, [*talks, *others])
