"""Owns the rule for a server that this machine lacks (a developer's run skips, CI fails), and what clients share."""

import os
import ssl
from typing import NoReturn

import pytest

NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients of plain HTTP: each would read the machine's certificate authorities, for a fiftieth of a second."""


def missing(what: str) -> NoReturn:
    """Ends the test for want of a server; `what` names it and the way to get it."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI needs {what}", pytrace=False)
    pytest.skip(f"needs {what}")
