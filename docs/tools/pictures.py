"""Takes the pictures of the pages: `PYTHONPATH=. python docs/tools/pictures.py` lives three days of the sample village
with the rehearsal, in both languages or in that which is named, and writes docs/images/*.png.
"""

import io
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from service.locales import Language
from service.settings import EmbeddingSettings, LlmSettings, MemorySettings, Settings, WorldSettings
from tests.api.test_tables import talk_that_goes_on
from tests.servers.chromium import ARGUMENTS, find_chromium
from tests.web.test_browser import serving

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
CONTENT = ("maps.json", "actions.json", "characters", "npcs", "pictures", "lore", "scenes")
DAY = 1440
KEN = {"en": "Ken", "ja": "ケン"}
SAYS = {
    "en": ("Hello. I am a glassblower from Minato.", "What did I tell you about my work?", "And Harue?"),
    "ja": ("こんにちは。港町から来たガラス職人です。", "私は何の職人だと言いましたか。", "春江さんのことは?"),
}
AT_TABLE = {
    "en": ("I came on the night boat. Keep that between us, please.", "And what do you both do here?"),
    "ja": ("実は夜の船で来ました。ここだけの話にしてください。", "お二人は、どんなお仕事をしているのですか。"),
}
CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Ione",
        "description": "Ione tends the lighthouse of Skerr. She counts every ship.",
        "personality": "Dry and patient.",
        "scenario": "The fog bell was cast from a wrecked ship's anchor.",
        "first_mes": "*She turns the lamp.* Out of the rain. Now.",
        "mes_example": '<START>\n{{char}}: "Lonely? I have four hundred ships a year."',
        "creator_notes": "For a quiet evening.",
        "system_prompt": "",
        "post_history_instructions": "",
        "alternate_greetings": [],
        "tags": [],
        "creator": "",
        "character_version": "1",
        "extensions": {},
    },
}


