"""Owns the demonstration: the real service on a free port, driven over HTTP as a game client would drive it."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
import networkx as nx

from service.api.server import Server
from service.app import create_app
from service.public.files import bundled_content, thrown_away
from service.public.models import REHEARSAL, ROLES, LocalServer, Models, OfflineModel, Settings
from service.public.words import Language, Phrase, sentence
from studio.terminal.recording import Recording

DAY = 24 * 60
PACE_SECONDS = 0.02
"""How long a token of what is recorded takes to say, or a piece of what is rehearsed."""


def run_demo(
    settings: Settings,
    language: Language,
    *,
    character_id: str | None,
    npc_id: str | None,
    offers: Sequence[LocalServer] = (),
) -> None:
    """Play it. The world is made for the occasion and thrown away. Without a model it is a recording, where the sample
    village is asked for and nobody in particular; else a rehearsal.

    Raises:
        KataribeError: the service could not be started.
        SystemExit: it refused something, or a model failed; the sentence says what.
    """
    recording = None
    if not settings.names_model and settings.llm.provider != REHEARSAL:
        if settings.content_dir in (None, bundled_content()) and not (character_id or npc_id):
            recording = Recording(language, OfflineModel(), pace_seconds=PACE_SECONDS)
            character_id, npc_id = recording.character_id, recording.npc_id
        else:
            settings = settings.changed(llm={"provider": REHEARSAL})
    with thrown_away(settings) as apart:
        apart = apart.changed(
            api_key=None,  # nobody else reaches it
            llm={"rehearsal_pace_seconds": PACE_SECONDS},
            world={"decision": "routine"},  # the others live on, and cost nothing
        )
        with (
            _served(apart, recording) as url,
            httpx.Client(
                base_url=url,
                timeout=600,
                headers={"Accept-Language": language},
                event_hooks={"response": [_require_done]},
            ) as http,
        ):
            _Demo(http, language, recording).run(url, character_id, npc_id, offers)


def _require_done(answer: httpx.Response) -> None:
    """Raises: SystemExit: it was refused; the sentence says what."""
    if answer.is_error:
        answer.read()
        raise SystemExit(answer.json().get("detail", answer.text))


@contextmanager
def _served(settings: Settings, recording: Recording | None) -> Iterator[str]:
    """The service in a thread, on a free port of loopback."""
    models = Models(dict.fromkeys(ROLES, recording)) if recording else None
    server = Server(create_app(settings, models=models))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


class _Demo:
    """One run of the demonstration, told on standard output."""

    def __init__(self, http: httpx.Client, language: Language, recording: Recording | None) -> None:
        self._http = http
        self._language = language
        self._recording = recording

    def run(self, url: str, character_id: str | None, npc_id: str | None, offers: Sequence[LocalServer]) -> None:
        world = self._get("/world")
        if self._recording or world["rehearsal"]:
            self._say("demo.recording" if self._recording else "demo.rehearsal")
            self._say("demo.own_model")
        else:
            self._say("demo.model", models=", ".join(sorted(set(world["models"].values()))))
        for server in offers:
            self._say("demo.offer", name=server.name, url=server.base_url)
        self._say("demo.served", world=world["name"], url=url)
        character_id = character_id or next((one["id"] for one in self._get("/characters")), None)
        if character_id is None:
            raise SystemExit(sentence(self._language, "demo.no_character"))
        character = self._get(f"/characters/{character_id}")
        npc = self._get(f"/npcs/{npc_id or self._nearest(character)}")
        self._walk(character, npc)
        self._talk(1, character, npc)
        self._sleep(character)
        self._talk(2, character, npc)
        self._sleep(character)
        self._ask(character, npc)

    def _sleep(self, character: dict[str, Any]) -> None:
        slept = self._post(f"/characters/{character['id']}/actions", {"type": "sleep"})
        self._post("/world/tick", {"ticks": self._ticks(DAY)})
        self._say(
            "demo.night",
            character=character["name"],
            count=slept["cleared_conversations"],
            label=self._get("/world")["label"],
        )

    def _nearest(self, character: dict[str, Any]) -> str:
        """The NPC with the fewest edges between."""
        places = self._get("/world/map")
        posts = {node_id: str(npc_id) for npc_id, node_id in places["posts"].items()}
        here = character["position"]["node_id"]
        graph = nx.Graph([(here, here), *((edge["a"], edge["b"]) for edge in places["edges"])])
        npc_id = next((posts[node] for _, node in nx.bfs_edges(graph, here) if node in posts), None)
        if npc_id is None:
            raise SystemExit(sentence(self._language, "demo.no_npc"))
        return npc_id

    def _walk(self, character: dict[str, Any], npc: dict[str, Any]) -> None:
        way = self._post(f"/characters/{character['id']}/actions", {"type": "move", "npc_id": npc["id"]})
        now = self._get("/world")["now"]
        self._say(
            "demo.walk",
            at=now[-5:],
            character=character["name"],
            npc=npc["name"],
            minutes=way["minutes"],
            steps=len(way["path"]),
        )
        for walked in range(0, way["minutes"], 2):
            step = self._post("/world/tick", {"ticks": self._ticks(min(2, way["minutes"] - walked))})
            here = self._get(f"/characters/{character['id']}")["position"]
            self._say("demo.on_way", at=step["now"][-5:], place=here["place"])

    def _talk(self, number: int, character: dict[str, Any], npc: dict[str, Any]) -> None:
        world = self._get("/world")
        place = self._get(f"/characters/{character['id']}")["position"]["place"]
        print()
        self._say("demo.meeting", n=number, label=world["label"], place=place)
        started = self._post("/conversations/start", {"character_id": character["id"], "npc_id": npc["id"]})
        self._listen(started["id"])
        self._tell_astray()
        talk = self._get(f"/conversations/{started['id']}")
        if talk["goal"]:
            self._say("demo.goal", goal=talk["goal"]["goal"])
        self._say("demo.ended", reason=Phrase(f"ends.{talk['end_reason']}"))
        if talk["failure"]:
            raise SystemExit(sentence(self._language, "demo.failed", detail=talk["failure"]["detail"]))
        if talk["changes"]:
            self._tell_changes(talk["changes"], talk["cost"])

    def _listen(self, conversation_id: str) -> None:
        """Print utterances while they are spoken, until the conversation is closed."""
        kind, shown = "", None
        with self._http.stream("GET", f"/conversations/{conversation_id}/events") as events:
            for line in events.iter_lines():
                name, _, value = line.partition(":")
                if name == "event":
                    kind = value.strip()
                elif name == "data" and kind in ("speaking", "turn"):
                    data = json.loads(value)
                    shown = _grow(shown, data["speaker_name"], data["text"])
                    if kind == "turn":
                        print(f"  ({data['act']})" if data.get("act") else "", flush=True)
                        shown = None

    def _tell_changes(self, changes: dict[str, Any], cost: dict[str, int]) -> None:
        self._say("demo.changed")
        self._say("demo.summary", value=changes["summary"])
        self._say("demo.affinity", **changes["affinity"])
        self._say("demo.mood", **{when: Phrase(f"web.mood_{mood}") for when, mood in changes["mood"].items()})
        for fact in changes["facts"]:
            self._say("demo.fact", value=fact["line"], turn=fact["turn"])
        for memory in changes["mid_term"]:
            self._say("demo.mid_term", value=memory["content"], until=memory["expires_at"])
        for kept_out in changes["rejected"]:
            self._say("demo.rejected", value=kept_out["statement"], reason=Phrase(f"web.reason_{kept_out['reason']}"))
        self._say("demo.cost", calls=cost["calls"], prompt=cost["prompt_tokens"], completion=cost["completion_tokens"])

    def _ask(self, character: dict[str, Any], npc: dict[str, Any]) -> None:
        memory = self._get(f"/characters/{character['id']}/memory", npc_id=npc["id"])
        print()
        self._say("demo.asked", character=character["name"], npc=npc["name"])
        last = memory["last_meeting"]
        if last:
            relation = memory["relation"]
            self._say(
                "demo.relation",
                count=relation["conversation_count"],
                affinity=relation["affinity"],
                ago=last["ago"],
                summary=last["summary"],
            )
        for fact in memory["facts"]:
            of_turn = (sentence(self._language, "demo.of_turn", turn=turn) for turn in fact["turns"][:1])
            print(f"  {fact['line']}", *of_turn)
        for insight in memory["insights"]:
            self._say("demo.insight", value=insight["text"])
        for found in memory["mid_term"]:
            self._say("demo.mid_term", value=found["content"], until=found["expires_at"])
        line = self._post(f"/people/{npc['id']}/write", {"kind": "bark", "about": character["name"]})
        self._say("demo.in_passing", npc=npc["name"], character=character["name"], text=line["text"])
        self._tell_astray()

    def _tell_astray(self) -> None:
        """Say where the recording did not fit."""
        if self._recording and self._recording.astray:
            self._say("demo.astray", question=self._recording.astray)

    def _ticks(self, minutes: int) -> int:
        per_tick = self._get("/world")["tick_minutes"]
        return max(1, -(-minutes // int(per_tick)))

    def _get(self, path: str, **query: str) -> Any:
        return self._http.get(path, params=query).json()

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._http.post(path, json=body).json()

    def _say(self, key: str, /, **values: object) -> None:
        print(sentence(self._language, key, **values), flush=True)


def _grow(shown: str | None, speaker: str, text: str) -> str:
    """Write what is new of an utterance; a text that began anew gets a line of its own. Answers what stands there."""
    if shown is not None and not text.startswith(shown):
        print(" …")
        shown = None
    head = f"{speaker}: " if shown is None else ""
    print(head + text[len(shown or "") :], end="", flush=True)
    return text
