"""Owns the error tree: each error carries its facts, its HTTP status and the key of its sentence.

KataribeError
├── KeyMissing              401   the service has a key, and the request does not show it
├── KeyRefused              403   the key that the request shows is not for what it asks
├── HostNotAllowed          403   the request calls the service by a name that is not its own
├── CrossSite               403   a page of another site wants to change something
├── RequestTooSlow          408   the request's body did not arrive in time
├── ContentChanged          412   a file of content was changed since it was read
├── BodyTooLarge            413   the request's body is longer than it may be
├── TooManyValues           413   the request's body has more values of JSON than anybody needs
├── BodyEncoded             415   the request's body is compressed
├── TooManyLines            413   a past of more lines than one call may give
├── TooManyTries            429   from one address came too many wrong keys
├── NotFound                404   a character, NPC, conversation or other thing that is not there
│   └── NoSuchWorld         404   a world that is to be exported, and is not in the store
├── NoSuchModel             404   nobody whom a chat client could call by that model
├── Invalid                 422   an input that parses but cannot be meant
│   ├── NeverTold           422   a stream is to go on after an event that was never told
│   ├── KeyReused           422   an Idempotency-Key that was used for another request
│   ├── LinesWrong          422   lines of a past that cannot be taken; nothing of it was written
│   │   ├── ProfileWrong    422   keys of a profile that cannot be taken; nobody was made or changed
│   │   ├── SceneWrong      422   keys of a scene that cannot be taken; it was not begun
│   │   └── ContentWrong    422   values of a file of content that cannot be taken; nothing was written
│   ├── TickTooLong         422   a tick that orders more than may be lived at once
│   ├── BadWorldName        422   a text that is no id of a world
│   ├── NoSuchTime          422   an option of the command line that is no date or time
│   ├── NothingThen         422   a span in which a world did not live
│   ├── FileUnusable        422   a file that the system refuses, or that says nothing
│   └── BadLine             422   a line of a file that makes no sense; nothing of the file was kept
├── Conflict                409   the world is not in a state in which this can be done
│   ├── Authored            409   a person of the content is changed in its file
│   ├── ContentFixed        409   the sample that comes with the service is not changed
│   ├── Busy                409   somebody talks already
│   ├── CommitmentOver      409   the promise is kept, broken, released or lapsed
│   ├── ActionOver          409   what was asked of the game is done, failed or too late already
│   ├── NotBeside           409   the two do not stand next to each other
│   ├── NoWayThere          409   no open way leads there
│   ├── FacilityClosed      409   the facility is shut at this hour
│   ├── WrongPhase          409   the conversation is past (or before) what was asked
│   ├── SceneOver           409   the scene has ended
│   ├── TurnPassed          409   something is to hold from a turn on that was spoken already
│   ├── NotYourTurn         409   it is not for the human to speak now
│   ├── TableFull           409   nobody more can sit down with those who talk
│   ├── OutOfEarshot        409   something is said to a person who is not there to hear it
│   ├── StaleChoice         409   something was said since that line was suggested
│   ├── NotSpeaking         409   the utterance that is to be cut short is over, or never was
│   ├── Walking             409   the person is on the way
│   ├── WorldInUse          409   a world with conversations that are not closed cannot be forgotten
│   ├── WorldMoves          409   the world is on its way to a later time: it can be changed when it stands
│   ├── WorldExists         409   a branch is to begin a world that has begun already
│   ├── RestoredMeanwhile   409   the world was brought back to an earlier moment meanwhile
│   ├── StoreHoldsWorlds    409   a backup is to be restored where worlds are
│   ├── WorldHasLived       409   a story is to be brought into a world that has one
│   ├── ReplayDiffers       409   a world that is lived again came to something else
│   ├── SnapshotUnusable    409   a snapshot of another version of the service
│   ├── ClockHeld           409   a conversation holds the world's clock
│   ├── WorldStopped        409   the world was stopped before it came to where a tick was to bring it
│   └── NotPossible         409   the action is not possible here and now; the reason says why
├── ContentErrors           500   the game's files have errors (never reached over HTTP: such a world does not start)
├── Misconfigured           503   a setting is missing or wrong
├── WrongSettings           503   settings that cannot be read (never reached over HTTP: the service does not start)
├── AnswerFailed            503   what a chat client's user said could not be answered: it may be said again
├── Stopping                503   the service stops while a request still waits
├── RunInterrupted          503   the database failed while the world was on its way; it goes on when that is back
├── DatabaseDamaged         503   the file of the SQLite database cannot be read as one
├── DatabaseGone            503   the file of the SQLite database was removed or replaced while the service runs
├── StoreFull               503   there is no room left where the database is kept
├── StoreUnavailable        503   the database cannot be reached, or not be written to
├── Unexpected              500   something that has no name here went wrong whenever it was tried
├── CassetteUnusable        503   a cassette that is damaged, or of another version
├── CassetteMiss            503   a cassette is replayed, and does not hold what is asked now: nobody is asked
├── ModelError              502   what a language model can do to us
│   ├── ModelNotConfigured  503   no key and no rehearsal chosen
│   ├── BudgetExhausted     503   the day's limit of calls or tokens is reached: nobody was asked
│   ├── ModelRejected       502   the server refuses our key, model name or request: a retry cannot help
│   ├── ModelUnreachable    503   no connection
│   ├── ModelTimeout        504   no answer in time
│   ├── ModelRateLimited    503   429, with Retry-After when given
│   ├── ModelServerError    502   5xx
│   ├── ModelRefused        502   the model declines to answer
│   ├── ModelEmpty          502   an answer without content
│   ├── ModelTruncated      502   the answer ran into the length limit
│   ├── ModelBroken         502   content that is not the JSON asked for
│   └── ModelOutOfCharacter 502   the speaker stepped out of its role, twice
└── GraphUnavailable        503   the long-term memory cannot be reached
    ├── MemoryOfAnother     503   a person's memory there was written by another installation of the service
    └── EmbedderChanged     503   it was embedded by another model than the one that is set

Rooms that only their own callers know (content, studio) declare theirs beside what raises them.
"""

