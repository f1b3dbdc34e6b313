"""docs/events.md tells of every kind of event what the service tells."""

import pytest
from pydantic import TypeAdapter

from service.api.schemas import AnyEventOut, EventOut
from service.store.event_kinds import PAYLOADS, Payload, payload_of
from tests.docs.events import FILE, example, page
from tests.freeze.openapi import description


def test_the_page_is_made_from_the_classes_of_today() -> None:
    assert FILE.read_text("utf-8") == page(), "python -m tests.docs.events"


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.kind)
def test_every_example_is_an_event_as_the_api_answers_it(payload: type[Payload]) -> None:
    shown = example(payload)
    event: EventOut = TypeAdapter(AnyEventOut).validate_python(shown)
    assert isinstance(event.data, payload)
    assert event.model_dump(mode="json") == shown
    assert payload_of(payload.kind, event.data.stored()) == event.data


def test_openapi_tells_the_payload_of_each_kind() -> None:
    schemas = description()["components"]["schemas"]
    discriminator = schemas["EventPage"]["properties"]["items"]["items"]["discriminator"]
    assert discriminator["propertyName"] == "kind"
    told = {
        kind: schemas[ref.rsplit("/", 1)[-1]]["properties"]["data"]["$ref"]
        for kind, ref in discriminator["mapping"].items()
    }
    assert told == {payload.kind: f"#/components/schemas/{payload.__name__}" for payload in PAYLOADS}
    assert schemas["Slept"]["properties"]["cleared"]["description"]


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.kind)
def test_every_field_says_what_it_means(payload: type[Payload]) -> None:
    schema = payload.model_json_schema(mode="serialization")
    inside = [field for one in schema.get("$defs", {}).values() for field in one.get("properties", {}).items()]
    fields = [*schema.get("properties", {}).items(), *inside]
    assert [name for name, field in fields if not field.get("description")] == []
