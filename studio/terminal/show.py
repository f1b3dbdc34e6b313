"""Owns the terminal of a run: lines that stay, and below them, on a real terminal, what is going on right now."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from service.locales import Language, sentence

SPEAKING_LINES = 6
BAR_CELLS = 60
REFRESHES_A_SECOND = 8


def one_line(text: str) -> str:
    """What a model or an author wrote, without line breaks and without anything a terminal would obey."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())


def say(language: Language, key: str, /, **values: object) -> None:
    """Print a sentence."""
    print(sentence(language, key, **values), flush=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """What is going on: a line about world and cost, how much of the way is done (0..1), utterances in the making."""

    line: str
    done: float
    speaking: Sequence[str] = ()


class Show:
    """Where a run is shown: lines only, for files, pipes and screen readers; on a terminal they scroll by above a
    panel, which `live` draws.
    """

    def __init__(self, live: Live | None = None) -> None:
        self._live = live

    @property
    def draws(self) -> bool:
        """Whether it shows what is going on, and not only lines."""
        return self._live is not None

    def say(self, line: str) -> None:
        """A line that stays."""
        if self._live is None:
            print(line, flush=True)
        else:
            self._live.console.print(Text(line), highlight=False)

    def update(self, status: Status) -> None:
        """What is going on now."""
        if self._live is not None:
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


@contextmanager
def shown(*, plain: bool) -> Iterator[Show]:
    """A place to show a run on standard output."""
    console = Console(file=sys.stdout)
    if plain or not console.is_terminal or console.is_dumb_terminal:
        yield Show()
        return
    with Live(console=console, refresh_per_second=REFRESHES_A_SECOND, transient=True) as live:
        yield Show(live)


def _end_of(line: str, cells: int) -> str:
    if cell_len(line) <= cells:
        return line
    start = max(0, len(line) - cells)
    while cell_len(line[start:]) > cells - 1:
        start += 1
    return "…" + line[start:]
