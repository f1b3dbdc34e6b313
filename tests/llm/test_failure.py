"""Owns the tests of what a server's HTTP errors mean."""

from datetime import UTC, datetime

import pytest

from service.errors import ModelBroken, ModelError, ModelRateLimited, ModelRejected, ModelServerError
from service.llm.failure import failure, retry_after_seconds

NOW = datetime(2026, 10, 21, 7, 28, tzinfo=UTC)


def fail(status: int, reason: str = "no", code: str | None = None, **headers: str) -> ModelError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return failure(model="m", status=status, code=code, reason=reason, headers=named, now=NOW)


@pytest.mark.parametrize(
    ("status", "reason", "code", "kind", "setting"),
    [
        (401, "bad key", None, ModelRejected, "KATARIBE_LLM__API_KEY"),
        (402, "pay", None, ModelRejected, "KATARIBE_LLM__API_KEY"),
        (403, "no", None, ModelRejected, "KATARIBE_LLM__API_KEY"),
        (404, "Not Found", None, ModelRejected, "KATARIBE_LLM__BASE_URL"),
        (404, 'model "x" not found', None, ModelRejected, "KATARIBE_LLM__MODEL"),
        (404, "no such thing", "model_not_found", ModelRejected, "KATARIBE_LLM__MODEL"),
        (400, "what?", None, ModelRejected, "KATARIBE_LLM__MODEL"),
        (429, "slow", None, ModelRateLimited, None),
        (429, "no money", "insufficient_quota", ModelRejected, "KATARIBE_LLM__API_KEY"),
        (408, "late", None, ModelServerError, None),
        (500, "oops", None, ModelServerError, None),
        (529, "full", None, ModelServerError, None),
        (400, "not JSON", "json_validate_failed", ModelBroken, None),
    ],
)
def test_each_status_is_one_of_our_errors(
    status: int, reason: str, code: str | None, kind: type[ModelError], setting: str | None
) -> None:
    error = fail(status, reason, code)
    assert type(error) is kind
    assert error.facts.get("setting") == setting
    assert error.sentence("en")
    assert error.sentence("ja")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Wed, 21 Oct 2026 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2026 07:28:30 -0000", 30.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after_seconds({"retry-after": value}, NOW) == seconds


def test_a_server_error_keeps_its_retry_after() -> None:
    assert fail(503, retry_after="4").facts["retry_after_seconds"] == 4
