"""How good what is said was found to be is told over HTTP, and the cost of that stands apart."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import LlmSettings, QualitySettings, Settings
from tests.web.test_pages import talk

DIMENSIONS = ["persona", "consistency", "fluency", "suitability", "similarity"]


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    """A rehearsal in which all that is said is checked."""
    rehearsal = {"llm": LlmSettings(provider="rehearsal"), "quality": QualitySettings(share=1, decision=0)}
    with TestClient(create_app(settings.model_copy(update=rehearsal))) as client:
        yield client


def read(client: TestClient, **query: Any) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/world/quality", params=query).raise_for_status().json()
    return found


def test_what_was_checked_is_told_with_the_worst_lines(client: TestClient) -> None:
    assert (read(client)["checked"], read(client)["worst"]) == (0, [])
    conversation_id = talk(client)
    turns = client.get(f"/conversations/{conversation_id}").json()["turns"]
    found = read(client)
    assert found["checked"] == sum(found["outcomes"].values()) == len(turns)
    assert [one["dimension"] for one in found["means"]] == DIMENSIONS
    assert found["rules"]["shares"] == [
        {"role": "character", "share": 1},
        {"role": "npc", "share": 1},
        {"role": "decision", "share": 0},
    ]
    worst = found["worst"]
    assert {(one["turn"], one["line"], one["name"]) for one in worst} == {
        (turn["turn"], turn["text"], turn["speaker_name"]) for turn in turns
    }
    assert [one["lowest"] for one in worst] == sorted(one["lowest"] for one in worst)
    assert worst[-1]["marks"][0] == {"dimension": "persona", "score": 9, "reason": "Rehearsal: nobody has judged this."}
    assert found["rehearsal"]


def test_it_is_told_of_one_role_or_person_and_for_so_many_lines(client: TestClient) -> None:
    talk(client)
    npc = read(client, role="npc")
    assert {one["person_id"] for one in npc["worst"]} == {"npc_taro"}
    assert read(client, person_id="npc_taro")["checked"] == npc["checked"] < read(client)["checked"]
    assert len(read(client, worst=1)["worst"]) == 1


def test_the_calls_are_counted_apart(client: TestClient) -> None:
    talk(client)
    found = read(client)
    usage = {row["role"]: row["calls"] for row in client.get("/usage").json()}
    assert usage["quality"] == found["cost"]["calls"] == found["checked"]
    assert usage["character"] + usage["npc"] == found["checked"]
