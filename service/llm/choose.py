"""Owns the choice of models: which one answers for each role, and which servers on this machine could."""

import asyncio
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr

from service.errors import Misconfigured, ModelError, ModelNotConfigured
from service.llm.cassette import SETTING, Cassette, Recorded, Voice, open_cassette
from service.llm.chat import Answer, ChatModel, Message, Prompt, Role, T, TextListener
from service.llm.wrappers import Budget, Budgeted, ConcurrencyLimit, Limited, ModelHealth, Retrying, Watched
from service.locales import Phrase
from service.settings import OPENAI_URL, LlmSettings, Price, Settings, is_openai

if TYPE_CHECKING:
    import httpx

    from service.llm.openai import OpenAIChat

ROLES: tuple[Role, ...] = get_args(Role)
_CHECKING: tuple[Role, ...] = ("verify", "quality")
NO_KEY = "none"
"""Sent to servers that need no key: the protocol wants one."""

LOCAL_PORTS: Mapping[str, int] = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080, "vLLM": 8000}
_LOOK_SECONDS = 0.3


PROBE_SECONDS = 30.0
"""Machine time between two probes of a role that fails."""


class Probe(BaseModel, extra="forbid"):
    """What is asked of a role that has failed."""

    utterance: str = Field(max_length=20)


def probe(role: Role) -> Prompt[Probe]:
    """What any model can answer: a word."""
    messages = (Message(role="user", content='Reply with the JSON {"utterance": "yes"}.'),)
    return Prompt(name="probe", role=role, language="en", messages=messages, answer=Probe, max_tokens=50)


class Models:
    """The model of every role, and how it has been doing; roles with equal settings share one."""

    def __init__(self, by_role: Mapping[Role, ChatModel], cassette: Cassette | None = None) -> None:
        """`cassette`: where they are recorded."""
        self._cassette = cassette
        self.health = ModelHealth()
        watched = {id(model): Watched(model, self.health) for model in by_role.values()}
        self._by_role: dict[Role, ChatModel] = {role: watched[id(model)] for role, model in by_role.items()}

    def for_role(self, role: Role) -> ChatModel:
        """Who answers for that role."""
        return self._by_role[role]

    def names(self) -> dict[Role, str]:
        """Who answers for each role, for people."""
        return {role: model.name for role, model in self._by_role.items()}

    def rewind(self, world_id: str) -> None:
        """The world was brought back to an earlier moment: what it asks again is answered from the cassette again."""
        if self._cassette is not None:
            self._cassette.rewind(world_id)

    def wrapped(self, wrap: Callable[[ChatModel], ChatModel]) -> "Models":
        """The same, with something around each role's model."""
        models = copy(self)
        models._by_role = {role: wrap(model) for role, model in self._by_role.items()}
        return models

    async def probe(self) -> None:
        """Ask each role that fails for a word: one that answers is well again, and no talk has to pay for finding out.
        What a probe meets is noted as of any call.
        """
        for role in self.health.failing():
            with suppress(ModelError):
                await self._by_role[role].complete(probe(role))

    async def aclose(self) -> None:
        """Release every model's connections."""
        for model in {id(model): model for model in self._by_role.values()}.values():
            await model.aclose()


class NotConfigured:
    """Stands where no model is configured, so that the service can start and say what to set."""

    name = "none"

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """Raises: ModelNotConfigured: always."""
        raise ModelNotConfigured

    async def aclose(self) -> None:
        """Nothing to release."""


class _Endpoint(NamedTuple):
    """What a role's model is reached by: roles with equal endpoints share one model. `base_url` None is OpenAI."""

    base_url: str | None
    api_key: str
    model: str | None
    temperature: float | None
    timeout_seconds: float
    responses: bool


def choose_models(
    settings: Settings, rehearsal: ChatModel, budget: Budget | None = None, cassette: Cassette | None = None
) -> Models:
    """The models that the settings ask for. All of them draw on `budget` and are kept on `cassette` (None: the one that
    the settings name), but for the rehearsal, which costs nothing.

    Raises:
        Misconfigured: a base URL or key that cannot be one; a cassette that holds nothing, and no model to ask.
        CassetteUnusable.
    """
    llm = settings.llm
    if llm.provider == "rehearsal":
        return Models(dict.fromkeys(ROLES, rehearsal))
    cassette = cassette or open_cassette(llm)
    replays = cassette is not None and cassette.replays
    endpoints = {role: None if replays else _endpoint(settings, role) for role in ROLES}
    chats: dict[_Endpoint, ChatModel] = {e: _openai(e) for e in endpoints.values() if e}
    missing = NotConfigured()
    asked = {role: chats[e] if e else missing for role, e in endpoints.items()}
    if cassette is not None:
        asked = _recorded(cassette, endpoints, asked)
    for role in _CHECKING:  # each other role has one of its own, or was recorded before there were checks
        if asked[role] is missing:
            endpoints[role], asked[role] = endpoints["closing"], asked["closing"]
    limits = {(e.base_url if e else None): ConcurrencyLimit(llm.max_concurrency) for e in endpoints.values()}
    guarded: dict[int, ChatModel] = {id(missing): missing}
    for role, chat in asked.items():
        e = endpoints[role]
        limit, price = limits[e.base_url if e else None], llm.prices.get(chat.name.partition(":")[2])
        guarded.setdefault(id(chat), _guarded(chat, llm, limit, budget, price, waits=not replays))
    return Models({role: guarded[id(chat)] for role, chat in asked.items()}, cassette)