import errno
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from service.locales import Language, Phrase, room, sentence
from service.usage import Usage


class KataribeError(Exception):
    """Base of all our errors.

    A subclass names its HTTP `status`, if it is not its parent's. Its `slug` is the problem type, and under `errors`
    the key of its sentence: its name in small letters with hyphens (NotBeside: not-beside), where it names none. The
    keyword arguments it is raised with are its facts, filled into the sentence and shown beside it.
    """

    status: ClassVar[int] = 500
    slug: ClassVar[str] = "internal"
    retry_helps: ClassVar[bool] = False

    def __init_subclass__(cls, status: int | None = None, slug: str = "", *, retry_helps: bool | None = None) -> None:
        cls.status = cls.status if status is None else status
        cls.slug = slug or re.sub(r"\B(?=[A-Z])", "-", cls.__name__).lower()
        cls.retry_helps = cls.retry_helps if retry_helps is None else retry_helps

    def __init__(self, **facts: Any) -> None:
        self.facts = facts
        super().__init__(self.sentence("en"))

    def sentence(self, language: Language) -> str:
        """What is wrong, where, and what to do, in that language; an error among its facts says what that was."""
        told = {name: one.sentence(language) for name, one in self.facts.items() if isinstance(one, KataribeError)}
        return sentence(language, f"errors.{self.slug}", **self.facts | told)


def system_reason(error: OSError) -> Phrase | str:
    """Why the system refused something; what we have no words for, as it says it."""
    name = errno.errorcode.get(error.errno or 0, "")
    return Phrase(f"system.{name}") if name in room("en", "system") else error.strerror or str(error)


@contextmanager
def usable(file: Path) -> Iterator[None]:
    """Whatever the system refuses of the file is told. Raises: FileUnusable."""
    try:
        yield
    except OSError as exc:
        raise FileUnusable(file=str(file), reason=system_reason(exc)) from exc


class KeyMissing(KataribeError, status=401):
    """No facts."""


class KeyRefused(KataribeError, status=403):
    """Facts: `key`, its name, and `reason`."""


class TooManyTries(KataribeError, status=429):
    """Facts: `retry_after_seconds`."""


class HostNotAllowed(KataribeError, status=403):
    """Facts: `host`."""


class CrossSite(KataribeError, status=403):
    """Facts: `origin`."""


class RequestTooSlow(KataribeError, status=408):
    """Facts: `seconds`."""


class ContentChanged(KataribeError, status=412):
    """Facts: `file`."""


class BodyTooLarge(KataribeError, status=413):
    """Facts: `limit_bytes`."""


class TooManyValues(KataribeError, status=413):
    """A body of JSON has more values than anybody needs. Facts: `limit`."""


class BodyEncoded(KataribeError, status=415):
    """Facts: `encoding`."""


class TooManyLines(KataribeError, status=413):
    """Facts: `most`."""


