"""Owns the meaning of an OpenAI-compatible server's HTTP errors: which of our errors each one is."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from service.errors import ModelBroken, ModelError, ModelRateLimited, ModelRejected, ModelServerError

API_KEY = "KATARIBE_LLM__API_KEY"
MODEL = "KATARIBE_LLM__MODEL"
BASE_URL = "KATARIBE_LLM__BASE_URL"

_UNPAID = ("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance")
_PASSING = (408, 409, 425)  # a 4xx that another try may get past


def failure(
    *, model: str, status: int, code: str | None, reason: str, headers: Mapping[str, str], now: datetime | None = None
) -> ModelError:
    """Our error for that status (4xx or 5xx); `code` and `reason` come from the body, `now` dates a Retry-After."""
    wait = retry_after_seconds(headers, now or datetime.now(UTC))
    if code == "json_validate_failed":  # Groq: the model's own JSON did not fit, although the request was right
        return ModelBroken(model=model, reason=reason)
    if status == 429 and code not in _UNPAID:
        return ModelRateLimited(model=model, retry_after_seconds=wait, reason=reason)
    if status >= 500 or status in _PASSING:
        return ModelServerError(model=model, status_code=status, reason=reason, retry_after_seconds=wait)
    if status in (401, 402, 403, 429):
        setting = API_KEY
    elif status == 404 and "model" not in f"{code} {reason}".lower():
        setting, reason = BASE_URL, f"{reason} (most servers want a base URL that ends in /v1)"
    else:
        setting = MODEL
    return ModelRejected(model=model, status_code=status, reason=reason, setting=setting)


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds until the server wants to be asked again: a number or an HTTP date; None when it did not say."""
    text = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds())
