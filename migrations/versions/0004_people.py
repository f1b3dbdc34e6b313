"""people, attitudes, moods

Revision: people, after 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "people"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for gone in ("characters", "npcs", "relations"):
        op.drop_table(gone)
    op.create_table(
        "people",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("sleeps", sa.Integer(), nullable=False),
        sa.Column("decision", sa.String(), nullable=True),
        sa.Column("items", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "person_id", name=op.f("pk_people")),
    )
    op.create_table(
        "attitude_changes",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("owner_id", sa.String(), nullable=False),
        sa.Column("other_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=True),
        sa.Column("affinity_delta", sa.Integer(), nullable=False),
        sa.Column("met", sa.Boolean(), nullable=False),
        sa.Column("power", sa.Integer(), nullable=True),
        sa.Column("intimacy", sa.Integer(), nullable=True),
        sa.Column("task_oriented", sa.Integer(), nullable=True),
        sa.Column("stance", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("world_id", "owner_id", "other_id", "id", name=op.f("pk_attitude_changes")),
    )
    op.create_index("ix_attitude_changes_time", "attitude_changes", ["world_id", "owner_id", "at"], unique=False)
    op.create_table(
        "moods",
        sa.Column("world_id", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("mood", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("world_id", "person_id", "id", name=op.f("pk_moods")),
    )
    op.create_index("ix_moods_time", "moods", ["world_id", "person_id", "at"], unique=False)


def downgrade() -> None:
    raise NotImplementedError("a world that has lived does not go back")
