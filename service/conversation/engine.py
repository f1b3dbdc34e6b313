"""Owns a conversation's course: turn after turn, each committed before the next one begins, to its end and its closing.

Whoever carries a conversation calls these: a runner holds it from end to end, the living world asks for turn after
turn. What is asked for twice, because somebody stopped in between, is answered from the rows.
"""

import logging
from collections import Counter
from dataclasses import dataclass

from sqlalchemy.exc import OperationalError

from service.conversation.closing import close, fail
from service.conversation.context_builder import Contexts, build_contexts
from service.conversation.dependencies import ConversationDependencies
from service.conversation.interventions import step_in
from service.conversation.moderator import moderated
from service.conversation.sketch import is_sketchable
from service.conversation.speaking import finish, speak
from service.conversation.transcript import Transcript, failure_of, read_transcript
from service.errors import KataribeError, NotFound, Unexpected
from service.llm.chat import Role
from service.store.phase import EndReason, Phase, Speaker, TurnForm
from service.store.tables import ConversationKey
from world.time import WorldTime

_log = logging.getLogger(__name__)

TRIES = 3
"""How often a turn or a closing is tried that fails with an error nobody expects."""


MOST_KNOWN = 1000
"""Of so many conversations at once it is kept in memory what their people know."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnOutcome:
    """What came of a turn. `is_over`: nothing more will be said, and the conversation has ended; else `left` may have
    gone with it, while the others go on.
    """

    is_over: bool = False
    left: str | None = None


class Engine:
    """Speaks the turns of conversations and closes them. It keeps nothing but what those that run know already.

    `directs`: before a turn of a scene happens what its file says; a replay has that from the log.
    """

    def __init__(self, deps: ConversationDependencies, *, directs: bool = True) -> None:
        self._deps = deps
        self._directs = directs
        self._contexts: dict[ConversationKey, Contexts] = {}
        self._tries: Counter[ConversationKey] = Counter()

    async def converse(self, key: ConversationKey) -> bool:
        """Hold the conversation, from the turns that are committed already, to its end, or until a human is to speak,
        or it stands. True: it has ended.

        Whatever a model does ends the conversation in a known state; it never becomes dialogue.
        """
        waits = False
        try:
            said = await self._read(key)
            while said is not None and said.row.awaits is None and not said.stands:
                said = await self._speak(said, None)
            waits = said is not None and said.row.phase == Phase.RUNNING
        finally:
            if not waits:
                self._contexts.pop(key, None)
        return not waits

    async def turn(
        self, key: ConversationKey, index: int, at: WorldTime | None, *, sketched: bool = False
    ) -> TurnOutcome:
        """Speak turn `index` at world time `at` (None: what the clock shows when it is said). `sketched`: as one of a
        talk that is made by one call, while two models talk and nobody listens.

        A turn that is committed already is not spoken again. A model's failure, or a client, may have ended it.

        Raises:
            ValueError: the turn before was not spoken.
        """
        said = await self._read(key)
        if said is not None and len(said.turns) < index:
            raise ValueError(
                f"conversation {key.conversation_id} has {len(said.turns)} turns: it cannot have turn {index} next"
            )
        while said is not None and (len(said.turns) == index or isinstance(said.next_step, EndReason)):
            said = await self._speak(said, at, sketched=sketched and not self._deps.stream.has_listener(key))
        if said is None or said.row.phase != Phase.RUNNING:
            self._contexts.pop(key, None)
            return TurnOutcome(is_over=True)
        gone = (one.person_id for one in said.row.participants if one.left_turn == index + 1)
        return TurnOutcome(left=next(gone, None))

    async def close(self, key: ConversationKey) -> None:
        """Remember it, by one model call.

        Doing it twice changes nothing. A closing that failed is left as `closing_failed`; one that waits for what the
        game does is left as it is.
        """
        try:
            row = await close(self._deps, key)
            self._tries.pop(key, None)
        except NotFound:  # it was forgotten meanwhile
            return
        except Exception as exc:  # noqa: BLE001
            row = await fail(self._deps, key, self._given_up(key, exc))
        if row.phase not in (Phase.RUNNING, Phase.CLOSING):
            self._deps.stream.settle(key)

    async def give_up(self, key: ConversationKey, error: KataribeError) -> None:
        """Leave it as one whose model has failed: what is said next, or the closing, cannot be had."""
        said = await self._read(key)
        if said is not None and said.row.phase == Phase.RUNNING:
            await finish(self._deps, said, EndReason.MODEL_FAILURE, failure_of(error, "character"))
        elif said is not None:
            await fail(self._deps, key, error)
            self._deps.stream.settle(key)

    def begin_anew(self, world_id: str) -> None:
        """Forget what is known of the world's talks, for somebody has changed the world: it is read anew."""
        self._contexts = {key: known for key, known in self._contexts.items() if key.world_id != world_id}

    async def _read(self, key: ConversationKey) -> Transcript | None:
        return await self._deps.database.read(lambda s: read_transcript(s, self._deps.worlds, key))

    async def _speak(self, said: Transcript, at: WorldTime | None, *, sketched: bool = False) -> Transcript | None:
        """The transcript with the next turn; None: there was none, and the conversation has ended."""
        if self._directs and said.row.form == TurnForm.SCENE and await step_in(self._deps, said.row.key):
            now = await self._read(said.row.key)
            if now is None:
                return None
            said = now
        if said.row.phase != Phase.RUNNING:
            return None
        seat = said.next_step
        if isinstance(seat, EndReason):  # its last turn was committed, and not its end
            await finish(self._deps, said, seat)
            return None
        role: Role = "character"
        try:
            seat = await moderated(self._deps, said, seat, at)
            sketched = sketched and is_sketchable(said)
            known = await self._known(said, sketched=sketched)
            role = known.contexts[seat].speaker.kind
            now_said = await speak(self._deps, known, said, seat, at, sketched=sketched)
        except NotFound as exc:  # the author has taken one of them out of the game meanwhile
            await finish(self._deps, said, EndReason.CONTENT_CHANGED, failure_of(exc, "character"))
            return None
        except Exception as exc:  # noqa: BLE001
            error = self._given_up(said.row.key, exc)
            await finish(self._deps, said, EndReason.MODEL_FAILURE, failure_of(error, role))
            return None
        self._tries.pop(said.row.key, None)
        return now_said

    def _given_up(self, key: ConversationKey, error: Exception) -> Unexpected:
        """What is said of an error that nobody expects, and that came again whenever it was tried.

        Raises:
            Exception: `error` itself, while it is to be tried again: `TRIES` times in all, and for ever where the store
                is away.
        """
        self._tries[key] += 1
        if self._tries[key] < TRIES or isinstance(error, (OperationalError, KataribeError)):
            raise error
        _log.error("given up after %d tries: conversation %s", TRIES, key.conversation_id, exc_info=error)
        del self._tries[key]
        return Unexpected(tries=TRIES, reason=f"{type(error).__name__}: {error}")

    async def _known(self, said: Transcript, *, sketched: bool) -> Contexts:
        """What everybody knows for whom a model speaks; it is built anew where somebody has joined, or is handed to
        a model. Who begins a sketched talk knows no secret in it, and does not to its end.
        """
        known, sketched = self._contexts.get(said.row.key), sketched or said.is_sketched
        seats = [one.seat for one in said.row.participants if one.speaker == Speaker.MODEL]
        is_old = known is None or known.world.timeline != said.world.timeline
        if known is None or is_old or any(seat not in known.contexts for seat in seats):
            known = self._contexts[said.row.key] = await build_contexts(self._deps, said, sketched=sketched)
            if len(self._contexts) > MOST_KNOWN:  # a human may never come back: it is built anew for who does
                self._contexts.pop(next(iter(self._contexts)))
        return known
