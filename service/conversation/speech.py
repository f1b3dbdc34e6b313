"""Owns an utterance in the making: who listens is told its words, and each attempt to speak has a name of its own."""

import asyncio
from typing import get_args

from service.content.profile import Emotion, Profile
from service.conversation.client_events import begin_utterance
from service.conversation.dependencies import ConversationDependencies
from service.conversation.stream import Speaking
from service.conversation.transcript import Transcript, held
from service.store.ids import new_id


class Speech:
    """The attempts to speak one turn. As a listener of a model it is told the words so far, and the emotion."""

    def __init__(self, deps: ConversationDependencies, said: Transcript, speaker: Profile) -> None:
        self.id = ""
        self._deps = deps
        self._row = said.row
        self._turn = len(said.turns)
        self._speaker = speaker
        self._text = ""
        self._emotion: Emotion | None = None
        self._anew: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Begin an attempt; what was told of the one before counts no more.

        Raises:
            NotFound: the conversation is no more.
        """
        self._text = ""
        await self._name_it()

    def __call__(self, text: str, emotion: str | None) -> None:
        """Tell who listens. A text that does not extend the last one began anew: so does the attempt."""
        words = text.lstrip()
        broke_off = not words.startswith(self._text)
        self._text = words
        self._emotion = next((one for one in get_args(Emotion) if one == emotion), None)
        if broke_off and self._anew is None and self._row.has_human:
            self._anew = asyncio.create_task(self._begin_anew())
        if self._anew is None:
            self._tell()

    async def settle(self) -> None:
        """Return when all that was heard has been told."""
        if self._anew is not None:
            await self._anew

    async def leave(self) -> None:
        """Stop the attempt that runs."""
        if self._anew is not None:
            self._anew.cancel()
            await asyncio.gather(self._anew, return_exceptions=True)

    async def _name_it(self) -> None:
        key, spoken = self._row.key, self._deps.stream.sentences_told(self._row.key) if self.id else None
        if self.id:
            self._deps.stream.hush(key)
        if self._row.has_human:
            self.id = await self._deps.database.write(
                lambda s: begin_utterance(
                    s, *held(s, self._deps.worlds, key), self._turn, self._speaker, spoken_sentences=spoken
                )
            )
            self._deps.stream.tell(key)
        else:
            self.id = f"{self._row.id}.{self._turn}.{new_id()}"

    async def _begin_anew(self) -> None:
        await self._name_it()
        self._anew = None
        self._tell()

    def _tell(self) -> None:
        if self._text:
            self._deps.stream.tell(
                self._row.key,
                Speaking(
                    utterance_id=self.id,
                    turn=self._turn,
                    speaker_id=self._speaker.id,
                    speaker_name=self._speaker.name,
                    text=self._text,
                    emotion=self._emotion,
                ),
            )
