"""Owns the installation's row: which service's database this is, and the budget of model calls: what a day (UTC, by the
machine's clock) may cost, over all worlds of the database.

A budget protects money, and a world's days pass at any speed: so it is the machine's day that counts. What was spent is
a row of the database, so it survives a restart, and replicas share it.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any, NamedTuple

from pydantic import Field
from sqlalchemy import delete, exists, update
from sqlmodel import Session, col, func, select

from service.errors import BudgetExhausted
from service.llm.chat import Role
from service.llm.wrappers import Reservation
from service.settings import Limit, LimitScope, LimitUnit, LlmSettings
from service.store.phase import Phase, TurnForm
from service.store.session import Database
from service.store.shown import Out
from service.store.tables import (
    ConversationRow,
    InstallationRow,
    ParticipantRow,
    SpentRow,
    SpentToday,
    TurnRow,
    UsageRow,
    said_in,
)

CLOSING_TOKENS, TURN_TOKENS = 5000, 1500
"""Tokens of a closing, and of a turn, as long as none was measured. A closing is kept for each running conversation:
what was said is remembered.
"""
FIRST_TURNS = 2
"""So many turns of its own a conversation has room for: rather fewer talks than talks without a word, and no talk takes
them from another.
"""
LAST_TURNS = 2
"""So many more turns a conversation has when attention falls: it comes to its end."""


def utc_now() -> datetime:
    """The machine's clock."""
    return datetime.now(UTC)


class Subject(NamedTuple):
    """Whose day is counted: of which world ("": of all), in which scope, by which id or name."""

    world_id: str
    scope: str
    name: str


ALL = Subject("", "all", "")


class LimitLeft(Out):
    """A limit a day, how much of it is spent, and how much is left."""

    limit: int = Field(description="how much may be spent a day")
    spent: int = Field(description="how much is spent today")
    left: int = Field(description="how much is left today")


class ScopedLeft(Out):
    """A limit of KATARIBE_LLM__LIMITS, for one of those that it holds for."""

    limit: float = Field(description="how much may be spent a day")
    spent: float = Field(description="how much is spent today")
    left: float = Field(description="how much is left today")
    scope: LimitScope = Field(description="what the limit holds for")
    unit: LimitUnit = Field(description="what it counts")
    world_id: str | None = Field(description="in which world; null: in all")
    name: str | None = Field(description="which world, conversation, player or key; null: all")
    is_low: bool = Field(description="so much is spent that attention falls")


class BudgetLeft(Out):
    """What a day's model calls may cost, over all worlds. `day` and `renews_at` are the machine's, in UTC."""

    day: str = Field(examples=["2026-04-01"], description="the day that is counted, by the machine's clock in UTC")
    renews_at: str = Field(
        examples=["2026-04-02T00:00:00Z"], description="the moment in UTC from which a new day is counted"
    )
    exhausted: bool = Field(description="no model is asked any more today, but for what is still to be remembered")
    calls: LimitLeft | None = Field(description="null: no limit (KATARIBE_LLM__MAX_CALLS_PER_DAY)")
    tokens: LimitLeft | None = Field(description="null: no limit (KATARIBE_LLM__MAX_TOKENS_PER_DAY)")
    limits: list[ScopedLeft] = Field(description="KATARIBE_LLM__LIMITS, of all that have spent something today")


