"""Owns the stage of the memory benchmark: the service in process, people who stand still, and a model that says what
its script says.
"""

import json
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from benchmarks.memory_labels import Told
from service.app import create_app
from service.conversation.acting import SceneTurn
from service.llm.chat import Answer, Message, Prompt, T, TextListener, prompt_tokens
from service.llm.choose import ROLES, Models
from service.locales import Language
from service.memory.closing.verify import Finding
from service.settings import Settings
from service.usage import Usage
from world.time import parse_time

NODES = 8
MOST_TICKS = 10_000
_FILLERS = {"en": "Mm.", "ja": "うん。"}


class Script:
    """A model that says the next line, closes as it is told, and judges as it is told. It keeps what each of its
    speakers was `asked`.
    """

    name = "scripted"

    def __init__(self) -> None:
        self.lines: deque[tuple[str, str]] = deque()
        self.closes = Told(paragraph="-")
        self.judge: Callable[[str], Finding] = lambda _: "supported"
        self.asked: list[tuple[str, tuple[Message, ...]]] = []
        self.closings = 0

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        """The next answer of the script."""
        value = prompt.answer.model_validate(self._answer(prompt))
        usage = Usage(calls=1, prompt_tokens=prompt_tokens(prompt.messages), completion_tokens=1, estimated=True)
        return Answer(value=value, usage=usage, model=self.name)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _answer(self, prompt: Prompt[Any]) -> Mapping[str, Any]:
        given: Any = prompt.given
        if prompt.name == "closing":
            self.closings += 1
            return self.closes.answer(given)
        if prompt.name == "verify":
            return {"verdicts": [{"n": one.number, "finding": self.judge(one.text)} for one in given.claims]}
        if prompt.name == "moderator":
            return {"next": self.lines[0][0]}
        self.asked.append((given.speaker.id, prompt.messages))
        _, text = self.lines.popleft()
        if issubclass(prompt.answer, SceneTurn):
            return {"think": "", "act": "", "emotion": "neutral", "talk": text, "wants_to_end": False}
        return {"emotion": "neutral", "utterance": text, "wants_to_end": False}


@asynccontextmanager
async def stage(
    *,
    language: Language,
    start: str,
    verify: bool = True,
    context_tokens: int = 3000,
    places: Sequence[str] = (),
) -> AsyncIterator["Stage"]:
    """A service whose worlds begin at `start`, with these places by name."""
    with tempfile.TemporaryDirectory() as directory:
        content = Path(directory) / "content"
        content.mkdir()
        (content / "maps.json").write_text(json.dumps(_map(language, start, places)), encoding="utf-8")
        settings = Settings(
            _env_file=None,
            data_dir=Path(directory) / "data",
            content_dir=content,
            allowed_hosts=["bench"],
            embedding={"provider": "none"},
            llm={"context_tokens": context_tokens},
            memory={"verify": verify},
            world={"language": language, "decision": "routine", "daily_snapshots": 0, "reflection": False},
        )
        script = Script()
        app = create_app(settings, models=Models(dict.fromkeys(ROLES, script)))
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bench", timeout=120) as http,
        ):
            yield Stage(http, script, language)


def _map(language: Language, start: str, places: Sequence[str]) -> dict[str, Any]:
    nodes = [{"id": f"n{number}", "x": number * 10, "y": 0, "name": f"Spot {number}"} for number in range(NODES)]
    nodes.append({"id": "square", "x": 40, "y": 50, "name": "Square"})
    edges = [{"from": "square", "to": f"n{number}", "minutes": 1} for number in range(NODES)]
    facilities = [{"id": f"place_{n}", "name": name, "nodes": ["square"]} for n, name in enumerate(places)]
    one = {"id": "map", "name": "Map", "nodes": nodes, "edges": edges, "facilities": facilities}
    return {"name": "Stage", "language": language, "startTime": start, "maps": [one]}


