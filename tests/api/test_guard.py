"""Owns the tests of what is refused before the app has it: foreign hosts, writes of other sites, endless bodies."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketDenialResponse
from websockets.sync.client import connect
from websockets.typing import Origin

from service.app import create_app
from service.settings import Settings
from tests.api.play import PROBLEM, problem, serve, settings_for
from tests.servers import NO_AUTHORITIES

FRIEND = "http://localhost:3000"
WRITES = (
    ("POST", "/world/tick"),
    ("PUT", "/world/clock"),
    ("PATCH", "/world"),
    ("DELETE", "/world"),
)
LIMIT = 10_000
PATIENCE = 0.5


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, millbrook: Path) -> Settings:
    """A service with a name and a friend, a small limit, and little patience."""
    return settings_for(
        tmp_path_factory.mktemp("guarded"),
        millbrook,
        llm={"provider": "rehearsal"},
        allowed_hosts=["Game.example", "testserver"],
        cors_origins=[FRIEND],
        max_body_bytes=LIMIT,
        request_timeout_seconds=PATIENCE,
    )


@pytest.fixture(scope="module")
def client(guarded: Settings) -> Iterator[TestClient]:
    """A client of it."""
    with TestClient(create_app(guarded)) as http:
        yield http


@pytest.fixture(scope="module")
def guarded_url(guarded: Settings) -> Iterator[str]:
    """Its address on a real server."""
    with serve(create_app(guarded.model_copy(update={"data_dir": guarded.data_dir / "served"}))) as address:
        yield address


# --- hosts ---


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:8010", "127.0.0.1", "127.0.0.1:8010", "[::1]", "[::1]:8010", "game.example", "GAME.EXAMPLE:1"],  # noqa: E501
)  # fmt: skip
def test_the_service_goes_by_the_names_of_loopback_and_those_it_was_told(client: TestClient, host: str) -> None:
    assert client.get("/world", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8010",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.game.example",
        "192.168.0.9",
        "0.0.0.0",  # noqa: S104
        "[::2]",
        "[::1",
        "",
        "localhost@evil.example",
    ],
)
def test_a_host_that_is_not_ours_reads_and_writes_nothing(client: TestClient, host: str) -> None:
    for method, path in (("GET", "/characters/sora/memory?npc_id=baker"), ("GET", "/"), ("DELETE", "/world")):
        told = problem(client.request(method, path, headers={"Host": host}), 403, "host-not-allowed")
        assert "KATARIBE_ALLOWED_HOSTS" in told["detail"]
        assert told["facts"] == {"host": host}


def test_a_page_that_rebinds_its_name_to_this_machine_is_refused_though_it_is_its_own_site(client: TestClient) -> None:
    own = {"Host": "evil.example:8010", "Origin": "http://evil.example:8010", "Sec-Fetch-Site": "same-origin"}
    problem(client.delete("/world", headers=own), 403, "host-not-allowed")


def test_a_client_that_names_no_host_is_no_browser(guarded_url: str) -> None:
    assert b" 200 OK" in asked(guarded_url, b"GET /healthz HTTP/1.0\r\n\r\n")


@pytest.mark.parametrize(
    ("listens_on", "served", "refused"),
    [
        ("0.0.0.0", ["192.168.0.9:8010", "[fe80::1]", "127.0.0.1"], ["evil.example", "192.168.0.9.evil.example"]),  # noqa: S104
        ("::", ["192.168.0.9", "[::1]"], ["evil.example"]),
        ("192.168.0.9", ["192.168.0.9:8010", "localhost"], ["192.168.0.10", "evil.example"]),
        ("fe80::1", ["[fe80::1]:8010"], ["[fe80::2]"]),
        ("desk.local", ["desk.local:8010"], ["evil.local"]),
    ],
)
def test_what_it_listens_on_is_its_own_too(
    tmp_path: Path, millbrook: Path, listens_on: str, served: list[str], refused: list[str]
) -> None:
    http = TestClient(create_app(settings_for(tmp_path, millbrook, host=listens_on)))
    assert {host: http.get("/healthz", headers={"Host": host}).status_code for host in served + refused} == {
        **dict.fromkeys(served, 200),
        **dict.fromkeys(refused, 403),
    }


# --- other sites ---


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://testserver:3000"},
        {"Origin": "null"},
        {"Origin": "testserver"},
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_a_page_of_another_site_changes_nothing(client: TestClient, headers: dict[str, str]) -> None:
    for method, path in WRITES:
        told = problem(client.request(method, path, headers=headers, json={"ticks": 1}), 403, "cross-site")
        assert "KATARIBE_CORS_ORIGINS" in told["detail"]
    assert client.get("/world").json()["now"] == "2026-04-01T07:00"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://testserver"},
        {"Origin": "https://testserver"},
        {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"},
        {"Origin": FRIEND, "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
def test_engines_tools_our_own_pages_and_friends_may_write(client: TestClient, headers: dict[str, str]) -> None:
    assert client.patch("/world", headers=headers, json={"weather": "Rain"}).status_code == 200


def test_an_engine_that_sends_no_put_sends_it_as_a_post(client: TestClient) -> None:
    def send(method: str, meant: str, **more: str) -> int:
        headers = {"X-HTTP-Method-Override": meant, **more}
        return client.request(
            method, "/people/ken", json={"kind": "player", "name": "Ken"}, headers=headers
        ).status_code

    assert [send("POST", "PUT"), send("GET", "DELETE"), send("POST", "DELETE")] == [201, 200, 204]
    assert [send("POST", "GET"), send("POST", "TRACE"), send("POST", "put")] == [405, 405, 405]
    assert send("POST", "PUT", Origin="http://evil.example") == 403


def test_another_site_may_ask_but_its_page_is_not_shown_the_answer(client: TestClient) -> None:
    answer = client.get("/world", headers={"Origin": "http://evil.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_a_friend_can_read_why_it_is_refused(client: TestClient) -> None:
    answer = client.patch("/world", headers={"Origin": FRIEND}, content=b"x" * (LIMIT + 1))
    problem(answer, 413, "body-too-large")
    assert answer.headers["access-control-allow-origin"] == FRIEND


def test_what_is_refused_is_told_in_japanese(client: TestClient) -> None:
    ja = {"Accept-Language": "ja"}
    assert "名前" in problem(client.get("/world", headers={**ja, "Host": "evil"}), 403)["detail"]
    assert "別サイト" in problem(client.delete("/world", headers={**ja, "Origin": "null"}), 403)["detail"]
    assert "超えています" in problem(client.post("/world/tick", content=b"x" * 20_000, headers=ja), 413)["detail"]


# --- bodies ---


def talking(url: str) -> socket.socket:
    """A bare connection."""
    parts = urlsplit(url)
    assert parts.hostname
    return socket.create_connection((parts.hostname, parts.port or 80), timeout=20)


def the_rest(connection: socket.socket) -> bytes:
    """All that comes until the service hangs up."""
    told = b""
    while piece := connection.recv(65536):
        told += piece
    return told


def asked(url: str, request: bytes) -> bytes:
    """The answer to a request of any shape, until the service hangs up."""
    with closing(talking(url)) as connection:
        connection.sendall(request)
        return the_rest(connection)


def is_well(connection: socket.socket) -> bool:
    """Whether the answer to a request for /healthz, of which the service leaves the connection open, is as it should
    be.
    """
    told = b""
    while not told.endswith(b"}}"):
        told += connection.recv(65536)
    return told.startswith(b"HTTP/1.1 200 OK")


def head(method: str, path: str, *more: str) -> bytes:
    """The head of a request."""
    return "\r\n".join((f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *more, "", "")).encode()


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("POST", "/world/tick", "application/json"),
        ("PUT", "/world/clock", "text/plain"),
        ("GET", "/world", "application/octet-stream"),
        ("POST", "/nowhere", "multipart/form-data"),
    ],
)
def test_a_body_that_is_announced_too_long_is_refused_before_it_comes(
    guarded_url: str, method: str, path: str, kind: str
) -> None:
    told = asked(guarded_url, head(method, path, f"Content-Type: {kind}", "Content-Length: 300000000"))
    assert told.startswith(b"HTTP/1.1 413 ")
    assert f"content-type: {PROBLEM}".encode() in told
    assert str(LIMIT).encode() in told


@pytest.mark.parametrize("path", ["/world/tick", "/nowhere", "/conversations/abc/end"])
def test_a_body_that_never_ends_is_refused_while_it_comes(guarded_url: str, path: str) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    sent = 0
    with closing(talking(guarded_url)) as connection:
        connection.sendall(head("POST", path, "Content-Type: text/plain", "Transfer-Encoding: chunked"))
        try:
            while sent < 300_000_000:
                connection.sendall(chunk)
                sent += len(chunk)
        except ConnectionError:
            pass  # it has hung up
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")
    assert sent < 30_000_000  # what the buffers between hold


def test_an_ordinary_client_that_sends_too_much_reads_why(guarded_url: str) -> None:
    for content in (b"x" * 50_000_000, (b"x" * 100_000 for _ in range(500))):
        told = problem(httpx.post(f"{guarded_url}/world/tick", content=content, trust_env=False), 413, "body-too-large")
        assert told["facts"] == {"limit_bytes": LIMIT}


def test_a_body_of_exactly_the_limit_is_read(client: TestClient) -> None:
    body = b'{"ticks": 0, "x": "' + b"x" * LIMIT
    problem(client.post("/world/tick", content=body[: LIMIT - 2] + b'"}'), 422, "invalid")
    problem(client.post("/world/tick", content=body[: LIMIT - 1] + b'"}'), 413, "body-too-large")


def test_a_body_longer_than_announced_is_cut_off(guarded_url: str) -> None:
    request = head("POST", "/world/tick", "Content-Type: application/json", "Content-Length: 12")
    told = asked(guarded_url, request + b'{"ticks": 0}' + b"x" * 100_000)
    assert told.startswith(b"HTTP/1.1 422 ")
    assert told.count(b"HTTP/1.1 ") == 2
    assert b"HTTP/1.1 400 " in told


@pytest.mark.parametrize(
    ("announced", "part"),
    [("Content-Length: 100", b'{"ticks": 1'), ("Content-Length: 100", b""), ("Transfer-Encoding: chunked", b"2\r\n{}\r\n")],  # noqa: E501
    ids=["half a body", "no body", "no last chunk"],
)  # fmt: skip
def test_a_body_that_does_not_arrive_is_given_up(guarded_url: str, announced: str, part: bytes) -> None:
    begun = time.monotonic()
    told = asked(guarded_url, head("POST", "/world/tick", announced, "Accept-Language: ja") + part)
    assert told.startswith(b"HTTP/1.1 408 ")
    assert "届きませんでした" in told.decode()
    assert PATIENCE <= time.monotonic() - begun < PATIENCE + 10


def test_a_client_that_leaves_in_the_middle_of_its_body_is_forgotten(guarded_url: str) -> None:
    with closing(talking(guarded_url)) as connection:
        connection.sendall(head("POST", "/world/tick", "Content-Length: 100") + b"{")
    assert httpx.get(f"{guarded_url}/world", trust_env=False).json()["now"] == "2026-04-01T07:00"


# --- heads ---


@pytest.mark.parametrize("part", [b"", b"G", b"GET /world HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
def test_a_head_that_does_not_arrive_is_given_up(guarded_url: str, part: bytes) -> None:
    begun = time.monotonic()
    assert asked(guarded_url, part) == b""
    assert PATIENCE <= time.monotonic() - begun < PATIENCE + 10


def drip(connection: socket.socket, text: bytes) -> bytes:
    """Send a byte at a time until the service hangs up; what it told."""
    try:
        for number in range(len(text)):
            connection.sendall(text[number : number + 1])
            time.sleep(PATIENCE / 10)
    except ConnectionError:
        return b""
    return the_rest(connection)


@pytest.mark.parametrize("before", [0, 2], ids=["first request", "third request of the connection"])
def test_a_head_that_comes_byte_by_byte_is_given_up(guarded_url: str, before: int) -> None:
    with closing(talking(guarded_url)) as connection:
        for _ in range(before):
            connection.sendall(head("GET", "/healthz"))
            assert is_well(connection)
        begun = time.monotonic()
        assert drip(connection, head("GET", "/healthz", "X-Slow: " + "x" * 1000)) == b""
    assert time.monotonic() - begun < PATIENCE + 10


def test_a_head_in_two_pieces_is_answered_and_the_connection_stays(guarded_url: str) -> None:
    request = head("GET", "/healthz")
    with closing(talking(guarded_url)) as connection:
        for _ in range(3):
            connection.sendall(request[:20])
            time.sleep(PATIENCE / 5)
            connection.sendall(request[20:])
            assert is_well(connection)


def test_a_past_in_lines_is_taken_in_pieces_longer_than_other_bodies_and_given_up_where_it_does_not_end(
    guarded_url: str,
) -> None:
    def lines() -> Iterator[bytes]:
        for number in range(100):
            yield b'{"id": "%d", "statement": "%s"}\n' % (number, b"x" * 1_000)

    lined = {"Content-Type": "application/x-ndjson"}
    with httpx.Client(base_url=guarded_url, trust_env=False, timeout=20, verify=NO_AUTHORITIES) as http:
        told = http.post("/people/sora/memory", content=lines(), headers=lined)
        assert told.json()["statements"] == 100
        assert http.post("/world/tick", content=lines(), headers=lined).status_code == 413
    begun = time.monotonic()
    request = head("POST", "/people/sora/memory", "Content-Type: application/x-ndjson", "Content-Length: 100")
    told_raw = asked(guarded_url, request + b'{"id": "a", "statement": "It rains."}')
    assert told_raw.startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - begun < 20 * PATIENCE
    with httpx.Client(base_url=guarded_url, trust_env=False, timeout=20, verify=NO_AUTHORITIES) as http:
        assert http.get("/people/sora/memories").json()["total"] == 100


def test_a_slow_answer_is_not_given_up(tmp_path: Path, millbrook: Path) -> None:
    """The limit is for what the client sends, not for what it waits for."""
    slow = {"provider": "rehearsal", "rehearsal_pace_seconds": 0.6}
    settings = settings_for(tmp_path, millbrook, llm=slow, request_timeout_seconds=0.2)
    with serve(create_app(settings)) as url, httpx.Client(base_url=url, trust_env=False, verify=NO_AUTHORITIES) as http:
        running = http.post("/conversations/start", json={"character_id": "sora", "npc_id": "baker"}).json()["id"]
        with http.stream("GET", f"/conversations/{running}/events") as events:
            begun = time.monotonic()
            for _ in events.iter_raw():
                if time.monotonic() - begun > 1:
                    break
            else:
                raise AssertionError("the stream ended")


# --- WebSockets ---


@pytest.mark.parametrize(
    ("headers", "slug"),
    [
        ({"origin": "https://evil.example"}, "cross-site"),
        ({"origin": "null"}, "cross-site"),
        ({"host": "evil.example", "origin": "http://evil.example"}, "host-not-allowed"),
        ({"host": "evil.example"}, "host-not-allowed"),
    ],
)
def test_a_page_of_another_site_opens_no_websocket(client: TestClient, headers: dict[str, str], slug: str) -> None:
    with pytest.raises(WebSocketDenialResponse) as caught, client.websocket_connect("/people/sora/ws", headers=headers):
        pass
    problem(caught.value, 403, slug)


@pytest.mark.parametrize("origin", [None, FRIEND, "own"])
def test_a_game_our_own_pages_and_those_of_friends_open_websockets(guarded_url: str, origin: str | None) -> None:
    page = guarded_url if origin == "own" else origin
    address = f"{guarded_url.replace('http', 'ws', 1)}/people/sora/ws"
    with connect(address, origin=None if page is None else Origin(page), proxy=None) as game:
        assert game.response is not None
        assert "x-request-id" in game.response.headers
