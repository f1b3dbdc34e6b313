"""Owns the installation's row: which service's database this is, and the budget of model calls: what a day (UTC, by the
machine's clock) may cost, over all worlds of the database.

A budget protects money, and a world's days pass at any speed: so it is the machine's day that counts. What was spent is
a row of the database, so it survives a restart, and replicas share it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
from service.store.tables import ConversationRow, InstallationRow, TurnRow, UsageRow

CLOSING_TOKENS, TURN_TOKENS = 5000, 1500
"""Tokens of a closing, and of a turn, as long as none was measured. A closing is kept for each running conversation:
what was said is remembered.
"""
FIRST_TURNS = 2
"""So many turns of its own a conversation has room for when it begins: rather fewer talks than talks without a word."""

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

        calls, tokens = of("calls", spent.calls), of("tokens", spent.tokens)
        return BudgetLeft(
            day=spent.day,
            renews_at=self.renews_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            exhausted=self.exhausted is not None or any(one is not None and not one.left for one in (calls, tokens)),
            calls=calls,
            tokens=tokens,
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
        """Raises: BudgetExhausted: no room is left for one more conversation, its first turns and its closing, beside
        those that run.
        """
        if not self.limits:
            return
        if (exhausted := self.exhausted) is not None:
            raise exhausted
        room = _kept(session)
        unspoken = FIRST_TURNS * (room.talks + 1) - _first_turns_said(session)
        more = replace(room, talks=room.talks + 1)
        unit = self._over(_spent(session, self.day), more, calls=unspoken, tokens=unspoken * room.turn_tokens)
        if unit is not None:
            raise self._error(unit)

    def _take(self, session: Session, wanted: Reservation, *, keep: bool) -> tuple[Unit, bool] | None:
        """Take the room for a call, if there is enough; `keep`: beside that of the closings of all that run. Else
        answers which limit refused it, and whether the limit itself did, or only what is kept for closings.
        """
        row, spent = installation(session, lock=True), _spent(session, wanted.day)
        nobody = _Kept(talks=0, closing_tokens=0, turn_tokens=0)
        unit = self._over(spent, _kept(session) if keep else nobody, tokens=wanted.tokens)
        if unit is not None:
            return unit, self._over(spent, nobody, tokens=wanted.tokens) is not None
        row.day, row.calls, row.tokens = wanted.day, spent.calls + 1, spent.tokens + wanted.tokens
        return None

    def _over(self, spent: Spent, kept: "_Kept", *, tokens: int, calls: int = 1) -> Unit | None:
        """Which limit so many calls of so many tokens would break, beside what is kept for closings."""
        comes_to: dict[Unit, int] = {
            "calls": spent.calls + calls + kept.talks,
            "tokens": spent.tokens + tokens + kept.talks * kept.closing_tokens,
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kept:
    """So many conversations, of all worlds, run or are being closed; what a closing and a turn cost."""

    talks: int
    closing_tokens: int
    turn_tokens: int


def _kept(session: Session) -> _Kept:
    talks = select(func.count()).select_from(ConversationRow).where(col(ConversationRow.phase).in_(_UNCLOSED))
    tokens = col(UsageRow.prompt_tokens) + col(UsageRow.completion_tokens)
    spent = select(UsageRow.role, func.sum(tokens), func.sum(col(UsageRow.calls))).group_by(col(UsageRow.role))
    cost = {role: round(each / calls) for role, each, calls in session.exec(spent) if calls}
    closing = cost["closing"] + cost.get("verify", 0) if "closing" in cost else CLOSING_TOKENS
    turn = max(cost.get("npc", 0), cost.get("character", 0)) or TURN_TOKENS
    return _Kept(talks=session.exec(talks).one(), closing_tokens=closing, turn_tokens=turn)


def _first_turns_said(session: Session) -> int:
    """Of the first turns of the conversations that are not closed."""
    said = select(func.count()).where(
        TurnRow.world_id == ConversationRow.world_id,
        TurnRow.conversation_id == ConversationRow.id,
        col(ConversationRow.phase).in_(_UNCLOSED),
        col(TurnRow.turn) < FIRST_TURNS,
    )
    return session.exec(said).one()


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
