"""Owns the files of a data set: a line an item, each written whole and once, whatever stops on the way, and a card that
says what is in it, what was left out and why, who made it, and what it cost.

Beside ``out.jsonl`` stands ``out.dropped.jsonl``: what was dropped and why. A line is added to one of them as soon as
its item is made, and an item is done when one of them has it. When all are done, `settle` drops near duplicates and
puts the lines in order: two runs end with the same file, in whatever order their items were made.
"""

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any

from service.public.errors import Conflict, Invalid, KataribeError, take, usable
from service.public.files import ContentRefused
from service.public.models import Settings
from service.public.words import Language, Listed, Phrase, sentence
from studio.generate.near import Distinct
from studio.terminal.cost import Spent, counted, money_of, total


class PlanRefused(ContentRefused):
    """The file that says what is to be made has errors. Facts: as of ContentErrors."""


class OtherDataset(Conflict):
    """Facts: `file`."""


class DatasetInUse(Conflict):
    """Facts: `file`."""


class WishUnusable(Invalid):
    """A wish says nothing of a person, or too much. Facts: `reason`."""


class NobodyAsked(Invalid):
    """It is said nowhere how many people are to be made. Facts: `file`."""


class GenerationStopped(KataribeError, status=503):
    """A model cannot be had; what was made stays. Facts: `failure`, its sentence by language."""

    def sentence(self, language: Language) -> str:
        """See KataribeError; the failure is said in that language."""
        failure: Mapping[str, str] = self.facts["failure"]
        return sentence(language, f"errors.{self.slug}", failure=failure[language])


class Dropped(Exception):
    """An item is not good enough; `reason` is one of `generate.dropped` in the locales. It is made no second time."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


Line = dict[str, Any]

_ID = re.compile(rb'\{"id":"[0-9a-f]{12}-([0-9]{6})"')
_CHUNK = 1 << 16


class Dataset:
    """The two files of a data set, held by one process."""

    def __init__(self, file: Path, run: str) -> None:
        """Open them, and drop a last line that was not written whole. `run` stands before each item's number, twelve
        hexadecimal digits: the same for what is made from the same.

        Raises:
            FileUnusable: one of them cannot be opened.
            DatasetInUse: another process makes it.
            OtherDataset: it holds items of another run.
        """
        self.file, self.run = file, run
        self._kept = _Lines(file, run)
        try:
            self._dropped = _Lines(file.with_suffix(".dropped.jsonl"), run)
        except KataribeError:
            self._kept.close()
            raise

    def close(self) -> None:
        """Let another process have it."""
        self._kept.close()
        self._dropped.close()

    def id_of(self, number: int) -> str:
        """The item's id."""
        return f"{self.run}-{number:06d}"

    def __len__(self) -> int:
        """How many items are done."""
        return len(self._kept.places.keys() | self._dropped.places)

    def has(self, number: int) -> bool:
        """Whether the item is done."""
        return number in self._kept.places or number in self._dropped.places

    def line(self, number: int) -> Line | None:
        """The item; what is noted of it, if it is dropped; None: it is not done."""
        return next((one.read(number) for one in (self._dropped, self._kept) if number in one.places), None)

    def keep(self, number: int, line: Line) -> None:
        """Add the item. Raises: FileUnusable: nothing was added."""
        self._kept.add(number, {"id": self.id_of(number), **line})

    def drop(self, number: int, reason: str, meta: Mapping[str, Any], **more: str) -> None:
        """Note that the item is dropped. Raises: FileUnusable: nothing was noted."""
        self._dropped.add(number, {"id": self.id_of(number), "reason": reason, **more, "meta": meta})

    def kept(self) -> Iterator[Line]:
        """The items that are not dropped, by their numbers."""
        return (self._kept.read(number) for number in sorted(self._kept.places.keys() - self._dropped.places))

    def dropped(self) -> Iterator[Line]:
        """What is noted of those that are, by their numbers."""
        return map(self._dropped.read, sorted(self._dropped.places))

    def settle(self, text_of: Callable[[Line], str]) -> None:
        """Drop each item that is nearly one before it, and put the lines in order. What stops on the way is done again.

        Raises:
            FileUnusable: the file is as it was.
        """
        distinct = Distinct(lambda number: text_of(self._kept.read(number)))
        for number in sorted(self._kept.places.keys() - self._dropped.places):
            line = self._kept.read(number)
            like = distinct.add(number, text_of(line))
            if like is not None:
                self.drop(number, "near_duplicate", line["meta"], like=self.id_of(like))
        self.put_in_order()

    def put_in_order(self) -> None:
        """Put the lines of both files in order, and leave out of the one what the other has.

        Raises:
            FileUnusable: the file is as it was.
        """
        self._kept.keep_only(sorted(self._kept.places.keys() - self._dropped.places))
        self._dropped.keep_only(sorted(self._dropped.places))


