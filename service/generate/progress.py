"""Owns what is shown while many items are made: how many are done, how fast, what they cost, how long it takes."""

import asyncio
import time
from collections.abc import Callable

from service.generate.meter import Meter
from service.locales import Language, Phrase, sentence
from service.run.cost import Prices
from service.run.show import Show, Status

_LOOK_SECONDS = 0.2
_LINE_SECONDS = 10.0
"""How often a line is written where nothing can be drawn."""


class Progress:
    """The progress of one run. `clock` is the machine's, in seconds."""

    def __init__(
        self,
        show: Show,
        language: Language,
        meter: Meter,
        prices: Prices | None,
        *,
        done: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`done`: so many items were made by runs before."""
        self._show, self._language, self._meter, self._prices = show, language, meter, prices
        self._count = self._done = self._before = done
        self._clock = clock
        self._begun = self._told = clock()

    def expect(self, more: int) -> None:
        """So many more items are to be made."""
        self._count += more

    def advance(self) -> None:
        """One more item is done."""
        self._done += 1

    async def watch(self) -> None:
        """Show it until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Show how far it is by now."""
        if self._show.draws:
            self._show.update(Status(line=self.line(), done=self._done / max(1, self._count)))
        elif self._clock() - self._told >= _LINE_SECONDS:
            self.tell()

    def tell(self) -> None:
        """Say how far it is by now, in a line that stays."""
        self._told = self._clock()
        self._show.say(self.line())

    def line(self) -> str:
        """How far it is by now. Rate, cost and time left are of this run."""
        seconds, made, spent = self._clock() - self._begun, self._done - self._before, self._meter.total
        rate = made / seconds if seconds > 0 else 0.0
        left = (self._count - self._done) / rate if rate else None
        line = sentence(
            self._language,
            "generate.progress",
            done=f"{self._done:,}",
            count=f"{self._count:,}",
            percent=100 * self._done // max(1, self._count),
            rate=f"{rate * 60:.1f}",
            calls=f"{spent['calls']:,}",
            tokens=f"{spent['prompt_tokens'] + spent['completion_tokens']:,}",
            left=Phrase("generate.unknown") if left is None else clock_of(left),
        )
        money = "" if self._prices is None else self._prices.of(spent)
        return line + (sentence(self._language, "run.money", money=money) if money else "")


def clock_of(seconds: float) -> str:
    """Hours, minutes and seconds: 1:02:05."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
