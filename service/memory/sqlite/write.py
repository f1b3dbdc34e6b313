"""Owns writing the sqlite memory graph: episodes, facts, what they close, vectors, and forgetting."""

import sqlite3
from collections.abc import Iterable, Sequence

import numpy as np

from service.errors import Invalid
from service.memory.embedding.embedder import Vectors
from service.memory.graph import Episode, Fact, FactDraft, Group, GroupDump
from service.memory.lexical import normal, tokens
from service.memory.sqlite.read import group_key
from world.time import WorldTime


class GroupWriter:
    """Writes into one group, within the caller's transaction."""

    def __init__(self, c: sqlite3.Connection, group: Group) -> None:
        self._c = c
        self._names: dict[str, int] = {}
        key = group_key(c, group)
        if key is None:
            cursor = c.execute(
                "INSERT INTO groups (world_id, character_id) VALUES (?, ?)", (group.world_id, group.character_id)
            )
            key = _new_row(cursor)
        self.key = key

    def remember(self, episode: Episode, facts: Iterable[FactDraft], vectors: Vectors | None, model: str) -> None:
        """An episode with its facts, in their order; nothing when the episode is there already."""
        if not self._add_episode(episode):
            return
        for index, draft in enumerate(facts):
            fact_key = self._add_fact(_new_fact(draft, episode))
            if fact_key is None:
                continue
            if vectors is not None:
                add_vectors(self._c, self.key, model, [fact_key], vectors[index : index + 1])
            for replaced in draft.replaces:
                self._close(replaced, draft, episode.at)

    def load(self, dump: GroupDump) -> None:
        """Raises: Invalid: a fact whose episode is neither in the dump nor in the group, or whose times run backwards."""
        for episode in dump.episodes:
            self._add_episode(episode)
        for index, fact in enumerate(dump.facts):
            if self._episode_key(fact.episode_id) is None:
                raise Invalid(field=f"facts[{index}].episode_id", reason=f"there is no episode {fact.episode_id!r}")
            try:
                self._add_fact(fact)
            except sqlite3.IntegrityError as exc:
                raise Invalid(field=f"facts[{index}]", reason=str(exc)) from exc

    def _add_episode(self, episode: Episode) -> bool:
        """Whether it was new."""
        cursor = self._c.execute(
            "INSERT INTO episodes (group_key, id, name, body, partner_id, conversation_id, at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (group_key, id) DO NOTHING",
            (
                self.key,
                episode.id,
                episode.name,
                episode.body,
                episode.partner_id,
                episode.conversation_id,
                episode.at,
            ),
        )
        return cursor.rowcount > 0

    def _add_fact(self, fact: Fact) -> int | None:
        """Its key; None when the group holds a fact of that id already."""
        found = tokens(f"{fact.subject} {fact.relation} {fact.object} {fact.statement}")
        cursor = self._c.execute(
            "INSERT INTO facts (group_key, episode_key, subject_key, object_key, id, subject, relation, object, "
            "statement, turn, valid_at, invalid_at, created_at, expired_at, replaced_by, token_count) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (group_key, id) DO NOTHING",
            (
                self.key,
                self._episode_key(fact.episode_id),
                self._entity(fact.subject),
                self._entity(fact.object),
                fact.id,
                fact.subject,
                fact.relation,
                fact.object,
                fact.statement,
                fact.turn,
                fact.valid_at,
                fact.invalid_at,
                fact.created_at,
                fact.expired_at,
                fact.replaced_by,
                len(found),
            ),
        )
        if cursor.rowcount == 0:
            return None
        fact_key = _new_row(cursor)
        text = " ".join(term(self.key, token) for token in found)
        self._c.execute("INSERT INTO fact_text (rowid, tokens) VALUES (?, ?)", (fact_key, text))
        return fact_key

    def _close(self, replaced: str, draft: FactDraft, at: WorldTime) -> None:
        """An episode may arrive after a later one: neither time ever runs backwards for that."""
        self._c.execute(
            "UPDATE facts SET invalid_at = max(valid_at, ?), expired_at = max(created_at, ?), replaced_by = ? "
            "WHERE group_key = ? AND id = ? AND id <> ? AND invalid_at IS NULL AND expired_at IS NULL",
            (draft.valid_at, at, draft.id, self.key, replaced, draft.id),
        )

    def _episode_key(self, episode_id: str) -> int | None:
        row = self._c.execute("SELECT key FROM episodes WHERE group_key = ? AND id = ?", (self.key, episode_id))
        found = row.fetchone()
        return None if found is None else int(found[0])

    def _entity(self, name: str) -> int:
        name = normal(name)
        if name not in self._names:
            self._c.execute(
                "INSERT INTO entities (group_key, name) VALUES (?, ?) ON CONFLICT DO NOTHING", (self.key, name)
            )
            (key,) = self._c.execute(
                "SELECT key FROM entities WHERE group_key = ? AND name = ?", (self.key, name)
            ).fetchone()
            self._names[name] = int(key)
        return self._names[name]


def term(key: int, token: str) -> str:
    """A token as its group's postings hold it; digits up to the first ``x`` are the group's.

    A token has letters and digits only, so it means nothing else to FTS5 inside double quotes.
    """
    return f"{key}x{token}"


def add_vectors(c: sqlite3.Connection, key: int, model: str, fact_keys: Sequence[int], vectors: Vectors) -> None:
    """Give facts of the group their vectors; a fact that was forgotten meanwhile gets none.

    Half precision: the error is far below what tells two statements apart, and the file is half as large.
    """
    for fact_key, vector in zip(fact_keys, vectors.astype(np.float16), strict=True):
        c.execute(
            "INSERT OR REPLACE INTO vectors (group_key, fact_key, model, vector) "
            "SELECT group_key, key, ?, ? FROM facts WHERE key = ? AND group_key = ?",
            (model, vector.tobytes(), fact_key, key),
        )


def delete_group(c: sqlite3.Connection, group: Group) -> list[int]:
    """Keys of the groups that were removed, with all they held: one or none."""
    return _delete(c, "world_id = ? AND character_id = ?", (group.world_id, group.character_id))


def delete_world(c: sqlite3.Connection, world_id: str) -> list[int]:
    """Keys of the groups that were removed, with all they held."""
    return _delete(c, "world_id = ?", (world_id,))


def _delete(c: sqlite3.Connection, condition: str, given: tuple[str, ...]) -> list[int]:
    # The condition is one of the two above.
    keys = [int(key) for (key,) in c.execute(f"SELECT key FROM groups WHERE {condition}", given)]  # noqa: S608
    for key in keys:
        # The facts first: each takes its full text with it (the trigger), then the group takes the rest.
        c.execute("DELETE FROM facts WHERE group_key = ?", (key,))
        c.execute("DELETE FROM groups WHERE key = ?", (key,))
    return keys


def _new_fact(draft: FactDraft, episode: Episode) -> Fact:
    return Fact(
        id=draft.id,
        subject=draft.subject,
        relation=draft.relation,
        object=draft.object,
        statement=draft.statement,
        valid_at=draft.valid_at,
        invalid_at=None,
        created_at=episode.at,
        expired_at=None,
        replaced_by=None,
        episode_id=episode.id,
        partner_id=episode.partner_id,
        conversation_id=episode.conversation_id,
        turn=draft.turn,
    )


def _new_row(cursor: sqlite3.Cursor) -> int:
    row = cursor.lastrowid
    if row is None:
        raise AssertionError("an insert that changed a row has a row id")
    return row
