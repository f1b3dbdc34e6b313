"""Owns the run of a world, and the watching of it: a game is opened, and its world is told to go on for some days; what
the world tells, what it costs, what it came to.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import kataribe
from kataribe import Game, World, WorldView
from service.public.events import ConversationEnded, Moment
from service.public.models import REHEARSAL, LocalServer, Settings
from service.public.upkeep import MAIN_WORLD
from service.public.words import MINUTES_PER_DAY, Language, Listed, Phrase, WorldTime, clock_label, sentence
from studio.terminal.cost import Spent, money_of, spent_by_role, total
from studio.terminal.feed import Feed, Ledger, RunResult, summary
from studio.terminal.show import Show, Status, one_line, shown

FEW = 12
"""Up to so many characters the feed tells of everybody."""
_PAGE = 300
"""Events that are read at once."""


@dataclass(frozen=True, kw_only=True)
class WatchedRun:
    """What is asked for: so many world days, the first `characters` of the content deciding by model."""

    days: int
    characters: int
    world_id: str
    language: Language
    plain: bool = False
    keeps: bool = False
    """The data directory is the user's, and stays."""


def run_world(settings: Settings, run: WatchedRun, offers: Sequence[LocalServer] = ()) -> bool:
    """Play it on standard output. False: it was stopped (Ctrl-C) before its end. Without a data directory of the user's
    (``--data`` or ``KATARIBE_DATA_DIR``) the world is made for the occasion and thrown away; without a model configured
    it is a rehearsal.

    Raises:
        KataribeError: the service could not be started, or the world not moved.
    """
    most = max(settings.world.max_tick_minutes, run.days * MINUTES_PER_DAY)
    speaker = {} if settings.names_model else {"provider": REHEARSAL}
    settings = settings.changed(llm=speaker, world={"language": run.language, "max_tick_minutes": most})
    with shown(plain=run.plain) as show:
        watch = _Watch(settings, run, show)
        try:
            asyncio.run(watch.run(offers))
        except KeyboardInterrupt:
            watch.tell_stop()
            return False
    return True


class _Watch:
    """Watches a world for as long as it was told to go on."""

    def __init__(self, settings: Settings, run: WatchedRun, show: Show) -> None:
        self._settings, self._run, self._show = settings, run, show
        self._language = run.language
        self._now: WorldTime | None = None
        self._speaking: dict[str, str] = {}

    async def run(self, offers: Sequence[LocalServer]) -> None:
        """Say who speaks, let the world live, and tell what it came to."""
        data = self._settings.data_dir if self._run.keeps else None
        async with kataribe.open(settings=self._settings, data=data) as game:
            self._say_who_speaks(game, offers)
            for line in summary(await self._watch(game.world(self._run.world_id))):
                self._show.say(line)
        if self._run.keeps:
            self._say("run.kept", data=self._settings.data_dir)

    def tell_stop(self) -> None:
        """The user has stopped it."""
        if self._now is not None:
            self._say("run.stopped", now=clock_label(self._now, self._language))
        more = "" if self._run.world_id == MAIN_WORLD else f" --world {self._run.world_id}"
        self._say("run.go_on" if self._run.keeps else "run.gone", data=self._settings.data_dir, more=more)

    async def _watch(self, world: World) -> RunResult:
        """See to it that the right ones decide by model, and tell what happens until the run is over. A world that was
        on its way comes to its end first: how people decide is not changed while it moves.
        """
        self._world, self._view = world, await world.view()
        self._language, self._since = self._view.language, self._view.now
        told, there = await world.bound_for(), list(self._view.cast.characters)
        self._until = WorldTime(max(told, self._since + self._run.days * MINUTES_PER_DAY))
        deciding = there[: self._run.characters]
        self._tell_beginning(there, deciding)
        self._feed = Feed(self._view, there if len(there) <= FEW else deciding)
        self._ledger = Ledger(self._view, self._since)
        self._seen, self._before = await world.last_event(), spent_by_role(await world.usage())
        begun = time.monotonic()
        await self._follow(world.live())
        await world.let_decide(dict.fromkeys(there, "routine") | dict.fromkeys(deciding, "model"))
        await self._follow(world.live(self._until - told))
        self._ledger.finish(self._now or told)
        return RunResult(
            world=await world.view(),
            since=self._since,
            ledger=self._ledger,
            deciding=deciding,
            needs=await world.needs(),
            spent=await self._spent(),
            seconds=time.monotonic() - begun,
        )

    async def _follow(self, moments: AsyncIterator[Moment]) -> None:
        """Tell what has happened since the last look, and what is going on."""
        async for moment in moments:
            self._now, self._until = moment.now, WorldTime(max(self._until, moment.until))
            for talk_id, words in moment.speaking.items():
                self._speaking[talk_id] = self._view.say(
                    "run.making", name=words.speaker_name, text=one_line(words.text)
                )
            while page := await self._world.story(after=self._seen, limit=_PAGE):
                for told in page:
                    self._ledger.take(told)
                    if isinstance(told.payload, ConversationEnded):
                        self._speaking.pop(told.payload.conversation_id, None)
                    for line in self._feed.lines(told):
                        self._show.say(line)
                self._seen = page[-1].event.id
            self._show.update(await self._status(moment))

    async def _status(self, moment: Moment) -> Status:
        spent, days = total(await self._spent()), (self._until - self._since) / MINUTES_PER_DAY
        done = (moment.now - self._since) / max(1, self._until - self._since)
        line = self._view.say(
            "run.status",
            label=clock_label(moment.now, self._language),
            percent=round(100 * done),
            days=Phrase("counts.days", count=f"{days:g}"),
            in_flight=moment.in_flight,
            calls=f"{spent['calls']:,}",
            tokens=f"{spent['prompt_tokens'] + spent['completion_tokens']:,}",
        )
        if money := money_of(spent):
            line += self._view.say("run.money", money=money)
        return Status(line=line, done=min(1.0, max(0.0, done)), speaking=tuple(self._speaking.values()))

    async def _spent(self) -> dict[str, Spent]:
        """Since the run began."""
        now = spent_by_role(await self._world.usage())
        return {role: spent - self._before.get(role, Spent()) for role, spent in now.items()}

    def _tell_beginning(self, there: Sequence[str], deciding: Sequence[str]) -> None:
        if self._run.characters > len(there):
            self._say("run.fewer", there=len(there), asked=self._run.characters)
        if len(there) > FEW:
            self._say("run.crowd", there=len(there))
        self._say(
            "run.begins",
            world=self._view.cast.world_name,
            since=self._view.label,
            until=clock_label(self._until, self._language),
            deciding=_names(self._view, deciding),
            rest=_names(self._view, there[len(deciding) :]),
        )

    def _say_who_speaks(self, game: Game, offers: Sequence[LocalServer]) -> None:
        names = sorted(set(game.models.names().values()))
        if names == [REHEARSAL]:
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


def _names(world: WorldView, people: Sequence[str]) -> str:
    names = Listed(world.name_of(person_id) for person_id in people[:FEW]).of(world.language)
    return (names + ("" if len(people) <= FEW else f" … ({len(people)})")) or world.say("run.nobody")