class DailyBudget:
    """The limits of the settings, and what is left of them; one for all who ask models.

    A closing may take all that is left. Every other call leaves room for the closings of the running conversations, and
    for the first turns of the others. When a call would break a limit of everything itself, the budget is exhausted:
    until the day is over it allows closings alone.
    """

    def __init__(self, database: Database, settings: LlmSettings, *, now: Callable[[], datetime] = utc_now) -> None:
        """`now` is the machine's clock, in UTC."""
        self.limits = settings.every_limit if settings.provider != "rehearsal" else {}
        self._database = database
        self._now = now
        self._exhausted: tuple[str, str] | None = None

    @property
    def day(self) -> str:
        """Today, in UTC: 2026-04-01."""
        return self._now().date().isoformat()

    @property
    def renews_at(self) -> datetime:
        """When today is over."""
        return datetime.combine(self._now().date() + timedelta(days=1), time(), UTC)

    @property
    def exhausted(self) -> BudgetExhausted | None:
        """Why no model is asked any more today, but for closings; None: models are asked."""
        if self._exhausted is None or self._exhausted[0] != self.day:
            return None
        return self._error(self._exhausted[1], ALL)

    async def left(self) -> BudgetLeft:
        """What today has left."""
        day = self.day

        def work(session: Session) -> dict[Subject, SpentToday]:
            rows = session.exec(select(SpentRow).where(SpentRow.day == day))
            subjects = [ALL, *(Subject(row.world_id, row.scope, row.name) for row in rows)]
            return {one: _spent(session, one, day) for one in subjects}

        spent = await self._database.read(work)
        every = [(name, _left(one, limit, told)) for one, told in spent.items() for name, limit in self._limits_of(one)]
        told = {name: one.model_dump(include={"limit", "spent", "left"}) for name, one in every if one.scope == "all"}
        return BudgetLeft(
            day=day,
            renews_at=self.renews_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            exhausted=self.exhausted is not None or any(not one["left"] for one in told.values()),
            calls=told.get("KATARIBE_LLM__MAX_CALLS_PER_DAY"),
            tokens=told.get("KATARIBE_LLM__MAX_TOKENS_PER_DAY"),
            limits=[one for name, one in every if not name.endswith("_PER_DAY")],
        )

    async def reserve(self, role: Role, tokens: int, money: float = 0.0, thread: str = "") -> Reservation:
        """See Budget."""
        wanted = Reservation(day=self.day, tokens=tokens, money=money)
        if not self.limits:
            return wanted
        is_closing = role in ("closing", "verify")
        if not is_closing and (exhausted := self.exhausted) is not None:
            raise exhausted
        taken = await self._database.write(lambda s: self._take(s, wanted, role, thread, keep=not is_closing))
        if isinstance(taken, Reservation):
            return taken
        name, subject, by_limit = taken
        if by_limit and not is_closing and subject == ALL:
            self._exhausted = (wanted.day, name)
        raise self._error(name, subject)

    async def settle(self, reservation: Reservation, tokens: int, money: float = 0.0) -> None:
        """See Budget."""
        if not self.limits:
            return

        def work(session: Session) -> None:
            installation(session, lock=True)
            for subject in reservation.of:
                row = _row(session, Subject(*subject))
                if row is not None and row.day == reservation.day:
                    row.tokens += tokens - reservation.tokens
                    row.money += money - reservation.money

        await self._database.write(work)

    def require_talk(self, session: Session, begun: ConversationRow | None = None) -> None:
        """Let a conversation that has just `begun` go on, or one more begin (None: of nobody in particular).

        Raises:
            BudgetExhausted: no room is left for its first turns and its closing, beside those that run.
        """
        if not self.limits:
            return
        if (exhausted := self.exhausted) is not None:
            raise exhausted
        for subject in self._subjects(session, "" if begun is None else begun.world_id, begun):
            over = self._over(subject, _spent(session, subject, self.day), _room(session, subject, more=begun is None))
            if over is not None:
                raise self._error(over, subject)

    def _take(
        self, session: Session, wanted: Reservation, role: Role, thread: str, *, keep: bool
    ) -> Reservation | tuple[str, Subject, bool]:
        """Take the room for a call, if there is enough; `keep`: beside what is kept for others. Else answers which
        limit refused it, of whom, and whether the limit itself did, or only what is kept.
        """
        whole = installation(session, lock=True)
        if whole.day != wanted.day:  # what was spent on other days is of no use any more
            session.execute(delete(SpentRow).where(col(SpentRow.day) != wanted.day))
            whole.day, whole.calls, whole.tokens, whole.money = wanted.day, 0, 0, 0.0
        world_id, _, talk_id = thread.partition("/")
        talk = session.get(ConversationRow, (world_id, talk_id))
        cost: Costs = {"calls": 1, "tokens": wanted.tokens, "money": wanted.money}
        taken = {one: _spent(session, one, wanted.day) for one in self._subjects(session, world_id, talk)}
        for subject, spent in taken.items():
            if (over := self._over(subject, spent, cost)) is not None:
                return over, subject, True
            if not keep:
                continue
            room = _room(session, subject, besides=talk)
            over = self._over(subject, spent, {unit: cost[unit] + room[unit] for unit in cost})
            if over is None and (low := self._low(subject, spent)) is not None:
                over = low if role == "decision" else None
                _hasten(session, talk)
            if over is not None:
                return over, subject, False
        for subject, spent in taken.items():
            row = _row(session, subject) or SpentRow(**subject._asdict())
            row.day, row.calls = wanted.day, spent.calls + 1
            row.tokens, row.money = spent.tokens + wanted.tokens, spent.money + wanted.money
            session.add(row)
        return replace(wanted, of=tuple(taken))

    def _subjects(self, session: Session, world_id: str, talk: ConversationRow | None) -> list[Subject]:
        """Those with a limit that a call in the world, or in the talk, is counted for."""
        found = [ALL, Subject(world_id, "world", world_id)]
        if talk is not None:
            players = (Subject(world_id, "player", one) for one in talk.humans)
            found += [Subject(world_id, "conversation", talk.id), *players, Subject("", "key", talk.asked_with)]
        return [one for one in found if (one == ALL or one.name) and self._limits_of(one)]

    def _limits_of(self, subject: Subject) -> list[tuple[str, Limit]]:
        every = self.limits.items()
        return [(name, one) for name, one in every if one.scope == subject.scope and one.of in (None, subject.name)]

    def _over(self, subject: Subject, spent: SpentToday, cost: "Costs") -> str | None:
        """Which limit of it that would break."""
        limits = self._limits_of(subject)
        return next((name for name, one in limits if getattr(spent, one.unit) + cost[one.unit] > one.most), None)

    def _low(self, subject: Subject, spent: SpentToday) -> str | None:
        """Of which limit of it so much is spent that attention falls."""
        return next((name for name, one in self._limits_of(subject) if _is_low(one, spent)), None)

    def _error(self, name: str, subject: Subject) -> BudgetExhausted:
        now, renews_at, limit = self._now(), self.renews_at, self.limits[name]
        of = "" if name.endswith("_PER_DAY") else f" {limit.unit}, {limit.scope} {subject.name}".rstrip()
        return BudgetExhausted(
            setting=name,
            limit=f"{limit.most:g}{of}" if of else round(limit.most),
            day=self.day,
            renews_at=renews_at.isoformat(),
            retry_after_seconds=max(1, round((renews_at - now).total_seconds())),
        )


