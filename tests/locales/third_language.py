"""Lives through a little story in the language xx, and prints what a person and a model read of it, as JSON.

Run by test_third_language, in a process of its own: it imports the copy of the service that has a file and prompts of
that language.
"""

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from service.app import create_app
from service.decision.context import MIN_BLOCKS
from service.llm.chat import Answer, Prompt, T, TextListener
from service.llm.choose import ROLES, Models
from service.usage import Usage
from studio.cli import main as cli
from tests.api.play import TALK, settings_for
from tests.memory.answers import plain

TURNS = 4


class Murmurer:
    """A ChatModel that says nothing but murmurs, and keeps what it was asked."""

    name = "⟦model⟧"

    def __init__(self) -> None:
        self.asked: dict[str, str] = {}
        self._turns = 0

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """A valid answer, wrapped as the sentences of the language are."""
        self.asked[prompt.name] = "\n".join(message.content for message in prompt.messages)
        known = {"decide": self._decision, "plan": self._plan, "closing": self._closing, "verify": self._verdicts}
        fields = known.get(prompt.name, self._turn)
        value = {name: text for name, text in fields(prompt.given).items() if name in prompt.answer.model_fields}
        return Answer(value=prompt.answer.model_validate(value), usage=Usage(calls=1), model=self.name)

    async def aclose(self) -> None:
        """There is nothing to close."""

    def _turn(self, _: Any) -> dict[str, Any]:
        self._turns += 1
        told = {"utterance": f"⟦murmur {self._turns}⟧", "emotion": "neutral", "wants_to_end": self._turns % TURNS == 0}
        return {**told, "goal": "⟦g⟧", "success_criteria": "⟦s⟧", "goal_achieved": False}

    def _closing(self, _: Any) -> dict[str, Any]:
        return plain("⟦They murmured.⟧", first={"intimacy": 2})

    def _verdicts(self, _: Any) -> dict[str, Any]:
        return {"verdicts": []}

    def _decision(self, _: Any) -> dict[str, Any]:
        return {"thought": "⟦hm⟧", "choice": 1, "target": "", "goal": "⟦g⟧", "success_criteria": "⟦s⟧"}

    def _plan(self, scene: Any) -> dict[str, Any]:
        hour = int(scene.at[:2])
        block = {"activity": "⟦a⟧", "place": 0, "action": ""}
        return {"blocks": [{"starts": f"{(hour + 2 * i) % 24:02}:00", **block} for i in range(MIN_BLOCKS)]}


def command(*arguments: str) -> dict[str, Any]:
    """What the command ``kataribe`` says, and how it ends."""
    sys.argv = ["kataribe", *arguments]
    status, out, err = 0, StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as left:
            status = int(left.code or 0)
    return {"status": status, "out": out.getvalue(), "err": err.getvalue()}


def main(directory: Path, content: Path, broken: Path) -> None:
    """Print what was read."""
    model = Murmurer()
    asked = {"world": {"language": "xx", "decision": "model"}, "memory": {"verify": True}}
    settings = settings_for(directory, content, language="xx", **asked)
    app = create_app(settings, models=Models(dict.fromkeys(ROLES, model)))
    with TestClient(app, headers={"Accept-Language": "xx"}) as http:
        talk = http.post("/conversations/start?wait=true", json={**TALK, "goal": "⟦goal⟧", "success_criteria": "⟦c⟧"})
        assert talk.is_success, talk.text
        http.post("/world/tick", json={"ticks": 90}).raise_for_status()
        read = {
            "refused": http.get("/characters/nobody").json()["detail"],
            "options": "\n".join(one["text"] for one in http.get("/characters/umi/actions").json()["options"]),
            "refusals": "\n".join(one["text"] for one in http.get("/characters/umi/actions").json()["refusals"]),
            "label": http.get("/world").json()["label"],
            "ago": http.get("/characters/sora/memory?npc_id=baker").json()["last_meeting"]["ago"],
        }
        pages = {
            path: http.get(path).text
            for path in ("/", "/login", f"/view/conversations/{talk.json()['id']}", "/view/characters/sora", "/view/x")
        }
    commands = {
        "check": command("check", str(broken)),
        "export": command("export", "--data", str(directory / "nothing")),
        "help": command("serve", "--help"),
        "demo": command("demo", "--content", str(content), "--language", "xx"),
    }
    told = {"read": read, "prompts": model.asked, "pages": pages, "commands": commands}
    print(json.dumps(told, ensure_ascii=False))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
