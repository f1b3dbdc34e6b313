"""Owns the checks of the map in a real browser: who walks is seen walking, what stands costs nothing, any map is shown,
and the day that has been is seen again.
"""

from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from service.settings import Settings
from tests.content.village import Village
from tests.servers import NO_AUTHORITIES
from tests.web.test_browser import looking, playing, serving

pytestmark = pytest.mark.server

COUNT_FRAMES = """
window.frames_asked = 0;
const ask = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (work) => { window.frames_asked++; return ask(work); };
"""
WALKS = """
async (map) => {
  const { correct, follow, Following, legOf, spotAt, stay, walk, waysOf } = await import("/view/static/walk.js");
  const way = waysOf(map);
  const there = [stay("a", 0)];
  follow(there, walk(way, "a", "d", 10, 40));
  const cut = [stay("a", 0)];
  follow(cut, walk(way, "a", "d", 10, 40));
  follow(cut, walk(way, "b", "a", 25, 35));
  const seen = [];
  const position = { node_id: "b", toward: "c", progress: 0.5, walking_to: "d", arrives_at: "1970-01-01T00:40" };
  correct(seen, way, position, 25);
  correct(seen, way, position, 25);
  const clock = new Following(0);
  clock.hear(10, 1000, 2000);
  return {
    way: way("a", "d"), closed: way("a", "post"), through: way("a", "behind"), none: way("a", "island"),
    spots: [5, 10, 15, 25, 40, 99].map((at) => spotAt(there, at)),
    cut: [19, 22, 30].map((at) => spotAt(cut, at)),
    seen: [seen.length, spotAt(seen, 25), spotAt(seen, 40)],
    apart: spotAt([walk(way, "a", "island", 0, 8)], 4),
    clock: [1000, 2000, 3000, 9000].map((ms) => clock.at(ms)),
  };
}
"""
EDGES = (("a", "b", 10), ("b", "c", 10), ("c", "d", 10), ("a", "d", 31), ("a", "post", 1), ("post", "behind", 1))


def client_of(address: str) -> httpx.Client:
    return httpx.Client(base_url=address, trust_env=False, timeout=60, verify=NO_AUTHORITIES)


def place_of(page: Page, person_id: str) -> tuple[float, float]:
    """Where somebody's face is on the map, in pixels."""
    x, y = page.locator(f".figure[data-person={person_id}]").evaluate(
        "node => (([x, y]) => [x, y])(node.style.transform.match(/[-\\\\d.]+/g).map(Number))"
    )
    return x, y


def rests(page: Page) -> int:
    """How many frames the page has asked for when it comes to rest."""
    frames = -1
    while (now := page.evaluate("window.frames_asked")) != frames:
        frames = now
        page.wait_for_timeout(1000)
    return frames


def on(content: Path, settings: Settings) -> Settings:
    return settings.model_copy(update={"content_dir": content})


def test_where_somebody_is_follows_from_walks_and_stays(chromium_browser: Browser, tmp_path: Path) -> None:
    ids = ("a", "b", "c", "d", "post", "behind", "island")
    given = {
        "nodes": [{"id": one, "closed": one == "post"} for one in ids],
        "edges": [{"a": a, "b": b, "minutes": minutes} for a, b, minutes in EDGES],
    }
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser) as page:
        page.goto(f"{address}/view/worlds")
        found: dict[str, Any] = page.evaluate(WALKS, given)
    assert found["way"] == {"nodes": ["a", "b", "c", "d"], "minutes": [0, 10, 20, 30]}
    assert found["closed"]["nodes"] == ["a", "post"], "somebody walks up to a post"
    assert found["through"] is None, "but not over it"
    assert found["none"] is None

    def at(node: str, toward: str | None = None, part: float = 0) -> dict[str, Any]:
        return {"node": node, "toward": toward, "part": part}

    assert found["spots"] == [at("a"), at("a", "b"), at("a", "b", 0.5), at("b", "c", 0.5), at("d"), at("d")]
    assert found["cut"] == [at("a", "b", 0.9), at("b"), at("b", "a", 0.5)], "who is called away stops on the way"
    assert found["seen"] == [1, at("b", "c", 0.5), at("d")]
    assert found["apart"] == at("a", "island", 0.5)
    assert found["clock"] == [0, 5, 10, 10], "what is shown comes to what is known, and never passes it"


