"""What came to a world from outside.

Revision: 0015_commands, after 0014_snapshots.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015_commands"
down_revision = "0014_snapshots"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "commands",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["world_id", "conversation_id"],
            ["conversations.world_id", "conversations.id"],
            name=op.f("fk_commands_world_id_conversations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("world_id", "seq", name=op.f("pk_commands")),
    )
    op.create_index("ix_commands_conversation", "commands", ["world_id", "conversation_id"])


def downgrade() -> None:
    op.drop_table("commands")
