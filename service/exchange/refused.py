"""Owns what is wrong with a file of another program, and the report of what was not carried over."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError, model_validator

from service.content.files import MOST_BYTES, Unreadable, read_bytes, values_of
from service.content.problem import ContentProblem
from service.content.schema_errors import schema_errors
from service.errors import Invalid
from service.locales import Language, sentence

M = TypeVar("M", bound=BaseModel)

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


@contextmanager
def refusing(file: str) -> Iterator[None]:
    """Whatever makes the file unreadable refuses it as a whole.

    Raises:
        ImportRefused.
    """
    try:
        yield
    except Unreadable as exc:
        raise ImportRefused([ContentProblem(file=file, key_path="", said=exc.reason)]) from exc


def file_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """What is in the file.

    Raises:
        ImportRefused: it cannot be read, or is larger.
    """
    with refusing(path.name):
        return read_bytes(path, most)


def json_of(file: str, raw: bytes, otherwise: str) -> object:
    """What the JSON of a file says; `otherwise` is the key of the sentence for what is no text.

    Raises:
        ImportRefused: it is no JSON.
    """
    with refusing(file):
        try:
            return values_of(raw.decode("utf-8-sig"), ".json")
        except UnicodeDecodeError as exc:
            raise Unreadable(otherwise) from exc


def parsed(model: type[M], file: str, values: object) -> M:
    """The file's values in the model's form. Raises: ImportRefused: everything that is wrong with them."""
    try:
        return model.model_validate(values)
    except ValidationError as exc:
        raise ImportRefused([*schema_errors(model, file, exc)]) from exc


class Foreign(BaseModel, frozen=True, strict=True, extra="allow"):
    """A mapping in another program's file: null is a key left out, and keys that we do not know are kept apart."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: object) -> object:
        return {name: one for name, one in value.items() if one is not None} if isinstance(value, dict) else value
