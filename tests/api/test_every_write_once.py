"""Every operation that changes something, sent twice with one key, is done once: the operations are those of
openapi.json, so that a new one without a request here fails.
"""

import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlmodel import Session, SQLModel, col

from service.app import create_app
from service.errors import ModelOutOfCharacter
from service.llm.chat import Answer, Prompt, T, TextListener
from service.llm.choose import ROLES, Models
from service.offline.model import OfflineModel
from service.store.session import Database
from service.store.tables import JobRow
from studio.exchange.incoming import incoming
from tests.api.play import Answered, settings_for
from tests.content.village import Village
from tests.freeze.openapi import description
from tests.runtime.promised import appointment, place_promises
from tests.studio.exchange.cards import as_json
from tests.studio.exchange.cards import card as card_of
from world.time import WorldTime, parse_time

WRITES = ("post", "put", "patch", "delete")
LEASES = frozenset({"runner", "due_at", "asked"})
"""Which process looks after a row, and when it looks at it again."""
TABLES = {
    table.name: str(select(*(column for column in table.c if column.name not in LEASES)))
    for table in SQLModel.metadata.sorted_tables
}
"""How each table is asked for all that it holds."""
KEY = "Idempotency-Key"
BUN = {"id": "give_item", "args": {"item": "bun", "count": 2}}
SCENE = {
    "scene_id": "S9",
    "location": "The mill",
    "time": "noon",
    "situation": "The wheel stands still.",
    "participant_character_ids": ["umi", "rin"],
}


class Generous(OfflineModel):
    """The rehearsal, which asks the game for something, and suggests a line, wherever it may; it closes what it is
    let close.
    """

    closes = True

    async def complete(self, prompt: Prompt[T], on_text: TextListener | None = None) -> Answer[T]:
        if prompt.role == "closing" and not self.closes:
            raise ModelOutOfCharacter(model="rehearsal")
        answer = await super().complete(prompt, on_text)
        fields = type(answer.value).model_fields
        given = {"action": BUN if "action" in fields else None, "choices": ["Go on."] if "choices" in fields else None}
        update = {name: value for name, value in given.items() if value is not None}
        if not update:
            return answer
        value = prompt.answer.model_validate({**answer.value.model_dump(exclude_none=True), **update})
        return replace(answer, value=value)


@pytest.fixture
def model() -> Generous:
    """Who speaks for everybody."""
    return Generous()


@pytest.fixture
def app(tmp_path: Path, model: Generous) -> FastAPI:
    """A village in which the baker may give something; everybody speaks by rule."""
    village = Village.with_actions()
    village.game_actions[0]["awaitResult"] = True
    for name, home in (("umi", "door"), ("rin", "yard")):
        village.people[f"characters/{name}.yaml"] = {**village.sora, "id": name, "name": name.title(), "home": home}
    settings = settings_for(tmp_path, village.write(tmp_path / "content"))
    return create_app(settings, models=Models(dict.fromkeys(ROLES, model)), importer=incoming)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    """A client of it, in process."""
    with TestClient(app, raise_server_exceptions=False) as http:
        yield http


@dataclass
class Twice:
    """Sends each request twice with a key of its own; `done` are the operations."""

    client: TestClient
    app: FastAPI
    done: set[str] = field(default_factory=set)

    def tables(self) -> dict[str, list[str]]:
        """All that is stored, what calls cost included, as soon as nothing changes any more."""
        database: Database = self.app.state.deps.conversation.database

        def read(session: Session) -> dict[str, list[str]]:
            cursor = session.connection().connection.cursor()  # without SQLAlchemy's rows, whose text is cut short
            return {name: sorted(map(repr, cursor.execute(asked).fetchall())) for name, asked in TABLES.items()}

        def is_at_work(session: Session) -> bool:
            return session.scalar(select(col(JobRow.key)).where(col(JobRow.runner).is_not(None)).limit(1)) is not None

        before, now = None, database.read_now(read)
        while before != now or database.read_now(is_at_work):
            time.sleep(0.2)
            before, now = now, database.read_now(read)
        return now

    def __call__(self, operation: str, path: str, body: Any = None, etag: str = "", **params: Any) -> Any:
        """What the second one is answered."""
        method = operation.partition(" ")[0]
        self.done.add(operation)
        headers = {KEY: uuid4().hex, **({"If-Match": etag} if etag else {})}

        def send(body: Any = body) -> Answered:
            return self.client.request(method, path, json=body, params=params, headers=headers)

        first = send()
        assert first.status_code < 300, f"{operation}: {first.text}"
        before = self.tables()
        second = send()
        assert second.status_code in (first.status_code, 200), f"{operation}: {second.text}"
        after = self.tables()
        changed = {name: (before[name], rows) for name, rows in after.items() if rows != before[name]}
        assert changed == {}, f"{operation} was done twice"
        if second.headers.get("Idempotency-Replayed"):
            assert (second.status_code, second.text) == (first.status_code, first.text), operation
        other = send({"another": "body"})
        assert (other.status_code in (400, 422), "Idempotency-Key" in other.text) == (True, True), operation
        return second.json() if second.text else None


