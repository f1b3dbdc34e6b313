"""Owns the tests of the key of the settings: nothing without it, everything with it, and a way in for a person."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr
from starlette.testclient import WebSocketDenialResponse
from websockets.sync.client import connect

from service.api.key import Brake
from service.api.server import Server
from service.app import create_app
from service.errors import Misconfigured
from service.settings import Settings
from tests.api.play import problem, serve, settings_for, talk

KEY = "sk-a-key-of-24-characters"
BEARER = {"Authorization": f"Bearer {KEY}"}
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory, millbrook: Path) -> Settings:
    """A service with a key."""
    return settings_for(
        tmp_path_factory.mktemp("keyed"), millbrook, llm={"provider": "rehearsal"}, api_key=SecretStr(KEY)
    )


@pytest.fixture(scope="module")
def served(keyed: Settings) -> Iterator[TestClient]:
    """A client that has been let in nowhere yet; what it is given is not kept."""
    with TestClient(create_app(keyed)) as http:
        yield http


@pytest.fixture
def client(served: TestClient) -> TestClient:
    """The same client with an empty jar."""
    served.cookies.clear()
    unbraked(served)
    return served


def unbraked(client: TestClient) -> None:
    """Let nobody wait for wrong keys that came before."""
    client.app.state.keys.brake = Brake()  # type: ignore[attr-defined]  # it is the app


def every_path(described: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Methods and paths of the whole API, and those of the pages."""
    for path, methods in described["paths"].items():
        yield from ((method.upper(), re.sub(r"\{\w+\}", "sora", path)) for method in methods)
    for path in ("/", "/view/characters/sora", "/view/static/world.js", "/docs", "/openapi.json", "/nowhere"):
        yield "GET", path


def test_nothing_answers_without_the_key_but_that_the_process_is_there(client: TestClient) -> None:
    described = client.get("/openapi.json", headers=BEARER).json()
    asked = set(every_path(described)) - {("GET", "/healthz")}
    assert len(asked) > 25
    for method, path in asked:
        for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {KEY}x"}, {"Authorization": KEY}):
            answer = client.request(method, path, headers=headers)
            in_openai_shape = path.startswith("/v1/")
            told = (
                answer.json()["error"]["message"] if in_openai_shape else problem(answer, 401, "key-missing")["detail"]
            )
            assert (answer.status_code, "KATARIBE_API_KEY" in told) == (401, True)
            assert answer.headers["www-authenticate"] == "Bearer"
            unbraked(client)
    assert client.get("/healthz").status_code == 200


def test_who_shows_another_key_is_told_that_it_may_be_the_wrong_one(client: TestClient) -> None:
    told = problem(client.get("/world", headers={"Authorization": f"Bearer {KEY}x"}), 401, "key-missing")
    assert "shows none, or another one" in told["detail"]


def test_it_is_told_in_japanese(client: TestClient) -> None:
    assert "キー" in problem(client.get("/world", headers={"Accept-Language": "ja"}), 401, "key-missing")["detail"]


@pytest.mark.parametrize("shown", [f"Bearer {KEY}", f"bearer {KEY}", f"Bearer   {KEY} "])
def test_whoever_shows_the_key_is_let_in(client: TestClient, shown: str) -> None:
    headers = {"Authorization": shown}
    assert client.get("/world", headers=headers).status_code == 200
    assert client.patch("/world", json={"weather": "Rain"}, headers=headers).status_code == 200
    assert client.get("/", headers=headers).status_code == 200


@pytest.mark.parametrize("shown", ["Bearer ключ".encode(), b"Bearer \xff\xfe", b"Basic c2stYQ==", b"\xe3\x82\xad"])
def test_a_key_of_other_letters_is_none(client: TestClient, shown: bytes) -> None:
    problem(client.get("/world", headers=[(b"authorization", shown)]), 401, "key-missing")
    cookie = b"kataribe_key=" + shown
    problem(client.get("/world", headers=[(b"cookie", cookie)]), 401, "key-missing")


