"""Owns the making of many items, such as a data set's: side by side, each kept or dropped as soon as it is made; what
each costs, by what the calls of models were for; and what is shown meanwhile.
"""

import asyncio
import hashlib
import json
import random
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kataribe
from kataribe import Game, SpokenTurn, Talk
from service.public.errors import cancel
from service.public.files import Content
from service.public.models import (
    AUTHOR,
    REHEARSAL,
    ROLES,
    Answer,
    ChatModel,
    Handler,
    ModelBroken,
    ModelEmpty,
    ModelError,
    ModelOutOfCharacter,
    ModelRefused,
    Models,
    ModelTruncated,
    ModelWrapper,
    Prompt,
    Settings,
    T,
    TextListener,
    Usage,
)
from service.public.words import Language, Phrase, languages, sentence
from studio.generate.dataset import Dataset, Dropped, GenerationStopped, Line, card_of, write_card
from studio.terminal.cost import Spent, counted, money_of, spent_on
from studio.terminal.show import Show, Status, shown

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

    def count(self, purpose: str, usage: Usage) -> None:
        """A call was made for the item at hand."""
        spent = spent_on(usage)
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
            self._meter.count(prompt.name, error.usage.failed)
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
        *,
        done: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`done`: so many items were made by runs before."""
        self._show, self._language, self._meter = show, language, meter
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
        money = money_of(spent)
        return line + (sentence(self._language, "run.money", money=money) if money else "")


def clock_of(seconds: float) -> str:
    """Hours, minutes and seconds: 1:02:05."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


UNUSABLE = (ModelBroken, ModelEmpty, ModelTruncated, ModelRefused, ModelOutOfCharacter)
"""Failures of one answer: the next item may do better. With any other the model cannot be had, and the run stops."""


