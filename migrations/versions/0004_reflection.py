"""People think over what they lived through.

Revision: 0004_reflection, after 0003_given_past.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004_reflection"
down_revision = "0003_given_past"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "reflections",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("known_at", sa.BigInteger(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("dropped", sa.JSON(), nullable=False),
        sa.Column("failure", sa.String(), nullable=True),
        sa.Column("runner", sa.String(), nullable=True),
        sa.Column("lease_until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", "at", name=op.f("pk_reflections")),
    )
    with op.batch_alter_table("reflections", schema=None) as batch_op:
        batch_op.create_index("ix_reflections_phase", ["phase"], unique=False)
    op.create_table(
        "insights",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("partner_ids", sa.JSON(), nullable=False),
        sa.Column("importance", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", "id", name=op.f("pk_insights")),
    )
    with op.batch_alter_table("insights", schema=None) as batch_op:
        batch_op.create_index("ix_insights_revision", ["world_id", "person_id", "revision"], unique=False)
    with op.batch_alter_table("summaries", schema=None) as batch_op:
        batch_op.add_column(sa.Column("importance", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    with op.batch_alter_table("summaries", schema=None) as batch_op:
        batch_op.drop_column("importance")
    op.drop_table("insights")
    op.drop_table("reflections")
