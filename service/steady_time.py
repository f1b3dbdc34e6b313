"""Owns the machine's time as deadlines see it: it goes on evenly, whatever its clock is set to meanwhile."""

import time

_BEGAN = time.time() - time.monotonic()


def steady_time() -> float:
    """Seconds since 1970, by the machine's clock as it was when the service began."""
    return _BEGAN + time.monotonic()
