"""Owns how a key is shown: by a program, and by a person in a browser; and the brake on wrong tries."""

import hmac
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from ipaddress import IPv6Address, ip_address, ip_network
from urllib.parse import parse_qs, urlencode

from fastapi import Request
from fastapi.responses import RedirectResponse
from sqlalchemy.exc import OperationalError
from starlette.requests import HTTPConnection

from service.errors import KeyMissing, Misconfigured, StoreUnavailable, TooManyTries
from service.locales import Phrase
from service.routes import Router
from service.settings import Settings
from service.store.keys import Key, Scope, digest_of, find_key, list_keys
from service.store.session import Database

router = Router(include_in_schema=False)

LOGIN = "/login"
OPEN = frozenset({"/healthz", LOGIN, "/view/static/style.css", "/view/static/icon.svg"})
"""What needs no key: whether the process answers, and the page where a person shows the key."""

ANYBODY = Key(name="", scope=Scope.ADMIN)
"""Who asks where no key is needed."""
OWNER = Key(name="KATARIBE_API_KEY", scope=Scope.ADMIN)
"""Who shows the key of the settings."""

SHORTEST = 16
"""Characters of a key that a person has chosen, at least."""

_COOKIE = "kataribe_key"


class Brake:
    """Lets an address that has shown wrong keys wait, twice as long after each, before its next try is looked at."""

    FREE = 5
    """wrong tries before the first wait"""
    MOST_SECONDS, FORGOTTEN_SECONDS = 300.0, 3600.0
    MOST_ADDRESSES = 10_000
    """beyond it the one with the oldest try is forgotten"""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._tries: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def require(self, address: str) -> None:
        """Raises: TooManyTries: it has to wait."""
        tries, last = self._tries.get(address, (0, 0.0))
        left = last + self._wait(tries) - self._now()
        if left > 0:
            raise TooManyTries(retry_after_seconds=max(1, round(left)))

    def count(self, address: str) -> None:
        """A wrong key came from there."""
        tries, last = self._tries.pop(address, (0, 0.0))
        is_old = self._now() - last > self.FORGOTTEN_SECONDS
        self._tries[address] = (1 if is_old else tries + 1, self._now())
        if len(self._tries) > self.MOST_ADDRESSES:
            self._tries.popitem(last=False)

    def _wait(self, tries: int) -> float:
        return 0.0 if tries < self.FREE else min(2.0 ** (tries - self.FREE), self.MOST_SECONDS)


class Keys:
    """The key of the settings, and those that were given out beside it: each request shows one, as a bearer token, or
    in a browser by the cookie that logging in has set. Without the settings' key anybody is let in, from this machine.

    The cookie names the key by its digest, sealed with the settings' key: who has read the database cannot make one.
    """

    database: Database | None = None

    def __init__(self, settings: Settings) -> None:
        """Raises: Misconfigured: no header can carry the settings' key, or it is too short."""
        secret = "" if settings.api_key is None else settings.api_key.get_secret_value()
        if secret and not re.fullmatch(r"[\x21-\x7e]+", secret):
            raise Misconfigured(setting="KATARIBE_API_KEY", reason=Phrase("settings.key_letters"))
        if secret and len(secret) < SHORTEST:
            raise Misconfigured(setting="KATARIBE_API_KEY", reason=Phrase("settings.key_short", least=SHORTEST))
        self.is_open = not secret
        self.brake = Brake()
        self._owner, self._seal = digest_of(secret), secret.encode()

    async def begin(self, database: Database) -> None:
        """Know the keys of the database. Raises: Misconfigured: some are given out, and the settings have none."""
        self.database = database
        if self.is_open and await database.read(lambda s: bool(list_keys(s))):
            raise Misconfigured(setting="KATARIBE_API_KEY", reason=Phrase("settings.key_of_settings"))

    async def shown(self, request: HTTPConnection) -> Key:
        """Whose key the request shows.

        Raises:
            KeyMissing: it shows none, or a wrong one.
            TooManyTries: from its address came too many wrong ones.
        """
        if self.is_open:
            return ANYBODY
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return await self.of(token.strip(), request)
        digest, _, seal = request.cookies.get(_COOKIE, "").partition(".")
        found = await self._find(digest) if hmac.compare_digest(seal.encode(), self._sealed(digest)) else None
        if found is None:
            raise KeyMissing
        return found

    async def of(self, secret: str, request: HTTPConnection) -> Key:
        """Whose secret that is. One that was given out cannot be guessed, and is let in also where others have to wait.

        Raises: as `shown`.
        """
        digest, address = digest_of(secret), _address(request)
        if digest != self._owner and (found := await self._find(digest)) is not None:
            return found
        self.brake.require(address)
        if not hmac.compare_digest(digest, self._owner):
            self.brake.count(address)
            raise KeyMissing
        return OWNER

    def admit(self, secret: str, answer: RedirectResponse, *, secure: bool) -> None:
        """Let the browser that gets the answer in from now on, until it is closed."""
        digest = digest_of(secret)
        cookie = f"{digest}.{self._sealed(digest).decode()}"
        answer.set_cookie(_COOKIE, cookie, httponly=True, samesite="strict", secure=secure)

    async def _find(self, digest: str) -> Key | None:
        if digest == self._owner:
            return OWNER
        if self.database is None:
            return None
        try:
            return await self.database.read(lambda s: find_key(s, digest))
        except OperationalError as exc:
            raise StoreUnavailable from exc

    def _sealed(self, digest: str) -> bytes:
        return hmac.new(self._seal, digest.encode(), sha256).hexdigest().encode()


def _address(request: HTTPConnection) -> str:
    """Where the request comes from; of IPv6 the network of 64 bits that one customer has."""
    host = request.client.host if request.client else ""
    try:
        is_wide = isinstance(ip_address(host), IPv6Address)
    except ValueError:
        return host
    return str(ip_network(f"{host.partition('%')[0]}/64", strict=False)) if is_wide else host


def to_login(request: HTTPConnection) -> RedirectResponse:
    """The way to the page that asks for the key, in the language of what was asked for, and from there back to it."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return _to_login(wanted, request.query_params.get("lang"))


@router.post(LOGIN)
async def log_in(request: Request) -> RedirectResponse:
    """Take the key from the form of the login page and lead to where the person wanted to go."""
    form = {name: values[-1] for name, values in parse_qs((await request.body()).decode(errors="replace")).items()}
    wanted, secret = _own_path(form.get("next", "")), form.get("key", "").strip()
    keys: Keys = request.app.state.keys
    if keys.is_open:
        return RedirectResponse(wanted, 303)
    try:
        await keys.of(secret, request)
    except KeyMissing:
        return _to_login(wanted, form.get("lang"), wrong="true")
    except TooManyTries as exc:
        return _to_login(wanted, form.get("lang"), wait=str(exc.facts["retry_after_seconds"]))
    answer = RedirectResponse(wanted, 303)
    keys.admit(secret, answer, secure=request.url.scheme == "https")
    return answer


def _to_login(wanted: str, language: str | None, **more: str) -> RedirectResponse:
    query = {"next": wanted, **({"lang": language} if language else {}), **more}
    return RedirectResponse(f"{LOGIN}?{urlencode(query)}", 303)


def _own_path(path: str) -> str:
    """The path, if it is one of this service's; a browser reads //host and /\\host as another site."""
    return path if re.match(r"/(?![/\\])", path) else "/"
