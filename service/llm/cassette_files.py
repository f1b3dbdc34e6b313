"""Owns the files of a cassette: what each of them holds, and how they are read and written."""

import hashlib
import logging
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from service.content.fields import reason_of
from service.errors import CassetteUnusable, Misconfigured, ModelError, system_reason
from service.llm.chat import Prompt
from service.llm.schema import schema_text
from service.locales import Phrase
from service.settings import CassetteMode, Role
from service.usage import Usage

_log = logging.getLogger(__name__)

SETTING = "KATARIBE_LLM__CASSETTE"
HEADER = "cassette.json"
CALLS = "calls"
_NAMED = 16
"""Digits of a request's hash in the name of its file."""


class Kept(BaseModel, extra="forbid", frozen=True, strict=True):
    """What a file of a cassette holds."""


K = TypeVar("K", bound=Kept)

ERRORS: Mapping[str, type[ModelError]] = {kind.slug: kind for kind in ModelError.__subclasses__()}
"""What may have come instead of an answer, by its slug."""

if TYPE_CHECKING:
    Slug = str
else:
    Slug = Literal[tuple(ERRORS)]  # pydantic refuses any other


class Voice(Kept):
    """Whom a role asks: the model as it is set (None: the server's first), and its name for people."""

    name: str
    model: str | None
    temperature: float | None


class CassetteHeader(Kept):
    """What the cassette is; whom each role asked when it was last recorded, and which model embedded (None: none)."""

    type: Literal["cassette"] = "cassette"
    version: Literal[1] = 1
    roles: dict[Role, Voice] = {}
    embedder: str | None = None


class RecordedMessage(Kept):
    """One message, line by line: so a person can read it, and compare two of them."""

    role: Literal["system", "user", "assistant"]
    content: list[str]


class Request(Kept):
    """All that an answer depends on, and nothing that changes from run to run. `answer` is the form that is asked for:
    its name and the hash of its schema.
    """

    model: str | None
    temperature: float | None
    max_tokens: int
    answer: str
    messages: list[RecordedMessage]

    @cached_property
    def key(self) -> str:
        """The hash by which it is found."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """It as people compare it."""
        settings = self.model_dump(exclude={"messages"})
        said = (line for words in self.messages for line in (f"[{words.role}]", *words.content))
        return (*(f"{name}: {value}" for name, value in settings.items()), *said)


class Failure(Kept):
    """A ModelError: its slug and its facts."""

    slug: Slug
    facts: dict[str, Any]


class RecordedCall(Kept):
    """One file: who asked (`prompt`, `thread`) what, who answered (`by`), and what it cost. Either `answer` or
    `failure` is there.
    """

    prompt: str
    thread: str
    request: Request
    by: str
    usage: Usage
    answer: dict[str, Any] | None = None
    failure: Failure | None = None


def request_of(prompt: Prompt[Any], voice: Voice) -> Request:
    """What is sent for that prompt, whatever dialect the server speaks."""
    answer: type[BaseModel] = prompt.answer
    schema = hashlib.sha256(schema_text(answer).encode()).hexdigest()[:_NAMED]
    return Request(
        model=voice.model,
        temperature=voice.temperature,
        max_tokens=prompt.max_tokens,
        answer=f"{answer.__name__} {schema}",
        messages=[RecordedMessage(role=one.role, content=one.content.split("\n")) for one in prompt.messages],
    )


def read_header(directory: Path, mode: CassetteMode) -> CassetteHeader:
    """Its header, which is written where there is none yet.

    Raises:
        Misconfigured: the directory holds something else, cannot be used, or is to be replayed and is not there.
        CassetteUnusable: it is damaged, or of another version.
    """
    file = directory / HEADER
    try:
        if file.exists():
            return _read(CassetteHeader, file, file.read_text(encoding="utf-8"))
        others = (one for one in directory.glob("*") if one.name != CALLS and not one.name.startswith(HEADER))
        if mode == "replay" or any(others):
            raise Misconfigured(setting=SETTING, reason=Phrase("recording.none", directory=directory, header=HEADER))
        (directory / CALLS).mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise _unusable(directory, exc) from exc
    write_whole(file, header := CassetteHeader())
    return header


def read_kept(kind: type[K], file: Path) -> K | None:
    """What the file holds; None where its writer was killed over it, which is logged.

    Raises:
        CassetteUnusable: it holds something else.
        OSError: it is not there, or cannot be read.
    """
    text = file.read_text(encoding="utf-8")
    if not text.endswith("\n}\n"):
        _log.warning("%s was not written to its end, and is passed over", file)
        return None
    return _read(kind, file, text)


def write_whole(file: Path, kept: Kept) -> None:
    """Write the file, or write it anew: another process that reads it meanwhile finds it whole.

    Raises:
        Misconfigured: it cannot be written.
    """
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        draft.write_text(kept.model_dump_json(indent=1) + "\n", encoding="utf-8")
        draft.replace(file)
    except OSError as exc:
        raise _unusable(file.parent, exc) from exc


def read_calls(directory: Path) -> Iterator[tuple[int, Path, RecordedCall]]:
    """All calls, each with its number and its file. Raises: as `read_header`."""
    try:
        for file in (directory / CALLS).glob("*.json"):
            number = file.stem.rpartition("-")[2]
            if not number.isdecimal():
                raise CassetteUnusable(file=str(file), reason=Phrase("recording.file_name"))
            if (call := read_kept(RecordedCall, file)) is not None:
                yield int(number), file, call
    except OSError as exc:
        raise _unusable(directory, exc) from exc


def write_call(directory: Path, call: RecordedCall, number: int) -> int:
    """Write it under that number, or the next that no other process has taken; answers which."""
    text = call.model_dump_json(indent=1) + "\n"
    while True:
        try:
            with (directory / file_name(call.prompt, call.request, number)).open("x", encoding="utf-8") as file:
                file.write(text)
            return number
        except FileExistsError:
            number += 1
        except OSError as exc:
            raise _unusable(directory, exc) from exc


def file_name(prompt: str, request: Request, number: int) -> str:
    """Of a call: it is read by people, and sorted by what was asked."""
    return f"{prompt}-{request.key[:_NAMED]}-{number}.json"


def _read(kind: type[K], file: Path, text: str) -> K:
    try:
        return kind.model_validate_json(text)
    except ValidationError as exc:
        raise CassetteUnusable(file=str(file), reason=reason_of(exc)) from exc


def _unusable(directory: Path, error: OSError) -> Misconfigured:
    reason = Phrase("settings.directory_unwritable", directory=directory, reason=system_reason(error))
    return Misconfigured(setting=SETTING, reason=reason)
