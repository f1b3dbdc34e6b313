"""Owns the check of a table in a real browser: from the map to a seat, words that one alone hears, and away again."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from service.locales import Language
from service.settings import WorldSettings
from tests.api.test_tables import talk_that_goes_on
from tests.servers import NO_AUTHORITIES
from tests.web.test_accessible import AXE, found
from tests.web.test_browser import is_wider_than_the_screen, looking, playing, serving

pytestmark = pytest.mark.server

TEXTS: dict[Language, tuple[str, str]] = {
    "en": ("Between us: the ferry will not come tomorrow.", "Good evening to all of you."),
    "ja": ("ここだけの話ですが、明日は船が来ません。", "みなさん、こんばんは。"),
}


def client_of(address: str) -> httpx.Client:
    return httpx.Client(base_url=address, trust_env=False, timeout=60, verify=NO_AUTHORITIES)


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("ja", "dark")])
def test_a_person_sits_down_whispers_to_one_and_leaves(
    chromium_browser: Browser, tmp_path: Path, language: Language, scheme: Any
) -> None:
    world = WorldSettings(language=language, decision="model", openings_per_day=0)
    settings = playing(tmp_path, language).model_copy(update={"world": world})
    with serving(settings) as address, looking(chromium_browser, width=390) as page, client_of(address) as client:
        talk = talk_that_goes_on(client)
        one, other = talk["character_id"], talk["partner_id"]
        page.emulate_media(color_scheme=scheme)
        page.goto(f"{address}/?lang={language}")
        page.locator(f".figure[data-person={one}]").dispatch_event("click")
        card = page.locator("#watched")
        expect(card.locator(f"a[href*='{talk['id']}']")).to_have_count(2)  # to listen, and to sit down
        card.locator("a[href$='#sit']").click()

        expect(page.locator("#meet input")).to_be_focused()
        page.keyboard.type("Ken")
        page.keyboard.press("Enter")
        expect(page.locator("#table li")).to_have_count(3)
        expect(page.locator("#say textarea")).to_be_focused()
        whisper, aloud = TEXTS[language]
        page.locator("#ears").select_option(other)
        page.locator("#say textarea").fill(whisper)
        page.keyboard.press("Enter")
        own = page.locator(".turn", has_text=whisper)
        expect(own.locator(".badge.whisper")).to_be_visible()
        expect(page.locator(".turn .badge.whisper")).to_have_count(2)  # and the answer
        expect(page.locator("#say")).to_be_visible()
        page.locator("#ears").select_option("")
        page.locator("#say textarea").fill(aloud)
        page.keyboard.press("Enter")
        expect(page.locator(".turn", has_text=aloud).locator(".badge.whisper")).to_have_count(0)
        expect(page.locator("#say")).to_be_visible()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert found(page) == []
        assert not is_wider_than_the_screen(page)

        page.locator("#leave").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#table li")).to_have_count(2)
        expect(page.locator("#say")).to_be_hidden()
        expect(page.locator("#changes")).to_be_visible()
        heard = client.get(f"/people/{one}/memories", params={"limit": 200}).text
        assert whisper not in heard
        assert whisper in client.get(f"/people/{other}/memories", params={"limit": 200}).text
