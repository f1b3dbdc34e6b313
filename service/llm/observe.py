"""Owns what operators see of calls of models: Prometheus metrics, spans by OpenTelemetry's GenAI conventions, a line of
the log at DEBUG, with nothing of what was asked or answered. One call is what its caller waits for: with its wait for a
slot, and all tries.
"""

import json
import logging
import os
import time
from contextlib import AbstractContextManager

from opentelemetry.trace import Span, SpanKind, StatusCode, get_tracer
from prometheus_client import Counter, Gauge, Histogram

from service.errors import ModelError
from service.llm.chat import Answer, ChatModel, Prompt, T, TextListener
from service.usage import Usage

_log = logging.getLogger(__name__)

_CALLS = Counter("kataribe_model_calls", "Calls of models by how they ended.", ["role", "model", "outcome"])
_TOKENS = Counter("kataribe_model_tokens", "Tokens read and written by models.", ["role", "model", "direction"])
_IN_FLIGHT = Gauge("kataribe_model_calls_in_flight", "Calls of models that are waited for.", ["role"])
_SECONDS = Histogram(
    "kataribe_model_call_duration_seconds",
    "How long a call of a model is waited for.",
    ["role", "model"],
    buckets=(0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120),
)

WORDS = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The environment variable by which an operator asks for prompts and answers in spans, as of any instrumentation."""


async def observed(model: ChatModel, prompt: Prompt[T], on_text: TextListener | None) -> Answer[T]:
    """Ask the model, and tell what became of it. Without `kataribe[otel]` there is no span.

    Raises:
        ModelError: as ChatModel.
    """
    begun, paid, outcome = time.perf_counter(), Usage(), "cancelled"
    name = model.name.rpartition(":")[2]
    with _IN_FLIGHT.labels(prompt.role).track_inprogress(), _span(model, prompt) as span:
        try:
            answer = await model.complete(prompt, on_text)
            paid, outcome = answer.usage, "answered"
            if os.environ.get(WORDS, "").lower() in ("true", "span_only", "span_and_event"):
                span.set_attributes(_words(prompt, answer))
            return answer
        except ModelError as error:
            paid, outcome = error.usage, error.slug
            raise
        finally:
            _CALLS.labels(prompt.role, name, outcome).inc()
            _TOKENS.labels(prompt.role, name, "input").inc(paid.prompt_tokens)
            _TOKENS.labels(prompt.role, name, "output").inc(paid.completion_tokens)
            seconds, tokens = time.perf_counter() - begun, (paid.prompt_tokens, paid.completion_tokens)
            _log.debug("%s %s: %d ms, %d + %d tokens, %s", prompt.role, model.name, 1000 * seconds, *tokens, outcome)
            _SECONDS.labels(prompt.role, name).observe(seconds)
            span.set_attribute("gen_ai.usage.input_tokens", paid.prompt_tokens)
            span.set_attribute("gen_ai.usage.output_tokens", paid.completion_tokens)
            if outcome != "answered":
                span.set_attribute("error.type", outcome)
                span.set_status(StatusCode.ERROR)


def _span(model: ChatModel, prompt: Prompt[T]) -> AbstractContextManager[Span]:
    """An error is told by its kind alone: its text may quote what a model has said."""
    provider, _, name = model.name.rpartition(":")
    facts: dict[str, str | int] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider or "kataribe",
        "gen_ai.request.model": name,
        "gen_ai.request.max_tokens": prompt.max_tokens,
        "gen_ai.output.type": "json",
        "gen_ai.conversation.id": prompt.thread,
        "kataribe.role": prompt.role,
        "kataribe.prompt": prompt.name,
    }
    return get_tracer("kataribe").start_as_current_span(
        f"chat {name}",
        kind=SpanKind.CLIENT,
        attributes=facts,
        record_exception=False,
        set_status_on_exception=False,
    )


def _words(prompt: Prompt[T], answer: Answer[T]) -> dict[str, str]:
    """What was sent and answered, in the form of the conventions."""
    sent = [{"role": one.role, "parts": [{"type": "text", "content": one.content}]} for one in prompt.messages]
    said = {"type": "text", "content": answer.value.model_dump_json()}
    answered = [{"role": "assistant", "parts": [said], "finish_reason": "stop"}]
    return {
        "gen_ai.input.messages": json.dumps(sent, ensure_ascii=False),
        "gen_ai.output.messages": json.dumps(answered, ensure_ascii=False),
    }
