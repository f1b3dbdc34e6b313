"""Owns the tests of requests that no friendly client sends: each is answered with a problem, none with a 500."""

import gzip
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketDenialResponse

from service.app import create_app
from tests.api.play import PROBLEM, TALK, problem, settings_for, talk
from tests.freeze.openapi import description

JSON = {"Content-Type": "application/json"}
POSTS = ("/conversations/start", "/world/tick", "/characters/sora/actions")

MALFORMED: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{ticks: 1}",
    "cut off": b'{"ticks": 1',
    "two values": b"{} {}",
    "a list": b"[1, 2]",
    "a word": b'"ticks"',
    "null": b"null",
    "no UTF-8": b'{"ticks": "\xff\xfe"}',
    "UTF-16": '{"ticks": 1, "x": 1}'.encode("utf-16"),
    "a lone surrogate as value": b'{"character_id": "\\ud800", "npc_id": "baker", "type": "\\udfff", "ticks": "\\ud800"}',  # noqa: E501
    "a lone surrogate as name": b'{"\\ud800": 1, "ticks": 1, "type": "sleep"}',
    "NUL": b'{"character_id": "so\\u0000ra", "npc_id": "baker", "type": "sl\\u0000eep", "ticks": "\\u0000"}',
    "a NUL as name": b'{"\\u0000": 1}',
    "a huge number": b'{"ticks": ' + b"9" * 5000 + b', "character_id": 1, "type": 1}',
    "not a number": b'{"ticks": NaN, "character_id": NaN, "type": NaN}',
    "infinity": b'{"ticks": 1e999, "character_id": 1e999, "type": 1e999}',
    "deep": b"[" * 200_000 + b"]" * 200_000,
    "big": b'{"ticks": "' + b"x" * 5_000_000 + b'", "character_id": 1, "type": 1}',
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, millbrook: Path) -> FastAPI:
    """One service for all tests here: none of them changes it."""
    settings = settings_for(tmp_path_factory.mktemp("problems"), millbrook, llm={"provider": "rehearsal"})
    return create_app(settings)


@pytest.fixture(scope="module")
def client(app: FastAPI) -> Iterator[TestClient]:
    """A client of it."""
    with TestClient(app, raise_server_exceptions=False) as http:
        yield http


@pytest.fixture(scope="module")
def held(client: TestClient) -> str:
    """The id of a closed conversation."""
    return str(talk(client, character_id="umi", max_turns=2)["id"])


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_body_that_is_none_is_a_problem(client: TestClient, path: str, body: bytes) -> None:
    answer = client.post(path, content=body, headers=JSON)
    told = problem(answer, answer.status_code)
    assert answer.status_code in (400, 413, 422)
    assert told["type"] == "urn:kataribe:problem:invalid" or answer.status_code != 422
    assert told["type"] != "about:blank" or told["title"] == "Bad Request"
    assert len(answer.content) < 5000


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "multipart/form-data", "application/x-www-form-urlencoded"]
)
def test_a_body_of_another_kind_is_a_problem(client: TestClient, kind: str) -> None:
    told = problem(client.post("/world/tick", content=b'{"ticks": 1}', headers={"Content-Type": kind}), 422, "invalid")
    assert told["errors"] == [
        {
            "field": "header.content-type",
            "message": "expected JSON that says so: send the header `Content-Type: application/json`",
        }
    ]
    assert client.get("/world").json()["now"] == "2026-04-01T07:00"


def test_a_list_that_says_it_is_json_is_told_what_was_expected(client: TestClient) -> None:
    told = problem(client.post("/world/tick", json=[]), 422, "invalid")
    assert told["errors"] == [{"field": "body", "message": "expected an object"}]
    nothing = problem(client.post("/world/tick"), 422, "invalid")
    assert nothing["errors"] == [{"field": "body", "message": "it is missing"}]


