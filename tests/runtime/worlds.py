"""Owns two worlds with something in every table, pictures of all they hold, and how tests command and tick them."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from sqlmodel import Session, SQLModel, col, select

import service.store.tables as tables
from service.content.made import Made
from service.conversation.closing import close
from service.conversation.dependencies import ConversationDependencies
from service.conversation.engine import Engine
from service.decision.situation import DecisionDependencies
from service.memory.authoring import Author
from service.memory.seed_lines import read_past
from service.memory.seeding import seed
from service.runtime.carried import jobs_of
from service.runtime.client_actions import walk
from service.runtime.made_people import put_person
from service.runtime.snapshots import keep
from service.runtime.world_edits import announce
from service.runtime.world_run import WorldDependencies
from service.runtime.world_runner import WorldRunner
from service.runtime.world_session import WorldSession, load, save
from service.store.event_kinds import Forgot
from service.store.events import events_after, log_command, tell_clients
from service.store.idempotency import Once, once
from service.store.jobs import JobKind
from service.store.tables import ConversationKey, DecisionRow, EventRow, JobKey, JobRow
from tests.conversation.talks import meet, replies, rows, says, talk_of_family
from tests.scripted_model import ScriptedModel
from tests.servers.taken import Taken, taken
from world.time import WorldTime

TABLES: dict[str, type[SQLModel]] = {
    str(table.__tablename__): table
    for table in vars(tables).values()
    if isinstance(table, type) and issubclass(table, SQLModel) and hasattr(table, "__table__")
}


T = TypeVar("T")


def command(room: ConversationDependencies, work: Callable[[Session, WorldSession], T], world_id: str = "main") -> T:
    """Change a world that stands, as the keeper does."""

    def change(session: Session) -> T:
        room.worlds.open(session, world_id, lock=True)
        world_session = load(session, room.worlds, world_id, models_missing=True)
        answer = work(session, world_session)
        save(session, world_session)
        return answer

    return room.database.write_now(change)


def tick(room: ConversationDependencies, ticks: int, world_id: str = "main") -> list[EventRow]:
    """Let the world live on; the answer is what happened."""

    async def live() -> int:
        desk = DecisionDependencies(
            settings=room.settings, database=room.database, memory=room.memory, models=room.models
        )
        jobs = jobs_of(room)
        world_runner = WorldRunner(WorldDependencies(conversation=room, decision=desk, engine=Engine(room), jobs=jobs))
        await world_runner.start()
        try:
            step = await world_runner.tick(world_id, ticks)
            await world_runner.wait(world_id, step.after)
            begun = await room.database.read(_reflections_begun)
            await asyncio.gather(*map(jobs.tried, begun))  # a scripted answer that was given is given once
        finally:
            await world_runner.stop()
            await jobs.stop()
        return step.first

    first = asyncio.run(live())
    return room.database.read_now(lambda s: events_after(s, world_id, first, 1_000_000))


def _reflections_begun(session: Session) -> list[JobKey]:
    begun = select(JobRow).where(JobRow.kind == JobKind.REFLECTION, col(JobRow.runner).is_not(None))
    return [JobKey(row.world_id, row.kind, row.key) for row in session.exec(begun)]


PAST = b"""{"statements": [{"id": "s", "statement": "The weir is old."}], "transcripts": [{"conversation": "c",
"at": "2020-01-01", "summary": "Of a weir.", "turns": [{"id": "t", "speaker": "aoi", "text": "The weir leaks."}]}]}"""


def give_past(room: ConversationDependencies, world_id: str, person_id: str) -> None:
    """A statement, a talk of one turn with Aoi, and its summary."""

    def work(session: Session) -> None:
        world = room.worlds.open(session, world_id, lock=True)
        seed(session, world, room.memory, person_id, read_past(PAST), Author())

    room.database.write_now(work)


_FILLED: dict[tuple[bool, str], Taken] = {}
"""By kind of database, and by the settings of its worlds."""


def fill(room: ConversationDependencies, script: ScriptedModel) -> None:
    """In `main` Aoi and Mio have talked with Taro and Nagi walks; in `other` Aoi has talked with him. Aoi and Taro have
    a past that was given to them. They live through it once in every kind of database; others are given its rows.
    """
    begins = room.database.read_now(lambda s: s.exec(select(tables.WorldRow.id)).first()) is None
    if not begins:
        _live(room, script)
        return
    key = (room.database.is_sqlite, room.settings.world.model_dump_json())
    if key in _FILLED:
        _FILLED[key].put(room.database)
    else:
        _live(room, script)
        _FILLED[key] = taken(room.database)


def _live(room: ConversationDependencies, script: ScriptedModel) -> None:
    for character_id, world_id in (("aoi", "main"), ("mio", "main"), ("aoi", "other")):
        script.enqueue(*talk_of_family())
        conversation_id = meet(room, character_id=character_id, world_id=world_id)
        asyncio.run(Engine(room).converse(ConversationKey(world_id, conversation_id)))
        asyncio.run(close(room, ConversationKey(world_id, conversation_id)))
        key = ConversationKey(world_id, conversation_id)
        room.database.write_now(lambda s: tell_clients(s, key, WorldTime(0), [Forgot()]))  # noqa: B023 - run here
        room.database.write_now(lambda s: s.add(_call(key)))  # noqa: B023 - run here
        room.database.write_now(lambda s: play(s, key))  # noqa: B023 - run here
    for world_id in ("main", "other"):
        command(room, lambda s, world_session: walk(s, world_session, "nagi", node_id="quay_west"), world_id)
        room.database.write_now(lambda s: reflect(s, world_id))  # noqa: B023 - run here
        command(room, lambda s, world_session: announce(s, world_session, "The ferry is late", 60), world_id)
        room.database.write_now(lambda s: s.add(_decision(world_id)))  # noqa: B023 - run here
        room.database.write_now(lambda s: s.add(marked(world_id, "nagi@0", "nagi")))  # noqa: B023 - run here
        mika = Made(id="mika", kind="player", profile='{"name": "Mika"}')
        command(room, lambda s, world_session: put_person(s, room.worlds, world_session, mika), world_id)  # noqa: B023
        give_past(room, world_id, "aoi")
        give_past(room, world_id, "npc_taro")
        room.database.write_now(lambda s: once(s, Once(world_id=world_id, key="k", fingerprint="x"), dict))  # noqa: B023 - run here
        asyncio.run(keep(room, world_id, "before"))
        room.database.write_now(lambda s: log_command(s, world_id, WorldTime(0), "looked", {}))  # noqa: B023


def _call(key: ConversationKey) -> tables.ActionCallRow:
    """What Taro asked of the game."""
    return tables.ActionCallRow(
        world_id=key.world_id,
        id=key.conversation_id,
        conversation_id=key.conversation_id,
        number=0,
        turn=1,
        person_id="npc_taro",
        action_id="give_item",
        args={},
        words="gives something",
        state="done",
        at=0,
    )


def play(session: Session, key: ConversationKey) -> None:
    """The talk was a scene too, in which a writer stepped in; Taro may keep some of it, and Aoi or Mio, whoever took no
    part, and Hamako overheard it.
    """
    of: dict[str, Any] = key._asdict()
    row = session.get_one(tables.ConversationRow, key)
    row.scene_id, row.definition = key.conversation_id, {}
    session.add(tables.InterventionRow(**of, number=0, before_turn=1, kind="scene_situation_update", details={}, at=0))
    session.add(
        marked(key.world_id, f"{key.conversation_id}/1", "npc_taro", conversation_id=key.conversation_id, turn=1)
    )
    kept = {"kind": "goal", "text": "To rest.", "importance": 5, "evidence": [1], "state": "proposed", "at": 0}
    asked: dict[str, Any] = {"kind": "long_term_update_request", "target_id": "npc_taro", "details": {"proposed": 1}}
    session.add(tables.InterventionRow(**of, number=1, before_turn=1, **asked, proposals=[kept], at=0))
    took_part = session.get_one(tables.ConversationRow, key).person_ids
    for person_id in {"aoi", "mio", "npc_hamako"} - {*took_part}:
        session.add(tables.OverheardRow(**of, person_id=person_id, turns=[0], known_at=20, revision=1))


def marked(world_id: str, row_id: str, person_id: str, **more: Any) -> tables.QualityRow:
    """Something that was checked."""
    usual: dict[str, Any] = {
        "role": "decision",
        "at": 0,
        "line": "So be it.",
        "outcome": "passed",
        "lowest": 7,
        "marks": {"persona": [7, "It fits."]},
        "refused": [],
        "threshold": 7,
        "model": "scripted",
        "calls": 1,
        "failures": 0,
        "prompt_tokens": 9,
        "completion_tokens": 1,
        "duration_ms": 1,
    }
    return tables.QualityRow(world_id=world_id, id=row_id, person_id=person_id, **usual | more)


def _decision(world_id: str) -> DecisionRow:
    return DecisionRow(
        world_id=world_id,
        person_id="nagi",
        at=0,
        call="decision",
        basis={},
        model="scripted",
        calls=1,
        failures=0,
        prompt_tokens=9,
        completion_tokens=1,
        cached_tokens=0,
        duration_ms=1,
    )


def reflect(session: Session, world_id: str) -> None:
    """Aoi, and Taro of Aoi, have come to think something."""
    for person_id, partner_id in (("aoi", "npc_taro"), ("npc_taro", "aoi")):
        whose: dict[str, Any] = {"world_id": world_id, "person_id": person_id}
        session.add(tables.ReflectionRow(**whose, at=0, since=-1, known_at=60, phase="done"))
        job: dict[str, Any] = {"world_id": world_id, "kind": "reflection", "key": f"{person_id}/0", "owner": person_id}
        session.add(tables.JobRow(**job, priority=1, due_at=0.0, created_at=0.0))
        thought = tables.MemoryRow(
            **whose,
            id=f"{world_id}-{person_id}",
            kind="insight",
            text="It is a small world.",
            support="model",
            source="reflection",
            partner_id=partner_id,
            valid_from=60,
            known_from=60,
            revision=1,
        )
        session.add(thought)


def converse_silently(room: ConversationDependencies, script: ScriptedModel, world_id: str) -> str:
    """A conversation that runs in that world; the answer is its id."""
    script.enqueue(says("Hello.", leaves=True), replies("Bye."))
    return meet(room, character_id="ren", npc_id="npc_hamako", world_id=world_id)


def snapshot(room: ConversationDependencies) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table."""
    return {name: rows(room, table) for name, table in TABLES.items()}


def of_world(picture: dict[str, list[dict[str, Any]]], world_id: str) -> dict[str, list[dict[str, Any]]]:
    """What of a picture belongs to the world; turns belong to the world of their conversation."""
    owners = {row["id"]: row["world_id"] for row in picture["conversations"]}

    def owner(name: str, row: dict[str, Any]) -> str:
        if name == "worlds":
            return str(row["id"])
        return str(owners.get(row["conversation_id"])) if name == "turns" else str(row["world_id"])

    return {name: [row for row in found if owner(name, row) == world_id] for name, found in picture.items()}
