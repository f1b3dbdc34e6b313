"""Owns the tests of spans: of requests and of calls of models, by OpenTelemetry's conventions, without anybody's words
unless asked for.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, set_tracer_provider

from service.api.tracing import COLLECTOR
from service.app import create_app
from service.errors import Misconfigured, ModelRejected
from service.llm.choose import ROLES, Models
from service.llm.observe import WORDS
from tests.api.play import LINES, TALK, script_sister, settings_for, talk
from tests.scripted_model import ScriptedModel

KEPT = InMemorySpanExporter()


@pytest.fixture(scope="module")
def provider() -> None:
    """A process has one."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(KEPT))
    set_tracer_provider(provider)


@pytest.fixture
def traced(
    provider: None, tmp_path: Path, millbrook: Path, script: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TestClient]:
    """A service that sends traces."""
    monkeypatch.setenv(COLLECTOR, "http://127.0.0.1:9")
    app = create_app(settings_for(tmp_path, millbrook), models=Models(dict.fromkeys(ROLES, script)))
    KEPT.clear()
    with TestClient(app) as client:
        yield client


def spans(kind: SpanKind) -> list[ReadableSpan]:
    return [span for span in KEPT.get_finished_spans() if span.kind == kind]


def test_requests_and_calls_of_models_are_told_without_words(traced: TestClient, script: ScriptedModel) -> None:
    script_sister(script)
    talk(traced)
    traced.get("/people/sora/memory/search", params={"query": "Lotte"}).raise_for_status()
    asked, searched = spans(SpanKind.SERVER)
    assert (asked.name, searched.name) == ("POST /conversations/start", "GET /people/{person_id}/memory/search")
    calls = spans(SpanKind.CLIENT)
    assert {call.name for call in calls} == {"chat scripted"}
    assert [call.attributes["kataribe.role"] for call in calls if call.attributes] == [
        "character", "npc", "character", "npc", "closing",
    ]  # fmt: skip
    (of,) = {(call.attributes or {})["gen_ai.conversation.id"] for call in calls}  # a job speaks them, no request
    assert str(of).startswith("main/")
    first = dict(calls[0].attributes or {})
    assert first["gen_ai.operation.name"] == "chat"
    assert first["gen_ai.request.model"] == "scripted"
    assert first["gen_ai.provider.name"] == "kataribe"
    assert first["gen_ai.output.type"] == "json"
    assert isinstance(first["gen_ai.usage.input_tokens"], int)
    assert isinstance(first["gen_ai.usage.output_tokens"], int)
    assert "error.type" not in first
    told = "".join(span.to_json() for span in KEPT.get_finished_spans())
    assert not any(word in told for word in ("Lotte", "sister", "letter"))


def test_words_are_told_where_an_operator_asks_for_them(
    traced: TestClient, script: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WORDS, "true")
    script_sister(script)
    talk(traced)
    said = dict(spans(SpanKind.CLIENT)[1].attributes or {})
    assert LINES["en"][0] in str(said["gen_ai.input.messages"])
    assert LINES["en"][1] in str(said["gen_ai.output.messages"])


def test_an_error_is_told_by_its_kind_alone(traced: TestClient, script: ScriptedModel) -> None:
    refused = ModelRejected(model="scripted", status_code=401, reason="a word of the prompt", setting="KEY")
    script.enqueue(refused, role="character")
    traced.post("/conversations/start?wait=true", json=TALK).raise_for_status()
    (call,) = spans(SpanKind.CLIENT)
    assert call.status.status_code == StatusCode.ERROR
    assert dict(call.attributes or {})["error.type"] == "model-rejected"
    assert "a word of the prompt" not in call.to_json()


def test_a_collector_without_what_sends_to_it_is_a_wrong_setting(
    tmp_path: Path, millbrook: Path, script: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(COLLECTOR, "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "opentelemetry.instrumentation.fastapi", None)
    with pytest.raises(Misconfigured, match=r"kataribe\[otel\]"):
        create_app(settings_for(tmp_path, millbrook), models=Models(dict.fromkeys(ROLES, script)))
