"""Conversations of more than two, scenes, and what is overheard.

Revision: 0016_scenes, after 0015_commands.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0016_scenes"
down_revision = "0015_commands"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "scenes",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("carried", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "id", name=op.f("pk_scenes")),
        _of_conversation("scenes"),
    )
    op.create_table(
        "interventions",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("before_turn", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("target_id", sa.String(), nullable=True),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("rule", sa.String(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "conversation_id", "number", name=op.f("pk_interventions")),
        _of_conversation("interventions"),
    )
    op.create_table(
        "overheard",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("turns", sa.JSON(), nullable=False),
        sa.Column("known_at", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", "conversation_id", name=op.f("pk_overheard")),
        _of_conversation("overheard"),
    )
    op.create_index("ix_overheard_revision", "overheard", ["world_id", "person_id", "revision"])
    op.create_table(
        "long_term",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("importance", sa.Integer(), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", "id", name=op.f("pk_long_term")),
        _of_conversation("long_term"),
    )
    for table, columns in _ADDED.items():
        with op.batch_alter_table(table, schema=None) as batch_op:
            for column in columns:
                batch_op.add_column(column)


def downgrade() -> None:
    for table, columns in _ADDED.items():
        with op.batch_alter_table(table, schema=None) as batch_op:
            for column in columns:
                batch_op.drop_column(column.name)
    for table in ("long_term", "overheard", "interventions", "scenes"):
        op.drop_table(table)


def _of_conversation(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["world_id", "conversation_id"],
        ["conversations.world_id", "conversations.id"],
        name=op.f(f"fk_{table}_world_id_conversation_id_conversations"),
        ondelete="CASCADE",
    )


def _text(name: str, value: str = "") -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=False, server_default=value)


_ADDED: dict[str, tuple[sa.Column[Any], ...]] = {
    "conversations": (
        _text("form", "talk"),
        _text("turn_policy", "in_order"),
        _text("modulator", "all"),
        sa.Column("perceptions", sa.Integer(), nullable=False, server_default="3"),
        _text("place"),
        sa.Column("stands_at", sa.Integer(), nullable=True),
    ),
    "participants": (_text("goal"), _text("plan"), _text("spot")),
    "summaries": (sa.Column("others", sa.JSON(), nullable=False, server_default="[]"),),
    "turns": (
        _text("think"),
        _text("act"),
        sa.Column("addressed", sa.JSON(), nullable=True),
        _text("loudness", "normal"),
        sa.Column("seen_by", sa.JSON(), nullable=True),
        sa.Column("heard_by", sa.JSON(), nullable=True),
        sa.Column("urgency", sa.Integer(), nullable=True),
        sa.Column("shifts", sa.JSON(), nullable=True),
    ),
}
