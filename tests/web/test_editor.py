"""Owns the checks of the pages that change content files: what is edited, and what comes in, stands in the files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from service.content.check import examine
from service.content.files import init_content
from service.locales import Language
from tests.servers import missing
from tests.studio.exchange.cards import as_png, card
from tests.studio.exchange.test_tiled import ISLE, tmj
from tests.web.test_accessible import AXE, found, tab_to
from tests.web.test_browser import is_wider_than_the_screen, looking, playing, serving

pytestmark = pytest.mark.server

SCRIPT = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
NAME = "Aoi " + "of the long long shore " * 3 + '<b>"x"</b>'


@pytest.fixture
def game(tmp_path: Path) -> Path:
    """A game of one's own that begins as the sample village."""
    init_content(tmp_path / "game")
    return tmp_path / "game"


@pytest.fixture
def address(tmp_path: Path, game: Path) -> Iterator[str]:
    """Where its pages are."""
    settings = playing(tmp_path, "en").model_copy(update={"content_dir": game})
    with serving(settings) as found_at:
        yield found_at


def saved(page: Page) -> None:
    page.locator("#save").click()
    expect(page.locator("#told")).to_contain_text(".yaml")


@pytest.mark.parametrize(("language", "edit"), [("en", "Edit"), ("ja", "編集する")])
def test_a_person_is_edited_and_its_file_says_it(
    chromium_browser: Browser, address: str, game: Path, language: Language, edit: str
) -> None:
    file = game / "characters" / "aoi.yaml"
    before = file.read_text(encoding="utf-8")
    with looking(chromium_browser, width=390, refusals=True) as page:
        page.goto(f"{address}/view/characters/aoi?lang={language}")
        page.get_by_role("link", name=edit, exact=True).click()
        expect(page.locator("#file")).to_have_text("characters/aoi.yaml")
        line = page.locator('[data-path="values.lines[0].en"]')
        line.fill("The tide is early today.")
        home = page.locator('[data-path="values.home"]')
        home.fill("the moon")
        page.locator("#save").click()
        expect(page.locator(".wrong").first).to_contain_text("the moon")
        expect(home).to_be_focused()
        assert file.read_text(encoding="utf-8") == before
        assert not is_wider_than_the_screen(page)
        home.fill("nagaya_one")
        page.locator(f'[data-path="values.name.{language}"]').fill(NAME)
        adds = page.locator('fieldset:has(> legend > code:text-is("facts")) > .add')
        adds.focus()
        page.keyboard.press("Enter")
        page.keyboard.type("is afraid of gulls")
        saved(page)
        told = file.read_text(encoding="utf-8")
        assert examine(game).problems == []
        assert '"The tide is early today."' in told
        assert "is afraid of gulls" in told
        assert len(set(before.splitlines()) - set(told.splitlines())) <= 3, "all else stays to the letter"
        page.goto(f"{address}/view/content/people/aoi?lang={language}")
        expect(page.locator("h1")).to_have_text(NAME)
        assert not is_wider_than_the_screen(page)


def test_a_script_is_no_portrait_and_a_picture_is(chromium_browser: Browser, address: str, game: Path) -> None:
    with looking(chromium_browser, refusals=True) as page:
        page.goto(f"{address}/view/content/people/npc_taro")
        chosen = page.locator(".own-picture input")
        chosen.set_input_files({"name": "taro.svg", "mimeType": "image/svg+xml", "buffer": SCRIPT})
        page.locator("#save").click()
        expect(page.locator(".wrong").first).to_contain_text("would run")
        drawn = SCRIPT.replace(b"<script>alert(1)</script>", b'<circle r="4"/>')
        chosen.set_input_files({"name": "taro.svg", "mimeType": "image/svg+xml", "buffer": drawn})
        saved(page)
        expect(page.locator(".own-picture img")).to_have_attribute("src", "/view/" + portrait(game))