Costs = dict[LimitUnit, float]


def _spent(session: Session, subject: Subject, day: str) -> SpentToday:
    """What its model calls of the day have taken; one that is under way counts with all it may take."""
    row = session.get(InstallationRow, 1) if subject == ALL else session.get(SpentRow, subject)
    return SpentToday(day=day) if row is None or row.day != day else row


def _row(session: Session, subject: Subject) -> InstallationRow | SpentRow | None:
    """Its row; the installation's is locked by whoever asks."""
    return installation(session) if subject == ALL else session.get(SpentRow, subject)


def _left(subject: Subject, limit: Limit, told: SpentToday) -> ScopedLeft:
    spent = getattr(told, limit.unit)
    return ScopedLeft(
        limit=limit.most,
        spent=spent,
        left=max(0, limit.most - spent),
        scope=limit.scope,
        unit=limit.unit,
        world_id=subject.world_id or None,
        name=subject.name or None,
        is_low=_is_low(limit, told),
    )


def _is_low(limit: Limit, spent: SpentToday) -> bool:
    return limit.soft < 1 and getattr(spent, limit.unit) >= limit.soft * limit.most


def _hasten(session: Session, talk: ConversationRow | None) -> None:
    """Let the talk come to its end, with a goodbye. A chat client's has none, and a scene is its writer's."""
    if talk is not None and talk.chat_idle_minutes is None and talk.form == TurnForm.TALK:
        said = session.exec(select(func.count()).where(*said_in(talk.key))).one()
        talk.max_turns = min(talk.max_turns, said + LAST_TURNS)


