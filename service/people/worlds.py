"""Owns the way into a world: its row and clock in the store, and the author's content in the world's language."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from service.content.load import Cast, Content
from service.content.profile import CharacterProfile, Decides, NpcProfile
from service.locales import Language, languages, sentence
from service.locales.time import clock_label
from service.settings import WorldSettings
from service.store.tables import NoticeRow, WorldRow
from world.places import WorldMap
from world.routes import Routes
from world.setting import Setting
from world.time import WorldTime, day_of, parse_time


@dataclass(frozen=True, kw_only=True)
class WorldView:
    """A world at one moment: `now` is its clock when it was opened."""

    id: str
    language: Language
    now: WorldTime
    started_at: WorldTime
    cast: Cast
    setting: Setting
    settings: WorldSettings
    decision: Decides = "model"
    weather: str = ""
    notices: tuple[NoticeRow, ...] = ()

    @property
    def map(self) -> WorldMap:
        """The places of the world."""
        return self.cast.world_map

    @property
    def routes(self) -> Routes:
        """Who can walk where."""
        return self.setting.routes

    def at(self, t: WorldTime) -> "WorldView":
        """The same world at another moment: who runs ahead of the clock, or looks back, asks this one."""
        return self if t == self.now else replace(self, now=t)

    @property
    def day(self) -> int:
        """Number of the current world day."""
        return day_of(self.now, day_starts=self.settings.day_starts_minutes)

    @property
    def label(self) -> str:
        """The current date and time as a person would say it."""
        return clock_label(self.now, self.language)

    @property
    def sky(self) -> str:
        """Date, time and weather, as every prompt says them."""
        return self._said(self.label, self.weather)

    @property
    def announced(self) -> tuple[str, ...]:
        """What is announced."""
        return tuple(notice.text for notice in self.notices if notice.at <= self.now < notice.until)

    @property
    def circumstances(self) -> str:
        """Date, time, weather, and what is announced, on one line."""
        return self._said(self.sky, *self.announced)

    def say(self, key: str, /, **facts: object) -> str:
        """The sentence in the world's language."""
        return sentence(self.language, key, **facts)

    def _said(self, *parts: str) -> str:
        return self.say("common.full_stop").join(filter(None, parts))

    def character(self, character_id: str) -> CharacterProfile:
        """Raises: NotFound."""
        return self.cast.character(character_id)

    def npc(self, npc_id: str) -> NpcProfile:
        """Raises: NotFound."""
        return self.cast.npc(npc_id)

    def name_of(self, person_id: str) -> str:
        """The person's name; the id itself where the content no longer has the person."""
        found = self.cast.find(person_id)
        return found.name if found else person_id


class WorldRepository:
    """The content every world of this service is played with."""

    def __init__(self, content: Content, settings: WorldSettings) -> None:
        self.content = content
        self.settings = settings
        self._setting = lru_cache(lambda language: _setting_of(content.cast(language)))

    @cached_property
    def start(self) -> WorldTime:
        """When a new world begins. Raises: BadWorldTime: the setting is none."""
        return parse_time(self.settings.start) if self.settings.start else self.content.start

    def open(self, session: Session, world_id: str, *, lock: bool = False) -> WorldView:
        """The world as it stands. A world nobody has written to yet is at its beginning, and has no row.

        With `lock` (inside a write) the row is made if need be, and held until the transaction ends.
        """
        return self.as_world(*self.read(session, world_id, lock=lock))

    def read(self, session: Session, world_id: str, *, lock: bool = False) -> tuple[WorldRow, tuple[NoticeRow, ...]]:
        """The rows that `open` makes a world of."""
        query = select(WorldRow, NoticeRow).outerjoin(NoticeRow, is_up()).where(WorldRow.id == world_id)
        query = query.order_by(col(NoticeRow.at), col(NoticeRow.id))
        if lock:
            query = query.with_for_update(of=WorldRow).execution_options(populate_existing=True)
        found = session.exec(query).all()
        if found:
            return found[0][0], tuple(notice for _, notice in found if notice is not None)
        language = self.settings.language or self.content.default_language
        row = WorldRow(id=world_id, language=language, started_at=self.start, now=self.start)
        if lock:
            session.add(row)
            session.flush()
        return row, ()

    def told_in(self, world: WorldView, language: Language) -> WorldView:
        """The same world with its texts in that language."""
        if language == world.language:
            return world
        return replace(world, language=language, cast=self.content.cast(language), setting=self._setting(language))

    def as_world(self, row: WorldRow, notices: tuple[NoticeRow, ...] = ()) -> WorldView:
        """A world's row with the content in its language."""
        language = row.language if row.language in languages() else "en"
        return WorldView(
            id=row.id,
            language=language,
            now=WorldTime(row.now),
            started_at=WorldTime(row.started_at),
            cast=self.content.cast(language),
            setting=self._setting(language),
            settings=self.settings,
            decision="routine" if (row.decision or self.settings.decision) == "routine" else "model",
            weather=row.weather,
            notices=notices,
        )


def is_up() -> ColumnElement[bool]:
    """Of a world's notices: those that are not over."""
    return (col(NoticeRow.world_id) == WorldRow.id) & (col(NoticeRow.until) > WorldRow.now)


def _setting_of(cast: Cast) -> Setting:
    return Setting.of(cast.world_map, cast.catalogue)
