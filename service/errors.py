"""Owns the error tree: each error carries its facts, its HTTP status and its sentence in English and Japanese.

KataribeError
├── KeyMissing              401   the service has a key, and the request does not show it
├── HostNotAllowed          403   the request calls the service by a name that is not its own
├── CrossSite               403   a page of another site wants to change something
├── RequestTooSlow          408   the request's body did not arrive in time
├── BodyTooLarge            413   the request's body is longer than it may be
├── NotFound                404   a character, NPC, conversation or other thing that is not there
├── Invalid                 422   an input that parses but cannot be meant
│   ├── KeyReused           422   an Idempotency-Key that was used for another request
│   └── TickTooLong         422   a tick that orders more than may be lived at once
├── Conflict                409
│   ├── Busy                      somebody talks already
│   ├── NotBeside                 the two do not stand next to each other
│   ├── NoWayThere                no open way leads there
│   ├── Closed                    the facility is shut at this hour
│   ├── WrongPhase                the conversation is past (or before) what was asked
│   ├── Walking                   the person is on the way
│   ├── WorldInUse                a world with conversations that are not closed cannot be forgotten
│   ├── WorldMoves                the world is on its way to a later time: it can be changed when it stands
│   ├── WorldStopped              the world was stopped before it came to where a tick was to bring it
│   └── NotPossible               the action is not possible here and now; the reason says why
├── ContentErrors           500   the game's files have errors (never reached over HTTP: such a world does not start)
├── Misconfigured           503   a setting is missing or wrong
├── WrongSettings           503   settings that cannot be read (never reached over HTTP: the service does not start)
├── DatabaseDamaged         503   the file of the SQLite database cannot be read as one
├── DatabaseGone            503   the file of the SQLite database was removed or replaced while the service runs
├── Stopping                503   the service stops while a request still waits
├── RunInterrupted          503   the database failed while the world was on its way; it goes on when that is back
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
    └── MemoryMissing       503   it does not hold what a world has been through
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from world.time import Language


class KataribeError(Exception):
    """Base of all our errors.

    A subclass names its HTTP `status`, a stable `slug` (the problem type) and its sentences; the keyword
    arguments it is raised with are its facts, filled into the sentence and shown beside it.
    """

    status: ClassVar[int] = 500
    slug: ClassVar[str] = "internal"
    text: ClassVar[Mapping[Language, str]] = {"en": "Something went wrong.", "ja": "問題が起きました。"}

    def __init__(self, **facts: Any) -> None:
        self.facts = facts
        super().__init__(self.sentence("en"))

    def sentence(self, language: Language) -> str:
        """What is wrong, where, and what to do, in that language."""
        return self.text[language].format(**self.facts)


class KeyMissing(KataribeError):
    """No facts."""

    status, slug = 401, "key-missing"
    text = {
        "en": "This service has a key (KATARIBE_API_KEY). Send it as `Authorization: Bearer …`, or log in at /login.",
        "ja": "このサービスにはキー(KATARIBE_API_KEY)が必要です。`Authorization: Bearer …` で送るか、/login でログイン"
        "してください。",
    }


class HostNotAllowed(KataribeError):
    """Facts: `host`."""

    status, slug = 403, "host-not-allowed"
    text = {
        "en": "This service does not go by the name {host!r}. If it should, add the name to KATARIBE_ALLOWED_HOSTS.",
        "ja": "このサービスの名前は {host!r} ではありません。この名前で使う場合は KATARIBE_ALLOWED_HOSTS に加えてください。",
    }


class CrossSite(KataribeError):
    """Facts: `origin`."""

    status, slug = 403, "cross-site"
    text = {
        "en": "A page of another site ({origin}) may change nothing here. If it is yours, add its origin to "
        "KATARIBE_CORS_ORIGINS.",
        "ja": "別サイトのページ({origin})からは変更できません。自分のページなら、そのオリジンを KATARIBE_CORS_ORIGINS に"
        "加えてください。",
    }


class RequestTooSlow(KataribeError):
    """Facts: `seconds`."""

    status, slug = 408, "request-too-slow"
    text = {
        "en": "The body did not arrive within {seconds:g} seconds (KATARIBE_REQUEST_TIMEOUT_SECONDS).",
        "ja": "本文が {seconds:g} 秒以内に届きませんでした(KATARIBE_REQUEST_TIMEOUT_SECONDS)。",
    }


class BodyTooLarge(KataribeError):
    """Facts: `limit_bytes`."""

    status, slug = 413, "body-too-large"
    text = {
        "en": "The body is longer than {limit_bytes} bytes (KATARIBE_MAX_BODY_BYTES).",
        "ja": "本文が {limit_bytes} バイトを超えています(KATARIBE_MAX_BODY_BYTES)。",
    }


class NotFound(KataribeError):
    """Facts: `kind`, `id`."""

    status, slug = 404, "not-found"
    text = {"en": "There is no {kind} {id!r} in this world.", "ja": "この世界に {kind} {id!r} はありません。"}


class Invalid(KataribeError):
    """Facts: `field`, `reason`."""

    status, slug = 422, "invalid"
    text = {"en": "{field}: {reason}", "ja": "{field}: {reason}"}


class KeyReused(Invalid):
    """Facts: `key`."""

    slug = "idempotency-key-reused"
    text = {
        "en": "The Idempotency-Key {key!r} was used for a different request. Use a new key for a new request.",
        "ja": "Idempotency-Key {key!r} は別の要求で使われています。新しい要求には新しいキーを使ってください。",
    }


class TickTooLong(Invalid):
    """Facts: `minutes`, `ordered` (and not lived yet), `most`: all world minutes."""

    slug = "tick-too-long"
    text = {
        "en": "A tick of {minutes} world minutes is too long: at most {most} may be ordered and not yet lived, "
        "and {ordered} are. Order less at once (KATARIBE_WORLD__MAX_TICK_MINUTES).",
        "ja": "世界時間で {minutes} 分のtickは長すぎます。まだ進んでいない分は合わせて {most} 分まで、いま {ordered} 分あります。"
        "小分けにしてください(KATARIBE_WORLD__MAX_TICK_MINUTES)。",
    }


class Conflict(KataribeError):
    """The world is not in a state in which this can be done."""

    status, slug = 409, "conflict"


class Busy(Conflict):
    """Facts: `person`, `partner`, `conversation_id`."""

    slug = "busy"
    text = {
        "en": "{person} is talking with {partner} (conversation {conversation_id}). Try again when it has ended.",
        "ja": "{person} は {partner} と話しています(会話 {conversation_id})。終わってからもう一度試してください。",
    }


class NotBeside(Conflict):
    """Facts: `character`, `character_node`, `partner`, `partner_node`, `walk_minutes`."""

    slug = "not-beside"
    text = {
        "en": "{character} is at {character_node}, {partner} at {partner_node}: {walk_minutes} minutes to walk. "
        "Move there first.",
        "ja": "{character} は {character_node}、{partner} は {partner_node} にいます(徒歩 {walk_minutes} 分)。"
        "先に移動してください。",
    }


class NoWayThere(Conflict):
    """Facts: `start`, `goal`."""

    slug = "no-way-there"
    text = {
        "en": "No open way leads from {start} to {goal}: the nodes NPCs stand on are closed to walkers.",
        "ja": "{start} から {goal} へ通れる道がありません。NPCの立つノードは通れません。",
    }


class Closed(Conflict):
    """Facts: `facility`, `at`, `hours`."""

    slug = "facility-closed"
    text = {
        "en": "{facility} is closed at {at}; open {hours}.",
        "ja": "{facility} は {at} には閉まっています(営業 {hours})。",
    }


class WrongPhase(Conflict):
    """Facts: `conversation_id`, `phase`, `wanted`."""

    slug = "wrong-phase"
    text = {
        "en": "Conversation {conversation_id} is {phase}; this needs {wanted}.",
        "ja": "会話 {conversation_id} は {phase} です。この操作には {wanted} が必要です。",
    }


class Walking(Conflict):
    """Facts: `person`, `arrives_at`, `goal`."""

    slug = "walking"
    text = {
        "en": "{person} is walking to {goal} and arrives at {arrives_at}.",
        "ja": "{person} は {goal} へ移動中です({arrives_at} 到着)。",
    }


class WorldInUse(Conflict):
    """Facts: `world_id`, `count`."""

    slug = "world-in-use"
    text = {
        "en": "{count} conversation(s) of world {world_id} are not closed yet. Try again when they are.",
        "ja": "世界 {world_id} には終わっていない会話が {count} 件あります。終わってからもう一度試してください。",
    }


class WorldMoves(Conflict):
    """Facts: `now`, `until`."""

    slug = "world-moves"
    text = {
        "en": "The world is on its way from {now} to {until}, and not everybody stands yet where it can be changed. "
        "Try again in a few seconds, or stop it first: POST /world/stop.",
        "ja": "世界は {now} から {until} へ進んでいる途中で、変更できる時点に全員がまだ着いていません。"
        "数秒後にもう一度試すか、先に POST /world/stop で止めてください。",
    }


class WorldStopped(Conflict):
    """Facts: `until`."""

    slug = "world-stopped"
    text = {
        "en": "The world was stopped, or removed, before it came to {until}.",
        "ja": "世界は {until} に着く前に止められたか、消されました。",
    }


class NotPossible(Conflict):
    """Facts: `action`, `reason` (a world.option.Reason), `why` (the reason in the world's language), and what that reason
    brings along.
    """

    slug = "not-possible"
    text = {
        "en": "{action} is not possible now: {why} ({reason}).",
        "ja": "いま「{action}」はできません: {why}({reason})。",
    }


class ContentErrors(KataribeError):
    """Facts: `count`, `directory`, `errors` (all of them, one a line)."""

    slug = "content-errors"
    text = {
        "en": "{count} error(s) in the content of {directory}; the world does not start.\n{errors}",
        "ja": "{directory} の内容に誤りが {count} 件あり、世界を始められません。\n{errors}",
    }


class Misconfigured(KataribeError):
    """Facts: `setting`, `reason` (English), `reason_ja`."""

    status, slug = 503, "misconfigured"
    text = {"en": "{setting}: {reason}", "ja": "設定 {setting}: {reason_ja}"}

    def __init__(self, *, setting: str, reason: str, reason_ja: str) -> None:
        super().__init__(setting=setting, reason=reason, reason_ja=reason_ja)


class WrongSettings(KataribeError):
    """Settings that cannot be read: one sentence for each of them. Facts: `settings`, their names."""

    status, slug = 503, "misconfigured"

    def __init__(self, found: Sequence[Misconfigured]) -> None:
        self._found = found
        super().__init__(settings=[each.facts["setting"] for each in found])

    def sentence(self, language: Language) -> str:
        return "\n".join(each.sentence(language) for each in self._found)


class Stopping(KataribeError):
    """The service stops while a request still waits. No facts."""

    status, slug = 503, "stopping"
    text = {
        "en": "The service is stopping. What has happened so far is kept; ask again when it is back.",
        "ja": "サービスが停止中です。ここまでに起きたことは保存されています。再開後にもう一度試してください。",
    }


class RunInterrupted(KataribeError):
    """Facts: `until`, `reason`."""

    status, slug = 503, "run-interrupted"
    text = {
        "en": "The database failed while the world was on its way to {until}: {reason}. The tick stays ordered, and the "
        "world goes on by itself when the database is back: do not send it again. POST /world/stop takes it back.",
        "ja": "世界が {until} へ進む途中でデータベースが失敗しました: {reason}。tickの指示は残り、データベースが戻れば世界は自動で続きを"
        "進みます。もう一度送らないでください。取り消すには POST /world/stop を使います。",
    }


class DatabaseDamaged(KataribeError):
    """Facts: `file`, `found` (what SQLite says), `setting`."""

    status, slug = 503, "database-damaged"
    text = {
        "en": "The database {file} ({setting}) is damaged ({found}). Stop the service, and put a backup in its place; or "
        "save what can be read of it with `sqlite3 {file} .recover`; or move it away to begin anew.",
        "ja": "データベース {file}({setting})が壊れています({found})。サービスを止めて、バックアップと置き換えるか、"
        "`sqlite3 {file} .recover` で読める分を取り出してください。別の場所へ移せば、最初から始められます。",
    }


class DatabaseGone(KataribeError):
    """Facts: `file`, `setting`."""

    status, slug = 503, "database-gone"
    text = {
        "en": "The database {file} ({setting}) was removed or replaced while the service runs, so nothing is written any "
        "more. Stop the service, put the file back, and start it again; without the file it begins anew.",
        "ja": "データベース {file}({setting})がサービスの実行中に消されたか、置き換えられたため、書き込みを止めました。"
        "サービスを止め、ファイルを元に戻して起動し直してください。ファイルがなければ、最初から始まります。",
    }


class ModelError(KataribeError):
    """What a language model can do to us. `calls` counts the requests that were sent and paid before it was raised.

    Facts: at least `model`; `role` is added by whoever asked.
    """

    status, slug = 502, "model-error"
    retry_helps: ClassVar[bool] = False
    calls: int = 1
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ModelNotConfigured(ModelError):
    """No language model is configured. No facts."""

    status, slug = 503, "model-not-configured"
    calls = 0
    text = {
        "en": "No language model is configured. Set OPENAI_API_KEY, or KATARIBE_LLM__BASE_URL for any OpenAI-compatible "
        "server, or choose the rehearsal without a model: KATARIBE_LLM__PROVIDER=rehearsal.",
        "ja": "言語モデルが設定されていません。OPENAI_API_KEY か、OpenAI互換サーバーの KATARIBE_LLM__BASE_URL を設定するか、"
        "モデルを使わない稽古 KATARIBE_LLM__PROVIDER=rehearsal を選んでください。",
    }


class BudgetExhausted(ModelError):
    """Facts: `setting`, `limit`, `day` and `renews_at` (UTC), `retry_after_seconds`."""

    status, slug = 503, "budget-exhausted"
    calls = 0
    text = {
        "en": "The budget of model calls for {day} (UTC) is used up ({setting}={limit}). It begins anew at 00:00 UTC: "
        "what is still to be remembered is remembered then.",
        "ja": "{day}(UTC)のモデル呼び出しの予算を使い切りました({setting}={limit})。00:00 UTC に新しい予算が始まり、"
        "まだ記憶されていない会話はそのとき記憶されます。",
    }


class ModelRejected(ModelError):
    """Facts: `model`, `status_code`, `reason`, `setting`."""

    slug = "model-rejected"
    text = {
        "en": "The model server answered {status_code} for {model}: {reason}. Check {setting}.",
        "ja": "モデルサーバーが {model} に {status_code} を返しました: {reason}。{setting} を確認してください。",
    }


class ModelUnreachable(ModelError):
    """Facts: `model`, `base_url`, `reason`."""

    status, slug, retry_helps = 503, "model-unreachable", True
    text = {
        "en": "No connection to the model server {base_url} for {model}: {reason}. Check KATARIBE_LLM__BASE_URL.",
        "ja": "モデルサーバー {base_url} ({model}) に接続できません: {reason}。KATARIBE_LLM__BASE_URL を確認してください。",
    }


class ModelTimeout(ModelError):
    """Facts: `model`, `seconds`."""

    status, slug, retry_helps = 504, "model-timeout", True
    text = {
        "en": "{model} did not answer within {seconds} seconds (KATARIBE_LLM__TIMEOUT_SECONDS).",
        "ja": "{model} が {seconds} 秒以内に答えませんでした(KATARIBE_LLM__TIMEOUT_SECONDS)。",
    }


class ModelRateLimited(ModelError):
    """Facts: `model`, `retry_after_seconds` (None: the server did not say)."""

    status, slug, retry_helps = 503, "model-rate-limited", True
    text = {
        "en": "{model} is rate limited (429). Seconds to wait, by its Retry-After: {retry_after_seconds}.",
        "ja": "{model} は利用制限中です(429)。Retry-After による待ち時間(秒): {retry_after_seconds}。",
    }


class ModelServerError(ModelError):
    """Facts: `model`, `status_code`, `reason`."""

    slug, retry_helps = "model-server-error", True
    text = {
        "en": "The model server failed with {status_code} for {model}: {reason}",
        "ja": "モデルサーバーが {model} で {status_code} を返しました: {reason}",
    }


class ModelRefused(ModelError):
    """Facts: `model`, `reason`."""

    slug = "model-refused"
    text = {"en": "{model} refused to answer: {reason}", "ja": "{model} が回答を拒みました: {reason}"}


class ModelEmpty(ModelError):
    """Facts: `model`."""

    slug, retry_helps = "model-empty", True
    text = {"en": "{model} answered without content.", "ja": "{model} の回答が空でした。"}


class ModelTruncated(ModelError):
    """Facts: `model`, `max_tokens`."""

    slug, retry_helps = "model-truncated", True
    text = {
        "en": "{model} ran into the limit of {max_tokens} tokens before its answer was complete.",
        "ja": "{model} の回答が上限 {max_tokens} トークンで途切れました。",
    }


class ModelBroken(ModelError):
    """Facts: `model`, `reason`."""

    slug, retry_helps = "model-broken", True
    text = {
        "en": "{model} did not answer in the form asked for: {reason}",
        "ja": "{model} の回答が求めた形式ではありません: {reason}",
    }


class ModelOutOfCharacter(ModelError):
    """Facts: `model`."""

    slug = "model-out-of-character"
    text = {
        "en": "{model} stepped out of its role twice; nothing of it was kept as dialogue.",
        "ja": "{model} が二度続けて役を外れました。その発言は会話に残していません。",
    }


class GraphUnavailable(KataribeError):
    """Facts: `backend`, `reason`, `setting`."""

    status, slug = 503, "memory-graph-unavailable"
    text = {
        "en": "The long-term memory ({backend}) cannot be reached: {reason}. Check {setting}. What was said is kept.",
        "ja": "長期記憶({backend})に接続できません: {reason}。{setting} を確認してください。会話の内容は保存されています。",
    }


class MemoryMissing(GraphUnavailable):
    """Facts: `world_id`, `character_id`, `conversation_id`, and those of GraphUnavailable."""

    slug = "memory-missing"
    text = {
        "en": "The long-term memory ({backend}) does not hold what {character_id} of world {world_id} lived through "
        "(conversation {conversation_id}): it was removed or replaced. Stop the service and put a backup back (see "
        "{setting}); or let the character forget (DELETE /characters/{character_id}/memory), or the world.",
        "ja": "長期記憶({backend})に、世界 {world_id} の {character_id} の経験(会話 {conversation_id})がありません。"
        "消されたか、置き換えられています。サービスを止めてバックアップを戻すか({setting} を参照)、"
        "その人物の記憶(DELETE /characters/{character_id}/memory)か世界を消してください。",
    }
