"""What does not do is made again, then corrected, else the best is taken; a judge that fails spoils nothing."""

import asyncio
from collections.abc import Sequence

from service.errors import ModelError, ModelTimeout
from service.quality.checked import improve
from service.quality.checks import Mark, Marks
from service.settings import QualitySettings
from service.store.quality import CheckedAnswer, Tally

TIMEOUT = ModelTimeout(model="judge", seconds=1)


class Lines:
    """Lines with marks, in the order in which they are made; an error is raised in its place."""

    def __init__(self, scores: dict[str, int | ModelError], *, made: Sequence[str | ModelError | None] = ()) -> None:
        self.tally = Tally()
        self.told: list[tuple[str, str, tuple[str, ...]]] = []
        self._scores, self._made = scores, list(made)

    def line(self, value: str) -> str:
        return value

    async def marks(self, value: str) -> Marks:
        score = self._scores[value]
        if isinstance(score, ModelError):
            raise score
        return {"persona": Mark(score=score, reason=f"{value} is {score}."), "fluency": Mark(score=9, reason="Well.")}

    async def again(self, value: str, reasons: Sequence[str]) -> str | None:
        return self._next("again", value, reasons)

    async def correct(self, value: str, reasons: Sequence[str]) -> str | None:
        return self._next("correct", value, reasons)

    def _next(self, how: str, value: str, reasons: Sequence[str]) -> str | None:
        self.told.append((how, value, tuple(reasons)))
        made = self._made.pop(0)
        if isinstance(made, ModelError):
            raise made
        return made


def improved(lines: Lines, first: str = "a", *, correct: bool = False, attempts: int = 2) -> CheckedAnswer[str]:
    return asyncio.run(improve(lines, first, QualitySettings(correct=correct, attempts=attempts), at=0))


def test_a_correction_that_is_no_better_is_not_taken() -> None:
    found = improved(Lines({"a": 5, "d": 4}, made=["d"]), correct=True, attempts=0)
    assert (found.value, found.row.outcome) == ("a", "best")


def test_what_cannot_be_used_takes_up_an_attempt() -> None:
    lines = Lines({"a": 2, "b": 9}, made=[None, "b"])
    found = improved(lines)
    assert (found.value, found.row.outcome, len(lines.told)) == ("b", "again", 2)


def test_a_judge_that_fails_later_leaves_the_best_that_was_marked() -> None:
    found = improved(Lines({"a": 2, "b": TIMEOUT}, made=["b"]))
    assert (found.value, found.row.outcome, found.row.failure) == ("a", "best", TIMEOUT.slug)


def test_a_speaker_that_fails_leaves_the_best_that_was_marked() -> None:
    found = improved(Lines({"a": 2}, made=[TIMEOUT]))
    assert (found.value, found.row.outcome, found.row.failure) == ("a", "best", TIMEOUT.slug)
