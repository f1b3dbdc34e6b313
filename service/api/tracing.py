"""Owns the sending of traces to an OpenTelemetry collector, where one is named and `kataribe[otel]` is installed. How,
the OTEL_ variables say, as of any program.
"""

import os

from fastapi import FastAPI
from opentelemetry.trace import ProxyTracerProvider, Span, get_tracer_provider, set_tracer_provider
from starlette.types import Scope

from service.errors import Misconfigured
from service.locales import Phrase

COLLECTOR = "OTEL_EXPORTER_OTLP_ENDPOINT"

_WITH_QUERY = ("http.url", "http.target", "url.full", "url.query")


def trace_requests(app: FastAPI) -> None:
    """Have each request of the app, and with it each call of a model, sent to the collector; None named: nothing.

    Raises:
        Misconfigured: one is named, and what sends to it is not installed.
    """
    if not os.environ.get(COLLECTOR):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as exc:
        raise Misconfigured(setting=COLLECTOR, reason=Phrase("settings.extra_missing", extra="otel")) from exc
    if isinstance(get_tracer_provider(), ProxyTracerProvider):  # else whoever runs us has set one
        os.environ.setdefault("OTEL_SERVICE_NAME", "kataribe")
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        set_tracer_provider(provider)
    FastAPIInstrumentor.instrument_app(
        app,
        server_request_hook=_without_words,
        exclude_spans=["receive", "send"],
        excluded_urls="healthz,readyz,metrics",
    )


def _without_words(span: Span, scope: Scope) -> None:
    """A query may hold what somebody says or looks for."""
    attributes = getattr(span, "attributes", None) or {}
    for name in _WITH_QUERY:
        if name in attributes:
            span.set_attribute(name, "" if name == "url.query" else scope["path"])
