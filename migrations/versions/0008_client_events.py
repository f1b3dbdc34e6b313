"""Games are told of conversations with humans, event by event.

Revision: 0008_client_events, after 0007_chats.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008_client_events"
down_revision = "0007_chats"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "client_event_counts",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("newest", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", name=op.f("pk_client_event_counts")),
    )
    op.create_table(
        "client_events",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["world_id", "conversation_id"],
            ["conversations.world_id", "conversations.id"],
            name=op.f("fk_client_events_world_id_conversations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("world_id", "seq", name=op.f("pk_client_events")),
    )
    with op.batch_alter_table("client_events", schema=None) as batch_op:
        batch_op.create_index("ix_client_events_conversation", ["world_id", "conversation_id", "seq"], unique=False)


def downgrade() -> None:
    op.drop_table("client_events")
    op.drop_table("client_event_counts")