class _Lines:
    """A file of lines, each with its item's id; `places` are where each begins and how long it is, by number."""

    def __init__(self, file: Path, run: str) -> None:
        self._file, self._run = file, run
        self._open()

    def close(self) -> None:
        self._io.close()

    def add(self, number: int, line: Line) -> None:
        """One write, and on the disk before anything else is done; taken back where the disk has no room for all of
        it.
        """
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        start = self._io.seek(0, os.SEEK_END)
        with usable(self._file):
            try:
                _write(self._io, text)
            except OSError:
                self._io.truncate(start)
                raise
        self.places[number] = (start, len(text))

    def read(self, number: int) -> Line:
        line: Line = json.loads(self._bytes(number))
        return line

    def keep_only(self, numbers: list[int]) -> None:
        """Write these lines in this order into a new file, and put it in the place of this one."""
        starts = [self.places[number][0] for number in numbers]
        if len(numbers) == len(self.places) and starts == sorted(starts):
            return
        new = self._file.with_suffix(".settled.tmp")
        with usable(self._file):
            try:
                with new.open("wb") as file:
                    file.writelines(map(self._bytes, numbers))
                    file.flush()
                    os.fsync(file.fileno())
                self.close()
                new.replace(self._file)
            except OSError:
                new.unlink(missing_ok=True)
                raise
        self._open()

    def _open(self) -> None:
        with usable(self._file):
            self._io = self._file.open("a+b", buffering=0)
        try:
            take(self._io.fileno())
        except OSError as exc:
            self.close()
            raise DatasetInUse(file=str(self._file)) from exc
        try:
            self.places = dict(self._find())
        except OtherDataset:
            self.close()
            raise

    def _bytes(self, number: int) -> bytes:
        start, size = self.places[number]
        self._io.seek(start)
        return self._io.read(size)

    def _find(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """A process that was killed may have left the beginning of a line: it goes. Raises: OtherDataset."""
        start = self._io.seek(0)
        begins = f'{{"id":"{self._run}-'.encode()
        lines = BufferedReader(self._io, _CHUNK)
        for line in lines:
            named, is_whole = _ID.match(line), line.endswith(b"\n")
            if not begins.startswith(line[: len(begins)]) or (is_whole and named is None):
                raise OtherDataset(file=str(self._file))
            if named is not None and is_whole:
                yield int(named[1]), (start, len(line))
                start += len(line)
        lines.detach()  # else it would close the file
        self._io.truncate(start)


def _write(file: FileIO, text: bytes) -> None:
    """Raises: OSError: some of it may be written."""
    left = memoryview(text)
    while left:
        left = left[file.write(left) :]
    os.fsync(file.fileno())


Card = dict[str, Any]


def card_of(
    dataset: Dataset,
    kind: str,
    asked: int,
    counts: Callable[[Line], Mapping[str, int]],
    *,
    settings: Settings,
) -> Card:
    """The card, from what the two files hold: it is the same whether the run was stopped on the way or not."""
    every, in_vain = Sum(), Sum()
    features, dropped = Counter[str](), Counter[str]()
    for line in dataset.kept():
        every.add(line)
        features.update(counts(line))
    for line in dataset.dropped():
        every.add(line)
        in_vain.add(line)
        dropped[line["reason"]] += 1
    whole = total(every.spent)
    return {
        "file": dataset.file.name,
        "kind": kind,
        "run": dataset.run,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "service": f"kataribe {version('kataribe')}",
        "seed": settings.llm.seed,
        "rehearsal": settings.llm.provider == "rehearsal",
        "models": {role: sorted(names) for role, names in sorted(every.models.items())},
        "items": {"asked": asked, "kept": every.items - in_vain.items, "dropped": dict(dropped.most_common())},
        "counts": dict(features),
        "spent": {purpose: counted(spent) for purpose, spent in sorted(every.spent.items())},
        "total": counted(whole),
        "total_dropped": counted(total(in_vain.spent)),
        "money": money_of(whole) or None,
        "settings": {  # those that decide what is said and kept
            "temperature": settings.llm.temperature,
            "max_turns": settings.max_turns,
            "embedding": settings.embedding.provider,
            "attitude": settings.memory.attitude,
            "recall_limit": settings.memory.recall_limit,
            "fade_after_days": settings.memory.fade_after_days,
        },
    }


def write_card(file: Path, card: Card, language: Language) -> Iterator[str]:
    """Write it beside the data set, as JSON and as a page; answers what the page says."""
    file.with_suffix(".card.json").write_text(f"{json.dumps(card, ensure_ascii=False, indent=2)}\n", "utf-8")
    page = list(_page(card, language))
    file.with_suffix(".card.md").write_text("\n".join([*page, ""]), "utf-8")
    yield from page


class Sum:
    """Of many items: what they cost, by what for, and who made them, by role."""

    def __init__(self) -> None:
        self.items = 0
        self.spent: defaultdict[str, Spent] = defaultdict(Counter)
        self.models: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, line: Line) -> None:
        self.items += 1
        for purpose, one in line["meta"]["spent"].items():
            self.spent[purpose].update(one)
        for role, name in line["meta"]["models"].items():
            self.models[role].add(name)