def test_who_walks_is_between_places_and_what_stands_asks_for_no_frames(
    chromium_browser: Browser, tmp_path: Path
) -> None:
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser) as page, client_of(address) as client:
        page.add_init_script(COUNT_FRAMES)
        page.goto(address)
        face = page.locator(".figure[data-person=aoi]")
        expect(face.locator("img")).to_have_attribute("src", "/view/pictures/aoi.svg")
        home = place_of(page, "aoi")
        walk = client.post("/characters/aoi/actions", json={"type": "move", "npc_id": "npc_taro"}).json()
        client.post("/world/tick", json={"ticks": 2}).raise_for_status()
        page.wait_for_function("() => window.frames_asked > 0")
        expect(page.locator("#bar-time")).to_contain_text("07:02")
        page.wait_for_function(
            "before => document.querySelector('.figure[data-person=aoi]').style.transform !== before",
            arg=f"translate({home[0]}px, {home[1]}px)",
        )
        client.post("/world/tick", json={"ticks": walk["minutes"]}).raise_for_status()
        expect(page.locator("#clock")).to_contain_text(f"07:{2 + walk['minutes']:02}")
        frames = rests(page)
        page.wait_for_timeout(1500)
        assert page.evaluate("window.frames_asked") == frames, "nobody moves"
        face.click()
        expect(page.locator("#watched h3")).to_have_text("Aoi")
        expect(page.locator("#watched .badges")).to_contain_text("mood")
        page.locator("#follow").click()
        expect(page.locator("#follow")).to_have_attribute("aria-pressed", "true")
        page.locator("#watched .close").click()
        expect(page.locator("#watched")).to_be_hidden()


def test_the_day_that_has_been_is_seen_again_while_the_world_stays(chromium_browser: Browser, tmp_path: Path) -> None:
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser) as page, client_of(address) as client:
        begins = {one["id"]: one["position"]["node_id"] for one in client.get("/world/people").json()["people"]}
        client.post("/world/tick", json={"ticks": 300}).raise_for_status()
        ends = {one["id"]: one["position"]["node_id"] for one in client.get("/world/people").json()["people"]}
        moved = next(one for one in begins if begins[one] != ends[one])
        page.goto(f"{address}/?lang=en")
        expect(page.locator("#bar-time")).to_contain_text("12:00")
        now = page.locator(".figure").count()
        page.locator("#bar").press("Home")
        expect(page.locator("#bar-time")).to_contain_text("07:00")
        expect(page.locator("#back-to-now")).to_be_visible()
        expect(page.locator(".figure")).not_to_have_count(0)
        expect(page.locator("#clock")).to_contain_text("12:00")
        then = page.evaluate("id => document.querySelector(`.figure[data-person=${id}]`)?.style.transform", moved)
        page.locator("#pace").select_option("30")
        page.locator("#replay").click()
        expect(page.locator("#back-to-now")).to_be_hidden()
        expect(page.locator("#bar-time")).to_contain_text("12:00")
        expect(page.locator(".figure")).to_have_count(now)
        again = page.evaluate("id => document.querySelector(`.figure[data-person=${id}]`)?.style.transform", moved)
        assert again != then
        assert client.get("/world").json()["now"].endswith("12:00")


FIRST_OF_MANY = """
() => {
  const node = document.querySelector(".throng");
  const { left, top } = node.getBoundingClientRect();
  const sharp = window.devicePixelRatio;
  const { data, width } = node.getContext("2d").getImageData(0, 0, node.width, 400);
  const drawn = data.findIndex((part, index) => index % 4 === 3 && part === 255);
  const pixel = (drawn - 3) / 4;
  return [left + (pixel % width) / sharp, top + Math.floor(pixel / width) / sharp + 12];
}
"""


@pytest.mark.parametrize("coordinates", [True, False])
def test_any_map_is_shown_and_a_crowd_has_a_number(
    chromium_browser: Browser, tmp_path: Path, coordinates: bool
) -> None:
    village = Village()
    long = "Wolfeschlegelsteinhausenbergerdorff the Younger of the House at the Old Mill Pond"
    for number in range(300):
        one = {**village.sora, "id": f"p{number}", "name": f"{long} {number}", "home": "door"}
        village.people[f"characters/p{number}.yaml"] = one
    for node in () if coordinates else village.village["nodes"]:
        node.pop("x"), node.pop("y")
    content = village.write(tmp_path / "content")
    data = tmp_path / "data"
    data.mkdir()
    with serving(on(content, playing(data, "en"))) as address, looking(chromium_browser, width=390) as page:
        page.goto(address)
        expect(page.locator(".figure.many strong")).to_have_text("300")
        places = page.locator(".figure").evaluate_all("all => new Set(all.map((one) => one.style.transform)).size")
        assert places == page.locator(".figure").count() == 3, "the crowd, Sora and the baker"
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        page.locator(".figure.many").click()
        expect(page.locator("#watched li")).to_have_count(300)
        page.locator("#watched li button").nth(7).click()
        expect(page.locator("#watched h3")).to_contain_text(long)
        expect(page.locator(".figure.many strong")).to_have_text("300")


