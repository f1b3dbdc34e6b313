"""The calls and the NPC of README, as they are printed there; and how long README and all documents are."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.content.files import bundled_content, small_content
from service.locales import Language
from service.public.files import game_problems
from tests.api.play import settings_for

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = (
    *("README.md", "README.ja.md", "CONTRIBUTING.md"),
    *("docs/**/*.md", "clients/**/README.md"),
)
READMES: dict[Language, str] = {"en": "README.md", "ja": "README.ja.md"}


def commands(readme: str) -> list[list[str]]:
    """The words of each curl of the block that names the API's address."""
    block = next(one for one in re.findall(r"```sh\n(.*?)```", readme, re.S) if one.startswith("api="))
    lines = block.replace("\\\n", " ").replace("$api", "").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("curl")]


def answered(client: TestClient, words: list[str]) -> Any:
    """What the service answers to a curl with these words."""
    method, url, body, query = "GET", "", None, list[str]()
    given = iter(words)
    for word in given:
        match word:
            case "-X":
                method = next(given)
            case "-H":
                assert next(given) == "Content-Type: application/json"
            case "-G":
                body = None
            case "-d" if "-G" not in words:
                body = json.loads(next(given))
            case "-d" | "--data-urlencode":
                query.append(urlencode(dict([next(given).split("=", 1)])))
            case _:
                url = word
    answer = client.request(method, "?".join([url, *filter(None, ["&".join(query)])]), json=body)
    assert answer.status_code < 300, (words, answer.text)
    return answer.json()


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_calls_of_readme_are_answered_and_what_was_said_is_found(tmp_path: Path, language: Language) -> None:
    settings = settings_for(tmp_path, bundled_content(), language=language, llm={"provider": "rehearsal"})
    with TestClient(create_app(settings)) as client:
        calls = commands((ROOT / READMES[language]).read_text(encoding="utf-8"))
        answers = [answered(client, words) for words in calls]
    talk, memory = next(a for a in answers if "turns" in a), next(a for a in answers if "found" in a)
    assert talk["phase"] == "closed"
    assert memory["found"]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_no_line_of_readme_is_wider_than_a_terminal(language: Language) -> None:
    lines = (ROOT / READMES[language]).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if sum(1 + (east_asian_width(one) in "WF") for one in line) > 120] == []


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_npc_of_readme_has_no_mistakes(tmp_path: Path, language: Language) -> None:
    (written,) = re.findall(r"```yaml\n(.*?)```", (ROOT / READMES[language]).read_text(encoding="utf-8"), re.S)
    stage = shutil.copytree(small_content(language), tmp_path / "mystage")
    (stage / "npcs" / "keeper.yaml").write_text(written, encoding="utf-8")
    assert game_problems(stage) == []
    assert len(written.splitlines()) <= 10


def test_readme_is_read_in_three_minutes_and_all_documents_on_an_afternoon() -> None:
    words = {file: len(file.read_text(encoding="utf-8").split()) for name in DOCUMENTS for file in ROOT.glob(name)}
    assert words[ROOT / "README.md"] <= 700
    assert sum(words.values()) <= 50_000
