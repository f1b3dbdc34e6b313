"""Owns the way into a world: its row and clock in the store, and the author's content in the world's language."""

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from sqlmodel import Session, col, select

from service.content.fields import Flag
from service.content.load import Cast, Content
from service.content.made import Lasting, Made, with_made
from service.content.profile import Decides
from service.locales import Language, ago, clock_label, languages, sentence
from service.people.proposals import proposals_in
from service.settings import WorldSettings
from service.store.phase import ProposalState
from service.store.shown import ToldWorldTime
from service.store.tables import MadePersonRow, MemoryRow, WorldRow
from world.places import WorldMap
from world.setting import Rules, Setting
from world.time import WorldTime, day_end, day_of, parse_time

MOST_CASTS = 256
"""Worlds with people made at run time whose casts are held in memory."""


class Casts:
    """Everybody and every place of a world, in every language; routes and distances are made when they are first asked
    for.
    """

    def __init__(
        self, casts: Mapping[Language, Cast], rules: Rules, settings: dict[Language, Setting] | None = None
    ) -> None:
        """`settings`: those made so far for other casts on the same maps."""
        self._casts, self._rules = casts, rules
        self._settings = {} if settings is None else settings

    def of(self, language: Language) -> tuple[Cast, Setting]:
        """The same objects each time the same language is asked for."""
        cast = self._casts[language]
        if language not in self._settings:
            self._settings[language] = Setting(cast.world_map, cast.catalogue, self._rules)
        return cast, self._settings[language]

    def with_made(self, people: list[Made], lasting: list[Lasting], before: "Casts") -> "Casts":
        """And these, with what came to stay with anybody. Where NPCs stand as they stood `before`, or here, the setting
        is the same.
        """
        casts = {language: with_made(cast, language, people, lasting) for language, cast in self._casts.items()}
        made = Casts(casts, self._rules)
        same = next((known for known in (self, before) if known.posts == made.posts), made)
        return Casts(casts, self._rules, same._settings)

    @property
    def posts(self) -> Mapping[str, str]:
        """Where NPCs stand, which is the same in every language."""
        return next(iter(self._casts.values())).world_map.posts


@dataclass(frozen=True, kw_only=True)
class Notice:
    """Something the author announced, see WorldRow."""

    text: str
    """what everybody knows, as a sentence"""
    at: ToldWorldTime
    """the world time from which it is known"""
    until: ToldWorldTime
    """the world time before which it holds"""


@dataclass(frozen=True, kw_only=True)
class WorldView:
    """A world at one moment: `now` is its clock when it was opened, on which `timeline` (see WorldRow)."""

    id: str
    """id of the world, as the header X-World-Id names it"""
    language: Language
    """the language of the world's texts and talks"""
    now: WorldTime
    """the world time at which the world's clock stands"""
    started_at: WorldTime
    """the world time at which its story begins"""
    casts: Casts
    cast: Cast
    setting: Setting
    settings: WorldSettings
    decision: Decides = "model"
    """how characters decide that say nothing of their own"""
    context_tokens: int | None = None
    """about how many tokens a prompt of a talk may take in it; null: as the settings say"""
    weather: str = ""
    """the weather in words; empty: there is nothing to say of it"""
    flags: Mapping[str, Flag] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    timeline: int = 0

    @property
    def map(self) -> WorldMap:
        """The places of the world."""
        return self.cast.world_map

    def at(self, t: WorldTime) -> "WorldView":
        """The same world at another moment, earlier or later than its clock."""
        return self if t == self.now else replace(self, now=t)

    @property
    def day(self) -> int:
        """Number of the current world day."""
        return day_of(self.now, day_starts=self.settings.day_starts_minutes)

    @property
    def day_ends(self) -> WorldTime:
        """When the next world day begins."""
        return day_end(self.now, day_starts=self.settings.day_starts_minutes)

    @property
    def label(self) -> str:
        """The current date and time as a person would say it."""
        return clock_label(self.now, self.language)

    def ago(self, then: int, language: Language | None = None) -> str:
        """The world time since then, in words of that language; None: of the world's."""
        day_starts = self.settings.day_starts_minutes
        return ago(WorldTime(then), self.now, language or self.language, day_starts=day_starts)

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

    def place_told(self, node_id: str) -> str:
        """What the place is called, and is: ``Bread Lane, Mugiho Bakery (bread and buns; Harue's)``. An NPC's own node
        belongs to the facility beside it. Raises: UnknownPlace.
        """
        beside = self.map.beside(node_id) if node_id in self.map.closed_nodes else ()
        here = next((found[0] for one in (node_id, *beside) if (found := self.map.facilities_at(one))), None)
        label = self.map.label(node_id)
        if here is None:
            return label
        place = self.say("common.comma").join(dict.fromkeys((label, here.name)))
        return self.say("common.aside", what=place, inside=here.description) if here.description else place

    def home(self, person_id: str) -> str:
        """The node at which a walker begins. Raises: NotFound: nobody of that id walks."""
        return self.cast.homes.get(person_id) or self.cast.character(person_id).home

    def name_of(self, person_id: str) -> str:
        """The person's name, also of one that was removed; the id itself where the content no longer has the person."""
        found = self.cast.find(person_id)
        return found.name if found else self.cast.removed.get(person_id, person_id)

    def own_name(self, person_id: str) -> str | None:
        """The person's name if nobody else bears it; None: the name alone does not say who is meant."""
        return None if person_id in self.cast.namesakes else self.name_of(person_id)

    def told_in(self, language: Language) -> "WorldView":
        """The same world with its texts in that language."""
        if language == self.language:
            return self
        cast, setting = self.casts.of(language)
        return replace(self, language=language, cast=cast, setting=setting)


