"""A player talks with an NPC on three days through OpenAI's client: what it told on the first is known on the third,
and nobody else knows it: it stands in what their models are sent.
"""

import time
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from service.app import create_app
from service.locales import Language
from tests.api.play import serve, settings_for, write_village
from tests.memory.graphiti.graphs import empty
from tests.servers import NO_AUTHORITIES
from tests.servers.neo4j import Neo4jServer

SESSIONS: dict[Language, tuple[str, str, str, str]] = {
    "en": (
        "Hello. My name is Kenji, and I keep bees on the hill.",
        "Good morning.",
        "Good evening. Do you remember my name?",
        "Kenji",
    ),
    "ja": (
        "こんにちは。私の名前はケンジです。丘で蜜蜂を飼っています。",
        "おはようございます。",
        "こんばんは。私の名前を覚えていますか。",
        "ケンジ",
    ),
}


@pytest.mark.parametrize(
    ("backend", "language"), [("sql", "en"), ("sql", "ja"), pytest.param("graphiti", "en", marks=pytest.mark.server)]
)
def test_what_was_told_on_the_first_day_is_known_on_the_third_and_to_nobody_else(
    request: pytest.FixtureRequest, tmp_path: Path, backend: str, language: Language
) -> None:
    memory: dict[str, Any] = {"backend": backend}
    if backend == "graphiti":
        neo4j: Neo4jServer = request.getfixturevalue("neo4j_server")
        empty(neo4j)
        memory |= {"neo4j_uri": neo4j.uri, "neo4j_user": neo4j.user, "neo4j_password": neo4j.password}
    settings = settings_for(
        tmp_path, write_village(tmp_path), language=language, memory=memory, llm={"provider": "rehearsal"}
    )
    with (
        serve(create_app(settings)) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60, verify=NO_AUTHORITIES) as game,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client,
    ):

        def session(npc: str, words: str) -> str:
            """One talk, which is remembered before the next day. What the NPC's model was sent for its answer."""
            client.chat.completions.create(model=f"npc:{npc}@ken", messages=[{"role": "user", "content": words}])
            talk = game.get("/conversations", params={"person_id": "ken"}).json()["items"][0]["id"]
            sent = game.get(f"/conversations/{talk}/turns/1/prompt").json()["messages"]
            game.post(f"/conversations/{talk}/end").raise_for_status()
            while game.get(f"/conversations/{talk}").json()["phase"] != "closed":
                time.sleep(0.05)
            return str(sent)

        *days, name = SESSIONS[language]
        for words in days:
            assert name in session("baker", words)
            while name not in game.get("/people/baker/memory", params={"about": "ken"}).text:
                time.sleep(0.05)  # a graph is told a little later
            game.post("/world/tick", json={"ticks": 1440}).raise_for_status()
        assert name not in session("hermit", days[-1])
        assert name not in game.get("/people/hermit/memory", params={"about": "ken"}).text
