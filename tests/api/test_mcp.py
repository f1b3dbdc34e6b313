"""Owns the tests of the tools for authors' assistants, with the official client."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import httpx
from fastapi.testclient import TestClient
from mcp import Client, StdioServerParameters
from pydantic import SecretStr

from service.api.mcp import mcp_server
from service.app import checker, create_app
from tests.api.conftest import Connect
from tests.api.play import problem, settings_for
from tests.conversation.talks import FAMILY, FAREWELL, HELLO, THANKS, replies
from tests.memory.answers import closing
from tests.scripted_model import ScriptedModel

TOOLS = [
    "advance",
    "amend_memory",
    "check_content",
    "let_talk",
    "people",
    "recall",
    "remember",
    "say",
    "why",
    "world_state",
]


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """What the tool answers; of an error its sentence."""
    answer = await client.call_tool(tool, arguments)
    text = "".join(part.text for part in answer.content if part.type == "text")
    return text if answer.is_error else json.loads(text)


def test_an_assistant_plays_and_changes_a_memory_over_http(url: str, script: ScriptedModel) -> None:
    script.enqueue(replies(FAMILY), closing("A visitor asked the baker of the family."))

    async def play() -> None:
        async with Client(f"{url}/mcp") as client:
            assert sorted(tool.name for tool in (await client.list_tools()).tools) == TOOLS
            assert (await call(client, "world_state"))["world"]["id"] == "main"
            assert (await call(client, "people", person_id="baker"))["kind"] == "npc"
            said = await call(client, "say", partner_id="baker", text=HELLO, end=True)
            assert (said["answer"], said["phase"]) == (FAMILY, "closing")
            reasons = await call(client, "why", conversation_id=said["conversation_id"], turn=1)
            assert reasons["words"]
            again = {"partner_id": "baker", "text": HELLO, "conversation_id": said["conversation_id"]}
            assert "this needs running" in await call(client, "say", **again)
            given = await call(client, "remember", person_id="baker", statements=["The bell hangs at the mill."])
            assert given["statements"] == 1
            hits = (await call(client, "recall", person_id="baker", query="bell at the mill"))["hits"]
            amended = await call(
                client, "amend_memory", person_id="baker", memory_id=hits[0]["id"], change="edit", text="The bell fell."
            )
            assert amended["text"] == "The bell fell."
            for change in ("close", "delete"):
                await call(client, "amend_memory", person_id="baker", memory_id=hits[0]["id"], change=change)
            assert not (await call(client, "recall", person_id="baker", query="bell at the mill"))["found"]
            assert (await call(client, "advance", minutes=5))["events"] is not None
            assert await call(client, "check_content") == {"errors": [], "count": 0}
            assert "nobody" in await call(client, "recall", person_id="nobody", query="bell")

    asyncio.run(play())


def test_what_an_assistant_writes_wrong_it_is_told_in_a_sentence(url: str) -> None:
    async def play() -> None:
        async with Client(f"{url}/mcp") as client:
            assert await call(client, "people", person="baker") == "people takes no person; it takes world, person_id"
            assert await call(client, "check_content", path="x") == "check_content takes no path; it takes nothing"
            for half in ({"goal": "Buy bread"}, {"success_criteria": "Has bread"}):
                told = await call(client, "let_talk", character_id="umi", partner_id="baker", **half)
                assert "goal and success_criteria go together" in told
            assert (await call(client, "check_content", world="main"))["count"] == 0, "each tool takes a world"
            assert await call(client, "advance", minutes=-3) == "advance: minutes: expected a number of 1 or more"
            wrong = await call(client, "amend_memory", person_id="baker", memory_id="m", change="burn")
            assert wrong == "amend_memory: change: expected 'edit', 'close' or 'delete'"
            for neither in ({}, {"conversation_id": "talk", "event_id": 1}):
                assert "give a conversation_id (and its turn), or else an event_id" in await call(
                    client, "why", **neither
                )
            assert "no person" in await call(client, "recall", person_id="nobody", query="bell")

    asyncio.run(play())


def test_who_speaks_on_without_the_conversations_id_is_in_the_same_talk(url: str, script: ScriptedModel) -> None:
    script.enqueue(replies(FAMILY), replies(FAREWELL), closing("A visitor asked the baker of the family."))

    async def play() -> None:
        async with Client(f"{url}/mcp") as client:
            first = await call(client, "say", partner_id="baker", text=HELLO)
            again = await call(client, "say", partner_id="baker", text=THANKS)
            assert (again["conversation_id"], again["answer"]) == (first["conversation_id"], FAREWELL)
            other = await call(client, "say", partner_id="baker", text=HELLO, player_id="ken", player_name="Ken")
            assert f"({first['conversation_id']})" in other
            ended = await call(client, "say", partner_id="baker", text="", end=True)
            assert ended["conversation_id"] == first["conversation_id"]

    asyncio.run(play())


def test_an_id_is_a_part_of_a_path_whatever_it_is(url: str, connect: Connect) -> None:
    connect().put("/people/ken", json={"kind": "player", "name": "Ken"})

    async def play() -> None:
        async with Client(f"{url}/mcp") as client:
            await call(client, "amend_memory", person_id="ken?reason=", memory_id="fact.1", change="delete")

    asyncio.run(play())
    assert connect().get("/people/ken").status_code == 200


def test_there_is_no_stream_to_wait_for(connect: Connect) -> None:
    for method in ("GET", "DELETE"):
        answer = connect().request(method, "/mcp", headers={"Accept": "text/event-stream"}, timeout=5)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_who_has_no_key_has_no_tools(tmp_path: Path, millbrook: Path) -> None:
    settings = settings_for(tmp_path, millbrook).changed(api_key=SecretStr("sesame-sesame-sesame"))
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with TestClient(create_app(settings)) as client:
        problem(client.post("/mcp", json=asked), 401, "key-missing")
        told = {"Authorization": "Bearer sesame-sesame-sesame", "Accept": "application/json, text/event-stream"}
        assert client.post("/mcp", json=asked, headers=told).status_code == 200


def test_an_assistant_plays_over_standard_input_and_output(url: str) -> None:
    async def play() -> Any:
        command = StdioServerParameters(
            command=str(Path(sys.executable).with_name("kataribe")), args=["mcp", "--url", url], env=dict(os.environ)
        )
        async with Client(command) as client:
            return await call(client, "world_state")

    assert asyncio.run(play())["world"]["id"] == "main"


def test_of_a_service_that_does_not_run_an_assistant_is_told_how_to_start_it(tmp_path: Path, millbrook: Path) -> None:
    async def play() -> Any:
        check = checker(settings_for(tmp_path, millbrook))
        async with httpx.AsyncClient(base_url="http://127.0.0.1:9") as http, Client(mcp_server(http, check)) as client:
            return await call(client, "world_state")

    assert "kataribe serve" in asyncio.run(play())
