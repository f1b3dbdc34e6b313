"""Owns the tables of the sqlite memory graph and their version."""

import sqlite3

from service.errors import GraphUnavailable

SCHEMA_VERSION = 1

# Keys of groups, facts and vectors are never given twice (AUTOINCREMENT): what is cached under one can never be another's.
# `fact_text` holds each fact's distinct tokens behind its group's key ("12x太郎"), so a search reads its own group's
# postings only, whatever else the file holds.
_STATEMENTS = (
    """
    CREATE TABLE groups (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        world_id TEXT NOT NULL,
        character_id TEXT NOT NULL,
        UNIQUE (world_id, character_id)
    )
    """,
    """
    CREATE TABLE episodes (
        key INTEGER PRIMARY KEY,
        group_key INTEGER NOT NULL REFERENCES groups ON DELETE CASCADE,
        id TEXT NOT NULL,
        name TEXT NOT NULL,
        body TEXT NOT NULL,
        partner_id TEXT NOT NULL,
        conversation_id TEXT NOT NULL,
        at INTEGER NOT NULL,
        UNIQUE (group_key, id)
    )
    """,
    "CREATE INDEX episodes_by_age ON episodes (group_key, at DESC, id)",
    "CREATE INDEX episodes_by_partner ON episodes (group_key, partner_id, at DESC, id)",
    """
    CREATE TABLE entities (
        key INTEGER PRIMARY KEY,
        group_key INTEGER NOT NULL REFERENCES groups ON DELETE CASCADE,
        name TEXT NOT NULL,
        UNIQUE (group_key, name)
    )
    """,
    """
    CREATE TABLE facts (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        group_key INTEGER NOT NULL REFERENCES groups ON DELETE CASCADE,
        episode_key INTEGER NOT NULL REFERENCES episodes ON DELETE CASCADE,
        subject_key INTEGER NOT NULL REFERENCES entities ON DELETE CASCADE,
        object_key INTEGER NOT NULL REFERENCES entities ON DELETE CASCADE,
        id TEXT NOT NULL,
        subject TEXT NOT NULL,
        relation TEXT NOT NULL,
        object TEXT NOT NULL,
        statement TEXT NOT NULL,
        turn INTEGER,
        valid_at INTEGER NOT NULL,
        invalid_at INTEGER CHECK (invalid_at >= valid_at),
        created_at INTEGER NOT NULL,
        expired_at INTEGER CHECK (expired_at >= created_at),
        replaced_by TEXT,
        token_count INTEGER NOT NULL,
        UNIQUE (group_key, id)
    )
    """,
    # Covers the choice of candidates, so that it never reads the statements.
    """
    CREATE INDEX facts_by_age ON facts (
        group_key, created_at DESC, id,
        valid_at, invalid_at, expired_at, subject_key, object_key, episode_key, token_count
    )
    """,
    "CREATE INDEX facts_by_episode ON facts (episode_key)",
    "CREATE INDEX facts_by_subject ON facts (subject_key)",
    "CREATE INDEX facts_by_object ON facts (object_key)",
    "CREATE INDEX facts_by_successor ON facts (group_key, replaced_by)",
    """
    CREATE TABLE vectors (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        group_key INTEGER NOT NULL REFERENCES groups ON DELETE CASCADE,
        fact_key INTEGER NOT NULL REFERENCES facts ON DELETE CASCADE,
        model TEXT NOT NULL,
        vector BLOB NOT NULL, -- float16
        UNIQUE (fact_key, model)
    )
    """,
    "CREATE INDEX vectors_by_group ON vectors (group_key, model, key)",
    # The ascii tokenizer takes every character beyond ASCII as part of a token, as ours are made to be.
    "CREATE VIRTUAL TABLE fact_text USING fts5 (tokens, tokenize = 'ascii', detail = 'none', columnsize = 0)",
    # A fact with its provenance, in the order of the fields of Fact.
    """
    CREATE VIEW remembered AS
    SELECT f.id, f.subject, f.relation, f.object, f.statement, f.valid_at, f.invalid_at, f.created_at, f.expired_at,
        f.replaced_by, e.id AS episode_id, e.partner_id, e.conversation_id, f.turn, f.group_key, f.key
    FROM facts f JOIN episodes e ON e.key = f.episode_key
    """,
    """
    CREATE TRIGGER fact_forgotten AFTER DELETE ON facts BEGIN
        DELETE FROM fact_text WHERE rowid = old.key;
    END
    """,
)


class GraphTooNew(GraphUnavailable):
    """The file was written by a later Kataribe. Facts: `path`, `found`, `known`, and those of GraphUnavailable."""

    slug = "memory-graph-too-new"
    text = {
        "en": "The long-term memory {path} has schema {found}; this Kataribe knows up to {known}. "
        "Update Kataribe, or choose another directory by {setting}. Nothing was changed.",
        "ja": "長期記憶 {path} のスキーマは {found} で、この Kataribe が読めるのは {known} までです。"
        "Kataribe を更新するか、{setting} で別のディレクトリを選んでください。何も変更していません。",
    }


def prepare(connection: sqlite3.Connection, path: str, setting: str) -> None:
    """Make the tables where there are none.

    Raises:
        GraphTooNew: the file has a later schema.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found > SCHEMA_VERSION:
            raise GraphTooNew(
                backend="sqlite", reason="schema", setting=setting, path=path, found=found, known=SCHEMA_VERSION
            )
        if found == 0:
            for statement in _STATEMENTS:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
