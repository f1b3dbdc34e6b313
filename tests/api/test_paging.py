"""Owns the tests of paging: every list has `after`, `limit` and `next`, and pages give what the whole list has."""

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from tests.api.play import problem, recollection, say, script_short, script_sister, talk, turn
from tests.freeze.openapi import description
from tests.scripted_model import ScriptedModel

LISTS = (
    ("/worlds", "items"),
    ("/scenes", "items"),
    ("/conversations", "items"),
    ("/conversations?person_id=baker", "items"),
    ("/world/events", "items"),
    ("/world/events?order=desc", "items"),
    ("/world/people", "people"),
    ("/people/sora/memory", "facts"),
    ("/people/sora/memory?about=baker&query=Lotte&history=true", "facts"),
    ("/characters/sora/memory?npc_id=baker", "facts"),
    ("/characters/sora/memory/graph", "facts"),
    ("/characters/sora/memory/graph", "episodes"),
)
BARE = ("/characters", "/npcs", "/usage")
LIST_OPERATIONS = {path.split("?")[0].replace("/sora", "/{}") for path, _ in LISTS} | set(BARE)


@pytest.fixture
def lived(client: TestClient, script: ScriptedModel) -> TestClient:
    """A village with some talks and memories, beside two other worlds."""
    for world in ("other", "third"):
        client.patch("/world", json={"weather": "Rain"}, headers={"X-World-Id": world})
    script_sister(script)
    talk(client)
    scene = {"sceneId": "S001", "location": "yard", "situation": "They sit.", "participants": ["baker", "sora"]}
    for _ in range(3):
        client.post("/scenes", json={"scene": scene}).raise_for_status()
    for who in ("umi", "sora"):
        script_short(script)
        client.post("/world/tick", json={"ticks": 20})
        talk(client, character_id=who)
    return client


def asked(client: TestClient, path: str, **more: Any) -> Any:
    """The answer to a path that may have a query of its own."""
    bare, _, query = path.partition("?")
    answer = client.get(bare, params={**{name: value[-1] for name, value in parse_qs(query).items()}, **more})
    assert answer.status_code == 200, answer.text
    return answer


def named(item: dict[str, Any]) -> tuple[Any, ...]:
    """What tells an item of a list from the others; a score is relative to what it is shown beside."""
    return tuple(item.get(key) for key in ("id", "day", "role"))


def test_pages_have_what_the_whole_list_has(lived: TestClient) -> None:
    for path, items in LISTS:
        whole = asked(lived, path, limit=100).json()
        assert len(whole[items]) > 1, path
        assert whole["next"] is None
        found: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        while True:
            page = asked(lived, path, limit=1, **cursor).json()
            found += page[items]
            assert len(page[items]) <= 1, path
            assert len(found) <= len(whole[items]), path
            if page["next"] is None:
                break
            cursor = {"after": page["next"]}
        assert list(map(named, found)) == list(map(named, whole[items])), path


def test_a_bare_list_tells_its_next_page_in_a_header(lived: TestClient) -> None:
    for path in BARE:
        whole = asked(lived, path).json()
        assert len(whole) > 1, path
        found: list[dict[str, Any]] = []
        following: str | None = f"{path}?limit=1"
        while following is not None:
            page = asked(lived, following)
            found += page.json()
            assert len(page.json()) == 1, path
            assert len(found) <= len(whole), path
            link = page.headers.get("link")
            following = link and re.fullmatch(r'<(.*)>; rel="next"', link)[1]  # type: ignore[index]
        assert found == whole
        assert "link" not in asked(lived, path).headers


@pytest.mark.parametrize(("language", "sentence"), [("en", "to go on from"), ("ja", "続きの起点になる")])
def test_a_cursor_of_no_page_is_a_problem(client: TestClient, language: str, sentence: str) -> None:
    for path in ("/conversations", "/world/people", "/people/sora/memory", "/characters/sora/memory", *BARE):
        answer = client.get(path, params={"after": "0" * 28}, headers={"Accept-Language": language})
        assert sentence in problem(answer, 422, "invalid")["detail"], path
    for path in ("/world/events", "/characters/sora/memory/graph"):
        told = problem(client.get(path, params={"after": "x"}), 422, "invalid")
        assert [error["field"] for error in told["errors"]] == ["query.after"]


def test_every_list_is_described_with_the_same_three_words() -> None:
    described = description()
    for path, methods in described["paths"].items():
        if re.sub(r"\{\w+\}", "{}", path) not in LIST_OPERATIONS:
            continue
        operation = methods["get"]
        parameters = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "query"}
        assert {"after", "limit"} <= parameters, path
        answer = operation["responses"]["200"]
        schema = answer["content"]["application/json"]["schema"]
        if "$ref" in schema:
            assert "next" in described["components"]["schemas"][schema["$ref"].split("/")[-1]]["properties"], path
        else:
            assert "Link" in answer["headers"], path


def test_later_events_than_one_are_asked_for_newest_first(lived: TestClient) -> None:
    newest = asked(lived, "/world/events", order="desc", limit=3).json()["items"]
    assert asked(lived, "/world/events", order="desc", after=newest[2]["id"]).json()["items"] == newest[:2]


def test_conversations_of_a_person_are_found_in_either_seat(lived: TestClient, script: ScriptedModel) -> None:
    say(script, "character", turn("Good day to you", ends=True), turn("Bye.", ends=True))
    say(script, "closing", recollection("They met."))
    began = talk(lived, character_id="umi", npc_id=None, partner_id="sora")
    for who, others in (("sora", {"baker", "umi"}), ("umi", {"baker", "sora"}), ("rin", set())):
        found = asked(lived, "/conversations", person_id=who).json()["items"]
        assert {one["character_id"] for one in found} | {one["partner_id"] for one in found} == others | (
            {who} if others else set()
        )
        assert (began["id"] in {one["id"] for one in found}) == bool(others)


def test_a_link_keeps_what_else_was_asked(client: TestClient) -> None:
    link = asked(client, "/characters", limit=1, world_id="main").headers["link"]
    query = parse_qs(urlsplit(link[1 : link.index(">")]).query)
    assert query == {"limit": ["1"], "world_id": ["main"], "after": ["rin"]}
