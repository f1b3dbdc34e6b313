"""Owns the test of what the running service logs of its model calls."""

import json
import re
from pathlib import Path

from service.content.files import small_content
from tests.api.play import LINES, talk, write_village
from tests.end_to_end.process import Service
from tests.end_to_end.test_kill import speak_by_script
from tests.servers.fake_openai import FakeOpenAI


def test_a_model_call_is_one_line_of_ours_at_debug_and_none_of_the_sdk(tmp_path: Path) -> None:
    with FakeOpenAI(answer=speak_by_script) as model:
        settings = {
            "KATARIBE_LLM__BASE_URL": model.base_url,
            "KATARIBE_LOG_LEVEL": "debug",
            "KATARIBE_WORLD__LANGUAGE": "en",
            "KATARIBE_WORLD__DECISION": "routine",
        }
        with Service(tmp_path, write_village(tmp_path / "game"), settings) as service:
            talk(service.client)
            told = service.log.splitlines()
    line = re.compile(
        r"DEBUG service\.llm\.observe: (character|npc|closing|verify) openai:fake-model: \d+ ms, \d+ \+ \d+ tokens, "
        r"answered"  # a job asks, no request
    )
    assert len([each for each in told if line.fullmatch(each)]) == len(model.requests) == 6
    assert not [each for each in told if any(said in each for said in LINES["en"])], "nobody's words"
    assert [each for each in told if "HTTP Request" in each or "httpx" in each or "openai._base" in each] == []


def test_the_log_is_json_lines_where_the_setting_says_so(tmp_path: Path) -> None:
    settings = {"KATARIBE_LOG_FORMAT": "json", "KATARIBE_LLM__PROVIDER": "rehearsal"}
    with Service(tmp_path, write_village(tmp_path / "game"), settings) as service:
        service.client.get("/world", headers={"X-Request-Id": "from-the-game"}).raise_for_status()
        service.client.get("/people/baker/memory/search?query=lighthouse").raise_for_status()
        lines = [json.loads(line) for line in service.log.splitlines()]
    assert {line["level"] for line in lines} == {"info"}
    (asked,) = [line for line in lines if line.get("request_id") == "from-the-game"]
    assert asked["logger"] == "uvicorn.access"
    assert '"GET /world HTTP/1.1" 200' in asked["message"]
    assert '"GET /people/baker/memory/search HTTP/1.1" 200' in lines[-1]["message"]


def test_who_serves_another_games_data_is_told(tmp_path: Path) -> None:
    settings = {"KATARIBE_LLM__PROVIDER": "rehearsal", "KATARIBE_WORLD__LANGUAGE": "en", "LANG": "en"}
    village, told = write_village(tmp_path / "game"), []
    for content in (village, village, small_content("en")):
        with Service(tmp_path, content, settings) as service:
            service.client.post("/world/tick", json={"ticks": 1}).raise_for_status()
            told.append("another game's" in service.log)
    assert told == [False, False, True]
