"""What every test of models may count on: clients of plain HTTP do not read the machine's certificate authorities."""

from functools import partial

import openai
import pytest

from tests.servers import NO_AUTHORITIES


@pytest.fixture(autouse=True)
def without_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each client of a model would read them, for a twentieth of a second."""
    client = partial(openai.DefaultAioHttpClient, verify=NO_AUTHORITIES)
    monkeypatch.setattr(openai, "DefaultAioHttpClient", client)
