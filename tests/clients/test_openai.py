"""OpenAI's official clients and the `llm` command talk to a person of the village; what they do stands in the rows.

The JavaScript client comes with `npm ci --prefix tests/clients`, `llm` with the environment of tests/clients (.ci/run).
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.servers import NO_AUTHORITIES, missing

HERE = Path(__file__).parent
LLM = HERE / ".venv" / "bin" / "llm"
NPC = "npc:npc_taro"


def said(url: str, player: str) -> list[list[str]]:
    """Who spoke in each conversation of the player, oldest first."""
    with httpx.Client(base_url=url, trust_env=False, verify=NO_AUTHORITIES) as client:
        items = client.get("/conversations", params={"person_id": player}).json()["items"]
        talks = [client.get(f"/conversations/{item['id']}").json() for item in reversed(items)]
    return [[turn["speaker_id"] for turn in talk["turns"]] for talk in talks]


def run(*command: str | Path, **env: str) -> str:
    """What it prints; it must end well."""
    told = subprocess.run(
        command, cwd=HERE, capture_output=True, text=True, timeout=60, env={**os.environ, "NO_PROXY": "*", **env}
    )
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


def test_the_python_client_talks_and_streams(village_url: str) -> None:
    with openai.OpenAI(base_url=f"{village_url}/v1", api_key="none", max_retries=0) as client:
        assert NPC in [one.id for one in client.models.list()]
        first = client.chat.completions.create(
            model=f"{NPC}@py", messages=[{"role": "user", "content": "Good morning. How is the boat?"}]
        )
        text = first.choices[0].message.content
        assert text
        stream = client.chat.completions.create(
            model=f"{NPC}@py",
            messages=[
                {"role": "user", "content": "Good morning. How is the boat?"},
                {"role": "assistant", "content": text},
                {"role": "user", "content": "And your children?"},
            ],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(stream)
        assert "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.total_tokens > 0
        with pytest.raises(openai.NotFoundError) as refused:
            client.models.retrieve("npc:nobody")
    assert (refused.value.code, refused.value.param) == ("model_not_found", "model")
    assert said(village_url, "py") == [["py", "npc_taro", "py", "npc_taro"]]


@pytest.mark.server
def test_the_javascript_client_talks_and_streams(village_url: str) -> None:
    if not (HERE / "node_modules" / "openai").exists():
        missing("openai: npm ci --prefix tests/clients")
    told: dict[str, Any] = json.loads(run("node", HERE / "chat.mjs", f"{village_url}/v1", f"{NPC}@js"))
    assert NPC in told["people"]
    assert told["whole"]
    assert told["text"]
    assert told["usage"]["total_tokens"] > 0
    assert told["error"] == {
        "status": 404,
        "code": "model_not_found",
        "param": "model",
        "type": "invalid_request_error",
    }
    assert said(village_url, "js") == [["js", "npc_taro", "js", "npc_taro"]]


@pytest.mark.server
def test_the_llm_command_talks_and_goes_on(village_url: str, tmp_path: Path) -> None:
    if not LLM.exists():
        missing("llm: docs/development.md says how to get it")
    known = f"- model_id: taro\n  model_name: {NPC}@cli\n  api_base: {village_url}/v1\n"
    (tmp_path / "extra-openai-models.yaml").write_text(known, encoding="utf-8")
    env = {"LLM_USER_PATH": str(tmp_path), "OPENAI_API_KEY": "none"}
    assert run(LLM, "-m", "taro", "Good morning. How is the boat?", **env).strip()
    assert run(LLM, "-m", "taro", "-c", "--no-stream", "And your children?", **env).strip()
    assert said(village_url, "cli") == [["cli", "npc_taro", "cli", "npc_taro"]]