class NotFound(KataribeError, status=404):
    """Facts: `kind` (of `kinds` in the locales), `id`. `among`: the ids that there are; the closest is named."""

    def __init__(self, *, among: Iterable[str] = (), **facts: Any) -> None:
        meant = get_close_matches(str(facts["id"]), list(among), n=1)
        self._hint = Phrase("common.hint", guess=f'"{meant[0]}"') if meant else ""
        super().__init__(**facts)

    def sentence(self, language: Language) -> str:
        """See KataribeError; the kind is said in that language."""
        kind = Phrase(f"kinds.{self.facts['kind']}")
        return sentence(language, f"errors.{self.slug}", **self.facts | {"kind": kind, "hint": self._hint})


Sought = TypeVar("Sought")


def existing(found: Sought | None, kind: str, sought: object, *, among: Iterable[str] = ()) -> Sought:
    """What was `found` of that kind under what was `sought`. Raises: NotFound: nothing was."""
    if found is None:
        raise NotFound(kind=kind, id=sought, among=among)
    return found


class NoSuchWorld(NotFound):
    """Facts: `id`, `place`."""


class NoSuchModel(KataribeError, status=404):
    """Facts: `field`, `id`."""


class Invalid(KataribeError, status=422):
    """Facts: `field`, `reason`."""


def refuse(*wrongs: tuple[object, str, Phrase | str]) -> None:
    """Each of `wrongs`: whether it is so, the field, and the sentence, or its key, that says what is wrong with it.

    Raises:
        Invalid: one of them is so; the first is told.
    """
    for is_so, field, reason in wrongs:
        if is_so:
            raise Invalid(field=field, reason=Phrase(reason) if isinstance(reason, str) else reason)


class NeverTold(Invalid):
    """Facts: `seq`, `newest`."""


class KeyReused(Invalid, slug="idempotency-key-reused"):
    """Facts: `key`."""


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


class ContentWrong(LinesWrong):
    """`found` are the keys. Facts: `count`."""


class TickTooLong(Invalid):
    """Facts: `minutes`, `ordered` (and not lived yet), `most`: all world minutes."""


class BadWorldName(Invalid):
    """Facts: `value`."""


class NoSuchTime(Invalid):
    """Facts: `option`, `value`."""


class NothingThen(Invalid):
    """Facts: `since`, `until`, `begun`, `now`."""


class FileUnusable(Invalid):
    """Facts: `file`, `reason`."""


class BadLine(Invalid):
    """Facts: `file`, `line` (from 1), `reason`. Nothing of the file was kept."""


class Conflict(KataribeError, status=409):
    """The world is not in a state in which this can be done."""


class Authored(Conflict):
    """Facts: `id`, `file`."""


class ContentFixed(Conflict):
    """No facts."""


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


class FacilityClosed(Conflict):
    """Facts: `facility`, `at`, `hours`."""


class WrongPhase(Conflict):
    """Facts: `conversation_id`, `phase`, `wanted`."""


class SceneOver(Conflict):
    """Facts: `turns`."""


class TurnPassed(Conflict):
    """Facts: `turn`, `said`."""


class NotYourTurn(Conflict):
    """Facts: `person`, `partner`, `conversation_id`."""


class TableFull(Conflict):
    """Facts: `names`, `most`, `conversation_id`."""


class OutOfEarshot(Conflict):
    """Facts: `person`, `here`, `conversation_id`."""


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


class RestoredMeanwhile(Conflict, slug="world-restored"):
    """Facts: `world_id`."""


class StoreHoldsWorlds(Conflict):
    """Facts: `place`, `worlds` (how many)."""


class WorldHasLived(Conflict):
    """Facts: `world_id`."""


class ReplayDiffers(Conflict):
    """Facts: `line` (its number in the log), `reason` (an error, or the words of an answer). What was done before it
    stays.
    """


class SnapshotUnusable(Conflict):
    """Facts: `name`, `reason`."""


class ClockHeld(Conflict):
    """Facts: `conversation_id`."""


class WorldStopped(Conflict):
    """Facts: `until`."""


class NotPossible(Conflict):
    """Facts: `action`, `reason` (a world.actions.Reason), `why` (the reason in the world's language), and what that
    reason brings along.
    """


class ContentErrors(KataribeError):
    """Facts: `count`, `directory`, `errors` (all of them, one a line)."""


class Misconfigured(KataribeError, status=503):
    """Facts: `setting`, `reason`."""

    def __init__(self, *, setting: str, reason: Phrase) -> None:
        super().__init__(setting=setting, reason=reason)