class Stage:
    """Worlds on one service."""

    def __init__(self, http: httpx.AsyncClient, script: Script, language: Language) -> None:
        self.script, self.language = script, language
        self._http = http
        self._names: dict[str, dict[str, str]] = {}
        self._players: dict[str, set[str]] = {}

    def new_world(self) -> str:
        """The id of a world that has not begun."""
        return f"world{len(self._names)}"

    async def call(self, method: str, world: str, path: str, body: Any = None, **params: Any) -> Any:
        """The answer of a call to that world."""
        headers = {"X-World-Id": world}
        told = await self._http.request(method, path, json=body, params=params, headers=headers)
        if told.is_error:
            raise RuntimeError(f"{method} {path}: {told.status_code} {told.text}")
        return told.json() if told.content else None

    async def people(self, world: str, people: Sequence[Mapping[str, Any]], *, players: bool = True) -> None:
        """Put these people into a world, each at a post of its own; without `players` humans stand there as the others
        do.
        """
        names = self._names.setdefault(world, {})
        for number, one in enumerate(people, len(names)):
            is_player = players and one["kind"] == "player"
            body: dict[str, Any] = {"kind": "player" if is_player else "npc", "name": one["name"]}
            if not is_player:
                known = [f"{self._name(people, other)}: {what}" for other, what in one.get("relations", {}).items()]
                facts = [*one.get("about", ()), *known]
                body |= {"node_id": f"n{number}", "personality": "-", "facts": facts}
            await self.call("PUT", world, f"/people/{one['id']}", body)
            names[one["id"]] = one["name"]
            self._players.setdefault(world, set()).update([one["id"]] if is_player else [])

    async def until(self, world: str, when: str) -> None:
        """Let the world's clock go on to that time; it never goes back."""
        now = parse_time((await self.call("GET", world, "/world"))["now"])
        left = parse_time(when) - now
        while left > 0:
            await self.call("POST", world, "/world/tick", {"ticks": min(left, MOST_TICKS)})
            left -= MOST_TICKS

    async def talk(self, world: str, lines: Iterable[tuple[str, str]], closes: Told) -> str:
        """Let these people say these lines, and close so, labels citing lines by their places; the answer is the
        conversation's id.
        """
        said, places = self._said(world, list(lines))
        self.script.closes = closes.placed(places)
        there = list(dict.fromkeys(speaker for speaker, _ in said))
        if self._players[world].intersection(there):
            return await self._with_player(world, there, said)
        names = self._names[world]
        self.script.lines = deque((names[speaker], text) for speaker, text in said)
        scene = {
            "sceneId": f"s{self.script.closings}",
            "location": "Here",
            "situation": "They talk.",
            "participants": there,
            "turnPolicy": "moderator" if len(there) > 2 else "in_order",
            "maxTurns": len(said),
        }
        begun = await self.call("POST", world, "/scenes", {"scene": scene})
        path = f"/scenes/{begun['id']}/turns"
        await self.call("POST", world, path, {"count": len(said)}, wait=True)
        return await self._closed(world, begun["conversation_id"], len(said))

    async def reads(
        self, world: str, owner: str, partner: str, says: Sequence[str], paragraph: str
    ) -> list[tuple[Message, ...]]:
        """The owner's prompts of a talk in which the partner says these lines, and the owner nothing of weight."""
        self.script.asked.clear()
        lines = [line for text in says for line in ((partner, text), (owner, _FILLERS[self.language]))]
        await self.talk(world, lines, Told(paragraph=paragraph))
        return [prompt for speaker, prompt in self.script.asked if speaker == owner]

    async def _with_player(self, world: str, there: Sequence[str], said: Sequence[tuple[str, str]]) -> str:
        player, partner = there
        start = {"mode": "player", "player_id": player, "partner_id": partner, "max_turns": 50}
        talk = await self.call("POST", world, "/conversations/start", start)
        for number in range(0, len(said), 2):
            answer = said[number + 1] if number + 1 < len(said) else (partner, _FILLERS[self.language])
            self.script.lines = deque([answer])
            path = f"/conversations/{talk['id']}/say"
            await self.call("POST", world, path, {"text": said[number][1]}, wait=True)
        await self.call("POST", world, f"/conversations/{talk['id']}/end", wait=True)
        return await self._closed(world, talk["id"], len(said))

    async def _closed(self, world: str, conversation: str, turns: int) -> str:
        told = await self.call("GET", world, f"/conversations/{conversation}")
        if told["phase"] != "closed" or len(told["turns"]) < turns:
            raise RuntimeError(f"{conversation} is {told['phase']} after {len(told['turns'])} of {turns} turns: {told}")
        return conversation

    def _said(self, world: str, lines: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], dict[int, int]]:
        """The lines with a filler where nobody else speaks between, and a human begins; and where each stands then."""
        there = list(dict.fromkeys(speaker for speaker, _ in lines))
        players = self._players[world].intersection(there)
        said: list[tuple[str, str]] = []
        places: dict[int, int] = {}
        for number, (speaker, text) in enumerate(lines):
            first = number == 0 and players and speaker not in players
            if first or (said and said[-1][0] == speaker):
                said.append((next(one for one in there if one != speaker), _FILLERS[self.language]))
            places[number] = len(said)
            said.append((speaker, text))
        return said, places

    @staticmethod
    def _name(people: Sequence[Mapping[str, Any]], person: str) -> str:
        return next((str(one["name"]) for one in people if one["id"] == person), person)