def test_every_operation_that_writes_is_done_once_however_often_it_is_sent(
    client: TestClient, app: FastAPI, model: Generous
) -> None:
    twice = Twice(client, app)
    twice("put /people/{person_id}", "/people/ken", {"kind": "player", "name": "Ken"})
    twice("put /people/{person_id}/position", "/people/ken/position", {"node_id": "door"})
    twice("patch /world", "/world", {"weather": "rain", "announce": {"text": "The fair begins.", "minutes": 30}})
    twice("put /world/flags", "/world/flags", {"flags": {"fair": True}})
    twice("post /world/observations", "/world/observations", {"text": "The mill burns.", "seen_by": ["baker", "sora"]})
    twice("patch /characters/{person_id}", "/characters/sora", {"give": ["coin"]})
    twice("patch /npcs/{person_id}", "/npcs/baker", {"give": ["bun", "bun"]})
    twice("post /world/tick", "/world/tick", {"ticks": 3})
    twice("post /characters/{character_id}/actions", "/characters/sora/actions", {"type": "move", "npc_id": "baker"})
    twice("post /world/snapshots", "/world/snapshots", {"name": "morning"})
    twice("put /world/clock", "/world/clock", {"mode": "manual", "speed": 2.0})
    twice("post /world/stop", "/world/stop")
    _talks(twice)
    model.closes = False
    began = {"mode": "player", "player_id": "ken", "partner_id": "baker"}
    failed = f"/conversations/{client.post('/conversations/start', json=began).json()['id']}"
    client.post(f"{failed}/say", params={"wait": True}, json={"text": "Good evening."}).raise_for_status()
    assert client.post(f"{failed}/end", params={"wait": True}).json()["phase"] == "closing_failed"
    model.closes = True
    assert twice("post /conversations/{conversation_id}/close", f"{failed}/close", wait=True)["phase"] == "closed"
    now = parse_time(client.get("/world").json()["now"])
    promise = appointment("sora", "baker", None, WorldTime(now + 60), now)
    talk = app.state.deps.conversation
    place_promises(talk.database, talk.worlds, [promise])
    twice("post /commitments/{commitment_id}", f"/commitments/{promise.id}", {"state": "kept"})
    job = JobRow(world_id="main", kind="snapshot", key="day", owner="day", priority=2, due_at=9e9, created_at=0.0)
    talk.database.write_now(lambda s: s.add(job))
    assert twice("post /work/{kind}/{job_key}", "/work/snapshot/day", {"do": "cancel"})["state"] == "cancelled"
    _scenes(twice)
    _memories(twice)
    _content(twice)
    twice("post /world/branch", "/world/branch", {"to_world": "what-if"})
    twice("post /world/restore", "/world/restore", {"name": "morning"})
    twice("delete /world/snapshots/{name}", "/world/snapshots/morning")
    twice("delete /people/{person_id}", "/people/ken", everywhere=True)
    twice("delete /world", "/world")
    described = description()["paths"]
    written = {f"{method} {path}" for path, known in described.items() for method in known if method in WRITES}
    assert twice.done == written - {"post /login"}
    for operation in twice.done:
        method, _, path = operation.partition(" ")
        taken = {one["name"].lower() for one in described[path][method]["parameters"]}
        assert KEY.lower() in taken, operation


