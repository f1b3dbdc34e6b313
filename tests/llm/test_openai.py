"""Owns the tests of the talk with OpenAI-compatible servers, against a real server that misbehaves on demand."""

import asyncio
import json
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from service.conversation.acting import CharacterTurn
from service.errors import (
    ModelBroken,
    ModelEmpty,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelServerError,
    ModelTimeout,
    ModelTruncated,
    ModelUnreachable,
)
from service.llm.chat import Answer, TextListener
from service.llm.dialect import THINKING_TOKENS
from service.llm.openai import OpenAIChat
from service.settings import is_openai
from tests.llm.prompts import TURN, ask
from tests.servers.fake_openai import (
    FakeOpenAI,
    Reply,
    failing,
    hanging,
    rate_limited,
    thinking,
    unsupported,
)

KEY = "sk-very-secret"
SAID = json.dumps(TURN)


def said(body: dict[str, Any]) -> str:
    return SAID


def run(
    server: FakeOpenAI,
    *,
    times: int = 1,
    on_text: TextListener | None = None,
    model: str | None = "m",
    temperature: float | None = None,
    timeout_seconds: float = 10,
    path: str | None = None,
    responses: bool = False,
) -> list[Answer[CharacterTurn]]:
    """That many answers from one OpenAIChat, one after the other."""

    async def ask_all() -> list[Answer[CharacterTurn]]:
        chat = OpenAIChat(
            base_url=path or server.base_url,
            api_key=KEY,
            model=model,
            temperature=temperature,
            timeout_seconds=timeout_seconds,
            responses=responses,
        )
        try:
            return [await chat.complete(ask(), on_text) for _ in range(times)]
        finally:
            await chat.aclose()

    return asyncio.run(ask_all())


def heard_by(server: FakeOpenAI) -> tuple[Answer[CharacterTurn], list[str]]:
    heard: list[str] = []
    return run(server, on_text=lambda text, _: heard.append(text))[0], heard


