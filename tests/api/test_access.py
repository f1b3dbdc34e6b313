"""Every operation asks for a key with its scope, its world and its player: the operations are those of openapi.json, so
that a new one that says nothing of it fails.
"""

import asyncio
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from mcp.client.client import Client
from pydantic import SecretStr
from starlette.testclient import WebSocketDenialResponse

from service.api.key import Brake
from service.app import create_app
from service.errors import Misconfigured
from service.store.keys import SCOPES, Key, Scope, add_key, revoke_key
from tests.api.play import serve, settings_for
from tests.api.test_mcp import call

OWNER = "the-owner-chose-this-key"
NEEDS_NONE = {"GET /healthz"}
OF_NOBODY = {"GET /world", "GET /world/map", "GET /world/people", "GET /v1/models", "GET /v1/models/{model}"} | {
    "GET /readyz"
}
"""What a key for one player may ask that names no player: whatever is added here tells every player."""
PAGES = (
    "/",
    "/view/characters/sora",
    "/view/npcs/baker",
    "/view/surveys",
    "/view/scenes",
    "/view/quality",
    "/view/content",
)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, millbrook: Path) -> FastAPI:
    """A service with a key, in which everybody speaks by rule."""
    directory = tmp_path_factory.mktemp("access")
    return create_app(settings_for(directory, millbrook, llm={"provider": "rehearsal"}, api_key=SecretStr(OWNER)))


@pytest.fixture(scope="module")
def client(app: FastAPI) -> Iterator[TestClient]:
    """A client that shows nothing by itself."""
    with TestClient(app, raise_server_exceptions=False) as http:
        yield http


def given(app: FastAPI, name: str, scope: Scope = Scope.PLAY, **only: str) -> str:
    """The secret of a key that is given out now."""
    key = Key(name=name, scope=scope, **only)
    secret: str = app.state.keys.database.write_now(lambda s: add_key(s, key))
    return secret


def bearer(secret: str, world: str = "main") -> dict[str, str]:
    """The headers that show it."""
    return {"Authorization": f"Bearer {secret}", "X-World-Id": world}


@pytest.fixture(scope="module")
def operations(client: TestClient) -> dict[str, str]:
    """Every operation of openapi.json with the scope that it tells; "": it needs no key."""
    paths = client.get("/openapi.json", headers=bearer(OWNER)).json()["paths"]
    told = {f"{method.upper()} {path}": one for path, methods in paths.items() for method, one in methods.items()}
    return {name: one["security"][0]["HTTPBearer"][0] if one["security"] else "" for name, one in told.items()}


def answer(client: TestClient, operation: str, headers: dict[str, str], **params: str) -> tuple[int, str]:
    """Status and code of the problem; whoever is not refused asks for somebody who is not there, or of nothing."""
    method, _, path = operation.partition(" ")
    address = re.sub(r"\{(\w+)\}", lambda found: params.get(found[1], "0" if found[1] == "turn" else "nobody"), path)
    told = client.request(method, address, headers=headers, params={"person_id": params.get("person_id", "nobody")})
    error = told.json() if told.status_code >= 400 else {}
    return told.status_code, error.get("error", {}).get("code", "") or error.get("type", "").rpartition(":")[2]


def refused(told: tuple[int, str]) -> bool:
    """Whether the key was not enough."""
    return told in {(403, "key-refused"), (403, "key_refused")}


def test_every_operation_asks_for_a_key(client: TestClient, operations: dict[str, str]) -> None:
    assert len(operations) > 80
    assert {name for name, scope in operations.items() if not scope} == NEEDS_NONE
    for operation in operations.keys() - NEEDS_NONE:
        assert answer(client, operation, {})[0] == 401, operation


def test_every_operation_asks_for_its_scope(app: FastAPI, client: TestClient, operations: dict[str, str]) -> None:
    secrets = {scope: given(app, f"scope-{scope}", scope) for scope in SCOPES}
    assert set(operations.values()) == {"", *SCOPES}
    for operation in operations.keys() - NEEDS_NONE:
        needed = SCOPES.index(Scope(operations[operation]))
        for place, scope in enumerate(SCOPES):
            told = answer(client, operation, bearer(secrets[scope], "scopes"))
            assert refused(told) == (place < needed), (operation, scope, told)
            assert told[0] != 401


