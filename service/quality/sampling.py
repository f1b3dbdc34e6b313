"""Owns which of many is looked at: by what it is, not by chance: the same whenever it is asked. Pure."""

import hashlib

_ALL = 2**64


def is_sampled(share: float, *what: object) -> bool:
    """Whether the thing of that name is one of the `share` (0..1) of all things."""
    if share <= 0:
        return False
    name = "/".join(map(str, what)).encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big") < share * _ALL
