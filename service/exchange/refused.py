"""Owns what is wrong with a file of another program, and the report of what was not carried over."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, model_validator

from service.content.files import MOST_BYTES, Unreadable, read_bytes
from service.content.problem import ContentProblem
from service.errors import Invalid
from service.locales import Language, sentence

Report = list[ContentProblem]
"""What was not carried over, or was changed on the way: each with its place in the file that was read."""


class ImportRefused(Invalid):
    """Nothing was written; `problems` are all that was found. Facts: `count`, `errors` (one a line)."""

    def __init__(self, problems: Sequence[ContentProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__(count=len(problems), errors=self._lines("en"))

    def sentence(self, language: Language) -> str:
        """All errors with file and key path."""
        return sentence(language, f"errors.{self.slug}", **{**self.facts, "errors": self._lines(language)})

    def _lines(self, language: Language) -> str:
        return "\n".join(problem.line(language) for problem in self.problems)


def refused(file: str, reason: Unreadable) -> ImportRefused:
    """The error of a file as a whole."""
    return ImportRefused([ContentProblem(file=file, key_path="", said=reason.reason)])


def file_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """What is in the file.

    Raises:
        ImportRefused: it cannot be read, or is larger.
    """
    try:
        return read_bytes(path, most)
    except Unreadable as exc:
        raise refused(path.name, exc) from exc


class Foreign(BaseModel, frozen=True, strict=True, extra="allow"):
    """A mapping in another program's file: null is a key left out, and keys that we do not know are kept apart."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: object) -> object:
        return {name: one for name, one in value.items() if one is not None} if isinstance(value, dict) else value