def test_a_whole_answer_is_checked_counted_and_named() -> None:
    with FakeOpenAI(answer=said) as server:
        answer = run(server, temperature=0.3)[0]
    assert answer.value.model_dump() == TURN
    assert (answer.usage.calls, answer.usage.prompt_tokens, answer.usage.cached_tokens) == (1, 40, 32)
    assert not answer.usage.estimated
    assert answer.model == "openai:m"
    body = server.requests[0]
    assert body["messages"] == [{"role": "system", "content": "You are Ren."}, {"role": "user", "content": "Speak."}]
    assert (body["temperature"], body["max_tokens"], body["stream"]) == (0.3, 600, False)
    assert body["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_a_streamed_utterance_grows_to_the_whole(piece: int) -> None:
    with FakeOpenAI(Reply(piece=piece), answer=said) as server:
        answer, heard = heard_by(server)
    assert answer.value.model_dump() == TURN
    assert heard[-1] == TURN["utterance"]
    assert heard == sorted(set(heard), key=len)
    assert all(TURN["utterance"].startswith(text) for text in heard)
    assert len(heard) > 10 or piece > 1
    assert server.requests[0]["stream_options"] == {"include_usage": True}
    assert answer.usage.prompt_tokens == 40


def test_what_is_thought_is_not_heard() -> None:
    with FakeOpenAI(thinking(SAID)) as server:
        answer, heard = heard_by(server)
    assert answer.value.model_dump() == TURN
    assert all(TURN["utterance"].startswith(text) for text in heard)


def test_usage_that_is_not_reported_is_estimated() -> None:
    with FakeOpenAI(Reply(usage=False), answer=said) as server:
        answer, _ = heard_by(server)
    assert answer.usage.estimated
    assert answer.usage.calls == 1
    assert answer.usage.prompt_tokens > 8
    assert answer.usage.completion_tokens > 20


def test_an_unknown_model_name_is_asked_for_once() -> None:
    with FakeOpenAI(answer=said, models=("nomic-embed-text", "qwen", "other")) as server:
        answers = run(server, times=2, model=None)
    assert server.listings == 1
    assert [body["model"] for body in server.requests] == ["qwen", "qwen"]
    assert answers[0].model == "openai:qwen"
    assert answers[0].usage.calls == 1


def test_a_weights_file_is_named_without_its_path() -> None:
    with FakeOpenAI(answer=said, models=("/home/someone/models/small.gguf",)) as server:
        assert run(server, model=None)[0].model == "openai:small.gguf"


@pytest.mark.parametrize(
    ("models", "setting"),
    [
        ((), "KATARIBE_LLM__MODEL"),
        (failing(404, "Not Found"), "KATARIBE_LLM__BASE_URL"),
        (Reply(raw=b"<html>"), "KATARIBE_LLM__BASE_URL"),
    ],
)
def test_a_server_that_lists_no_model_is_told_which_setting_to_check(
    models: tuple[str, ...] | Reply, setting: str
) -> None:
    with FakeOpenAI(models=models) as server, pytest.raises(ModelRejected) as caught:
        run(server, model=None)
    assert caught.value.facts["setting"] == setting
    assert caught.value.usage.calls == 0


def refuses(*params: str, named: bool = True) -> Callable[[dict[str, Any]], Reply | None]:
    """A server that knows none of these parameters."""
    return lambda body: next((unsupported(param, named) for param in params if param in body), None)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
def test_a_server_that_knows_hardly_anything_is_found_out_once(named: bool, streamed: bool) -> None:
    unknown = ("response_format", "temperature", "max_tokens", "stream_options")
    with FakeOpenAI(answer=said, refuses=refuses(*unknown, named=named)) as server:
        first, second = run(server, times=2, temperature=1, on_text=(lambda *_: None) if streamed else None)
    probes = 4 + 1 + 1 + streamed
    assert first.usage.calls == probes + 1
    assert second.usage.calls == 1
    assert len(server.requests) == probes + 2
    assert server.requests[-1].keys() == {"model", "messages", "max_completion_tokens", "stream"}
    assert "JSON Schema" in server.requests[-1]["messages"][0]["content"]


def test_a_server_that_knows_only_json_objects_gets_the_schema_in_the_prompt() -> None:
    def deepseek(body: dict[str, Any]) -> Reply | None:
        kind = body["response_format"]["type"]
        return failing(400, "This response_format type is unavailable now") if kind == "json_schema" else None

    with FakeOpenAI(answer=said, refuses=deepseek) as server:
        answer = run(server)[0]
    assert answer.usage.calls == 4
    assert server.requests[-1]["response_format"] == {"type": "json_object"}
    assert '"maxLength":700' in server.requests[-1]["messages"][0]["content"]


def test_a_server_that_knows_no_bounds_gets_them_in_words() -> None:
    def openai(body: dict[str, Any]) -> Reply | None:
        permitted = "maxLength" not in json.dumps(body["response_format"])
        return None if permitted else failing(400, "'maxLength' is not permitted.", param="response_format")

    with FakeOpenAI(answer=said, refuses=openai) as server:
        assert run(server)[0].usage.calls == 2
    described = server.requests[-1]["response_format"]["json_schema"]
    assert described["strict"] is True
    assert "at most 700 characters" in json.dumps(described)


def test_a_model_that_may_not_be_streamed_speaks_all_at_once() -> None:
    verify = failing(400, "Your organization must be verified to stream this model.", param="stream")
    with FakeOpenAI(answer=said, refuses=lambda body: verify if body["stream"] else None) as server:
        answer, heard = heard_by(server)
    assert heard == [answer.value.utterance]


def test_after_a_broken_answer_the_schema_is_said_in_words_in_that_conversation_alone_until_one_holds() -> None:
    here, there = (replace(ask(), thread=thread) for thread in ("here", "there"))
    with FakeOpenAI(Reply(content="Good day!"), answer=said) as server:

        async def talk() -> None:
            chat = OpenAIChat(base_url=server.base_url, api_key=KEY, model="m")
            with pytest.raises(ModelBroken):
                await chat.complete(here)
            for prompt in (there, here, here, there):
                await chat.complete(prompt)
            await chat.aclose()

        asyncio.run(talk())
    told = ["JSON Schema" in body["messages"][0]["content"] for body in server.requests]
    assert told == [False, False, True, False, False]


@pytest.mark.parametrize("thoughtful", [thinking(SAID), Reply(content=SAID, reasoning="hm"), thinking("")])
@pytest.mark.parametrize("streamed", [True, False])
def test_a_model_that_thinks_gets_more_room_from_then_on(thoughtful: Reply, streamed: bool) -> None:
    with FakeOpenAI(thoughtful, answer=said) as server:

        async def twice() -> None:
            chat = OpenAIChat(base_url=server.base_url, api_key=KEY, model="m")
            listener: TextListener | None = (lambda *_: None) if streamed else None
            try:
                await chat.complete(ask(), listener)
            except ModelEmpty:
                assert thoughtful == thinking("")
            await chat.complete(ask(), listener)
            await chat.aclose()

        asyncio.run(twice())
    assert [body["max_tokens"] for body in server.requests] == [600, 600 + THINKING_TOKENS]


@pytest.mark.parametrize("message", ["You sent nonsense.", "maximum context length is 8 tokens (max_tokens included)"])
def test_a_400_about_no_parameter_is_not_tried_again(message: str) -> None:
    with FakeOpenAI(failing(400, message)) as server, pytest.raises(ModelRejected) as caught:
        run(server)
    assert len(server.requests) == 1
    assert message in str(caught.value.facts["reason"])


def test_a_server_that_refuses_everything_ends_in_an_error_after_a_few_calls() -> None:
    def never(body: dict[str, Any]) -> Reply:
        return failing(422, "response_format, max_tokens, temperature, stream_options, system role")

    with FakeOpenAI(refuses=never) as server, pytest.raises(ModelRejected) as caught:
        run(server, temperature=1)
    assert len(server.requests) == caught.value.usage.calls <= 10


BROKEN: list[tuple[Reply, type[ModelError]]] = [
    (failing(401, f"Incorrect API key provided: {KEY}"), ModelRejected),
    (failing(404, "Not Found"), ModelRejected),
    (failing(429, "quota", code="insufficient_quota"), ModelRejected),
    (rate_limited("3"), ModelRateLimited),
    (failing(500), ModelServerError),
    (failing(503, "Loading model"), ModelServerError),
    (Reply(content="", error={"message": "overloaded", "code": 502}), ModelServerError),
    (Reply(content="", refusal="I can't help with that."), ModelRefused),
    (Reply(content=SAID, finish_reason="content_filter"), ModelRefused),
    (Reply(content=""), ModelEmpty),
    (Reply(content="  \n"), ModelEmpty),
    (thinking(""), ModelEmpty),
    (Reply(content=SAID[:30], finish_reason="length"), ModelTruncated),
    (Reply(content="", finish_reason="length"), ModelTruncated),
    (Reply(content="<think>hm", finish_reason="length"), ModelTruncated),
    (Reply(content="I would rather not say."), ModelBroken),
    (Reply(content=SAID[:30]), ModelBroken),
    (Reply(content='{"utterance": 3}'), ModelBroken),
    (Reply(content=SAID[:30], finish_reason=None), ModelUnreachable),
]


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(("reply", "kind"), BROKEN)
def test_whatever_goes_wrong_is_one_of_our_errors(reply: Reply, kind: type[ModelError], streamed: bool) -> None:
    with FakeOpenAI(reply) as server, pytest.raises(ModelError) as caught:
        run(server, on_text=(lambda *_: None) if streamed else None)
    error = caught.value
    assert type(error) is kind
    assert error.usage.calls == 1
    assert error.facts["model"] == "openai:m"
    assert KEY not in "".join(traceback.format_exception(error))
    assert KEY not in f"{error.facts}{error.sentence('ja')}"
    paid = kind in (ModelRefused, ModelEmpty, ModelTruncated, ModelBroken)
    assert (error.usage.prompt_tokens > 0) is (paid or reply.finish_reason is None)


def test_retry_after_reaches_the_error() -> None:
    with FakeOpenAI(rate_limited("3")) as server, pytest.raises(ModelRateLimited) as caught:
        run(server)
    assert caught.value.facts["retry_after_seconds"] == 3


def test_a_complete_answer_at_the_length_limit_is_an_answer() -> None:
    with FakeOpenAI(Reply(content=SAID, finish_reason="length")) as server:
        assert run(server)[0].value.model_dump() == TURN


def test_a_server_that_leaves_out_all_that_can_be_left_out_is_understood() -> None:
    body = json.dumps({"choices": [{"message": {"content": SAID}}]}).encode()
    with FakeOpenAI(Reply(raw=body)) as server:
        answer = run(server)[0]
    assert answer.value.model_dump() == TURN
    assert answer.usage.estimated


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": [{}]}, {"choices": [{"message": {}}]}])
def test_a_completion_without_an_answer_is_empty(body: dict[str, Any]) -> None:
    with FakeOpenAI(Reply(raw=json.dumps(body).encode())) as server, pytest.raises(ModelEmpty):
        run(server)


def test_a_wrong_path_says_which_setting_to_check() -> None:
    with FakeOpenAI() as server, pytest.raises(ModelRejected) as caught:
        run(server, path=f"http://127.0.0.1:{server.port}")
    assert caught.value.facts["setting"] == "KATARIBE_LLM__BASE_URL"
    assert "/v1" in str(caught.value.facts["reason"])


@pytest.mark.parametrize("headers", [{"Content-Type": "text/html"}, {}])
def test_a_page_that_is_no_completion_is_no_answer(headers: dict[str, str]) -> None:
    page = Reply(raw=b"<html>hello</html>", headers=headers)
    with FakeOpenAI(page) as server, pytest.raises(ModelError) as caught:
        run(server)
    assert type(caught.value) in (ModelRejected, ModelBroken)


@pytest.mark.parametrize(("clean", "cut"), [(True, 30), (False, 30), (True, 0), (False, 0)])
def test_a_stream_that_breaks_off_is_never_an_answer(clean: bool, cut: int) -> None:
    heard: list[str] = []
    reply = Reply(content=SAID, cut_after=cut, ends_cleanly=clean)
    with FakeOpenAI(reply) as server, pytest.raises(ModelError) as caught:
        run(server, on_text=lambda text, _: heard.append(text))
    assert type(caught.value) is (ModelEmpty if clean and not cut else ModelUnreachable)
    assert bool(heard) is bool(cut)


@pytest.mark.parametrize("streamed", [True, False])
def test_a_server_that_hangs_or_stalls_is_given_up_after_the_timeout(streamed: bool) -> None:
    start = time.perf_counter()
    with FakeOpenAI(hanging()) as server, pytest.raises(ModelTimeout) as caught:
        run(server, on_text=(lambda *_: None) if streamed else None, timeout_seconds=0.4)
    assert time.perf_counter() - start < 3
    assert caught.value.facts["seconds"] == 0.4
    assert caught.value.usage.calls == 1


def test_a_stream_that_trickles_is_bounded_as_a_whole() -> None:
    with FakeOpenAI(Reply(piece=1, pause_seconds=0.05), answer=said) as server, pytest.raises(ModelTimeout):
        run(server, on_text=lambda *_: None, timeout_seconds=0.5)


def test_probing_and_answering_share_one_timeout() -> None:
    refusal = replace(unsupported("response_format"), latency_seconds=0.4)
    with FakeOpenAI(refusal, Reply(latency_seconds=5), answer=said) as server, pytest.raises(ModelTimeout) as caught:
        run(server, timeout_seconds=4)
    assert caught.value.usage.calls == 2


def test_nobody_there_is_unreachable_and_says_where() -> None:
    with FakeOpenAI() as server:
        gone = server.base_url.replace("http://", "http://user:pass@")
    for model in ("m", None):
        with pytest.raises(ModelUnreachable) as caught:
            run(server, path=gone, model=model)
    assert caught.value.facts["base_url"] == server.base_url
    assert caught.value.__cause__ is not None


def test_cancelling_passes_through_at_once() -> None:
    with FakeOpenAI(hanging()) as server:

        async def cancel() -> None:
            chat = OpenAIChat(base_url=server.base_url, api_key=KEY, model="m")
            task = asyncio.create_task(chat.complete(ask(), lambda *_: None))
            await asyncio.sleep(0.3)
            task.cancel()
            try:
                await task
            finally:
                await chat.aclose()

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(cancel())


def test_a_listener_that_fails_is_not_taken_for_a_model_error() -> None:
    def fail(text: str, emotion: str | None) -> None:
        raise ValueError("listener")

    with FakeOpenAI(answer=said) as server, pytest.raises(ValueError, match="listener"):
        run(server, on_text=fail)


def test_what_the_environment_holds_for_openai_does_not_reach_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-environment-admin")
    monkeypatch.setenv("OPENAI_ORG_ID", "environment-org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "environment-project")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/environment")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: environment\nAuthorization: Bearer environment")
    with FakeOpenAI(answer=said) as server:
        run(server)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert "environment" not in str(server.headers)


def test_one_model_serves_several_event_loops() -> None:
    with FakeOpenAI(answer=said) as server:
        chat = OpenAIChat(base_url=server.base_url, api_key=KEY, model="m")

        async def once() -> None:
            await chat.complete(ask())
            await chat.aclose()

        asyncio.run(once())
        asyncio.run(once())
    assert len(server.requests) == 2


def test_many_answers_at_once_learn_the_same_dialect() -> None:
    with FakeOpenAI(answer=said, refuses=refuses("response_format", "temperature")) as server:

        async def crowd() -> list[Answer[CharacterTurn]]:
            chat = OpenAIChat(base_url=server.base_url, api_key=KEY, model="m", temperature=1)
            answers = await asyncio.gather(*(chat.complete(ask()) for _ in range(4)))
            answers.append(await chat.complete(ask()))
            await chat.aclose()
            return answers

        answers = asyncio.run(crowd())
    assert answers[-1].usage.calls == 1


@pytest.mark.parametrize(
    ("base_url", "official"),
    [
        (None, True),
        ("https://api.openai.com/v1", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com.example.org/v1", False),
        ("https://example.org/api.openai.com", False),
        ("https://[", False),
    ],
)
def test_only_openais_own_address_is_openai(base_url: str | None, official: bool) -> None:
    assert is_openai(base_url) is official


def test_openai_itself_has_a_default_model() -> None:
    assert OpenAIChat(base_url=None, api_key=KEY).name == "openai:gpt-4.1-mini"


def by_responses_alone(body: dict[str, Any]) -> Reply | None:
    """A model that chat completions do not reach."""
    told = "This model is only supported in v1/responses and not in v1/chat/completions."
    return failing(404, told, type="invalid_request_error", param="model") if "messages" in body else None


@pytest.mark.parametrize("streamed", [True, False])
def test_a_model_of_the_responses_api_is_found_out_once(streamed: bool) -> None:
    heard: list[str] = []
    listener: TextListener | None = (lambda text, _: heard.append(text)) if streamed else None
    with FakeOpenAI(answer=said, refuses=by_responses_alone) as server:
        first, second = run(server, times=2, on_text=listener)
    assert [first.value.model_dump(), second.value.model_dump()] == [TURN, TURN]
    assert [first.usage.calls, second.usage.calls] == [2, 1]
    assert (second.usage.prompt_tokens, second.usage.cached_tokens, second.usage.estimated) == (40, 32, False)
    assert len(set(heard)) > 2 or not streamed
    body = server.requests[-1]
    assert body.keys() == {"model", "input", "max_output_tokens", "text", "store", "stream"}
    assert body["input"] == [{"role": "system", "content": "You are Ren."}, {"role": "user", "content": "Speak."}]
    assert (body["text"]["format"]["type"], body["text"]["format"]["strict"]) == ("json_schema", True)
    assert body["store"] is False


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(("reply", "kind"), BROKEN)
def test_what_goes_wrong_at_the_responses_api_is_the_same_error(
    reply: Reply, kind: type[ModelError], streamed: bool
) -> None:
    unknown = by_responses_alone({"messages": []})
    assert unknown is not None
    with FakeOpenAI(unknown, reply) as server, pytest.raises(ModelError) as caught:
        run(server, on_text=(lambda *_: None) if streamed else None)
    assert type(caught.value) is kind
    assert caught.value.usage.calls == 2
    assert KEY not in f"{caught.value.facts}"


@pytest.mark.parametrize("clean", [True, False])
def test_a_response_that_breaks_off_or_counts_nothing(clean: bool) -> None:
    unknown = by_responses_alone({"messages": []})
    assert unknown is not None
    with (
        FakeOpenAI(unknown, Reply(content=SAID, cut_after=30, ends_cleanly=clean)) as server,
        pytest.raises(ModelUnreachable),
    ):
        run(server, on_text=lambda *_: None)
    with FakeOpenAI(Reply(content=SAID, usage=False), refuses=by_responses_alone) as server:
        assert run(server, on_text=lambda *_: None)[0].usage.estimated


def events(*values: object) -> bytes:
    return b"".join(b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n" for value in values)


def test_an_error_in_the_middle_of_a_response_is_the_servers() -> None:
    failed = {"type": "response.failed", "response": {"status": "failed", "error": {"message": f"down {KEY}"}}}
    for event in (failed, {"type": "error", "code": "server_error", "message": f"down {KEY}"}):
        reply = Reply(raw=events(event), headers={"Content-Type": "text/event-stream"})
        with FakeOpenAI(reply) as server, pytest.raises(ModelServerError) as caught:
            run(server, on_text=lambda *_: None)
        assert caught.value.facts["reason"] == "down ***"


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_server_that_ignores_stream_is_understood(api: str) -> None:
    spoken = {"type": "message", "content": [{"type": "output_text", "text": SAID}]}
    bodies: dict[str, object] = {
        "chat": {"choices": [{"message": {"content": SAID}, "finish_reason": "stop"}]},
        "responses": {"object": "response", "status": "completed", "output": [spoken]},
    }
    with FakeOpenAI(Reply(raw=json.dumps(bodies[api]).encode())) as server:
        answer, heard = heard_by(server)
    assert answer.value.model_dump() == TURN
    assert heard == [TURN["utterance"]]


@pytest.mark.parametrize(
    "cut", [b'data: {"choices": [{"delta": {"con', 'data: {"choices": "良'.encode()[:-1] + b"\n\n"]
)
def test_half_a_chunk_or_half_a_letter_at_the_end_is_an_error(cut: bytes) -> None:
    whole = {"choices": [{"delta": {"content": SAID[:30]}}]}
    reply = Reply(raw=events(whole) + cut, headers={"Content-Type": "text/event-stream"})
    with FakeOpenAI(reply) as server, pytest.raises(ModelError) as caught:
        run(server, on_text=lambda *_: None)
    assert type(caught.value) in (ModelUnreachable, ModelBroken)


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_letter_that_two_packets_share_is_whole(api: str) -> None:
    text = json.dumps({**TURN, "utterance": "良い日だ、友よ。"}, ensure_ascii=False)
    chunks = {
        "chat": {"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]},
        "responses": {"type": "response.output_text.delta", "delta": text},
    }
    end = {"type": "response.completed", "response": {"status": "completed"}}
    raw = events(chunks[api], *([end] if api == "responses" else []))
    slowly = Reply(raw=raw, piece=1, pause_seconds=0.001, headers={"Content-Type": "text/event-stream"})
    with FakeOpenAI(slowly) as server:
        answer, heard = heard_by(server)
    assert answer.value.utterance == heard[-1] == "良い日だ、友よ。"
    assert answer.usage.estimated


@pytest.mark.parametrize("responses", [True, False])
@pytest.mark.parametrize("body", [b'{"choices": [{"mess', b"[1]", b"null", b"\xff"])
def test_what_comes_in_place_of_a_stream_and_is_no_completion_is_no_answer(body: bytes, responses: bool) -> None:
    with FakeOpenAI(Reply(raw=body)) as server, pytest.raises(ModelError) as caught:
        run(server, responses=responses, on_text=lambda *_: None)
    assert type(caught.value) in (ModelBroken, ModelRejected)


def test_where_the_connection_breaks_in_place_of_a_stream_the_server_is_unreachable() -> None:
    half = Reply(raw=b'{"choices": ', headers={"Content-Length": "500"})
    with FakeOpenAI(half) as server, pytest.raises(ModelUnreachable):
        heard_by(server)


def test_a_server_that_has_no_responses_either_ends_in_an_error() -> None:
    with FakeOpenAI(refuses=lambda body: by_responses_alone({"messages": []})) as server:
        with pytest.raises(ModelRejected) as caught:
            run(server)
        assert len(server.requests) == caught.value.usage.calls == 2


@pytest.mark.parametrize("streamed", [True, False])
def test_a_response_that_was_thought_over_gets_more_room_from_then_on(streamed: bool) -> None:
    counted = {"input_tokens": 40, "output_tokens": 600, "output_tokens_details": {"reasoning_tokens": 590}}
    cut = {"object": "response", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    thought = {**cut, "output": [{"type": "reasoning", "summary": []}], "usage": counted}
    event = {"type": "response.incomplete", "response": thought}
    whole = Reply(raw=json.dumps(thought).encode())
    reply = Reply(raw=events(event), headers={"Content-Type": "text/event-stream"}) if streamed else whole
    with FakeOpenAI(reply, answer=said) as server:

        async def twice() -> None:
            chat = OpenAIChat(base_url=server.base_url, api_key=KEY, model="m", responses=True)
            listener: TextListener | None = (lambda *_: None) if streamed else None
            with pytest.raises(ModelTruncated) as caught:
                await chat.complete(ask(), listener)
            assert (caught.value.usage.prompt_tokens, caught.value.usage.completion_tokens) == (40, 600)
            await chat.complete(ask(), listener)
            await chat.aclose()

        asyncio.run(twice())
    assert [body["max_output_tokens"] for body in server.requests] == [600, 600 + THINKING_TOKENS]


def test_retry_after_of_a_response_reaches_the_error() -> None:
    with FakeOpenAI(rate_limited("3")) as server, pytest.raises(ModelRateLimited) as caught:
        run(server, responses=True)
    assert caught.value.facts["retry_after_seconds"] == 3
