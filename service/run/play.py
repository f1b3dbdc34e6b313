"""Owns the run of a world: the real service in this process, told to go on for some days and watched until it is
there.
"""

import asyncio
import logging
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from sqlmodel import Session

from service.api.dependencies import ApiDependencies
from service.app import create_app
from service.llm.choose import LocalServer
from service.locales import Listed, sentence
from service.locales.time import clock_label
from service.people.worlds import WorldView
from service.run.show import Show, shown
from service.run.summary import summary
from service.run.watch import Run, Watch
from service.settings import Settings
from service.store.tables import WorldRow
from world.time import MINUTES_PER_DAY, WorldTime

FEW = 12
"""Up to so many characters the feed tells of everybody."""


def run_world(settings: Settings, run: Run, offers: Sequence[LocalServer] = ()) -> bool:
    """Play it on standard output. False: it was stopped (Ctrl-C) before its end.

    Without a model configured it is a rehearsal. Without a data directory of the user's (``--data`` or
    ``KATARIBE_DATA_DIR``) the world is made for the occasion and thrown away.

    Raises:
        KataribeError: the service could not be started, or the world not moved.
    """
    for name in ("root", "service"):  # else their log lines would stand between those of the feed
        logging.getLogger(name).setLevel(logging.WARNING)
    if not settings.names_model:
        settings.llm.provider = "rehearsal"
    settings.world.language = run.language
    settings.world.max_tick_minutes = max(settings.world.max_tick_minutes, run.days * MINUTES_PER_DAY)
    with ExitStack() as stack:
        if not run.keeps:
            settings.data_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kataribe-run-")))
            settings.database_url = None
        play = _Play(settings, run, stack.enter_context(shown(plain=run.plain)))
        try:
            asyncio.run(play.play(offers))
        except KeyboardInterrupt:
            play.tell_stop()
            return False
    return True


class _Play:
    """One run."""

    def __init__(self, settings: Settings, run: Run, show: Show) -> None:
        self._settings = settings
        self._run = run
        self._show = show
        self._language = run.language
        self._now: WorldTime | None = None

    async def play(self, offers: Sequence[LocalServer]) -> None:
        app = create_app(self._settings)
        async with app.router.lifespan_context(app):
            watch = await self._begin(app.state.deps, offers)
            try:
                outcome = await watch.outcome()
            finally:
                self._now = watch.now
            self._tell(*summary(outcome))
            if self._run.keeps:
                self._say("run.kept", data=self._settings.data_dir)

    def tell_stop(self) -> None:
        """The user has stopped it."""
        if self._now is not None:
            self._say("run.stopped", now=clock_label(self._now, self._language))
        if self._run.keeps:
            world = "" if self._run.world_id == "main" else f" --world {self._run.world_id}"
            self._say("run.go_on", data=self._settings.data_dir, more=world)
        else:
            self._say("run.gone")

    async def _begin(self, deps: ApiDependencies, offers: Sequence[LocalServer]) -> "Watch":
        """Say how it is played, see to it that the right ones decide by model, and set the world moving."""
        database, world_id = deps.conversation.database, self._run.world_id
        self._say_who_speaks(deps, offers)
        world = await database.read(lambda s: deps.conversation.worlds.open(s, world_id))
        self._language = world.language
        there = list(world.cast.characters)
        deciding = there[: self._run.characters]
        if self._run.characters > len(there):
            self._say("run.fewer", there=len(there), asked=self._run.characters)
        if len(there) > FEW:
            self._say("run.crowd", there=len(there))
        told = await database.read(lambda s: _told_to_go(s, world))
        until = WorldTime(max(told, world.now + self._run.days * MINUTES_PER_DAY))
        self._say(
            "run.begins",
            world=world.cast.world_name,
            since=world.label,
            until=clock_label(until, world.language),
            deciding=self._names(world, deciding),
            rest=self._names(world, there[len(deciding) :]),
        )
        watch = Watch(
            deps, self._run, self._show, world, until, deciding, followed=deciding if len(there) > FEW else there
        )
        await watch.start(told)
        return watch

    def _names(self, world: WorldView, people: Sequence[str]) -> str:
        names = Listed(world.name_of(person_id) for person_id in people[:FEW]).of(world.language)
        return (names + ("" if len(people) <= FEW else f" … ({len(people)})")) or world.say("run.nobody")

    def _say_who_speaks(self, deps: ApiDependencies, offers: Sequence[LocalServer]) -> None:
        names = sorted(set(deps.conversation.models.names().values()))
        if names == ["rehearsal"]:
            self._say("run.rehearsal")
        else:
            self._say("run.model", models=", ".join(names))
            if (directory := self._settings.llm.cassette) is not None:
                self._say(f"run.cassette.{self._settings.llm.cassette_mode}", directory=directory)
        for server in offers:
            self._say("run.offer", name=server.name, url=server.base_url)

    def _say(self, key: str, /, **values: object) -> None:
        self._tell(*sentence(self._language, key, **values).split("\n"))

    def _tell(self, *lines: str) -> None:
        for line in lines:
            self._show.say(line)


def _told_to_go(session: Session, world: WorldView) -> WorldTime:
    """How far the world was told to go before."""
    row = session.get(WorldRow, world.id)
    return WorldTime(max(world.now, row.target or 0)) if row else world.now
