"""Owns ids of rows we number ourselves."""

import secrets
import time
import uuid
from hashlib import blake2b

_NAMESPACE = uuid.UUID("0f6c1a9e-50d3-5b1e-8a4f-6d1c2f0b9e77")


def new_id() -> str:
    """A fresh id of 28 hex digits; later ids sort after earlier ones."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(8)}"


def derived_id(*parts: object) -> str:
    """The same id for the same parts, on every retry."""
    return str(uuid.uuid5(_NAMESPACE, "/".join(map(str, parts))))


def id_at(at: int, *parts: str) -> str:
    """The same id for the same parts, whenever the same story is told; later ones (`at`: a world time) sort after
    earlier ones.
    """
    return f"{at:012x}{blake2b('/'.join(parts).encode(), digest_size=8).hexdigest()}"
