"""Owns the checks of the pages in a real browser against a real server: what a person sees and presses."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect
from pydantic import SecretStr

from service.api.server import Server
from service.app import create_app
from service.errors import ModelServerError
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.settings import EmbeddingSettings, LlmSettings, MemorySettings, QualitySettings, Settings, WorldSettings
from studio.exchange.incoming import incoming
from tests.content.village import Village
from tests.conversation.scenes import acts
from tests.memory.answers import memory, plain
from tests.scripted_model import ScriptedModel
from tests.servers import NO_AUTHORITIES
from tests.servers.fake_openai import FakeOpenAI

pytestmark = pytest.mark.server

# What a page says in each language is proved by test_languages and test_texts; here each story is told in one.
WORDS = {"rehearsal": "稽古", "walk": "会いに行く", "talk": "話しかける", "memory": "ふたりの仲", "ago": "2日前"}

# The page itself notes what it shows: a test that looks from outside may always come too late.
WATCH = """
window.seen = {};
new MutationObserver(() => {
  const box = document.getElementById("speaking");
  if (!box || box.hidden || document.getElementById(`turn-${box.dataset.turn}`)) return;
  (window.seen[box.dataset.turn] ??= []).push(box.querySelector(".said").textContent);
}).observe(document, { subtree: true, childList: true, characterData: true });
"""

expect.set_options(timeout=20_000)  # the machines of CI are busy


@contextmanager
def serving(settings: Settings, models: Models | None = None, *, reload_content: bool = False) -> Iterator[str]:
    """A real server on a free port of this machine; its address."""
    app = create_app(settings, models=models, reload_content=reload_content, importer=incoming)
    server = Server(app)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        deadline = time.monotonic() + 30
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            assert time.monotonic() < deadline, "the server did not start in time"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive(), "the server did not stop"


def playing(tmp_path: Path, language: Language, llm: LlmSettings | None = None) -> Settings:
    return Settings(
        _env_file=None,
        data_dir=tmp_path,
        llm=llm or LlmSettings(provider="rehearsal", rehearsal_pace_seconds=0.01),
        embedding=EmbeddingSettings(provider="none"),
        memory=MemorySettings(verify=False),
        world=WorldSettings(language=language, decision="routine"),
    )


@contextmanager
def looking(browser: Browser, *, width: int = 1280, refusals: bool = False) -> Iterator[Page]:
    """A page of its own, in a browser that asks for no language of the service; nothing may be complained about in its
    console, but, with `refusals`, that something was refused.
    """
    with browser.new_context(viewport={"width": width, "height": 844}, locale="fr-FR") as context:
        context.set_default_timeout(90_000)  # a busy machine renders the whole API for half a minute
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield page
        assert [said for said in complaints if not (refusals and "status of 4" in said)] == []


def spoken(page: Page) -> dict[str, list[str]]:
    """What was seen of each turn while it was not committed yet, in order."""
    seen: dict[str, list[str]] = page.evaluate("window.seen")
    return seen


def is_wider_than_the_screen(page: Page) -> bool:
    wider: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return wider


def meet(page: Page, address: str) -> None:
    """Walk Aoi to Taro and begin to talk: the page of their conversation."""
    page.goto(address)
    page.locator("[data-character=aoi]").click()
    page.locator("#partner").select_option("npc_taro")
    page.locator("#walk").click()
    expect(page.locator("#arrive")).to_be_visible()
    expect(page.locator("[data-character=aoi] .quiet")).not_to_contain_text("·")
    page.locator("#arrive").click()
    expect(page.locator("#arrive")).to_be_hidden()
    page.locator("#talk").click()
    page.wait_for_url("**/view/conversations/*")


def test_a_person_plays_a_meeting_and_sees_what_is_remembered(chromium_browser: Browser, tmp_path: Path) -> None:
    growing = LlmSettings(provider="rehearsal", rehearsal_pace_seconds=0.1)
    with serving(playing(tmp_path, "ja", growing)) as address, looking(chromium_browser) as page:
        page.goto(address)
        expect(page.locator("html")).to_have_attribute("lang", "ja")
        expect(page.locator("#badges")).to_contain_text(WORDS["rehearsal"])
        expect(page.locator("#clock")).to_contain_text("7:00")
        expect(page.locator(".figure.npc")).not_to_have_count(0)
        expect(page.locator("#walk")).to_have_text(WORDS["walk"])
        expect(page.locator("#talk")).to_have_text(WORDS["talk"])

        page.add_init_script(WATCH)
        meet(page, address)
        expect(page.locator("#changes")).to_be_visible()
        expect(page.locator("#turns > li")).not_to_have_count(0)
        expect(page.locator("#speaking")).to_be_hidden()
        expect(page.locator("#badges")).to_contain_text(WORDS["rehearsal"])
        expect(page.locator("#changes .affinity")).to_contain_text("0 → ")
        expect(page.locator("#changes .summary")).not_to_be_empty()
        grown = {turn: texts for turn, texts in spoken(page).items() if len(texts) > 2}
        assert grown, "utterances are seen to grow before they are committed"
        for turn, texts in grown.items():
            assert all(later.startswith(text) for text, later in pairwise(texts))
            assert page.locator(f"#turn-{turn} .said").inner_text().startswith(texts[-1].strip())

        page.locator("#turn-0 .why summary").click()
        expect(page.locator("#turn-0 .why p").first).to_contain_text("望んだこと")
        expect(page.locator("#turn-0 .why p").last).to_contain_text("KATARIBE_KEEP_PROMPTS")
        expect(page.locator("#turn-0 .why pre")).to_have_count(0)

        page.goto(address)
        page.locator("[data-minutes='1440']").click()
        page.locator("[data-minutes='1440']:enabled").click()
        expect(page.locator("#clock")).to_contain_text("4月3日")
        page.goto(f"{address}/view/characters/aoi?about=npc_taro")
        expect(page.get_by_role("heading", name=WORDS["memory"])).to_be_visible()
        expect(page.locator("#memory .ago").first).to_have_text(WORDS["ago"])
        source = page.locator(".facts a[href*='#turn-']").first
        source.click()
        expect(page.locator(".pointed .said")).to_be_visible()


def test_without_a_model_the_page_says_what_to_set(
    chromium_browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving(playing(tmp_path, "en", LlmSettings())) as address, looking(chromium_browser) as page:
        page.goto(address)
        expect(page.locator("#no-model")).to_be_visible()
        expect(page.locator("#no-model")).to_contain_text("KATARIBE_LLM__PROVIDER=rehearsal")
        expect(page.locator("#badges")).not_to_contain_text("rehearsal")


def test_a_running_conversation_can_be_ended(chromium_browser: Browser, tmp_path: Path) -> None:
    slow = LlmSettings(provider="rehearsal", rehearsal_pace_seconds=1.0)
    with serving(playing(tmp_path, "en", slow)) as address, looking(chromium_browser) as page:
        meet(page, address)
        expect(page.locator("#speaking .said")).not_to_be_empty()
        page.locator("#end").click()
        expect(page.locator("#status")).to_contain_text("has ended it")
        expect(page.locator("#changes")).to_be_visible()
        expect(page.locator("#end")).to_be_hidden()


def script() -> ScriptedModel:
    """A short talk whose closing fails once; the second says something true, something untrue and a plan."""
    model = ScriptedModel()
    said = {"wants_to_end": False, "emotion": "neutral"}
    model.enqueue(said | {"utterance": "How is your boat, Taro?", "goal_achieved": False}, role="character")
    model.enqueue(said | {"utterance": "<b>I painted the boat red.</b> Come on Friday!"}, role="npc")
    model.enqueue(ModelServerError(model="scripted", status_code=500, reason="it is on fire"), role="closing")
    kept = [memory("Taro painted the boat red.", 1), memory("Taro sold the lighthouse to a whale.", 9)]
    aoi = {"memories": [*kept, memory("Aoi is to come on Friday.", 1, lasts="high")], "intimacy": 1}
    closing = plain("They spoke of the boat.", topics=("boat",), first=aoi, second={"affinity": -5, "mood": "angry"})
    model.enqueue(closing, role="closing")
    return model


def test_a_failed_closing_is_shown_and_can_be_done_again(chromium_browser: Browser, tmp_path: Path) -> None:
    settings = playing(tmp_path, "en").model_copy(update={"max_turns": 2})
    models = Models(dict.fromkeys(ROLES, script()))
    with serving(settings, models) as address, looking(chromium_browser) as page:
        page.goto(address)
        page.locator("details").click()
        page.locator("#goal").fill("Hear about the boat")
        page.locator("#criteria").fill("Heard one thing about it")
        page.locator("[data-character=aoi]").click()
        page.locator("#partner").select_option("npc_taro")
        page.locator("#walk").click()
        page.locator("#arrive").click()
        expect(page.locator("#arrive")).to_be_hidden()
        page.locator("#talk").click()
        page.wait_for_url("**/view/conversations/*")

        expect(page.locator("#changes")).to_contain_text("it is on fire")
        expect(page.locator("#badges")).to_contain_text("not remembered yet")
        expect(page.locator("#badges")).not_to_contain_text("rehearsal")
        expect(page.locator("#goal")).to_contain_text("Heard one thing about it")
        expect(page.locator("#turn-1 .said")).to_have_text("<b>I painted the boat red.</b> Come on Friday!")
        page.locator("#close").click()

        changes = page.locator("#changes")
        expect(changes).to_contain_text("They spoke of the boat.")
        expect(changes.locator(".affinity")).to_contain_text("0 → -5")
        expect(changes).to_contain_text("Taro painted the boat red. turn 1")
        expect(changes.locator("li", has=page.locator("s"))).to_contain_text("it names a turn that does not exist")
        expect(changes).to_contain_text("Aoi is to come on Friday. high until")
        expect(page.locator("#close")).to_be_hidden()
        expect(page.locator("#turns > li")).to_have_count(2)


def test_a_lost_stream_is_taken_up_again_without_a_line_twice(chromium_browser: Browser, tmp_path: Path) -> None:
    asked: list[str | None] = []

    def cut(route: Route) -> None:
        """The first answer breaks off after one turn; the second request goes through."""
        asked.append(route.request.headers.get("last-event-id"))
        if len(asked) > 1:
            route.continue_()
            return
        turn = '{"turn":0,"speaker_id":"aoi","speaker_name":"Aoi","text":"cut off here","emotion":"neutral"}'
        body = f": hello\r\n\r\nevent: turn\r\nid: 1\r\ndata: {turn}\r\n\r\nevent: turn\r\nda"
        route.fulfill(content_type="text/event-stream", body=body)

    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser) as page:
        page.route("**/events", cut)
        meet(page, address)
        expect(page.locator("#changes")).to_be_visible()
        assert asked == [None, "1"]
        expect(page.locator("#turn-0 .said")).to_have_text("cut off here")
        expect(page.locator("#turn-1")).to_have_count(1)


FOLLOW = """
(address) => new Promise((done, fail) => {
  const heard = [];
  const stream = new EventSource(address);
  stream.addEventListener("turn", (event) => heard.push(JSON.parse(event.data).text));
  stream.addEventListener("closed", () => (stream.close(), done(heard)));
  stream.onerror = () => (stream.close(), fail(new Error("refused")));
})
"""


def test_the_stream_of_another_world_is_heard_by_an_event_source(chromium_browser: Browser, tmp_path: Path) -> None:
    """It cannot send X-World-Id."""
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser) as page:
        meet(page, f"{address}/?world_id=other")
        expect(page.locator("#changes")).to_be_visible()
        conversation_id = page.url.split("/")[-1].split("?")[0]
        with httpx.Client(base_url=address, trust_env=False, verify=NO_AUTHORITIES) as client:
            held = client.get(f"/conversations/{conversation_id}?world_id=other").json()
        heard = page.evaluate(FOLLOW, held["links"]["events"])
        assert heard == [turn["text"] for turn in held["turns"]] != []


def test_a_phone_never_scrolls_sideways(chromium_browser: Browser, tmp_path: Path) -> None:
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser, width=390) as page:
        meet(page, address)
        expect(page.locator("#changes")).to_be_visible()
        assert not is_wider_than_the_screen(page)
        conversation = urlsplit(page.url).path
        for path, sign in (
            ("/?lang=ja", ".figure"),
            ("/?lang=en", ".figure"),
            (f"{conversation}?lang=ja", "#changes .summary"),
            ("/view/characters/aoi?about=npc_taro&lang=ja", ".card"),
            ("/view/characters/aoi?about=npc_taro&lang=en", ".card"),
            ("/view/npcs/npc_taro?lang=ja", "#memory .card"),
            ("/view/npcs/npc_taro?lang=en", "#memory .card"),
            ("/view/worlds?lang=ja", "#worlds a"),
            ("/view/worlds?lang=en", "#worlds a"),
        ):
            page.goto(address + path)
            expect(page.locator(sign).first).to_be_attached()
            assert not is_wider_than_the_screen(page), path


def test_a_world_is_saved_branched_compared_and_restored(chromium_browser: Browser, tmp_path: Path) -> None:
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser, width=390) as page:
        with httpx.Client(base_url=address, trust_env=False, timeout=60, verify=NO_AUTHORITIES) as client:
            client.post("/world/tick", json={"ticks": 1}).raise_for_status()
        page.goto(f"{address}/view/worlds")
        main, box = page.locator("#world-main"), page.get_by_role("dialog")
        expect(page.locator("#compare")).to_be_hidden()
        main.get_by_role("button", name="Save").click()
        box.get_by_role("textbox").fill("morning")
        box.get_by_role("button", name="Do it").click()
        expect(main.locator(".saves li")).to_contain_text("morning")
        meet(page, address)
        expect(page.locator("#changes")).to_be_visible()
        page.goto(f"{address}/view/worlds")
        main.get_by_role("button", name="Branch: main morning").click()
        box.get_by_role("textbox").fill("what-if")
        page.keyboard.press("Enter")
        expect(main.locator(".branches #world-what-if")).to_contain_text("branched off from main")
        main.get_by_role("button", name="Branch: main morning").click()
        box.get_by_role("button", name="Cancel").click()
        expect(page.locator("#worlds .entry")).to_have_count(2)
        page.locator("#compare button").click()
        said = page.get_by_role("table", name="Said otherwise")
        expect(said.locator("tr").nth(2)).to_contain_text("Aoi")
        expect(said.locator("tr").nth(2).locator("td").last).to_have_text("—")
        expect(page.get_by_role("table", name="Who stands otherwise to whom")).to_contain_text("Taro → Aoi")
        assert not is_wider_than_the_screen(page)
        main.get_by_role("button", name="Restore: main morning").click()
        expect(box).to_contain_text("Everything after that is gone")
        with page.expect_response(lambda one: "/world/restore" in one.url):  # a talk that goes meanwhile is not found
            box.get_by_role("button", name="Do it").click()
        page.goto(address)
        expect(page.locator("#conversations")).to_contain_text("Nobody has talked yet")


def test_a_memory_is_searched_and_asked_about_another_person(chromium_browser: Browser, tmp_path: Path) -> None:
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser) as page:
        meet(page, address)
        expect(page.locator("#changes")).to_be_visible()
        page.goto(f"{address}/view/characters/aoi")
        expect(page.locator("#about")).to_have_value("npc_taro")  # whom she talked with last
        expect(page.locator("#memory .facts li")).not_to_have_count(0)
        page.locator("#query").fill("boat & sea")
        with page.expect_response(lambda answer: "query=boat+%26+sea" in answer.url) as found:
            page.keyboard.press("Enter")
        assert found.value.ok
        with page.expect_response(lambda answer: "history=true" in answer.url):
            page.locator("#history").check()
        page.locator("#about").select_option("npc_harue")
        expect(page.locator("#memory")).to_contain_text("never")
        assert "about=npc_harue" in page.url


def test_the_time_buttons_say_what_a_long_tick_really_brings(chromium_browser: Browser, tmp_path: Path) -> None:
    settings = playing(tmp_path, "en").model_copy(
        update={"world": WorldSettings(language="en", tick_minutes=30, decision="routine")}
    )
    with serving(settings) as address, looking(chromium_browser) as page:
        page.goto(address)
        expect(page.locator("#ticks button")).to_have_text(["+30 min", "+1 h", "+1 day"])
        page.locator("#ticks button").first.click()
        expect(page.locator("#clock")).to_contain_text("07:30")
        expect(page.locator("#events")).not_to_contain_text("Nothing has happened yet")


def test_the_api_is_read_and_tried_without_a_word_to_anybody_else(chromium_browser: Browser, tmp_path: Path) -> None:
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/docs")
        moving = page.locator(".opblock", has_text="/world/tick")
        moving.locator("button").first.click()
        moving.get_by_role("button", name="Try it out").click()
        moving.get_by_role("button", name="Execute").click()
        expect(moving.locator(".live-responses-table td.response-col_status:not(.col_header)")).to_contain_text("200")
        page.goto(address)
        expect(page.locator("#clock")).not_to_contain_text("07:00")
        own = [url for url in asked if url.startswith((f"{address}/", "data:"))]
        assert asked == own


def test_a_person_logs_in_once_and_everything_is_there(chromium_browser: Browser, tmp_path: Path) -> None:
    settings = playing(tmp_path, "ja").model_copy(update={"api_key": SecretStr("a-key-of-a-browser")})
    with serving(settings) as address, looking(chromium_browser) as page:
        page.goto(f"{address}/?lang=en")
        expect(page.locator("h1")).to_have_text("Log in")
        page.locator("input[type=password]").fill("a-kez")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert").filter(has_text="not the key")).to_be_visible()
        page.locator("input[type=password]").fill("a-key-of-a-browser")
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"{address}/?lang=en")
        meet(page, f"{address}/?lang=en")
        expect(page.locator("#changes")).to_be_visible()  # the stream of events was followed to its end
        expect(page.locator("#turns > li")).not_to_have_count(0)
        assert page.evaluate("document.cookie") == ""
        page.goto(f"{address}/docs")
        expect(page.locator(".opblock")).not_to_have_count(0)


ASK = """
async ([path, method]) => {
  const answer = await fetch(path, { method });
  return [answer.status, await answer.text()];
}
"""


def test_a_page_that_binds_its_name_to_this_machine_reads_and_deletes_nothing(
    chromium_browser: Browser, tmp_path: Path
) -> None:
    """DNS rebinding: a page of evil.example, whose own name leads here meanwhile, asks what to itself is its own
    site.
    """
    with serving(playing(tmp_path, "en")) as address, chromium_browser.new_context() as context:
        page = context.new_page()
        port = address.rpartition(":")[2]
        page.goto(f"http://evil.example:{port}/")
        assert page.evaluate("location.origin") == f"http://evil.example:{port}"
        for path, method in (("/characters/aoi/memory?npc_id=npc_taro", "GET"), ("/", "GET"), ("/world", "DELETE")):
            status, told = page.evaluate(ASK, [path, method])
            assert (status, "host-not-allowed" in told) == (403, True), (path, method)
        page.goto(address)
        assert page.evaluate(ASK, ["/characters/aoi/memory?npc_id=npc_taro", "GET"])[0] == 200


def test_a_person_sees_what_is_left_of_the_budget_and_why_the_clock_stands(
    chromium_browser: Browser, tmp_path: Path
) -> None:
    stopped = "時計を止めました"
    with FakeOpenAI() as server:
        llm = LlmSettings(
            base_url=server.base_url, model="gpt-x", max_calls_per_day=2, max_tokens_per_day=1_000_000, attempts=1
        )
        with serving(playing(tmp_path, "ja", llm)) as address, looking(chromium_browser) as page:
            page.goto(address)
            for words in ("モデル呼び出し: 残り2回(上限2回)", "トークン: 残り1,000,000"):
                expect(page.locator("#badges")).to_contain_text(words)
            with httpx.Client(base_url=address, trust_env=False, verify=NO_AUTHORITIES) as client:
                client.patch("/world", json={"decision": "model"})
                client.put("/world/clock", json={"mode": "running", "speed": 3000})
            expect(page.locator("#badges")).to_contain_text(stopped)
            expect(page.locator("#events")).to_contain_text(stopped)


REFUSED = {
    "en": "News for everybody: expected a text of 1 or more characters",
    "ja": "皆へのお知らせ: 1文字以上にしてください",
}


def test_a_world_is_run_paused_and_told_news_on_its_page(chromium_browser: Browser, tmp_path: Path) -> None:
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser) as page:
        page.goto(address)
        page.locator("#weather").fill("Rain")
        page.keyboard.press("Enter")
        expect(page.locator("#badges")).to_contain_text("weather: Rain")
        page.locator("#text").fill("Festival")
        page.locator("#announce button").click()
        expect(page.locator("#events")).to_contain_text("Announced: Festival")
        expect(page.locator("#badges")).to_contain_text("Festival")

        page.locator("#speed").select_option("1440")
        expect(page.locator("#play")).to_contain_text("Run")
        page.locator("#play").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#badges")).to_contain_text("runs by itself, 1440 world min a minute")
        expect(page.locator("#play")).to_contain_text("Pause")
        expect(page.locator("#clock")).not_to_contain_text("7:00")
        page.locator("#play:enabled").click()
        expect(page.locator("#play")).to_contain_text("Run")
        with httpx.Client(base_url=address, trust_env=False, verify=NO_AUTHORITIES) as client:
            assert client.get("/world").json()["clock"]["mode"] == "manual"


@pytest.mark.parametrize("language", ["ja", "en"])
def test_a_control_that_fails_says_why_in_the_language_of_the_page(
    chromium_browser: Browser, tmp_path: Path, language: Language
) -> None:
    other: Language = "en" if language == "ja" else "ja"
    with serving(playing(tmp_path, other)) as address, chromium_browser.new_page() as page:
        page.goto(f"{address}/?lang={language}")
        page.locator("#announce button").click()
        expect(page.get_by_role("alert")).to_contain_text(REFUSED[language])


def test_events_are_chosen_by_kind_and_person(chromium_browser: Browser, tmp_path: Path) -> None:
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser) as page:
        with httpx.Client(base_url=address, trust_env=False, timeout=60, verify=NO_AUTHORITIES) as client:
            client.post("/world/tick", json={"ticks": 300}).raise_for_status()
            every = client.get("/world/events", params={"limit": 1000}).json()["items"]
        page.goto(address)
        events = page.locator("#events li:has(time)")
        expect(events).to_have_count(60)
        page.locator("#older").click()
        expect(events).to_have_count(min(120, len(every)))
        expect(page.locator("#kind option").first).to_have_text("everything")
        page.locator("#kind").select_option("departed")
        page.locator("#who").select_option("aoi")
        own = [one for one in every if (one["kind"], one["person_id"]) == ("departed", "aoi")]
        expect(events).to_have_count(len(own))
        page.locator("#kind").select_option("clock_stopped")
        expect(page.locator("#events time")).to_have_count(0)


def test_the_map_shows_who_comes_and_goes(chromium_browser: Browser, tmp_path: Path) -> None:
    sumi = {"kind": "npc", "name": "Sumi", "personality": "Quiet.", "node_id": "quay_west"}
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser) as page:
        with httpx.Client(base_url=address, trust_env=False, verify=NO_AUTHORITIES) as client:
            client.put("/people/mika", json={"kind": "player", "name": "Mika"}).raise_for_status()
            client.put("/people/mika/position", json={"node_id": "quay_pier"}).raise_for_status()
            client.put("/people/sumi", json=sumi).raise_for_status()
            page.goto(address)
            expect(page.locator("#map .figure.player .name")).to_have_text("Mika")
            expect(page.locator("#npcs")).to_contain_text("Sumi")
            expect(page.locator("#npcs")).not_to_contain_text("Mika")
            expect(page.locator("#players")).to_contain_text("Mika")
            client.put("/people/mika/position", json={"node_id": None}).raise_for_status()
            client.delete("/people/sumi").raise_for_status()
        page.locator("#ticks button").first.click()
        expect(page.locator("#map .figure.player")).to_have_count(0)
        expect(page.locator("#npcs")).not_to_contain_text("Sumi")
        expect(page.locator("#players-here")).to_be_hidden()


def test_an_npc_has_a_page_with_all_that_is_its_own(chromium_browser: Browser, tmp_path: Path) -> None:
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser) as page:
        meet(page, address)
        expect(page.locator("#changes")).to_be_visible()
        with httpx.Client(base_url=address, trust_env=False, verify=NO_AUTHORITIES) as client:
            client.patch("/npcs/npc_taro", json={"mood": "happy", "affinity": {"aoi": 42}}).raise_for_status()
            fact = client.get("/npcs/npc_taro").json()["facts"][0]
        page.goto(address)
        page.locator("#npcs a", has_text="Taro").first.click()
        page.wait_for_url("**/view/npcs/npc_taro*")
        expect(page.locator("h1")).to_have_text("Taro")
        expect(page.locator("#mood")).to_contain_text("happy")
        expect(page.locator("#affinity li")).to_contain_text(["Aoi"])
        expect(page.locator("#affinity")).to_contain_text("+42")
        expect(page.get_by_text(fact, exact=True)).to_be_visible()
        expect(page.locator("#about")).to_have_value("aoi")
        expect(page.locator("#memory .facts li")).not_to_have_count(0)
        expect(page.locator("#conversations a")).to_have_count(1)
        page.locator("#affinity a").click()
        page.wait_for_url("**/view/characters/aoi?about=npc_taro*")


def test_a_japanese_page_of_an_english_world_lets_a_character_go_in_japanese(
    chromium_browser: Browser, tmp_path: Path
) -> None:
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser) as page:
        meet(page, address)
        expect(page.locator("#changes")).to_be_visible()
        page.goto(f"{address}/view/characters/aoi?about=npc_taro&lang=ja")
        expect(page.locator("#memory .ago").first).to_have_text(re.compile("前$|^たった今$"))
        expect(page.locator("#life .needs")).not_to_have_text(re.compile("[A-Za-z]"))
        expect(page.locator("#life")).to_contain_text("クライアントが操作")
        page.get_by_role("button", name="自分で決めさせる").click()
        expect(page.locator("#life")).to_contain_text("日課どおり")


def test_a_person_speaks_as_a_player_and_takes_over_from_a_model(chromium_browser: Browser, tmp_path: Path) -> None:
    pace = LlmSettings(provider="rehearsal", rehearsal_pace_seconds=0.1)
    with serving(playing(tmp_path, "en", pace)) as address, looking(chromium_browser, width=390) as page:
        page.add_init_script(WATCH)
        page.goto(f"{address}/view/npcs/npc_taro")
        page.locator("#meet input").fill("Ken <b>")
        page.locator("#meet button").click()
        page.wait_for_url("**/view/conversations/*")
        expect(page.locator("#say-as")).to_contain_text("Ken <b>")
        page.locator("#say textarea").fill("Hello. I am a glassblower from Minato.")
        page.keyboard.press("Enter")
        expect(page.locator("#turn-0 .said")).to_have_text("Hello. I am a glassblower from Minato.")
        expect(page.locator("#turn-0 .why")).to_have_count(0)
        expect(page.locator("#turn-1")).to_contain_text("Taro")
        assert len(spoken(page)["1"]) > 1, "words are seen while they are spoken"
        expect(page.locator("#choices button")).to_have_count(3)
        line = page.locator("#choices button").first.text_content() or ""
        page.locator("#choices button").first.click()
        expect(page.locator("#turn-2 .said")).to_have_text(line)
        expect(page.locator("#turn-3")).to_be_visible()
        expect(page.locator("#say textarea")).to_be_focused()
        assert not is_wider_than_the_screen(page)
        page.locator("#end").click()
        expect(page.locator("#changes")).to_contain_text("glassblower")
        expect(page.locator("#say")).to_be_hidden()

        meet(page, address)
        page.locator("#take").click()
        expect(page.locator("#say-as")).to_contain_text("Aoi")
        page.locator("#say textarea").fill("Now I speak for myself.")
        page.locator("#say button").click()
        expect(page.locator("#turns")).to_contain_text("Now I speak for myself.")
        page.locator("#give").click()
        expect(page.locator("#changes")).to_be_visible()


def test_errors_of_a_changed_file_come_up_on_the_page_and_go(tmp_path: Path, chromium_browser: Browser) -> None:
    game = Village().write(tmp_path / "game")
    baker = game / "npcs" / "baker.yaml"
    sound = baker.read_text(encoding="utf-8")
    settings = playing(tmp_path, "en").model_copy(update={"content_dir": game})
    with serving(settings, reload_content=True) as url, looking(chromium_browser) as page:
        page.goto(url + "/?lang=en")
        expect(page.locator("#clock")).not_to_be_empty()
        expect(page.locator("#content-errors")).to_be_hidden()
        baker.write_text(sound + "moood: happy\n", encoding="utf-8")
        expect(page.locator("#errors li")).to_contain_text('npcs/baker.yaml: moood: unknown key "moood"')
        baker.write_text(sound, encoding="utf-8")
        expect(page.locator("#content-errors")).to_be_hidden()


def test_a_writer_plays_a_scene_steps_in_and_goes_back(chromium_browser: Browser, tmp_path: Path) -> None:
    proposed = {"text": "Sota spoke of the weather.", "importance": 6, "turns": [1]}
    script = ScriptedModel(
        acts("Good evening.", think="Will they tell me?", act="sits down"),
        acts("Such weather!"),
        acts("Quite so."),
        {"experiences": [], "goals": [], "memories": [proposed]},
        acts("Otherwise."),
    )
    models = Models(dict.fromkeys(ROLES, script))
    with serving(playing(tmp_path, "en"), models) as address, looking(chromium_browser, width=390) as page:
        page.goto(f"{address}/view/scenes")
        page.get_by_role("button", name="Begin: S001").click()
        page.wait_for_url("**/view/scenes/S001")
        page.locator("#next").click()
        expect(page.locator("#turn-0 .think")).to_contain_text("Will they tell me?")
        expect(page.locator("#turn-0 .did")).to_contain_text("sits down")
        page.locator("#kind").select_option("revelation")
        page.locator("#who").select_option("aoi")
        page.locator("#text").fill("<b>They know.</b>")
        page.locator("#intervene button").click()
        expect(page.locator("#turns .done")).to_contain_text("Aoi <b>They know.</b>")
        for turn in (1, 2):
            page.locator("#next").click()
            expect(page.locator(f"#turn-{turn} .said")).to_be_visible()
        expect(page.locator("#turn-2.npc .why > summary")).to_have_css("text-align", "left")
        page.locator("#kind").select_option("long_term_update_request")
        page.locator("#who").select_option("aoi")
        page.locator("#intervene button").click()
        page.locator("#proposals textarea").fill("Sota complained of the weather.")
        page.get_by_role("button", name="Accept").click()
        expect(page.locator("#proposals")).to_contain_text("accepted")
        assert not is_wider_than_the_screen(page)
        page.locator("#turn-1").get_by_role("button").click()
        page.locator("#ask").get_by_role("button", name="Do it").click()
        expect(page.locator("#status")).to_contain_text("before-rewind-S001-1")
        expect(page.locator("#turns li")).to_have_count(1)
        page.locator("#next").click()
        expect(page.locator("#turn-1 .said")).to_have_text("Otherwise.")
        page.locator("#end").click()
        expect(page.locator("#going")).to_be_hidden()
        expect(page.locator("#kind")).to_have_value("long_term_update_request")


def test_quality_shows_scores_over_time_and_the_worst_lines_with_the_way_to_them(
    chromium_browser: Browser, tmp_path: Path
) -> None:
    checking = playing(tmp_path, "ja").model_copy(update={"quality": QualitySettings(share=1, decision=0)})
    with serving(checking) as address, looking(chromium_browser) as page:
        page.goto(f"{address}/view/quality")
        expect(page.locator("#counts")).to_have_text("まだ何も確かめていません。")
        expect(page.locator("#rules")).to_contain_text(
            "キャラクターの発言 100 %、NPCの発言 100 %、キャラクターの決定 0 %"
        )
        conversation_id, turns = talked(address)
        page.reload()
        expect(page.locator("#counts")).to_contain_text(f"確かめた数: {turns}。")
        expect(page.locator("#scores svg")).to_have_count(5)
        expect(page.locator("#scores li").last).to_contain_text("目新しさ: 平均")
        expect(page.locator("#worst > li")).to_have_count(turns)
        worst = page.locator("#worst > li").first
        expect(worst.locator(".marks")).to_contain_text("その人らしさ 9 稽古なので")
        worst.locator(".why summary").click()
        expect(worst.locator(".why p")).not_to_have_count(0)
        page.locator("#role").select_option("npc")
        expect(page.locator("#worst > li")).to_have_count(turns // 2)
        worst.locator("a").click()
        expect(page).to_have_url(re.compile(rf"/view/conversations/{conversation_id}.*#turn-\d+$"))


def talked(address: str) -> tuple[str, int]:
    """Aoi has talked with Taro: the conversation's id, and how many turns it has."""
    with httpx.Client(base_url=address, trust_env=False, timeout=60, verify=NO_AUTHORITIES) as client:
        walk = client.post("/characters/aoi/actions", json={"type": "move", "npc_id": "npc_taro"}).json()
        client.post("/world/tick", json={"ticks": walk["minutes"]}).raise_for_status()
        over = client.post("/conversations/start?wait=true", json={"character_id": "aoi", "partner_id": "npc_taro"})
        return over.json()["id"], len(over.json()["turns"])


def test_who_is_busy_is_led_to_that_talk_or_ends_it(chromium_browser: Browser, tmp_path: Path) -> None:
    with serving(playing(tmp_path, "en")) as address, looking(chromium_browser, refusals=True) as page:
        page.goto(f"{address}/view/npcs/npc_taro?lang=en")
        page.locator("#meet [name=name]").fill("Rika")
        page.locator("#meet button").click()
        page.wait_for_url("**/view/conversations/*")
        talk = urlsplit(page.url).path
        page.goto(f"{address}/view/npcs/npc_harue?lang=en")
        page.locator("#meet button").click()
        notice = page.locator("#notice")
        expect(notice).to_contain_text("Rika is talking with Taro")
        expect(notice).not_to_contain_text(talk.rpartition("/")[2])
        assert urlsplit(notice.locator("a").get_attribute("href") or "").path == talk
        notice.get_by_text("End that conversation").click()
        expect(notice).to_be_hidden()
        page.goto(f"{address}/?lang=en")
        expect(page.locator("#events")).to_contain_text("Rika began to talk with Taro")
        expect(page.locator("#events")).not_to_contain_text("player-")
