"""Owns the check that a page says in its own language whatever is not the world's own name or text."""

import json
import re
from collections.abc import Iterator
from html import unescape

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.content.files import bundled_content
from service.content.load import load_content
from service.locales import Language, room
from service.settings import LlmSettings, Settings, WorldSettings
from tests.web.test_pages import given, talk

JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]+")
PATHS = (
    "/",
    "/view/conversations/{talk}",
    "/view/characters/aoi",
    "/view/characters/aoi/graph",
    "/view/npcs/npc_taro",
    "/view/quality",
    "/view/work",
    "/view/worlds",
    "/view/nowhere",
    "/login",
)


@pytest.fixture
def client(settings: Settings, request: pytest.FixtureRequest) -> Iterator[TestClient]:
    """A service of a world in the language of the parameter."""
    updated = {"llm": LlmSettings(provider="rehearsal"), "world": WorldSettings(language=request.param)}
    with TestClient(create_app(settings.model_copy(update=updated))) as client:
        yield client


def authored(language: Language) -> str:
    """Every name and text of the sample village in that language that a page shows as it is."""
    cast = load_content(bundled_content()).cast(language)
    people = [*cast.characters.values(), *cast.npcs.values()]
    nodes = [cast.world_map.label(node) for node in cast.world_map.nodes]
    places = [facility.name for facility in cast.world_map.facilities.values()]
    own = [word for one in people for word in (one.name, one.personality, *one.identity, *one.facts)]
    own += [secret.fact for one in people for secret in one.secrets]
    return "\n".join((cast.world_name, *own, *nodes, *places))


@pytest.mark.parametrize("client", ["ja"], indirect=True)
def test_an_english_page_of_a_japanese_world_has_no_japanese_of_the_service(client: TestClient) -> None:
    conversation_id, content = talk(client), authored("ja")
    for path in PATHS:
        html = client.get(f"{path.format(talk=conversation_id)}?lang=en").text
        assert '<html lang="en">' in html
        words = f"{unescape(html)} {json.dumps(given(html), ensure_ascii=False)}"
        assert {word for word in JAPANESE.findall(words) if word not in content} == {"日本語"}, path


@pytest.mark.parametrize("client", ["en"], indirect=True)
def test_a_japanese_page_of_an_english_world_says_every_text_in_japanese(client: TestClient) -> None:
    conversation_id = talk(client)
    for path in PATHS:
        html = client.get(f"{path.format(talk=conversation_id)}?lang=ja").text
        assert '<html lang="ja">' in html
        assert given(html)["texts"] == dict(room("ja", "web")), path
        english = {text for text in room("en", "web").values() if " " in text.strip()} - {*room("ja", "web").values()}
        assert [text for text in english if f">{text}<" in html or f'"{text}"' in html] == [], path


@pytest.mark.parametrize("client", ["ja", "en"], indirect=True)
def test_an_action_is_called_as_the_page_s_language_calls_it(client: TestClient) -> None:
    in_english, in_japanese = (given(client.get(f"/?lang={lang}").text)["actions"] for lang in ("en", "ja"))
    assert [name for name in in_english.values() if JAPANESE.search(name)] == []
    assert [name for name in in_japanese.values() if not JAPANESE.search(name)] == []
    assert in_english.keys() == in_japanese.keys() >= {"wait", "talk", "sleep"}


@pytest.mark.parametrize(("client", "mark"), [("en", "(a secret)"), ("ja", "(秘密)")], indirect=["client"])
def test_an_authors_secrets_are_marked_on_its_page_and_apart_from_facts_in_the_api(
    client: TestClient, mark: str
) -> None:
    kiriko = client.get("/npcs/npc_kiriko").json()
    (secret,) = kiriko["secrets"]
    assert secret["fact"] not in kiriko["facts"]
    assert secret["tell_from"] == {"affinity": 60, "person": None}
    assert f'{secret["fact"]} <span class="quiet">{mark}</span>' in unescape(client.get("/view/npcs/npc_kiriko").text)
    assert client.get("/characters/nagi").json()["secrets"][0]["tell_from"]["affinity"] == 40
    assert client.get("/characters/aoi").json()["secrets"] == []
