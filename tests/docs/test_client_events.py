"""docs/client-events.md tells of every kind of client event what the service tells."""

import pytest
from pydantic import TypeAdapter

from service.api.telling import AnyClientEvent, ClientEvent
from service.app import create_app
from service.settings import Settings
from service.store.client_event_kinds import CLIENT_PAYLOADS
from service.store.event_kinds import Payload
from tests.docs.client_events import FILE, example, page


def test_the_page_is_made_from_the_classes_of_today() -> None:
    assert FILE.read_text("utf-8") == page(), "python -m tests.docs.client_events"


@pytest.mark.parametrize("payload", CLIENT_PAYLOADS, ids=lambda payload: payload.kind)
def test_every_example_is_an_event_as_it_travels(payload: type[Payload]) -> None:
    shown = example(payload)
    event: ClientEvent = TypeAdapter(AnyClientEvent).validate_python(shown)
    assert isinstance(event.data, payload)
    assert event.model_dump(mode="json") == shown


def test_openapi_tells_the_payload_of_each_kind(settings: Settings) -> None:
    described = create_app(settings).openapi()
    schemas = described["components"]["schemas"]
    mapping = schemas["Updates"]["properties"]["items"]["items"]["discriminator"]["mapping"]
    told = {kind: schemas[ref.rsplit("/", 1)[-1]]["properties"]["data"]["$ref"] for kind, ref in mapping.items()}
    assert told == {payload.kind: f"#/components/schemas/{payload.__name__}" for payload in CLIENT_PAYLOADS}
    for path in ("/conversations/{conversation_id}", "/people/{person_id}"):
        assert {f"{path}/stream", f"{path}/updates"} <= described["paths"].keys()
