"""Owns the tests that a world that was exported and read in elsewhere is, over HTTP, the world that it was."""

from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from service.app import create_app
from service.export.files import export_to, import_from
from service.export.story import Span
from service.llm.choose import ROLES, Models
from tests.api.play import script_sister, settings_for, talk
from tests.api.test_memories import PAST, give
from tests.scripted_model import ScriptedModel

ASKED = (
    "/people/sora/memories",
    "/people/baker/memories",
    "/people/sora/memory?about=baker",
    "/people/sora/memory/audit",
    "/people/baker/memory/search?query=sister",
    "/people/sora",
)


def answers(client: TestClient) -> dict[str, Any]:
    """What the world answers; whoever is in a world that is read in begins its day anew."""
    found = {place: client.get(place).json() for place in ASKED}
    for answer in found.values():
        answer.pop("today", None)
    return found


def test_what_people_remember_and_feel_goes_with_a_world(
    app: FastAPI, script: ScriptedModel, tmp_path: Path, millbrook: Path
) -> None:
    with TestClient(app) as client:
        give(client, PAST)
        script_sister(script)
        talk(client)
        before = answers(client)
        export_to(
            settings_for(tmp_path, millbrook), "main", {"en": "Millbrook", "ja": "ミルブルック"}, Span(), tmp_path / "w"
        )
    elsewhere = settings_for(tmp_path / "elsewhere", millbrook)
    import_from(elsewhere, "main", tmp_path / "w")
    with TestClient(create_app(elsewhere, models=Models(dict.fromkeys(ROLES, script)))) as client:
        assert answers(client) == before
