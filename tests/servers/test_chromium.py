"""Owns the checks of the browser that other tests stand on."""

import pytest
from playwright.sync_api import Browser

pytestmark = pytest.mark.server


def test_the_browser_runs_a_page_and_its_script(chromium_browser: Browser) -> None:
    page = chromium_browser.new_page()
    page.set_content("<h1>語り部</h1><script>document.title = document.querySelector('h1').textContent</script>")
    assert page.title() == "語り部"
    page.close()
