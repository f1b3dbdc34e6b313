"""How large a prompt may be is said by the settings, a world, or a person; what is too small is refused in words."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError

from service.app import create_app
from service.llm.chat import prompt_tokens
from service.llm.choose import ROLES, Models
from service.settings import LlmSettings
from tests.api.play import settings_for, write_village
from tests.api.test_player import begin, say
from tests.conversation.talks import replies
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


def test_a_world_may_have_smaller_prompts_than_the_settings_say(tmp_path: Path, script: ScriptedModel) -> None:
    content = write_village(tmp_path / "content")
    lines = [
        {"id": f"t{n}", "speaker": "ken", "text": f"Lantern number {n} hangs over the old slipway."} for n in range(99)
    ]
    past = {"transcripts": [{"conversation": "s0", "at": "2025-01-01T09:00", "turns": lines}]}
    sizes = []
    with TestClient(create_app(settings_for(tmp_path, content), models=Models(dict.fromkeys(ROLES, script)))) as client:
        client.put("/people/ken", json={"kind": "player", "name": "Ken"}).raise_for_status()
        client.post("/people/baker/memory", json=past).raise_for_status()
        for size in (3000, 1000):
            client.patch("/world", json={"context_tokens": size}).raise_for_status()
            script.enqueue(replies("Good morning."), role="npc")
            talk = begin(client)
            say(client, talk, "Good morning!")
            sizes.append(prompt_tokens(script.history[-1].messages))
            client.post(f"/conversations/{talk}/end").raise_for_status()
    assert sizes[1] <= 1000 < sizes[0] <= 3000
