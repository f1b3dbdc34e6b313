"""Owns the check of the pages with axe-core, and of a talk without a mouse.

axe-core comes with `npm ci --prefix tests/clients` (MPL-2.0: the tests run it, nothing that is shipped holds it).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from service.locales import Language
from service.settings import QualitySettings
from tests.servers import NO_AUTHORITIES, missing
from tests.web.test_browser import looking, playing, serving
from tests.web.test_graph import HARBOUR, remember

pytestmark = pytest.mark.server

AXE = Path(__file__).parents[1] / "clients" / "node_modules" / "axe-core" / "axe.min.js"

LOOK = """
async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target}: ${failureSummary}`));
}
"""
LOOKS: tuple[tuple[Language, Literal["light", "dark"]], ...] = (("en", "light"), ("ja", "dark"))
CARD = "#memory .card"


@pytest.fixture(scope="module")
def village(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a village in which Aoi remembers something already."""
    data_dir = tmp_path_factory.mktemp("village")
    remember(data_dir, *HARBOUR)
    checking = playing(data_dir, "en").model_copy(update={"quality": QualitySettings(share=1)})
    with serving(checking) as address:
        yield address


def talks(address: str) -> tuple[str, str]:
    """A talk of two models that is over, and one with a human that goes on."""
    with httpx.Client(base_url=address, trust_env=False, timeout=60, verify=NO_AUTHORITIES) as client:
        walk = client.post("/characters/aoi/actions", json={"type": "move", "npc_id": "npc_taro"}).json()
        client.post("/world/tick", json={"ticks": walk["minutes"]}).raise_for_status()
        over = client.post("/conversations/start?wait=true", json={"character_id": "aoi", "partner_id": "npc_taro"})
        for player in ("ken", "mika"):
            client.put(f"/people/{player}", json={"kind": "player", "name": player.title()}).raise_for_status()
        client.put("/people/mika/position", json={"node_id": "quay_pier"}).raise_for_status()
        with_ken = {"mode": "player", "player_id": "ken", "partner_id": "npc_harue"}
        goes_on = client.post("/conversations/start", json=with_ken)
        said = client.post(f"/conversations/{goes_on.json()['id']}/say?wait=true", json={"text": "Good morning."})
        said.raise_for_status()
        client.post("/scenes", json={"scene_id": "S001"}).raise_for_status()
        client.post("/world/snapshots", json={"name": "now"}).raise_for_status()
        client.post("/world/branch", json={"to_world": "what-if"}).raise_for_status()
        client.patch("/npcs/npc_taro", json={"affinity": {"ren": 9}}).raise_for_status()
        return over.json()["id"], goes_on.json()["id"]


def found(page: Page) -> list[str]:
    """What axe-core, which the page has been given, says against it as it is now."""
    wrong: list[str] = page.evaluate(LOOK)
    return wrong


def test_axe_finds_nothing_serious_on_any_page(chromium_browser: Browser, village: str) -> None:
    """By day in English, in the dark in Japanese. All but /docs, which is Swagger UI as it comes."""
    if not AXE.exists():
        missing("axe-core: npm ci --prefix tests/clients")
    axe = AXE.read_text(encoding="utf-8")
    over, goes_on = talks(village)
    wrong: list[str] = []
    with looking(chromium_browser, width=390) as page:
        for path, sign in (
            ("/?", ".figure.player"),
            ("/view/worlds?", "#compare button"),
            ("/view/scenes?", "#authored button"),
            ("/view/scenes/S001?", "#people li"),
            ("/view/scenes/S001/report?", "#feelings thead"),
            ("/view/surveys?", "#survey button"),
            ("/view/quality?", "#worst q"),
            ("/view/content?", ".part-list a"),
            ("/view/content/people/aoi?", ".fields textarea"),
            ("/view/content/actions/sleep?", ".fields input"),
            ("/view/work?", "#work li"),
            ("/view/npcs/npc_taro?", CARD),
            ("/view/characters/aoi?", CARD),
            ("/view/characters/aoi/graph?", ".entity.said"),
            (f"/view/conversations/{over}?", "#changes .summary"),
            (f"/view/conversations/{goes_on}?", "#say"),
            ("/login?wrong=true&", ".wrong"),
        ):
            for lang, scheme in LOOKS:
                page.emulate_media(color_scheme=scheme)
                page.goto(f"{village}{path}lang={lang}")
                expect(page.locator(sign).first).to_be_visible()
                if path == "/?":
                    page.locator(".figure.character").first.click()
                    expect(page.locator("#watched h3")).to_be_visible()
                if "conversations" in path:
                    page.locator("#turn-1 .why summary").click()
                    expect(page.locator("#turn-1 .why p")).not_to_have_count(0)
                if "worlds" in path:
                    page.locator("#compare button").click()
                    expect(page.locator(".sides td")).not_to_have_count(0)
                if "surveys" in path:
                    page.locator("#question").fill("Would you move to the city?")
                    page.locator("#survey button").click()
                    expect(page.locator(".bars rect")).to_have_count(2)
                    expect(page.locator("#table")).to_have_attribute("download", "answers.csv")
                page.evaluate(axe)
                wrong += [f"{path}lang={lang} {one}" for one in found(page)]
    assert wrong == []


def tab_to(page: Page, selector: str, key: str = "Tab") -> None:
    """Press the key until it has the focus."""
    for _ in range(80):
        page.keyboard.press(key)
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"Tab does not lead to {selector}")


def test_a_player_talks_with_the_keyboard_alone(chromium_browser: Browser, village: str) -> None:
    with looking(chromium_browser) as page:
        page.goto(f"{village}/")
        expect(page.locator("#npcs a").first).to_be_visible()
        tab_to(page, "#npcs a[href*=npc_taro]")
        page.keyboard.press("Enter")
        page.wait_for_url("**/view/npcs/*")
        tab_to(page, "#meet input")
        page.keyboard.type("Mika")
        page.keyboard.press("Enter")
        expect(page.locator("#say textarea")).to_be_focused()
        page.keyboard.type("Good morning. I mend nets.")
        page.keyboard.press("Enter")
        expect(page.locator("#turn-1")).to_contain_text("Taro")
        expect(page.locator("#say textarea")).to_be_focused()
        tab_to(page, "#choices button:first-child", "Shift+Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#turn-3")).to_be_visible()
        expect(page.locator("#say textarea")).to_be_focused()
        tab_to(page, "#turn-3 summary", "Shift+Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#turn-3 .why p")).not_to_have_count(0)
        tab_to(page, "#end")
        page.keyboard.press("Enter")
        expect(page.locator("#changes .summary")).to_be_visible()