def test_a_body_that_is_compressed_is_a_problem_that_says_so(client: TestClient) -> None:
    for encoding in ("gzip", "br"):
        answer = client.post(
            "/world/tick", content=gzip.compress(b'{"ticks": 1}'), headers=JSON | {"Content-Encoding": encoding}
        )
        assert problem(answer, 415, "body-encoded")["facts"] == {"encoding": encoding}
    plain = client.post("/world/tick", content=b'{"ticks": 1}', headers=JSON | {"Content-Encoding": "identity"})
    assert plain.status_code == 200


@pytest.mark.parametrize("text", ["a\u0000b", "\u0000", "　", "\t\n"])
def test_a_goal_without_a_word_or_with_nul_is_refused(client: TestClient, text: str) -> None:
    told = problem(client.post("/conversations/start", json={**TALK, "goal": text}), 422, "invalid")
    assert [error["field"] for error in told["errors"]] == ["body.goal"]


STRANGE = (
    "葵",
    "sora'; DROP TABLE worlds; --",
    "' OR '1'='1",
    "sora%00",
    "%ff",
    "..%2F..%2Fetc%2Fpasswd",
    "{{7*7}}",
    "x" * 3000,
    "a--b",
    "%F0%9F%92%A9",
)


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize(
    "path", ["/characters/{}", "/npcs/{}", "/conversations/{}", "/conversations/{}/events", "/characters/{}/memory"]
)
def test_an_id_that_is_none_is_a_problem(client: TestClient, path: str, strange: str) -> None:
    answer = client.get(path.format(strange))
    problem(answer, answer.status_code)
    assert answer.status_code in (404, 422)


@pytest.mark.parametrize(
    "query", ["' OR 1=1 --", '"', "*", "NEAR(", "a AND", "妹\u0000", "%", "^", "(", "\ud7ff", "💩", "-"]
)
def test_any_text_can_be_asked_of_the_memory(client: TestClient, query: str) -> None:
    answer = client.get("/characters/sora/memory", params={"npc_id": "baker", "query": query})
    assert answer.status_code == 200
    assert answer.json()["facts"] == []


def test_a_query_in_broken_percent_encoding_is_read_as_far_as_it_goes(client: TestClient) -> None:
    assert client.get("/characters/sora/memory?npc_id=baker&query=%ff%fe%00").status_code in (200, 422)


@pytest.mark.parametrize("value", ["x", "-1", "1.5", "1001", "9" * 50])
def test_a_last_event_id_that_is_none_is_a_problem(client: TestClient, held: str, value: str) -> None:
    told = problem(client.get(f"/conversations/{held}/events", headers={"Last-Event-ID": value}), 422, "invalid")
    assert [error["field"].lower() for error in told["errors"]] == ["header.last-event-id"]


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"after": "9" * 40}, "/world/events"),
        ({"limit": "1e3"}, "/world/events"),
        ({"person_id": "' OR 1"}, "/world/events"),
        ({"phase": "open"}, "/conversations"),
        ({"after": "g" * 28}, "/conversations"),
        ({"character_id": "\u0000"}, "/conversations"),
    ],
)
def test_a_query_that_is_none_names_its_field(client: TestClient, params: dict[str, str], path: str) -> None:
    told = problem(client.get(path, params=params), 422, "invalid")
    assert [error["field"] for error in told["errors"]] == [f"query.{next(iter(params))}"]


def test_every_operation_refuses_a_parameter_that_it_does_not_take(client: TestClient) -> None:
    lenient = ("/v1/", "/healthz", "/readyz")  # whose clients know better, or ask as others want to be asked
    operations = [
        (method, re.sub(r"{\w+}", "1", path))
        for path, methods in description()["paths"].items()
        for method in methods
        if not path.startswith(lenient)
    ]
    assert len(operations) > 70
    for method, path in operations:
        told = problem(client.request(method, path, params={"quer": "x", "world_id": "main"}), 422, "invalid")
        assert told["errors"] == [{"field": "query.quer", "message": "this operation takes no such parameter"}]
    assert client.get("/world?_=1764000000&lastEventId=3").status_code == 200
    assert client.get("/readyz?verbose").status_code == 200
    assert client.get("/v1/models?api-version=1").status_code == 200
    with pytest.raises(WebSocketDenialResponse) as caught, client.websocket_connect("/people/sora/ws?since=0"):
        pass
    assert problem(caught.value, 422, "invalid")["errors"][0]["field"] == "query.since"


