"""Owns the small plan that the tests of data sets share: an item is a few lines that a model gives."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from kataribe import Game
from service.content.load import Content
from service.llm.chat import Prompt
from service.settings import Settings
from studio.generate.dataset import Line
from studio.generate.making import DatasetPlan, Item, Order


class Verse(BaseModel):
    """What the model answers for an item."""

    text: str


class Verses(DatasetPlan):
    """Items of one call each."""

    async def make(self, game: Game, item: Item) -> Line:
        prompt = Prompt(
            name="speaker", role="closing", language="en", messages=(), answer=Verse, given=item, thread=item.id
        )
        answer = await game.models.for_role("closing").complete(prompt)
        return {"text": answer.value.text, "turns": 2}

    def text_of(self, line: Line) -> str:
        return str(line["text"])

    def counts(self, line: Line) -> Mapping[str, int]:
        return {"turns": line["turns"]}


def plan_of(content: Content, count: int) -> DatasetPlan:
    return Verses(kind="verses", count=count, seed=7, language="en", made_from={"verses": True}, content=content)


def order_of(directory: Path, **more: Any) -> Order:
    return Order(file=directory / "out.jsonl", language="en", **more)


def settings_of(directory: Path, **llm: Any) -> Settings:
    """One model call at a time, if nothing else is said."""
    return Settings(
        _env_file=None, data_dir=directory, embedding={"provider": "none"}, llm={"max_concurrency": 1, **llm}
    )
