"""Owns the terminal of a run: lines that stay, and below them, on a real terminal, what is going on right now."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

SPEAKING_LINES = 6
BAR_CELLS = 60
REFRESHES_A_SECOND = 8


def one_line(text: str) -> str:
    """What a model or an author wrote, without line breaks and without anything a terminal would obey."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """What is going on: a line about world and cost, how much of the way is done (0..1), utterances in the making."""

    line: str
    done: float
    speaking: Sequence[str] = ()


class Show(Protocol):
    """Where a run is shown."""

    def say(self, line: str) -> None:
        """A line that stays."""
        ...

    def update(self, status: Status) -> None:
        """What is going on now."""
        ...


class Plain:
    """Lines only, for files, pipes and screen readers."""

    def say(self, line: str) -> None:
        print(line, flush=True)

    def update(self, status: Status) -> None:
        """Nothing of what passes is shown."""


class OnTerminal:
    """Lines scroll by above a panel."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def say(self, line: str) -> None:
        self._live.console.print(Text(line), highlight=False)

    def update(self, status: Status) -> None:
        self._live.update(panel(status, self._live.console.width))


def panel(status: Status, width: int) -> Group:
    """The lines below the feed; an utterance longer than a line shows its end."""
    speaking = [Text(_end_of(line, width - 2), style="italic", no_wrap=True) for line in status.speaking]
    cells = min(width, BAR_CELLS)
    bar = Text("#" * round(status.done * cells), style="green").append(
        "-" * (cells - round(status.done * cells)), "dim"
    )
    return Group(
        Text(""), *speaking[-SPEAKING_LINES:], bar, Text(status.line, style="bold", overflow="ellipsis", no_wrap=True)
    )


def shown(*, plain: bool) -> AbstractContextManager[Show]:
    """A place to show a run on standard output."""
    console = Console(file=sys.stdout)
    return _plain() if plain or not console.is_terminal or console.is_dumb_terminal else _on_terminal(console)


@contextmanager
def _plain() -> Iterator[Show]:
    yield Plain()


@contextmanager
def _on_terminal(console: Console) -> Iterator[Show]:
    with Live(console=console, refresh_per_second=REFRESHES_A_SECOND, transient=True) as live:
        yield OnTerminal(live)


def _end_of(line: str, cells: int) -> str:
    if cell_len(line) <= cells:
        return line
    start = max(0, len(line) - cells)
    while cell_len(line[start:]) > cells - 1:
        start += 1
    return "…" + line[start:]