def test_an_unknown_path_and_method_are_problems_in_the_language_asked_for(client: TestClient) -> None:
    ja = {"Accept-Language": "ja"}
    assert problem(client.get("/nowhere"), 404)["detail"] == "There is nothing at this path."
    assert problem(client.get("/nowhere", headers=ja), 404)["detail"] == "このパスには何もありません。"
    answer = client.put("/world", json={}, headers=ja)
    assert problem(answer, 405)["detail"] == "このパスではそのメソッドは使えません。"
    assert answer.headers["allow"] == "DELETE, GET, HEAD, PATCH"
    assert client.get("/world/tick").headers["allow"] == "POST"
    assert client.post("/characters/sora").headers["allow"] == "GET, HEAD, PATCH"
    for method in ("TRACE", "OPTIONS", "QUERY"):  # which no path has
        answer = client.request(method, "/characters/sora", headers=ja)
        assert problem(answer, 405)["detail"] == "このパスではそのメソッドは使えません。"
        assert answer.headers["allow"] == "GET, HEAD, PATCH"


def test_a_refused_request_is_explained_in_japanese(client: TestClient) -> None:
    told = problem(client.post("/world/tick", json={"ticks": 0}, headers={"Accept-Language": "ja"}), 422, "invalid")
    assert "要求" in told["detail"]


WRONG = [
    ("PATCH", "/world", {}, "body", "give at least one of", "のうち1つ以上"),
    ("PATCH", "/world", {"weather": None}, "body.weather", "leave it out", "省くか"),
    ("PATCH", "/world", {"weather": "x" * 81}, "body.weather", "at most 80 characters", "80文字以内"),
    ("PATCH", "/world", {"announce": {"text": "", "minutes": 1}}, "body.announce.text", "1 or more", "1文字以上"),
    ("PATCH", "/world", {"announce": {"text": "x", "minutes": 0}}, "body.announce.minutes", "1 or more", "1 以上"),
    ("PUT", "/world/clock", {"speed": 0}, "body.speed", "0.001 or more", "0.001 以上"),
    ("PUT", "/world/clock", {"mode": "fast"}, "body.mode", "'manual' or 'running'", "'manual'、'running' のどれか"),
    ("PUT", "/world/clock", {"speed": "fast"}, "body.speed", "expected a number", "数にして"),
    ("POST", "/world/tick", {"ticks": 10**8}, "body.ticks", "10000000 or less", "10000000 以下"),
    ("POST", "/conversations/start", {"character_id": "a b"}, "body.character_id", "expected an id", "idにして"),
    ("POST", "/conversations/start", {"goal": " "}, "body.goal", "that is not blank", "空白だけでなく"),
    ("POST", "/world/tick", {"tick": 1}, "body.tick", "no such field", "そのような項目はありません"),
]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_is_wrong_with_a_field_is_said_in_the_language_asked_for(client: TestClient, language: str) -> None:
    for method, path, body, field, english, japanese in WRONG:
        answer = client.request(method, path, json=body, headers={"Accept-Language": language})
        told = problem(answer, 422, "invalid")["errors"]
        assert [error["field"] for error in told] == [field]
        assert (english if language == "en" else japanese) in told[0]["message"]


def test_a_bound_is_told_to_its_last_digit(client: TestClient) -> None:
    too_large = problem(client.get("/world/events", params={"after": 2**63}), 422, "invalid")["errors"]
    assert too_large == [{"field": "query.after", "message": f"expected a number of {2**62} or less"}]
    too_long = problem(client.get("/people/sora/updates", params={"wait": 61}), 422, "invalid")["errors"]
    assert too_long == [{"field": "query.wait", "message": "expected a number of 60 or less"}]


