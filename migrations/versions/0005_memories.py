"""what persons keep of conversations is never removed

Revision: memories, after people
"""

import sqlalchemy as sa
from alembic import op

revision = "memories"
down_revision = "people"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for gone in ("daily_conversations", "mid_term_memories", "npc_facts"):
        op.drop_table(gone)
    with op.batch_alter_table("summaries", schema=None) as batch_op:
        batch_op.add_column(sa.Column("night", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "mid_term_memories",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("importance", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("partner_id", sa.String(), nullable=True),
        sa.Column("conversation_id", sa.String(), nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", "id", name=op.f("pk_mid_term_memories")),
    )
    op.create_index("ix_mid_term_memories_expiry", "mid_term_memories", ["world_id", "expires_at"], unique=False)
    op.create_table(
        "self_facts",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("statement", sa.String(), nullable=False),
        sa.Column("words", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("importance", sa.Integer(), nullable=False),
        sa.Column("valid_at", sa.BigInteger(), nullable=False),
        sa.Column("invalid_at", sa.BigInteger(), nullable=True),
        sa.Column("replaced_by", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("world_id", "person_id", "id", name=op.f("pk_self_facts")),
    )


def downgrade() -> None:
    raise NotImplementedError("a world that has lived does not go back")
