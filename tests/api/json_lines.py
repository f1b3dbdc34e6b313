"""Owns how schemathesis writes lines of JSON, which it does not know: the text as it was made up."""

from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")  # type: ignore[untyped-decorator, unused-ignore]
def as_text(_: schemathesis.SerializationContext, value: Any) -> bytes:
    """The text as bytes; what is none is sent as it is said."""
    return str(value).encode(errors="replace")
