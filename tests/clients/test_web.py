"""The game in clients/web is compiled, and played in a real browser against a real service of another site.

TypeScript comes with `npm ci --prefix tests/clients`.
"""

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Route, expect

from service.settings import LlmSettings, WorldSettings
from tests.api.test_tables import talk_that_goes_on
from tests.clients import web_types
from tests.servers import NO_AUTHORITIES, missing
from tests.web.test_accessible import AXE, LOOKS, found
from tests.web.test_browser import is_wider_than_the_screen, looking, playing, serving

pytestmark = pytest.mark.server

GAME = web_types.FILE.parent
TSC = web_types.TOOL.with_name("tsc")

# What was shown of what the other was saying, again and again.
WATCH = """
window.seen = [];
new MutationObserver(() => {
  const words = document.querySelector("#said .speaking")?.textContent;
  if (words && words !== window.seen.at(-1)) window.seen.push(words);
}).observe(document, { subtree: true, childList: true, characterData: true });
"""


CUT_OFF = """event: npc.thinking
id: 0.0.0
data: {"seq": null, "at": "", "conversation_id": "", "kind": "npc.thinking", "data": {"person_id": "npc_taro"}}

event: utterance.started
da"""


class Quiet(SimpleHTTPRequestHandler):
    """Hands out files and says nothing of it."""

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def game(tmp_path: Path) -> Iterator[str]:
    """The address of the game, compiled as docs/clients/browser.md says."""
    if not TSC.exists():
        missing("TypeScript: npm ci --prefix tests/clients")
    folder = shutil.copytree(GAME, tmp_path / "game")
    told = subprocess.run([TSC, "-p", folder], capture_output=True, text=True, timeout=120)
    assert told.returncode == 0, told.stdout
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(20)
    server.server_close()


def test_the_types_are_those_of_the_service() -> None:
    """`python -m tests.clients.web_types` writes them anew."""
    if not web_types.TOOL.exists():
        missing("openapi-typescript: npm ci --prefix tests/clients")
    assert web_types.FILE.read_text(encoding="utf-8") == web_types.types()


def test_a_player_walks_talks_and_interrupts(chromium_browser: Browser, game: str, tmp_path: Path) -> None:
    pace = LlmSettings(provider="rehearsal", rehearsal_pace_seconds=0.15)
    settings = playing(tmp_path, "en", pace).model_copy(update={"cors_origins": [game]})
    with serving(settings) as service, looking(chromium_browser, width=390) as page:
        page.add_init_script(WATCH)
        asked: list[str | None] = []

        def cut(route: Route) -> None:
            """The first answer breaks off; the second request goes through."""
            asked.append(route.request.headers.get("last-event-id"))
            if len(asked) > 1:
                route.continue_()
            else:
                headers = {"Content-Type": "text/event-stream", "Access-Control-Allow-Origin": game}
                route.fulfill(headers=headers, body=CUT_OFF)

        page.route("**/stream", cut)
        page.goto(f"{game}/?service={service}&lang=en")
        page.keyboard.type("Ken")
        page.keyboard.press("Enter")
        expect(page.locator("#near button").first).to_be_visible()
        first = page.locator("#here").inner_text()
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#here")).not_to_have_text(first)
        page.locator("#pad [data-key=ArrowRight]").click()
        expect(page.locator("#here")).to_have_text(first)
        assert not is_wider_than_the_screen(page)

        partner = page.locator("#near button").first
        partner.focus()
        name = partner.inner_text().removeprefix("Talk with ").removesuffix(" (Enter)")
        page.keyboard.press("Enter")
        expect(page.locator("#say input")).to_be_focused()
        expect(page.locator("#table")).to_have_text(f"You talk with {name}")
        page.keyboard.type("Good morning. What is new?")
        page.keyboard.press("Enter")
        expect(page.locator("#choices button")).not_to_have_count(0)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        for _, scheme in LOOKS:
            page.emulate_media(color_scheme=scheme)
            assert found(page) == []
        page.locator("#choices button").first.click()
        expect(page.locator("#said li.mine")).to_have_count(2)
        page.evaluate("window.seen = []")
        page.wait_for_function("window.seen.length > 2")
        page.keyboard.press("Escape")
        expect(page.locator("#say input")).to_be_visible()
        expect(page.locator("#interrupt")).to_be_hidden()
        seen: list[str] = page.evaluate("window.seen")
        assert all(later.startswith(words) for words, later in pairwise(seen))

        with httpx.Client(base_url=service, trust_env=False, verify=NO_AUTHORITIES) as client:
            (talk,) = client.get("/conversations").json()["items"]
            said = [turn["text"] for turn in client.get(f"/conversations/{talk['id']}").json()["turns"]]
            told = client.get(f"/conversations/{talk['id']}/updates").json()["items"]
        whole = [event["data"]["interrupted"] for event in told if event["kind"] == "utterance.completed"]
        assert (len(said), whole[-1]) == (4, True)
        assert said[-1] in [words.strip() for words in seen], "only what was seen was said"
        expect(page.locator("#said span").last).to_have_text(said[-1])
        assert asked == ["0", "0.0.0"]

        page.reload()
        page.keyboard.press("Enter")  # the name is known
        expect(page.locator("#said span")).to_have_text(said)
        page.keyboard.press("Escape")
        expect(page.locator("#said")).to_contain_text("will remember it")
        expect(page.locator("#table")).to_be_empty()
        expect(page.locator("#near")).to_be_visible()

        with httpx.Client(base_url=service, trust_env=False, verify=NO_AUTHORITIES) as client:
            player = {"mode": "player", "player_id": talk["character_id"], "partner_id": talk["partner_id"]}
            client.post("/conversations/start", json=player).raise_for_status()
        expect(page.locator("#say")).to_be_visible()
        expect(page.locator("#said li")).to_have_count(0)


def test_a_player_sits_down_whispers_to_one_and_gets_up(chromium_browser: Browser, game: str, tmp_path: Path) -> None:
    world = WorldSettings(language="en", decision="model", openings_per_day=0)
    settings = playing(tmp_path, "en").model_copy(update={"cors_origins": [game], "world": world})
    with serving(settings) as service, looking(chromium_browser, width=390) as page:
        with httpx.Client(base_url=service, timeout=60, trust_env=False, verify=NO_AUTHORITIES) as client:
            talk = talk_that_goes_on(client)
            client.put("/people/ken", json={"kind": "player", "name": "Ken"}).raise_for_status()
            client.put("/people/ken/position", json={"node_id": talk["node_id"]}).raise_for_status()
        page.add_init_script("localStorage['kataribe-player'] = 'ken'")
        page.goto(f"{game}/?service={service}&lang=en")
        page.keyboard.type("Ken")
        page.keyboard.press("Enter")
        page.get_by_role("button", name=re.compile(f"Sit down with {talk['character_name']}")).click()
        expect(page.locator("#table")).to_contain_text(talk["partner_name"])
        expect(page.locator("#say input")).to_be_focused()
        page.locator("#ears").select_option(talk["partner_id"])
        page.locator("#say input").fill("The ferry will not come.")
        page.keyboard.press("Enter")
        expect(page.locator("#said [data-whispered]")).to_have_count(2)
        expect(page.locator("#say")).to_be_visible()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert found(page) == []
        page.locator("#end").click()
        expect(page.locator("#said")).to_contain_text("The conversation is over")
        expect(page.locator("#near")).to_be_visible()
