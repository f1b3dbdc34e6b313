"""docs/client-events.md tells of every kind of client event what the service tells."""

import re

import pytest
from pydantic import TypeAdapter

from service.api.telling import AnyClientEvent, ClientEvent
from service.conversation.utterance import cut
from service.store.client_event_kinds import CLIENT_PAYLOADS, UtteranceCompleted, UtteranceDelta, UtteranceSentence
from service.store.event_kinds import Payload
from tests.docs.client_events import FILE, IN_JAPANESE, SENTENCES, example, page, page_in_japanese
from tests.docs.events import example_data
from tests.freeze.openapi import description


def test_the_page_is_made_from_the_classes_of_today() -> None:
    assert FILE.read_text("utf-8") == page(), "python -m tests.docs.client_events"


def test_the_japanese_page_tells_of_every_kind_too_and_of_nothing_else() -> None:
    assert IN_JAPANESE.read_text("utf-8") == page_in_japanese(), "python -m tests.docs.client_events"
    assert [sentence for sentence in SENTENCES if sentence.replace("|", "\\|") not in page()] == []
    assert _named(page_in_japanese()) == _named(page())


def _named(text: str) -> set[str]:
    """Kinds, fields, values and calls: what no language translates."""
    return set(re.findall("`[^`]+`", re.sub("```.*?```", "", text, flags=re.DOTALL)))


def test_the_sentence_of_the_page_is_cut_from_the_utterance_of_the_page() -> None:
    said, told = example_data(UtteranceCompleted), example_data(UtteranceSentence)
    (sentence,) = cut(said["text"], is_whole=True)
    assert (sentence.index, sentence.text, sentence.gesture) == (told["index"], told["text"], told["gesture"])
    assert (sentence.start, sentence.end, sentence.is_final) == (told["char_start"], told["char_end"], told["final"])
    assert said["text"].startswith(example_data(UtteranceDelta)["text"])


@pytest.mark.parametrize("payload", CLIENT_PAYLOADS, ids=lambda payload: payload.kind)
def test_every_example_is_an_event_as_it_travels(payload: type[Payload]) -> None:
    shown = example(payload)
    event: ClientEvent = TypeAdapter(AnyClientEvent).validate_python(shown)
    assert isinstance(event.data, payload)
    assert event.model_dump(mode="json") == shown


def test_openapi_tells_the_payload_of_each_kind() -> None:
    described = description()
    schemas = described["components"]["schemas"]
    mapping = schemas["Updates"]["properties"]["items"]["items"]["discriminator"]["mapping"]
    told = {kind: schemas[ref.rsplit("/", 1)[-1]]["properties"]["data"]["$ref"] for kind, ref in mapping.items()}
    assert told == {payload.kind: f"#/components/schemas/{payload.__name__}" for payload in CLIENT_PAYLOADS}
    for path in ("/conversations/{conversation_id}", "/people/{person_id}"):
        assert {f"{path}/stream", f"{path}/updates"} <= described["paths"].keys()
