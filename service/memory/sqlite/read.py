"""Owns reading the sqlite memory graph: how rows become episodes, facts and their history again."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from service.memory.graph import Episode, Fact, Group, GroupDump

_FACTS_BY_KEY = "SELECT * FROM remembered WHERE key IN (SELECT value FROM json_each(?))"
_FACTS_BY_AGE = "SELECT * FROM remembered WHERE group_key = ? ORDER BY created_at, valid_at, id"
_CHAIN = """
    WITH RECURSIVE
    later(id) AS (
        VALUES (:fact)
        UNION SELECT f.replaced_by FROM later JOIN facts f ON f.group_key = :group AND f.id = later.id
        WHERE f.replaced_by IS NOT NULL
    ),
    earlier(id) AS (
        VALUES (:fact)
        UNION SELECT f.id FROM earlier JOIN facts f ON f.group_key = :group AND f.replaced_by = earlier.id
    )
    SELECT * FROM remembered
    WHERE group_key = :group AND id IN (SELECT id FROM later UNION SELECT id FROM earlier)
    ORDER BY created_at, valid_at, id
"""
_EPISODE = "SELECT id, name, body, partner_id, conversation_id, at FROM episodes WHERE group_key = :group"

_UNEMBEDDED = """
    SELECT key, statement FROM facts
    WHERE group_key = ? AND NOT EXISTS (SELECT 1 FROM vectors WHERE fact_key = facts.key AND model = ?)
    ORDER BY created_at DESC, id LIMIT ?
"""


def group_key(c: sqlite3.Connection, group: Group) -> int | None:
    """The group's key, None when it holds nothing."""
    row = c.execute(
        "SELECT key FROM groups WHERE world_id = ? AND character_id = ?", (group.world_id, group.character_id)
    ).fetchone()
    return None if row is None else int(row[0])


def has_episode(c: sqlite3.Connection, group: Group, episode_id: str) -> bool:
    """Whether the group holds it."""
    key = group_key(c, group)
    return c.execute("SELECT 1 FROM episodes WHERE group_key = ? AND id = ?", (key, episode_id)).fetchone() is not None


def read_facts(c: sqlite3.Connection, keys: Sequence[int]) -> list[Fact]:
    """The facts of those keys, in their order."""
    rows = {row[-1]: row for row in c.execute(_FACTS_BY_KEY, (json.dumps(keys),))}
    return [_read_fact(rows[key]) for key in keys]


def read_chain(c: sqlite3.Connection, group: Group, fact_id: str) -> list[Fact]:
    """The fact, those it came to replace and those that came to replace it, oldest first."""
    return [_read_fact(row) for row in c.execute(_CHAIN, {"group": group_key(c, group), "fact": fact_id})]


def read_episodes(c: sqlite3.Connection, group: Group, partner_id: str | None, limit: int) -> list[Episode]:
    """The newest `limit` episodes."""
    given = {"group": group_key(c, group), "partner": partner_id, "limit": max(limit, 0)}
    with_partner = "" if partner_id is None else " AND partner_id = :partner"
    rows = c.execute(_EPISODE + with_partner + " ORDER BY at DESC, id LIMIT :limit", given)
    return [_read_episode(row) for row in rows]


def read_group(c: sqlite3.Connection, group: Group) -> GroupDump:
    """All of it, oldest first."""
    key = group_key(c, group)
    episodes = c.execute(_EPISODE + " ORDER BY at, id", {"group": key})
    return GroupDump(
        episodes=tuple(_read_episode(row) for row in episodes),
        facts=tuple(_read_fact(row) for row in c.execute(_FACTS_BY_AGE, (key,))),
    )


def read_unembedded(c: sqlite3.Connection, group: Group, model: str, limit: int) -> list[tuple[int, str]]:
    """Key and statement of the newest `limit` facts that have no vector of that model."""
    return c.execute(_UNEMBEDDED, (group_key(c, group), model, limit)).fetchall()


def _read_episode(row: Sequence[Any]) -> Episode:
    return Episode(id=row[0], name=row[1], body=row[2], partner_id=row[3], conversation_id=row[4], at=row[5])


def _read_fact(row: Sequence[Any]) -> Fact:
    return Fact(
        id=row[0],
        subject=row[1],
        relation=row[2],
        object=row[3],
        statement=row[4],
        valid_at=row[5],
        invalid_at=row[6],
        created_at=row[7],
        expired_at=row[8],
        replaced_by=row[9],
        episode_id=row[10],
        partner_id=row[11],
        conversation_id=row[12],
        turn=row[13],
    )
