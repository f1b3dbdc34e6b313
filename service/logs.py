"""Owns how a log line is written, as text or as JSON, and which request it belongs to; no line holds what somebody says
to the service.
"""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that is being answered; what the request begins and leaves running keeps it."""

_TALKATIVE = ("httpx", "httpx2", "openai", "alembic")


class TextLine(logging.Formatter):
    """``LEVEL logger: message``, and the request's id where there is one."""

    def __init__(self) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """See logging.Formatter."""
        request_id = REQUEST_ID.get()
        return super().formatMessage(record) + (f" [{request_id}]" if request_id else "")


class JsonLine(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message; request_id and error where there are any."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": REQUEST_ID.get(),
            "error": self.formatException(record.exc_info) if record.exc_info else None,
        }
        return json.dumps({name: value for name, value in line.items() if value is not None}, ensure_ascii=False)


def write_logs(log_format: str, level: str) -> None:
    """Write the log to stderr, ours from `level` on; what libraries say of each call is left out."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLine() if log_format == "json" else TextLine())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("service").setLevel(level.upper())
    for talkative in _TALKATIVE:
        logging.getLogger(talkative).setLevel(logging.WARNING)
    for of_requests in ("uvicorn.access", "uvicorn.error"):
        logging.getLogger(of_requests).addFilter(_without_query)


def _without_query(record: logging.LogRecord) -> bool:
    """A query may hold what somebody says or looks for: no path is logged with it."""
    if isinstance(record.args, tuple):
        record.args = tuple(
            one.partition("?")[0] if isinstance(one, str) and one.startswith("/") else one for one in record.args
        )
    return True
