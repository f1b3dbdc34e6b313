"""Marks of what is said and decided.

Revision: 0018_quality, after 0017_told_restores.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018_quality"
down_revision = "0017_told_restores"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "quality",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=True),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("line", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("lowest", sa.Integer(), nullable=True),
        sa.Column("marks", sa.JSON(), nullable=False),
        sa.Column("refused", sa.JSON(), nullable=False),
        sa.Column("failure", sa.String(), nullable=True),
        sa.Column("threshold", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "id", name="pk_quality"),
        sa.ForeignKeyConstraint(
            ["world_id", "conversation_id"],
            ["conversations.world_id", "conversations.id"],
            name="fk_quality_world_id_conversations",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_quality_at", "quality", ["world_id", "at"])
    op.create_index("ix_quality_conversation", "quality", ["world_id", "conversation_id"])


def downgrade() -> None:
    op.drop_index("ix_quality_conversation", "quality")
    op.drop_index("ix_quality_at", "quality")
    op.drop_table("quality")
