"""Owns the keys that are given out beside the one of the settings: whom each lets do what; made, listed, revoked.

A key is 256 random bits, and stored as its SHA-256 alone. A slow hash with a salt guards passwords, which can be
guessed; so many random bits cannot, and every request would pay for the slowness.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256

from sqlmodel import Session, select

from service.errors import Invalid, Misconfigured, refuse
from service.locales import Phrase
from service.settings import Settings
from service.store.session import T, opened_database
from service.store.tables import ApiKeyRow
from world.ids import is_slug


class Scope(StrEnum):
    """What a key is for; each includes those before it."""

    PLAY = "play"
    """what a running game does"""
    AUTHOR = "author"
    """to see and change what people are and remember, and what was"""
    ADMIN = "admin"
    """to forget worlds, and to see to the work of all of them"""


SCOPES = tuple(Scope)


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """Who asks. `world_id` and `player_id`: the only ones it is for; None: any."""

    name: str
    scope: Scope
    world_id: str | None = None
    player_id: str | None = None


def digest_of(secret: str) -> str:
    """By which a key is stored and found."""
    return sha256(secret.encode()).hexdigest()


def find_key(session: Session, digest: str) -> Key | None:
    """The key of that digest; None: there is none, or it was revoked."""
    row = session.get(ApiKeyRow, digest)
    return None if row is None else _key(row)


def add_key(session: Session, key: Key) -> str:
    """Make the key; the caller commits. Answers its secret, which nobody can read again.

    Raises:
        Invalid: another one has its name, or a name, its world or its player is no id.
    """
    named = {"name": key.name, "world": key.world_id, "player": key.player_id}
    refuse(*((text is not None and not is_slug(text), field, "answers.expected.slug") for field, text in named.items()))
    exists = session.exec(select(ApiKeyRow).where(ApiKeyRow.name == key.name)).first() is not None
    refuse((exists, "name", Phrase("answers.invalid_fields.key_exists", id=key.name)))
    secret = f"kat_{secrets.token_urlsafe(32)}"
    session.add(
        ApiKeyRow(
            digest=digest_of(secret),
            name=key.name,
            scope=key.scope,
            only_world=key.world_id,
            only_player=key.player_id,
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
    )
    return secret


def list_keys(session: Session) -> list[tuple[Key, str]]:
    """All keys by name, each with when it was made (UTC)."""
    return [(_key(row), row.made_at) for row in session.exec(select(ApiKeyRow).order_by(ApiKeyRow.name))]


def revoke_key(session: Session, name: str) -> None:
    """Let the key open nothing any more; the caller commits. Raises: Invalid: there is none of that name."""
    row = session.exec(select(ApiKeyRow).where(ApiKeyRow.name == name)).first()
    if row is None:
        raise Invalid(field="name", reason=Phrase("answers.invalid_fields.no_key", id=name))
    session.delete(row)


def _key(row: ApiKeyRow) -> Key:
    return Key(name=row.name, scope=Scope(row.scope), world_id=row.only_world, player_id=row.only_player)


def with_keys(settings: Settings, work: Callable[[Session], T]) -> T:
    """What `work` does with the keys that are given out. The service may run meanwhile.

    Raises:
        Misconfigured: the settings have no key, beside which others count; or the database cannot be opened.
    """
    if not settings.api_key:
        raise Misconfigured(setting="KATARIBE_API_KEY", reason=Phrase("settings.key_of_settings"))
    with opened_database(settings, shared=True) as database:
        return database.write_now(work)
