"""Owns the test of quality at the terminal: the table, the worst lines, and JSON."""

import asyncio
import json
from typing import get_args

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.locales import languages, room
from service.settings import LlmSettings, QualitySettings, Settings
from service.store.usage import Purpose
from studio.terminal.ask import show_quality
from tests.web.test_pages import talk


def test_it_is_told_as_a_table_with_the_worst_lines_and_as_json(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    rehearsal = {"llm": LlmSettings(provider="rehearsal"), "quality": QualitySettings(share=1)}
    checking = settings.model_copy(update=rehearsal)
    asyncio.run(show_quality(checking, "main", "en", worst=10, role=None, as_json=False))
    assert "Nothing has been checked yet." in capsys.readouterr().out
    with TestClient(create_app(checking)) as client:
        conversation_id = talk(client)
        said = client.get(f"/conversations/{conversation_id}").json()["turns"]
    of_npc = sum(turn["speaker_id"] == "npc_taro" for turn in said)
    asyncio.run(show_quality(checking, "main", "ja", worst=1, role="npc", as_json=False))
    told = capsys.readouterr().out
    assert f"確かめた数: {of_npc}。合格 {of_npc}" in told
    assert f" {conversation_id}#" in told
    assert "目新しさ" in told
    asyncio.run(show_quality(checking, "main", "en", worst=99, role=None, as_json=True))
    found = json.loads(capsys.readouterr().out)
    assert found["checked"] == len(found["worst"]) == len(said)


def test_whatever_calls_are_counted_for_has_a_name_in_the_cost_of_a_run() -> None:
    purposes = {name for one in get_args(Purpose) for name in (get_args(one) or (one,))}
    assert {"character", "attitude", "survey", "quality"} < purposes
    for language in languages():
        assert purposes < set(room(language, "run.roles")), language