def portrait(game: Path) -> str:
    told = (game / "npcs" / "npc_taro.yaml").read_text(encoding="utf-8").splitlines()
    return next(line for line in told if line.startswith("portrait:")).removeprefix("portrait: ")


def test_a_place_and_an_action_are_edited(chromium_browser: Browser, address: str, game: Path) -> None:
    with looking(chromium_browser, refusals=True) as page:
        page.goto(f"{address}/view/npcs/npc_taro")
        page.get_by_role("link", name="Edit this place").click()
        page.locator('[data-path$="name.en"]').fill("Taro's Corner")
        page.locator("#save").click()
        expect(page.locator("#told")).to_contain_text("maps.json")
        assert '"en": "Taro\'s Corner"' in (game / "maps.json").read_text(encoding="utf-8")
        page.goto(f"{address}/view/content")
        page.locator("a[href*='actions/nap']").click()
        page.locator('[data-path="values.minutes"]').fill("0")
        page.locator("#save").click()
        expect(page.locator(".field .wrong")).to_contain_text("1 or more")
        page.locator('[data-path="values.minutes"]').fill("45")
        page.locator("#save").click()
        expect(page.locator("#told")).to_contain_text("actions.json")
        assert '"minutes": 45' in (game / "actions.json").read_text(encoding="utf-8")


def test_who_edits_what_another_has_changed_is_told_and_loses_nothing(
    chromium_browser: Browser, address: str, game: Path
) -> None:
    file = game / "characters" / "aoi.yaml"
    with looking(chromium_browser, refusals=True) as page:
        page.goto(f"{address}/view/content/people/aoi")
        line = page.locator('[data-path="values.lines[0].en"]')
        line.fill("Mine.")
        file.write_text(file.read_text(encoding="utf-8") + "# theirs\n", encoding="utf-8")
        page.locator("#save").click()
        expect(page.locator("#told")).to_contain_text("changed by somebody else")
        expect(line).to_have_value("Mine.")
        assert file.read_text(encoding="utf-8").endswith("# theirs\n")
        page.locator("#again").click()
        expect(line).not_to_have_value("Mine.")
        line.fill("Mine.")
        saved(page)
        assert file.read_text(encoding="utf-8").endswith("# theirs\n")


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_card_and_a_map_come_in_after_a_look(
    chromium_browser: Browser, address: str, game: Path, tmp_path: Path, language: Language
) -> None:
    with looking(chromium_browser, width=390) as page:
        if not AXE.exists():
            missing("axe-core: npm ci --prefix tests/clients")
        page.goto(f"{address}/view/content?lang={language}")
        seen = as_png(card(name="Ione", creator_notes="x", scenario="The fog <b>stays</b>."))
        page.locator("#files").set_input_files({"name": "ione.png", "mimeType": "image/png", "buffer": seen})
        tab_to(page, "#import button")
        page.keyboard.press("Enter")
        expect(page.locator("#becomes h3")).to_have_count(2)
        expect(page.locator("#becomes pre").first).to_contain_text("id: ione")
        expect(page.locator("#becomes details")).to_contain_text("creator_notes")
        page.emulate_media(color_scheme="dark")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert found(page) == []
        assert not is_wider_than_the_screen(page)
        assert not (game / "characters" / "ione.yaml").exists()
        page.locator("#write").click()
        expect(page.locator("#write")).to_be_hidden()
        assert (game / "characters" / "ione.yaml").exists()
        isle = tmj(tmp_path, *ISLE[:2], ISLE[3])
        page.locator("#files").set_input_files(str(isle))
        page.locator("#import button").click()
        expect(page.locator(".sketch circle")).to_have_count(2)
        expect(page.locator("#becomes ins").first).to_be_visible()
        page.locator("#write").click()
        expect(page.locator("#write")).to_be_hidden()
        assert "isle" in (game / "maps.json").read_text(encoding="utf-8")
        assert examine(game).problems == []