_MOST_OVER = 50
"""Worlds of items that are made, before they are thrown away."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """What one item is made from: its number, and all of its chance."""

    number: int
    id: str
    seed: int

    @property
    def rng(self) -> random.Random:
        """The same chance each time it is asked for."""
        return random.Random(self.seed)


@dataclass(kw_only=True)
class Job(ABC):
    """What is to be made: items of a `kind`.

    `made_from` is all that decides what an item is, but for its number, the `seed` and the models: who makes from the
    same goes on with the same file. `content` are the people, and the places they meet at. `handlers` answer in a
    rehearsal what only this kind asks. `remembers`: people go by what they remember.
    """

    kind: str
    seed: int
    language: Language
    made_from: Mapping[str, Any]
    content: Content
    handlers: Mapping[type, Handler] = field(default_factory=dict)
    remembers: bool = True

    @abstractmethod
    async def make(self, game: Game, item: Item) -> Line:
        """An item's line, without `id` and `meta`.

        Raises:
            Dropped: it is not good enough.
            GenerationStopped, ModelError: a model failed.
        """

    @abstractmethod
    def todo(self, dataset: Dataset) -> Sequence[int]:
        """The items that are to be made next. It is asked again when they are made, until there are none."""

    @abstractmethod
    def finish(self, dataset: Dataset, settings: Settings, order: "Order") -> Iterator[str]:
        """What is done when all items are made; answers the lines that the user is told."""


@dataclass(kw_only=True)
class DatasetPlan(Job):
    """The job of a data set: `count` items, each made once."""

    count: int

    @abstractmethod
    def text_of(self, line: Line) -> str:
        """The text of a line by which near duplicates are found."""

    @abstractmethod
    def counts(self, line: Line) -> Mapping[str, int]:
        """What the card counts of a line."""

    def todo(self, dataset: Dataset) -> Sequence[int]:
        """Those that are not done."""
        return [number for number in range(self.count) if not dataset.has(number)]

    def finish(self, dataset: Dataset, settings: Settings, order: "Order") -> Iterator[str]:
        """Drop near duplicates, and write the card."""
        dataset.settle(self.text_of)
        card = card_of(dataset, self.kind, self.count, self.counts, settings=settings)
        card |= {"language": self.language, "licence": order.licence, "made_from": self.made_from}
        yield from write_card(order.file, card, order.language)


@dataclass(frozen=True, kw_only=True)
class Order:
    """How the user wants it made. `licence` stands in the card. `language`: of what the user reads."""

    file: Path
    licence: str | None = None
    plain: bool = False
    language: Language


def make_dataset(settings: Settings, job: Job, order: Order, *, models: Models | None = None) -> bool:
    """Make what is still to be made of it, and finish it. False: it was stopped (Ctrl-C) before its end.

    Without a model configured it is a rehearsal. `models` stand in for those the settings would choose.

    Raises:
        GenerationStopped: a model cannot be had; what was made stays.
        FileUnusable, DatasetInUse, OtherDataset: the file cannot be gone on with.
        Misconfigured: a setting is wrong.
    """
    rehearsed = {"provider": REHEARSAL} if models is None and not settings.names_model else {}
    forgetful = {} if job.remembers else {"recall_limit": 0, "fade_after_days": 0}
    settings = settings.changed(llm={"seed": job.seed, **rehearsed}, world={"language": job.language}, memory=forgetful)
    with closing(Dataset(order.file, run_of(settings, job))) as dataset, shown(plain=order.plain) as show:
        making = _Making(settings, job, order, dataset, show)
        try:
            asyncio.run(making.run(models))
        except KeyboardInterrupt:
            show.say(sentence(order.language, "generate.stopped", file=order.file))
            return False
        making.progress.tell()
        for line in job.finish(dataset, settings, order):
            show.say(line)
    return True


def run_of(settings: Settings, job: Job) -> str:
    """The same for what is made from the same, and in rehearsal or not."""
    made_from = {
        "kind": job.kind,
        "language": job.language,
        "seed": job.seed,
        "rehearsal": settings.llm.provider == REHEARSAL,
        **job.made_from,
    }
    return hashlib.sha256(json.dumps(made_from, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:12]


class _Making:
    """One run."""

    def __init__(self, settings: Settings, job: Job, order: Order, dataset: Dataset, show: Show) -> None:
        self._settings, self._job, self._dataset = settings, job, dataset
        self._meter, self._over = Meter(), list[str]()
        self.progress = Progress(show, order.language, self._meter, done=len(dataset))

    async def run(self, models: Models | None) -> None:
        """Make what is to be made, so many items at once as models may be asked."""
        todo = self._job.todo(self._dataset)
        if not todo:
            return
        async with kataribe.open(
            self._job.content,
            settings=self._settings,
            models=models,
            handlers=self._job.handlers,
            wrap_models=self._meter.metered,
            lives=False,
        ) as game:
            while todo:
                self.progress.expect(len(todo))
                numbers, limit = iter(todo), min(self._settings.llm.max_concurrency, len(todo))
                workers = [asyncio.create_task(self._make(game, numbers)) for _ in range(limit)]
                tasks = (asyncio.create_task(self.progress.watch()), *workers)
                try:
                    await asyncio.gather(*workers)
                finally:
                    await cancel(tasks)
                todo = self._job.todo(self._dataset)

    async def _make(self, game: Game, todo: Iterator[int]) -> None:
        for number in todo:
            chance = hashlib.sha256(f"{self._dataset.run}/{number}".encode()).digest()[:6]
            item = Item(number=number, id=self._dataset.id_of(number), seed=int.from_bytes(chance, "big"))
            with self._meter.item() as spent:
                try:
                    line = await self._job.make(game, item)
                except (Dropped, *UNUSABLE) as exc:
                    reason = exc.reason if isinstance(exc, Dropped) else "model_failure"
                    self._dataset.drop(number, reason, _meta(game, item, spent))
                except ModelError as exc:
                    raise GenerationStopped(failure={one: exc.sentence(one) for one in languages()}) from exc
                else:
                    self._dataset.keep(number, {**line, "meta": _meta(game, item, spent)})
            self.progress.advance()
            self._over.append(item.id)  # nobody asks for its world any more; many go at once, for as little as one
            if len(self._over) >= _MOST_OVER:
                over, self._over = self._over, []
                await game.remove(over)


def spoken(talk: Talk) -> Sequence[SpokenTurn]:
    """What was said.

    Raises:
        Dropped: a model gave no answer to use.
        GenerationStopped: a model cannot be had.
    """
    failure = talk.row.failure
    if failure is not None and failure["type"] not in {error.slug for error in UNUSABLE}:
        raise GenerationStopped(failure=failure)
    if failure is not None or any(turn.model == AUTHOR for turn in talk.turns):
        raise Dropped("model_failure")
    return talk.turns


def _meta(game: Game, item: Item, spent: SpentOn) -> dict[str, Any]:
    """Who made it, from which seed, and what it cost in all and by what the calls were for."""
    names, purposes = game.models.names(), {purpose: counted(one) for purpose, one in sorted(spent.items())}
    return {
        "rehearsal": game.settings.llm.provider == REHEARSAL,
        "models": names,
        "seed": item.seed,
        "calls": sum(one["calls"] for one in purposes.values()),
        "tokens": sum(one["prompt_tokens"] + one["completion_tokens"] for one in purposes.values()),
        "spent": purposes,
    }
