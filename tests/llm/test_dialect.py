"""Owns the tests of what is asked of which server."""

import pytest

from service.llm.chat import Message
from service.llm.dialect import Dialect, Form
from tests.llm.prompts import ask


@pytest.mark.parametrize("form", [Form.JSON_OBJECT, Form.TEXT])
@pytest.mark.parametrize(("language", "word"), [("en", "JSON Schema"), ("ja", "JSONオブジェクト")])
def test_where_no_schema_can_be_sent_it_stands_at_the_end_of_the_system_message(
    form: Form, language: str, word: str
) -> None:
    body = Dialect(form=form).request(ask(language="ja" if language == "ja" else "en"), "m", None)
    system, user = body["messages"]
    assert system["content"].startswith("You are Ren.\n\n")
    assert word in system["content"]
    assert '"maxLength":700' in system["content"]
    assert user["content"] == "Speak."
    assert body.get("response_format") == ({"type": "json_object"} if form is Form.JSON_OBJECT else None)


def test_requests_that_begin_alike_are_named_alike_where_the_server_knows_it() -> None:
    def named(*said: str) -> object:
        messages = [Message(role="system" if n == 0 else "user", content=text) for n, text in enumerate(said)]
        return Dialect(cache_key=True).request(ask(*messages), "m", None)["prompt_cache_key"]

    assert named("You are Sora.", "Hello.") == named("You are Sora.", "Goodbye.") != named("You are Umi.", "Hello.")
    assert "prompt_cache_key" not in Dialect().request(ask(), "m", None)


def test_earlier_turns_and_the_cache_key_of_a_response_are_those_of_a_chat() -> None:
    turns = [Message(role="system", content="a"), Message(role="user", content="b")]
    turns += [Message(role="assistant", content="c"), Message(role="user", content="d")]
    chat, body = (Dialect(cache_key=True, responses=by).request(ask(*turns), "m", 0.3) for by in (False, True))
    assert body["input"] == chat["messages"]
    assert (body["prompt_cache_key"], body["temperature"]) == (chat["prompt_cache_key"], 0.3)


def test_without_a_system_role_neighbours_become_one_user_message() -> None:
    messages = (
        Message(role="system", content="a"),
        Message(role="user", content="b"),
        Message(role="assistant", content="c"),
        Message(role="user", content="d"),
    )
    body = Dialect(system_role=False).request(ask(*messages), "m", None)
    assert [(m["role"], m["content"]) for m in body["messages"]] == [
        ("user", "a\n\nb"),
        ("assistant", "c"),
        ("user", "d"),
    ]


@pytest.mark.parametrize(
    ("param", "message", "changed"),
    [
        (None, "Unsupported parameter: 'max_tokens' … Use 'max_completion_tokens' instead.", "limit"),
        ("temperature", "Unsupported value", "temperature"),
        (None, "{'detail': [{'loc': ['body', 'stream_options'], 'msg': 'Extra inputs'}]}", "stream_usage"),
        (None, "Unrecognized request argument supplied: prompt_cache_key", "cache_key"),
        ("stream", "Your organization must be verified to stream this model.", "stream"),
        (None, "System role not supported", "system_role"),
        (None, "Conversation roles must alternate user/assistant/user/assistant/...", "system_role"),
        ("response_format", "Invalid schema: 'maxLength' is not permitted.", "form"),
        (None, "This response_format type is unavailable now", "form"),
        (None, "failed to parse grammar", "form"),
        ("model", "This model is only supported in v1/responses and not in v1/chat/completions.", "responses"),
        ("model", "This is not a chat model and thus not supported in the v1/chat/completions endpoint.", "responses"),
        ("text.format.type", "Unsupported value", "form"),
        ("messages", "This model does not support response format `json_schema`", "form"),
    ],
)
def test_what_the_server_complains_of_is_left_out_and_nothing_else(
    param: str | None, message: str, changed: str
) -> None:
    before = Dialect(cache_key=True)
    after = before.simpler(param, message)
    assert after is not None
    fields = set(Dialect.__dataclass_fields__) - {"limit_changed"}
    assert {name for name in fields if getattr(before, name) != getattr(after, name)} == {changed}


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("messages", "This model's maximum context length is 8192 tokens, 600 of max_tokens included."),
        (None, "the request exceeds the available context size. try increasing the context size"),
        (None, "something else is wrong"),
        (None, "streaming went wrong"),
    ],
)
def test_a_complaint_about_something_else_ends_the_search(param: str | None, message: str) -> None:
    assert Dialect().simpler(param, message) is None
