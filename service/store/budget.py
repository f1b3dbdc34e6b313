"""Owns the installation's row: which service's database this is, and the budget of model calls: what a day (UTC, by the
machine's clock) may cost, over all worlds of the database.

A budget protects money, and a world's days pass at any speed: so it is the machine's day that counts. What was spent is
a row of the database, so it survives a restart, and replicas share it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Literal

from pydantic import Field
from sqlalchemy import update
from sqlmodel import Session, col, func, select

from service.errors import BudgetExhausted
from service.llm.chat import Role
from service.llm.wrappers import Reservation
from service.settings import LlmSettings
from service.store.session import Database
from service.store.shown import Out
from service.store.tables import ConversationRow, InstallationRow

CLOSING_TOKENS = 5000
"""Tokens, beside one call, that are kept for the closing of each running conversation: what was said is remembered."""

Unit = Literal["calls", "tokens"]

_SETTINGS: Mapping[Unit, str] = {
    "calls": "KATARIBE_LLM__MAX_CALLS_PER_DAY",
    "tokens": "KATARIBE_LLM__MAX_TOKENS_PER_DAY",
}
_UNCLOSED = ("running", "closing")


def utc_now() -> datetime:
    """The machine's clock."""
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What the model calls of a day have taken. A call that is under way counts with all it may take."""

    day: str
    calls: int
    tokens: int


class LimitLeft(Out):
    """A limit a day, how much of it is spent, and how much is left."""

    limit: int = Field(description="how much may be spent a day")
    spent: int = Field(description="how much is spent today")
    left: int = Field(description="how much is left today")


class BudgetLeft(Out):
    """What a day's model calls may cost, over all worlds. `day` and `renews_at` are the machine's, in UTC."""

    day: str = Field(examples=["2026-04-01"], description="the day that is counted, by the machine's clock in UTC")
    renews_at: str = Field(
        examples=["2026-04-02T00:00:00Z"], description="the moment in UTC from which a new day is counted"
    )
    exhausted: bool = Field(description="no model is asked any more today, but for what is still to be remembered")
    calls: LimitLeft | None = Field(description="null: no limit (KATARIBE_LLM__MAX_CALLS_PER_DAY)")
    tokens: LimitLeft | None = Field(description="null: no limit (KATARIBE_LLM__MAX_TOKENS_PER_DAY)")


class DailyBudget:
    """The limits of the settings, and what is left of them; one for all who ask models.

    A closing may take all that is left. Every other call leaves room for the closings of the running conversations.
    When a call would break a limit itself, the budget is exhausted: until the day is over it allows closings alone.
    """

    def __init__(self, database: Database, settings: LlmSettings, *, now: Callable[[], datetime] = utc_now) -> None:
        """`now` is the machine's clock, in UTC."""
        limits: dict[Unit, int | None] = {"calls": settings.max_calls_per_day, "tokens": settings.max_tokens_per_day}
        costs = settings.provider != "rehearsal"
        self.limits = {unit: limit for unit, limit in limits.items() if limit is not None and costs}
        self._database = database
        self._now = now
        self._exhausted: tuple[str, Unit] | None = None

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
        return self._error(self._exhausted[1])

    async def spent(self) -> Spent:
        """What today has cost so far."""
        day = self.day
        return await self._database.read(lambda s: _spent(s, day))

    async def left(self) -> BudgetLeft:
        """What today has left."""
        spent = await self.spent()

        def of(unit: Unit, spent: int) -> LimitLeft | None:
            limit = self.limits.get(unit)
            return None if limit is None else LimitLeft(limit=limit, spent=spent, left=max(0, limit - spent))

        return BudgetLeft(
            day=spent.day,
            renews_at=self.renews_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            exhausted=self.exhausted is not None,
            calls=of("calls", spent.calls),
            tokens=of("tokens", spent.tokens),
        )

    async def reserve(self, role: Role, tokens: int) -> Reservation:
        """See Budget."""
        reservation = Reservation(day=self.day, tokens=tokens)
        if not self.limits:
            return reservation
        is_closing = role in ("closing", "verify")
        if not is_closing and (exhausted := self.exhausted) is not None:
            raise exhausted
        refused = await self._database.write(lambda s: self._take(s, reservation, keep=not is_closing))
        if refused is None:
            return reservation
        unit, by_limit = refused
        if by_limit and not is_closing:
            self._exhausted = (reservation.day, unit)
        raise self._error(unit)

    async def settle(self, reservation: Reservation, tokens: int) -> None:
        """See Budget."""
        if not self.limits:
            return

        def work(session: Session) -> None:
            row = installation(session, lock=True)
            if row.day == reservation.day:
                row.tokens += tokens - reservation.tokens

        await self._database.write(work)

    def require_talk(self, session: Session) -> None:
        """Raises: BudgetExhausted: no room is left for one more conversation (one turn at least) and its closing."""
        if not self.limits:
            return
        if (exhausted := self.exhausted) is not None:
            raise exhausted
        unit = self._over(_spent(session, self.day), talks=_unclosed(session) + 1, tokens=0)
        if unit is not None:
            raise self._error(unit)

    def allows_closing(self, session: Session) -> bool:
        """Whether there is room for a closing."""
        return self._over(_spent(session, self.day), talks=0, tokens=CLOSING_TOKENS) is None

    def _take(self, session: Session, wanted: Reservation, *, keep: bool) -> tuple[Unit, bool] | None:
        """Take the room for a call, if there is enough; `keep`: beside that of the closings of all that run. Else
        answers which limit refused it, and whether the limit itself did, or only what is kept for closings.
        """
        row, spent = installation(session, lock=True), _spent(session, wanted.day)
        unit = self._over(spent, talks=_unclosed(session) if keep else 0, tokens=wanted.tokens)
        if unit is not None:
            return unit, self._over(spent, talks=0, tokens=wanted.tokens) is not None
        row.day, row.calls, row.tokens = wanted.day, spent.calls + 1, spent.tokens + wanted.tokens
        return None

    def _over(self, spent: Spent, *, talks: int, tokens: int) -> Unit | None:
        """Which limit a call of so many tokens would break, with room kept for the closings of so many talks."""
        comes_to: dict[Unit, int] = {
            "calls": spent.calls + 1 + talks,
            "tokens": spent.tokens + tokens + talks * CLOSING_TOKENS,
        }
        return next((unit for unit, limit in self.limits.items() if comes_to[unit] > limit), None)

    def _error(self, unit: Unit) -> BudgetExhausted:
        now, renews_at = self._now(), self.renews_at
        return BudgetExhausted(
            setting=_SETTINGS[unit],
            limit=self.limits[unit],
            day=self.day,
            renews_at=renews_at.isoformat(),
            retry_after_seconds=max(1, round((renews_at - now).total_seconds())),
        )


def _spent(session: Session, day: str) -> Spent:
    row = session.get(InstallationRow, 1)
    if row is None or row.day != day:
        return Spent(day=day, calls=0, tokens=0)
    return Spent(day=day, calls=row.calls, tokens=row.tokens)


def _unclosed(session: Session) -> int:
    """Conversations of all worlds that run, or are being closed."""
    query = select(func.count()).select_from(ConversationRow).where(col(ConversationRow.phase).in_(_UNCLOSED))
    return session.exec(query).one()


def installation(session: Session, *, lock: bool = False) -> InstallationRow:
    """Its row; made by the first who asks. With `lock` it is held until the transaction ends. The caller commits."""
    row = session.get(InstallationRow, 1, with_for_update=lock or None)
    if row is None:
        row = InstallationRow()
        session.add(row)
        session.flush()
    return row


def installation_id(session: Session) -> str:
    """The installation's own."""
    return installation(session).id


def try_write(session: Session) -> None:
    """Write what stands there already: whether the database can be written to. The caller commits."""
    kept = installation_id(session)
    session.execute(update(InstallationRow).where(col(InstallationRow.id) == kept).values(id=kept))
