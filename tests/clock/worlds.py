"""Owns two worlds with something in every table, and pictures of all they hold."""

import asyncio
from typing import Any

from sqlmodel import SQLModel

import service.store.tables as tables
from service.clock.act import Destination, walk
from service.conversation.closing import close
from service.conversation.loop import converse
from service.conversation.room import Room
from service.llm.scripted import ScriptedModel
from service.store.idempotency import Once, once
from tests.conversation.talks import meet, rows, says, talk_of_family

TABLES: dict[str, type[SQLModel]] = {
    str(table.__tablename__): table
    for table in vars(tables).values()
    if isinstance(table, type) and issubclass(table, SQLModel) and hasattr(table, "__table__")
}


def fill(room: Room, script: ScriptedModel) -> None:
    """In `main` Aoi and Mio have talked with Taro and Nagi walks; in `other` Aoi has talked with him."""
    for character_id, world_id in (("aoi", "main"), ("mio", "main"), ("aoi", "other")):
        script.enqueue(*talk_of_family())
        conversation_id = meet(room, character_id=character_id, world_id=world_id)
        asyncio.run(converse(room, conversation_id))
        asyncio.run(close(room, conversation_id))
    for world_id in ("main", "other"):
        room.database.write_now(lambda s: walk(s, room.stage, world_id, "nagi", Destination(node_id="quay_west")))  # noqa: B023 - run here
        room.database.write_now(lambda s: once(s, Once.of(world_id, "k", "x", {}), dict))  # noqa: B023 - run here


def converse_silently(room: Room, script: ScriptedModel, world_id: str) -> str:
    """A conversation that runs in that world; the answer is its id."""
    script.enqueue(says("Hello.", leaves=True))
    return meet(room, character_id="ren", npc_id="npc_hamako", world_id=world_id)


def snapshot(room: Room) -> dict[str, list[dict[str, Any]]]:
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
