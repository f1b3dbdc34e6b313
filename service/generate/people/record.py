"""Owns what is written of a making of people in the folder ``people/`` of the world: its answers as they come, its
plan, what came of it; and the writing into the world, which is whole or not at all, whenever it is stopped.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from service.errors import FileUnusable, usable
from service.generate.dataset import DatasetInUse
from service.generate.people.plan import Plan
from service.locales import Phrase
from service.store.lock import take
from studio.exchange.place import write_all

FOLDER = "people"

T = TypeVar("T")

_PLAN: TypeAdapter[Plan] = TypeAdapter(Plan)
_FILES: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])
_WRITING, _LOCK = ".writing.json", ".lock"


class DroppedPerson(BaseModel, extra="forbid"):
    """A slot for which nobody could be made, why, and whom its last answer was like."""

    number: int
    reason: str
    like: str = ""


class Record(BaseModel, extra="forbid"):
    """What came of a making. `people` are ids by the numbers of their slots, `outcome` the plan against them. `doubles`
    counts answers that were nearly somebody else; `calls`, `spent` and `money` are of all goes.
    """

    run: str
    goes: int = 0
    rehearsal: bool
    models: list[str]
    language: str
    seed: int
    wish: str
    asked: int
    made: int = 0
    people: dict[int, str] = {}
    dropped: list[DroppedPerson] = []
    doubles: int = 0
    calls: int = 0
    calls_per_person: float = 0
    spent: dict[str, int] = {}
    money: str | None = None
    outcome: list[dict[str, Any]] = []


class RunFiles:
    """The files of one making."""

    def __init__(self, world: Path, run: str) -> None:
        self._world, self._run = world, run
        self._folder = world / FOLDER
        self.answers = self._folder / f"{run}.jsonl"
        self._plan = self._folder / f"{run}.plan.json"
        self.record = f"{FOLDER}/{run}.json"

    def open(self) -> None:
        """There is a place for them. Raises: FileUnusable."""
        with usable(self._folder):
            self._folder.mkdir(exist_ok=True)

    def read_plan(self) -> Plan | None:
        """The plan that was made; None: there is none yet. Raises: FileUnusable."""
        return _read(self._plan, _PLAN)

    def keep_plan(self, plan: Plan) -> None:
        """Write it down, once. Raises: ContentUnwritable."""
        if not self._plan.exists():
            write_all(self._folder, {self._plan.name: _PLAN.dump_json(plan, indent=1).decode() + "\n"})

    def read_record(self) -> Record | None:
        """What came of it so far; None: it did not come to its end yet. Raises: FileUnusable."""
        return _read(self._world / self.record, TypeAdapter(Record))

    def answers_kept(self) -> int:
        """How many answers of use it has."""
        return self.answers.read_bytes().count(b"\n") if self.answers.exists() else 0

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else writes people into this world meanwhile. Raises: DatasetInUse."""
        with (self._folder / _LOCK).open("ab") as file:
            try:
                take(file.fileno())
            except OSError as exc:
                raise DatasetInUse(file=str(self._folder)) from exc
            yield

    def write(self, files: Mapping[str, str], record: Record) -> list[Path]:
        """Write the files into the world, and the record; answers them. What is stopped in the middle of it is done by
        `finish_writing`.

        Raises:
            ContentUnwritable: nothing was written.
        """
        written = {**files, self.record: f"{record.model_dump_json(indent=1)}\n"}
        intent = self._folder / f"{self._run}{_WRITING}"
        write_all(self._folder, {intent.name: json.dumps(written, ensure_ascii=False)})
        try:
            return write_all(self._world, written)
        finally:
            intent.unlink(missing_ok=True)


def finish_writing(world: Path) -> None:
    """Whoever was killed while it wrote into this world left the files to be written: write them.

    Raises:
        ContentUnwritable, FileUnusable.
        DatasetInUse: it is not killed, but writing.
    """
    for intent in sorted((world / FOLDER).glob(f"*{_WRITING}")):
        with RunFiles(world, intent.name.removesuffix(_WRITING)).alone():
            files = _read(intent, _FILES)
            write_all(world, files or {})
            intent.unlink(missing_ok=True)


def _read(file: Path, form: TypeAdapter[T]) -> T | None:
    with usable(file):
        try:
            return form.validate_json(file.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as exc:
            raise FileUnusable(file=str(file), reason=Phrase("people_make.damaged")) from exc