def _room(session: Session, subject: Subject, *, more: bool = False, besides: ConversationRow | None = None) -> Costs:
    """What is kept for its talks of all worlds that run or are being closed, and with `more` for one that begins: a
    closing, and the first turns that were not spoken yet, but for those of the talk `besides`.
    """
    row, seat = ConversationRow, ParticipantRow
    part = col(seat.world_id) == row.world_id, col(seat.conversation_id) == row.id, col(seat.person_id) == subject.name
    every: dict[str, list[Any]] = {
        "all": [],
        "world": [row.world_id == subject.world_id],
        "conversation": [row.world_id == subject.world_id, row.id == subject.name],
        "player": [row.world_id == subject.world_id, exists().where(*part)],
        "key": [row.asked_with == subject.name],
    }
    of = every[subject.scope]
    running = [*of, row.phase == Phase.RUNNING]
    if besides is not None:
        running.append((col(row.world_id) != besides.world_id) | (col(row.id) != besides.id))
    first = (TurnRow.world_id == row.world_id, TurnRow.conversation_id == row.id, col(TurnRow.turn) < FIRST_TURNS)
    unclosed = [*of, col(row.phase).in_((Phase.RUNNING, Phase.CLOSING))]
    talks, speaking, said = (
        session.exec(select(func.count()).select_from(row).where(*which)).one()
        for which in (unclosed, running, [*first, *running])
    )
    return _costs(session, closings=talks + more, turns=max(0, FIRST_TURNS * (speaking + more) - said))


def _costs(session: Session, *, closings: int, turns: int) -> Costs:
    """What so many closings and turns cost, as those before have."""
    tokens = func.sum(col(UsageRow.prompt_tokens) + col(UsageRow.completion_tokens))
    measured = select(UsageRow.role, tokens, func.sum(col(UsageRow.calls)), func.sum(col(UsageRow.money)))
    rows = [(role, each, calls, money) for role, each, calls, money in session.exec(measured.group_by(UsageRow.role))]
    cost = {role: round(each / calls) for role, each, calls, _ in rows if calls}
    closing = cost["closing"] + cost.get("verify", 0) if "closing" in cost else CLOSING_TOKENS
    turn = max(cost.get("npc", 0), cost.get("character", 0)) or TURN_TOKENS
    wanted = closings * closing + turns * turn
    price = sum(money for *_, money in rows) / max(1, sum(each for _, each, *_ in rows))
    return {"calls": closings + turns, "tokens": wanted, "money": wanted * price}


def installation(session: Session, *, lock: bool = False) -> InstallationRow:
    """Its row; made by the first who asks. With `lock` it is held until the transaction ends. The caller commits."""
    row = session.get(InstallationRow, 1, with_for_update=lock or None)
    if row is None:
        row = InstallationRow()
        session.add(row)
        session.flush()
    return row


def try_write(session: Session) -> None:
    """Write what stands there already: whether the database can be written to. The caller commits."""
    kept = installation(session).id
    session.execute(update(InstallationRow).where(col(InstallationRow.id) == kept).values(id=kept))
