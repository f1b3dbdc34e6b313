"""Owns a scene at the terminal: turn after turn, with all that its writer can do between them."""

import asyncio
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import httpx

from service.public.errors import FileUnusable
from service.public.files import Unreadable, read_values
from service.public.models import Models, Settings
from service.public.words import Language, sentence
from studio.terminal.ask import Refused, in_process, write_text
from studio.terminal.show import say

_NORMAL = "normal"

TakenAs = Literal["json", "yaml", "script", "text", "report"]
"""JSON or YAML in Project Anima's shape, Markdown, plain text, or feelings and relations as JSON."""
_FORMS: Mapping[str, TakenAs] = {".yaml": "yaml", ".yml": "yaml", ".md": "script", ".txt": "text"}


async def run_scene(
    settings: Settings,
    scene: str,
    world_id: str,
    language: Language,
    *,
    turns: int | None = None,
    output: Path | None = None,
    models: Models | None = None,
    ask: Callable[[], str] = input,
) -> None:
    """Play a scene (a file, or the id of one of the game's), `turns` of it without asking; None: its writer is asked
    before each. `output`: where its log is written. `ask` answers the writer's next line. `models` stand in for those
    of the settings.

    Raises:
        FileUnusable: the scene's file, or that of its log, cannot be used.
        Misconfigured: the database cannot be opened, or a service runs on it.
        SystemExit: the scene cannot be begun.
    """

    async with in_process(settings, world_id, language, models) as http:
        play = _ScenePlay(http, language, ask)
        await play.begin(scene)
        await (play.go_on(turns) if turns is not None else play.step())
        if output is not None:
            write_text(output, await _log(http, play.scene["id"], form_of(output)))
            play.say("scene_run.logged", file=output)


async def take_scene(
    settings: Settings,
    scene_id: str,
    world_id: str,
    language: Language,
    output: Path | None,
    *,
    form: TakenAs = "json",
    view: str = "",
    thoughts: bool = False,
) -> None:
    """Write what happened in a scene to a file, or to standard output: by whose `view` (""; the writer's), with
    thoughts in a script.

    Raises:
        FileUnusable: the file cannot be written.
        Misconfigured: the database cannot be opened, or a service runs on it.
        SystemExit: there is no such scene, or nobody of that name in it.
    """

    async with in_process(settings, world_id, language) as http:
        text = await _log(http, scene_id, form, view, thoughts=thoughts)
    if output is None:
        print(text, end="")
    else:
        write_text(output, text)


def form_of(file: Path) -> TakenAs:
    """What a file of that name is to hold: JSON, unless its ending says otherwise."""
    return _FORMS.get(file.suffix.lower(), "json")


async def _log(http: httpx.AsyncClient, scene_id: str, form: TakenAs, view: str = "", *, thoughts: bool = False) -> str:
    """Raises: Refused."""
    if form == "report":
        report = await http.get(f"/scenes/{scene_id}/report")
        return f"{json.dumps(report.json(), ensure_ascii=False, indent=2)}\n"
    asked = {"as": form, "thoughts": str(thoughts).lower()} | ({"view": view} if view else {})
    return (await http.get(f"/scenes/{scene_id}/log", params=asked)).text


