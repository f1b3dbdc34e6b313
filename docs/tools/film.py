"""Films the sample village: `PYTHONPATH=. python docs/tools/film.py` lives a day with the rehearsal, replays parts
of it on the page in a headless Chromium, and writes docs/images/village.webp, twenty seconds of it.

The page's own clock is moved frame by frame, so that a slow machine films as smoothly as a fast one.
"""

import argparse
import io
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from service.settings import EmbeddingSettings, LlmSettings, MemorySettings, Settings, WorldSettings
from tests.servers.chromium import ARGUMENTS, find_chromium
from tests.web.test_browser import serving

FILM = Path(__file__).parents[1] / "images" / "village.webp"
FRAMES_A_SECOND = 8
BEGINS = datetime(2026, 4, 1, 7)


def busiest(events: list[dict[str, Any]], first: int, last: int, minutes: int) -> int:
    """The minute of the day, from `first` to `last`, with whose `minutes` most happens to be seen."""
    happens = Counter[int]()
    for one in events:
        at = datetime.fromisoformat(one["at"])
        happens[at.hour * 60 + at.minute] += {"departed": 1, "conversation_started": 3}.get(one["kind"], 0)
    return max(range(first, last), key=lambda start: sum(happens[start + step] for step in range(minutes)))


def frames(page: Page, begin: datetime, pace: int, seconds: float) -> Iterator[Image.Image]:
    """The map from that moment of the past on, replayed at so many world minutes a second."""
    minute = round((begin - datetime(1970, 1, 1)).total_seconds() / 60)
    page.locator("#pace").select_option(str(pace))
    page.locator("#bar").fill(str(minute))
    page.clock.run_for(1000)
    page.wait_for_timeout(1500)
    page.clock.run_for(1000)
    page.locator("#replay").click()
    for number in range(round(seconds * FRAMES_A_SECOND)):
        page.clock.run_for(1000 // FRAMES_A_SECOND)
        if number % 4 == 0:
            page.wait_for_timeout(60)  # what is said comes from the service
        yield Image.open(io.BytesIO(page.locator("#map").screenshot())).convert("RGB")
    page.locator("#replay").click()


def film(address: str, events: list[dict[str, Any]], language: str) -> list[Image.Image]:
    """Twenty seconds: a morning, and the evening with its lamps."""
    midnight = BEGINS.replace(hour=0)
    morning = midnight + timedelta(minutes=busiest(events, 7 * 60 + 5, 11 * 60, 24))
    evening = midnight + timedelta(minutes=busiest(events, 17 * 60 + 10, 18 * 60 + 20, 64))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1000, "height": 860})
        page.goto(f"{address}/?lang={language}")
        page.locator(".figure").first.wait_for()
        page.clock.install()
        page.clock.pause_at(datetime.now() + timedelta(seconds=5))
        found = [*frames(page, morning, 2, 12), *frames(page, evening, 8, 8)]
        browser.close()
    return found


def lived(client: httpx.Client) -> list[dict[str, Any]]:
    """What happened in the world, which has lived until evening at least."""
    for _ in range(14):
        if client.get("/world").json()["now"] >= f"{BEGINS:%Y-%m-%d}T20:30":
            break
        client.post("/world/tick", json={"ticks": 60}).raise_for_status()
    events: list[dict[str, Any]] = []
    page = {"next": "0"}
    while page["next"]:
        page = client.get("/world/events", params={"after": page["next"], "limit": 1000}).json()
        events += page["items"]
    return events


def main() -> None:
    """Live the day, film it, and say how large the film is."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--url", help="film the world of this running service; left out: one of its own")
    asked.add_argument("--language", default="en", choices=["en", "ja"])
    asked.add_argument("--out", type=Path, default=FILM)
    asked.add_argument("--quality", type=int, default=60)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as data:
        settings = Settings(
            _env_file=None,
            data_dir=Path(data),
            llm=LlmSettings(provider="rehearsal"),
            embedding=EmbeddingSettings(provider="none"),
            memory=MemorySettings(verify=False),
            world=WorldSettings(language=given.language),
        )
        with nullcontext(given.url) if given.url else serving(settings) as address:
            with httpx.Client(base_url=address, trust_env=False, timeout=1200) as client:
                events = lived(client)
            shots = film(address, events, given.language)
    shots[0].save(
        given.out,
        save_all=True,
        append_images=shots[1:],
        duration=1000 // FRAMES_A_SECOND,
        loop=0,
        quality=given.quality,
        method=4,
    )
    print(f"{given.out}: {len(shots)} frames, {given.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
