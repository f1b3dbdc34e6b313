"""A past can be given to a person, and one memory edited or deleted.

Revision: 0003_given_past, after 0002_what_prompts_held.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003_given_past"
down_revision = "0002_what_prompts_held"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "seeds",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("conversation", sa.String(), nullable=False),
        sa.Column("memory_id", sa.String(), nullable=False),
        sa.Column("partner_id", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", "kind", "id", name=op.f("pk_seeds")),
    )
    op.create_index("ix_seeds_memory", "seeds", ["world_id", "person_id", "memory_id"], unique=False)
    op.create_table(
        "past_turns",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("speaker_id", sa.String(), nullable=False),
        sa.Column("speaker_name", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("partner_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", "conversation_id", "turn", name=op.f("pk_past_turns")),
    )
    op.create_index("ix_past_turns_revision", "past_turns", ["world_id", "person_id", "revision"], unique=False)
    op.create_table(
        "past_summaries",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("partner_id", sa.String(), nullable=False),
        sa.Column("summary", sa.String(), nullable=False),
        sa.Column("topics", sa.JSON(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", "conversation_id", name=op.f("pk_past_summaries")),
    )
    op.create_index("ix_past_summaries_revision", "past_summaries", ["world_id", "person_id", "revision"], unique=False)
    op.create_table(
        "corrections",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("memory_id", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("world_id", "person_id", "kind", "memory_id", name=op.f("pk_corrections")),
    )
    op.create_table(
        "memory_audit",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=True),
        sa.Column("memory_id", sa.String(), nullable=True),
        sa.Column("before", sa.JSON(), nullable=True),
        sa.Column("after", sa.JSON(), nullable=True),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("written_at", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", "id", name=op.f("pk_memory_audit")),
    )
    with op.batch_alter_table("memory_owners", schema=None) as batch_op:
        batch_op.add_column(sa.Column("vectors_due", sa.Integer(), nullable=False, server_default="0"))
        batch_op.alter_column("vectors_due", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("memory_owners", schema=None) as batch_op:
        batch_op.drop_column("vectors_due")
    op.drop_table("memory_audit")
    op.drop_table("corrections")
    op.drop_index("ix_past_summaries_revision", table_name="past_summaries")
    op.drop_table("past_summaries")
    op.drop_index("ix_past_turns_revision", table_name="past_turns")
    op.drop_table("past_turns")
    op.drop_index("ix_seeds_memory", table_name="seeds")
    op.drop_table("seeds")
