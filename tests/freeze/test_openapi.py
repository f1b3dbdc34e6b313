"""What openapi.json promised when it was put on record is still promised, and nothing more is demanded of a client."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.freeze.openapi import demands, description, promises
from tests.freeze.record import on_record

MEMORY = "/characters/{person_id}/memory"
AGAIN = "Only if that is meant to change: python -m tests.freeze.record openapi"


def test_no_path_parameter_status_or_field_is_lost() -> None:
    losses = promises(on_record("openapi")) - promises(description())
    assert not losses, AGAIN


def test_no_request_that_was_complete_is_refused() -> None:
    recorded = on_record("openapi")
    new = {line for line in demands(description()) - demands(recorded) if _operation(line) in promises(recorded)}
    assert not new, AGAIN


def _operation(line: str) -> str:
    return " ".join(line.split()[:2])


def _without_path(described: dict[str, Any]) -> None:
    del described["paths"][MEMORY]["get"]


def _without_parameter(described: dict[str, Any]) -> None:
    parameters = described["paths"][MEMORY]["get"]["parameters"]
    parameters[:] = [parameter for parameter in parameters if parameter["name"] != "query"]


def _without_status(described: dict[str, Any]) -> None:
    del described["paths"][MEMORY]["get"]["responses"]["404"]


def _without_field(described: dict[str, Any]) -> None:
    del described["components"]["schemas"]["FactOut"]["properties"]["id"]


def _without_type(described: dict[str, Any]) -> None:
    described["components"]["schemas"]["StartIn"]["properties"]["goal"]["anyOf"].pop()


def _without_word(described: dict[str, Any]) -> None:
    described["components"]["schemas"]["Phase"]["enum"].remove("closed")


@pytest.mark.parametrize(
    ("take_away", "lost"),
    [
        (_without_path, f"GET {MEMORY}"),
        (_without_parameter, f"GET {MEMORY} query query"),
        (_without_status, f"GET {MEMORY} answers 404"),
        (_without_field, f"GET {MEMORY} answers 200 .facts[].id"),
        (_without_type, "POST /conversations/start takes .goal: null"),
        (_without_word, "GET /conversations answers 200 .items[].phase: 'closed'"),
    ],
)
def test_a_loss_is_noticed(take_away: Callable[[dict[str, Any]], None], lost: str) -> None:
    recorded = on_record("openapi")
    now = copy.deepcopy(recorded)
    take_away(now)
    assert lost in promises(recorded) - promises(now)


def test_a_new_demand_is_noticed() -> None:
    recorded = on_record("openapi")
    now = copy.deepcopy(recorded)
    now["components"]["schemas"]["StartIn"]["required"].append("goal")
    assert demands(now) - demands(recorded) == {"POST /conversations/start takes .goal"}