class _Played:
    """Content in force, and the casts composed from it and from people made at run time, by world and revision of its
    people.
    """

    def __init__(self, content: Content, rules: Rules) -> None:
        self.content = content
        self.authored = Casts(content.casts, rules)
        self.composed: OrderedDict[str, tuple[int, Casts]] = OrderedDict()


class WorldRepository:
    """The content every world of this service is played with."""

    def __init__(self, content: Content, settings: WorldSettings) -> None:
        self.settings = settings
        self._rules = Rules(table=settings.table)
        self._played = _Played(content, self._rules)

    @property
    def content(self) -> Content:
        """What is in force."""
        return self._played.content

    def play(self, content: Content) -> None:
        """Have this content in force from now on; a world that is open keeps what it was opened with."""
        self._played = _Played(content, self._rules)

    def forget_world(self, world_id: str) -> None:
        """Hold nothing in memory of a world whose rows are removed."""
        self._played.composed.pop(world_id, None)

    @property
    def start(self) -> WorldTime:
        """When a new world begins. Raises: BadWorldTime: the setting is none."""
        return parse_time(self.settings.start) if self.settings.start else self.content.start

    def open(self, session: Session, world_id: str, *, lock: bool = False) -> WorldView:
        """The world as it stands. A world nobody has written to yet is at its beginning, and has no row.

        With `lock` (inside a write) the row is made if need be, and held until the transaction ends.
        """
        return self.as_world(session, self.read(session, world_id, lock=lock))

    def read(self, session: Session, world_id: str, *, lock: bool = False) -> WorldRow:
        """The row that `open` makes a world of."""
        found = session.get(WorldRow, world_id, with_for_update=lock or None, populate_existing=lock)
        if found is not None:
            return found
        language = self.settings.language or self.content.default_language
        row = WorldRow(id=world_id, language=language, started_at=self.start, now=self.start)
        if lock:
            session.add(row)
            session.flush()
        return row

    def as_world(self, session: Session, row: WorldRow) -> WorldView:
        """A world's row with the content, and with people made at run time, in its language."""
        language = row.language if row.language in languages() else "en"
        casts = self._casts(session, row)
        decision: Any = row.decision or self.settings.decision
        cast, setting = casts.of(language)
        return WorldView(
            id=row.id,
            language=language,
            now=WorldTime(row.now),
            started_at=WorldTime(row.started_at),
            casts=casts,
            cast=cast,
            setting=setting,
            settings=self.settings,
            context_tokens=row.context_tokens,
            decision=decision,
            weather=row.weather,
            flags=row.flags,
            notices=tuple(Notice(**notice) for notice in row.notices),
            timeline=row.timeline,
        )

    def _casts(self, session: Session, row: WorldRow) -> Casts:
        """Those of the content, or what was composed for this revision of the world's people: the same object while
        nobody is made, changed or removed.
        """
        played = self._played  # another thread may put other content in force
        if not row.people_revision:
            return played.authored
        revision, casts = played.composed.get(row.id, (0, played.authored))
        if revision != row.people_revision:
            casts = played.authored.with_made(made_people(session, row.id), _lasting(session, row.id), casts)
            played.composed[row.id] = row.people_revision, casts
            played.composed.move_to_end(row.id)
            if len(played.composed) > MOST_CASTS:
                played.composed.popitem(last=False)
        return casts


def made_people(session: Session, world_id: str) -> list[Made]:
    """Who was made at run time, those that are removed too, in the order of their ids."""
    rows = session.exec(
        select(MadePersonRow).where(MadePersonRow.world_id == world_id).order_by(col(MadePersonRow.person_id))
    )
    return [Made(id=row.person_id, kind=row.kind, profile=row.profile, removed=row.removed) for row in rows]


def _lasting(session: Session, world_id: str) -> list[Lasting]:
    """The experiences and goals that a writer accepted, in the order in which that happened; and goals reached."""
    accepted = [one for one in proposals_in(session, world_id) if one.state == ProposalState.ACCEPTED]
    row = MemoryRow
    reached = select(row).where(
        row.world_id == world_id, row.source == "goal", col(row.deleted).is_(False), col(row.valid_to).is_(None)
    )
    return [
        *(
            Lasting(person_id=one.person_id, kind=one.kind, text=one.text, weight=one.importance)
            for one in sorted(accepted, key=attrgetter("at", "id"))
            if one.kind != "memory"
        ),
        *(
            Lasting(person_id=one.person_id, kind="reached", text=one.about, weight=one.importance)
            for one in session.exec(reached)
        ),
    ]


def count_people_revision(session: Session, world_id: str) -> None:
    """People of the world were made, changed or removed, or something stays with one: everybody composes its cast
    anew. Microseconds of machine time, so that no two casts of a world bear the same, also where it was removed and
    begun again.
    """
    session.flush()
    row = session.get_one(WorldRow, world_id)
    row.people_revision = max(row.people_revision + 1, time.time_ns() // 1000)
