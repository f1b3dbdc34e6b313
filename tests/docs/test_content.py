"""The docs tell of every key of a content file, and of what is to be generated, what its model says."""

import re

import pytest
import yaml

from service.content.groups import GroupsFile
from service.conversation import prompt as speaking
from service.decision import context as deciding
from service.memory import mind as reflecting
from service.memory.closing import ask as closing
from studio.generate.sessions.plan import SessionsFile
from tests.docs.content import DOCS, MODELS, PAGES, keys, pages

JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
PROMPTS = speaking.TEMPLATES.names | deciding.TEMPLATES.names | closing.TEMPLATES.names | reflecting.TEMPLATES.names


def test_the_tables_are_made_from_the_models_of_today() -> None:
    for file, text in pages():
        assert file.read_text("utf-8") == text, "python -m tests.docs.content"


@pytest.mark.parametrize("file", ALL := {file: model for models in PAGES.values() for file, model in models.items()})
def test_every_key_says_in_both_languages_what_it_means(file: str) -> None:
    told = {path: (field.description or "").partition(" / ") for path, _, field in keys(ALL[file])}
    assert len(told) >= 8
    assert [path for path, (en, _, ja) in told.items() if not en or not JAPANESE.search(ja)] == []


@pytest.mark.parametrize("page", ["content.md", "content.ja.md"])
def test_every_prompt_that_a_game_may_replace_is_named(page: str) -> None:
    _, _, told = (DOCS / page).read_text("utf-8").partition("## prompts/")
    rows = [row for row in told.splitlines() if row.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row.split(" | ")[0])} == PROMPTS


def test_hours_are_a_list_as_the_files_have_it() -> None:
    types = {path: kind for file in ("maps.json", "actions.json") for path, kind, _ in keys(MODELS[file])}
    assert types["maps[].facilities[].hours"] == types["actions[].hours"]
    assert types["actions[].hours"] == 'list of string, as `"06:00-12:00"`, at least one'
    assert 'string, as `"2026-04-01T07:00"`' in types["startTime"]
    assert "actions[].requires.<id>.atLeast" in types


@pytest.mark.parametrize("page", ["generate.md", "generate.ja.md"])
def test_the_files_that_a_page_shows_can_be_read(page: str) -> None:
    groups, sessions = re.findall("```yaml\n(.*?)```", (DOCS / page).read_text("utf-8"), flags=re.DOTALL)
    assert [len(group.agents) for group in GroupsFile.model_validate(yaml.safe_load(groups)).groups] == [3]
    assert SessionsFile.model_validate(yaml.safe_load(sessions)).sessions == 8