def _recorded(
    cassette: Cassette, endpoints: Mapping[Role, _Endpoint | None], asked: Mapping[Role, ChatModel]
) -> dict[Role, ChatModel]:
    """The models with the cassette around them: a role for which none is set is the one that was recorded for it."""
    cassette.voiced(
        {
            role: Voice(name=asked[role].name, model=e.model, temperature=e.temperature)
            for role, e in endpoints.items()
            if e
        }
    )
    voices = cassette.header.roles
    if not voices:
        raise Misconfigured(setting=SETTING, reason=Phrase("recording.no_model", directory=cassette.directory))
    made: dict[tuple[int, Voice], ChatModel] = {}
    for role, voice in voices.items():
        made.setdefault((id(asked[role]), voice), Recorded(asked[role], cassette, voice))
    return {role: made[id(asked[role]), voices[role]] if role in voices else asked[role] for role in asked}


def _guarded(
    chat: ChatModel,
    llm: LlmSettings,
    limit: ConcurrencyLimit,
    budget: Budget | None,
    price: Price | None,
    *,
    waits: bool,
) -> ChatModel:
    if budget is not None:
        chat = Budgeted(chat, budget, price)
    return Retrying(
        Limited(chat, limit),
        attempts=llm.attempts,
        backoff_seconds=llm.backoff_seconds,
        rng=random.Random(),  # unseeded: replicas must not wait the same seconds
        sleep=asyncio.sleep if waits else _no_sleep,
    )


async def _no_sleep(seconds: float) -> None:
    """What was recorded comes no sooner for being waited for."""


def _openai(endpoint: _Endpoint) -> "OpenAIChat":
    from service.llm.openai import OpenAIChat  # the SDK takes half a second to load; who needs no model never does

    return OpenAIChat(**endpoint._asdict())


def _endpoint(settings: Settings, role: Role) -> _Endpoint | None:
    """That role's endpoint; None when nothing says where it could be."""
    merged = settings.llm.of(role)
    base_url = _checked_url(merged.base_url) if merged.base_url else None
    key = _key(settings, role, base_url)
    if key is None and base_url is None:
        return None
    return _Endpoint(
        base_url=base_url,
        api_key=key or NO_KEY,
        model=merged.model,
        temperature=merged.temperature,
        timeout_seconds=merged.timeout_seconds or settings.llm.timeout_seconds,
        responses=settings.llm.provider == "responses",
    )


def _key(settings: Settings, role: Role, base_url: str | None) -> str | None:
    """The key for that server: a key goes only where it was meant to go.

    A role's own key always counts. The common key belongs to the common base URL, so a role with another base URL
    does not get it. OPENAI_API_KEY belongs to OpenAI.
    """
    own = getattr(settings.llm, role)
    found = _checked_key(own.api_key, f"KATARIBE_LLM__{role.upper()}__API_KEY")
    if not found and own.base_url in (None, settings.llm.base_url):
        found = _checked_key(settings.llm.api_key, "KATARIBE_LLM__API_KEY")
    if not found and is_openai(base_url):
        found = _checked_key(settings.openai_api_key, "OPENAI_API_KEY")
    return found


def _checked_key(secret: SecretStr | None, setting: str) -> str | None:
    key = secret.get_secret_value().strip() if secret else ""
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise Misconfigured(setting=setting, reason=Phrase("settings.model_key_letters"))
    return key or None


def _checked_url(base_url: str) -> str:
    try:
        parts = urlsplit(base_url.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise Misconfigured(setting="KATARIBE_LLM__BASE_URL", reason=Phrase("settings.no_url", example=OPENAI_URL))
    return base_url.strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalServer:
    """A model server found on this machine. `models` are the ids it lists."""

    name: str
    base_url: str
    models: tuple[str, ...]


async def find_local_servers(ports: Mapping[str, int] = LOCAL_PORTS, host: str = "127.0.0.1") -> list[LocalServer]:
    """Servers that list models at ``/v1/models``, looked for at the ports where they usually are, all at once."""
    import httpx

    async with httpx.AsyncClient(trust_env=False) as client:
        looks = (_look(client, name, f"http://{host}:{port}/v1") for name, port in ports.items())
        return [server for server in await asyncio.gather(*looks) if server]


async def _look(client: "httpx.AsyncClient", name: str, base_url: str) -> LocalServer | None:
    import httpx

    try:
        async with asyncio.timeout(_LOOK_SECONDS):
            response = await client.get(f"{base_url}/models")
        models = tuple(str(model["id"]) for model in response.raise_for_status().json()["data"])
    except (httpx.HTTPError, TimeoutError, ValueError, KeyError, TypeError):
        return None  # nobody there, or somebody else's server: both are not what was looked for
    return LocalServer(name=name, base_url=base_url, models=models)
