"""living world

Revision: 0002, after 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "lives",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("character_id", sa.String(), nullable=False),
        sa.Column("person", sa.JSON(), nullable=False),
        sa.Column("mind", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "character_id", name=op.f("pk_lives")),
    )
    op.create_table(
        "talks",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("talk_id", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("talk", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "talk_id", name=op.f("pk_talks")),
    )
    op.create_table(
        "unsettled_events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_unsettled_events")),
    )
    with op.batch_alter_table("unsettled_events", schema=None) as batch_op:
        batch_op.create_index("ix_unsettled_events_order", ["world_id", "at", "rank"], unique=False)
    op.create_table(
        "notices",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
    )
    with op.batch_alter_table("notices", schema=None) as batch_op:
        batch_op.create_index("ix_notices_time", ["world_id", "until"], unique=False)

    with op.batch_alter_table("worlds", schema=None) as batch_op:
        batch_op.add_column(sa.Column("target", sa.BigInteger(), nullable=True))
        batch_op.add_column(sa.Column("decision", sa.String(), nullable=True))
        batch_op.add_column(sa.Column("weather", sa.String(), nullable=False, server_default=""))
        batch_op.add_column(sa.Column("clock_mode", sa.String(), nullable=False, server_default="manual"))
        batch_op.add_column(sa.Column("clock_speed", sa.Float(), nullable=False, server_default="1"))
        batch_op.add_column(sa.Column("clock_pace", sa.String(), nullable=False, server_default="exact"))
        batch_op.add_column(sa.Column("revision", sa.Integer(), nullable=False, server_default="0"))
        batch_op.add_column(sa.Column("runner", sa.String(), nullable=True))
        batch_op.add_column(sa.Column("lease_until", sa.Float(), nullable=False, server_default="0"))
    with op.batch_alter_table("characters", schema=None) as batch_op:
        batch_op.add_column(sa.Column("decision", sa.String(), nullable=True))
        batch_op.add_column(sa.Column("items", sa.JSON(), nullable=False, server_default="[]"))
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.add_column(sa.Column("talk_id", sa.String(), nullable=True))
        batch_op.add_column(sa.Column("partner_sleeps", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("summaries", schema=None) as batch_op:
        batch_op.drop_constraint("pk_summaries", type_="primary")
        batch_op.create_primary_key("pk_summaries", ["conversation_id", "character_id"])
    with op.batch_alter_table("outbox", schema=None) as batch_op:
        batch_op.drop_constraint("uq_outbox_conversation_id", type_="unique")
        batch_op.create_unique_constraint("uq_outbox_conversation_id_character_id", ["conversation_id", "character_id"])


def downgrade() -> None:
    raise NotImplementedError("a world that has lived does not go back")
