"""Owns the checks of the drawn memory in a real browser: what is drawn, read, walked and never covered."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import TypedDict

import pytest
from playwright.sync_api import Browser, Page, expect

from service.memory.memory_store import MemoryStore
from service.memory.record import Episode, Group, Kind, Memory, derived_memory_id
from service.store.session import Database
from tests.memory.memories import Store
from tests.servers.sqlite import put_migrated
from tests.web.test_browser import is_wider_than_the_screen, looking, playing, serving
from world.time import parse_time

pytestmark = pytest.mark.server

GROUP = Group(world_id="main", person_id="aoi")
LONG = "いつか沖へ出て、帰らなかった船のことを、誰かに話しておきたいと思っていたんだ。"

Told = tuple[str, str, str, str]
"""Who told it, what of it has one value, what it is about, and the text."""


class Box(TypedDict):
    """Where something is drawn, in pixels of the page."""

    left: float
    right: float
    top: float
    bottom: float


def remember(data_dir: Path, *talks: tuple[str, str, list[Told], bool]) -> None:
    """Talks of Aoi: the partner's id, the time, what was told, and whether the first of it replaces all told before."""

    async def write() -> None:
        put_migrated(data_dir / "kataribe.db")
        database = Database(f"sqlite:///{data_dir / 'kataribe.db'}")
        memory = Store(MemoryStore(database), database)
        before: list[str] = []
        for number, (partner_id, at, told, replaces) in enumerate(talks):
            name = f"talk-{number}"
            episode = Episode(conversation_id=name, partner_id=partner_id, text=name, topics=(), at=parse_time(at))
            drafts = [
                Memory(
                    id=derived_memory_id("aoi", name, index),
                    kind=Kind.FACT,
                    text=text,
                    about=about,
                    told_by=teller,
                    slot=slot,
                    conversation_id=name,
                    turns=(index,),
                    partner_id=partner_id,
                    valid_from=parse_time(at),
                    known_from=parse_time(at),
                    replaces=tuple(before) if replaces and index == 0 else (),
                )
                for index, (teller, slot, about, text) in enumerate(told)
            ]
            await memory.remember(GROUP, episode, drafts)
            before.extend(draft.id for draft in drafts)
        database.close()

    # In a thread of its own, for Playwright's loop runs in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(write())).result()


HARBOUR: tuple[tuple[str, str, list[Told], bool], ...] = (
    ("npc_taro", "2026-03-01T07:00", [("太郎", "住む", "港の小屋", "太郎は港の小屋に住んでいる。")], False),
    (
        "npc_taro",
        "2026-03-09T07:00",
        [("太郎", "住む", "山の家", "太郎は山の家に移った。"), ("太郎", "語る", LONG, f"太郎は「{LONG}」と言った。")],
        True,
    ),
    ("npc_harue", "2026-03-10T07:00", [("春江", "学校", "澪", "澪は学校に通っている。")], False),
)


def open_graph(page: Page, address: str, query: str = "") -> None:
    page.goto(f"{address}/view/characters/aoi/graph{query}")
    expect(page.locator("#graph")).to_have_attribute("aria-busy", "false")


def boxes(page: Page, selector: str) -> list[Box]:
    found: list[Box] = page.evaluate(
        """selector => [...document.querySelectorAll(selector)].map(one => {
          const { left, right, top, bottom } = one.getBoundingClientRect();
          return { left, right, top, bottom };
        })""",
        selector,
    )
    return found


def cover(a: Box, b: Box) -> bool:
    return min(a["right"], b["right"]) > max(a["left"], b["left"]) and min(a["bottom"], b["bottom"]) > max(
        a["top"], b["top"]
    )


