"""What a player told is in the prompts of the village, or in those of that player's talks alone: the prompts are
searched for it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.llm.chat import Prompt
from service.llm.choose import ROLES, Models
from tests.api.play import reply, say, script_short, settings_for, talk
from tests.memory.answers import memory, plain, promise
from tests.scripted_model import ScriptedModel

PLANTED = "the silver key lies under the third step"
ASKED = "Where does the silver key lie? Under a step?"


def hold(client: TestClient, script: ScriptedModel, player: str, words: str, *, secret: bool = False) -> list[str]:
    """Let the player talk with the baker and leave; answers the texts of all prompts of it."""
    asked = len(script.history)
    told = [
        memory(f"{player.title()} knows that {PLANTED}.", 0, importance=9, lasts=lasts) for lasts in ("long", "high")
    ]
    mine = {"memories": [*told, memory(f"Hanna said that {PLANTED}.", 1, about="b", importance=9)]}
    vow = promise(f"see whether {PLANTED}", 1)
    say(script, "npc", reply(f"So {PLANTED}." if secret else "I have nothing to say of that."))
    kept = plain(f"{player.title()} said that {PLANTED}.", second=mine, promises=[vow]) if secret else plain()
    say(script, "closing", kept)
    client.put(f"/people/{player}", json={"kind": "player", "name": player.title()}).raise_for_status()
    begun = client.post("/conversations/start", json={"mode": "player", "player_id": player, "partner_id": "baker"})
    path = f"/conversations/{begun.json()['id']}"
    client.post(f"{path}/say?wait=true", json={"text": words}).raise_for_status()
    assert client.post(f"{path}/end?wait=true").json()["phase"] == "closed"
    return texts(script.history[asked:])


def texts(prompts: list[Prompt[Any]]) -> list[str]:
    """All that they say."""
    return [message.content for prompt in prompts for message in prompt.messages]


@pytest.mark.parametrize(("setting", "is_known"), [("village", True), ("private", False)])
def test_what_a_player_told_is_for_its_own_talks_alone_where_that_is_set(
    tmp_path: Path, millbrook: Path, script: ScriptedModel, setting: str, is_known: bool
) -> None:
    world = {"language": "en", "decision": "routine", "reflection": False, "player_talks": setting}
    settings = settings_for(tmp_path, millbrook, world=world)
    with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, script)))) as client:
        hold(client, script, "ken", f"Listen: {PLANTED}.", secret=True)
        held = client.get("/people/baker/memories", params={"limit": 50}).json()["items"]
        assert sum(PLANTED in one["text"] for one in held) >= 3
        has: Callable[[list[str]], bool] = lambda found: any(PLANTED in one for one in found)  # noqa: E731 - a name for it
        assert has(hold(client, script, "mika", ASKED)) == is_known
        asked = len(script.history)
        script_short(script, ASKED)
        talk(client)
        assert has(texts(script.history[asked:])) == is_known, "nor does the baker pass it on to somebody else"
        assert has(hold(client, script, "ken", ASKED)), "who told it finds it again"
