"""Owns what one connection is told of conversations with humans, event by event: what is committed, and between it the
words as they are spoken. Pure.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self, Union

from pydantic import AliasChoices, BeforeValidator, Field

from service.api.dependencies import Out
from service.content.profile import Emotion
from service.conversation.stream import Speaking
from service.conversation.utterance import Sentence, cut, strength
from service.store.client_event_kinds import (
    CLIENT_PAYLOADS,
    SentenceEmotion,
    TalkEnded,
    UtteranceCompleted,
    UtteranceDelta,
    UtteranceDiscarded,
    UtteranceSentence,
    UtteranceStarted,
    WorldRestored,
)
from service.store.event_kinds import Payload, for_every_kind
from service.store.tables import ConversationKey, EventRow


class ClientEvent(Out, of=EventRow, shows="at"):
    """Something that a game is told of a conversation with a human, `data` as its `kind` has it; see
    docs/client-events.md.
    """

    seq: int | None = Field(
        validation_alias=AliasChoices("id", "seq"),
        description="grows within a world; `after` asks for what is later. Null: it passes, and is not stored",
    )
    conversation_id: Annotated[str, BeforeValidator(lambda named: named or "")] = Field(
        description="of GET /conversations/{id}", examples=["6f1c0a94d2b75c0e9a41b3d8e7f2"]
    )
    kind: str = Field(description="what happened, as a word; it says what `data` is")
    data: Payload = Field(description="what is told of an event of that kind")


CLIENT_EVENTS = for_every_kind(ClientEvent, CLIENT_PAYLOADS)
"""How a client event of each kind travels."""

if TYPE_CHECKING:
    AnyClientEvent = ClientEvent
else:
    AnyClientEvent = Annotated[Union[tuple(CLIENT_EVENTS.values())], Field(discriminator="kind")]  # noqa: UP007

_POSITION = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9})\.([0-9]{1,9}))?")
POSITION = rf"^{_POSITION.pattern}$"


class StreamPosition(NamedTuple):
    """How much somebody has been told: events up to `seq`, and of the utterance that is being spoken then so many
    characters and sentences.
    """

    seq: int = 0
    chars: int = 0
    sentences: int = 0

    @classmethod
    def read(cls, text: str) -> Self:
        """As it is written: ``57``, or ``57.120.3``. Raises: ValueError: it is no position."""
        found = _POSITION.fullmatch(text)
        if found is None:
            raise ValueError(f"no position: {text}")
        return cls(*(int(part or 0) for part in found.groups()))

    def __str__(self) -> str:
        inside = f".{self.chars}.{self.sentences}" if self.chars or self.sentences else ""
        return f"{self.seq}{inside}"


@dataclass(kw_only=True, slots=True)
class _OpenUtterance:
    """An utterance in the making, and how much of it was told."""

    at: int
    started: UtteranceStarted
    chars: int = 0
    sentences: int = 0
    emotion: Emotion | None = None


class Telling:
    """Turns what is committed, and what is being spoken, into what one connection is told: each thing once, an
    utterance's words between its beginning and its end.
    """

    def __init__(self, position: StreamPosition, open_utterances: list[EventRow]) -> None:
        """`open_utterances` are those that had been begun at that position, in order."""
        self._seq = position.seq
        self._utterances: dict[str | None, _OpenUtterance] = {}
        for row in open_utterances:
            self._begin(row)
        if open_utterances:
            last = self._utterances[open_utterances[-1].conversation_id]
            last.chars, last.sentences = position.chars, position.sentences

    @property
    def position(self) -> StreamPosition:
        """How much was told so far."""
        last = next(reversed(self._utterances.values()), None)
        return StreamPosition(self._seq, *((last.chars, last.sentences) if last is not None else ()))

    def committed(self, row: EventRow) -> Iterator[ClientEvent]:
        """The next event of the log, and before it what was not told yet of the words that it completes."""
        event = CLIENT_EVENTS[row.kind].model_validate(row)
        done = event.data
        if isinstance(done, UtteranceCompleted) and not done.interrupted:
            utterance = self._begun(row.conversation_id, done.utterance_id)
            if utterance is not None:
                utterance.emotion = done.emotion
                yield from self._sentences(row.conversation_id, utterance, cut(done.text, is_whole=True))
        if isinstance(done, UtteranceCompleted | UtteranceDiscarded | TalkEnded):
            self._utterances.pop(row.conversation_id, None)
        if isinstance(done, WorldRestored):
            self._utterances.clear()
        if isinstance(done, UtteranceStarted):
            self._begin(row)
        self._seq = row.id
        yield event

    def spoken(self, key: ConversationKey, spoken: Speaking) -> Iterator[ClientEvent]:
        """What is new of the words that are being spoken."""
        conversation_id = key.conversation_id
        utterance = self._begun(conversation_id, spoken.utterance_id)
        if utterance is None:
            return
        utterance.emotion = spoken.emotion or utterance.emotion
        more = spoken.text[utterance.chars :]
        if more:
            told = UtteranceDelta(utterance_id=spoken.utterance_id, char_start=utterance.chars, text=more)
            utterance.chars = len(spoken.text)
            yield self._passing(conversation_id, utterance, told)
        yield from self._sentences(conversation_id, utterance, cut(spoken.text, is_whole=False))

    def _begin(self, row: EventRow) -> None:
        self._utterances.pop(row.conversation_id, None)  # the newest stands last
        self._utterances[row.conversation_id] = _OpenUtterance(
            at=row.at, started=UtteranceStarted.model_validate(row.data)
        )

    def _begun(self, conversation_id: str | None, utterance_id: str) -> _OpenUtterance | None:
        """That utterance, if its beginning was told."""
        utterance = self._utterances.get(conversation_id)
        return utterance if utterance is not None and utterance.started.utterance_id == utterance_id else None

    def _sentences(
        self, conversation_id: str | None, utterance: _OpenUtterance, found: list[Sentence]
    ) -> Iterator[ClientEvent]:
        for sentence in found[utterance.sentences :]:
            utterance.sentences += 1
            started, label = utterance.started, utterance.emotion
            told = UtteranceSentence(
                utterance_id=started.utterance_id,
                index=sentence.index,
                final=sentence.is_final,
                speaker_id=started.speaker_id,
                text=sentence.text,
                char_start=sentence.start,
                char_end=sentence.end,
                language=started.language,
                voice=started.voice,
                emotion=None if label is None else SentenceEmotion(label=label, strength=strength(sentence.text)),
                gesture=sentence.gesture,
            )
            yield self._passing(conversation_id, utterance, told)

    def _passing(self, conversation_id: str | None, utterance: _OpenUtterance, data: Payload) -> ClientEvent:
        return CLIENT_EVENTS[data.kind].model_validate(
            {"seq": None, "at": utterance.at, "conversation_id": conversation_id, "kind": data.kind, "data": data}
        )
