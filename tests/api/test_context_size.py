"""How large a prompt may be is said by the settings, a world, or a person; what is too small is refused in words."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError

from service.app import create_app
from service.llm.choose import ROLES, Models
from service.settings import LlmSettings
from tests.api.play import settings_for, write_village
from tests.scripted_model import ScriptedModel


def test_a_context_of_200_tokens_is_refused_by_the_settings_and_by_a_world(
    tmp_path: Path, script: ScriptedModel
) -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 500"):
        LlmSettings(context_tokens=200)
    content = write_village(tmp_path / "content")
    with TestClient(create_app(settings_for(tmp_path, content), models=Models(dict.fromkeys(ROLES, script)))) as client:
        refused = client.patch("/world", json={"context_tokens": 200})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "body.context_tokens")
        assert client.patch("/world", json={"context_tokens": 1000}).json()["context_tokens"] == 1000
