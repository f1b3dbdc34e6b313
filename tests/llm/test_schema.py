"""Owns the tests of the JSON Schema that servers get."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from service.conversation.acting import CharacterTurn, NpcTurn, OpeningTurn
from service.llm.schema import schema_name, schema_text
from service.memory.closing.context import ClosingAnswer
from service.memory.closing.verify import Verdicts
from tests.servers.fake_openai import example

ANSWERS: list[type[BaseModel]] = [CharacterTurn, NpcTurn, OpeningTurn, ClosingAnswer, Verdicts]


class Leaf(BaseModel):
    title: Annotated[str, Field(max_length=5, description="A name")]
    default: int = 3


class Tree(BaseModel):
    trees: list["Tree"]


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else []:
        yield from nodes(inner)


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("bounded", [True, False])
def test_every_answer_has_a_strict_schema_without_references(answer: type[BaseModel], bounded: bool) -> None:
    schema = json.loads(schema_text(answer, bounded=bounded))
    Draft202012Validator.check_schema(schema)
    assert "$ref" not in str(schema)
    assert "$defs" not in schema
    for node in nodes(schema):
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])


@pytest.mark.parametrize("answer", ANSWERS)
def test_every_string_number_and_list_of_our_answers_has_a_bound(answer: type[BaseModel]) -> None:
    bound = {"string": "maxLength", "array": "maxItems", "integer": "maximum", "number": "maximum"}
    for node in nodes(json.loads(schema_text(answer))):
        if isinstance(kind := node.get("type"), str) and kind in bound and "enum" not in node:
            assert bound[kind] in node, node


@pytest.mark.parametrize("answer", ANSWERS)
def test_what_fits_the_schema_fits_the_response_model(answer: type[BaseModel]) -> None:
    schema = json.loads(schema_text(answer))
    value = example(schema)
    Draft202012Validator(schema).validate(value)
    answer.model_validate(value)


def test_without_bounds_they_are_said_in_the_description() -> None:
    text = schema_text(ClosingAnswer, bounded=False)
    assert "maxLength" not in text
    assert "maximum" not in text
    told = json.loads(text)["properties"]["memories"]["items"]["properties"]["text"]
    assert told == {"type": "string", "description": "at most 300 characters"}


def test_fields_that_are_called_like_keywords_stay_and_defaults_become_required() -> None:
    schema = json.loads(schema_text(Leaf, bounded=False))
    assert schema["required"] == ["title", "default"]
    assert schema["properties"]["title"]["description"] == "A name (at most 5 characters)"


def test_a_model_that_refers_to_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="Tree refers to itself"):
        schema_text(Tree)


def test_the_name_has_only_letters_that_openai_allows() -> None:
    assert schema_name(type("Turn[日本]", (BaseModel,), {})) == "Turn_"