def test_the_key_does_not_open_what_another_site_asks(client: TestClient) -> None:
    problem(client.delete("/world", headers={**BEARER, "Origin": "http://evil.example"}), 403, "cross-site")
    problem(client.get("/world", headers={**BEARER, "Host": "evil.example"}), 403, "host-not-allowed")


def test_the_description_says_that_a_key_is_needed(client: TestClient, keyed: Settings) -> None:
    described = client.get("/openapi.json", headers=BEARER).json()
    assert described["components"]["securitySchemes"] == {"HTTPBearer": {"type": "http", "scheme": "bearer"}}
    assert described["paths"]["/world"]["get"]["security"] == [{"HTTPBearer": ["play"]}]
    without = create_app(keyed.model_copy(update={"api_key": None})).openapi()
    assert "securitySchemes" not in without["components"]
    for spec in (described, without):
        untold = {
            path for path, way in spec["paths"].items() if not all("401" in one["responses"] for one in way.values())
        }
        assert untold == {"/healthz"}, "a generated client answers nothing where a refusal is not described"


def test_a_friendly_site_may_ask_what_it_may_send_before_it_shows_the_key(keyed: Settings) -> None:
    friend = "http://localhost:3000"
    http = TestClient(create_app(keyed.model_copy(update={"cors_origins": [friend]})))
    asking = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "authorization,content-type"}
    answer = http.options("/world", headers={"Origin": friend, **asking})
    assert answer.status_code == 200
    assert "authorization" in answer.headers["access-control-allow-headers"]
    problem(http.patch("/world", headers={"Origin": friend}), 401, "key-missing")


# --- a person in a browser ---


def test_a_browser_is_led_to_the_login_page_and_back(client: TestClient) -> None:
    wanted = "/view/characters/sora?npc_id=baker&lang=ja"
    led = client.get(wanted, headers=BROWSER, follow_redirects=False)
    assert led.status_code == 303
    assert parse_qs(urlsplit(led.headers["location"]).query) == {"next": [wanted], "lang": ["ja"]}

    page = client.get(led.headers["location"], headers=BROWSER)
    assert page.status_code == 200
    assert '<html lang="ja">' in page.text
    assert "ログイン" in page.text
    assert "Millbrook" not in page.text, "nothing of the world is told"
    assert "default-src 'self'" in page.headers["content-security-policy"]
    for needed in re.findall(r'(?:href|src)="(/view/static/[^"]+)"', page.text):
        assert client.get(needed).status_code == 200, needed

    form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text))
    assert form["next"] == wanted.replace("&", "&amp;")
    entered = client.post("/login", data={**form, "next": wanted, "key": f" {KEY} "}, follow_redirects=False)
    assert (entered.status_code, entered.headers["location"]) == (303, wanted)
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie
    assert KEY not in cookie

    assert client.get(wanted, headers=BROWSER).status_code == 200
    assert client.get("/view/static/world.js").status_code == 200
    held = talk(client)
    with client.stream("GET", f"/conversations/{held['id']}/events") as events:
        assert "event: closed" in "".join(events.iter_text())


@pytest.mark.parametrize(("language", "told"), [("en", "That is not the key."), ("ja", "キーが違います。")])
def test_a_wrong_key_is_told_and_may_be_tried_again(client: TestClient, language: str, told: str) -> None:
    for wrong in ("", "sk-a-key", KEY + "x", "キー"):
        again = client.post("/login", data={"key": wrong, "next": "/view/x", "lang": language})
        assert again.status_code == 200
        assert told in again.text
        assert 'value="/view/x"' in again.text
    assert not client.cookies


@pytest.mark.parametrize(
    "elsewhere", ["//evil.example", "/\\evil.example", "https://evil.example/", "evil", "", "\\\\evil"]
)
def test_logging_in_leads_nowhere_else(client: TestClient, elsewhere: str) -> None:
    entered = client.post("/login", data={"key": KEY, "next": elsewhere}, follow_redirects=False)
    assert entered.headers["location"] == "/"


