"""Owns a cassette: a directory that keeps the calls of models, one file for each, and finds them by what was asked;
what each file holds; and the model around another one that keeps its calls there (Recorded).
"""

import hashlib
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher, unified_diff
from functools import cached_property
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from service.content.fields import reason_of
from service.errors import CassetteMiss, CassetteUnusable, Misconfigured, ModelError, ModelNotConfigured, system_reason
from service.llm.chat import Answer, ChatModel, ModelWrapper, Prompt, T, TextListener
from service.llm.schema import schema_text
from service.locales import Phrase
from service.settings import CassetteMode, LlmSettings, Role
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


_LIKELY = 8
"""So many recorded requests, the nearest by their lines, are compared letter by letter."""


@dataclass(kw_only=True, slots=True)
class _Lane:
    """The calls of one request by one asker, by the number in which they were asked. `failed` are files of failures
    after which nothing more was asked: whoever asks again now puts its answer in their place. `earlier`: another run
    has recorded it.
    """

    calls: list[tuple[int, RecordedCall]] = field(default_factory=list)
    failed: list[Path] = field(default_factory=list)
    earlier: bool = False


@dataclass(kw_only=True, slots=True)
class _Place:
    """Where an asker is in its lane."""

    lane: str
    next: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """A request that is asked once more. `call` is what was recorded under that `number` (None: nothing; the answer is
    to be kept under it).
    """

    prompt: str
    lane: str
    request: Request
    call: RecordedCall | None
    number: int


class Cassette:
    """The calls that were recorded, and where everybody who asks is among them.

    The same request may have been asked several times. Its answers are kept apart by asker, the prompt's `thread`, and
    given in the order of asking: so it does not matter in which order calls that run side by side come. Other processes
    may record into the same directory.
    """

    def __init__(self, directory: Path, mode: CassetteMode) -> None:
        """Raises: Misconfigured, CassetteUnusable: as `open_cassette`."""
        self.directory, self.mode = directory, mode
        self.header = read_header(directory, mode)
        self._lanes: dict[str, dict[str, _Lane]] = {}
        self._numbers: dict[str, int] = {}
        self._places: dict[str, dict[str, dict[str, _Place]]] = {}
        for number, file, call in sorted(read_calls(directory), key=lambda found: found[0]):
            self._load(number, file, call)
        if mode == "record" and self._lanes:
            raise Misconfigured(setting=SETTING, reason=Phrase("recording.recorded", directory=directory))

    @property
    def replays(self) -> bool:
        """Whether nobody is asked."""
        return self.mode == "replay"

    def voiced(self, roles: dict[Role, Voice]) -> None:
        """These are asked from now on; it is written down for who replays it without them."""
        self._note(self.header.model_copy(update={"roles": self.header.roles | roles}))

    def embedded_by(self, name: str | None) -> None:
        """The same of the embedding model."""
        self._note(self.header.model_copy(update={"embedder": name}))

    def rewind(self, world_id: str) -> None:
        """The world was brought back to an earlier moment: what it asked from there on, it asks for the first time."""
        self._places.pop(world_id, None)

    def ask(self, prompt: Prompt[Any], request: Request) -> Asking:
        """The next asking of that request by who asks it.

        Raises:
            CassetteMiss: it is not recorded, and nobody is to be asked.
        """
        world_id = prompt.thread.partition("/")[0]
        lanes = self._lanes.setdefault(request.key, {})
        places = self._places.setdefault(world_id, {}).setdefault(request.key, {})
        if prompt.thread not in places:
            places[prompt.thread] = _Place(lane=_lane_for(prompt.thread, lanes, places.values()))
        place = places[prompt.thread]
        calls = lanes[place.lane].calls if place.lane in lanes else []
        number, call = calls[place.next] if place.next < len(calls) else (self._numbers.get(request.key, 0), None)
        if call is None:
            if self.replays:
                nearest = self._nearest(prompt, request)
                raise CassetteMiss(directory=str(self.directory), prompt=prompt.name, role=prompt.role, nearest=nearest)
            self._numbers[request.key] = number + 1
        place.next += 1
        return Asking(prompt=prompt.name, lane=place.lane, request=request, call=call, number=number)

    def file_of(self, slot: Asking) -> Path:
        """Where the call of that slot is written down."""
        return self.directory / CALLS / file_name(slot.prompt, slot.request, slot.number)

    def keep(self, slot: Asking, **outcome: Any) -> None:
        """Write down how the asking of that slot went: by whom it was answered, with what, and what it cost."""
        call = RecordedCall(prompt=slot.prompt, thread=slot.lane, request=slot.request, **outcome)
        number = write_call(self.directory / CALLS, call, slot.number)
        self._numbers[call.request.key] = max(number + 1, self._numbers.get(call.request.key, 0))
        lane = self._lanes.setdefault(call.request.key, {}).setdefault(slot.lane, _Lane())
        lane.calls.append((number, call))
        lane.calls.sort(key=lambda kept: kept[0])
        for file in lane.failed:
            file.unlink(missing_ok=True)
        lane.failed.clear()

    def _note(self, header: CassetteHeader) -> None:
        if not self.replays and header != self.header:
            self.header = header
            write_whole(self.directory / HEADER, header)

    def _load(self, number: int, file: Path, call: RecordedCall) -> None:
        key = call.request.key
        self._numbers[key] = max(number + 1, self._numbers.get(key, 0))
        lane = self._lanes.setdefault(key, {}).setdefault(call.thread, _Lane(earlier=True))
        if call.failure is not None and not self.replays:  # who may ask again does
            lane.failed.append(file)
            return
        lane.calls.append((number, call))
        lane.failed.clear()

    def _nearest(self, prompt: Prompt[Any], request: Request) -> Phrase:
        lanes = self._lanes.get(request.key)
        if lanes:
            return Phrase("recording.once_more", count=sum(len(lane.calls) for lane in lanes.values()))
        kept = [one for lanes in self._lanes.values() for lane in lanes.values() for one in lane.calls[:1]]
        alike = [one for one in kept if one[1].prompt == prompt.name] or kept
        if not alike:
            return Phrase("recording.empty")
        likely = nlargest(_LIKELY, alike, key=lambda one: _likeness(one[1].request.lines, request.lines))
        asked = "\n".join(request.lines)
        number, nearest = max(likely, key=lambda one: _likeness("\n".join(one[1].request.lines), asked))
        file = f"{CALLS}/{file_name(nearest.prompt, nearest.request, number)}"
        difference = unified_diff(nearest.request.lines, request.lines, file, "now", lineterm="", n=1)
        return Phrase("recording.nearest", difference="\n".join(difference))


