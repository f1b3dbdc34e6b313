"""Owns the check that a server that is not there is never overlooked in CI."""

import pytest

from tests.servers import missing


def test_a_developer_without_the_server_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs a teapot"):
        missing("a teapot")


def test_ci_without_the_server_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="CI needs a teapot"):
        missing("a teapot")