def test_a_cookie_goes_over_tls_only_where_it_came_by_tls(client: TestClient) -> None:
    entered = client.post("https://testserver/login", data={"key": KEY, "next": "/"}, follow_redirects=False)
    assert "Secure" in entered.headers["set-cookie"]


def test_a_new_key_ends_what_the_old_one_let_in(client: TestClient, keyed: Settings) -> None:
    client.post("/login", data={"key": KEY, "next": "/"}, follow_redirects=False)
    cookies = dict(client.cookies)
    assert cookies
    renewed = TestClient(
        create_app(keyed.model_copy(update={"api_key": SecretStr("another-key-of-16")})), cookies=cookies
    )
    problem(renewed.get("/readyz"), 401, "key-missing")


def test_a_program_is_not_led_to_a_page(client: TestClient) -> None:
    for headers in ({"Accept": "application/json"}, {"Accept": "*/*"}, {"Accept": "text/event-stream"}):
        problem(client.get("/", headers=headers), 401, "key-missing")
    problem(client.post("/world/tick", headers=BROWSER), 401, "key-missing")


def test_without_a_key_logging_in_is_not_needed(tmp_path: Path, millbrook: Path) -> None:
    for none in (None, SecretStr("")):
        http = TestClient(create_app(settings_for(tmp_path, millbrook, api_key=none)))
        entered = http.post("/login", data={"next": "/view/x"}, follow_redirects=False)
        assert (entered.status_code, entered.headers["location"]) == (303, "/view/x")


# --- listening ---


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_on_loopback_no_key_is_needed(tmp_path: Path, millbrook: Path, host: str) -> None:
    Server(create_app(settings_for(tmp_path, millbrook)), host=host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.9", "desk.local", ""])  # noqa: S104
def test_beyond_loopback_the_service_does_not_listen_without_a_key(
    tmp_path: Path, millbrook: Path, host: str, keyed: Settings
) -> None:
    for none in (None, SecretStr("")):
        with pytest.raises(Misconfigured, match="KATARIBE_API_KEY"):
            Server(create_app(settings_for(tmp_path, millbrook, api_key=none)), host=host)
    Server(create_app(keyed), host=host)


@pytest.mark.parametrize("length", [1, 15])
def test_a_key_that_is_too_short_is_refused_at_the_start(tmp_path: Path, millbrook: Path, length: int) -> None:
    with pytest.raises(Misconfigured) as refused:
        create_app(settings_for(tmp_path, millbrook, api_key=SecretStr("k" * length)))
    assert "KATARIBE_API_KEY: expected at least 16" in refused.value.sentence("en")
    assert "16 文字以上" in refused.value.sentence("ja")


@pytest.mark.parametrize("key", ["two words", "キー", "line\nbreak", " "])
def test_a_key_that_no_header_can_carry_is_refused_at_the_start(tmp_path: Path, millbrook: Path, key: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        create_app(settings_for(tmp_path, millbrook, api_key=SecretStr(key)))
    assert "KATARIBE_API_KEY: expected ASCII" in refused.value.sentence("en")
    assert "空白を含まない" in refused.value.sentence("ja")


def test_a_websocket_is_opened_with_the_key_or_by_a_browser_that_has_logged_in(
    client: TestClient, keyed: Settings, tmp_path: Path
) -> None:
    with pytest.raises(WebSocketDenialResponse) as caught, client.websocket_connect("/people/sora/ws"):
        pass
    problem(caught.value, 401, "key-missing")
    let_in = client.post("/login", data={"key": KEY}, follow_redirects=False).headers["set-cookie"].partition(";")[0]
    client.cookies.clear()
    with serve(create_app(keyed.model_copy(update={"data_dir": tmp_path}))) as url:
        for shown in (BEARER, {"Cookie": let_in}):
            address = f"{url.replace('http', 'ws', 1)}/people/sora/ws"
            with connect(address, additional_headers=shown, proxy=None) as socket:
                assert socket.response is not None