class _ScenePlay:
    """One scene, told on standard output."""

    def __init__(self, http: httpx.AsyncClient, language: Language, ask: Callable[[], str]) -> None:
        self.scene: dict[str, Any] = {}
        self._http = http
        self._language = language
        self.say = partial(say, language)
        self._ask = ask
        self._told = (0, 0)
        self._commands: Mapping[str, Callable[[str], Any]] = {
            "": lambda rest: self.go_on(int(rest or 1)),
            "next": lambda rest: self.go_on(int(rest or 1)),
            "situation": lambda rest: self._intervene("scene_situation_update", text=rest),
            "event": lambda rest: self._intervene("add_event", text=rest),
            "add": partial(self._of_somebody, "add_person", "spot"),
            "remove": lambda rest: self._intervene("remove_person", person_id=rest),
            "reveal": partial(self._of_somebody, "revelation", "text"),
            "propose": self._propose,
            "accept": lambda rest: self._judge("accepted", rest),
            "refuse": lambda rest: self._judge("refused", rest),
            "save": self._save,
            "rewind": self._rewind,
            "end": self._end,
            "help": self._help,
        }

    async def begin(self, scene: str) -> None:
        """Begin it, and tell of it."""
        file = Path(scene)
        body: dict[str, Any] = {"scene_id": scene}
        if file.suffix in (".yaml", ".yml", ".json"):
            try:
                said = read_values(file)
            except Unreadable as exc:
                raise FileUnusable(file=scene, reason=exc.reason) from exc
            if isinstance(said, dict) and "sceneId" not in said and "scene_id" not in said:
                said = {"sceneId": file.stem, **said}
            body = {"scene": said}
        self.scene = await self._post("/scenes", body, told=f"{scene}: ")
        people = ", ".join(f"{one['name']} ({one['person_id']})" for one in self.scene["participants"])
        self.say("scene_run.begun", **self.scene, people=people)
        if self.scene["rehearsal"]:
            self.say("run.rehearsal")
        world = await self._get("/world")
        if world["language"] != self._language:
            named = sentence(world["language"], "common.own_name")
            self.say("scene_run.other_language", world=world["id"], language=named)

    async def go_on(self, turns: int) -> None:
        """Speak so many turns, each told when it is spoken, as long as a model finds its words."""
        for _ in range(turns):
            self._show(await self._post(f"/scenes/{self.scene['id']}/turns?wait=true", {"count": 1}))
            if self.scene["state"] == "ended" or self.scene["failure"] is not None:
                break

    async def step(self) -> None:
        """Ask the writer before each turn, until the scene has ended or the writer leaves."""
        self.say("scene_run.how")
        while self.scene["state"] != "ended":
            try:
                line = await asyncio.to_thread(self._ask)
            except EOFError:
                return
            line = line.strip()
            name, rest = _first_word(line.removeprefix(":").removeprefix("："))
            if name in ("quit", "q"):
                return
            command = self._commands.get(name) if line.startswith((":", "：")) or not line else None
            if command is None:
                self.say("scene_run.unknown", line=line)
            try:
                await (command or self._help)(rest)
            except Refused as exc:
                print(exc, flush=True)
            except ValueError:
                self.say("scene_run.no_number", line=line)

    async def _intervene(self, kind: str, **body: str) -> None:
        given = {name: value for name, value in body.items() if value}
        await self._post(f"/scenes/{self.scene['id']}/interventions", {"kind": kind, **given})
        self._show(await self._get(f"/scenes/{self.scene['id']}"))

    async def _of_somebody(self, kind: str, what: str, rest: str) -> None:
        person_id, said = _first_word(rest)
        await self._intervene(kind, person_id=person_id, **{what: said})

    async def _propose(self, rest: str) -> None:
        await self._intervene("long_term_update_request", person_id=rest)
        for number, one in enumerate(self.scene["proposals"], 1):
            state = sentence(self._language, f"web.proposal_{one['refused_for'] or one['state']}")
            kind = sentence(self._language, f"web.lasting_{one['kind']}")
            print(f"  {number}. {one['person_name']}, {kind} ({one['importance']}, {state}): {one['text']}", flush=True)

    async def _judge(self, state: str, rest: str) -> None:
        number, text = _first_word(rest)
        if not number.isdecimal() or not 0 < int(number) <= len(self.scene["proposals"]):
            self.say("scene_run.no_proposal", count=len(self.scene["proposals"]))
            return
        one = self.scene["proposals"][int(number) - 1]
        body = {"state": state, **({"text": text} if text else {})}
        judged = await self._post(f"/scenes/{self.scene['id']}/proposals/{one['id']}", body)
        self.say(f"scene_run.{state}", text=judged["text"])
        self._show(await self._get(f"/scenes/{self.scene['id']}"))

    async def _save(self, name: str) -> None:
        kept = await self._post("/world/snapshots", {"name": name or f"{self.scene['id'].replace('.', '-')}-saved"})
        self.say("scene_run.saved", name=kept["name"])

    async def _rewind(self, rest: str) -> None:
        back = await self._post(f"/scenes/{self.scene['id']}/rewind", {"turn": int(rest) - 1})
        self.scene = back["scene"]
        self._told = (len(self.scene["turns"]), len(self.scene["interventions"]))
        self.say("scene_run.rewound", turn=int(rest), name=back["snapshot"])
        if back["followed_by"]:
            self.say("scene_run.followed_by", scenes=", ".join(back["followed_by"]))

    async def _end(self, rest: str) -> None:
        self._show(await self._post(f"/scenes/{self.scene['id']}/end?wait=true", {}))

    async def _help(self, rest: str) -> None:
        self.say("scene_run.help", people=", ".join(one["person_id"] for one in self.scene["participants"]))

    def _show(self, scene: dict[str, Any]) -> None:
        """What is new of it."""
        self.scene = scene
        turns, done = self._told
        for turn in range(turns, len(scene["turns"]) + 1):
            for one in scene["interventions"][done:]:
                if one["before_turn"] == turn:
                    kind = sentence(self._language, f"web.do_{one['kind']}")
                    words = " ".join(filter(None, (one["person_name"], one["text"])))
                    print(f"  * {kind}{': ' if words else ''}{words}", flush=True)
            if turn < len(scene["turns"]):
                self._tell_turn(scene["turns"][turn])
        self._told = (len(scene["turns"]), len(scene["interventions"]))
        if scene["state"] == "ended":
            reason = sentence(self._language, f"web.end_{scene['end_reason']}")
            self.say("scene_run.over", reason=reason, turns=len(scene["turns"]))
        if scene["failure"] is not None:
            print(f"  {scene['failure']['detail']}", flush=True)

    def _tell_turn(self, turn: Mapping[str, Any]) -> None:
        print(f"{turn['turn'] + 1}. {turn['speaker_name']}", flush=True)
        for label, words in (("thinks", turn["think"]), ("does", turn["act"])):
            if words:
                print(f"   {sentence(self._language, f'web.{label}')} {words}", flush=True)
        if turn["text"]:
            loud = sentence(self._language, f"web.loudness_{turn['loudness']}") if turn["loudness"] != _NORMAL else ""
            said = sentence(self._language, "scene_run.said", text=turn["text"])
            print(f"   {said}{loud and f' ({loud})'}", flush=True)

    async def _get(self, path: str) -> Any:
        return (await self._http.get(path)).json()

    async def _post(self, path: str, body: dict[str, Any], told: str = "") -> Any:
        return (await self._http.post(path, json=body, extensions={"told": told})).json()


def _first_word(line: str) -> tuple[str, str]:
    """The first word, and what follows it. A Japanese keyboard's full-width space parts words as well."""
    word, *rest = line.split(maxsplit=1) or [""]
    return word, rest[0].strip() if rest else ""