class Studio:
    """A village in one language, and the browser before which it stands."""

    def __init__(self, browser: Browser, address: str, language: Language) -> None:
        self.browser, self.address, self.language = browser, address, language
        self.client = httpx.Client(base_url=address, trust_env=False, timeout=1200)

    def lives(self, until: str) -> None:
        """The world's clock goes on until that time of 2026-04."""
        while (now := self.client.get("/world").json()["now"]) < f"2026-04-{until}":
            minutes = 30 if now[8:10] == until[:2] and now[11:13] >= until[3:5] else 60
            self.client.post("/world/tick", json={"ticks": minutes}).raise_for_status()

    def page(self, path: str, width: int = 1280, height: int = 900, **context: object) -> Page:
        """A page that has come to rest."""
        page = self.browser.new_context(viewport={"width": width, "height": height}, **context).new_page()  # type: ignore[arg-type]
        page.goto(f"{self.address}{path}{'&' if '?' in path else '?'}lang={self.language}")
        page.wait_for_load_state("networkidle" if "conversations/" not in path else "load")
        page.wait_for_timeout(1500)
        return page

    def take(self, page: Page, name: str, *, whole: bool = False) -> None:
        """The picture of it."""
        shot = Image.open(io.BytesIO(page.screenshot(full_page=whole))).convert("RGB")
        file = IMAGES / f"{name}.png"
        shot.save(file, optimize=True)
        print(f"{file.name}: {shot.size[0]} x {shot.size[1]}, {file.stat().st_size / 1000:.0f} kB", flush=True)
        page.context.close()

    def village(self, name: str, width: int = 1280, height: int = 940, **context: object) -> None:
        """The front page, at a moment when something is said on the map."""
        page = self.page("/", width, height, **context)
        for _ in range(60):
            if page.locator(".bubble:not(.faded)").count():
                break
            self.client.post("/world/tick", json={"ticks": 1}).raise_for_status()
            page.wait_for_timeout(4000)
        page.locator(".map").evaluate("(map) => innerWidth < 500 && map.scrollIntoView()")
        self.take(page, name)

    def meets(self, page: Page, name: str) -> None:
        page.locator("#meet [name=name]").fill(name)
        page.locator("#meet button").click()

    def says(self, page: Page, text: str) -> None:
        """Says it, and waits for the answer."""
        before = page.locator("#turns > li").count()
        page.locator("#say textarea").fill(text)
        page.locator("#say button").click()
        page.locator(f"#turns > li:nth-child({before + 2})").wait_for()
        page.wait_for_timeout(2500)  # the next has the word, or they part

    def talk(self, *lines: str) -> Page:
        """The visitor talks with Taro."""
        page = self.page("/view/npcs/npc_taro", 1100, 800)
        self.meets(page, KEN[self.language])
        page.wait_for_url("**/view/conversations/*")
        for line in lines:
            self.says(page, line)
        return page

    def ends(self, page: Page) -> None:
        page.locator("#end").click()
        page.locator("#changes").wait_for()
        page.context.close()

    def table(self) -> None:
        """The visitor breaks into a talk of two, and whispers; into another one, where the two part too soon."""
        whisper, aloud = AT_TABLE[self.language]
        for _ in range(12):
            talk = talk_that_goes_on(self.client)
            page = self.page(f"/view/conversations/{talk['id']}", 900, 800)
            if page.locator("#sit").is_visible():
                self.meets(page, KEN[self.language])
                page.locator("#table li:nth-child(3)").wait_for()
                page.locator("#ears").wait_for()
                page.locator("#ears").select_option(index=1)
                self.says(page, whisper)
                if page.locator("#ears").is_visible():
                    page.locator("#ears").select_option("")
                    self.says(page, aloud)
                if page.locator("#ears").is_visible():
                    page.locator("#ears").select_option(index=1)
                    return self.take(page, f"table-{self.language}", whole=True)
            page.context.close()
        raise AssertionError("all part too soon")

    def all(self) -> None:
        """Every picture, in the order of the days."""
        ours, said = self.language, SAYS[self.language]
        first = self.talk(said[0])
        self.ends(first)
        self.lives("01T10:00")
        self.village(f"world-{ours}")
        if ours == "en":
            self.village("world-phone", 390, 844, device_scale_factor=2)
            self.lives("01T18:00")
            self.village("world-dark", color_scheme="dark")
        self.lives("03T09:00")
        talk = self.talk(*said[1:])
        talk.locator(".why summary").nth(0).click()
        talk.wait_for_timeout(1000)
        talk.evaluate("document.querySelectorAll('.why pre, .why h3').forEach((one) => one.remove())")
        talk_id = urlsplit(talk.url).path.rpartition("/")[2]
        self.take(talk, f"talk-{ours}", whole=True)
        self.client.post(f"/conversations/{talk_id}/end", params={"wait": True}).raise_for_status()
        self.take(self.page("/view/npcs/npc_taro"), f"npc-{ours}", whole=True)
        self.take(self.page("/view/content/people/aoi", 1180, 900), f"editor-{ours}")
        if ours == "ja":
            self.take(self.page("/view/characters/aoi/graph", height=1024), "graph-ja")
        looks = self.page("/view/content", 1180, 900)
        card = json.dumps(CARD).encode()
        looks.locator("#files").set_input_files({"name": "ione.json", "mimeType": "application/json", "buffer": card})
        looks.locator("#home").fill("quay_west")
        looks.locator("#import button").click()
        looks.locator("#preview").wait_for()
        looks.wait_for_timeout(500)
        looks.evaluate("document.getElementById('preview').scrollIntoView()")
        self.take(looks, f"import-{ours}")
        self.client.post("/world/branch", json={"to_world": "what-if"}).raise_for_status()
        self.client.post("/world/snapshots", json={"name": "before-the-festival"}).raise_for_status()
        self.take(self.page("/view/worlds", 1100, 760), f"worlds-{ours}")
        self.table()


def main() -> None:
    """Both languages, one after the other."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        for language in sys.argv[1:] or ["en", "ja"]:
            with tempfile.TemporaryDirectory() as place:
                content = Path(place, "village")
                content.mkdir()
                for name in CONTENT:
                    source = ROOT / name
                    (shutil.copytree if source.is_dir() else shutil.copy)(source, content / name)
                settings = Settings(
                    _env_file=None,
                    data_dir=Path(place, "data"),
                    content_dir=content,
                    llm=LlmSettings(provider="rehearsal", rehearsal_pace_seconds=0.05),
                    embedding=EmbeddingSettings(provider="none"),
                    memory=MemorySettings(verify=False),
                    world=WorldSettings(language=language),
                )
                Path(place, "data").mkdir()
                with serving(settings) as address:
                    begun = time.monotonic()
                    Studio(browser, address, language).all()
                    print(f"{language}: {time.monotonic() - begun:.0f} s", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
