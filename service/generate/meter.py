"""Owns what a data set costs: each call of a model, counted by what it was for and for the item it was made for."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from service.errors import ModelError
from service.llm.chat import Answer, ChatModel, ModelWrapper, Prompt, T, TextListener
from service.llm.choose import ROLES, Models
from service.run.cost import COUNTED, Spent
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