def test_a_key_for_one_world_opens_no_other(app: FastAPI, client: TestClient, operations: dict[str, str]) -> None:
    secret = given(app, "of-a-world", Scope.ADMIN, world_id="mine")
    several = {"GET /worlds", "GET /world/compare", "POST /world/branch", "GET /usage/budget", "GET /work"}
    several |= {"POST /work/{kind}/{job_key}", "POST /content/import"}
    several |= {"GET /content/{kind}/{part_id}", "PUT /content/{kind}/{part_id}"}
    for operation in operations.keys() - NEEDS_NONE - {"GET /readyz"}:
        for headers in (bearer(secret, "other"), {"Authorization": f"Bearer {secret}"}):
            assert refused(answer(client, operation, headers)), operation
        assert refused(answer(client, operation, bearer(secret, "mine"))) == (operation in several), operation
    for query in ("world_id=other", "world_id=mine&world_id=other", "world_id=other&world_id=mine"):
        assert client.get(f"/world?{query}", headers=bearer(secret, "mine")).status_code == 403, query


def test_a_key_for_one_player_opens_nothing_of_another(
    app: FastAPI, client: TestClient, operations: dict[str, str]
) -> None:
    secret, owner = given(app, "of-ken", Scope.ADMIN, player_id="ken"), bearer(OWNER, "players")
    mine, talks = bearer(secret, "players"), {}
    for player, partner in (("ken", "baker"), ("mika", "hermit")):
        client.put(f"/people/{player}", json={"kind": "player", "name": player}, headers=owner).raise_for_status()
        body = {"mode": "player", "player_id": player, "partner_id": partner}
        begun = client.post("/conversations/start", json=body, headers=owner)
        talks[player] = begun.json()["id"]
        if player != "ken":
            assert client.post("/conversations/start", json=body, headers=mine).status_code == 403
    others = {"person_id": "mika", "character_id": "mika", "conversation_id": talks["mika"]}
    join = "POST /conversations/{conversation_id}/join"
    looked_into = {"POST /conversations/start", "POST /v1/chat/completions", join}
    for operation in operations.keys() - NEEDS_NONE - looked_into:
        told = answer(client, operation, mine, **others)
        assert refused(told) == (operation not in OF_NOBODY), (operation, told)
    seat = client.post(f"/conversations/{talks['mika']}/join", json={"person_id": "mika"}, headers=mine)
    assert seat.status_code == 403, seat.text
    hello: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello."}]}
    for model, status in (("npc:baker@mika", 403), ("npc:baker", 403), ("npc:baker@ken", 200)):
        told_chat = client.post("/v1/chat/completions", json={"model": model, **hello}, headers=mine)
        assert told_chat.status_code == status, told_chat.text
    own = {"person_id": "ken", "conversation_id": talks["ken"]}
    ended = [one for one in operations if "{conversation_id}" in one and one.endswith(("/say", "/end", "}"))]
    for operation in ("GET /people/{person_id}", "GET /people/{person_id}/commitments", "GET /conversations", *ended):
        assert not refused(answer(client, operation, mine, **own)), operation
    assert client.get("/conversations", headers=mine).status_code == 403, "all of them"
    said = {"text": "I am the hermit.", "person_id": "hermit"}
    assert client.post(f"/conversations/{talks['ken']}/say", json=said, headers=mine).status_code == 403


def test_who_may_only_play_makes_players_alone(app: FastAPI, client: TestClient) -> None:
    headers = bearer(given(app, "plays"), "made")
    assert client.put("/people/ken", json={"kind": "player", "name": "Ken"}, headers=headers).status_code == 201
    made = client.put(
        "/people/genzo",
        json={"kind": "npc", "name": "Genzo", "personality": "Trusts nobody.", "node_id": "yard"},
        headers=headers,
    )
    assert made.status_code == 403


def test_pages_and_streams_ask_as_operations_do(app: FastAPI, client: TestClient) -> None:
    plays, writes = given(app, "plays-on"), given(app, "writes", Scope.AUTHOR)
    for page in PAGES:
        assert client.get(page, headers=bearer(plays)).status_code == 403, page
        assert client.get(page, headers=bearer(writes)).status_code == 200, page
    for free in ("/view/static/world.js", "/docs", "/openapi.json"):
        assert (client.get(free).status_code, client.get(free, headers=bearer(plays)).status_code) == (401, 200)
    client.put("/people/ann", json={"kind": "player", "name": "Ann"}, headers=bearer(OWNER)).raise_for_status()
    of_ann, of_ben = (given(app, f"of-{one}", player_id=one) for one in ("ann", "ben"))
    with client.websocket_connect("/people/ann/ws", headers=bearer(of_ann)) as socket:
        socket.close()
    with (
        pytest.raises(WebSocketDenialResponse) as denied,
        client.websocket_connect("/people/ann/ws", headers=bearer(of_ben)),
    ):
        pass
    assert denied.value.status_code == 403
    assert client.get("/people/ann/stream", headers=bearer(of_ben)).status_code == 403


