"""Owns what is looked at again and again, by APScheduler."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, tzinfo

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from service.steady_time import steady_time

_log = logging.getLogger(__name__)
logging.getLogger("apscheduler").setLevel(
    logging.CRITICAL
)  # it would tell every look, and that one ends when it is stopped


class _ForwardTime(tzinfo):
    """`steady_time` in UTC: `datetime.now` of this zone never goes back, whatever the machine's clock is set to. It is
    for that alone: a date of another zone cannot be brought into this one.

    APScheduler plans by dates. By the machine's own, a clock that is set back an hour would hold up every look as long.
    """

    def fromutc(self, _: datetime) -> datetime:
        """The date now."""
        return datetime.fromtimestamp(steady_time(), UTC).replace(tzinfo=self)

    def utcoffset(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    def dst(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, _: datetime | None) -> str:
        return "UTC"


_FORWARD = _ForwardTime()


class _Every(BaseTrigger):  # type: ignore[misc]  # APScheduler has no types
    """So long after the last time. Unlike APScheduler's own interval it stays in the scheduler's zone."""

    def __init__(self, seconds: float) -> None:
        self._interval = timedelta(seconds=seconds)

    def get_next_fire_time(self, _: datetime | None, now: datetime) -> datetime:
        """See BaseTrigger."""
        return now + self._interval


class Looks:
    """Does `look` from its start on, every so many seconds (machine time), or `soon`."""

    def __init__(self, look: Callable[[], Awaitable[None]], seconds: float) -> None:
        self._look = look
        self._every = _Every(seconds)
        self._scheduler = AsyncIOScheduler(timezone=_FORWARD)

    def start(self) -> None:
        """Look now, and from now on."""
        self._scheduler.start()
        self._scheduler.add_job(
            self._look_again, self._every, id="look", coalesce=True, misfire_grace_time=None, next_run_time=_now()
        )

    def soon(self) -> None:
        """Do not wait for the next time."""
        if self._scheduler.running:
            self._scheduler.modify_job("look", next_run_time=_now())

    async def stop(self) -> None:
        """Look no more; a look that is under way ends."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
            await asyncio.sleep(0)  # it shuts down on the loop's next round

    async def _look_again(self) -> None:
        try:
            await self._look()
        except Exception:  # noqa: BLE001 - the store is away, or whatever it was: the next look recovers
            _log.exception("the worlds cannot be looked at; it is tried again")


def _now() -> datetime:
    return datetime.now(_FORWARD)
