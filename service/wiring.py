"""Owns the wiring: which parts the settings choose, put together into one running core. Nothing else."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from service.content.files import bundled_content
from service.content.load import Content
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.conversation.stream import LOOK_SECONDS, Stream
from service.core import Core
from service.decision.situation import DecisionDependencies
from service.errors import Misconfigured
from service.llm.cassette import open_cassette
from service.llm.choose import PROBE_SECONDS, Models, choose_models
from service.llm.foresight import Foreseen, Foresight, Guessing
from service.locales import Phrase
from service.memory.choose import choose_memory, choose_projection
from service.memory.memory_store import MemoryStore
from service.memory.projection import Projection
from service.offline.model import OfflineModel
from service.own_prompts import load_game
from service.people.worlds import WorldRepository
from service.quality.checked import DecisionChecks, TurnChecks
from service.runtime.carried import jobs_of
from service.runtime.content_reload import ContentReload
from service.runtime.guess import Guesses
from service.runtime.tasks import cancel, repeat
from service.runtime.world_run import WorldDependencies
from service.runtime.world_runner import WorldRunner
from service.settings import Settings
from service.store.budget import DailyBudget
from service.store.session import Database, opened_database
from world.causality import Guess
from world.errors import BadWorldTime


class Wiring:
    """What the settings choose. It is chosen when it is made, so that a wrong setting stops the process at once."""

    def __init__(
        self,
        settings: Settings,
        *,
        content: Content | None = None,
        models: Models | None = None,
        offline: OfflineModel | None = None,
        memory: Callable[[Database], MemoryStore] | None = None,
        projection: Callable[[Database], Projection] | None = None,
        wrap_models: Callable[[Models], Models] = lambda models: models,
    ) -> None:
        """`content`, `models`, `offline`, `memory` and `projection` stand in for those the settings would choose;
        `wrap_models` puts something around whichever models are chosen.

        Raises:
            ContentErrors: the game's files have errors; such a world does not start.
            Misconfigured: a setting is wrong.
        """
        llm = settings.llm
        self.settings = settings
        self.worlds = chosen_worlds(settings, content)
        self._offline = offline or OfflineModel(seed=llm.seed, pace_seconds=llm.rehearsal_pace_seconds)
        self._cassette = None if models else open_cassette(llm)
        self._guess_of: Foresight | None = None
        self._given, self._memory, self._projection, self._wrap = models, memory, projection, wrap_models
        self.models = models or choose_models(settings, self._offline, cassette=self._cassette)

    @asynccontextmanager
    async def running(
        self, *, carries: bool = True, reload_content: bool = False, lives: bool = True
    ) -> AsyncIterator[Core]:
        """The core. `carries`: see jobs_of. `reload_content`: content files that are changed while it runs
        are taken in. `lives`: see Core.
        """
        settings = self.settings
        with opened_database(settings) as database:
            core, models, graph = self._made(database, carries, reload_content, lives)
            core.conversation.stream.join(database.presence)
            async with AsyncExitStack() as ending:  # each ends, also where a database that is gone keeps one from it
                ending.push_async_callback(core.conversation.memory.aclose)
                if graph is not None:
                    ending.push_async_callback(graph.aclose)
                ending.push_async_callback(models.aclose)
                if self._cassette is None and lives:  # what a probe is answered is no part of a story
                    probing = asyncio.create_task(repeat(models.probe, PROBE_SECONDS))
                    ending.push_async_callback(cancel, [probing])
                if database.presence.is_shared:
                    looking = asyncio.create_task(
                        repeat(partial(core.conversation.stream.look, database), LOOK_SECONDS)
                    )
                    ending.push_async_callback(cancel, [looking])
                for part in core.parts if lives else ():
                    await part.start()
                    ending.push_async_callback(part.stop)
                yield core

    def _made(
        self, database: Database, carries: bool, reload_content: bool, lives: bool
    ) -> tuple[Core, Models, Projection | None]:
        settings, cassette = self.settings, self._cassette
        store = self._memory(database) if self._memory else choose_memory(settings, database, cassette)
        projection = self._projection
        graph = projection(database) if projection else choose_projection(settings, database, store, cassette)
        database.has_graph = graph is not None
        budget = DailyBudget(database, settings.llm)
        chosen = self._given or choose_models(settings, self._offline, budget, cassette)
        foresight: Foresight = {}
        voices = self._wrap(chosen)
        speaking = voices.wrapped(lambda model: Foreseen(model, foresight))
        conversation = ConversationDependencies(
            settings=settings,
            worlds=self.worlds,
            database=database,
            memory=store,
            models=speaking,
            budget=budget,
            stream=Stream(),
            quality=TurnChecks(settings.quality, speaking) if settings.quality.is_on else None,
            projection=graph,
        )
        decision = DecisionDependencies(
            settings=settings,
            database=database,
            memory=store,
            models=speaking,
            quality=DecisionChecks(settings.quality, speaking) if settings.quality.is_on else None,
        )
        engine, jobs = Engine(conversation), jobs_of(conversation, carries=carries and lives)
        minutes = 0 if settings.llm.provider == "rehearsal" or cassette else settings.world.guess_minutes
        guesses = Guesses(conversation, foresight, partial(self._apart, store, voices, foresight), minutes)
        deps = WorldDependencies(
            conversation=conversation, decision=decision, engine=engine, jobs=jobs, beside=guesses.beside
        )
        if (guess := self._guess_of) is not None:
            ahead, posed = (lambda i: guess[i].window), (lambda i, asking: guess[i].posed(asking))
            deps = replace(deps, causality=Guess, ahead_minutes=ahead, posed=posed)
        world_runner = WorldRunner(deps)
        directory = settings.content_dir or bundled_content()
        read = partial(load_game, directory)
        reload = ContentReload(world_runner, read, directory, from_start=reload_content)
        core = Core(
            conversation=conversation,
            engine=engine,
            jobs=jobs,
            world_runner=world_runner,
            content_reload=reload,
            guesses=guesses,
            lives=lives,
        )
        return core, chosen, graph

    @asynccontextmanager
    async def _apart(self, store: MemoryStore, models: Models, foresight: Foresight) -> AsyncIterator[WorldRunner]:
        """What guesses: with the same content, models and embedder, a store that is thrown away, and half of the calls
        at once: the story is to find room.
        """
        guessing = models.wrapped(lambda model: Guessing(model, foresight))
        slots = max(1, self.settings.llm.max_concurrency // 2)
        with thrown_away(self.settings.changed(llm={"max_concurrency": slots})) as settings:
            apart = Wiring(settings, content=self.worlds.content, models=guessing, memory=store.beside)
            apart.worlds, apart._guess_of = self.worlds, foresight
            async with apart.running(lives=False) as core:
                yield core.world_runner


def chosen_worlds(settings: Settings, content: Content | None = None) -> WorldRepository:
    """The worlds of the settings' content (None: it is read).

    Raises:
        ContentErrors: the game's files have errors.
        Misconfigured: the beginning that is set is no world time.
    """
    worlds = WorldRepository(content or load_game(settings.content_dir or bundled_content()), settings.world)
    try:
        worlds.start  # noqa: B018 - read now, so that a wrong setting stops the service and not its first request
    except BadWorldTime as exc:
        raise Misconfigured(
            setting="KATARIBE_WORLD__START", reason=Phrase("common.no_world_time", text=exc.facts[0])
        ) from exc
    return worlds


@contextmanager
def thrown_away(settings: Settings) -> Iterator[Settings]:
    """The same settings with a data directory that is gone afterwards, and nobody's graph."""
    with tempfile.TemporaryDirectory(prefix="kataribe-apart-") as directory:
        yield settings.changed(data_dir=Path(directory), database_url=None, memory={"backend": "sql"})
