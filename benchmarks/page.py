"""Measures the world's page in a headless Chromium, which draws by software: frames a second with 25 and 200 people
walking at once, the first paint, what is loaded, what the page and the service take of a core, and how long it takes
from the start of the service, on nothing yet, to the first words that a visitor is answered.
"""

import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.neo4j import NotHere
from tests.servers import NO_AUTHORITIES
from tests.servers.chromium import ARGUMENTS, find_chromium
from tests.web.test_browser import playing, serving

SECONDS = 5
CROWD = """
async ([count, seconds]) => {
  const { Village } = await import("/view/static/map.js");
  const { waysOf, walk } = await import("/view/static/walk.js");
  const { data } = await import("/view/static/page.js");
  const map = await (await fetch("/world/map")).json();
  const way = waysOf(map);
  const nodes = map.nodes.filter((node) => node.map_id === "harbour" && !node.closed).map((node) => node.id);
  const person = (_, index) => ({ id: `p${index}`, name: `Person ${index}`, kind: "character" });
  const people = Array.from({ length: count }, person);
  const at = (index) => nodes[index % nodes.length];
  const legs = new Map(people.map(({ id }, index) => [id, [walk(way, at(index), at(index * 7 + 20), 0, 60)]]));
  const begun = performance.now();
  let frames = 0;
  const box = document.createElement("div");
  box.className = "scroll";
  document.getElementById("map").replaceWith(box);
  const now = (ms) => (ms - begun) / 1000;
  const source = { now, isMoving: () => true, legs, people, lines: () => [], shown: () => frames++ };
  new Village(box, source, {}).show(map, "harbour", data.backgrounds.harbour);
  await new Promise((resolve) => setTimeout(resolve, 1500)); // faces are drawn for the first time
  const [from, ms] = [frames, performance.now()];
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  return (frames - from) / ((performance.now() - ms) / 1000);
}
"""
ANSWERED = """
() => [...document.querySelectorAll("#turns .npc .said, #speaking.npc:not([hidden]) .said")]
  .some((one) => one.textContent)
"""
LOADED = """
() => [
  performance.getEntriesByName("first-contentful-paint")[0].startTime,
  [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .filter(({ name }) => !/[/](world|characters|conversations|usage)/.test(new URL(name).pathname))
    .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) / 1000,
]
"""


def run(seconds: float = SECONDS) -> dict[str, float]:
    """In the bundled village; `seconds`: so long each share of time is measured.

    Raises:
        NotHere: there is no Chromium.
    """
    executable = find_chromium()
    if executable is None:
        raise NotHere("Chromium: apt-get install chromium-headless-shell")
    with (
        tempfile.TemporaryDirectory() as data,
        serving(playing(Path(data), "en")) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address)
        page.locator(".figure").first.wait_for()
        first_paint, kilobytes = page.evaluate(LOADED)
        still = busy(page, seconds)
        with httpx.Client(base_url=address, trust_env=False, timeout=60, verify=NO_AUTHORITIES) as client:
            client.put("/world/clock", json={"mode": "running", "speed": 60}).raise_for_status()
            page.wait_for_timeout(800 * seconds)
            before, begun = time.process_time(), time.monotonic()
            running = busy(page, seconds)
            service = (time.process_time() - before) / (time.monotonic() - begun)
            client.post("/world/stop").raise_for_status()
        frames = {}
        for count in (25, 200):
            page.goto(address)
            page.locator(".figure").first.wait_for()
            frames[f"fps_{count}"] = round(page.evaluate(CROWD, [count, seconds]), 1)
        first = first_talk(browser)
        browser.close()
    return {
        **frames,
        "first_talk_s": round(first, 1),
        "first_paint_ms": round(first_paint),
        "page_kb": round(kilobytes),
        "page_cpu_still": round(still, 3),
        "page_cpu_running": round(running, 3),
        "service_cpu_running": round(service, 3),
    }


def first_talk(browser: Browser) -> float:
    """Seconds of a start of the service, of its page of an NPC, and of the answer to the first words, by the rehearsal.
    No time of a hand or an eye is in it.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("kataribe")), "serve", "--rehearsal", "--language", "en"]
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as data:
        begun = time.monotonic()
        with (
            subprocess.Popen([*command, "--port", str(port), "--data", data], stderr=subprocess.DEVNULL) as service,
            httpx.Client(trust_env=False, verify=NO_AUTHORITIES) as client,
        ):
            try:
                while True:
                    try:
                        client.get(f"{address}/readyz")
                        break
                    except httpx.TransportError:
                        time.sleep(0.05)
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.goto(f"{address}/view/npcs/npc_taro")
                page.locator("#meet [name=name]").fill("Rika")
                page.locator("#meet button").click()
                page.locator("#say textarea").fill("Good morning! What do you do for a living?")
                page.locator("#say button").click()
                page.wait_for_function(ANSWERED)
                return time.monotonic() - begun
            finally:
                service.terminate()


def busy(page: Page, seconds: float) -> float:
    """The share of a core that the page's own work takes over so many seconds."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    taken = []
    for pause in (seconds * 1000, 0):
        metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
        taken.append((metrics["TaskDuration"], metrics["Timestamp"]))
        page.wait_for_timeout(pause)
    (task, at), (later_task, later) = taken
    return float((later_task - task) / (later - at))
