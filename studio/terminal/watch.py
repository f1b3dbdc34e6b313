"""Owns the run of a world, and the watching of it: the real service in this process is told to go on for some days;
what the world tells, what it costs, what it came to.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeVar

from sqlmodel import Session, col, select

from service.conversation.stream import ALL, Mailbox
from service.core import Core
from service.llm.choose import LocalServer
from service.locales import Language, Listed, Phrase, clock_label, sentence
from service.people.person import levels_of, read_person
from service.people.worlds import WorldView
from service.runtime.client_actions import set_decision
from service.runtime.world_session import WorldSession
from service.settings import Settings
from service.store.event_kinds import ConversationEnded
from service.store.events import last_event
from service.store.tables import MAIN_WORLD, ConversationKey, PersonRow, WorldRow
from service.wiring import Wiring, thrown_away
from studio.terminal.cost import Prices, Spent, spent_by_role, total
from studio.terminal.feed import PAGE, Feed, Ledger, Outcome, story_events_after, summary
from studio.terminal.show import Show, Status, one_line, shown
from world.time import MINUTES_PER_DAY, WorldTime

T = TypeVar("T")

LOOK_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True)
class Run:
    """What is asked for: so many world days, the first `characters` of the content deciding by model."""

    days: int
    characters: int
    world_id: str
    language: Language
    plain: bool = False
    prices: Prices | None = None
    keeps: bool = False
    """The data directory is the user's, and stays."""


