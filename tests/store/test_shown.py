"""Owns the tests of how values are shown over HTTP."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from service.store.phase import Phase
from service.store.shown import Out, WorldMinute
from world.time import WorldTime


@dataclass(frozen=True, kw_only=True)
class Boat:
    """A value."""

    name: str
    """what it is called,
    as its owner says"""
    built: WorldTime
    """when it was built"""
    sunk: WorldMinute | None = None
    """when it sank; null: it swims"""
    phase: Annotated[str, Phase] = Phase.RUNNING
    """where it stands"""
    secret: str = ""


class BoatOut(Out, of=Boat, shows="name built sunk phase"):
    """A boat."""

    place: str


def test_a_schema_has_types_and_sentences_of_the_fields_that_it_shows() -> None:
    shown: dict[str, Any] = BoatOut.model_json_schema()["properties"]
    assert list(shown) == ["name", "built", "sunk", "phase", "place"]
    assert shown["name"]["description"] == "what it is called, as its owner says"
    assert shown["built"]["type"] == "string"
    assert shown["phase"]["$ref"].endswith("Phase")


def test_a_value_is_shown_by_its_attributes_and_times_are_text() -> None:
    boat = Boat(name="Chidori", built=WorldTime(60), secret="stolen")
    told = BoatOut.of(boat, place="quay", sunk=1440).model_dump()
    assert told == {
        "name": "Chidori",
        "built": "0001-01-01T01:00",
        "sunk": "0001-01-02T00:00",
        "phase": Phase.RUNNING,
        "place": "quay",
    }


def test_what_has_no_sentence_cannot_be_shown() -> None:
    with pytest.raises(KeyError, match="secret"):
        type("Told", (Out,), {}, of=Boat, shows="secret")
