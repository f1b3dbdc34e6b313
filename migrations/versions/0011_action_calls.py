"""What people ask of the game in conversations.

Revision: 0011_action_calls, after 0010_held_clock.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011_action_calls"
down_revision = "0010_held_clock"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "action_calls",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("action_id", sa.String(), nullable=False),
        sa.Column("args", sa.JSON(), nullable=False),
        sa.Column("words", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("why", sa.String(), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("awaited", sa.Boolean(), nullable=False),
        sa.Column("deadline", sa.Float(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("told_turn", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["world_id", "conversation_id"],
            ["conversations.world_id", "conversations.id"],
            name=op.f("fk_action_calls_world_id_conversations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("world_id", "id", name=op.f("pk_action_calls")),
    )
    for name, columns in (
        ("conversation", ["world_id", "conversation_id"]),
        ("person", ["world_id", "person_id"]),
        ("state", ["state", "deadline"]),
    ):
        op.create_index(f"ix_action_calls_{name}", "action_calls", columns)
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.add_column(sa.Column("actions", sa.JSON(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.drop_column("actions")
    op.drop_table("action_calls")
