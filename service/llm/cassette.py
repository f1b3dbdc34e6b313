"""Owns a cassette: a directory that keeps the calls of models, one file for each, and finds them by what was asked; and
the model around another one that keeps its calls there (Recorded).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher, unified_diff
from heapq import nlargest
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from service.content.fields import reason_of
from service.errors import CassetteMiss, CassetteUnusable, Misconfigured, ModelError, ModelNotConfigured
from service.llm.cassette_files import (
    CALLS,
    ERRORS,
    HEADER,
    SETTING,
    CassetteHeader,
    Failure,
    RecordedCall,
    Request,
    Voice,
    file_name,
    read_calls,
    read_header,
    request_of,
    write_call,
    write_whole,
)
from service.llm.chat import Answer, ChatModel, ModelWrapper, Prompt, T, TextListener
from service.locales import Phrase
from service.settings import CassetteMode, LlmSettings, Role
from service.usage import Usage

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
    """One asking of a request: the `call` that is recorded for it under that `number`; or None: it is to be kept under
    it.
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