def _talks(twice: Twice) -> None:
    start = {"mode": "player", "player_id": "ken", "partner_id": "baker", "choices": 1}
    begun = twice("post /conversations/start", "/conversations/start", start)
    talk, of = f"/conversations/{begun['id']}", "/conversations/{conversation_id}"
    said = twice(f"post {of}/say", f"{talk}/say", {"text": "Good morning."}, wait=True)
    assert (said["turn"]["turn"], said["answer"]["turn"]) == (0, 1)
    call = said["action"]["id"]
    twice(f"post {of}/actions/{{call_id}}/result", f"{talk}/actions/{call}/result", {"ok": True})
    chosen = {"choice_id": said["answer"]["choices"][0]["id"]}
    told = twice(f"post {of}/choose", f"{talk}/choose", chosen, wait=True)
    assert (told["turn"]["turn"], told["answer"]["turn"]) == (2, 3)
    updates = twice.client.get(f"{talk}/updates?wait=0").json()["items"]
    uttered = [one["data"]["utterance_id"] for one in updates if one["kind"] == "utterance.completed"][-1]
    twice(f"post {of}/playback", f"{talk}/playback", {"utterance_id": uttered})
    twice(f"post {of}/interrupt", f"{talk}/interrupt", {"utterance_id": uttered, "heard_chars": 5})
    assert len(twice(f"post {of}/join", f"{talk}/join", {"person_id": "umi"})["people"]) == 3
    assert len(twice(f"post {of}/leave", f"{talk}/leave", {"person_id": "umi"})["people"]) == 2
    twice(f"post {of}/take-over", f"{talk}/take-over", {"person_id": "baker"})
    twice(f"post {of}/hand-back", f"{talk}/hand-back", {"person_id": "baker"})
    ended = twice(f"post {of}/end", f"{talk}/end", wait=True)
    assert ended["phase"] == "closed"
    twice(
        "post /v1/chat/completions",
        "/v1/chat/completions",
        {"model": "npc:baker@ken", "messages": [{"role": "user", "content": "Is there rye?"}]},
    )


def _scenes(twice: Twice) -> None:
    of = "/scenes/{scene_id}"
    twice("post /scenes", "/scenes", {"scene": SCENE})
    assert len(twice(f"post {of}/turns", "/scenes/S9/turns", {"count": 2}, wait=True)["turns"]) == 2
    twice(f"post {of}/interventions", "/scenes/S9/interventions", {"kind": "add_event", "text": "A bell rings."})
    asked = {"kind": "long_term_update_request", "person_id": "umi"}
    twice(f"post {of}/interventions", "/scenes/S9/interventions", asked)
    (proposal, *_) = twice.client.get("/scenes/S9/proposals").json()
    judged = {"state": "accepted"}
    twice(f"post {of}/proposals/{{proposal_id}}", f"/scenes/S9/proposals/{proposal['id']}", judged)
    twice(f"post {of}/rewind", "/scenes/S9/rewind", {"turn": 1})
    twice(f"post {of}/end", "/scenes/S9/end", wait=True)
    twice("post /surveys", "/surveys", {"question": "Is it late?", "choices": ["yes", "no"], "remember": True})
    twice("post /people/{person_id}/summary", "/people/sora/summary", {"question": "What burns?"})
    twice("post /people/{person_id}/write", "/people/sora/write", {"kind": "bark"})


def _content(twice: Twice) -> None:
    part = twice.client.get("/content/people/umi").json()
    values = {**part["values"], "lines": ["Once."]}
    twice("put /content/{kind}/{part_id}", "/content/people/umi", {"values": values}, etag=part["etag"])
    card = {"files": {"ione.json": b64encode(as_json(card_of())).decode()}}
    twice("post /content/import", "/content/import", card)
    preview = twice.client.post("/content/import", json=card).json()
    assert twice("post /content/import", "/content/import", card, etag=preview["etag"])["written"]


def _memories(twice: Twice) -> None:
    line = {"id": "s1", "statement": "The baker owes Sora a loaf.", "about": "sora"}
    twice("post /people/{person_id}/memory", "/people/baker/memory", {"statements": [line]})
    item = twice.client.get("/people/baker/memories?limit=1").json()["items"][0]["id"]
    of = "/people/{person_id}/memories/{memory_id}"
    twice(f"patch {of}", f"/people/baker/memories/{item}", {"importance": 9})
    twice(f"delete {of}", f"/people/baker/memories/{item}")
    twice("delete /characters/{person_id}/memory", "/characters/umi/memory")