def _page(card: Card, language: Language) -> Iterator[str]:
    items, models = card["items"], {name for names in card["models"].values() for name in names}
    yield f"# {card['file']}"
    yield ""
    if card["rehearsal"]:
        yield sentence(language, "generate.card.rehearsal")
        yield ""
    facts: dict[str, object] = {
        "kind": card["kind"],
        "language": card["language"],
        "licence": card["licence"] or Phrase("generate.card.no_licence"),
        "made_at": card["made_at"],
        "service": card["service"],
        "models": Listed(sorted(models)),
        "seed": f"{card['seed']} ({card['run']})",
        "asked": items["asked"],
        "kept": items["kept"],
    }
    if card["money"] is not None:
        facts["money"] = card["money"]
    yield from _table(("fact", "value"), ((f"generate.card.{name}", value) for name, value in facts.items()), language)
    yield from _table(
        ("counted", "count"), ((f"generate.counts.{name}", n) for name, n in card["counts"].items()), language
    )
    yield from _table(
        ("dropped", "count"), ((f"generate.dropped.{name}", n) for name, n in items["dropped"].items()), language
    )
    names = ("purpose", "calls", "failures", "prompt_tokens", "completion_tokens")
    spent: list[tuple[str, *tuple[object, ...]]] = [
        (f"generate.purposes.{purpose}", *(one[name] for name in names[1:]))
        for purpose, one in {**card["spent"], "total": card["total"], "total_dropped": card["total_dropped"]}.items()
    ]
    yield from _table(names, spent, language)
    if card["total"]["estimated"]:
        yield sentence(language, "generate.card.estimated")


def _table(heads: Iterable[str], rows: Iterable[tuple[str, *tuple[object, ...]]], language: Language) -> Iterator[str]:
    """The first cell of a row is the key of its words. A table without rows is left out."""
    told = [(Phrase(first).of(language), *rest) for first, *rest in rows]
    if not told:
        return
    titles = [sentence(language, f"generate.card.{head}") for head in heads]
    for cells in (titles, ["---"] * len(titles), *told):
        said = (cell.of(language) if isinstance(cell, Phrase) else _cell(cell) for cell in cells)
        yield f"| {' | '.join(said)} |"
    yield ""


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
