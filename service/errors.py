"""Owns the error tree: each error carries its facts, its HTTP status and the key of its sentence.

KataribeError
├── KeyMissing              401   the service has a key, and the request does not show it
├── HostNotAllowed          403   the request calls the service by a name that is not its own
├── CrossSite               403   a page of another site wants to change something
├── RequestTooSlow          408   the request's body did not arrive in time
├── BodyTooLarge            413   the request's body is longer than it may be
├── TooManyLines            413   a past of more lines than one call may give
├── NotFound                404   a character, NPC, conversation or other thing that is not there
├── Invalid                 422   an input that parses but cannot be meant
│   ├── NeverTold           422   a stream is to go on after an event that was never told
│   ├── KeyReused           422   an Idempotency-Key that was used for another request
│   ├── LinesWrong          422   lines of a past that cannot be taken; nothing of it was written
│   │   └── ProfileWrong    422   keys of a profile that cannot be taken; nobody was made or changed
│   └── TickTooLong         422   a tick that orders more than may be lived at once
├── Conflict                409
│   ├── Authored                  a person of the content is changed in its file
│   ├── Busy                      somebody talks already
│   ├── CommitmentOver            the promise is kept, broken, released or lapsed
│   ├── ActionOver                what was asked of the game is done, failed or too late already
│   ├── NotBeside                 the two do not stand next to each other
│   ├── NoWayThere                no open way leads there
│   ├── ClockHeld                 a conversation holds the world's clock
│   ├── Closed                    the facility is shut at this hour
│   ├── WrongPhase                the conversation is past (or before) what was asked
│   ├── NotYourTurn               it is not for the human to speak now
│   ├── StaleChoice               something was said since that line was suggested
│   ├── NotSpeaking               the utterance that is to be cut short is over, or never was
│   ├── Walking                   the person is on the way
│   ├── WorldInUse                a world with conversations that are not closed cannot be forgotten
│   ├── WorldExists               a branch is to begin a world that has begun already
│   ├── WorldRestored             the world was brought back to an earlier moment meanwhile
│   ├── SnapshotUnusable          a snapshot that is damaged, or of another version of the service
│   ├── WorldMoves                the world is on its way to a later time: it can be changed when it stands
│   ├── WorldStopped              the world was stopped before it came to where a tick was to bring it
│   └── NotPossible               the action is not possible here and now; the reason says why
├── ContentErrors           500   the game's files have errors (never reached over HTTP: such a world does not start)
├── Misconfigured           503   a setting is missing or wrong
├── WrongSettings           503   settings that cannot be read (never reached over HTTP: the service does not start)
├── DatabaseDamaged         503   the file of the SQLite database cannot be read as one
├── DatabaseGone            503   the file of the SQLite database was removed or replaced while the service runs
├── StoreFull               503   there is no room left where the database is kept
├── AnswerFailed            503   what a chat client's user said could not be answered: it may be said again
├── Stopping                503   the service stops while a request still waits
├── Unexpected              500   something that has no name here went wrong whenever it was tried
├── RunInterrupted          503   the database failed while the world was on its way; it goes on when that is back
├── CassetteUnusable        503   a cassette that is damaged, or of another version
├── CassetteMiss            503   a cassette is replayed, and does not hold what is asked now: nobody is asked
├── ModelError                    what a language model can do to us
│   ├── ModelNotConfigured  503   no key and no rehearsal chosen
│   ├── BudgetExhausted     503   the day's limit of calls or tokens is reached: nobody was asked
│   ├── ModelRejected       502   the server refuses our key, model name or request: a retry cannot help
│   ├── ModelUnreachable    503   no connection
│   ├── ModelTimeout        504
│   ├── ModelRateLimited    503   429, with Retry-After when given
│   ├── ModelServerError    502   5xx
│   ├── ModelRefused        502   the model declines to answer
│   ├── ModelEmpty          502   an answer without content
│   ├── ModelTruncated      502   the answer ran into the length limit
│   ├── ModelBroken         502   content that is not the JSON asked for
│   └── ModelOutOfCharacter 502   the speaker stepped out of its role, twice
└── GraphUnavailable        503   the long-term memory cannot be reached
    ├── MemoryMissing       503   it does not hold what a world has been through
    ├── EmbedderChanged     503   it was embedded by another model than the one that is set
    └── MemoryOfAnother     503   a person's memory there was written by another installation of the service
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from service.locales import Language, Phrase, sentence
from service.usage import Usage


class KataribeError(Exception):
    """Base of all our errors.

    A subclass names its HTTP `status`. Its `slug` is the problem type, and under `errors` the key of its sentence: its
    name in small letters with hyphens (NotBeside: not-beside), where it names none. The keyword arguments it is raised
    with are its facts, filled into the sentence and shown beside it.
    """

    status: ClassVar[int] = 500
    slug: ClassVar[str] = "internal"

    def __init_subclass__(cls) -> None:
        if "slug" not in vars(cls):
            cls.slug = re.sub(r"\B(?=[A-Z])", "-", cls.__name__).lower()

    def __init__(self, **facts: Any) -> None:
        self.facts = facts
        super().__init__(self.sentence("en"))

    def sentence(self, language: Language) -> str:
        """What is wrong, where, and what to do, in that language."""
        return sentence(language, f"errors.{self.slug}", **self.facts)


class KeyMissing(KataribeError):
    """No facts."""

    status = 401


class HostNotAllowed(KataribeError):
    """Facts: `host`."""

    status = 403


class CrossSite(KataribeError):
    """Facts: `origin`."""

    status = 403


class RequestTooSlow(KataribeError):
    """Facts: `seconds`."""

    status = 408


class BodyTooLarge(KataribeError):
    """Facts: `limit_bytes`."""

    status = 413


class TooManyLines(KataribeError):
    """Facts: `most`."""

    status = 413


class NotFound(KataribeError):
    """Facts: `kind` (of `kinds` in the locales), `id`."""

    status = 404

    def sentence(self, language: Language) -> str:
        """See KataribeError; the kind is said in that language."""
        return sentence(language, f"errors.{self.slug}", **self.facts | {"kind": Phrase(f"kinds.{self.facts['kind']}")})


class Invalid(KataribeError):
    """Facts: `field`, `reason`."""

    status = 422


class NeverTold(Invalid):
    """Facts: `seq`, `newest`."""


class KeyReused(Invalid):
    """Facts: `key`."""

    slug = "idempotency-key-reused"


@dataclass(frozen=True, kw_only=True, slots=True)
class WrongLine:
    """What is wrong with a line of a past or a key of a profile, and `where`: ``line 3.at``, ``body.name``."""

    where: str
    reason: Phrase


class LinesWrong(Invalid):
    """`found` are all of them. Facts: `count`."""

    def __init__(self, found: Sequence[WrongLine]) -> None:
        self.found = tuple(found)
        super().__init__(count=len(found))


class ProfileWrong(LinesWrong):
    """`found` are the keys. Facts: `count`."""


class SceneWrong(LinesWrong):
    """`found` are the keys. Facts: `count`."""


class TickTooLong(Invalid):
    """Facts: `minutes`, `ordered` (and not lived yet), `most`: all world minutes."""


class Conflict(KataribeError):
    """The world is not in a state in which this can be done."""

    status = 409


class Authored(Conflict):
    """Facts: `id`, `file`."""


class Busy(Conflict):
    """Facts: `person`, `partner`, `conversation_id`."""


class CommitmentOver(Conflict):
    """Facts: `id`, `state`."""


class ActionOver(Conflict):
    """Facts: `call_id`, `state` (a CallState)."""


class NotBeside(Conflict):
    """Facts: `character`, `character_node`, `partner`, `partner_node`, `walk_minutes`."""


class NoWayThere(Conflict):
    """Facts: `start`, `goal`."""


class Closed(Conflict):
    """Facts: `facility`, `at`, `hours`."""

    slug = "facility-closed"


class WrongPhase(Conflict):
    """Facts: `conversation_id`, `phase`, `wanted`."""


class SceneOver(Conflict):
    """Facts: `turns`."""


class TurnPassed(Conflict):
    """Facts: `turn`, `said`."""


class NotYourTurn(Conflict):
    """Facts: `person`, `partner`, `conversation_id`."""


class StaleChoice(Conflict):
    """Facts: `conversation_id`, `choice_id`, `text`."""


class NotSpeaking(Conflict):
    """Facts: `conversation_id`, `utterance_id`."""


class Walking(Conflict):
    """Facts: `person`, `arrives_at`, `goal`."""


class WorldInUse(Conflict):
    """Facts: `world_id`, `count`."""


class WorldMoves(Conflict):
    """Facts: `now`, `until`."""


class WorldExists(Conflict):
    """Facts: `world_id`."""

    slug = "world-exists"


class WorldRestored(Conflict):
    """Facts: `world_id`."""

    slug = "world-restored"


class SnapshotUnusable(Conflict):
    """Facts: `name`, `reason`."""

    slug = "snapshot-unusable"


class ClockHeld(Conflict):
    """Facts: `conversation_id`."""


class WorldStopped(Conflict):
    """Facts: `until`."""


class NotPossible(Conflict):
    """Facts: `action`, `reason` (a world.option.Reason), `why` (the reason in the world's language), and what that
    reason brings along.
    """


class ContentErrors(KataribeError):
    """Facts: `count`, `directory`, `errors` (all of them, one a line)."""


class Misconfigured(KataribeError):
    """Facts: `setting`, `reason`."""

    status = 503

    def __init__(self, *, setting: str, reason: Phrase) -> None:
        super().__init__(setting=setting, reason=reason)


class WrongSettings(KataribeError):
    """Settings that cannot be read: one sentence for each of them. Facts: `settings`, their names."""

    status, slug = 503, "misconfigured"

    def __init__(self, found: Sequence[Misconfigured]) -> None:
        self._found = found
        super().__init__(settings=[each.facts["setting"] for each in found])

    def sentence(self, language: Language) -> str:
        return "\n".join(each.sentence(language) for each in self._found)


class AnswerFailed(KataribeError):
    """Facts: `failure`, as it is kept with the conversation (None: it was ended before the answer)."""

    status = 503

    def sentence(self, language: Language) -> str:
        """See KataribeError; where there is a failure, what it was."""
        failure: Mapping[str, str] | None = self.facts["failure"]
        return failure[language] if failure is not None else super().sentence(language)


class Stopping(KataribeError):
    """The service stops while a request still waits. No facts."""

    status = 503


class RunInterrupted(KataribeError):
    """Facts: `until`, `reason`."""

    status = 503


class DatabaseDamaged(KataribeError):
    """Facts: `file`, `found` (what SQLite says), `setting`."""

    status = 503


class DatabaseGone(KataribeError):
    """Facts: `file`, `setting`."""

    status = 503


class StoreFull(KataribeError):
    """No facts."""

    status = 503


class Unexpected(KataribeError):
    """Facts: `tries`, `reason`."""


class CassetteUnusable(KataribeError):
    """Facts: `file`, `reason`."""

    status = 503


class CassetteMiss(KataribeError):
    """It is no ModelError: those are part of a story, and this one must end it. Facts: `directory`, `prompt`, `role`,
    `nearest` (what is recorded that is most like it, and how it differs).
    """

    status = 503


class ModelError(KataribeError):
    """What a language model can do to us. `usage` is what was paid before it was raised.

    Facts: at least `model`; `role` is added by whoever asked.
    """

    status = 502
    retry_helps: ClassVar[bool] = False
    usage: Usage = Usage(calls=1)


class ModelNotConfigured(ModelError):
    """No language model is configured. No facts."""

    status = 503
    usage = Usage()


class BudgetExhausted(ModelError):
    """Facts: `setting`, `limit`, `day` and `renews_at` (UTC), `retry_after_seconds`."""

    status = 503
    usage = Usage()


class ModelRejected(ModelError):
    """Facts: `model`, `status_code`, `reason`, `setting`."""


class ModelUnreachable(ModelError):
    """Facts: `model`, `base_url`, `reason`."""

    status, retry_helps = 503, True


class ModelTimeout(ModelError):
    """Facts: `model`, `seconds`."""

    status, retry_helps = 504, True


class ModelRateLimited(ModelError):
    """Facts: `model`, `retry_after_seconds` (None: the server did not say)."""

    status, retry_helps = 503, True


class ModelServerError(ModelError):
    """Facts: `model`, `status_code`, `reason`."""

    retry_helps = True


class ModelRefused(ModelError):
    """Facts: `model`, `reason`."""


class ModelEmpty(ModelError):
    """Facts: `model`."""

    retry_helps = True


class ModelTruncated(ModelError):
    """Facts: `model`, `max_tokens`."""

    retry_helps = True


class ModelBroken(ModelError):
    """Facts: `model`, `reason`."""

    retry_helps = True


class ModelOutOfCharacter(ModelError):
    """Facts: `model`."""


class GraphUnavailable(KataribeError):
    """Facts: `backend`, `reason`, `setting`."""

    status, slug = 503, "memory-graph-unavailable"


class MemoryMissing(GraphUnavailable):
    """Facts: `world_id`, `character_id`, `conversation_id`, and those of GraphUnavailable."""


class MemoryOfAnother(GraphUnavailable):
    """Facts: `group_id`, `world_id`, and those of GraphUnavailable."""


class EmbedderChanged(GraphUnavailable):
    """Facts: `group_id`, `before` and `now` (a model and the width of its vectors), and those of GraphUnavailable."""
