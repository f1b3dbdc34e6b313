"""Owns a game as the Python API shows it: its files, its worlds, and the models that speak in them."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, nullcontext
from pathlib import Path

from sqlmodel import Session, col, select

from service.content.fields import ContentProblem, Flag
from service.content.files import bundled_content
from service.content.load import Content
from service.core import Core
from service.llm.chat import Answer, Prompt, T
from service.llm.choose import Models
from service.locales import Language
from service.offline.model import HANDLERS, OfflineModel
from service.offline.model import Handler as Handler
from service.own_prompts import game_problems
from service.people.worlds import WorldView
from service.public.world import World
from service.settings import Settings, read_settings
from service.store.tables import MAIN_WORLD, WorldRow
from service.store.usage import count
from service.store.world_rows import delete_rows
from service.wiring import Wiring, thrown_away
from world.time import WorldTime


class Game:
    """A game that is open: the people and places of its files, and a store with its worlds."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.settings: Settings = core.conversation.settings
        self.models: Models = core.conversation.models
        """who answers for each role"""

    @property
    def content(self) -> Content:
        """What the game's files say: everybody, every place, in every language."""
        return self._core.conversation.worlds.content

    def check(self) -> Sequence[ContentProblem]:
        """Everything that is wrong with the game's files as they are now; each tells itself by `line(language)`."""
        return check(self.settings.content_dir)

    def playing(self, content: Content) -> "Game":
        """The same store and models with other people and places. Only of a game that was opened with `lives=False`."""
        return Game(self._core.playing(content))

    async def worlds(self) -> Sequence[str]:
        """Ids of the worlds that have begun."""
        query = select(WorldRow.id).order_by(col(WorldRow.id))
        return await self._core.conversation.database.read(lambda s: s.exec(query).all())

    def world(self, world_id: str = MAIN_WORLD) -> World:
        """A world. One that nobody has written to yet is at its beginning."""
        return World(self._core, world_id)

    async def begin(
        self,
        world_id: str,
        *,
        language: Language | None = None,
        start: WorldTime | None = None,
        flags: Mapping[str, Flag] | None = None,
    ) -> World:
        """Begin a world, in that language and from that moment on (None: as the game's files say), with these flags."""

        def work(session: Session, _: WorldView) -> None:
            row = session.get_one(WorldRow, world_id)
            row.language = language or row.language
            row.started_at = row.now = row.now if start is None else start
            row.flags = dict(flags or {})

        await self._core.write(world_id, work)
        return self.world(world_id)

    async def remove(self, world_ids: Sequence[str]) -> None:
        """Forget worlds in which nobody lives; many at once cost as little as one."""
        await self._core.conversation.database.write(lambda s: delete_rows(s, world_ids))

    async def ask(self, prompt: Prompt[T], world_id: str = MAIN_WORLD) -> Answer[T]:
        """Ask the model of the prompt's role once; what it costs is counted for the world's day. `Templates.question`
        makes a prompt of a template, its values and the form of the answer.

        Raises:
            ModelError: the model failed.
        """
        self._core.require_models(prompt.role)
        answer = await self.models.for_role(prompt.role).complete(prompt)
        await self._core.write(world_id, lambda s, w: count(s, world_id, w.day, prompt.role, answer.usage))
        return answer


@asynccontextmanager
async def open(
    content: Path | str | Content | None = None,
    *,
    data: Path | str | None = None,
    settings: Settings | None = None,
    rehearsal: bool = False,
    models: Models | None = None,
    handlers: Mapping[type, Handler] | None = None,
    wrap_models: Callable[[Models], Models] = lambda models: models,
    lives: bool = True,
) -> AsyncIterator[Game]:
    """Open a game: a folder of files (None: the settings' own, or the sample village), or content that was read.

    `data`: where its worlds are kept; None: they are thrown away when it is closed. `settings`: None: those of the
    environment and of `.env`. `rehearsal`: nobody but the rehearsal speaks, without a model. `models` stand in for
    those of the settings, `wrap_models` puts something around them, and `handlers` answer in a rehearsal what prompts
    of your own ask. `lives=False`: nobody lives or is taken up by itself, and worlds of one conversation cost little.

    Raises:
        ContentErrors: the game's files have errors.
        Misconfigured: a setting is wrong, or another process has the data.
    """
    chosen = (settings or read_settings()).changed(llm={"provider": "rehearsal"} if rehearsal else {})
    if content is not None and not isinstance(content, Content):
        chosen = chosen.changed(content_dir=Path(content))
    with ExitStack() as ending:
        apart = thrown_away(chosen) if data is None else nullcontext(chosen.changed(data_dir=Path(data)))
        chosen = ending.enter_context(apart)
        offline = OfflineModel(
            {**HANDLERS, **(handlers or {})}, seed=chosen.llm.seed, pace_seconds=chosen.llm.rehearsal_pace_seconds
        )
        wiring = Wiring(
            chosen,
            content=content if isinstance(content, Content) else None,
            models=models,
            offline=offline,
            wrap_models=wrap_models,
        )
        async with wiring.running(lives=lives) as core:
            yield Game(core)


def check(folder: Path | str | None = None) -> Sequence[ContentProblem]:
    """Everything that is wrong with a game's files (None: the sample village's); each tells itself by
    `line(language)`.
    """
    return game_problems(bundled_content() if folder is None else Path(folder))
