"""Owns the one key of the service: who shows it, and how a person shows it in a browser."""

import hashlib
import hmac
import re
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse
from starlette.requests import HTTPConnection

from service.errors import Misconfigured
from service.locales import Phrase
from service.settings import Settings

router = APIRouter(include_in_schema=False)

LOGIN = "/login"
OPEN = frozenset({"/healthz", LOGIN, "/view/static/style.css", "/view/static/icon.svg"})
"""What needs no key: whether the process answers, and the page where a person shows the key."""

_COOKIE = "kataribe_key"


class ApiKey:
    """The key that every request shows: as a bearer token, or in a browser by the cookie that logging in has set.

    The cookie is derived from the key, so that it is not the key itself and ends with it.
    """

    def __init__(self, key: str) -> None:
        """Raises: Misconfigured: no header can carry it."""
        if not re.fullmatch(r"[\x21-\x7e]+", key):
            raise Misconfigured(setting="KATARIBE_API_KEY", reason=Phrase("settings.key_letters"))
        self._key = key.encode()
        self._cookie = hmac.new(self._key, b"kataribe login", hashlib.sha256).hexdigest().encode()

    @classmethod
    def of(cls, settings: Settings) -> "ApiKey | None":
        """The settings' key; None: the service has none.

        Raises:
            Misconfigured: no header can carry it.
        """
        key = "" if settings.api_key is None else settings.api_key.get_secret_value()
        return cls(key) if key else None

    def is_it(self, text: str) -> bool:
        """Whether the text is the key; takes the same time whatever of it is right."""
        return hmac.compare_digest(text.encode(), self._key)

    def is_shown(self, request: HTTPConnection) -> bool:
        """Whether the request shows it."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.is_it(token.strip()):
            return True
        return hmac.compare_digest(request.cookies.get(_COOKIE, "").encode(), self._cookie)

    def admit(self, answer: RedirectResponse, *, secure: bool) -> None:
        """Let the browser that gets the answer in from now on, until it is closed."""
        answer.set_cookie(_COOKIE, self._cookie.decode(), httponly=True, samesite="strict", secure=secure)


def to_login(request: HTTPConnection) -> RedirectResponse:
    """The way to the page that asks for the key, in the language of what was asked for, and from there back to it."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return _to_login(wanted, request.query_params.get("lang"))


@router.post(LOGIN)
async def log_in(request: Request) -> RedirectResponse:
    """Take the key from the form of the login page and lead to where the person wanted to go."""
    form = {name: values[-1] for name, values in parse_qs((await request.body()).decode(errors="replace")).items()}
    wanted = _own_path(form.get("next", ""))
    key: ApiKey | None = request.app.state.key
    if key is None:
        return RedirectResponse(wanted, 303)
    if not key.is_it(form.get("key", "").strip()):
        return _to_login(wanted, form.get("lang"), wrong="true")
    answer = RedirectResponse(wanted, 303)
    key.admit(answer, secure=request.url.scheme == "https")
    return answer


def _to_login(wanted: str, language: str | None, **more: str) -> RedirectResponse:
    query = {"next": wanted, **({"lang": language} if language else {}), **more}
    return RedirectResponse(f"{LOGIN}?{urlencode(query)}", 303)


def _own_path(path: str) -> str:
    """The path, if it is one of this service's; a browser reads //host and /\\host as another site."""
    return path if re.match(r"/(?![/\\])", path) else "/"