@pytest.mark.parametrize(
    ("accepted", "japanese"),
    [
        ("ja", True),
        ("ja-JP", True),
        ("JA;q=0.9", True),
        ("en, ja", False),
        ("", False),
        ("*", False),
        ("\xe6\x97", False),
    ],
)
def test_the_language_is_the_one_named_first(client: TestClient, accepted: str, japanese: bool) -> None:
    answer = client.get("/npcs/nobody", headers=[(b"accept-language", accepted.encode("latin-1"))])
    assert ("見つかりません" in problem(answer, 404, "not-found")["detail"]) == japanese


def test_every_problem_has_the_fields_of_the_rfc_and_is_utf8(client: TestClient) -> None:
    answer = client.get("/npcs/nobody", headers={"Accept-Language": "ja"})
    told: dict[str, Any] = json.loads(answer.content.decode())
    assert {"type", "title", "status", "detail"} <= set(told)
    assert answer.headers["content-type"] == PROBLEM


def test_an_error_of_ours_is_a_problem_too(client: TestClient, app: FastAPI) -> None:
    """A bug must not show its insides, and a client that parses problems must be able to."""
    deps = app.state.deps
    del app.state.deps
    answer = client.get("/world")
    app.state.deps = deps
    assert answer.status_code == 500
    problem(answer, 500, "internal")
    assert "deps" not in answer.text


@pytest.mark.parametrize(
    ("language", "sentence"), [("en", "the first 20 of 5000"), ("ja", "全5000件のうち、はじめの20件")]
)
def test_of_thousands_of_errors_the_first_are_told(client: TestClient, language: str, sentence: str) -> None:
    body = {f"k{number}": 1 for number in range(5000)}
    answer = client.post("/world/tick", json=body, headers={"Accept-Language": language})
    told = problem(answer, 422, "invalid")
    assert sentence in told["detail"]
    assert len(told["errors"]) == 20
    assert len(answer.content) < 5000


JSON = {"Content-Type": "application/json"}


def scene_of(value: bytes, count: int) -> bytes:
    """The body of a scene with so many participants, each of them wrong."""
    return b'{"scene":{"participants":[' + b",".join([value] * count) + b"]}}"


@pytest.mark.parametrize(("value", "count"), [(b"{}", 330_000), (b"0", 495_000), (b'""', 330_000)])
@pytest.mark.parametrize(
    ("path", "limit"),
    [("/scenes", 10_000), ("/world/observations", 10_000), ("/people/baker/memory", 167_772)],
)
def test_a_body_of_countless_values_is_refused_before_each_is_told_to_be_wrong(
    client: TestClient, path: str, limit: int, value: bytes, count: int
) -> None:
    begun = time.process_time()
    answer = client.post(path, content=scene_of(value, count), headers=JSON)
    assert problem(answer, 413, "too-many-values")["facts"] == {"limit": limit}
    assert time.process_time() - begun < 2, "it took six seconds and more"


def test_an_assistants_history_of_countless_values_is_refused_too(client: TestClient) -> None:
    many = b'{"model":"baker","messages":[' + b",".join([b"0"] * 490_000) + b"]}"
    answer = client.post("/v1/chat/completions", content=many, headers=JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_many_values")


def test_a_body_of_fewer_wrong_values_is_told_each_and_commas_of_a_text_are_no_values(client: TestClient) -> None:
    problem(client.post("/scenes", content=scene_of(b"{}", 4_900), headers=JSON), 422, "scene-wrong")
    for text in (b",[{" * 20_000, b'\\",' * 20_000, b"\\\\" * 20_000):
        body = b'{"scene":{"situation":"' + text + b'"}}'
        problem(client.post("/scenes", content=body, headers=JSON), 422, "scene-wrong")
    for unended in (b'"' + b'\\"' * 300_000, b'"' + b"," * 600_000):
        assert client.post("/scenes", content=unended, headers=JSON).status_code in (400, 422)