def test_who_walks_among_many_is_named_and_pressed(chromium_browser: Browser, tmp_path: Path) -> None:
    village = Village()
    nodes = [{"id": f"n{number}", "x": 60 * (number % 10), "y": 60 * (number // 10)} for number in range(80)]
    village.village["nodes"] += nodes
    village.village["edges"] += [{"from": "door", "to": node["id"], "minutes": 5} for node in nodes]
    for number, node in enumerate(nodes):
        one = {**village.sora, "id": f"p{number}", "name": f"Person {number}", "home": node["id"]}
        village.people[f"characters/p{number}.yaml"] = one
    data = tmp_path / "data"
    data.mkdir()
    settings = on(village.write(tmp_path / "content"), playing(data, "en"))
    with serving(settings) as address, looking(chromium_browser) as page:
        page.goto(address)
        expect(page.locator(".throng")).to_be_visible()
        expect(page.locator(".figure[data-person]")).to_have_count(0)
        spot = page.evaluate(FIRST_OF_MANY)
        page.mouse.move(*spot)
        expect(page.locator(".land")).to_have_class("land over")
        name = page.locator(".land").get_attribute("title")
        assert name
        page.mouse.click(*spot)
        expect(page.locator("#watched h3")).to_have_text(name)
        expect(page.locator(".figure.chosen")).to_have_count(1)


def test_a_portrait_that_is_a_script_runs_nothing(chromium_browser: Browser, tmp_path: Path) -> None:
    script = b'<svg xmlns="http://www.w3.org/2000/svg" onload="top.ran=1"><script>top.ran = 1</script></svg>'
    village = Village(raw={"pictures/hanna.svg": script})
    village.baker["portrait"] = "pictures/hanna.svg"
    data = tmp_path / "data"
    data.mkdir()
    settings = on(village.write(tmp_path / "content"), playing(data, "en"))
    with serving(settings) as address, chromium_browser.new_page() as page:
        page.goto(address)
        expect(page.locator(".figure.npc img").first).to_have_attribute("src", "/view/pictures/hanna.svg")
        assert page.evaluate("window.ran === undefined")
        page.goto(f"{address}/view/pictures/hanna.svg")
        assert page.evaluate("window.ran === undefined")


COVERING = """
() => {
  const boxes = [...document.querySelectorAll(".signs .node")].map((one) => one.getBoundingClientRect());
  boxes.sort((a, b) => a.left - b.left);
  return boxes.flatMap((a, at) => boxes.slice(at + 1, at + 400).filter((b) => b.left < a.right - 2 && b.top < a.bottom - 8 && a.top < b.bottom - 8)).length;
}
"""  # noqa: E501


def test_a_map_of_thousands_of_nodes_names_what_has_room_and_more_of_it_nearer(
    chromium_browser: Browser, tmp_path: Path
) -> None:
    village = Village()
    long = "Wolfeschlegelsteinhausenbergerdorff Square of the House at the Old Mill Pond"
    nodes = [{"id": f"n{number}", "name": {"en": f"{number} {long}"}} for number in range(2000)]
    for node in village.village["nodes"]:
        node.pop("x"), node.pop("y")
    village.village["nodes"] += nodes
    ways = [(number, number + step) for number in range(2000) for step in (1, 50) if number + step < 2000]
    village.village["edges"] += [{"from": f"n{a}", "to": f"n{b}", "minutes": 3} for a, b in ways]
    village.village["edges"].append({"from": "door", "to": "n0", "minutes": 3})
    village.people = {path: one for path, one in village.people.items() if not path.startswith("characters/")}
    data = tmp_path / "data"
    data.mkdir()
    settings = on(village.write(tmp_path / "content"), playing(data, "en"))
    with serving(settings) as address, looking(chromium_browser) as page:
        page.goto(f"{address}/?lang=en")
        names = page.locator(".signs .node")
        names.first.wait_for()
        far = names.count()
        assert page.evaluate(COVERING) == 0
        page.locator("#nearer").click()
        page.locator("#nearer").click()
        assert 0 < far < names.count() <= 2000
        assert page.evaluate(COVERING) == 0
        expect(page.locator("#no-characters")).to_be_visible()
        expect(page.locator("#act")).to_be_hidden()