def test_facts_are_drawn_read_and_walked(chromium_browser: Browser, tmp_path: Path) -> None:
    remember(tmp_path, *HARBOUR)
    with serving(playing(tmp_path, "ja")) as address, looking(chromium_browser) as page:
        page.goto(f"{address}/view/characters/aoi")
        page.get_by_role("link", name="記憶のつながりを図で見る").click()
        expect(page.locator("#counts")).to_contain_text("事実4件")

        # Who is of the cast has its colour; one that only talked is there too; a long name is a slip.
        expect(page.locator(".entity.character")).to_have_count(2)  # 葵, and 澪 of whom she heard
        expect(page.locator(".entity.npc")).to_have_count(2)
        expect(page.locator(".entity.npc", has_text="春江")).to_have_attribute("aria-label", "春江 — 事実1件")
        expect(page.locator("g.tie")).to_have_count(2)
        expect(page.locator(".entity.thing")).to_have_count(2)
        slip = page.locator(".entity.said")
        expect(slip).to_contain_text("…")
        expect(page.locator("#facts")).to_contain_text(LONG)
        radius = page.evaluate("name => +document.querySelector(name).getAttribute('r')", ".entity.npc[aria-label^=太郎] circle")  # fmt: skip  # noqa: E501
        assert radius > page.evaluate("name => +document.querySelector(name).getAttribute('r')", ".entity.npc[aria-label^=春江] circle")  # fmt: skip  # noqa: E501

        # The closed fact is dashed, and goes with the toggle together with what only it had touched.
        past = page.locator(".fact.past")
        expect(past).to_have_count(1)
        expect(past.locator(".line")).not_to_have_css("stroke-dasharray", "none")
        page.get_by_label("もう違うことも表示する").uncheck()
        expect(past).to_be_hidden()
        expect(page.locator(".entity", has_text="港の小屋")).to_be_hidden()
        expect(page.locator("#facts li:visible")).to_have_count(3)
        page.get_by_label("もう違うことも表示する").check()
        expect(past).to_be_visible()

        # The keyboard: Tab into the drawing, an arrow to what was told last, which is told in full below and in the
        # list.
        page.locator(".entity[tabindex='0']").focus()
        expect(page.locator("#detail")).to_contain_text("太郎")
        page.keyboard.press("ArrowRight")
        expect(page.locator(".fact:focus")).to_have_count(1)
        expect(page.locator("#detail")).to_contain_text(LONG)
        expect(page.locator("#detail a")).to_have_attribute("href", "/view/conversations/talk-1#turn-1")
        expect(page.locator("#facts li.pointed")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator(".choosing")).to_have_count(0)

        # The pointer: over an entry of the list its line stands out.
        page.locator("#facts li", has_text="学校に通っている").hover()
        expect(page.locator(".fact.lit")).to_have_attribute("aria-label", re.compile("春江.*澪は学校に通っている。"))
        page.locator(".fact.past .wide").dispatch_event("click")
        expect(page.locator("#detail s")).to_contain_text("太郎は港の小屋に住んでいる。")


@pytest.mark.parametrize(("facts", "width"), [(5, 1280), (60, 1280), (60, 390)])
def test_no_name_covers_another_however_many_there_are(
    chromium_browser: Browser, tmp_path: Path, facts: int, width: int
) -> None:
    people = ["太郎", "春江", "源蔵", "桐子", "志保", "鉄二"]
    told = [
        (people[n % 6], "話した", f"{n}番目のこと" if n % 3 else f"{n}、{LONG}", f"事実{n}。") for n in range(facts)
    ]
    remember(tmp_path, ("npc_taro", "2026-03-01T07:00", told, False))
    with serving(playing(tmp_path, "ja")) as address, looking(chromium_browser, width=width) as page:
        open_graph(page, address)
        expect(page.locator(".fact")).to_have_count(facts)
        drawn = boxes(page, ".entity")
        assert len(drawn) == facts + len(people[:facts]) + 1
        assert [pair for pair in combinations(drawn, 2) if cover(*pair)] == []
        assert not is_wider_than_the_screen(page)
        open_graph(page, address)
        assert boxes(page, ".entity") == drawn  # the same graph is drawn the same way


def test_an_empty_memory_says_so(chromium_browser: Browser, tmp_path: Path) -> None:
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser) as page:
        page.goto(f"{address}/view/characters/aoi/graph")
        expect(page.locator("#empty")).to_have_text("Nothing is remembered here.")
        expect(page.locator("#drawn")).to_be_hidden()
