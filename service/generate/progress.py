"""Owns what is counted and shown while many items are made: each call of a model, by what it was for and for which
item; how many items are done, how fast, what they cost, how long it takes.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from service.errors import ModelError
from service.llm.chat import Answer, ChatModel, ModelWrapper, Prompt, T, TextListener
from service.llm.choose import ROLES, Models
from service.locales import Language, Phrase, sentence
from service.run.cost import COUNTED, Prices, Spent
from service.run.show import Show, Status
from service.usage import Usage

SpentOn = dict[str, Spent]
"""By the name of the prompt: a turn is asked by `speaker`, a closing by `closing`."""

_ITEM: ContextVar[SpentOn] = ContextVar("item")


class Meter:
    """Counts what the models are asked, also in vain. `total` is of all items since the run began."""

    def __init__(self) -> None:
        self.total: Spent = Counter()

    def metered(self, models: Models) -> Models:
        """The same models, counted."""
        by_id = {id(one): _Metered(one, self) for one in map(models.for_role, ROLES)}
        return Models({role: by_id[id(models.for_role(role))] for role in ROLES})

    @contextmanager
    def item(self) -> Iterator[SpentOn]:
        """What is spent within is of one item."""
        spent: SpentOn = defaultdict(Counter)
        before = _ITEM.set(spent)
        try:
            yield spent
        finally:
            _ITEM.reset(before)

    def count(self, purpose: str, usage: Usage, *, failures: int = 0) -> None:
        """A call was made for the item at hand."""
        spent = Counter({name: int(getattr(usage, name)) for name in COUNTED if name != "failures"})
        spent["failures"] = failures
        self.total += spent
        _ITEM.get()[purpose] += spent


class _Metered(ModelWrapper):
    def __init__(self, inner: ChatModel, meter: Meter) -> None:
        super().__init__(inner)
        self._meter = meter

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel."""
        try:
            answer = await self._inner.complete(prompt, on_text)
        except ModelError as error:
            self._meter.count(prompt.name, error.usage, failures=1)
            raise
        self._meter.count(prompt.name, answer.usage)
        return answer


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