class Watch:
    """Watches a world until it has come to `until`."""

    def __init__(
        self,
        core: Core,
        run: Run,
        show: Show,
        world: WorldView,
        until: WorldTime,
        deciding: Sequence[str],
        *,
        followed: Sequence[str],
    ) -> None:
        self._core = core
        self._run = run
        self._show = show
        self._world = world
        self._until = until
        self._deciding = deciding
        self._feed = Feed(world, followed)
        self._ledger = Ledger(world, world.now)
        self._speaking: dict[ConversationKey, str] = {}
        self._seen = 0
        self._before: dict[str, Spent] = {}
        self._begun = time.monotonic()
        self.now = world.now

    async def start(self, told: WorldTime) -> None:
        """Set the world moving. One that was on its way comes to its end first: how people decide is not
        changed while it moves.
        """
        self._seen = await self._read(lambda s: last_event(s, self._world.id))
        self._before = await self._read(lambda s: spent_by_role(s, self._world.id))
        if await self._read(self._is_to_change):
            await self._follow(told)
            await self._core.world_runner.command(self._world.id, self._let_decide)
        ticks = -(-(self._until - max(told, self.now)) // self._world.settings.tick_minutes)
        if ticks > 0:
            self._until = (await self._core.world_runner.tick(self._world.id, ticks)).after

    async def outcome(self) -> Outcome:
        """Tell what happens until the world is where it was told to go; answers what it came to."""
        await self._follow(self._until)
        self._ledger.finish(self.now)
        world, needs = await self._core.read(self._world.id, lambda s, world: (world, _needs(s, world)))
        return Outcome(
            world=world,
            since=self._world.now,
            ledger=self._ledger,
            deciding=self._deciding,
            needs=needs,
            spent=await self._spent(),
            prices=self._run.prices,
            seconds=time.monotonic() - self._begun,
        )

    async def _follow(self, until: WorldTime) -> None:
        mover = asyncio.create_task(self._core.world_runner.wait(self._world.id, until))
        try:
            with self._core.conversation.stream.mailbox(ALL) as box:
                while not mover.done():
                    await asyncio.wait({mover}, timeout=LOOK_SECONDS)
                    self._hear(box)
                    await self._look()
            mover.result()
            self.now = until
        finally:
            mover.cancel()

    def _hear(self, box: Mailbox) -> None:
        for key, words in box.take()[1].items():
            self._speaking[key] = self._world.say("run.making", name=words.speaker_name, text=one_line(words.text))

    async def _look(self) -> None:
        """Tell what has happened since the last look, and what is going on."""
        while page := await self._read(lambda s: story_events_after(s, self._world.id, self._seen)):
            for told in page:
                self._ledger.take(told)
                if isinstance(told.payload, ConversationEnded) and told.conversation is not None:
                    self._speaking.pop(told.conversation.key, None)
                for line in self._feed.lines(told):
                    self._show.say(line)
            self._seen = page[-1].event.id
            if len(page) < PAGE:
                break
        self._show.update(await self._status())

    async def _status(self) -> Status:
        exact_run = self._core.world_runner.run_of(self._world.id)
        if exact_run is not None:
            self.now = exact_run.settled
        spent, language = total(await self._spent()), self._world.language
        done = (self.now - self._world.now) / max(1, self._until - self._world.now)
        line = self._world.say(
            "run.status",
            label=clock_label(self.now, language),
            percent=round(100 * done),
            days=Phrase("counts.days", count=f"{(self._until - self._world.now) / MINUTES_PER_DAY:g}"),
            in_flight=exact_run.in_flight if exact_run else 0,
            calls=f"{spent['calls']:,}",
            tokens=f"{spent['prompt_tokens'] + spent['completion_tokens']:,}",
        )
        if self._run.prices is not None:
            line += self._world.say("run.money", money=self._run.prices.of(spent))
        return Status(line=line, done=min(1.0, max(0.0, done)), speaking=tuple(self._speaking.values()))

    async def _spent(self) -> dict[str, Spent]:
        """Since the run began."""
        now = await self._read(lambda s: spent_by_role(s, self._world.id))
        return {role: spent - self._before.get(role, Spent()) for role, spent in now.items()}

    def _wanted(self) -> dict[str, str]:
        return {i: "model" if i in self._deciding else "routine" for i in self._world.cast.characters}

    def _is_to_change(self, session: Session) -> bool:
        rows = session.exec(select(PersonRow).where(col(PersonRow.world_id) == self._world.id))
        return {row.person_id: row.decision for row in rows if row.decision} != self._wanted()

    def _let_decide(self, session: Session, world_session: WorldSession) -> None:
        for character_id, decision in self._wanted().items():
            set_decision(session, world_session, character_id, decision)

    async def _read(self, work: Callable[[Session], T]) -> T:
        return await self._core.conversation.database.read(work)


def _needs(session: Session, world: WorldView) -> dict[str, Mapping[str, float]]:
    """Everybody's needs at the moment of `world`."""
    needs = world.setting.catalogue.needs
    rows = session.exec(select(PersonRow).where(PersonRow.world_id == world.id))
    lives = {row.person_id: read_person(row.life, needs) for row in rows if row.life is not None}
    levels = {i: levels_of(world, i, lives.get(i)) for i in world.cast.characters}
    return {i: needs.at(one, max(world.now, one.since)) for i, one in levels.items()}


FEW = 12
"""Up to so many characters the feed tells of everybody."""


def run_world(settings: Settings, run: Run, offers: Sequence[LocalServer] = ()) -> bool:
    """Play it on standard output. False: it was stopped (Ctrl-C) before its end. Without a data directory of the user's
    (``--data`` or ``KATARIBE_DATA_DIR``) the world is made for the occasion and thrown away.

    Raises:
        KataribeError: the service could not be started, or the world not moved.
    """
    most = max(settings.world.max_tick_minutes, run.days * MINUTES_PER_DAY)
    settings = settings.changed(world={"language": run.language, "max_tick_minutes": most})
    with ExitStack() as stack:
        if not run.keeps:
            settings = stack.enter_context(thrown_away(settings))
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
        async with Wiring(self._settings).running() as core:
            watch = await self._begin(core, offers)
            try:
                outcome = await watch.outcome()
            finally:
                self._now = watch.now
            for line in summary(outcome):
                self._show.say(line)
            if self._run.keeps:
                self._say("run.kept", data=self._settings.data_dir)

    def tell_stop(self) -> None:
        """The user has stopped it."""
        if self._now is not None:
            self._say("run.stopped", now=clock_label(self._now, self._language))
        more = "" if self._run.world_id == MAIN_WORLD else f" --world {self._run.world_id}"
        self._say("run.go_on" if self._run.keeps else "run.gone", data=self._settings.data_dir, more=more)

    async def _begin(self, core: Core, offers: Sequence[LocalServer]) -> "Watch":
        """Say how it is played, see to it that the right ones decide by model, and set the world moving."""
        self._say_who_speaks(core, offers)
        world, told = await core.read(self._run.world_id, lambda s, world: (world, _told_to_go(s, world)))
        self._language = world.language
        there, few = list(world.cast.characters), len(world.cast.characters) <= FEW
        deciding = there[: self._run.characters]
        if self._run.characters > len(there):
            self._say("run.fewer", there=len(there), asked=self._run.characters)
        if not few:
            self._say("run.crowd", there=len(there))
        until = WorldTime(max(told, world.now + self._run.days * MINUTES_PER_DAY))
        self._say(
            "run.begins",
            world=world.cast.world_name,
            since=world.label,
            until=clock_label(until, world.language),
            deciding=self._names(world, deciding),
            rest=self._names(world, there[len(deciding) :]),
        )
        watch = Watch(core, self._run, self._show, world, until, deciding, followed=there if few else deciding)
        await watch.start(told)
        return watch

    def _names(self, world: WorldView, people: Sequence[str]) -> str:
        names = Listed(world.name_of(person_id) for person_id in people[:FEW]).of(world.language)
        return (names + ("" if len(people) <= FEW else f" … ({len(people)})")) or world.say("run.nobody")

    def _say_who_speaks(self, core: Core, offers: Sequence[LocalServer]) -> None:
        names = sorted(set(core.conversation.models.names().values()))
        if names == ["rehearsal"]:
            self._say("run.rehearsal")
        else:
            self._say("run.model", models=", ".join(names))
            if (directory := self._settings.llm.cassette) is not None:
                self._say(f"run.cassette.{self._settings.llm.cassette_mode}", directory=directory)
        for server in offers:
            self._say("run.offer", name=server.name, url=server.base_url)

    def _say(self, key: str, /, **values: object) -> None:
        for line in sentence(self._language, key, **values).split("\n"):
            self._show.say(line)


def _told_to_go(session: Session, world: WorldView) -> WorldTime:
    """How far the world was told to go before."""
    row = session.get(WorldRow, world.id)
    return WorldTime(max(world.now, row.target or 0)) if row else world.now