def require_extra(extra: str, *, module: str, setting: str) -> None:
    """Raises: Misconfigured: the setting needs a module that only `kataribe[extra]` brings, and it is not installed."""
    if find_spec(module) is None:
        raise Misconfigured(setting=setting, reason=Phrase("settings.extra_missing", extra=extra))


class WrongSettings(KataribeError, status=503, slug="misconfigured"):
    """Settings that cannot be read: one sentence for each of them. Facts: `settings`, their names."""

    def __init__(self, found: Sequence[Misconfigured]) -> None:
        self._found = found
        super().__init__(settings=[each.facts["setting"] for each in found])

    def sentence(self, language: Language) -> str:
        return "\n".join(each.sentence(language) for each in self._found)


class AnswerFailed(KataribeError, status=503):
    """Facts: `failure`, as it is kept with the conversation (None: it was ended before the answer)."""

    def sentence(self, language: Language) -> str:
        """See KataribeError; where there is a failure, what it was."""
        failure: Mapping[str, str] | None = self.facts["failure"]
        return failure[language] if failure is not None else super().sentence(language)


class Stopping(KataribeError, status=503):
    """The service stops while a request still waits. No facts."""


class RunInterrupted(KataribeError, status=503):
    """Facts: `until`, `reason`."""


class DatabaseDamaged(KataribeError, status=503):
    """Facts: `file`, `found` (what SQLite says), `setting`."""


class DatabaseGone(KataribeError, status=503):
    """Facts: `file`, `setting`."""


class StoreFull(KataribeError, status=503):
    """No facts."""


class StoreUnavailable(KataribeError, status=503):
    """No facts."""


class Unexpected(KataribeError):
    """Facts: `tries`, `reason`."""


class CassetteUnusable(KataribeError, status=503):
    """Facts: `file`, `reason`."""


class CassetteMiss(KataribeError, status=503):
    """It is no ModelError: those are part of a story, and this one must end it. Facts: `directory`, `prompt`, `role`,
    `nearest` (what is recorded that is most like it, and how it differs).
    """


class ModelError(KataribeError):
    """What a language model can do to us. `usage` is what was paid before it was raised.

    Facts: at least `model`; `role` is added by whoever asked.
    """

    status = 502
    usage: Usage = Usage(calls=1)

    def costing(self, usage: Usage) -> Self:
        """The error, with what was paid."""
        self.usage = usage
        return self


class ModelNotConfigured(ModelError, status=503):
    """No language model is configured. No facts."""

    usage = Usage()


class BudgetExhausted(ModelError, status=503):
    """Facts: `setting`, `limit`, `day` and `renews_at` (UTC), `retry_after_seconds`."""

    usage = Usage()


class ModelRejected(ModelError):
    """Facts: `model`, `status_code`, `reason`, `setting`."""


class ModelUnreachable(ModelError, status=503, retry_helps=True):
    """Facts: `model`, `base_url`, `reason`."""


class ModelTimeout(ModelError, status=504, retry_helps=True):
    """Facts: `model`, `seconds`."""


class ModelRateLimited(ModelError, status=503, retry_helps=True):
    """Facts: `model`, `retry_after_seconds` (None: the server did not say)."""


class ModelServerError(ModelError, retry_helps=True):
    """Facts: `model`, `status_code`, `reason`."""


class ModelRefused(ModelError):
    """Facts: `model`, `reason`."""


class ModelEmpty(ModelError, retry_helps=True):
    """Facts: `model`."""


class ModelTruncated(ModelError, retry_helps=True):
    """Facts: `model`, `max_tokens`."""


class ModelBroken(ModelError, retry_helps=True):
    """Facts: `model`, `reason`."""


class ModelOutOfCharacter(ModelError):
    """Facts: `model`."""


AWAY = (ModelUnreachable, ModelTimeout, ModelRateLimited, ModelServerError)
"""Nobody answered: another time somebody may."""

ANSWERED = (ModelBroken, ModelEmpty, ModelRefused, ModelTruncated)
"""The model could be reached, and what it answered is of no use."""


class GraphUnavailable(KataribeError, status=503, slug="memory-graph-unavailable"):
    """Facts: `backend`, `reason`, `setting`."""


class MemoryOfAnother(GraphUnavailable):
    """Facts: `group_id`, `world_id`, and those of GraphUnavailable."""


class EmbedderChanged(GraphUnavailable):
    """Facts: `group_id`, `before` and `now` (a model and the width of its vectors), and those of GraphUnavailable."""
