"""Owns the tests of the API's description: complete enough that others generate clients from it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from tests.api.play import PROBLEM, settings_for

PROMISED = {
    ("post", "/conversations/start"),
    ("post", "/world/tick"),
    ("post", "/world/stop"),
    ("get", "/characters/{person_id}/memory"),
    ("post", "/characters/{character_id}/actions"),
    ("get", "/conversations/{conversation_id}"),
    ("get", "/conversations/{conversation_id}/events"),
    ("post", "/conversations/{conversation_id}/end"),
    ("get", "/characters/{character_id}/actions"),
    ("patch", "/characters/{person_id}"),
    ("patch", "/npcs/{person_id}"),
    ("patch", "/world"),
    ("put", "/world/clock"),
    ("get", "/world/people"),
    ("get", "/world"),
    ("get", "/world/map"),
    ("get", "/world/events"),
    ("get", "/npcs/{person_id}"),
    ("get", "/characters/{person_id}"),
    ("get", "/healthz"),
    ("get", "/readyz"),
}

PROBLEMS = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
OPENAI_ERRORS = {"application/json": {"schema": {"$ref": "#/components/schemas/OpenAIError"}}}


@pytest.fixture(scope="module")
def described(millbrook: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The service's openapi.json."""
    with TestClient(create_app(settings_for(tmp_path_factory.mktemp("service"), millbrook))) as client:
        told: dict[str, Any] = client.get("/openapi.json").json()
    return told


def operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every operation with its method and path."""
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def test_it_is_openapi_3_1_and_has_what_was_promised(described: dict[str, Any]) -> None:
    assert described["openapi"].startswith("3.1")
    assert {(method, path) for method, path, _ in operations(described)} >= PROMISED
    assert described["info"]["license"] == {"name": "Apache-2.0", "identifier": "Apache-2.0"}


def test_every_operation_says_what_it_does(described: dict[str, Any]) -> None:
    for method, path, operation in operations(described):
        assert operation.get("summary"), (method, path)
        assert len(operation.get("description", "")) > 15, (method, path)
        assert operation["tags"], (method, path)
    names = [operation["operationId"] for _, _, operation in operations(described)]
    assert len(names) == len(set(names))


def test_every_refusal_is_described_as_a_problem(described: dict[str, Any]) -> None:
    for method, path, operation in operations(described):
        assert any(status.startswith("2") for status in operation["responses"]), (method, path)
        for status, response in operation["responses"].items():
            assert response["description"], (method, path, status)
            if status.startswith(("4", "5")) and path != "/readyz":
                assert response["content"] == (OPENAI_ERRORS if path.startswith("/v1/") else PROBLEMS)
        if path not in ("/healthz", "/readyz"):
            assert {"400" if path.startswith("/v1/") else "422", "503"} <= set(operation["responses"]), (method, path)
        if "{" in path:
            assert "404" in operation["responses"], (method, path)
        if "requestBody" in operation:
            assert "400" in operation["responses"], (method, path)


def test_every_reference_leads_somewhere(described: dict[str, Any]) -> None:
    named = set(re.findall(r'"\$ref": "#/components/schemas/([^"]+)"', json.dumps(described)))
    assert named <= set(described["components"]["schemas"])
    assert "Problem" in named
    assert "HTTPValidationError" not in described["components"]["schemas"]


def test_the_stream_is_described_as_server_sent_events(described: dict[str, Any]) -> None:
    operation = described["paths"]["/conversations/{conversation_id}/events"]["get"]
    assert list(operation["responses"]["200"]["content"]) == ["text/event-stream"]
    assert "Last-Event-ID" in operation["description"]
    headers = {p["name"].lower() for p in operation["parameters"] if p["in"] == "header"}
    assert headers == {"last-event-id", "x-world-id"}


def test_the_calls_that_change_something_take_an_idempotency_key(described: dict[str, Any]) -> None:
    for path in ("/conversations/start", "/world/tick", "/characters/{character_id}/actions"):
        headers = {p["name"].lower() for p in described["paths"][path]["post"]["parameters"] if p["in"] == "header"}
        assert headers == {"idempotency-key", "x-world-id"}, path


def test_an_operation_has_a_name_that_reads_and_a_tag_that_is_described(described: dict[str, Any]) -> None:
    every = [operation for methods in described["paths"].values() for operation in methods.values()]
    names = [operation["operationId"] for operation in every]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch("[a-z]+([A-Z][a-z]+)*", name)] == []
    assert {"startConversation", "tick", "act", "readMemory"} <= set(names)
    told = {tag["name"] for tag in described["tags"] if tag["description"]}
    assert {tag for operation in every for tag in operation["tags"]} == told
    assert [server["url"] for server in described["servers"]] == ["/"]


def test_every_property_says_what_it_means(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"].items()
    every = [(name, field, told) for name, schema in schemas for field, told in schema.get("properties", {}).items()]
    assert len(every) > 500
    assert [(name, field) for name, field, told in every if len(told.get("description", "")) < 8] == []


def test_every_body_has_an_example_that_is_valid(described: dict[str, Any]) -> None:
    bodies = {
        (method, path): content
        for method, path, operation in operations(described)
        for content in operation.get("requestBody", {}).get("content", {}).values()
    }
    assert len(bodies) >= 7
    assert [where for where, content in bodies.items() if not content.get("examples")] == []
    for content in bodies.values():
        schema = {**content["schema"], "components": described["components"]}
        for example in content["examples"].values():
            jsonschema.validate(example["value"], schema, cls=jsonschema.Draft202012Validator)


def test_what_has_a_default_need_not_be_sent(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"]
    sent = {name: schema for name, schema in schemas.items() if name.endswith("In")}
    assert {"StartIn", "TickIn", "CharacterIn"} <= set(sent)
    demanded = [
        (name, field)
        for name, schema in sent.items()
        for field in schema.get("required", ())
        if "default" in schema["properties"][field]
    ]
    assert demanded == []