def open_cassette(llm: LlmSettings) -> Cassette | None:
    """The cassette that the settings name; None: they name none, or the rehearsal, which says the same again anyway.

    Raises:
        Misconfigured: it cannot be read or written; it is to be replayed and not there, or recorded and not empty.
        CassetteUnusable: a file in it is damaged, or of another version.
    """
    if llm.cassette is None or llm.provider == "rehearsal":
        return None
    return Cassette(llm.cassette, llm.cassette_mode)


def _lane_for(thread: str, lanes: Mapping[str, _Lane], taken: Iterable[_Place]) -> str:
    """The asker's own lane, else the first of its world that nobody has. A world that no earlier run has recorded, such
    as a branch, takes those of others: of the asker with the same id, else the first.
    """
    if thread in lanes:
        return thread
    world_id, _, asker = thread.partition("/")
    own = [name for name in lanes if name.partition("/")[0] == world_id]
    earlier = (name for name, lane in lanes.items() if lane.earlier)
    others = {place.lane for place in taken}
    free = own or sorted(earlier, key=lambda name: name.partition("/")[2] != asker)
    return next((name for name in free if name not in others), thread)


def _likeness(one: Any, other: Any) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


class Recorded(ModelWrapper):
    """A ChatModel that asks `inner` only for what the cassette does not hold, and keeps the answer there, also one that
    is an error. What is replayed costs what it cost, and an utterance is heard whole.
    """

    def __init__(self, inner: ChatModel, cassette: Cassette, voice: Voice) -> None:
        super().__init__(inner)
        self._cassette = cassette
        self._voice = voice
        self._name = voice.name

    @property
    def name(self) -> str:
        """Who answered last, or would."""
        return self._name

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Answer the prompt; see ChatModel.

        Raises:
            CassetteMiss: the cassette is replayed, and does not hold it.
            CassetteUnusable: what it holds is no such answer, or cannot be written.
        """
        slot = self._cassette.ask(prompt, request_of(prompt, self._voice))
        if slot.call is None:
            return await self._ask(prompt, on_text, slot)
        if slot.call.failure is not None:
            raise _error_of(slot.call.failure, slot.call.usage)
        try:
            value = prompt.answer.model_validate(slot.call.answer)
        except ValidationError as exc:
            raise CassetteUnusable(file=str(self._cassette.file_of(slot)), reason=reason_of(exc)) from exc
        self._name = slot.call.by
        spoken = getattr(value, "utterance", None)
        if on_text is not None and isinstance(spoken, str) and spoken:
            on_text(spoken, getattr(value, "emotion", None))
        return Answer(value=value, usage=slot.call.usage, model=slot.call.by)

    async def _ask(self, prompt: Prompt[T], on_text: TextListener | None, slot: Asking) -> Answer[T]:
        try:
            answer = await self._inner.complete(prompt, on_text)
        except ModelNotConfigured:
            raise
        except ModelError as error:
            failure = Failure(slug=error.slug, facts={name: _plain(fact) for name, fact in error.facts.items()})
            self._cassette.keep(slot, by=self._inner.name, usage=error.usage, failure=failure)
            raise
        value = answer.value.model_dump(mode="json")
        self._cassette.keep(slot, by=answer.model, usage=answer.usage, answer=value)
        self._name = answer.model
        return answer


def _plain(fact: object) -> object:
    """A fact as JSON has it."""
    return {"key": fact.key, "facts": fact.facts} if isinstance(fact, Phrase) else fact


def _error_of(failure: Failure, usage: Usage) -> ModelError:
    facts = {
        name: Phrase(fact["key"], **fact["facts"]) if isinstance(fact, dict) else fact
        for name, fact in failure.facts.items()
    }
    return ERRORS[failure.slug](**facts).costing(usage)
