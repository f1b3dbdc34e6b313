"""Owns a real browser for the tests: the machine's own Chromium, headless, driven by Playwright."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.servers import missing

# Chromium must not look for anything outside this machine; without a sandbox, since CI runs as root. A name that ends
# in .example is this machine, as an attacker's name is once it has been bound to it.
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP *.example 127.0.0.1",
]


# The shell is the same engine without the windows that nobody would see: a quarter less work.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")


def find_chromium() -> str | None:
    """The path of Chromium's headless shell, else of Chromium (Debian's name first), or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


# One a module, not one a session: Playwright's loop runs in this thread, and no asyncio.run() works beside it.
@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Browser]:
    """A running Chromium with a new, empty profile; a test opens its own `new_page()` or `new_context()`."""
    executable = find_chromium()
    if executable is None:
        missing("Chromium: apt-get install chromium-headless-shell")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()