def test_a_tool_may_what_the_key_may_that_it_is_asked_with(app: FastAPI, tmp_path: Path, millbrook: Path) -> None:
    settings = settings_for(tmp_path, millbrook, llm={"provider": "rehearsal"}, api_key=SecretStr(OWNER))
    served = create_app(settings)

    async def ask(url: str, secret: str, world: str) -> Any:
        from httpx2 import AsyncClient  # the SDK's own
        from mcp.client.streamable_http import streamable_http_client

        async with (
            AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=30) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            return await call(client, "world_state", world=world)

    with serve(served) as url:
        secret = given(served, "of-one-world", Scope.AUTHOR, world_id="mine")
        assert asyncio.run(ask(url, secret, "mine"))["world"]["id"] == "mine"
        assert "it is for the world mine alone" in asyncio.run(ask(url, secret, "main"))
        assert asyncio.run(ask(url, OWNER, "main"))["world"]["id"] == "main"


def test_a_revoked_key_opens_nothing_from_the_next_request_on(app: FastAPI, client: TestClient) -> None:
    secret = given(app, "for-a-while", Scope.AUTHOR)
    entered = client.post("/login", data={"key": secret, "next": "/"}, follow_redirects=False)
    cookie = {"Cookie": entered.headers["set-cookie"].partition(";")[0]}
    assert secret not in cookie["Cookie"]
    for headers in (bearer(secret), cookie):
        assert client.get("/view/surveys", headers=headers).status_code == 200
    app.state.keys.database.write_now(lambda s: revoke_key(s, "for-a-while"))
    for headers in (bearer(secret), cookie):
        assert client.get("/view/surveys", headers=headers).status_code == 401


def test_a_cookie_cannot_be_made_of_what_the_database_holds(app: FastAPI, client: TestClient) -> None:
    given(app, "read-by-a-thief", Scope.ADMIN)
    with app.state.keys.database.engine.connect() as connection:
        stored = [row[0] for row in connection.exec_driver_sql("SELECT digest FROM api_keys")]
    for forged in stored[-1:]:
        for seal in ("", forged):
            assert client.get("/readyz", headers={"Cookie": f"kataribe_key={forged}.{seal}"}).status_code == 401
        assert client.get("/readyz", headers=bearer(forged)).status_code == 401


def test_wrong_tries_have_to_wait_longer_each_time(app: FastAPI, client: TestClient) -> None:
    now = [0.0]
    secret = given(app, "cannot-be-guessed")
    app.state.keys.brake = Brake(lambda: now[0])
    try:
        waits = list[int]()
        for number in range(60):
            told = client.get("/world", headers=bearer(f"wrong-{number}"))
            if told.status_code == 429:
                waits.append(int(told.headers["Retry-After"]))
                assert client.get("/world", headers=bearer(OWNER)).status_code == 429, "a right one is not told"
                page = client.post("/login", data={"key": OWNER}, follow_redirects=True)
                assert f"in {waits[-1]} s" in page.text
                assert client.get("/world", headers=bearer(secret)).status_code == 200, "it is no guess"
                now[0] += waits[-1]
        assert waits[:9] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
        assert set(waits[9:]) == {300}
        assert client.get("/world", headers=bearer(OWNER)).status_code == 200
    finally:
        app.state.keys.brake = Brake()


def test_the_brake_remembers_so_many_addresses_and_no_more() -> None:
    brake = Brake(lambda: 0.0)
    for number in range(3 * Brake.MOST_ADDRESSES):
        brake.count(f"10.0.{number // 250}.{number % 250}")
    assert len(brake._tries) == Brake.MOST_ADDRESSES


def test_no_key_is_ever_in_a_log(app: FastAPI, client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    secret, wrong = given(app, "not-logged", Scope.AUTHOR), "wrong-key-of-the-log"
    with caplog.at_level(logging.DEBUG), caplog.at_level(logging.DEBUG, "httpx"):  # whatever a test before has set
        for shown in (OWNER, secret, wrong):
            for path in ("/world", "/nowhere", "/view/surveys"):
                client.get(path, headers=bearer(shown))
            client.post("/world/tick", json={"ticks": "none"}, headers=bearer(shown))
            client.post("/login", data={"key": shown, "next": "/"}, follow_redirects=False)
    assert caplog.records
    for shown in (OWNER, secret, wrong):
        assert shown not in caplog.text


def test_keys_that_are_given_out_do_not_count_without_one_in_the_settings(tmp_path: Path, millbrook: Path) -> None:
    settings = settings_for(tmp_path, millbrook, api_key=SecretStr(OWNER))
    with TestClient(create_app(settings)) as http:
        given(http.app, "left", Scope.PLAY)  # type: ignore[arg-type]  # it is the app
    with pytest.raises(Misconfigured, match="KATARIBE_API_KEY"), TestClient(create_app(settings.changed(api_key=None))):
        pass
